/*
 * The front's event loop while a box runs; see supervise.h. "We" is the front.
 *
 * Signals are read from a signalfd and forwarded to the command, which is in another session and gets none of them from
 * our terminal. If the command has a terminal, SIGWINCH only changes the size of that terminal.
 *
 * Job control: when the command stops, for example by Ctrl-Z, we release the terminal and stop ourselves, so that the
 * shell sees a stopped job. When the shell continues us, we continue the command. If the command has a terminal we stop
 * our whole process group, as Ctrl-Z would have done, because the shell waits for every process of a job. The kernel
 * does not stop an orphaned process group, because no shell would continue it; then the command is continued at once.
 *
 * A command that was stopped by SIGTTIN or SIGTTOU gets the terminal if we are in the foreground. In the background we
 * stop too, by the same signal, so a job behaves as it would without a box.
 *
 * The time limit also applies while we are stopped, because other processes of the box may be running: a timer sends us
 * SIGCONT at the deadline.
 */
#include "cli/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/program.h"

struct supervision {
        struct box_run *run;
        struct terminal *terminal;
        struct live_policy *live;
        int signals;
        bool quiet;
};

static void forward_signal(struct supervision *s, int number)
{
        (void)box_run_send(s->run, BOX_SIGNAL, number); /* fails only if the box has ended */
}

/* --- signals --- */

static void forward_resize(struct supervision *s, int number)
{
        if (s->terminal->replaced)
                terminal_resize(s->terminal);
        else
                forward_signal(s, number);
}

/* SIGCONT too, as the kernel does on a hangup: a stopped process would not handle SIGHUP. */
static void forward_hangup(struct supervision *s, int number)
{
        forward_signal(s, number);
        forward_signal(s, SIGCONT);
}

/* We were stopped by SIGSTOP. The shell may have used the terminal meanwhile, or may have left us in the background. */
static void handle_continue(struct supervision *s, int number)
{
        bool claimed = s->terminal->claimed;
        if (claimed && !terminal_set_raw(s->terminal)) {
                terminal_restore(s->terminal);
                (void)box_run_send(s->run, BOX_CONTINUE, 0);
        } else {
                forward_signal(s, number);
        }
}

static const struct {
        int number;
        void (*handle)(struct supervision *s, int number);
} signal_handlers[] = {
        { SIGINT, forward_signal },  { SIGTERM, forward_signal },  { SIGHUP, forward_hangup },
        { SIGQUIT, forward_signal }, { SIGUSR1, forward_signal },  { SIGUSR2, forward_signal },
        { SIGTSTP, forward_signal }, { SIGWINCH, forward_resize }, { SIGCONT, handle_continue },
};

int supervise_prepare(int *ret_signals)
{
        sigset_t set;
        (void)sigemptyset(&set);
        for (size_t i = 0; i < ARRAY_SIZE(signal_handlers); i++) {
                struct sigaction before;
                /* An ignored signal stays ignored: nohup, or a background job of a shell without job control. */
                if (sigaction(signal_handlers[i].number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
                        (void)sigaddset(&set, signal_handlers[i].number);
        }
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        *ret_signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        return *ret_signals < 0 ? -errno : 0;
}

static void handle_signals(struct supervision *s)
{
        struct signalfd_siginfo info;
        while (read(s->signals, &info, sizeof info) == sizeof info)
                for (size_t i = 0; i < ARRAY_SIZE(signal_handlers); i++)
                        if (signal_handlers[i].number == (int)info.ssi_signo)
                                signal_handlers[i].handle(s, signal_handlers[i].number);
}

/* --- job control --- */

static sigset_t set_of(int number)
{
        sigset_t set;
        (void)sigemptyset(&set);
        (void)sigaddset(&set, number);
        return set;
}

/* Stops us until SIGCONT, at the latest until `deadline` (-1: none). False if the kernel did not stop us. */
static bool stop_self(int number, bool group, int64_t deadline)
{
        static const struct timespec at_once;
        sigset_t stop = set_of(number), cont = set_of(SIGCONT), mask;
        struct sigevent wake = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT };
        struct itimerspec when = { .it_value = { .tv_sec = deadline / 1000, .tv_nsec = deadline % 1000 * 1000000 } };
        timer_t timer;
        bool timed = deadline >= 0 && timer_create(CLOCK_MONOTONIC, &wake, &timer) == 0;
        (void)sigprocmask(SIG_BLOCK, &stop, &mask);
        (void)kill(group ? 0 : getpid(), number);
        if (timed)
                (void)timer_settime(timer, TIMER_ABSTIME, &when, NULL); /* after kill(), which discards SIGCONT */
        (void)sigprocmask(SIG_UNBLOCK, &stop, NULL); /* the process stops here */
        (void)sigprocmask(SIG_SETMASK, &mask, NULL);
        if (timed)
                (void)timer_delete(timer);
        return sigtimedwait(&cont, NULL, &at_once) == SIGCONT;
}

static void handle_stop(struct supervision *s, int number)
{
        struct terminal *t = s->terminal;
        bool wants_terminal = number == SIGTTIN || number == SIGTTOU;
        bool claimed = wants_terminal && terminal_set_raw(t);
        if (!claimed) {
                bool reclaim = wants_terminal || t->claimed;
                terminal_restore(t);
                bool stopped = stop_self(wants_terminal ? number : SIGTSTP, t->replaced != 0, s->run->deadline);
                claimed = reclaim && terminal_set_raw(t);
                /*
                 * Our process group is orphaned, so the command would stop again and again. Without a box its read
                 * would fail with EIO; a hangup is the closest to that.
                 */
                if (wants_terminal && !claimed && !stopped)
                        terminal_hang_up(t);
        }
        (void)box_run_send(s->run, BOX_CONTINUE, claimed);
}

/* --- from the keeper and egress --- */

static void handle_messages(struct supervision *s)
{
        struct box_message m;
        CLEANUP_FD int fd = -1;
        const struct report *r = &s->run->report;
        size_t printed = r->note_count;
        bool has_message = box_run_receive(s->run, &m, &fd);
        for (; !s->quiet && printed < r->note_count; printed++)
                program_message("run", "%s", r->notes[printed]);
        if (has_message && m.kind == BOX_TERMINAL)
                terminal_attach(s->terminal, TAKE_FD(fd));
        if (has_message && m.kind == BOX_STOPPED)
                handle_stop(s, m.number);
}

/* --- from the policy's files --- */

static void handle_policy_change(struct supervision *s)
{
        CLEANUP_TEXT struct text reason = { 0 };
        struct error e = { 0 };
        struct plan *plan = NULL; /* never freed: the report points to its rules */
        int r = live_policy_reload(s->live, &plan, &reason);
        if (r < 0)
                program_message("run", "%s", reason.data ? reason.data : "no memory");
        else if (r > 0 && egress_set_hosts(&s->run->running.egress, plan, &e) < 0)
                program_message("run", "%s", e.text);
}

/* --- the event loop --- */

static void wait_for_events(struct supervision *s)
{
        enum { SIGNALS, POLICY, BOX, TERMINAL = BOX + BOX_RUN_FDS };
        struct pollfd events[TERMINAL + TERMINAL_EVENTS] = {
                [SIGNALS] = { .fd = s->signals, .events = POLLIN },
                [POLICY] = { .fd = s->live->changes, .events = POLLIN },
        };
        box_run_fill_pollfds(s->run, &events[BOX]);
        terminal_watch(s->terminal, &events[TERMINAL]);
        if (poll(events, ARRAY_SIZE(events), box_run_wait_ms(s->run)) < 0) {
                struct error e;
                if (errno == EINTR)
                        return;
                error_errno(&e, errno, "cannot wait for the box");
                box_run_fail(s->run, &e);
                return;
        }
        terminal_relay(s->terminal, &events[TERMINAL]);
        if (events[SIGNALS].revents)
                handle_signals(s);
        if (events[POLICY].revents)
                handle_policy_change(s);
        if (events[BOX].revents || events[BOX + 1].revents)
                handle_messages(s);
}

int supervise_box(struct box_run *run, struct terminal *terminal, struct live_policy *live, int signals, bool quiet)
{
        struct supervision s = { .run = run, .terminal = terminal, .live = live, .signals = signals, .quiet = quiet };
        while (!run->over) {
                wait_for_events(&s);
                box_run_check_time(run);
        }
        int recorded = box_run_finish(run, true);
        terminal_done(terminal);
        return recorded;
}
