/* The report of a box without hosts says how often a program tried to reach one. */
#include "assume.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Returns OutNoRoutes. The first line of /proc/self/net/snmp has names, the second the values in the same order. */
static unsigned long count_v4(void)
{
        char names[2048] = "", values[2048] = "", *value_rest, *name_rest;
        FILE *file = fopen("/proc/self/net/snmp", "re");
        if (!file || !fgets(names, sizeof names, file) || !fgets(values, sizeof values, file))
                skip_cannot("read /proc/self/net/snmp");
        (void)fclose(file);
        char *value = strtok_r(values, " \n", &value_rest);
        for (char *name = strtok_r(names, " \n", &name_rest); name && value; name = strtok_r(NULL, " \n", &name_rest)) {
                if (strcmp(name, "OutNoRoutes") == 0)
                        return strtoul(value, NULL, 10);
                value = strtok_r(NULL, " \n", &value_rest);
        }
        skip_cannot("find OutNoRoutes");
}

static unsigned long count_v6(void)
{
        char line[256];
        FILE *file = fopen("/proc/self/net/snmp6", "re");
        if (!file)
                skip_cannot("read /proc/self/net/snmp6");
        while (fgets(line, sizeof line, file))
                if (strncmp(line, "Ip6OutNoRoutes", strlen("Ip6OutNoRoutes")) == 0) {
                        (void)fclose(file);
                        return strtoul(line + strlen("Ip6OutNoRoutes"), NULL, 10);
                }
        skip_cannot("find Ip6OutNoRoutes");
}

static int connect_to(const char *address, int type)
{
        struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(9) };
        struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
        bool is_v4 = inet_pton(AF_INET, address, &v4.sin_addr) == 1;
        if (!is_v4)
                (void)inet_pton(AF_INET6, address, &v6.sin6_addr);
        int fd = socket(is_v4 ? AF_INET : AF_INET6, type | SOCK_CLOEXEC, 0);
        if (fd < 0)
                skip_cannot("make a socket");
        const struct sockaddr *at = is_v4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6;
        int r = connect(fd, at, is_v4 ? sizeof v4 : sizeof v6) < 0 ? errno : 0;
        (void)close(fd);
        return r;
}

int main(void)
{
        assume("a network namespace with only a loopback counts each attempt to reach another address, and no other");
        struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
        enter_namespaces(CLONE_NEWNET);
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
                skip_cannot("bring the loopback up");
        (void)connect_to("127.0.0.1", SOCK_STREAM);
        (void)connect_to("127.0.0.53", SOCK_DGRAM);
        (void)connect_to("::1", SOCK_STREAM);
        unsigned long local = count_v4() + count_v6();
        int first = connect_to("192.0.2.1", SOCK_STREAM), second = connect_to("192.0.2.1", SOCK_DGRAM);
        int third = connect_to("2001:db8::1", SOCK_STREAM), fourth = connect_to("2001:db8::1", SOCK_DGRAM);
        unsigned long v4 = count_v4(), v6 = count_v6();
        conclude(local == 0 && first == ENETUNREACH && second == ENETUNREACH && third == ENETUNREACH &&
                         fourth == ENETUNREACH && v4 == 2 && v6 == 2,
                 "on the loopback %lu, then %lu with IPv4 and %lu with IPv6; errors %d %d %d %d", local, v4, v6, first,
                 second, third, fourth);
}
