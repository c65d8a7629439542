/*
 * The user's terminal.
 *
 * What it is for: a command in a box has its own pseudoterminal (linux/pty.c has the reasons). This file relays input,
 * output and size between the user's terminal and the command's.
 *
 * How it works: while the user's terminal is claimed, it is in raw mode. So every key, including Ctrl-C, Ctrl-Z and
 * Ctrl-D, is a byte that is sent to the command's terminal, which turns it into a signal or EOF for its own foreground
 * process group. Nothing is interpreted here.
 *
 * The terminal is claimed at the start if standard input is a terminal, standard output is not a pipe, and our process
 * group is in the foreground. Otherwise another process may be reading from it: a pager at the end of the pipe, or the
 * shell that runs us in the background. Then it is not claimed until the command needs it (BOX_STOPPED with SIGTTIN or
 * SIGTTOU). Until then its keys send signals to our process group, which supervise.c forwards, and it does the output
 * processing, so the command's terminal must not.
 *
 * Restoring: the modes are restored when we exit or stop. Signals that supervise.c reads from its signalfd lead to a
 * normal exit; the other deadly signals have a handler. Only SIGKILL and SIGSTOP leave the terminal raw. Unread input
 * is discarded with the modes: it was typed for the command, or is the terminal's reply to an escape sequence of the
 * command, and the shell must not execute it.
 *
 * The user's terminal is the first of the three descriptors that is a terminal. If another descriptor is a different
 * terminal, it is replaced too, and its output appears on the first.
 *
 * An attacker controls the bytes that are shown, as with every program that writes to a terminal.
 */
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"

enum { DRAIN_MS = 2000 }; /* if the user's terminal accepts no output for this long, the rest is dropped */

/* --- modes --- */

/* Global, because the signal handler needs it. */
static struct {
        volatile sig_atomic_t raw;
        int fd;
        struct termios modes;
} saved;

static void restore_modes(void)
{
        if (!saved.raw)
                return;
        (void)tcsetattr(saved.fd, TCSAFLUSH, &saved.modes);
        saved.raw = 0;
}

static void restore_and_raise(int number)
{
        restore_modes();
        (void)raise(number); /* now with the default action, because of SA_RESETHAND */
}

/* All signals that terminate a process and that supervise.c does not read from its signalfd. */
static void catch_deadly_signals(void)
{
        static const int deadly[] = {
                SIGABRT, SIGALRM, SIGBUS,  SIGFPE,  SIGILL,    SIGIO,   SIGPIPE, SIGPROF,
                SIGPWR,  SIGSEGV, SIGSYS,  SIGTRAP, SIGVTALRM, SIGXCPU, SIGXFSZ, SIGSTKFLT,
        };
        struct sigaction action = { .sa_handler = restore_and_raise, .sa_flags = (int)SA_RESETHAND };
        for (size_t i = 0; i < ARRAY_SIZE(deadly); i++)
                (void)sigaction(deadly[i], &action, NULL);
        for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
                (void)sigaction(number, &action, NULL);
}

/* Switches OPOST of the command's terminal, which turns NL into CR NL. Returns whether it was on. */
static bool set_output_processing(int master, bool on)
{
        struct termios modes;
        if (tcgetattr(master, &modes) < 0)
                return on;
        bool was = modes.c_oflag & OPOST;
        modes.c_oflag = on ? modes.c_oflag | OPOST : modes.c_oflag & ~(tcflag_t)OPOST;
        if (was != on)
                (void)tcsetattr(master, TCSANOW, &modes);
        return was;
}

/* --- finding the terminal --- */

/*
 * Opens the first of the terminals anew, because O_NONBLOCK on the inherited descriptor would affect other processes.
 * If that is not permitted (after su, for example), duplicates the descriptor, unless its access mode is `unusable`.
 */
static int reopen(unsigned terminals, int unusable)
{
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
                char path[32];
                if (!(terminals & 1U << fd))
                        continue;
                (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
                int fresh = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
                if (fresh >= 0)
                        return fresh;
                if ((fcntl(fd, F_GETFL) & O_ACCMODE) != unusable)
                        return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        }
        return -1;
}

static bool is_pipe(int fd)
{
        struct stat st;
        return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

void terminal_init(struct terminal *t)
{
        struct termios modes;
        *t = (struct terminal){ .in = -1, .out = -1, .master = -1 };
        /* A terminal that was hung up is still a terminal: isatty() fails with EIO then. */
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                t->replaced |= isatty(fd) || (errno != ENOTTY && errno != EBADF && errno != EINVAL) ? 1U << fd : 0U;
        if (!t->replaced)
                return;
        t->in = reopen(t->replaced, O_WRONLY);
        t->out = reopen(t->replaced, O_RDONLY);
        t->processed = tcgetattr(t->out, &modes) == 0 && (modes.c_oflag & OPOST);
        t->claim_at_start = (t->replaced & 1U << STDIN_FILENO) && !is_pipe(STDOUT_FILENO) && terminal_in_foreground(t);
}

/* --- claiming --- */

bool terminal_in_foreground(const struct terminal *t)
{
        if (t->in < 0)
                return false;
        pid_t group = tcgetpgrp(t->in);
        /* ENOTTY: it is not the controlling terminal of our session, so there is no job control on it. */
        return group < 0 ? errno == ENOTTY : group == getpgrp();
}

bool terminal_set_raw(struct terminal *t)
{
        if (t->master < 0 || !terminal_in_foreground(t))
                return false;
        if (!saved.raw) {
                saved.fd = t->in;
                if (tcgetattr(t->in, &saved.modes) < 0)
                        return false;
        }
        struct termios raw = saved.modes;
        cfmakeraw(&raw);
        saved.raw = 1;
        (void)tcsetattr(t->in, TCSADRAIN, &raw);
        if (!t->claimed)
                (void)set_output_processing(t->master, t->processed);
        t->claimed = true;
        terminal_resize(t);
        return true;
}

void terminal_restore(struct terminal *t)
{
        if (!t->claimed)
                return;
        if (terminal_in_foreground(t))
                restore_modes();
        saved.raw = 0; /* if it is not ours any more, its modes must not be changed later either */
        if (t->master >= 0)
                t->processed = set_output_processing(t->master, false);
        t->claimed = false;
}

void terminal_attach(struct terminal *t, int master)
{
        t->master = master;
        catch_deadly_signals();
        if (t->claim_at_start)
                (void)terminal_set_raw(t);
        terminal_resize(t);
}

void terminal_resize(const struct terminal *t)
{
        struct winsize size;
        if (t->master >= 0 && ioctl(t->out, TIOCGWINSZ, &size) == 0)
                (void)ioctl(t->master, TIOCSWINSZ, &size);
}

void terminal_hang_up(struct terminal *t)
{
        fd_close(&t->master);
        t->typed.start = t->typed.end;
}

/* --- relaying --- */

static bool is_empty(const struct terminal_buffer *p)
{
        return p->start == p->end;
}

static bool may_retry(ssize_t n)
{
        return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* False on EOF or an error. */
static bool read_into(struct terminal_buffer *p, int from)
{
        ssize_t n = read(from, p->data, sizeof p->data);
        p->start = 0;
        p->end = n > 0 ? (size_t)n : 0;
        return n > 0 || may_retry(n);
}

/* False on an error. */
static bool write_from(struct terminal_buffer *p, int to)
{
        ssize_t n = write(to, p->data + p->start, p->end - p->start);
        p->start += n > 0 ? (size_t)n : 0;
        return n >= 0 || may_retry(n);
}

void terminal_watch(const struct terminal *t, struct pollfd events[TERMINAL_EVENTS])
{
        int wanted = (is_empty(&t->shown) ? POLLIN : 0) | (is_empty(&t->typed) ? 0 : POLLOUT);
        /* Without the command's terminal nothing would read typed input, and poll() would report it again and again. */
        bool reads = t->claimed && t->master >= 0 && is_empty(&t->typed);
        events[0] = (struct pollfd){ .fd = reads ? t->in : -1, .events = POLLIN };
        events[1] = (struct pollfd){ .fd = is_empty(&t->shown) ? -1 : t->out, .events = POLLOUT };
        events[2] = (struct pollfd){ .fd = wanted ? t->master : -1, .events = (short)wanted };
}

void terminal_relay(struct terminal *t, const struct pollfd events[TERMINAL_EVENTS])
{
        if (events[0].revents && t->master >= 0 && !read_into(&t->typed, t->in))
                terminal_hang_up(t);
        if (!is_empty(&t->typed) && t->master >= 0 && !write_from(&t->typed, t->master))
                t->typed.start = t->typed.end;
        /* EOF: the last process in the box has closed the command's terminal. */
        if (events[2].revents && is_empty(&t->shown) && t->master >= 0 && !read_into(&t->shown, t->master))
                terminal_hang_up(t);
        if (!is_empty(&t->shown) && !write_from(&t->shown, t->out)) {
                t->shown.start = t->shown.end;
                terminal_hang_up(t);
        }
}

/* Shows the rest of the output. It is finite, because no process is left in the box. */
static void drain(struct terminal *t)
{
        struct pollfd events[TERMINAL_EVENTS];
        t->typed.start = t->typed.end;
        while (t->master >= 0 || !is_empty(&t->shown)) {
                terminal_watch(t, events);
                events[0].fd = -1;
                if (poll(events, TERMINAL_EVENTS, DRAIN_MS) <= 0)
                        return;
                terminal_relay(t, events);
        }
}

void terminal_done(struct terminal *t)
{
        drain(t);
        terminal_restore(t);
        fd_close(&t->master);
        fd_close(&t->in);
        fd_close(&t->out);
}
