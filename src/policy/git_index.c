/*
 * The index; see git_index.h. gitformat-index(5) describes its format: a header, entries, extensions, a checksum. An
 * entry is 40 bytes of stat() data, the object id, flags, and the path. In versions 2 and 3 it is padded with NUL bytes
 * to a multiple of eight. In version 4 the path is the number of bytes to remove from the end of the previous path, and
 * the bytes to append.
 *
 * git finds the next entry by the length in an entry's flags, and in a large index by two extensions with offsets
 * (EOIE, IEOT). This parser uses the NUL after each path and requires all of these to agree, so that both read the same
 * entries.
 */
#include "policy/git_index.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

enum {
        HEADER = 12,
        STAT_BYTES = 40,
        FLAG_EXTENDED = 0x4000,
        LENGTH_MASK = 0xfff,
        INDEX_PATH_MAX = 4096,
        EXTENSION_HEADER = 8
};

struct reader {
        const unsigned char *data;
        size_t length, at;
        uint32_t version;
        size_t id_size;
        char path[INDEX_PATH_MAX];
        size_t path_length, prefix_length; /* prefix: the bytes shared with the previous path (version 4) */
};

static uint32_t read_be32(const unsigned char *p)
{
        return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Checks one component. ".GIT" and NTFS's "git~1" name the same directory as ".git" on some file systems. */
static bool name_is_harmless(const char *name, size_t length)
{
        if (length == 0 || (length == 1 && *name == '.') || (length == 2 && memcmp(name, "..", 2) == 0))
                return false;
        if (length == 4 && strncasecmp(name, ".git", length) == 0)
                return false;
        return !(length == 5 && strncasecmp(name, "git~1", length) == 0);
}

static bool path_is_harmless(const char *path, size_t length)
{
        bool directory = length && path[length - 1] == '/'; /* as in a sparse index */
        if (directory)
                length--;
        for (size_t start = 0; start <= length;) {
                const char *slash = memchr(path + start, '/', length - start);
                size_t end = slash ? (size_t)(slash - path) : length;
                if (!name_is_harmless(path + start, end - start))
                        return false;
                start = end + 1;
        }
        return true;
}

/*
 * Does the path lead into the repository itself, which a file .git names? The work tree is not known here, so this
 * compares each directory of the path with the end of the repository's path.
 */
static bool path_leads_into(const char *repository, const char *path, size_t length)
{
        size_t whole =
                repository && !strstr(repository, "/.git/") && !text_ends(repository, "/.git") ? strlen(repository) : 0;
        for (size_t i = 1; i < length && i < whole; i++)
                if (path[i] == '/' && repository[whole - i - 1] == '/' && memcmp(repository + whole - i, path, i) == 0)
                        return true;
        return false;
}

/* Reads a number in git's offset encoding: how many bytes to remove from the previous path. */
static bool read_varint(struct reader *r, size_t *ret)
{
        size_t value = 0;
        for (unsigned i = 0; r->at < r->length && i < 5; i++) {
                unsigned char c = r->data[r->at++];
                value = i ? ((value + 1) << 7) | (c & 0x7f) : c & 0x7fU;
                if (!(c & 0x80)) {
                        *ret = value;
                        return true;
                }
        }
        return false;
}

/* Reads the path of the entry that starts at `begin`. `flag_length` is the length in the entry's flags. */
static bool read_path(struct reader *r, size_t begin, size_t flag_length)
{
        r->prefix_length = 0;
        if (r->version == 4) {
                size_t removed;
                if (!read_varint(r, &removed) || removed > r->path_length)
                        return false;
                r->prefix_length = r->path_length - removed;
        }
        const unsigned char *end = memchr(r->data + r->at, '\0', r->length - r->at);
        size_t more = end ? (size_t)(end - (r->data + r->at)) : 0, total = r->prefix_length + more;
        if (!end || total >= sizeof r->path ||
            (total < LENGTH_MASK ? flag_length != total : flag_length != LENGTH_MASK))
                return false;
        memcpy(r->path + r->prefix_length, r->data + r->at, more);
        r->path_length = total;
        r->path[total] = '\0';
        r->at += more;
        size_t padding = r->version == 4 ? 1 : 8 - (r->at - begin) % 8; /* at least one NUL */
        if (padding > r->length - r->at)
                return false;
        for (size_t i = 0; i < padding; i++)
                if (r->data[r->at + i])
                        return false;
        r->at += padding;
        return true;
}

static bool read_entry(struct reader *r)
{
        size_t begin = r->at;
        if (r->length - r->at < STAT_BYTES + r->id_size + 4)
                return false;
        r->at += STAT_BYTES + r->id_size;
        unsigned flags = (unsigned)r->data[r->at] << 8 | r->data[r->at + 1];
        r->at += 2;
        if (flags & FLAG_EXTENDED) {
                if (r->version < 3)
                        return false;
                r->at += 2;
        }
        return read_path(r, begin, flags & LENGTH_MASK);
}

/* Checks IEOT: a version, then for each block of entries its offset and the number of entries. */
static bool read_blocks(const struct reader *end, const unsigned char *table, size_t size)
{
        enum { TABLE_HEADER = 4, BLOCK = 8, VERSION = 1 };
        struct reader r = {
                .data = end->data, .length = end->at, .at = HEADER, .id_size = end->id_size, .version = end->version
        };
        if (size < TABLE_HEADER || (size - TABLE_HEADER) % BLOCK != 0 || read_be32(table) != VERSION)
                return false;
        for (size_t i = TABLE_HEADER; i < size; i += BLOCK) {
                if (read_be32(table + i) != r.at)
                        return false;
                for (uint32_t left = read_be32(table + i + 4), first = left; left > 0; left--)
                        if (!read_entry(&r) || (left == first && r.prefix_length != 0))
                                return false; /* a reader that starts here has no previous path */
        }
        return r.at == end->at;
}

/* Checks what follows the entries: extensions, and the checksum. */
static bool read_extensions(const struct reader *r)
{
        size_t at = r->at, stop = r->length - r->id_size, last = EXTENSION_HEADER + 4 + r->id_size;
        const unsigned char *end_mark = r->length >= r->id_size + last ? r->data + stop - last : NULL;
        if (end_mark && memcmp(end_mark, "EOIE", 4) == 0 && read_be32(end_mark + EXTENSION_HEADER) != r->at)
                return false;
        if (at > stop)
                return false;
        while (at < stop) {
                if (stop - at < EXTENSION_HEADER)
                        return false;
                size_t size = read_be32(r->data + at + 4);
                if (size > stop - at - EXTENSION_HEADER)
                        return false;
                if (memcmp(r->data + at, "IEOT", 4) == 0 && !read_blocks(r, r->data + at + EXTENSION_HEADER, size))
                        return false;
                at += EXTENSION_HEADER + size;
        }
        return true;
}

/* Writes the first path that is not harmless to ret_bad, or "". False: the index cannot be parsed. */
static bool read_index(const char *data, size_t length, size_t id_size, const char *repository,
                       char ret_bad[INDEX_PATH_MAX])
{
        struct reader r = { .data = (const unsigned char *)data, .length = length, .at = HEADER, .id_size = id_size };
        *ret_bad = '\0';
        if (length < HEADER + id_size || memcmp(data, "DIRC", 4) != 0)
                return false;
        r.version = read_be32(r.data + 4);
        uint32_t count = read_be32(r.data + 8);
        if (r.version < 2 || r.version > 4)
                return false;
        for (uint32_t i = 0; i < count; i++) {
                if (!read_entry(&r))
                        return false;
                /* An empty path refers to an entry of a shared index, which is checked too. */
                if (!*ret_bad && r.path_length &&
                    (!path_is_harmless(r.path, r.path_length) || path_leads_into(repository, r.path, r.path_length)))
                        memcpy(ret_bad, r.path, r.path_length + 1);
        }
        return read_extensions(&r);
}

bool git_index_is_harmless(const char *data, size_t length, size_t id_size, const char *repository, struct text *why)
{
        char bad[INDEX_PATH_MAX];
        bool readable = read_index(data, length, id_size, repository, bad);
        if (readable && !*bad)
                return true;
        if (why)
                text_add(why, readable ? "git would write " : "it is not an index that can be parsed");
        if (why && readable)
                text_add_escaped(why, bad, strlen(bad));
        return false;
}
