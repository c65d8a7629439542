/*
 * Walks a tree; see tree_walk.h.
 *
 * How it works: there is a stack of tasks, each a directory to read or some files of one. A thread pops a task, reads
 * the directory, pushes its subdirectories, and visits its files; while other threads are idle, it pushes a part of a
 * large directory's files for them. The first thread is created at once, others when there is work for them. If none
 * can be created, each step() of the job runs tasks for a few milliseconds. The walk is reference-counted: cancelling a
 * search does not wait for a thread that is busy with a file, and the last reference frees everything.
 *
 * Each directory is opened by name relative to the descriptor of its parent, which stays open while a task needs it,
 * and with O_NOFOLLOW. So a directory that is replaced by a symbolic link meanwhile is not entered.
 *
 * What an attacker controls: the tree, and changes to it at any time. Its depth is limited, and so are the tasks
 * (beyond that a directory is walked at once instead of pushed) and the entries in memory of one directory
 * (walk_dir.c). These limits bound descriptors and memory, however many files there are.
 */
#include "tools/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "tools/walk_dir.h"

enum {
        DEPTH_MAX = 100,
        THREADS_MAX = 8,        /* of a search */
        THREADS_IN_ALL_MAX = 16, /* of all searches; beyond that, a search gets one */
        TASKS_MAX = 1024,
        OPEN_DIRECTORIES_MAX = 128,         /* in tasks; each thread may have more open, up to its depth */
        FILES_AT_ONCE = 64,
        SLICE_MS = 5,
        STACK_BYTES = 1 << 20,
};

static atomic_uint threads_in_all;
static atomic_uint threads_allowed = THREADS_MAX;

/*
 * A directory to read, or files to visit. A directory with an empty name is `in` itself: the start of the walk, or the
 * rest of a large directory.
 */
struct task {
        struct task *next;
        struct walk_dir *in;
        size_t count;    /* of the entries, each NUL-terminated */
        char entries[];
};

/* The state of one thread. */
struct walk_thread {
        struct walk *w;
        void *local; /* of the visitor */
        struct text path;
};

struct walk {
        struct job job;
        struct walk_callbacks visitor;
        void *data;
        bool with_ignored;
        size_t base;             /* length of the start's own path, with its slash */
        int event;               /* eventfd: readable when the walk is over */
        atomic_bool stop, failed;
        atomic_ullong files;
        atomic_size_t unreadable;
        atomic_uint idle, threads, max_threads; /* waiting for a task; all; upper limit */
        atomic_size_t queued;    /* tasks */
        atomic_uint open;        /* directories */
        pthread_mutex_t lock;    /* protects what follows */
        pthread_cond_t changed;
        struct task *tasks;
        unsigned busy;           /* threads with a task */
        unsigned references;     /* one for each thread, one for the job */
        bool done;
        bool is_threadless;      /* no thread could be created: step() does the work */
        struct walk_thread stepper;   /* the state of step() then */
};

/* --- tasks --- */

static struct task *make_task(struct walk_dir *in, const char *entries, size_t count, size_t length)
{
        struct task *e = malloc(sizeof *e + length);
        if (!e)
                return NULL;
        *e = (struct task){ .in = walk_dir_ref(in), .count = count };
        memcpy(e->entries, entries, length);
        return e;
}

static void free_task(struct task *e)
{
        walk_dir_unref(e->in);
        free(e);
}

static void fail(struct walk *w)
{
        w->failed = w->stop = true;
}

/* --- threads --- */

static void *run_thread(void *data);

/* With the lock held. */
static bool add_thread(struct walk *w)
{
        pthread_attr_t attributes;
        pthread_t thread;
        bool allowed = w->threads < w->max_threads && (!w->threads || threads_in_all < THREADS_IN_ALL_MAX);
        if (!allowed || pthread_attr_init(&attributes) != 0)
                return false;
        (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
        int r = pthread_create(&thread, &attributes, run_thread, w);
        (void)pthread_attr_destroy(&attributes);
        if (r != 0) {
                w->max_threads = w->threads; /* do not try again */
                return false;
        }
        w->threads++;
        w->references++;
        threads_in_all++;
        return true;
}

/* Puts tasks on the stack, the first of the list at the top. */
static void push(struct walk *w, struct task *first, struct task *last, size_t count)
{
        (void)pthread_mutex_lock(&w->lock);
        last->next = w->tasks;
        w->tasks = first;
        w->queued += count;
        if (w->idle)
                (void)(count > 1 ? pthread_cond_broadcast(&w->changed) : pthread_cond_signal(&w->changed));
        else if (w->threads)
                (void)add_thread(w);
        (void)pthread_mutex_unlock(&w->lock);
}

/* With the lock held. */
static struct task *pop(struct walk *w)
{
        struct task *e = w->tasks;
        if (e) {
                w->tasks = e->next;
                w->queued--;
        }
        return e;
}

static void drop_reference(struct walk *w)
{
        (void)pthread_mutex_lock(&w->lock);
        bool last = --w->references == 0;
        (void)pthread_mutex_unlock(&w->lock);
        if (!last)
                return;
        for (struct task *e; (e = pop(w));)
                free_task(e);
        w->visitor.free_data(w->data);
        fd_close(&w->event);
        (void)pthread_cond_destroy(&w->changed);
        (void)pthread_mutex_destroy(&w->lock);
        free(w);
}

/* --- running tasks --- */

/* The result is valid until the next call. */
static const char *make_path(struct walk_thread *k, const struct walk_dir *f, const char *name)
{
        k->path.length = 0;
        if (f->length) {
                text_add_bytes(&k->path, f->path, f->length);
                text_add_bytes(&k->path, "/", 1);
        }
        text_add(&k->path, name);
        if (k->path.failed)
                fail(k->w);
        return k->path.data ? k->path.data : "";
}

static bool is_skipped(const struct walk *w, const struct walk_dir *f, const char *path, bool is_directory)
{
        return (!w->with_ignored && f->rules && gitignore_matches(f->rules, path, is_directory)) ||
               (w->visitor.can_skip && w->visitor.can_skip(w->data, path + w->base, is_directory));
}

static void visit_files(struct walk_thread *k, const struct walk_dir *f, const char *entry, size_t count)
{
        struct walk *w = k->w;
        for (; count && !w->stop; count--, entry += strlen(entry) + 1) {
                const char *path = make_path(k, f, entry + 1);
                struct walk_file file = { f->fd, entry + 1, path + w->base, *entry == ENTRY_LINK };
                if (is_skipped(w, f, path, false) || w->stop)
                        continue;
                if (!w->visitor.visit(w->data, k->local, &file))
                        w->stop = true;
                atomic_fetch_add_explicit(&w->files, 1, memory_order_relaxed);
        }
}

/*
 * Visits files in bundles. Pushes all bundles but the last while other threads could run them; without threads, pushes
 * all, so that one step() stays short.
 */
static void queue_files(struct walk_thread *k, struct walk_dir *f, const struct dir_listing *l)
{
        struct walk *w = k->w;
        CLEANUP_TEXT struct text bundle = { 0 };
        for (size_t i = 0, count = 0; i <= l->count && !w->stop; i++) {
                const char *entry = i < l->count ? l->entries + l->offsets[i] : NULL;
                if (count && (!entry || count == FILES_AT_ONCE)) {
                        bool defer = w->is_threadless || (entry && (w->idle || w->threads < w->max_threads));
                        struct task *e =
                                defer && w->queued < TASKS_MAX ? make_task(f, bundle.data, count, bundle.length) : NULL;
                        if (e)
                                push(w, e, e, 1);
                        else
                                visit_files(k, f, bundle.data, count);
                        count = bundle.length = 0;
                }
                if (entry && *entry != ENTRY_DIRECTORY) {
                        text_add_bytes(&bundle, entry, strlen(entry) + 1);
                        count++;
                }
                if (bundle.failed)
                        fail(w);
        }
}

static void enter_directory(struct walk_thread *k, struct walk_dir *in, const char *name);

/* Pushes the subdirectories, the first on top; enters a directory at once when there are too many tasks. */
static void queue_directories(struct walk_thread *k, struct walk_dir *f, const struct dir_listing *l)
{
        struct walk *w = k->w;
        struct task *first = NULL, *last = NULL;
        size_t count = 0;
        for (size_t i = l->count; i-- > 0 && !w->stop;) {
                char *entry = l->entries + l->offsets[i];
                if (*entry != ENTRY_DIRECTORY)
                        continue;
                size_t n = strlen(entry);
                entry[--n] = '\0'; /* remove its slash */
                if (is_skipped(w, f, make_path(k, f, entry + 1), true))
                        continue;
                bool full = w->queued + count >= TASKS_MAX || w->open >= OPEN_DIRECTORIES_MAX;
                struct task *e = full ? NULL : make_task(f, entry, 1, n + 1);
                if (!e) {
                        enter_directory(k, f, entry + 1);
                        continue;
                }
                e->next = first;
                first = e;
                last = last ? last : e;
                count++;
        }
        if (first)
                push(w, first, last, count);
}

/* Walks as many entries as are read at a time; the rest becomes another task. */
static void walk_folder(struct walk_thread *k, struct walk_dir *f)
{
        static const char itself[] = { ENTRY_DIRECTORY, '\0' };
        struct walk *w = k->w;
        struct dir_listing l = { 0 };
        if (!dir_listing_read(&l, f->fd, w->with_ignored))
                fail(w);
        if (!f->is_begun && !w->with_ignored) {
                struct gitignore *parent_rules = f->rules;
                f->rules = gitignore_push(parent_rules, f->fd, f->path, l.more ? GITIGNORE_ALL : l.ignore_files);
                gitignore_unref(parent_rules);
        }
        f->is_begun = true;
        struct task *rest = l.more ? make_task(f, itself, 1, sizeof itself) : NULL;
        if (rest)
                push(w, rest, rest, 1);
        else if (l.more)
                fail(w);
        if (w->visitor.in_order)
                dir_listing_sort(&l);
        queue_directories(k, f, &l);
        queue_files(k, f, &l);
        dir_listing_done(&l);
}

/* Opens a directory by name and walks it, if it still is a directory. */
static void enter_directory(struct walk_thread *k, struct walk_dir *in, const char *name)
{
        struct walk *w = k->w;
        const char *path = make_path(k, in, name);
        if (w->stop || is_skipped(w, in, path, true)) /* again: new findings may make it useless */
                return;
        int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
        int fd = in->depth < DEPTH_MAX ? openat(in->fd, name, flags) : -1;
        bool vanished = in->depth < DEPTH_MAX && fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
        struct walk_dir *f = walk_dir_new(fd, path, in->depth + 1, in->rules, &w->open);
        if (f)
                walk_folder(k, f);
        else if (!vanished)
                w->unreadable++;
        walk_dir_unref(f);
}

static void run_task(struct walk_thread *k, struct task *e)
{
        if (*e->entries == ENTRY_DIRECTORY && !e->entries[1])
                walk_folder(k, e->in);
        else if (*e->entries == ENTRY_DIRECTORY)
                enter_directory(k, e->in, e->entries + 1);
        else
                visit_files(k, e->in, e->entries, e->count);
        free_task(e);
}

/* --- threads and steps --- */

static bool walker_begin(struct walk_thread *k, struct walk *w)
{
        *k = (struct walk_thread){ .w = w, .local = w->visitor.local_new(w->data, &w->stop) };
        if (!k->local)
                fail(w);
        return k->local;
}

static void walker_end(struct walk_thread *k)
{
        if (k->local)
                k->w->visitor.local_free(k->w->data, k->local);
        text_done(&k->path);
}

/* A thread. Returns when there are no tasks and no other thread that could push some. */
static void *run_thread(void *data)
{
        struct walk *w = data;
        struct walk_thread k;
        (void)walker_begin(&k, w);
        (void)pthread_mutex_lock(&w->lock);
        for (;;) {
                while (!w->tasks && w->busy && !w->stop) {
                        w->idle++;
                        (void)pthread_cond_wait(&w->changed, &w->lock);
                        w->idle--;
                }
                struct task *e = w->stop ? NULL : pop(w);
                if (!e)
                        break;
                w->busy++;
                (void)pthread_mutex_unlock(&w->lock);
                run_task(&k, e);
                (void)pthread_mutex_lock(&w->lock);
                w->busy--;
        }
        (void)pthread_cond_broadcast(&w->changed);
        (void)pthread_mutex_unlock(&w->lock);
        walker_end(&k);
        (void)pthread_mutex_lock(&w->lock);
        if (--w->threads == 0) {
                w->done = true;
                (void)eventfd_write(w->event, 1);
        }
        (void)pthread_mutex_unlock(&w->lock);
        threads_in_all--;
        drop_reference(w);
        return NULL;
}

/* Without threads: runs tasks for SLICE_MS. */
static void run_for_a_slice(struct walk *w)
{
        int64_t until = clock_ms() + SLICE_MS;
        struct walk_thread *k = &w->stepper;
        if (!k->w && !walker_begin(k, w))
                w->done = true;
        for (struct task *e; !w->done && !w->stop && clock_ms() < until;) {
                if ((e = pop(w)))
                        run_task(k, e);
                else
                        w->done = true;
        }
        w->done |= w->stop;
        if (w->done)
                walker_end(k);
}

/* --- as a job --- */

static struct walk *walk_of(const struct job *j)
{
        return (struct walk *)(uintptr_t)j; /* its first member */
}

static nfds_t poll_for(const struct job *j, struct pollfd ret[JOB_POLL_FDS_MAX])
{
        ret[0] = (struct pollfd){ .fd = walk_of(j)->event, .events = POLLIN };
        return 1;
}

static int64_t deadline(const struct job *j)
{
        return walk_of(j)->is_threadless ? 0 : INT64_MAX;
}

static bool step(struct job *j)
{
        struct walk *w = walk_of(j);
        if (w->is_threadless && !w->done)
                run_for_a_slice(w);
        (void)pthread_mutex_lock(&w->lock);
        bool done = w->done;
        (void)pthread_mutex_unlock(&w->lock);
        return done;
}

static uint64_t progress(const struct job *j, struct text *message)
{
        unsigned long long files = walk_of(j)->files;
        char digits[32];
        int n = snprintf(digits, sizeof digits, "%llu", files);
        for (int i = 0; i < n; i++)
                text_format(message, i && (n - i) % 3 == 0 ? ",%c" : "%c", digits[i]);
        text_format(message, " %s", walk_of(j)->visitor.unit);
        return files;
}

static void cancel_and_free(struct job *j)
{
        struct walk *w = walk_of(j);
        (void)pthread_mutex_lock(&w->lock);
        w->stop = true;
        (void)pthread_cond_broadcast(&w->changed);
        (void)pthread_mutex_unlock(&w->lock);
        if (w->is_threadless && w->stepper.w && !w->done)
                walker_end(&w->stepper);
        drop_reference(w);
}

static const struct job_ops walk_kind = { poll_for, deadline, step, progress, cancel_and_free };

void *tree_walk_data(const struct job *j)
{
        return walk_of(j)->data;
}

bool tree_walk_failed(const struct job *j)
{
        return walk_of(j)->failed;
}

size_t tree_walk_unreadable(const struct job *j)
{
        return walk_of(j)->unreadable;
}

void tree_walk_set_threads_max(unsigned max)
{
        threads_allowed = max;
}

/* --- starting --- */

static unsigned count_processors(void)
{
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        return n < 1 ? 1 : n < THREADS_MAX ? (unsigned)n : THREADS_MAX;
}

/* Adds the rules of the directory at this path, which is relative to the workspace's root. */
static struct gitignore *add_rules(struct gitignore *rules, const struct workspace *ws, const char *path)
{
        CLEANUP_HELD_PATH struct held_path s = HELD_PATH_NONE;
        CLEANUP_FD int fd = workspace_resolve(ws, path, &s, NULL) < 0 ? -1
                                                                   : held_path_open(&s, O_RDONLY | O_DIRECTORY, NULL);
        if (fd < 0)
                return rules;
        struct gitignore *more = gitignore_push(rules, fd, path, GITIGNORE_ALL);
        gitignore_unref(rules);
        return more;
}

/* The rules of all directories from the root down to the parent of `path`. */
static struct gitignore *read_parent_rules(const struct workspace *ws, const char *path)
{
        struct gitignore *rules = NULL;
        for (size_t n = 0; path[n];) {
                CLEANUP_TEXT struct text above = { 0 };
                text_add_bytes(&above, path, n ? n - 1 : 0);
                if (above.data)
                        rules = add_rules(rules, ws, above.data);
                n += strcspn(path + n, "/");
                n += path[n] == '/';
        }
        return rules;
}

/* Pushes the first task. */
static int push_start(struct walk *w, const struct walk_start *start, struct error *e)
{
        const struct held_path *s = start->held;
        const char *root = workspace_root(start->workspace), *path = s->path + (root[1] ? strlen(root) : 0);
        bool is_directory = S_ISDIR(s->st.st_mode);
        path += *path == '/';
        int fd = is_directory ? held_path_open(s, O_RDONLY | O_DIRECTORY, e) : fcntl(s->parent, F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
                return is_directory ? fd : error_errno(e, errno, "cannot open the directory of %s", s->path);
        w->with_ignored = start->with_ignored || !is_directory; /* search a named file even if it is ignored */
        w->base = is_directory && *path ? strlen(path) + 1 : 0;
        struct gitignore *parent_rules = w->with_ignored ? NULL : read_parent_rules(start->workspace, path);
        CLEANUP_TEXT struct text entry = { 0 };
        text_format(&entry, "%c%s", is_directory ? ENTRY_DIRECTORY : ENTRY_FILE, is_directory ? "" : s->name);
        struct walk_dir *f = walk_dir_new(fd, is_directory ? path : "", 0, parent_rules, &w->open);
        struct task *task = f && !entry.failed ? make_task(f, entry.data, 1, entry.length + 1) : NULL;
        walk_dir_unref(f);
        gitignore_unref(parent_rules);
        if (!task)
                return error_errno(e, ENOMEM, "no memory");
        push(w, task, task, 1);
        return 0;
}

struct job *tree_walk_start(const struct walk_start *start, const struct walk_callbacks *visitor, void *data,
                            struct error *e)
{
        struct walk *w = calloc(1, sizeof *w);
        if (!w) {
                visitor->free_data(data);
                (void)error_errno(e, ENOMEM, "no memory");
                return NULL;
        }
        w->job.kind = &walk_kind;
        w->visitor = *visitor;
        w->data = data;
        w->references = 1;
        (void)pthread_mutex_init(&w->lock, NULL);
        (void)pthread_cond_init(&w->changed, NULL);
        unsigned allowed = threads_allowed, processors = count_processors();
        w->max_threads = processors < allowed ? processors : allowed;
        w->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        int r = w->event < 0 ? error_errno(e, errno, "cannot create an eventfd") : push_start(w, start, e);
        if (r < 0) {
                drop_reference(w);
                return NULL;
        }
        (void)pthread_mutex_lock(&w->lock);
        w->is_threadless = !add_thread(w);
        (void)pthread_mutex_unlock(&w->lock);
        return &w->job;
}
