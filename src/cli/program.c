/*
 * What ringwall and its helpers share; see program.h. Output is written with SIGPIPE ignored, so that a closed pipe is
 * an error with an exit code, like a full disk. SIGPIPE is ignored only during a write, because programs that a verb
 * starts would inherit the disposition.
 */
#include "cli/program.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

static struct sigaction ignore_sigpipe(void)
{
        struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
        (void)sigaction(SIGPIPE, &ignore, &before);
        return before;
}

static int write_text(int fd, const struct text *t)
{
        struct sigaction before = ignore_sigpipe();
        int error = t->failed ? -ENOMEM : fd_write_all(fd, t->data, t->length);
        (void)sigaction(SIGPIPE, &before, NULL);
        return error;
}

int program_print_error(const struct text *t)
{
        (void)write_text(STDERR_FILENO, t);
        return EXIT_RINGWALL;
}

static void add_name(struct text *t, const char *path)
{
        text_format(t, "%s%s%s", PROGRAM_NAME, path ? " " : "", path ? path : "");
}

static void add_sentence(struct text *t, const char *path, const char *format, va_list args)
{
        CLEANUP_FREE char *sentence = NULL;
        add_name(t, path);
        if (vasprintf(&sentence, format, args) < 0)
                sentence = NULL;
        text_format(t, ": %s\n", sentence ? sentence : "out of memory");
}

static void print_sentence(const char *path, const char *format, va_list args)
{
        CLEANUP_TEXT struct text t = { 0 };
        add_sentence(&t, path, format, args);
        (void)program_print_error(&t);
}

void program_message(const char *path, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        print_sentence(path, format, args);
        va_end(args);
}

int program_error(const char *path, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        print_sentence(path, format, args);
        va_end(args);
        return EXIT_RINGWALL;
}

int program_usage_error(const char *path, const char *format, ...)
{
        CLEANUP_TEXT struct text t = { 0 };
        va_list args;
        va_start(args, format);
        add_sentence(&t, path, format, args);
        va_end(args);
        text_add(&t, "try '");
        add_name(&t, path);
        text_add(&t, " --help'\n");
        return program_print_error(&t);
}

static int output_error(int error)
{
        return program_error(NULL, "cannot write the output: %s", strerrordesc_np(error));
}

int program_print(const struct text *t, int code)
{
        int error = write_text(STDOUT_FILENO, t);
        return error < 0 ? output_error(-error) : code;
}

bool program_is_styled(int fd)
{
        const char *no = getenv("NO_COLOR");
        return (!no || !*no) && isatty(fd);
}

bool program_parse(const struct options_verb *usage, int argc, char **argv, int first, struct options_result *result,
                   int *ret_code)
{
        struct error e = { 0 };
        int error = options_parse(usage, argc, argv, first, result, &e);
        if (error == 0)
                return true;
        if (error == OPTIONS_HELP) {
                CLEANUP_TEXT struct text t = { 0 };
                options_add_help(&t, usage, PROGRAM_NAME, program_is_styled(STDOUT_FILENO));
                *ret_code = program_print(&t, 0);
        } else {
                *ret_code = program_usage_error(usage->path, "%s", e.text);
        }
        return false;
}

int program_finish(int code)
{
        struct sigaction before = ignore_sigpipe();
        int error = fflush(stdout) != 0 ? errno : ferror(stdout) ? EIO : 0;
        (void)sigaction(SIGPIPE, &before, NULL);
        return error ? output_error(error) : code;
}
