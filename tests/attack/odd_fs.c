/*
 * odd_fs DIRECTORY [fold] [stall MILLISECONDS]
 *
 * A FUSE file system in memory, with one directory. With "fold" it ignores the case of names. With "stall" the lookup
 * of a name that begins with "slow" takes that long, and other requests wait too, because there is one thread. Prints a
 * line when it is mounted. Needs root.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FILES_MAX = 512, NAME_BYTES = 256, DATA_BYTES = 4096, MESSAGE_BYTES = 1 << 20, ROOT = FUSE_ROOT_ID };

static struct file {
        bool used;  /* a slot is never used again; its node id is its index + ROOT + 1 */
        bool named; /* false after unlink */
        char name[NAME_BYTES];
        mode_t mode;
        char data[DATA_BYTES];
        uint32_t size;
} files[FILES_MAX];

static bool folds_case;
static long stall_ms;
static int device;

static void reply(uint64_t unique, int error, const void *data, size_t size)
{
        struct fuse_out_header header = { .len = (uint32_t)(sizeof header + size), .error = error, .unique = unique };
        struct iovec parts[] = { { &header, sizeof header }, { (void *)(uintptr_t)data, size } };
        (void)!writev(device, parts, size ? 2 : 1);
}

static struct file *find_name(const char *name)
{
        for (int i = 0; i < FILES_MAX; i++)
                if (files[i].named && (folds_case ? strcasecmp(files[i].name, name) : strcmp(files[i].name, name)) == 0)
                        return &files[i];
        return NULL;
}

static uint64_t node_id(const struct file *f)
{
        return (uint64_t)(f - files) + ROOT + 1;
}

static struct file *find_node(uint64_t node)
{
        return node > ROOT && node <= ROOT + FILES_MAX && files[node - ROOT - 1].used ? &files[node - ROOT - 1] : NULL;
}

static struct fuse_attr attributes(uint64_t node)
{
        struct file *f = find_node(node);
        struct fuse_attr a = { .ino = node, .nlink = 1, .mode = S_IFDIR | 0777, .blksize = DATA_BYTES };
        if (f) {
                a.mode = f->mode;
                a.size = f->size;
                a.nlink = f->named;
        }
        return a;
}

static struct fuse_entry_out entry(const struct file *f)
{
        return (struct fuse_entry_out){ .nodeid = node_id(f), .attr = attributes(node_id(f)) };
}

static void set_name(struct file *f, const char *name)
{
        size_t length = strnlen(name, sizeof f->name - 1);
        memcpy(f->name, name, length);
        f->name[length] = '\0';
}

static struct file *add_file(const char *name, mode_t mode)
{
        for (int i = 0; i < FILES_MAX; i++)
                if (!files[i].used) {
                        files[i] = (struct file){ .used = true, .named = true, .mode = mode };
                        set_name(&files[i], name);
                        return &files[i];
                }
        return NULL;
}

static void list_directory(uint64_t unique, const struct fuse_read_in *in)
{
        char buffer[8192];
        size_t used = 0;
        for (uint64_t i = in->offset; i < FILES_MAX; i++) {
                size_t length = strlen(files[i].name), size = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + length);
                if (!files[i].named)
                        continue;
                if (used + size > sizeof buffer || used + size > in->size)
                        break;
                struct fuse_dirent d = { .ino = node_id(&files[i]),
                                         .off = i + 1,
                                         .namelen = (uint32_t)length,
                                         .type = files[i].mode >> 12 };
                memset(buffer + used, 0, size);
                memcpy(buffer + used, &d, FUSE_NAME_OFFSET);
                memcpy(buffer + used + FUSE_NAME_OFFSET, files[i].name, length);
                used += size;
        }
        reply(unique, 0, buffer, used);
}

static void rename_file(uint64_t unique, const char *from, const char *to)
{
        struct file *f = find_name(from), *other = find_name(to);
        if (!f) {
                reply(unique, -ENOENT, NULL, 0);
                return;
        }
        if (other && other != f)
                other->named = false;
        set_name(f, to);
        reply(unique, 0, NULL, 0);
}

static void create_file(const struct fuse_in_header *h, const struct fuse_create_in *in, const char *name)
{
        struct file *f = add_file(name, S_IFREG | (in->mode & 0777));
        struct {
                struct fuse_entry_out entry;
                struct fuse_open_out open;
        } out = { 0 };
        if (f)
                out.entry = entry(f);
        reply(h->unique, f ? 0 : -ENOSPC, &out, f ? sizeof out : 0);
}

static void set_attributes(const struct fuse_in_header *h, const struct fuse_setattr_in *in)
{
        struct file *f = find_node(h->nodeid);
        if (f && (in->valid & FATTR_SIZE) && in->size <= DATA_BYTES)
                f->size = (uint32_t)in->size;
        if (f && (in->valid & FATTR_MODE))
                f->mode = (f->mode & S_IFMT) | (in->mode & 07777);
        struct fuse_attr_out out = { .attr = attributes(h->nodeid) };
        reply(h->unique, 0, &out, sizeof out);
}

static void write_file(const struct fuse_in_header *h, const struct fuse_write_in *in)
{
        struct file *f = find_node(h->nodeid);
        struct fuse_write_out out = { .size = in->size };
        if (!f || in->offset + in->size > DATA_BYTES) {
                reply(h->unique, -EFBIG, NULL, 0);
                return;
        }
        memcpy(f->data + in->offset, in + 1, in->size);
        if (in->offset + in->size > f->size)
                f->size = (uint32_t)(in->offset + in->size);
        reply(h->unique, 0, &out, sizeof out);
}

static void read_file(const struct fuse_in_header *h, const struct fuse_read_in *in)
{
        struct file *f = find_node(h->nodeid);
        size_t left = f && in->offset < f->size ? f->size - in->offset : 0;
        reply(h->unique, 0, f ? f->data + in->offset : "", left < in->size ? left : in->size);
}

static void serve(const struct fuse_in_header *h)
{
        const void *in = h + 1;
        const char *name = in;
        struct file *f;
        switch (h->opcode) {
        case FUSE_INIT: {
                struct fuse_init_out out = {
                        .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 65536, .max_readahead = 65536
                };
                reply(h->unique, 0, &out, sizeof out);
                return;
        }
        case FUSE_LOOKUP:
                if (stall_ms && strncmp(name, "slow", 4) == 0)
                        (void)usleep((useconds_t)stall_ms * 1000);
                f = find_name(name);
                if (f) {
                        struct fuse_entry_out out = entry(f);
                        reply(h->unique, 0, &out, sizeof out);
                } else {
                        reply(h->unique, -ENOENT, NULL, 0);
                }
                return;
        case FUSE_GETATTR: {
                struct fuse_attr_out out = { .attr = attributes(h->nodeid) };
                reply(h->unique, 0, &out, sizeof out);
                return;
        }
        case FUSE_SETATTR:
                set_attributes(h, in);
                return;
        case FUSE_OPEN:
        case FUSE_OPENDIR: {
                struct fuse_open_out out = { 0 };
                reply(h->unique, 0, &out, sizeof out);
                return;
        }
        case FUSE_READDIR:
                list_directory(h->unique, in);
                return;
        case FUSE_CREATE:
                create_file(h, in, (const char *)in + sizeof(struct fuse_create_in));
                return;
        case FUSE_READ:
                read_file(h, in);
                return;
        case FUSE_WRITE:
                write_file(h, in);
                return;
        case FUSE_UNLINK:
                f = find_name(name);
                if (f)
                        f->named = false;
                reply(h->unique, f ? 0 : -ENOENT, NULL, 0);
                return;
        case FUSE_RENAME: {
                const char *from = (const char *)in + sizeof(struct fuse_rename_in);
                rename_file(h->unique, from, from + strlen(from) + 1);
                return;
        }
        case FUSE_STATFS: {
                struct fuse_statfs_out out = { .st = { .bsize = DATA_BYTES, .namelen = NAME_BYTES - 1 } };
                reply(h->unique, 0, &out, sizeof out);
                return;
        }
        case FUSE_RELEASE:
        case FUSE_RELEASEDIR:
        case FUSE_FLUSH:
        case FUSE_FSYNC:
                reply(h->unique, 0, NULL, 0);
                return;
        case FUSE_FORGET:
        case FUSE_BATCH_FORGET:
        case FUSE_INTERRUPT:
                return; /* these get no reply */
        default:
                reply(h->unique, -ENOSYS, NULL, 0);
        }
}

int main(int argc, char **argv)
{
        static char message[MESSAGE_BYTES] __attribute__((aligned(8)));
        char options[96];
        for (int i = 2; i < argc; i++) {
                folds_case |= strcmp(argv[i], "fold") == 0;
                if (strcmp(argv[i], "stall") == 0 && i + 1 < argc)
                        stall_ms = strtol(argv[i + 1], NULL, 10);
        }
        device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
        (void)snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
        if (argc < 2 || device < 0 || mount("odd", argv[1], "fuse.odd", MS_NOSUID | MS_NODEV, options) < 0) {
                perror("odd_fs");
                return 1;
        }
        (void)puts("mounted");
        (void)fflush(stdout);
        for (;;) {
                ssize_t n = read(device, message, sizeof message);
                if (n < 0 && (errno == EINTR || errno == ENOENT))
                        continue;
                if (n < (ssize_t)sizeof(struct fuse_in_header))
                        return n < 0 && errno != ENODEV;
                serve((const struct fuse_in_header *)message);
        }
}
