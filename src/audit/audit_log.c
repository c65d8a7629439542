/* The audit log; see audit_log.h. */
#include "audit/audit_log.h"

#include <errno.h>
#include <fcntl.h>
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
                open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
        if (fd < 0)
                return error_errno(e, errno, "cannot open the audit trail %s", path);
        if (fstat(fd, &st) < 0)
                return error_errno(e, errno, "cannot stat the audit trail %s", path);
        if (!S_ISREG(st.st_mode))
                return error_set(e, EINVAL, "the audit trail %s is not a regular file", path);
        if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
                return error_set(e, EPERM,
                                 "the audit trail %s can be written by others; it must be yours, with mode 0600", path);
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

int audit_log_append(int fd, const char *session, const char *event, json_t *fields)
{
        char now[RECORD_TIME_SIZE];
        audit_log_timestamp(now);
        CLEANUP_JSON json_t *owned = fields;
        CLEANUP_JSON json_t *record = json_pack("{s:s, s:s, s:s}", "time", now, "session", session, "event", event);
        CLEANUP_TEXT struct text line = { 0 };
        if (!record || (owned && json_object_update(record, owned) < 0) || json_write(record, &line, false) < 0)
                return -ENOMEM;
        text_add(&line, "\n");
        return line.failed ? -ENOMEM : fd_write_all(fd, line.data, line.length);
}
