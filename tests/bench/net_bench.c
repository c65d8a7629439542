/*
 * Client and server of egress.py, as light as they can be, so that what is between them is what is measured.
 *
 *     net_bench serve PORT...
 *     net_bench WHAT HOST PORT CONNECTIONS SECONDS [PROXY-PORT [AUTHORIZATION]]
 *
 * The server is one loop; the first byte of a connection says what it is to do with it (struct work). The client has a thread for
 * each connection, and prints how many bytes a second went through, or how many exchanges there were a second and what the
 * middle one of them took, in microseconds. With a proxy's port it asks there, at loopback, by CONNECT.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 256 << 10, DESCRIPTORS = 1 << 16, EVENTS = 64, CONNECTIONS_MOST = 1000, SAMPLES_MOST = 1 << 20 };

/* No protocol begins with one of these but HTTP with its own. */
enum { WANTS_NOTHING, WANTS_ECHO, WANTS_BYTES, WANTS_TO_SEND, WANTS_PAGE = 'G' };

static char chunk[CHUNK];

static void fail(const char *what)
{
        (void)fprintf(stderr, "net_bench: %s: %s\n", what, strerror(errno));
        exit(EXIT_FAILURE);
}

static uint16_t to_port(const char *text)
{
        return (uint16_t)strtoul(text, NULL, 10);
}

static void answer_at_once(int fd)
{
        const int on = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* --- the server --- */

static uint8_t wanted[DESCRIPTORS];
static bool listening[DESCRIPTORS];

static int listen_at(uint16_t port)
{
        const struct sockaddr_in all = { .sin_family = AF_INET, .sin_port = htons(port) };
        const int on = 1;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
            bind(fd, (const struct sockaddr *)&all, sizeof all) < 0 || listen(fd, SOMAXCONN) < 0)
                fail("cannot listen");
        return fd;
}

static void watch(int loop, int how, int fd, uint32_t events)
{
        struct epoll_event event = { .events = events, .data.fd = fd };
        if (epoll_ctl(loop, how, fd, &event) < 0)
                fail("cannot watch a socket");
}

static void take_connections(int loop, int listener)
{
        int fd;
        while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                answer_at_once(fd);
                wanted[fd] = WANTS_NOTHING;
                watch(loop, EPOLL_CTL_ADD, fd, EPOLLIN);
        }
}

/* False: the connection has ended. */
static bool answer(int loop, int fd, uint32_t events)
{
        static const char page[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        if (events & EPOLLOUT)
                return send(fd, chunk, sizeof chunk, MSG_NOSIGNAL) > 0 || errno == EAGAIN;
        ssize_t n = recv(fd, chunk, sizeof chunk, 0);
        if (n <= 0)
                return n < 0 && errno == EAGAIN;
        if (wanted[fd] == WANTS_NOTHING)
                wanted[fd] = (uint8_t)chunk[0];
        switch (wanted[fd]) {
        case WANTS_ECHO:
                return send(fd, chunk, (size_t)n, MSG_NOSIGNAL) == n;
        case WANTS_PAGE:
                return send(fd, page, strlen(page), MSG_NOSIGNAL) > 0;
        case WANTS_BYTES:
                watch(loop, EPOLL_CTL_MOD, fd, EPOLLOUT);
                return true;
        default:
                return true;
        }
}

static void serve(char **ports)
{
        int loop = epoll_create1(0);
        for (; *ports; ports++) {
                int fd = listen_at(to_port(*ports));
                listening[fd] = true;
                watch(loop, EPOLL_CTL_ADD, fd, EPOLLIN);
        }
        (void)puts("ready");
        (void)fflush(stdout);
        for (;;) {
                struct epoll_event events[EVENTS];
                int count = epoll_wait(loop, events, EVENTS, -1);
                for (int i = 0; i < count; i++) {
                        int fd = events[i].data.fd;
                        if (listening[fd])
                                take_connections(loop, fd);
                        else if (!answer(loop, fd, events[i].events))
                                (void)close(fd);
                }
        }
}

/* --- the client --- */

static struct {
        struct sockaddr_storage address;
        socklen_t length;
        const char *host, *port, *authorization;
        bool by_proxy;
        const struct work *work;
        int64_t until;
        atomic_ullong done; /* bytes or exchanges */
        atomic_size_t samples;
        uint32_t took[SAMPLES_MOST]; /* nanoseconds */
} client;

static int64_t nanoseconds(void)
{
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void find(const char *host, const char *port)
{
        const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
        struct addrinfo *found = NULL;
        if (getaddrinfo(host, port, &hints, &found) != 0)
                fail(host);
        memcpy(&client.address, found->ai_addr, found->ai_addrlen);
        client.length = found->ai_addrlen;
        freeaddrinfo(found);
}

static void ask_proxy(int fd)
{
        char text[1024];
        int length = snprintf(text, sizeof text, "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\nProxy-Authorization: Basic %s\r\n\r\n",
                              client.host, client.port, client.host, client.port, client.authorization);
        if (send(fd, text, (size_t)length, MSG_NOSIGNAL) != length)
                fail("cannot ask the proxy");
        for (size_t have = 0; have < 4 || memcmp(text + have - 4, "\r\n\r\n", 4) != 0; have++)
                if (have == sizeof text || recv(fd, text + have, 1, 0) != 1)
                        fail("the proxy refuses");
        if (strncmp(text, "HTTP/1.1 200 ", strlen("HTTP/1.1 200 ")) != 0)
                fail("the proxy refuses");
}

static int open_connection(void)
{
        int fd = socket(client.address.ss_family, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, (const struct sockaddr *)&client.address, client.length) < 0)
                fail("cannot connect");
        answer_at_once(fd);
        if (client.by_proxy)
                ask_proxy(fd);
        return fd;
}

static void exchange(int fd, const char *question, size_t length)
{
        char text[1024];
        if (send(fd, question, length, MSG_NOSIGNAL) != (ssize_t)length || recv(fd, text, sizeof text, 0) <= 0)
                fail("cannot exchange anything");
}

static void count_exchange(int64_t began)
{
        size_t sample = atomic_fetch_add(&client.samples, 1);
        if (sample < SAMPLES_MOST)
                client.took[sample] = (uint32_t)(nanoseconds() - began);
        atomic_fetch_add(&client.done, 1);
}

static const char echo[] = { WANTS_ECHO };

static void work_new(void)
{
        while (nanoseconds() < client.until) {
                int64_t began = nanoseconds();
                int fd = open_connection();
                exchange(fd, echo, sizeof echo);
                (void)close(fd);
                count_exchange(began);
        }
}

static void work_kept(void)
{
        int fd = open_connection();
        while (nanoseconds() < client.until) {
                int64_t began = nanoseconds();
                exchange(fd, echo, sizeof echo);
                count_exchange(began);
        }
        (void)close(fd);
}

static void work_http(void)
{
        char request[512];
        int length = snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %s\r\nUser-Agent: net_bench\r\nAccept: */*\r\n\r\n",
                              client.host);
        int fd = open_connection();
        while (nanoseconds() < client.until) {
                int64_t began = nanoseconds();
                exchange(fd, request, (size_t)length);
                count_exchange(began);
        }
        (void)close(fd);
}

static void work_down(void)
{
        const char wish = WANTS_BYTES;
        char *bytes = malloc(CHUNK);
        int fd = open_connection();
        if (!bytes || send(fd, &wish, 1, MSG_NOSIGNAL) != 1)
                fail("cannot ask for bytes");
        while (nanoseconds() < client.until) {
                ssize_t n = recv(fd, bytes, CHUNK, 0);
                if (n <= 0)
                        fail("the bytes end");
                atomic_fetch_add(&client.done, (unsigned long long)n);
        }
        (void)close(fd);
        free(bytes);
}

static void work_up(void)
{
        const char wish = WANTS_TO_SEND;
        int fd = open_connection();
        if (send(fd, &wish, 1, MSG_NOSIGNAL) != 1)
                fail("cannot ask to send");
        while (nanoseconds() < client.until) {
                ssize_t n = send(fd, chunk, CHUNK, MSG_NOSIGNAL);
                if (n <= 0)
                        fail("nothing is taken any more");
                atomic_fetch_add(&client.done, (unsigned long long)n);
        }
        (void)close(fd);
}

/* It stays, and does nothing, after one exchange. */
static void work_hold(void)
{
        exchange(open_connection(), echo, sizeof echo);
}

static const struct work {
        const char *name;
        void (*run)(void);
} works[] = {
        { "new", work_new },
        { "kept", work_kept },
        { "http", work_http },
        { "down", work_down },
        { "up", work_up },
        { "hold", work_hold },
};

static void *run_thread(void *unused)
{
        client.work->run();
        return unused;
}

static int compare(const void *a, const void *b)
{
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        return (x > y) - (x < y);
}

static void run_client(size_t connections, double seconds)
{
        pthread_t threads[CONNECTIONS_MOST];
        int64_t began = nanoseconds();
        client.until = began + (int64_t)(seconds * 1e9);
        if (connections > CONNECTIONS_MOST)
                fail("too many connections");
        for (size_t i = 0; i < connections; i++)
                if (pthread_create(&threads[i], NULL, run_thread, NULL) != 0)
                        fail("cannot make a thread");
        for (size_t i = 0; i < connections; i++)
                (void)pthread_join(threads[i], NULL);
        double took = (double)(nanoseconds() - began) / 1e9;
        size_t samples = client.samples < SAMPLES_MOST ? client.samples : SAMPLES_MOST, middle = samples / 2;
        qsort(client.took, samples, sizeof *client.took, compare);
        (void)printf("%.0f %.1f\n", (double)client.done / took, samples ? client.took[middle] / 1e3 : 0);
        (void)fflush(stdout);
}

int main(int argc, char **argv)
{
        if (argc >= 3 && strcmp(argv[1], "serve") == 0)
                serve(argv + 2);
        for (size_t i = 0; argc >= 6 && i < sizeof works / sizeof *works; i++)
                if (strcmp(argv[1], works[i].name) == 0)
                        client.work = &works[i];
        if (!client.work) {
                (void)fputs("usage: net_bench serve PORT...\n"
                            "       net_bench WHAT HOST PORT CONNECTIONS SECONDS [PROXY-PORT [AUTHORIZATION]]\n",
                            stderr);
                return EXIT_FAILURE;
        }
        client.host = argv[2];
        client.port = argv[3];
        client.by_proxy = argc > 6;
        client.authorization = argc > 7 ? argv[7] : "bm9ib2R5Og=="; /* nobody */
        find(client.by_proxy ? "127.0.0.1" : argv[2], client.by_proxy ? argv[6] : argv[3]);
        run_client(strtoul(argv[4], NULL, 10), strtod(argv[5], NULL));
        if (client.work->run == work_hold)
                (void)getchar(); /* until nobody wants it any more */
        return EXIT_SUCCESS;
}
