/*
 * Directories and their entries; see walk_dir.h. At most ENTRIES_MAX entries of a directory are in memory at a time
 * (and the rest of the last buffer), however large it is.
 */
#include "tools/walk_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"

enum { ENTRIES_MAX = 16 << 10, BUFFER_BYTES = 32 << 10, OFFSETS_STEP = 256 };

struct walk_dir *walk_dir_new(int fd, const char *path, unsigned depth, struct gitignore *rules, atomic_uint *open)
{
        size_t length = strlen(path);
        struct walk_dir *f = fd < 0 ? NULL : malloc(sizeof *f + length + 1);
        if (!f) {
                fd_close(&fd);
                return NULL;
        }
        *f = (struct walk_dir){
                .holders = 1, .open = open, .fd = fd, .depth = depth, .rules = gitignore_ref(rules), .length = length
        };
        memcpy(f->path, path, length + 1);
        ++*open;
        return f;
}

struct walk_dir *walk_dir_ref(struct walk_dir *f)
{
        f->holders++;
        return f;
}

void walk_dir_unref(struct walk_dir *f)
{
        if (!f || --f->holders)
                return;
        --*f->open;
        fd_close(&f->fd);
        gitignore_unref(f->rules);
        free(f);
}

static bool add_entry(struct dir_listing *l, char kind, const char *name)
{
        size_t n = strlen(name);
        if (l->count % OFFSETS_STEP == 0) {
                uint32_t *larger = realloc(l->offsets, (l->count + OFFSETS_STEP) * sizeof *larger);
                if (!larger)
                        return false;
                l->offsets = larger;
        }
        if (l->used + n + 3 > l->size) {
                size_t size = (l->size + n + 3) * 2 + 4096;
                char *larger = realloc(l->entries, size);
                if (!larger)
                        return false;
                l->entries = larger;
                l->size = size;
        }
        l->offsets[l->count++] = (uint32_t)l->used;
        l->entries[l->used++] = kind;
        memcpy(l->entries + l->used, name, n);
        l->used += n;
        if (kind == ENTRY_DIRECTORY)
                l->entries[l->used++] = '/';
        l->entries[l->used++] = '\0';
        return true;
}

static bool add_dirent(struct dir_listing *l, int fd, const struct dirent64 *d, bool with_git)
{
        const char *name = d->d_name;
        struct stat st;
        unsigned char type = d->d_type;
        if (*name == '.') {
                l->ignore_files |= ignore_file_bit(name);
                if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (!with_git && strcmp(name, ".git") == 0))
                        return true;
        }
        if (type == DT_UNKNOWN && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
                type = (unsigned char)IFTODT(st.st_mode); /* not every file system fills d_type in */
        char kind = type == DT_DIR   ? ENTRY_DIRECTORY
                    : type == DT_REG ? ENTRY_FILE
                    : type == DT_LNK ? ENTRY_LINK
                    : l->all         ? ENTRY_OTHER
                                     : '\0';
        return !kind || add_entry(l, kind, name);
}

bool dir_listing_read(struct dir_listing *l, int fd, bool with_git)
{
        _Alignas(struct dirent64) char buffer[BUFFER_BYTES];
        ssize_t n = 0;
        while (l->count < ENTRIES_MAX && (n = getdents64(fd, buffer, sizeof buffer)) > 0) {
                for (ssize_t at = 0; at < n;) {
                        const struct dirent64 *d = (const void *)(buffer + at);
                        if (!add_dirent(l, fd, d, with_git))
                                return false;
                        at += d->d_reclen;
                }
        }
        l->more = n > 0;
        return true;
}

static int by_name(const void *a, const void *b, void *entries)
{
        return strcmp((const char *)entries + *(const uint32_t *)a + 1,
                      (const char *)entries + *(const uint32_t *)b + 1);
}

void dir_listing_sort(struct dir_listing *l)
{
        if (l->count)
                qsort_r(l->offsets, l->count, sizeof *l->offsets, by_name, l->entries);
}

void dir_listing_done(struct dir_listing *l)
{
        free(l->entries);
        free(l->offsets);
}
