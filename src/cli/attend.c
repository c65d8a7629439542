/*
 * Attending a box.
 *
 * Signals come as data (signalfd), so that one loop sees everything in order. Whoever sends them, all go on to the
 * command, which is in a session of its own and receives none by itself. SIGWINCH becomes a new size where there is a
 * terminal.
 *
 * Stopping: when the command is stopped, by Ctrl-Z for example, we give the terminal back and stop ourselves, so that
 * the shell sees a stopped job; when the shell continues us, we continue the command. With a terminal we stop our whole
 * process group, as its key would have done: the shell waits for every process of a job. The kernel does not stop an
 * orphaned group, as there is nobody to continue it; then the command goes on at once.
 *
 * A command that is stopped because it wants the terminal gets it, if it is our turn. In the background we stop for the
 * same reason, so a job in the shell behaves as it would without a box.
 *
 * The time limit also holds while we are stopped, when other processes of the box may well be running: a timer continues
 * us at the end.
 */
#include "cli/attend.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/front.h"

enum { GRACE_MS = 2000, POLL_MS = 60000 };

struct attendance {
        struct box *box;
        struct egressing *egress;
        struct terminal *terminal;
        struct live *live;
        int signals;
        int64_t end; /* of the time limit, or of the moment after it; -1: none */
        bool late;
        bool over, quiet;
        struct report *report;
        struct trail *trail;
};

/* --- to the keeper --- */

static void send_to(const struct box *box, enum box_message_kind kind, int number)
{
        struct box_message m = { .kind = kind, .number = number };
        (void)send(box->control, &m, sizeof m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void pass_on(struct attendance *a, int number)
{
        send_to(a->box, BOX_SIGNAL, number);
}

/* --- signals --- */

static void take_resize(struct attendance *a, int number)
{
        if (a->terminal->replaced)
                terminal_resize(a->terminal);
        else
                pass_on(a, number);
}

/* As from a terminal that is gone: what is stopped could not end otherwise. */
static void take_hangup(struct attendance *a, int number)
{
        pass_on(a, number);
        pass_on(a, SIGCONT);
}

/* Somebody had stopped us without our doing (SIGSTOP). The shell may have used the terminal meanwhile, or still does. */
static void take_continue(struct attendance *a, int number)
{
        bool claimed = a->terminal->claimed;
        if (claimed && !terminal_claim(a->terminal)) {
                terminal_release(a->terminal);
                send_to(a->box, BOX_CONTINUE, 0);
        } else {
                pass_on(a, number);
        }
}

static const struct {
        int number;
        void (*take)(struct attendance *a, int number);
} received[] = {
        { SIGINT, pass_on },  { SIGTERM, pass_on }, { SIGHUP, take_hangup },        { SIGQUIT, pass_on },
        { SIGUSR1, pass_on }, { SIGUSR2, pass_on }, { SIGTSTP, pass_on },       { SIGWINCH, take_resize },
        { SIGCONT, take_continue },
};

int attend_prepare(int *ret_signals)
{
        sigset_t set;
        (void)sigemptyset(&set);
        for (size_t i = 0; i < ARRAY_SIZE(received); i++) {
                struct sigaction before;
                /* What is ignored stays so: nohup, and what a shell starts in the background. */
                if (sigaction(received[i].number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
                        (void)sigaddset(&set, received[i].number);
        }
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        *ret_signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        return *ret_signals < 0 ? -errno : 0;
}

static void take_signals(struct attendance *a)
{
        struct signalfd_siginfo info;
        while (read(a->signals, &info, sizeof info) == sizeof info)
                for (size_t i = 0; i < ARRAY_SIZE(received); i++)
                        if (received[i].number == (int)info.ssi_signo)
                                received[i].take(a, received[i].number);
}

/* --- stopping --- */

static sigset_t only(int number)
{
        sigset_t set;
        (void)sigemptyset(&set);
        (void)sigaddset(&set, number);
        return set;
}

/* Returns when we are continued, at the latest at `end`; false when the kernel did not stop us. */
static bool stop_here(int number, bool group, int64_t end)
{
        static const struct timespec at_once;
        sigset_t stop = only(number), go = only(SIGCONT), mask;
        struct sigevent wake = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT };
        struct itimerspec when = { .it_value = { .tv_sec = end / 1000, .tv_nsec = end % 1000 * 1000000 } };
        timer_t timer;
        bool timed = end >= 0 && timer_create(CLOCK_MONOTONIC, &wake, &timer) == 0;
        (void)sigprocmask(SIG_BLOCK, &stop, &mask);
        (void)kill(group ? 0 : getpid(), number);
        if (timed)
                (void)timer_settime(timer, TIMER_ABSTIME, &when, NULL); /* after kill(), which cancels SIGCONT */
        (void)sigprocmask(SIG_UNBLOCK, &stop, NULL); /* here */
        (void)sigprocmask(SIG_SETMASK, &mask, NULL);
        if (timed)
                (void)timer_delete(timer);
        return sigtimedwait(&go, NULL, &at_once) == SIGCONT;
}

static void take_stop(struct attendance *a, int number)
{
        struct terminal *t = a->terminal;
        bool asks = number == SIGTTIN || number == SIGTTOU;
        bool claimed = asks && terminal_claim(t);
        if (!claimed) {
                bool again = asks || t->claimed;
                terminal_release(t);
                bool stopped = stop_here(asks ? number : SIGTSTP, t->replaced != 0, a->end);
                claimed = again && terminal_claim(t);
                /* It would ask for ever. To read in an orphaned group is an error; the nearest to that is a cut line. */
                if (asks && !claimed && !stopped)
                        terminal_hang_up(t);
        }
        send_to(a->box, BOX_CONTINUE, claimed);
}

/* --- from the keeper --- */

static void fail(struct attendance *a, int code, const char *what)
{
        struct error e = { 0 };
        if (code)
                error_errno(&e, code, "attend", "%s", what);
        else
                error_set(&e, EPIPE, "attend", "%s", what);
        report_stop(a->report, END_FAILED, &e);
        a->over = true;
}

static void take_message(struct attendance *a)
{
        struct box_message m;
        CLEANUP_FD int fd = -1;
        ssize_t n = box_receive(a->box, &m, &fd);
        if (n == -EAGAIN || n == -EINTR)
                return;
        if (n != sizeof m) {
                fail(a, 0, "the box was killed from outside");
                return;
        }
        if (m.kind == BOX_TERMINAL)
                terminal_attach(a->terminal, TAKE_FD(fd));
        if (m.kind == BOX_STOPPED)
                take_stop(a, m.number);
        if (m.kind == BOX_NOTE && !a->quiet)
                front_complain("run", "%s", m.error.text);
        a->over = report_take(a->report, &m);
        if (m.kind == BOX_STARTED)
                trail_started(a->trail, a->report);
}

static void take_egress(struct attendance *a)
{
        size_t said = a->report->note_count;
        egress_hear(a->egress);
        for (; !a->quiet && said < a->report->note_count; said++)
                front_complain("run", "%s", a->report->notes[said]);
}

/* --- from the policy's files --- */

static void take_change(struct attendance *a)
{
        CLEANUP_TEXT struct text complaint = { 0 };
        struct error e = { 0 };
        struct plan *plan = NULL; /* never freed: the report speaks of its rules */
        int r = live_read(a->live, &plan, &complaint);
        if (r < 0)
                front_complain("run", "%s", complaint.data ? complaint.data : "no memory");
        else if (r > 0 && egress_change(a->egress, plan, &e) < 0)
                front_complain("run", "%s", e.text);
}

/* --- the whole --- */

/* First a request to end, then, after a moment, the end. */
static void take_time(struct attendance *a)
{
        if (a->over || a->end < 0 || clock_ms() < a->end)
                return;
        a->over = a->late; /* it had its moment */
        a->late = true;
        a->end = clock_ms() + GRACE_MS;
        pass_on(a, SIGTERM);
        pass_on(a, SIGCONT);
}

static void wait_for_events(struct attendance *a)
{
        enum { CONTROL, SIGNALS, EGRESS, POLICY, TERMINAL };
        struct pollfd events[TERMINAL + TERMINAL_EVENTS] = {
                [CONTROL] = { .fd = a->box->control, .events = POLLIN },
                [SIGNALS] = { .fd = a->signals, .events = POLLIN },
                [EGRESS] = { .fd = a->egress->events, .events = POLLIN },
                [POLICY] = { .fd = a->live->changes, .events = POLLIN },
        };
        int64_t left = a->end < 0 ? POLL_MS : a->end - clock_ms();
        terminal_watch(a->terminal, &events[TERMINAL]);
        if (poll(events, ARRAY_SIZE(events), left < 0 ? 0 : left > POLL_MS ? POLL_MS : (int)left) < 0) {
                if (errno != EINTR)
                        fail(a, errno, "cannot wait for the box");
                return;
        }
        terminal_relay(a->terminal, &events[TERMINAL]);
        if (events[SIGNALS].revents)
                take_signals(a);
        if (events[EGRESS].revents)
                take_egress(a);
        if (events[POLICY].revents)
                take_change(a);
        if (events[CONTROL].revents)
                take_message(a);
}

void attend_box(struct running *running, struct terminal *terminal, struct live *live, int signals, bool quiet,
                struct report *report, struct trail *trail)
{
        uint64_t seconds = report->plan->number[PLAN_TIMEOUT].number;
        struct attendance a = {
                .box = &running->box,
                .egress = &running->egress,
                .terminal = terminal,
                .live = live,
                .signals = signals,
                .end = seconds ? clock_ms() + (int64_t)seconds * 1000 : -1,
                .quiet = quiet,
                .report = report,
                .trail = trail,
        };
        while (!a.over) {
                wait_for_events(&a);
                take_time(&a);
        }
        if (report->end == END_NONE || report->end == END_FAILED)
                box_end(a.box);
        else
                box_leave(a.box);
        terminal_done(terminal);
        if (a.late)
                report_stop(report, END_TIMED_OUT, NULL);
}
