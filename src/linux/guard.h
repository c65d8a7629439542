/*
 * The guard: processes that perform file system calls for the programs of a box, to enforce its rules about names.
 *
 * What it is for: mounts and Landlock protect objects, but a policy names paths. A name that does not exist cannot be
 * covered by a mount, and a cover is lost when a process outside replaces the object. So the filter notifies the guard
 * of the calls that create, move, remove or change something by name (filter_guarded[] in filter_table.c), and in some
 * plans of those that open for reading.
 *
 * How it works: the guard copies the path out of the caller's memory once and resolves it from the caller's working
 * directory or descriptor, following symlinks itself. It checks the current path of the directory together with the
 * last name (name_rules.h), and performs the call on the descriptors that it holds. A call whose path was checked never
 * continues in the caller, whose memory may change (TOCTOU).
 *
 *   guard_caller.c  the caller: its memory, directories, umask, descriptors
 *   guard_find.c    resolves a path of the caller to a parent, a name and an object
 *   guard_open.c    opens files; guard_names.c performs the other calls on names, guard_objects.c those that change
 *                   metadata; guard_sockets.c binds and connects
 *   guard_serve.c   the guard processes and their answers; guard_keeper.c what they ask of the keeper at level standard
 *   guard_aliases.c what the paths of a plan resolve to (wall_guard.c decides whether it needs a guard)
 *   guard_git.c     files that git trusts; guard_git_content.c checks them by their content, guard_git_paths.c and
 *                   guard_git_around.c find those that the user's configurations name
 *
 * What it trusts: nothing from the caller. The box's own walls (mounts, Landlock) confine the guard too, and its only
 * capability is to inspect processes of the box. So a wrong verdict allows no more than those walls do.
 *
 * What an attacker controls: memory that changes while it is read, directories that move, symlinks, callers that are
 * killed, files that block. Any failure denies the call.
 *
 * Needs of the kernel: seccomp notification with ADDFD and SEND (5.14), WAIT_KILLABLE_RECV (5.19), openat2 (5.6),
 * pidfd_getfd (5.6).
 */
#ifndef RINGWALL_LINUX_GUARD_H
#define RINGWALL_LINUX_GUARD_H

#include <linux/seccomp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "linux/guard_aliases.h"
#include "linux/refused_calls.h"
#include "policy/name_rules.h"
#include "policy/plan.h"

struct guard_shared;
struct resolved_paths;

/* Guard processes where the plan limits the number of processes. Elsewhere more are forked when all are busy. */
enum { GUARDS_WITH_PROCESS_LIMIT = 2 };

/* Memory that all guards of a box share with its keeper. NULL when out of memory. */
struct guard_shared *guard_shared_new(void);

struct guard_start {
        const struct plan *plan;
        const struct guard_aliases *aliases;
        struct guard_shared *shared;
        struct refused_calls *refused; /* has the listener; also answers the notified calls that are not guarded */
        bool has_ptrace;         /* the guard has CAP_SYS_PTRACE */
        const char *scratch;     /* without a mount namespace: the box's scratch directory, or NULL */
        const struct resolved_paths *places; /* without a mount namespace: the real paths of the plan's grants */
        int keeper;              /* without a mount namespace: a socket to the keeper, or -1 */
};

/* Runs in a child of the keeper, confined by the box's walls. Serves until the box ends. */
_Noreturn void guard_serve(const struct guard_start *start);

/*
 * The same for a box without namespaces, where the keeper does not enforce the Landlock rules on itself. The command's
 * process calls this after it has enforced them on itself; the guard becomes a child of the keeper, and waits until the
 * keeper sends it the listener. Returns 0 or -errno.
 */
int guard_fork_before_listener(const struct guard_start *start);

/* Yama's ptrace_scope, from /proc; YAMA_NONE also without Yama. */
enum { YAMA_NONE = 0, YAMA_ANCESTORS = 1, YAMA_NO_ATTACH = 3 };
int guard_yama_scope(void);

/* Called by the process that forks the first guard. */
void guard_register_first(struct guard_shared *shared, pid_t pid);

/* In the keeper: is this the pid of a guard? When a guard exits, callers may wait for ever, so the box has to end. */
bool guard_is_guard_pid(const struct guard_shared *shared, pid_t pid);

/* --- for the files of the guard --- */

enum { GUARD_CALLERS_MAX = 64 };

/* A cached caller. Its open directory in /proc keeps referring to that process, even if its tid is reused. */
struct guard_caller {
        pid_t tid;
        int proc;            /* O_PATH */
        bool confirmed;      /* /proc answered during this call, so the process still exists */
        int umask;           /* -1: not known */
        unsigned generation; /* guard_shared.umask_changes when the umask was read */
};

/* A git configuration that the box has changed. */
enum { GUARD_GIT_SNAPSHOTS_MAX = 64, GUARD_GIT_SNAPSHOT_BYTES = 131072 };
struct guard_git_snapshot {
        char path[PATH_MAX]; /* "": unused */
        size_t original_length, installed_length;
        /* the content before the box changed it; the content that the guard installed last */
        char original[GUARD_GIT_SNAPSHOT_BYTES], installed[GUARD_GIT_SNAPSHOT_BYTES];
};

struct guard {
        const struct plan *plan;
        struct arena *arena;
        struct name_rules *rules;
        struct guard_shared *shared;
        struct refused_calls *refused;
        int proc;            /* /proc */
        int self_fds;        /* /proc/self/fd */
        size_t slot;         /* index in guard_shared.guards */
        bool own_mounts;     /* the box has a mount namespace */
        bool has_ptrace;     /* the guard has CAP_SYS_PTRACE */
        bool yama_restricts; /* only an ancestor or CAP_SYS_PTRACE may read another process's memory */
        bool asks_keeper;    /* the keeper reads the caller's memory for the guard (guard_keeper.h) */
        int keeper;          /* a socket to it, or -1 */
        bool own_network;    /* the box has a network namespace */
        bool scoped_sockets; /* Landlock denies abstract sockets outside the box */
        struct guard_caller callers[GUARD_CALLERS_MAX];
        int umask;           /* our own, -1: not known */
        struct {
                dev_t device;
                ino_t inode;
                char path[PATH_MAX];
        } last_directory;    /* verified in the last call; the next call often needs it again */
        char last_base[PATH_MAX]; /* verified start of the last relative path */
        /* The call that is being served: */
        const struct seccomp_notif *notification;
        struct guard_caller *caller;
        bool is_delegate;      /* this process was forked for this call alone */
        bool locked, exclusive; /* it holds the lock on names; exclusively */
        const struct rule *denied_by; /* NULL: no rule has denied the call */
        char denied_path[PATH_MAX];
        /* For guard_git.c: */
        bool protects_git;   /* the plan protects files that git runs or trusts */
        struct relative_hooks relative_hooks; /* of the user's configurations */
        char *git_text;      /* the content that was checked last */
        size_t git_length;
        struct guard_git_snapshot *git_snapshots; /* shared memory; needs the exclusive lock */
        struct guard_git_snapshot *git_pending; /* of the file whose content was checked last and is to be installed */
        struct rule git_rule;
        char git_why[256];
};

/* How a call was served. */
struct guard_answer {
        enum { GUARD_VALUE, GUARD_FD, GUARD_CONTINUE, GUARD_DELEGATED } kind; /* DELEGATED: another process answers */
        int fd;              /* to install in the caller; guard_serve.c closes it */
        bool close_on_exec, writable;
        mode_t mode;         /* of the opened file */
        bool created;        /* the call created the file: */
        int created_in;      /* its directory, closed likewise; or AT_FDCWD if created_name is an absolute path */
        char created_name[PATH_MAX];
};

/* Serves a call of filter_guarded[]. Returns the value for the caller, or -errno. */
typedef long guard_call(struct guard *g, const uint64_t *args, struct guard_answer *answer);

guard_call guard_open, guard_openat, guard_creat, guard_truncate;
guard_call guard_mkdir, guard_mkdirat, guard_mknod, guard_mknodat, guard_symlink, guard_symlinkat, guard_link,
        guard_linkat, guard_unlink, guard_unlinkat, guard_rmdir, guard_rename, guard_renameat, guard_renameat2;
guard_call guard_chmod, guard_fchmod, guard_fchmodat, guard_fchmodat2, guard_chown, guard_fchown, guard_lchown,
        guard_fchownat, guard_utime, guard_utimes, guard_futimesat, guard_utimensat, guard_setxattr, guard_lsetxattr,
        guard_fsetxattr, guard_removexattr, guard_lremovexattr, guard_fremovexattr;
guard_call guard_bind, guard_connect, guard_listen, guard_socket;

/* --- guard_caller.c --- */

/* Sets g->caller to the caller of g->request. -errno: it has exited. */
int guard_find_caller(struct guard *g);

/*
 * Copy from the caller's memory: a string with its NUL, or a number of bytes. guard_read_string() returns the string's
 * length, or -too_long. -EFAULT as the kernel would return it.
 */
int guard_read_string(struct guard *g, uint64_t address, char *ret, size_t size, int too_long);
int guard_read_memory(struct guard *g, uint64_t address, void *ret, size_t size);

/* The directory that a relative path starts at: an O_PATH descriptor, or -errno. */
int guard_open_base(struct guard *g, int directory);

/* The path of that directory. -EAGAIN: no path resolves to it, or /proc does not show it without the capability. */
int guard_base_path(struct guard *g, int directory, char ret[PATH_MAX]);

/* A descriptor of the caller: reopened as O_PATH, or copied. -EBADF: the caller does not have it. */
int guard_reopen_caller_fd(struct guard *g, int fd);
int guard_copy_caller_fd(struct guard *g, int fd);

/* Sets the guard's umask to the caller's, before it creates something. */
int guard_apply_umask(struct guard *g);
void guard_set_umask(struct guard *g, int mask);

/*
 * May the caller open this path in /proc? The kernel would check the guard, which may inspect every process of the box.
 * So of processes other than the caller only the files that are public are opened.
 */
bool guard_may_see_proc(struct guard *g, const char *path);

/* The caller's process id, for /proc/self and /proc/thread-self. -errno: it has exited. */
int guard_caller_tgid(struct guard *g, pid_t *ret_tgid);

/* The device of the caller's controlling terminal, or 0. */
dev_t guard_caller_terminal(struct guard *g);

/*
 * Splits a range into at most two parts that do not cross a page, so that an unmapped second page does not fail the
 * read of the first. Returns their number.
 */
unsigned long guard_split_pages(uint64_t address, size_t size, struct iovec ret[2]);

/*
 * A pidfd, or -1 with errno. Before 6.9 a thread has none, and the pidfd of its process `tgid` is opened instead (0: do
 * not try that).
 */
int guard_open_process(pid_t tid, pid_t tgid);

/* Probes Yama, Landlock and the network namespace, and drops the capability until it is needed. */
void guard_probe_host(struct guard *g);

/*
 * For a process that blocks on the caller's behalf: does the caller have a pending signal that it neither blocks nor
 * ignores? Returns 0, or the -errno to answer with. The caller handles no signal before it is answered.
 */
int guard_caller_interrupted(struct guard *g);

/* Is the caller still waiting? If not, its tid may have been reused, and what was read may be another process's. */
bool guard_caller_is_waiting(const struct guard *g);

/* --- guard_find.c --- */

enum guard_find_flag {
        GUARD_FOLLOW = 1,     /* follow a symlink at the end of the path */
        GUARD_EMPTY_PATH = 2, /* an empty path means the descriptor itself */
        GUARD_ENTRY = 4,      /* the parent is needed; a symlink with a trailing slash is not followed */
        GUARD_NO_OBJECT = 8,  /* do not look up the last name */
};

/*
 * A resolved path. It has no parent if the path is "/" or ends with "." or "..", for a descriptor and for a magic link.
 * For all others a parent is guaranteed only with GUARD_ENTRY or GUARD_NO_OBJECT.
 */
struct guard_name {
        int parent;               /* O_PATH, or -1 */
        int object;               /* O_PATH, a symlink only if it was not followed; -1: it does not exist */
        mode_t mode;              /* of the object */
        bool slash;               /* the path ended with a slash */
        char name[NAME_MAX + 1];  /* without a parent: "", "." or ".." */
        char path[PATH_MAX];      /* in the box; "" for an object without a path, such as a pipe */
};

void guard_name_close(struct guard_name *n);
#define CLEANUP_GUARD_NAME CLEANUP(guard_name_close)

/* `address` is the path in the caller's memory. Returns 0, also when the last name does not exist, or -errno. */
int guard_find(struct guard *g, int directory, uint64_t address, unsigned flags, struct guard_name *ret);
int guard_find_text(struct guard *g, int directory, const char *text, unsigned flags, struct guard_name *ret);

/*
 * The absolute path, if it is plain: without ".", "..", or doubled slashes (a leading "./" is allowed). Nothing is
 * resolved, so it has to be opened with fd_open_no_symlinks(), which refuses symlinks. -EAGAIN: it is not plain.
 */
int guard_find_plain(struct guard *g, int directory, uint64_t address, char ret[PATH_MAX]);

/* Opens the object of a plain path, without a parent. -EAGAIN: use guard_find(). */
int guard_find_object(struct guard *g, int directory, uint64_t address, struct guard_name *ret);

/* The object of a descriptor of the caller. */
int guard_find_fd(struct guard *g, int fd, struct guard_name *ret);

/*
 * Judge a path by the rules. Return 0; -EACCES when a rule denies reading (or writing) it, which is recorded for the
 * report; -EROFS when it may only be read. guard_deny() always records and returns -EACCES.
 */
int guard_judge(struct guard *g, const char *path, bool write);
int guard_deny(struct guard *g, const struct rule *by, const char *path);
int guard_judge_name(struct guard *g, const struct guard_name *n, bool write);

/*
 * Without mounts: does the plan grant this path? Landlock allows a granted object by every path, also by a second mount
 * of it that was made outside, whose path no rule denies.
 */
bool guard_is_granted(struct guard *g, const char *path, bool write);

/* Is it on a procfs? There the kernel resolves /proc/self to the guard, and checks the guard's rights. */
bool guard_is_on_proc(int fd);

/* "/proc/self/fd/N", to act on the object of an O_PATH descriptor. */
enum { GUARD_LINK_BYTES = 32 };
const char *guard_fd_path(int fd, char ret[GUARD_LINK_BYTES]);

/* --- guard_serve.c --- */

/*
 * A call that changes names holds the shared lock from the lookup to the change. A call that needs several names to
 * stay as they are returns GUARD_RETRY_EXCLUSIVE before it changes anything, and is served again with the exclusive
 * lock.
 */
enum { GUARD_RETRY_EXCLUSIVE = -4096 }; /* not an errno */
void guard_lock(struct guard *g, bool exclusive);
void guard_unlock(struct guard *g);

/* How often a directory may have moved, or a name of git's changed: both need the exclusive lock. */
unsigned guard_exclusive_changes(const struct guard *g);

/* Held from a question to the keeper until its answer, since all guards share one socket. */
void guard_lock_keeper(struct guard *g);
void guard_unlock_keeper(struct guard *g);

/*
 * Forks a process for a call that may block. True in the child, which answers and exits. In the parent answer->kind is
 * GUARD_DELEGATED, or unchanged when the fork failed.
 */
bool guard_fork_delegate(struct guard *g, struct guard_answer *answer);
unsigned guard_umask_generation(const struct guard *g, bool *ret_settled);

#endif
