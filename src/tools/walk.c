/*
 * Walking a tree; see walk.h.
 *
 * How it works: what is to be done is a stack of errands, each a directory to be read or some files of one. A thread takes
 * the topmost, reads the directory, puts its subdirectories on the stack, and visits its files; when others have nothing
 * to do, it leaves them a part of a large directory. The first thread is made at once, others when there is work for
 * them. If none can be made, the job does an errand or two whenever it may step. The last to leave frees everything, so
 * whoever cancels a search does not wait for a thread that is busy with a file.
 *
 * Each directory is opened by its name in the descriptor of the one around it, which stays open as long as something in it
 * waits. So one that is exchanged for a link meanwhile is not entered.
 *
 * What an attacker controls: the tree, and its changes at any moment. Bounded are its depth, the errands (beyond that a
 * directory is walked at once instead of being put on the stack), the entries that are held of one directory (folder.c), and
 * with these the descriptors and the memory, however many files there are.
 */
#include "tools/walk.h"

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
#include "tools/folder.h"

enum {
        MOST_DEPTH = 100,
        MOST_THREADS = 8,        /* of a search */
        MOST_THREADS_IN_ALL = 16, /* beyond that, a search has one */
        MOST_ERRANDS = 1024,
        MOST_OPEN = 128,         /* directories; each thread may add its depth to them */
        FILES_AT_ONCE = 64,
        SLICE_MS = 5,
        STACK_BYTES = 1 << 20,
};

static const char stage[] = "walk";
static atomic_uint threads_in_all;
static atomic_uint threads_allowed = MOST_THREADS;

/* A directory to be read, or files to be visited. Without a name it is the directory itself: the first, or the rest of one. */
struct errand {
        struct errand *next;
        struct folder *in;
        size_t count;    /* of the entries, each with its end */
        char entries[];
};

/* What a thread goes round with. */
struct walker {
        struct walk *w;
        void *hand;
        struct text path;
};

struct walk {
        struct job job;
        struct walk_visitor visitor;
        void *data;
        bool with_ignored;
        size_t base;             /* how much of a path is the start's own, with its slash */
        int event;               /* readable when all is done */
        atomic_bool stop, failed;
        atomic_ullong files;
        atomic_size_t unreadable;
        atomic_uint idle, threads, most_threads; /* those that wait for an errand; all; all that there can be */
        atomic_size_t queued;    /* errands */
        atomic_uint open;        /* directories */
        pthread_mutex_t lock;    /* of what follows */
        pthread_cond_t changed;
        struct errand *errands;
        unsigned busy;           /* threads with an errand */
        unsigned holders;        /* threads, and who started it */
        bool done;
        bool is_alone;           /* there are no threads: whoever steps does it, */
        struct walker alone;     /* with this */
};

/* --- errands --- */

static struct errand *make_errand(struct folder *in, const char *entries, size_t count, size_t length)
{
        struct errand *e = malloc(sizeof *e + length);
        if (!e)
                return NULL;
        *e = (struct errand){ .in = folder_hold(in), .count = count };
        memcpy(e->entries, entries, length);
        return e;
}

static void free_errand(struct errand *e)
{
        folder_drop(e->in);
        free(e);
}

static void fail(struct walk *w)
{
        w->failed = w->stop = true;
}

/* --- threads --- */

static void *work(void *data);

/* With the lock held. */
static bool add_thread(struct walk *w)
{
        pthread_attr_t attributes;
        pthread_t thread;
        bool allowed = w->threads < w->most_threads && (!w->threads || threads_in_all < MOST_THREADS_IN_ALL);
        if (!allowed || pthread_attr_init(&attributes) != 0)
                return false;
        (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
        int r = pthread_create(&thread, &attributes, work, w);
        (void)pthread_attr_destroy(&attributes);
        if (r != 0) {
                w->most_threads = w->threads; /* not again */
                return false;
        }
        w->threads++;
        w->holders++;
        threads_in_all++;
        return true;
}

/* Puts errands on the stack, the first of the list at the top. */
static void push(struct walk *w, struct errand *first, struct errand *last, size_t count)
{
        (void)pthread_mutex_lock(&w->lock);
        last->next = w->errands;
        w->errands = first;
        w->queued += count;
        if (w->idle)
                (void)(count > 1 ? pthread_cond_broadcast(&w->changed) : pthread_cond_signal(&w->changed));
        else if (w->threads)
                (void)add_thread(w);
        (void)pthread_mutex_unlock(&w->lock);
}

/* With the lock held. */
static struct errand *pop(struct walk *w)
{
        struct errand *e = w->errands;
        if (e) {
                w->errands = e->next;
                w->queued--;
        }
        return e;
}

static void leave(struct walk *w)
{
        (void)pthread_mutex_lock(&w->lock);
        bool last = --w->holders == 0;
        (void)pthread_mutex_unlock(&w->lock);
        if (!last)
                return;
        for (struct errand *e; (e = pop(w));)
                free_errand(e);
        w->visitor.ended(w->data);
        fd_close(&w->event);
        (void)pthread_cond_destroy(&w->changed);
        (void)pthread_mutex_destroy(&w->lock);
        free(w);
}

/* --- going through them --- */

/* Lives until the next call. */
static const char *path_of(struct walker *k, const struct folder *f, const char *name)
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

static bool is_skipped(const struct walk *w, const struct folder *f, const char *path, bool is_directory)
{
        return (!w->with_ignored && f->rules && ignore_matches(f->rules, path, is_directory)) ||
               (w->visitor.skips && w->visitor.skips(w->data, path + w->base, is_directory));
}

static void visit_files(struct walker *k, const struct folder *f, const char *entry, size_t count)
{
        struct walk *w = k->w;
        for (; count && !w->stop; count--, entry += strlen(entry) + 1) {
                const char *path = path_of(k, f, entry + 1);
                struct walk_file file = { f->fd, entry + 1, path + w->base, *entry == ENTRY_LINK };
                if (is_skipped(w, f, path, false) || w->stop)
                        continue;
                if (!w->visitor.visit(w->data, k->hand, &file))
                        w->stop = true;
                atomic_fetch_add_explicit(&w->files, 1, memory_order_relaxed);
        }
}

/* In bundles; all but one are left to others that have nothing to do, and all of them to the next step when there are none. */
static void share_files(struct walker *k, struct folder *f, const struct listing *l)
{
        struct walk *w = k->w;
        CLEANUP_TEXT struct text bundle = { 0 };
        for (size_t i = 0, count = 0; i <= l->count && !w->stop; i++) {
                const char *entry = i < l->count ? l->entries + l->places[i] : NULL;
                if (count && (!entry || count == FILES_AT_ONCE)) {
                        bool later = w->is_alone || (entry && (w->idle || w->threads < w->most_threads));
                        struct errand *e = later && w->queued < MOST_ERRANDS ? make_errand(f, bundle.data, count, bundle.length) : NULL;
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

static void enter(struct walker *k, struct folder *in, const char *name);

/* On the stack, the first at the top; or, when there are too many already, at once. */
static void share_directories(struct walker *k, struct folder *f, const struct listing *l)
{
        struct walk *w = k->w;
        struct errand *first = NULL, *last = NULL;
        size_t count = 0;
        for (size_t i = l->count; i-- > 0 && !w->stop;) {
                char *entry = l->entries + l->places[i];
                if (*entry != ENTRY_DIRECTORY)
                        continue;
                size_t n = strlen(entry);
                entry[--n] = '\0'; /* its slash */
                if (is_skipped(w, f, path_of(k, f, entry + 1), true))
                        continue;
                bool full = w->queued + count >= MOST_ERRANDS || w->open >= MOST_OPEN;
                struct errand *e = full ? NULL : make_errand(f, entry, 1, n + 1);
                if (!e) {
                        enter(k, f, entry + 1);
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

/* As much of it as is read at a time; the rest is another errand. */
static void walk_folder(struct walker *k, struct folder *f)
{
        static const char itself[] = { ENTRY_DIRECTORY, '\0' };
        struct walk *w = k->w;
        struct listing l = { 0 };
        if (!listing_read(&l, f->fd, w->with_ignored))
                fail(w);
        if (!f->is_begun && !w->with_ignored) {
                struct ignore *around = f->rules;
                f->rules = ignore_enter(around, f->fd, f->path, l.more ? IGNORE_ALL : l.ignore_files);
                ignore_drop(around);
        }
        f->is_begun = true;
        struct errand *rest = l.more ? make_errand(f, itself, 1, sizeof itself) : NULL;
        if (rest)
                push(w, rest, rest, 1);
        else if (l.more)
                fail(w);
        if (w->visitor.in_order)
                listing_sort(&l);
        share_directories(k, f, &l);
        share_files(k, f, &l);
        listing_done(&l);
}

/* A directory by its name, if it still is one. */
static void enter(struct walker *k, struct folder *in, const char *name)
{
        struct walk *w = k->w;
        const char *path = path_of(k, in, name);
        if (w->stop || is_skipped(w, in, path, true)) /* something may have been found since it was put on the stack */
                return;
        int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
        int fd = in->depth < MOST_DEPTH ? openat(in->fd, name, flags) : -1;
        bool gone = in->depth < MOST_DEPTH && fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
        struct folder *f = folder_new(fd, path, in->depth + 1, in->rules, &w->open);
        if (f)
                walk_folder(k, f);
        else if (!gone)
                w->unreadable++;
        folder_drop(f);
}

static void run_errand(struct walker *k, struct errand *e)
{
        if (*e->entries == ENTRY_DIRECTORY && !e->entries[1])
                walk_folder(k, e->in);
        else if (*e->entries == ENTRY_DIRECTORY)
                enter(k, e->in, e->entries + 1);
        else
                visit_files(k, e->in, e->entries, e->count);
        free_errand(e);
}

/* --- who does it --- */

static bool walker_begin(struct walker *k, struct walk *w)
{
        *k = (struct walker){ .w = w, .hand = w->visitor.hire(w->data, &w->stop) };
        if (!k->hand)
                fail(w);
        return k->hand;
}

static void walker_end(struct walker *k)
{
        if (k->hand)
                k->w->visitor.dismiss(k->w->data, k->hand);
        text_done(&k->path);
}

/* A thread: until there is nothing to do, and nobody who could make something. */
static void *work(void *data)
{
        struct walk *w = data;
        struct walker k;
        (void)walker_begin(&k, w);
        (void)pthread_mutex_lock(&w->lock);
        for (;;) {
                while (!w->errands && w->busy && !w->stop) {
                        w->idle++;
                        (void)pthread_cond_wait(&w->changed, &w->lock);
                        w->idle--;
                }
                struct errand *e = w->stop ? NULL : pop(w);
                if (!e)
                        break;
                w->busy++;
                (void)pthread_mutex_unlock(&w->lock);
                run_errand(&k, e);
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
        leave(w);
        return NULL;
}

/* Without threads: a little at a time. */
static void work_a_while(struct walk *w)
{
        int64_t until = clock_ms() + SLICE_MS;
        struct walker *k = &w->alone;
        if (!k->w && !walker_begin(k, w))
                w->done = true;
        for (struct errand *e; !w->done && !w->stop && clock_ms() < until;) {
                if ((e = pop(w)))
                        run_errand(k, e);
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

static nfds_t poll_for(const struct job *j, struct pollfd ret[JOB_FDS])
{
        ret[0] = (struct pollfd){ .fd = walk_of(j)->event, .events = POLLIN };
        return 1;
}

static int64_t deadline(const struct job *j)
{
        return walk_of(j)->is_alone ? 0 : INT64_MAX;
}

static bool step(struct job *j)
{
        struct walk *w = walk_of(j);
        if (w->is_alone && !w->done)
                work_a_while(w);
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
        text_format(message, " %s", walk_of(j)->visitor.counts);
        return files;
}

static void end(struct job *j)
{
        struct walk *w = walk_of(j);
        (void)pthread_mutex_lock(&w->lock);
        w->stop = true;
        (void)pthread_cond_broadcast(&w->changed);
        (void)pthread_mutex_unlock(&w->lock);
        if (w->is_alone && w->alone.w && !w->done)
                walker_end(&w->alone);
        leave(w);
}

static const struct job_kind walk_kind = { poll_for, deadline, step, progress, end };

void *walk_data(const struct job *j)
{
        return walk_of(j)->data;
}

bool walk_failed(const struct job *j)
{
        return walk_of(j)->failed;
}

size_t walk_unreadable(const struct job *j)
{
        return walk_of(j)->unreadable;
}

void walk_limit_threads(unsigned most)
{
        threads_allowed = most;
}

/* --- starting --- */

static unsigned processors(void)
{
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        return n < 1 ? 1 : n < MOST_THREADS ? (unsigned)n : MOST_THREADS;
}

/* Adds those of the directory at this path from the workspace's root on. */
static struct ignore *add_rules(struct ignore *rules, const struct workspace *ws, const char *path)
{
        CLEANUP_SPOT struct spot s = SPOT_NONE;
        CLEANUP_FD int fd = workspace_find(ws, path, &s, NULL) < 0 ? -1 : spot_open(&s, O_RDONLY | O_DIRECTORY, NULL);
        if (fd < 0)
                return rules;
        struct ignore *more = ignore_enter(rules, fd, path, IGNORE_ALL);
        ignore_drop(rules);
        return more;
}

/* From the root down to the directory around `path`. */
static struct ignore *rules_around(const struct workspace *ws, const char *path)
{
        struct ignore *rules = NULL;
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

/* The first errand. */
static int begin(struct walk *w, const struct walk_start *start, struct error *e)
{
        const struct spot *s = start->spot;
        const char *root = workspace_root(start->workspace), *path = s->path + (root[1] ? strlen(root) : 0);
        bool is_directory = S_ISDIR(s->st.st_mode);
        path += *path == '/';
        int fd = is_directory ? spot_open(s, O_RDONLY | O_DIRECTORY, e) : fcntl(s->parent, F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
                return is_directory ? fd : error_errno(e, errno, stage, "cannot hold %s", s->path);
        w->with_ignored = start->with_ignored || !is_directory; /* a file that was named is wanted */
        w->base = is_directory && *path ? strlen(path) + 1 : 0;
        struct ignore *around = w->with_ignored ? NULL : rules_around(start->workspace, path);
        CLEANUP_TEXT struct text entry = { 0 };
        text_format(&entry, "%c%s", is_directory ? ENTRY_DIRECTORY : ENTRY_FILE, is_directory ? "" : s->name);
        struct folder *f = folder_new(fd, is_directory ? path : "", 0, around, &w->open);
        struct errand *errand = f && !entry.failed ? make_errand(f, entry.data, 1, entry.length + 1) : NULL;
        folder_drop(f);
        ignore_drop(around);
        if (!errand)
                return error_errno(e, ENOMEM, stage, "no memory");
        push(w, errand, errand, 1);
        return 0;
}

struct job *walk_new(const struct walk_start *start, const struct walk_visitor *visitor, void *data, struct error *e)
{
        struct walk *w = calloc(1, sizeof *w);
        if (!w) {
                visitor->ended(data);
                (void)error_errno(e, ENOMEM, stage, "no memory");
                return NULL;
        }
        w->job.kind = &walk_kind;
        w->visitor = *visitor;
        w->data = data;
        w->holders = 1;
        (void)pthread_mutex_init(&w->lock, NULL);
        (void)pthread_cond_init(&w->changed, NULL);
        unsigned most = threads_allowed, here = processors();
        w->most_threads = here < most ? here : most;
        w->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        int r = w->event < 0 ? error_errno(e, errno, stage, "cannot make an event") : begin(w, start, e);
        if (r < 0) {
                leave(w);
                return NULL;
        }
        (void)pthread_mutex_lock(&w->lock);
        w->is_alone = !add_thread(w);
        (void)pthread_mutex_unlock(&w->lock);
        return &w->job;
}
