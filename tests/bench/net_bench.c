/*
 * Client and server of egress.py. They do as little as possible, so that the path between them dominates the result.
 *
 *     net_bench serve PORT...
 *     net_bench WHAT HOST PORT CONNECTIONS SECONDS [PROXY-PORT [AUTHORIZATION]]
 *
 * The server is one loop; the first byte of a connection selects what the server does with it (WANTS_…). The client has
 * a thread for each connection. It prints the bytes per second, or the exchanges per second and the median time of one
 * in microseconds. With PROXY-PORT it connects through a proxy at that port of loopback, by CONNECT.
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

enum { CHUNK = 256 << 10, DESCRIPTORS_MAX = 1 << 16, EVENTS = 64, CONNECTIONS_MAX = 1000, SAMPLES_MAX = 1 << 20 };

/* The first byte of a connection. No protocol that egress knows starts with one of these, except HTTP with 'G'. */
enum { WANTS_NOTHING, WANTS_ECHO, WANTS_BYTES, WANTS_TO_SEND, WANTS_PAGE = 'G' };

static char chunk[CHUNK];

static void fail(const char *what)
{
        (void)fprintf(stderr, "net_bench: %s: %s\n", what, strerror(errno));
        exit(EXIT_FAILURE);
}

static uint16_t parse_port(const char *text)
{
        return (uint16_t)strtoul(text, NULL, 10);
}

static void disable_nagle(int fd)
{
        const int on = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* --- the server --- */

static uint8_t wants[DESCRIPTORS_MAX];
static bool listening[DESCRIPTORS_MAX];

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
                fail("cannot add a socket to epoll");
}

static void accept_connections(int loop, int listener)
{
        int fd;
        while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                disable_nagle(fd);
                wants[fd] = WANTS_NOTHING;
                watch(loop, EPOLL_CTL_ADD, fd, EPOLLIN);
        }
}

/* Handles an event of a connection. Returns false when the connection has ended. */
static bool handle_event(int loop, int fd, uint32_t events)
{
        static const char page[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        if (events & EPOLLOUT)
                return send(fd, chunk, sizeof chunk, MSG_NOSIGNAL) > 0 || errno == EAGAIN;
        ssize_t n = recv(fd, chunk, sizeof chunk, 0);
        if (n <= 0)
                return n < 0 && errno == EAGAIN;
        if (wants[fd] == WANTS_NOTHING)
                wants[fd] = (uint8_t)chunk[0];
        switch (wants[fd]) {
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
                int fd = listen_at(parse_port(*ports));
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
                                accept_connections(loop, fd);
                        else if (!handle_event(loop, fd, events[i].events))
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
        const struct job *job;
        int64_t until;
        atomic_ullong done; /* bytes or exchanges */
        atomic_size_t samples;
        uint32_t took[SAMPLES_MAX]; /* nanoseconds */
} client;

static int64_t nanoseconds(void)
{
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void resolve(const char *host, const char *port)
{
        const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
        struct addrinfo *found = NULL;
        if (getaddrinfo(host, port, &hints, &found) != 0)
                fail(host);
        memcpy(&client.address, found->ai_addr, found->ai_addrlen);
        client.length = found->ai_addrlen;
        freeaddrinfo(found);
}

static void connect_by_proxy(int fd)
{
        char text[1024];
        int length = snprintf(text, sizeof text,
                              "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\nProxy-Authorization: Basic %s\r\n\r\n",
                              client.host, client.port, client.host, client.port, client.authorization);
        if (send(fd, text, (size_t)length, MSG_NOSIGNAL) != length)
                fail("cannot send the request to the proxy");
        for (size_t received = 0; received < 4 || memcmp(text + received - 4, "\r\n\r\n", 4) != 0; received++)
                if (received == sizeof text || recv(fd, text + received, 1, 0) != 1)
                        fail("the proxy denied the connection");
        if (strncmp(text, "HTTP/1.1 200 ", strlen("HTTP/1.1 200 ")) != 0)
                fail("the proxy denied the connection");
}

static int open_connection(void)
{
        int fd = socket(client.address.ss_family, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, (const struct sockaddr *)&client.address, client.length) < 0)
                fail("cannot connect");
        disable_nagle(fd);
        if (client.by_proxy)
                connect_by_proxy(fd);
        return fd;
}

static void exchange(int fd, const char *message, size_t length)
{
        char text[1024];
        if (send(fd, message, length, MSG_NOSIGNAL) != (ssize_t)length || recv(fd, text, sizeof text, 0) <= 0)
                fail("the exchange failed");
}

static void count_exchange(int64_t began)
{
        size_t sample = atomic_fetch_add(&client.samples, 1);
        if (sample < SAMPLES_MAX)
                client.took[sample] = (uint32_t)(nanoseconds() - began);
        atomic_fetch_add(&client.done, 1);
}

static const char echo[] = { WANTS_ECHO };

static void run_new(void)
{
        while (nanoseconds() < client.until) {
                int64_t began = nanoseconds();
                int fd = open_connection();
                exchange(fd, echo, sizeof echo);
                (void)close(fd);
                count_exchange(began);
        }
}

static void run_kept(void)
{
        int fd = open_connection();
        while (nanoseconds() < client.until) {
                int64_t began = nanoseconds();
                exchange(fd, echo, sizeof echo);
                count_exchange(began);
        }
        (void)close(fd);
}

static void run_http(void)
{
        char request[512];
        int length = snprintf(request, sizeof request,
                              "GET / HTTP/1.1\r\nHost: %s\r\nUser-Agent: net_bench\r\nAccept: */*\r\n\r\n",
                              client.host);
        int fd = open_connection();
        while (nanoseconds() < client.until) {
                int64_t began = nanoseconds();
                exchange(fd, request, (size_t)length);
                count_exchange(began);
        }
        (void)close(fd);
}

static void run_down(void)
{
        const char request = WANTS_BYTES;
        char *bytes = malloc(CHUNK);
        int fd = open_connection();
        if (!bytes || send(fd, &request, 1, MSG_NOSIGNAL) != 1)
                fail("cannot ask for bytes");
        while (nanoseconds() < client.until) {
                ssize_t n = recv(fd, bytes, CHUNK, 0);
                if (n <= 0)
                        fail("the server closed the connection");
                atomic_fetch_add(&client.done, (unsigned long long)n);
        }
        (void)close(fd);
        free(bytes);
}

static void run_up(void)
{
        const char request = WANTS_TO_SEND;
        int fd = open_connection();
        if (send(fd, &request, 1, MSG_NOSIGNAL) != 1)
                fail("cannot ask to send");
        while (nanoseconds() < client.until) {
                ssize_t n = send(fd, chunk, CHUNK, MSG_NOSIGNAL);
                if (n <= 0)
                        fail("cannot send");
                atomic_fetch_add(&client.done, (unsigned long long)n);
        }
        (void)close(fd);
}

/* Leaves the connection open after one exchange, until main() exits. */
static void run_hold(void)
{
        exchange(open_connection(), echo, sizeof echo);
}

static const struct job {
        const char *name;
        void (*run)(void);
} jobs[] = {
        { "new", run_new },
        { "kept", run_kept },
        { "http", run_http },
        { "down", run_down },
        { "up", run_up },
        { "hold", run_hold },
};

static void *run_thread(void *unused)
{
        client.job->run();
        return unused;
}

static int compare(const void *a, const void *b)
{
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        return (x > y) - (x < y);
}

static void run_client(size_t connections, double seconds)
{
        pthread_t threads[CONNECTIONS_MAX];
        int64_t began = nanoseconds();
        client.until = began + (int64_t)(seconds * 1e9);
        if (connections > CONNECTIONS_MAX)
                fail("too many connections");
        for (size_t i = 0; i < connections; i++)
                if (pthread_create(&threads[i], NULL, run_thread, NULL) != 0)
                        fail("cannot make a thread");
        for (size_t i = 0; i < connections; i++)
                (void)pthread_join(threads[i], NULL);
        double took = (double)(nanoseconds() - began) / 1e9;
        size_t samples = client.samples < SAMPLES_MAX ? client.samples : SAMPLES_MAX, median = samples / 2;
        qsort(client.took, samples, sizeof *client.took, compare);
        (void)printf("%.0f %.1f\n", (double)client.done / took, samples ? client.took[median] / 1e3 : 0);
        (void)fflush(stdout);
}

int main(int argc, char **argv)
{
        if (argc >= 3 && strcmp(argv[1], "serve") == 0)
                serve(argv + 2);
        for (size_t i = 0; argc >= 6 && i < sizeof jobs / sizeof *jobs; i++)
                if (strcmp(argv[1], jobs[i].name) == 0)
                        client.job = &jobs[i];
        if (!client.job) {
                (void)fputs("usage: net_bench serve PORT...\n"
                            "       net_bench WHAT HOST PORT CONNECTIONS SECONDS [PROXY-PORT [AUTHORIZATION]]\n",
                            stderr);
                return EXIT_FAILURE;
        }
        client.host = argv[2];
        client.port = argv[3];
        client.by_proxy = argc > 6;
        client.authorization = argc > 7 ? argv[7] : "bm9ib2R5Og=="; /* "nobody:" */
        resolve(client.by_proxy ? "127.0.0.1" : argv[2], client.by_proxy ? argv[6] : argv[3]);
        run_client(strtoul(argv[4], NULL, 10), strtod(argv[5], NULL));
        if (client.job->run == run_hold)
                (void)getchar(); /* until egress.py closes the pipe */
        return EXIT_SUCCESS;
}
