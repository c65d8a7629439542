/* The tools that change files: what they write, what they keep, and what they refuse to write. */
#include <sys/xattr.h>

#include "test_tools_fixture.h"

static void check_bytes(const char *name, const char *expected, size_t length)
{
        CLEANUP_FREE char *data = NULL;
        size_t got = 0;
        assert_int_equal(fd_read_file(name, 1 << 20, &data, &got, NULL), 0);
        assert_int_equal(got, length);
        assert_memory_equal(data, expected, length);
}

static void test_write_makes_files_and_their_directories(void **state)
{
        (void)state;
        struct stat st;
        EXPECT_OK("Write", "{'file_path': 'a/b/new', 'content': 'text\\n'}", "wrote 5 bytes to $/a/b/new");
        check_content("a/b/new", "text\n");
        assert_int_equal(stat("a/b/new", &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        /* a file that we wrote counts as read */
        EXPECT_OK("Write", "{'file_path': 'a/b/new', 'content': ''}", "wrote 0 bytes to $/a/b/new");
        check_content("a/b/new", "");
        EXPECT_ERROR("Write", "{'file_path': 'a/b', 'content': ''}", "path is a directory: $/a/b");
        EXPECT_ERROR("Write", "{'file_path': '../x', 'content': ''}",
                     "path is outside workspace root: ../x is not in $");
}

static void test_file_that_was_not_read_or_changed_since_is_not_overwritten(void **state)
{
        (void)state;
        bool error = false;
        write_file("f", "old");
        assert_int_equal(symlink("f", "l"), 0);
        EXPECT_ERROR("Write", "{'file_path': 'f', 'content': 'new'}", "refusing to overwrite $/f: Read it first");
        EXPECT_ERROR("Edit", "{'file_path': 'l', 'old_string': 'o', 'new_string': 'n'}",
                     "refusing to edit $/f: Read it first");
        (void)call("Read", "{'file_path': 'l'}", &error);
        assert_false(error);
        write_file("f", "else");
        EXPECT_ERROR("Write", "{'file_path': 'f', 'content': 'new'}",
                     "refusing to overwrite $/f: it changed since you read it: Read it again");
        check_content("f", "else");
        (void)call("Read", "{'file_path': 'f'}", &error);
        EXPECT_OK("Write", "{'file_path': 'l', 'content': 'new'}", "wrote 3 bytes to $/f");
        check_content("f", "new");
}

static void test_edit_replaces_a_unique_match_or_all_matches(void **state)
{
        (void)state;
        bool error = false;
        write_file("f", "a b a\nno newline");
        (void)call("Read", "{'file_path': 'f'}", &error);
        EXPECT_ERROR("Edit", "{'file_path': 'f', 'old_string': 'x', 'new_string': 'y'}", "old_string not found in $/f");
        EXPECT_ERROR("Edit", "{'file_path': 'f', 'old_string': 'a', 'new_string': 'y'}",
                     "old_string matched 2 times in $/f; add context to make it unique or set replace_all=true");
        EXPECT_ERROR("Edit", "{'file_path': 'f', 'old_string': '', 'new_string': 'y'}", "old_string is empty");
        EXPECT_ERROR("Edit", "{'file_path': 'f', 'old_string': 'a', 'new_string': 'a'}",
                     "old_string and new_string are the same");
        EXPECT_ERROR("Edit", "{'file_path': 'none', 'old_string': 'a', 'new_string': 'b'}", "no such file: $/none");
        EXPECT_OK("Edit", "{'file_path': 'f', 'old_string': 'b a', 'new_string': 'X'}",
                  "replaced 1 occurrence(s) in $/f\n@@ -1,2 +1,2 @@\n-a b a\n+a X\n no newline\n\\ No newline at end "
                  "of file\n");
        check_content("f", "a X\nno newline");
        EXPECT_OK("Edit", "{'file_path': 'f', 'old_string': 'n', 'new_string': '', 'replace_all': true}",
                  "replaced 3 occurrence(s) in $/f\n@@ -1,2 +1,2 @@\n a X\n-no newline\n\\ No newline at end of file\n"
                  "+o ewlie\n\\ No newline at end of file\n");
        check_content("f", "a X\no ewlie");
}

static void test_edit_keeps_the_line_endings_of_the_file(void **state)
{
        (void)state;
        bool error = false;
        write_file("f", "one\r\ntwo\r\nthree\r\n");
        (void)call("Read", "{'file_path': 'f'}", &error);
        EXPECT_OK("Edit", "{'file_path': 'f', 'old_string': 'one\\ntwo', 'new_string': '1\\n2\\n2'}",
                  "replaced 1 occurrence(s) in $/f\n@@ -1,3 +1,4 @@\n-one\n-two\n+1\n+2\n+2\n three\n");
        check_content("f", "1\r\n2\r\n2\r\nthree\r\n");
        EXPECT_OK("Edit", "{'file_path': 'f', 'old_string': 'three\\r\\n', 'new_string': '3\\n'}",
                  "replaced 1 occurrence(s) in $/f\n@@ -1,4 +1,4 @@\n 1\n 2\n 2\n-three\n+3\n");
        check_content("f", "1\r\n2\r\n2\r\n3\n");
}

static void test_utf_16_files_are_read_edited_and_written_in_their_encoding(void **state)
{
        (void)state;
        static const char little[] = "\xff\xfe" "a\0\r\0\n\0\x3d\xd8\x00\xde\r\0\n\0", big[] = "\xfe\xff\0b\0\n";
        write_bytes("little", little, sizeof little - 1);
        write_bytes("big", big, sizeof big - 1);
        EXPECT_OK("Read", "{'file_path': 'little'}",
                  "1\ta\n2\t\xf0\x9f\x98\x80\n(the file is UTF-16LE, which Edit and Write keep)\n"
                  "(lines end with CRLF, which Edit and Write keep)\n");
        EXPECT_OK("Edit", "{'file_path': 'little', 'old_string': 'a', 'new_string': 'b\\nc'}",
                  "replaced 1 occurrence(s) in $/little\n@@ -1,2 +1,3 @@\n-a\n+b\n+c\n \xf0\x9f\x98\x80\n");
        check_bytes("little", "\xff\xfe" "b\0\r\0\n\0c\0\r\0\n\0\x3d\xd8\x00\xde\r\0\n\0", 22);
        EXPECT_OK("Read", "{'file_path': 'big'}", "1\tb\n(the file is UTF-16BE, which Edit and Write keep)\n");
        EXPECT_OK("Write", "{'file_path': 'big', 'content': 'xy'}", "wrote 6 bytes to $/big, as UTF-16BE, as before");
        check_bytes("big", "\xfe\xff\0x\0y", 6);
}

static void test_byte_order_mark_is_kept(void **state)
{
        (void)state;
        bool error = false;
        write_file("f", "\xef\xbb\xbf" "a\n");
        (void)call("Read", "{'file_path': 'f'}", &error);
        EXPECT_OK("Edit", "{'file_path': 'f', 'old_string': 'a', 'new_string': 'b'}",
                  "replaced 1 occurrence(s) in $/f\n@@ -1,1 +1,1 @@\n-a\n+b\n");
        check_content("f", "\xef\xbb\xbf" "b\n");
}

static void test_text_that_an_answer_left_out_is_not_written_back(void **state)
{
        (void)state;
        bool error = false;
        write_file("f", "user = me\nkey = sk-secret\n");
        (void)call("Read", "{'file_path': 'f'}", &error);
        EXPECT_ERROR(
                "Write", "{'file_path': 'f', 'content': 'user = you\\nkey = [REDACTED:api-key]\\n'}",
                "refusing to write $/f: line 2 of content has [REDACTED:api-key], which stands for a secret that the "
                "answer of Read leaves out; the file would lose it. Edit only lines without it, or use Bash if the "
                "text itself is meant");
        check_content("f", "user = me\nkey = sk-secret\n");
        EXPECT_ERROR(
                "Edit", "{'file_path': 'f', 'old_string': 'sk-secret', 'new_string': '[REDACTED:x]'}",
                "refusing to write $/f: line 1 of new_string has [REDACTED:x], which stands for a secret that the "
                "answer of Read leaves out; the file would lose it. Edit only lines without it, or use Bash if the "
                "text itself is meant");
        check_content("f", "user = me\nkey = sk-secret\n");
        EXPECT_OK("Edit", "{'file_path': 'f', 'old_string': 'me', 'new_string': 'you'}",
                  "replaced 1 occurrence(s) in $/f\n@@ -1,2 +1,2 @@\n-user = me\n+user = you\n key = sk-secret\n");
        /* a file that contains the text itself may keep it */
        write_file("doc", "[REDACTED:x] marks a secret\n");
        (void)call("Read", "{'file_path': 'doc'}", &error);
        EXPECT_OK("Write", "{'file_path': 'doc', 'content': '[REDACTED:x] stands for a secret'}",
                  "wrote 32 bytes to $/doc");
        EXPECT_OK("Write", "{'file_path': 'new', 'content': '[REDACTED:x]'}", "wrote 12 bytes to $/new");
        write_file("latin", "caf\xe9\nx\n");
        (void)call("Read", "{'file_path': 'latin'}", &error);
        EXPECT_ERROR(
                "Write", "{'file_path': 'latin', 'content': 'caf\xef\xbf\xbd\\ny\\n'}",
                "refusing to write $/latin: line 1 of content has \xef\xbf\xbd, which stands for bytes that are not "
                "UTF-8; the file would lose it. Edit only lines without it, or use Bash if the text itself is meant");
        EXPECT_OK("Edit", "{'file_path': 'latin', 'old_string': 'x', 'new_string': 'y'}",
                  "replaced 1 occurrence(s) in $/latin\n@@ -1,2 +1,2 @@\n caf\xef\xbf\xbd\n-x\n+y\n");
        check_content("latin", "caf\xe9\ny\n");
}

static void test_attributes_and_mode_survive_a_write(void **state)
{
        (void)state;
        bool error = false;
        char value[8] = "";
        struct stat st;
        write_file("f", "text");
        assert_int_equal(chmod("f", 0751), 0);
        if (setxattr("f", "user.kept", "yes", 3, 0) < 0)
                skip(); /* a file system without attributes */
        (void)call("Read", "{'file_path': 'f'}", &error);
        EXPECT_OK("Write", "{'file_path': 'f', 'content': 'x'}", "wrote 1 bytes to $/f");
        assert_int_equal(getxattr("f", "user.kept", value, sizeof value), 3);
        assert_string_equal(value, "yes");
        assert_int_equal(stat("f", &st), 0);
        assert_int_equal(st.st_mode & 07777, 0751);
}

static void test_multi_edit_does_all_edits_or_none(void **state)
{
        (void)state;
        bool error = false;
        write_file("f", "one\ntwo\nthree\n");
        (void)call("Read", "{'file_path': 'f'}", &error);
        EXPECT_ERROR("MultiEdit",
                     "{'file_path': 'f', 'edits': [{'old_string': 'one', 'new_string': '1'},"
                     " {'old_string': 'one', 'new_string': '2'}]}",
                     "edit 2: old_string not found in $/f");
        check_content("f", "one\ntwo\nthree\n");
        EXPECT_OK("MultiEdit",
                  "{'file_path': 'f', 'edits': [{'old_string': 'one', 'new_string': '1'},"
                  " {'old_string': '1\\n', 'new_string': ''}, {'old_string': 't', 'new_string': 'T', 'replace_all': "
                  "true}]}",
                  "replaced 4 occurrence(s) in $/f\nedit 1:\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n three\n"
                  "edit 2:\n@@ -1,3 +1,2 @@\n-1\n two\n three\n"
                  "edit 3:\n@@ -1,2 +1,2 @@\n-two\n-three\n+Two\n+Three\n");
        check_content("f", "Two\nThree\n");
        EXPECT_ERROR("MultiEdit", "{'file_path': 'f', 'edits': []}",
                     "the parameter edits of MultiEdit must have from 1 to 1000 items");
        EXPECT_ERROR("MultiEdit", "{'file_path': 'f', 'edits': ['x']}", "edits[0] of MultiEdit must be an object");
        EXPECT_ERROR("MultiEdit", "{'file_path': 'f', 'edits': [{'old_string': 'x'}]}",
                     "edits[0] of MultiEdit needs the parameter new_string");
}

static void test_edit_shows_a_unified_diff(void **state)
{
        (void)state;
        bool error = false;
        write_file("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\nx\n");
        (void)call("Read", "{'file_path': 'f'}", &error);
        EXPECT_OK("Edit", "{'file_path': 'f', 'old_string': '5\\n', 'new_string': 'five\\nmore\\n'}",
                  "replaced 1 occurrence(s) in $/f\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+more\n 6\n 7\n 8\n");
        /* two places far from each other are two hunks */
        EXPECT_OK("Edit", "{'file_path': 'f', 'old_string': '2', 'new_string': 'two', 'replace_all': true}",
                  "replaced 2 occurrence(s) in $/f\n@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n five\n"
                  "@@ -10,5 +10,5 @@\n 9\n 10\n 11\n-12\n+1two\n x\n");
        write_file("empty", "x");
        (void)call("Read", "{'file_path': 'empty'}", &error);
        EXPECT_OK("Edit", "{'file_path': 'empty', 'old_string': 'x', 'new_string': ''}",
                  "replaced 1 occurrence(s) in $/empty\n@@ -1,1 +0,0 @@\n-x\n\\ No newline at end of file\n");
}

static void test_move_renames_and_overwrites_nothing(void **state)
{
        (void)state;
        bool error = false;
        struct stat st;
        write_file("f", "text");
        write_file("other", "other");
        assert_int_equal(symlink("other", "link"), 0);
        assert_int_equal(mkdir("d", 0755), 0);
        (void)call("Read", "{'file_path': 'f'}", &error);
        EXPECT_OK("Move", "{'source': 'f', 'destination': 'new/dir/g'}", "moved $/f to $/new/dir/g");
        assert_int_equal(stat("f", &st), -1);
        /* it still counts as read */
        EXPECT_OK("Write", "{'file_path': 'new/dir/g', 'content': 'x'}", "wrote 1 bytes to $/new/dir/g");
        EXPECT_ERROR("Move", "{'source': 'new/dir/g', 'destination': 'other'}", "$/other exists already");
        EXPECT_ERROR("Move", "{'source': 'new/dir/g', 'destination': 'd'}", "$/d exists already");
        check_content("other", "other");
        /* a link is moved, not its target; and what was not read stays unread */
        EXPECT_OK("Move", "{'source': './d/../link', 'destination': 'd/link'}", "moved $/link to $/d/link");
        assert_int_equal(lstat("d/link", &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        EXPECT_OK("Move", "{'source': 'other', 'destination': 'o2'}", "moved $/other to $/o2");
        EXPECT_ERROR("Write", "{'file_path': 'o2', 'content': ''}", "refusing to overwrite $/o2: Read it first");
        EXPECT_OK("Move", "{'source': 'd/', 'destination': 'e'}", "moved $/d to $/e");
        EXPECT_ERROR("Move", "{'source': 'e', 'destination': 'e/f'}", "cannot move $/e to $/e/f: Invalid argument");
        EXPECT_ERROR("Move", "{'source': 'none', 'destination': 'x'}",
                     "cannot move $/none to $/x: No such file or directory");
        EXPECT_ERROR("Move", "{'source': 'none/x', 'destination': 'x'}", "no such directory: $/none");
        EXPECT_ERROR("Move", "{'source': '.', 'destination': 'x'}",
                     ". does not end with the name of a file or directory");
        EXPECT_ERROR("Move", "{'source': 'e/..', 'destination': 'x'}",
                     "e/.. does not end with the name of a file or directory");
        EXPECT_ERROR("Move", "{'source': 'o2', 'destination': '../x'}",
                     "path is outside workspace root: ../x is not in $");
        EXPECT_ERROR("Move", "{'source': '/etc/passwd', 'destination': 'x'}",
                     "path is outside workspace root: /etc is not in $");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IN_BOX(test_write_makes_files_and_their_directories),
                IN_BOX(test_file_that_was_not_read_or_changed_since_is_not_overwritten),
                IN_BOX(test_edit_replaces_a_unique_match_or_all_matches),
                IN_BOX(test_edit_keeps_the_line_endings_of_the_file),
                IN_BOX(test_utf_16_files_are_read_edited_and_written_in_their_encoding),
                IN_BOX(test_byte_order_mark_is_kept),
                IN_BOX(test_text_that_an_answer_left_out_is_not_written_back),
                IN_BOX(test_attributes_and_mode_survive_a_write),
                IN_BOX(test_multi_edit_does_all_edits_or_none),
                IN_BOX(test_edit_shows_a_unified_diff),
                IN_BOX(test_move_renames_and_overwrites_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
