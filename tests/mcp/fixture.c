/*
 * fixture PORT: serves the conformance suite at http://127.0.0.1:PORT/mcp until it is killed; see fixture.h. PORT 0 is
 * any free port. Prints its URL on standard output.
 */
#include "fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/text.h"
#include "mcp/serve_http.h"

static void answer_empty(struct pending_request *x)
{
        request_answer_result(x, json_object());
}

static void complete(struct pending_request *x)
{
        request_answer_result(x, parse_quoted("{'completion':{'values':[],'total':0,'hasMore':false}}"));
}

static const struct {
        const char *name;
        bool legacy, modern;
        void (*answer)(struct pending_request *x);
} methods[] = {
        { "tools/list", true, true, list_tools },
        { "tools/call", true, true, call_tool },
        { "prompts/list", true, true, list_prompts },
        { "prompts/get", true, true, get_prompt },
        { "resources/list", true, true, list_resources },
        { "resources/templates/list", true, true, list_templates },
        { "resources/read", true, true, read_resource },
        { "resources/subscribe", true, false, answer_empty },
        { "resources/unsubscribe", true, false, answer_empty },
        { "logging/setLevel", true, false, answer_empty },
        { "completion/complete", true, true, complete },
        { "subscriptions/listen", false, true, subscribe_to_changes },
};

/* ringwall itself handles all other methods: initialize, ping, server/discover, and the error for unknown ones. */
static bool on_request(struct pending_request *x)
{
        const struct mcp_message *m = &x->message;
        for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
                if (strcmp(methods[i].name, m->method) == 0 && (m->modern ? methods[i].modern : methods[i].legacy)) {
                        methods[i].answer(x);
                        return true;
                }
        }
        return false;
}

static json_t *capabilities(bool modern)
{
        return parse_quoted(modern ? "{'tools':{'listChanged':true},'prompts':{'listChanged':true},'resources':{},'"
                                     "completions':{},'logging':{}}"
                                   : "{'tools':{},'prompts':{},'resources':{'subscribe':true},'completions':{},"
                                     "'logging':{}}");
}

static int listen_on(const char *port, struct error *e)
{
        struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t length = sizeof to;
        unsigned long long number;
        const int on = 1;
        if (!text_parse_unsigned(port, strlen(port), &number) || number > UINT16_MAX)
                return error_set(e, EINVAL, "'%s' is not a port number", port);
        to.sin_port = htons((uint16_t)number);
        CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
            bind(fd, (struct sockaddr *)&to, length) < 0 || listen(fd, SOMAXCONN) < 0 ||
            getsockname(fd, (struct sockaddr *)&to, &length) < 0)
                return error_errno(e, errno, "cannot listen on port %s", port);
        (void)printf("http://127.0.0.1:%u" HTTP_PATH "\n", ntohs(to.sin_port));
        (void)fflush(stdout);
        return TAKE_FD(fd);
}

int main(int argc, char **argv)
{
        static const struct mcp_server_config offer = { .capabilities = capabilities };
        static const struct mcp_extension extension = { on_request, on_client_answer, free_pending };
        static struct server s = { .offer = &offer, .extension = &extension, .broker = -1 }; /* no broker: no boxes */
        struct error e = { 0 };
        struct http_listener listener = { .fd = listen_on(argc == 2 ? argv[1] : "", &e) };
        const struct http_config setup = { .listeners = &listener, .listener_count = 1 };
        s.base = event_base_new();
        int r = listener.fd;
        if (r >= 0)
                r = make_state_key() && s.base && session_open(&s) ? serve_http(&s, &setup, &e)
                                                                 : error_set(&e, EIO, "cannot start");
        server_close(&s);
        if (r < 0)
                (void)fprintf(stderr, "fixture: %s\n", e.text);
        return r < 0;
}
