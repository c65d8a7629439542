/* Attacks that communicate with processes of the host: System V and POSIX IPC, unix sockets, keyrings. */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack.h"

static int report_segment(int id)
{
        const char *memory = id < 0 ? (void *)-1 : shmat(id, NULL, SHM_RDONLY);
        if (memory == (void *)-1)
                return -errno;
        report_success("read '%.60s'", memory);
        return 0;
}

static int read_shared_memory(char **a)
{
        return report_segment(shmget((key_t)parse_number(a[0]), 0, 0));
}

static int read_shared_memory_by_id(char **a)
{
        return report_segment((int)parse_number(a[0]));
}

struct message {
        long type;
        char text[64];
};

static int send_message(char **a)
{
        const struct message message = { 1, "attacked" };
        int queue = msgget((key_t)parse_number(a[0]), 0);
        return queue < 0 ? -errno : outcome(msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT));
}

static int receive_message(char **a)
{
        struct message message = { 0 };
        int queue = msgget((key_t)parse_number(a[0]), 0);
        if (queue < 0 || msgrcv(queue, &message, sizeof message.text, 0, IPC_NOWAIT | MSG_NOERROR) < 0)
                return -errno;
        report_success("read '%.60s'", message.text);
        return 0;
}

static int raise_semaphore(char **a)
{
        struct sembuf up = { .sem_op = 1, .sem_flg = IPC_NOWAIT };
        int semaphores = semget((key_t)parse_number(a[0]), 0, 0);
        return semaphores < 0 ? -errno : outcome(semop(semaphores, &up, 1));
}

static int send_to_queue(char **a)
{
        mqd_t queue = mq_open(a[0], O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        return queue < 0 ? -errno : outcome(mq_send(queue, "attacked", 8, 0));
}

static int receive_from_queue(char **a)
{
        char text[8192] = ""; /* the default maximum size of a message */
        mqd_t queue = mq_open(a[0], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (queue < 0 || mq_receive(queue, text, sizeof text, NULL) < 0)
                return -errno;
        report_success("read '%.60s'", text);
        return 0;
}

static int remove_queue(char **a)
{
        return outcome(mq_unlink(a[0]));
}

/* "@name" is an abstract address, anything else a path. */
static socklen_t unix_address(const char *name, struct sockaddr_un *ret)
{
        *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
        snprintf(ret->sun_path, sizeof ret->sun_path, "%s", name);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(ret->sun_path));
        if (*name == '@')
                ret->sun_path[0] = '\0';
        return *name == '@' ? size : size + 1;
}

static int connect_to(const char *name, int type)
{
        struct sockaddr_un address;
        socklen_t size = unix_address(name, &address);
        int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, size) < 0)
                return -errno;
        return write_line(fd);
}

static int connect_stream(char **a)
{
        return connect_to(a[0], SOCK_STREAM);
}

static int connect_seqpacket(char **a)
{
        return connect_to(a[0], SOCK_SEQPACKET);
}

static int connect_datagram(char **a)
{
        return connect_to(a[0], SOCK_DGRAM);
}

/* sendto() carries the address with the message, without connect(). */
static int send_unconnected(char **a)
{
        struct sockaddr_un address;
        socklen_t size = unix_address(a[0], &address);
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        return fd < 0 ? -errno : outcome(sendto(fd, "attacked", 8, 0, (struct sockaddr *)&address, size));
}

static int sendmmsg_unconnected(char **a)
{
        struct sockaddr_un address;
        struct iovec text = { (void *)(size_t) "attacked", 8 };
        struct mmsghdr message = { .msg_hdr = { &address, unix_address(a[0], &address), &text, 1, NULL, 0, 0 } };
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        return fd < 0 ? -errno : outcome(sendmmsg(fd, &message, 1, 0));
}

/* Takes the address from the environment, as clients of D-Bus and ssh-agent do. */
static int connect_by_environment(char **a)
{
        const char *address = getenv(a[0]);
        if (!address)
                return -ENOENT;
        const char *path = strstr(address, "unix:path=");
        return connect_to(path ? path + strlen("unix:path=") : address, SOCK_STREAM);
}

static int add_key(char **a)
{
        return outcome(syscall(SYS_add_key, "user", a[0], a[1], strlen(a[1]), KEY_SPEC_USER_KEYRING));
}

static int unlink_key(char **a)
{
        long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", a[0], 0);
        return key < 0 ? -errno : outcome(syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING));
}

static int report_key(long key)
{
        char text[128] = "";
        if (key < 0 || syscall(SYS_keyctl, KEYCTL_READ, key, text, sizeof text - 1) < 0)
                return -errno;
        report_success("read '%s'", text);
        return 0;
}

/* A process may read a key that it possesses: one that is linked to its own keyring. */
static int read_key(char **a)
{
        syscall(SYS_keyctl, KEYCTL_LINK, KEY_SPEC_USER_KEYRING, KEY_SPEC_PROCESS_KEYRING);
        return report_key(syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", a[0], 0));
}

static int request_key(char **a)
{
        syscall(SYS_keyctl, KEYCTL_LINK, KEY_SPEC_USER_KEYRING, KEY_SPEC_PROCESS_KEYRING);
        return report_key(syscall(SYS_request_key, "user", a[0], NULL, 0));
}

const struct attack ipc_attacks[] = {
        { "read_shared_memory", 1, read_shared_memory },
        { "read_shared_memory_by_id", 1, read_shared_memory_by_id },
        { "send_message", 1, send_message },
        { "receive_message", 1, receive_message },
        { "raise_semaphore", 1, raise_semaphore },
        { "send_to_queue", 1, send_to_queue },
        { "receive_from_queue", 1, receive_from_queue },
        { "remove_queue", 1, remove_queue },
        { "connect_stream", 1, connect_stream },
        { "connect_seqpacket", 1, connect_seqpacket },
        { "connect_datagram", 1, connect_datagram },
        { "send_unconnected", 1, send_unconnected },
        { "sendmmsg_unconnected", 1, sendmmsg_unconnected },
        { "connect_by_environment", 1, connect_by_environment },
        { "add_key", 2, add_key },
        { "unlink_key", 1, unlink_key },
        { "read_key", 1, read_key },
        { "request_key", 1, request_key },
        { 0 },
};
