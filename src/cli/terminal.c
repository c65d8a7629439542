/*
 * The person's terminal.
 *
 * What it is for: a command in a box has a terminal of its own (linux/pty.c says why and where). This file is the cable
 * between the two: what is typed goes one way, what is shown the other, and the size follows.
 *
 * How it works: while the terminal is claimed, the person's is raw, so every key, Ctrl-C and Ctrl-Z and Ctrl-D among
 * them, is a byte that goes to the command's terminal, and that one makes a signal or an end of file of it for whoever
 * is in the foreground there. Nothing is interpreted here.
 *
 * It is claimed from the start when standard input is a terminal, standard output is no pipe, and it is our turn.
 * Otherwise somebody else may be reading from it: less behind a pipe, or the shell that has us in the background. Then
 * it is left alone until the command wants it (BOX_STOPPED with SIGTTIN or SIGTTOU). Until then its keys make signals
 * for our own process group, which attend.c passes on, and it processes the output, so the command's does not.
 *
 * Way out: whatever ends or stops us puts the modes back. Signals that attend.c receives as data lead there by the
 * ordinary way; for the rest there is a handler. Only SIGKILL and SIGSTOP leave it raw. Input that nobody has read is
 * thrown away then: it was typed for the command, or it is the terminal's answer to a question of the command's, and the
 * shell must not execute it.
 *
 * Which one it is: the first of the three descriptors that is a terminal. Another terminal among them is replaced too,
 * and what is written to it shows on the first.
 *
 * What an attacker controls: the bytes that are shown, as with every program that writes to a terminal.
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

/* How long the person's terminal may take nothing at all before the rest of the output is given up. */
enum { DRAIN_MS = 2000 };

/* --- modes --- */

/* The handler of signals needs it too; there is one person's terminal. */
static struct {
        volatile sig_atomic_t raw;
        int fd;
        struct termios modes;
} before;

static void put_back(void)
{
        if (!before.raw)
                return;
        (void)tcsetattr(before.fd, TCSAFLUSH, &before.modes);
        before.raw = 0;
}

static void put_back_and_die(int number)
{
        put_back();
        (void)raise(number); /* with its default action: SA_RESETHAND */
}

/* All that would end us and is not received as data. */
static void catch_deadly_signals(void)
{
        static const int deadly[] = {
                SIGABRT, SIGALRM, SIGBUS,  SIGFPE,  SIGILL,    SIGIO,   SIGPIPE, SIGPROF,
                SIGPWR,  SIGSEGV, SIGSYS,  SIGTRAP, SIGVTALRM, SIGXCPU, SIGXFSZ, SIGSTKFLT,
        };
        struct sigaction action = { .sa_handler = put_back_and_die, .sa_flags = (int)SA_RESETHAND };
        for (size_t i = 0; i < ARRAY_SIZE(deadly); i++)
                (void)sigaction(deadly[i], &action, NULL);
        for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
                (void)sigaction(number, &action, NULL);
}

/* Does the command's terminal turn NL into CR NL? Returns what it did before. */
static bool process_output(int master, bool on)
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

/* --- finding it --- */

/*
 * One that is open for what we want with it. Opened anew, so that it can be non-blocking without our siblings noticing;
 * where that is not allowed (after su, for example), as it is.
 */
static int open_again(unsigned terminals, int useless)
{
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
                char path[32];
                if (!(terminals & 1U << fd))
                        continue;
                (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
                int again = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
                if (again >= 0)
                        return again;
                if ((fcntl(fd, F_GETFL) & O_ACCMODE) != useless)
                        return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        }
        return -1;
}

static bool is_pipe(int fd)
{
        struct stat st;
        return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

void terminal_find(struct terminal *t)
{
        struct termios modes;
        *t = (struct terminal){ .in = -1, .out = -1, .master = -1 };
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                t->replaced |= isatty(fd) || (errno != ENOTTY && errno != EBADF && errno != EINVAL) ? 1U << fd : 0U;
        if (!t->replaced)
                return;
        t->in = open_again(t->replaced, O_WRONLY);
        t->out = open_again(t->replaced, O_RDONLY);
        t->processed = tcgetattr(t->out, &modes) == 0 && (modes.c_oflag & OPOST);
        t->eager = (t->replaced & 1U << STDIN_FILENO) && !is_pipe(STDOUT_FILENO) && terminal_is_ours(t);
}

/* --- whose turn it is --- */

bool terminal_is_ours(const struct terminal *t)
{
        if (t->in < 0)
                return false;
        pid_t group = tcgetpgrp(t->in);
        /* Not the terminal of our session: nobody takes turns at it. */
        return group < 0 ? errno == ENOTTY : group == getpgrp();
}

bool terminal_claim(struct terminal *t)
{
        if (t->master < 0 || !terminal_is_ours(t))
                return false;
        if (!before.raw) {
                before.fd = t->in;
                if (tcgetattr(t->in, &before.modes) < 0)
                        return false;
        }
        struct termios raw = before.modes;
        cfmakeraw(&raw);
        before.raw = 1;
        (void)tcsetattr(t->in, TCSADRAIN, &raw);
        if (!t->claimed)
                (void)process_output(t->master, t->processed);
        t->claimed = true;
        terminal_resize(t);
        return true;
}

void terminal_release(struct terminal *t)
{
        if (!t->claimed)
                return;
        if (terminal_is_ours(t))
                put_back();
        before.raw = 0; /* in another's hands it is not for us to change */
        if (t->master >= 0)
                t->processed = process_output(t->master, false);
        t->claimed = false;
}

void terminal_attach(struct terminal *t, int master)
{
        t->master = master;
        catch_deadly_signals();
        if (t->eager)
                (void)terminal_claim(t);
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

/* --- the bytes --- */

static bool is_empty(const struct terminal_pump *p)
{
        return p->start == p->end;
}

static bool may_retry(ssize_t n)
{
        return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* False when nothing will come any more: the other end is closed. */
static bool fill(struct terminal_pump *p, int from)
{
        ssize_t n = read(from, p->data, sizeof p->data);
        p->start = 0;
        p->end = n > 0 ? (size_t)n : 0;
        return n > 0 || may_retry(n);
}

/* False when nothing will be taken any more. */
static bool empty(struct terminal_pump *p, int to)
{
        ssize_t n = write(to, p->data + p->start, p->end - p->start);
        p->start += n > 0 ? (size_t)n : 0;
        return n >= 0 || may_retry(n);
}

void terminal_watch(const struct terminal *t, struct pollfd events[TERMINAL_EVENTS])
{
        int wanted = (is_empty(&t->shown) ? POLLIN : 0) | (is_empty(&t->typed) ? 0 : POLLOUT);
        bool reads = t->claimed && t->master >= 0 && is_empty(&t->typed); /* a line that was cut would say so for ever */
        events[0] = (struct pollfd){ .fd = reads ? t->in : -1, .events = POLLIN };
        events[1] = (struct pollfd){ .fd = is_empty(&t->shown) ? -1 : t->out, .events = POLLOUT };
        events[2] = (struct pollfd){ .fd = wanted ? t->master : -1, .events = (short)wanted };
}

void terminal_relay(struct terminal *t, const struct pollfd events[TERMINAL_EVENTS])
{
        if (events[0].revents && t->master >= 0 && !fill(&t->typed, t->in))
                terminal_hang_up(t);
        if (!is_empty(&t->typed) && t->master >= 0 && !empty(&t->typed, t->master))
                t->typed.start = t->typed.end;
        /* The command's terminal ends when the last process in the box has closed it. */
        if (events[2].revents && is_empty(&t->shown) && t->master >= 0 && !fill(&t->shown, t->master))
                terminal_hang_up(t);
        if (!is_empty(&t->shown) && !empty(&t->shown, t->out)) {
                t->shown.start = t->shown.end;
                terminal_hang_up(t);
        }
}

/* The box is empty, so there is an end to what can come. */
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
        terminal_release(t);
        fd_close(&t->master);
        fd_close(&t->in);
        fd_close(&t->out);
}
