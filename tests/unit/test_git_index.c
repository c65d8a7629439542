/* git's index: which paths it may contain, in each version of the format and with object ids of both lengths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "policy/git_index.h"

enum { INDEX_BYTES_MAX = 8192, FLAGS_OFFSET = 12 + 40 + GIT_ID_SHA1 /* offset, in the first entry */ };

struct index {
        unsigned char data[INDEX_BYTES_MAX];
        size_t length, id, last;
        uint32_t version, count;
        const char *repository;
};

static void put_u32(struct index *x, uint32_t value)
{
        for (int shift = 24; shift >= 0; shift -= 8)
                x->data[x->length++] = (unsigned char)(value >> shift);
}

static void start_index(struct index *x, uint32_t version, size_t id, uint32_t count)
{
        *x = (struct index){ .version = version, .id = id, .count = count };
        memcpy(x->data, "DIRC", 4);
        x->length = 4;
        put_u32(x, version);
        put_u32(x, count);
}

/* Adds an entry. In version 4 it shares nothing with the path before. */
static void add_entry(struct index *x, const char *path, bool extended)
{
        size_t start = x->length, length = strlen(path);
        x->length += 40 + x->id;
        size_t stored_length = length < 0xfff ? length : 0xfff;
        x->data[x->length++] = (unsigned char)((extended ? 0x40 : 0) | stored_length >> 8);
        x->data[x->length++] = (unsigned char)stored_length;
        x->length += extended ? 2 : 0;
        if (x->version == 4)
                x->data[x->length++] = (unsigned char)x->last;
        memcpy(x->data + x->length, path, length);
        x->length += length;
        x->last = length;
        x->length += x->version == 4 ? 1 : 8 - (x->length - start) % 8;
}

static void add_extension(struct index *x, const char *name, uint32_t size)
{
        memcpy(x->data + x->length, name, 4);
        x->length += 4;
        put_u32(x, size);
        x->length += size;
}

static bool is_harmless_with_id(const struct index *x, size_t id)
{
        CLEANUP_TEXT struct text why = { 0 };
        bool harmless = git_index_is_harmless((const char *)x->data, x->length, id, x->repository, &why);
        assert_int_equal(harmless, !why.data);
        return harmless;
}

static bool is_harmless(struct index *x)
{
        x->length += x->id; /* the checksum, which may be zero */
        return is_harmless_with_id(x, x->id);
}

static bool path_is_harmless(const char *path, uint32_t version, size_t id)
{
        struct index x;
        start_index(&x, version, id, 2);
        add_entry(&x, "a/first", version > 2);
        add_entry(&x, path, false);
        add_extension(&x, "TREE", 24);
        return is_harmless(&x);
}

static void test_paths_into_git_directories_and_out_of_the_tree_are_refused(void **state)
{
        (void)state;
        static const struct {
                const char *path;
                bool harmless;
        } rows[] = {
                { "a", true },         { "a/b/c", true },      { ".gitignore", true },   { "x/.gitmodules", true },
                { "git", true },       { ".gitx/a", true },    { "...", true },          { "dir/", true },
                { "a/git~2", true },   { ".git", false },      { ".git/hooks/x", false }, { "a/.git/config", false },
                { "a/.GIT/x", false }, { ".GiT", false },      { "..", false },          { "../x", false },
                { "a/../../x", false }, { "./x", false },      { "a/./b", false },       { "/etc/x", false },
                { "a//b", false },     { "git~1/x", false },   { "a/..", false },        { ".git/", false },
        };
        static const size_t ids[] = { GIT_ID_SHA1, GIT_ID_SHA256 };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                for (uint32_t version = 2; version <= 4; version++)
                        for (size_t j = 0; j < ARRAY_SIZE(ids); j++)
                                if (path_is_harmless(rows[i].path, version, ids[j]) != rows[i].harmless)
                                        fail_msg("'%s' in version %u with ids of %zu bytes", rows[i].path, version,
                                                 ids[j]);
}

/* A file .git may name a repository with another name in the work tree. */
static void test_paths_into_the_repository_itself_are_refused(void **state)
{
        (void)state;
        static const struct {
                const char *repository, *path;
                bool harmless;
        } rows[] = {
                { "/w/.g", ".g/hooks/x", false },  { "/w/a/.g", "a/.g/config", false }, { "/w/.g", ".gg/x", true },
                { "/w/.g", "b/.g/x", true },       { "/w/.g", ".g", true },             { "/w/.g", "w/.g/x", false },
                { "/w/.git/modules/sub", "sub/x", true },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct index x;
                start_index(&x, 2, GIT_ID_SHA1, 1);
                add_entry(&x, rows[i].path, false);
                x.repository = rows[i].repository;
                if (is_harmless(&x) != rows[i].harmless)
                        fail_msg("'%s' with the repository %s", rows[i].path, rows[i].repository);
        }
}

/* Read with ids of another length, they could be part of a path. */
static void test_padding_that_is_not_zero_is_refused(void **state)
{
        (void)state;
        for (size_t byte = 1; byte <= 8; byte++) {
                struct index x;
                start_index(&x, 2, GIT_ID_SHA1, 1);
                add_entry(&x, "ab", false); /* 62 + 2 bytes: eight of padding */
                x.data[x.length - byte] = 'x';
                assert_false(is_harmless(&x));
        }
}

/* In version 4 a path is stored as a difference to the one before. */
static void test_path_that_version_4_assembles_is_checked(void **state)
{
        (void)state;
        struct index x;
        start_index(&x, 4, GIT_ID_SHA1, 2);
        add_entry(&x, ".gix/hooks", false);
        x.length += 40 + GIT_ID_SHA1 + 1;
        x.data[x.length++] = strlen(".git/hooks/x");
        x.data[x.length++] = 7; /* drops "x/hooks" */
        memcpy(x.data + x.length, "t/hooks/x", 10);
        x.length += 10;
        assert_false(is_harmless(&x));
}

static void test_malformed_indexes_are_refused(void **state)
{
        (void)state;
        struct index x;
        start_index(&x, 5, GIT_ID_SHA1, 0);
        assert_false(is_harmless(&x));
        start_index(&x, 2, GIT_ID_SHA1, 1); /* but no entry */
        assert_false(is_harmless(&x));
        start_index(&x, 2, GIT_ID_SHA1, 1);
        add_entry(&x, "a", false);
        add_extension(&x, "TREE", 4);
        x.length -= 2;
        assert_false(is_harmless(&x));
        start_index(&x, 2, GIT_ID_SHA1, 0);
        assert_true(is_harmless(&x));
        assert_false(git_index_is_harmless("", 0, GIT_ID_SHA1, NULL, NULL));
        assert_false(git_index_is_harmless("DIRC", 4, GIT_ID_SHA1, NULL, NULL));
}

/* git uses the length in the flags: a wrong one would make it read another entry after the path. */
static void test_wrong_length_of_a_path_is_refused(void **state)
{
        (void)state;
        char path[0x1000];
        for (int error = -1; error <= 1; error++)
                for (uint32_t version = 2; version <= 4; version++) {
                        struct index x;
                        start_index(&x, version, GIT_ID_SHA1, 2);
                        add_entry(&x, "a/first", false);
                        add_entry(&x, "a/second", false);
                        x.data[FLAGS_OFFSET + 1] = (unsigned char)(x.data[FLAGS_OFFSET + 1] + error);
                        assert_int_equal(is_harmless(&x), error == 0);
                }
        static const size_t lengths[] = { 0xffd, 0xffe, 0xfff };
        for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
                struct index x;
                memset(path, 'a', sizeof path);
                path[lengths[i]] = '\0';
                start_index(&x, 2, GIT_ID_SHA1, 1);
                add_entry(&x, path, false);
                assert_true(is_harmless(&x));
        }
}

/* The file does not say whether ids have 20 or 32 bytes. Parsed with the wrong length it has other entries. */
static void test_index_with_ids_of_another_length_is_refused(void **state)
{
        (void)state;
        static const size_t ids[] = { GIT_ID_SHA1, GIT_ID_SHA256 };
        for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
                struct index x;
                start_index(&x, 2, ids[i], 1);
                add_entry(&x, "a", false);
                assert_true(is_harmless(&x));
                assert_false(is_harmless_with_id(&x, ids[1 - i]));
        }
}

/* Makes the extensions that say where entries are in a large index. `…_shift` is the error of an offset or count. */
static bool offsets_are_harmless(uint32_t version, int end_shift, int block_shift, int count_shift)
{
        struct index x;
        start_index(&x, version, GIT_ID_SHA1, 2);
        add_entry(&x, "a/first", false);
        size_t second = x.length;
        add_entry(&x, "a/second", false);
        size_t end = x.length;
        memcpy(x.data + x.length, "IEOT", 4);
        x.length += 4;
        put_u32(&x, 4 + 2 * 8);
        put_u32(&x, 1);
        put_u32(&x, 12);
        put_u32(&x, (uint32_t)(1 + count_shift));
        put_u32(&x, (uint32_t)((int)second + block_shift));
        put_u32(&x, 1);
        memcpy(x.data + x.length, "EOIE", 4);
        x.length += 4;
        put_u32(&x, 4 + GIT_ID_SHA1);
        put_u32(&x, (uint32_t)((int)end + end_shift));
        x.length += GIT_ID_SHA1;
        return is_harmless(&x);
}

static void test_wrong_offsets_of_entries_are_refused(void **state)
{
        (void)state;
        for (uint32_t version = 2; version <= 4; version++) {
                assert_true(offsets_are_harmless(version, 0, 0, 0));
                assert_false(offsets_are_harmless(version, 8, 0, 0));
                assert_false(offsets_are_harmless(version, -8, 0, 0));
                assert_false(offsets_are_harmless(version, 0, 8, 0));
                assert_false(offsets_are_harmless(version, 0, -8, 0));
                assert_false(offsets_are_harmless(version, 0, 0, 1));
                assert_false(offsets_are_harmless(version, 0, 0, -1));
        }
}

/* A thread of git that starts with the second block does not know the last path of the first. */
static void test_block_that_starts_with_a_partial_path_is_refused(void **state)
{
        (void)state;
        struct index x;
        start_index(&x, 4, GIT_ID_SHA1, 2);
        add_entry(&x, "a.git/", false);
        size_t second = x.length;
        x.length += 40 + GIT_ID_SHA1 + 1;
        x.data[x.length++] = strlen("a.git/b");
        x.data[x.length++] = 0; /* keeps all of the path before: one thread reads a.git/b, the other b */
        memcpy(x.data + x.length, "b", 2);
        x.length += 2;
        memcpy(x.data + x.length, "IEOT", 4);
        x.length += 4;
        put_u32(&x, 4 + 2 * 8);
        put_u32(&x, 1);
        put_u32(&x, 12);
        put_u32(&x, 1);
        put_u32(&x, (uint32_t)second);
        put_u32(&x, 1);
        assert_false(is_harmless(&x));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_paths_into_git_directories_and_out_of_the_tree_are_refused),
                cmocka_unit_test(test_paths_into_the_repository_itself_are_refused),
                cmocka_unit_test(test_padding_that_is_not_zero_is_refused),
                cmocka_unit_test(test_path_that_version_4_assembles_is_checked),
                cmocka_unit_test(test_malformed_indexes_are_refused),
                cmocka_unit_test(test_wrong_length_of_a_path_is_refused),
                cmocka_unit_test(test_index_with_ids_of_another_length_is_refused),
                cmocka_unit_test(test_wrong_offsets_of_entries_are_refused),
                cmocka_unit_test(test_block_that_starts_with_a_partial_path_is_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
