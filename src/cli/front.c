/*
 * The common front; see front.h. Output goes out with SIGPIPE ignored, so that a closed pipe is an error with an exit
 * code like a full disk. It is ignored only for the length of a write: programs started by a verb inherit what is
 * ignored, and must not inherit this.
 */
#include "cli/front.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

static struct sigaction pipe_ignore(void)
{
        struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
        (void)sigaction(SIGPIPE, &ignore, &before);
        return before;
}

static int write_text(int fd, const struct text *t)
{
        struct sigaction before = pipe_ignore();
        int error = t->failed ? -ENOMEM : fd_write_all(fd, t->data, t->length);
        (void)sigaction(SIGPIPE, &before, NULL);
        return error;
}

int front_print_error(const struct text *t)
{
        (void)write_text(STDERR_FILENO, t);
        return FRONT_FAILED;
}

static void add_name(struct text *t, const char *path)
{
        text_format(t, "%s%s%s", FRONT_PROGRAM, path ? " " : "", path ? path : "");
}

static void add_sentence(struct text *t, const char *path, const char *format, va_list args)
{
        CLEANUP_FREE char *sentence = NULL;
        add_name(t, path);
        if (vasprintf(&sentence, format, args) < 0)
                sentence = NULL;
        text_format(t, ": %s\n", sentence ? sentence : "out of memory");
}

int front_complain(const char *path, const char *format, ...)
{
        CLEANUP_TEXT struct text t = { 0 };
        va_list args;
        va_start(args, format);
        add_sentence(&t, path, format, args);
        va_end(args);
        return front_print_error(&t);
}

int front_refuse(const char *path, const char *format, ...)
{
        CLEANUP_TEXT struct text t = { 0 };
        va_list args;
        va_start(args, format);
        add_sentence(&t, path, format, args);
        va_end(args);
        text_add(&t, "try '");
        add_name(&t, path);
        text_add(&t, " --help'\n");
        return front_print_error(&t);
}

static int complain_output(int error)
{
        return front_complain(NULL, "cannot write the output: %s", strerrordesc_np(error));
}

int front_print(const struct text *t, int code)
{
        int error = write_text(STDOUT_FILENO, t);
        return error < 0 ? complain_output(-error) : code;
}

bool front_is_styled(int fd)
{
        const char *no = getenv("NO_COLOR");
        return (!no || !*no) && isatty(fd);
}

bool front_parse(const struct options_verb *usage, int argc, char **argv, int first, struct options_result *result,
                 int *ret_code)
{
        struct error e = { 0 };
        int error = options_parse(usage, argc, argv, first, result, &e);
        if (error == 0)
                return true;
        if (error == OPTIONS_HELP) {
                CLEANUP_TEXT struct text t = { 0 };
                options_add_help(&t, usage, FRONT_PROGRAM, front_is_styled(STDOUT_FILENO));
                *ret_code = front_print(&t, 0);
        } else {
                *ret_code = front_refuse(usage->path, "%s", e.text);
        }
        return false;
}

int front_finish(int code)
{
        struct sigaction before = pipe_ignore();
        int error = fflush(stdout) != 0 ? errno : ferror(stdout) ? EIO : 0;
        (void)sigaction(SIGPIPE, &before, NULL);
        return error ? complain_output(error) : code;
}
