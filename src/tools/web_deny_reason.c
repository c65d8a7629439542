/*
 * Asks egress for its reason; see web_deny_reason.h.
 *
 * Egress refuses TLS by an alert and unknown protocols by a reset, neither of which carries a text. Its HTTP proxy can
 * answer in words: on CONNECT to the same host and port it decides, resolves and dials as before, and sends a line for
 * people. If it connects after all, the connection is closed without sending anything to the server.
 */
#include "tools/web_deny_reason.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "policy/plan.h"

static int connect_to_proxy(void)
{
        const struct sockaddr_in proxy = { .sin_family = AF_INET, .sin_port = htons(RESERVED_PORT_HTTP_PROXY),
                                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return fd >= 0 && connect(fd, (const struct sockaddr *)&proxy, sizeof proxy) == 0 ? TAKE_FD(fd) : -1;
}

bool web_query_deny_reason(const struct url *url, char *ret, size_t size)
{
        static const char connected[] = "HTTP/1.1 200", mark[] = "\r\n\r\nringwall: ", refused[] = "refused: ";
        CLEANUP_TEXT struct text request = { 0 };
        CLEANUP_FD int fd = connect_to_proxy();
        char answer[2048];
        size_t length = 0;
        ssize_t n;
        text_format(&request, strchr(url->host, ':') ? "CONNECT [%1$s]:%2$u HTTP/1.1\r\nHost: [%1$s]:%2$u\r\n\r\n"
                                                     : "CONNECT %1$s:%2$u HTTP/1.1\r\nHost: %1$s:%2$u\r\n\r\n",
                    url->host, url->port);
        if (fd < 0 || request.failed || fd_write_all(fd, request.data, request.length) < 0)
                return false;
        while (length < sizeof answer - 1 && (n = read(fd, answer + length, sizeof answer - 1 - length)) > 0) {
                length += (size_t)n;
                answer[length] = '\0';
                if (text_has_prefix(answer, connected))
                        return false;
        }
        answer[length] = '\0';
        const char *found = strstr(answer, mark);
        if (!found)
                return false;
        found += strlen(mark);
        found += text_has_prefix(found, refused) ? strlen(refused) : 0; /* the caller's message says so already */
        (void)snprintf(ret, size, "%.*s", (int)strcspn(found, "\r\n"), found);
        return true;
}
