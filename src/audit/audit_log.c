/* The audit trail; see audit_log.h. */
#include "audit/audit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"

int audit_log_open(const char *path, struct error *e)
{
        struct stat st;
        CLEANUP_FD int fd =
                open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
        if (fd < 0)
                return error_errno(e, errno, "cannot open the audit trail %s", path);
        if (fstat(fd, &st) < 0)
                return error_errno(e, errno, "cannot stat the audit trail %s", path);
        if (!S_ISREG(st.st_mode))
                return error_set(e, EINVAL, "the audit trail %s is not a regular file", path);
        if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
                return error_set(e, EPERM,
                                 "the audit trail %s can be written by others; it must be yours, and no other user "
                                 "may write it (chmod go-w)",
                                 path);
        return TAKE_FD(fd);
}

void audit_log_timestamp(char ret[RECORD_TIME_SIZE])
{
        struct timespec now;
        struct tm parts;
        char seconds[24];
        (void)clock_gettime(CLOCK_REALTIME, &now);
        (void)gmtime_r(&now.tv_sec, &parts);
        (void)strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
        (void)snprintf(ret, RECORD_TIME_SIZE, "%s.%03dZ", seconds, (int)(now.tv_nsec / 1000000));
}

/*
 * Does the file end with a part of a record, because a disk was full? If another process is just writing a record, this
 * may be true too; then there is an empty line between two records.
 */
static bool ends_inside_line(int fd)
{
        struct stat st;
        char last;
        return fstat(fd, &st) == 0 && st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n';
}

int audit_log_append(int fd, const char *session, const char *event, json_t *fields)
{
        char now[RECORD_TIME_SIZE];
        audit_log_timestamp(now);
        CLEANUP_JSON json_t *owned = fields;
        CLEANUP_JSON json_t *record = json_pack("{s:s, s:s, s:s}", "time", now, "session", session, "event", event);
        CLEANUP_TEXT struct text line = { 0 };
        if (!record || (owned && json_object_update(record, owned) < 0))
                return -ENOMEM;
        if (ends_inside_line(fd))
                text_add(&line, "\n");
        int r = json_write(record, &line, false);
        if (r < 0)
                return r;
        text_add(&line, "\n");
        return line.failed ? -ENOMEM : fd_write_all(fd, line.data, line.length);
}
