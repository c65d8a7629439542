/*
 * Walks a tree on several threads, for Glob and Grep: by descriptors, without following symbolic links, without what
 * .gitignore excludes. Theory of operation: tree_walk.c.
 */
#ifndef RINGWALL_TOOLS_TREE_WALK_H
#define RINGWALL_TOOLS_TREE_WALK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "path/workspace.h"
#include "tools/job.h"

struct walk_file {
        int directory;    /* descriptor of its directory */
        const char *name; /* in that directory */
        const char *path; /* relative to the start of the search */
        bool is_link;
};

/* Callbacks of a search. All but free_data() are called on several threads at once. */
struct walk_callbacks {
        /* Makes the state of one thread. NULL without memory. `*stop` becomes true when the search is cancelled. */
        void *(*local_new)(void *data, const atomic_bool *stop);
        /* Returns false to end the walk. */
        bool (*visit)(void *data, void *local, const struct walk_file *file);
        /* Whether this file, or everything below this directory, can be skipped. NULL: never. */
        bool (*can_skip)(void *data, const char *path, bool is_directory);
        /* Collects what a thread has found, and frees its state. */
        void (*local_free)(void *data, void *local);
        /* Called last; frees `data`. */
        void (*free_data)(void *data);
        bool in_order;    /* visit entries sorted by name, because can_skip() can skip more then */
        const char *unit; /* of the progress report: "files searched" */
};

/* Where to start. The ignore rules of its parent directories apply too. */
struct walk_start {
        const struct workspace *workspace;
        const struct held_path *held; /* a directory in the workspace, or one file */
        bool with_ignored;
};

/* Starts a walk. Takes ownership of `data`, also on failure. Returns NULL with an error on failure. */
struct job *tree_walk_start(const struct walk_start *start, const struct walk_callbacks *visitor, void *data,
                            struct error *e);

/* When the walk is over: its `data`, whether memory ran out, and how many directories could not be read. */
void *tree_walk_data(const struct job *j);
bool tree_walk_failed(const struct job *j);
size_t tree_walk_unreadable(const struct job *j);

/* For tests: as if no more than `max` threads could be created. */
void tree_walk_set_threads_max(unsigned max);

#endif
