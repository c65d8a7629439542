/*
 * Going through a tree on several threads, as Glob and Grep do: by descriptors, following no link, leaving out what
 * .gitignore does. Theory of operation: walk.c.
 */
#ifndef RINGWALL_TOOLS_WALK_H
#define RINGWALL_TOOLS_WALK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "path/workspace.h"
#include "tools/job.h"

struct walk_file {
        int directory;    /* that it is in */
        const char *name; /* there */
        const char *path; /* from the start of the search on */
        bool is_link;
};

/* What somebody wants of the files. All but `ended` is called on threads, several at once. */
struct walk_visitor {
        /* What one thread needs for itself. NULL: no memory. `*stop` says that nobody waits any more. */
        void *(*hire)(void *data, const atomic_bool *stop);
        /* False ends the walk. */
        bool (*visit)(void *data, void *hand, const struct walk_file *file);
        /* Is nothing below this directory, or no file of this path, of any use? NULL: everything is. */
        bool (*skips)(void *data, const char *path, bool is_directory);
        /* Takes over what a thread has found; frees what it needed. */
        void (*dismiss)(void *data, void *hand);
        /* The last: frees the data. */
        void (*ended)(void *data);
        bool in_order;      /* `skips` has more to skip when a directory's entries come in the order of their names */
        const char *counts; /* what a visited file is: "files searched" */
};

/* Where to start, beneath the rules of the directories around it. */
struct walk_start {
        const struct workspace *workspace;
        const struct spot *spot; /* a directory in it, or one file */
        bool with_ignored;
};

/* Starts it, and takes the data over, also when it fails. NULL with an error when it cannot. */
struct job *walk_new(const struct walk_start *start, const struct walk_visitor *visitor, void *data, struct error *e);

/* Once it is over: what it was started with, whether memory ran out, and how many directories could not be read. */
void *walk_data(const struct job *j);
bool walk_failed(const struct job *j);
size_t walk_unreadable(const struct job *j);

/* For tests: as if no more than this many threads could be made. */
void walk_limit_threads(unsigned most);

#endif
