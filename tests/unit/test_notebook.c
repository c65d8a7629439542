/* Jupyter notebooks: what Read shows of them, and what NotebookEdit changes in their files. */
#include "test_tools_fixture.h"
#include "tools/notebook.h"

/* Exactly as Jupyter writes it, but ' stands for ". */
#define HEAD "{\n 'cells': [\n"
#define INTRO \
        "  {\n   'cell_type': 'markdown',\n   'id': 'intro',\n   'metadata': {},\n   'source': [\n" \
        "    '# Zürich\\n',\n    'text'\n   ]\n  }"
#define CODE_BEFORE_SOURCE(count, outputs) \
        "  {\n   'cell_type': 'code',\n   'execution_count': " count ",\n   'id': 'c0de',\n   'metadata': {\n" \
        "    'papermill': {\n     'big': 9223372036854775807,\n     'duration': 0.1,\n     'tiny': 1e-09\n    }\n" \
        "   },\n   'outputs': " outputs ",\n"
#define OUTPUTS \
        "[\n    {\n     'name': 'stdout',\n     'output_type': 'stream',\n     'text': [\n      '3\\n'\n     ]\n" \
        "    },\n    {\n     'data': {\n      'image/png': 'iVBORw0K\\n',\n      'text/plain': [\n       '<Figure>'\n" \
        "      ]\n     },\n     'metadata': {},\n     'output_type': 'display_data'\n    }\n   ]"
#define SOURCE "   'source': [\n    'a = 1\\n',\n    'b = 2\\n',\n    'print(a + b)'\n   ]\n  }"
#define CODE CODE_BEFORE_SOURCE("7", OUTPUTS) SOURCE
#define REST \
        ",\n 'metadata': {\n  'kernelspec': {\n   'display_name': 'Python 3',\n   'language': 'python',\n" \
        "   'name': 'python3'\n  }\n },\n 'nbformat': 4,\n 'nbformat_minor': 5\n}\n"
#define TAIL "\n ]" REST
#define NOTEBOOK HEAD INTRO ",\n" CODE TAIL

/* A notebook without ids, on one line. */
#define OLD_CELL(source) "{'cell_type': 'raw', 'metadata': {}, 'source': '" source "'}"
#define OLD(cells) "{'cells': [" cells "], 'metadata': {}, 'nbformat': 4, 'nbformat_minor': 2}"

static char *with_quotes(const char *text)
{
        char *copy = strdup(text);
        assert_non_null(copy);
        for (char *p = copy; (p = strchr(p, '\''));)
                *p = '"';
        return copy;
}

static void read_cells(void)
{
        bool error = true;
        (void)call("Read", "{'file_path': 'n.ipynb'}", &error);
        assert_false(error);
}

static void write_notebook(const char *text)
{
        CLEANUP_FREE char *quoted = with_quotes(text);
        write_file("n.ipynb", quoted);
}

static void write_and_read(const char *text)
{
        write_notebook(text);
        read_cells();
}

static void check_notebook(const char *expected)
{
        CLEANUP_FREE char *quoted = with_quotes(expected);
        check_content("n.ipynb", quoted);
}

static void check_contains(const char *text, const char *part)
{
        if (!text || !strstr(text, part))
                fail_msg("no '%s' in: %s", part, text ? text : "");
}

/* --- Read --- */

static void test_read_shows_cells_and_the_text_of_their_outputs(void **state)
{
        (void)state;
        write_notebook(NOTEBOOK);
        EXPECT_OK("Read", "{'file_path': 'n.ipynb'}",
                  "cell 1: markdown, id intro\n1\t# Zürich\n2\ttext\n\n"
                  "cell 2: code, id c0de, execution_count 7\n1\ta = 1\n2\tb = 2\n3\tprint(a + b)\n"
                  "output: stdout\n\t3\noutput: image/png, 9 bytes\noutput: text/plain\n\t<Figure>\n");
        EXPECT_OK("Read", "{'file_path': 'n.ipynb', 'limit': 1}",
                  "cell 1: markdown, id intro\n1\t# Zürich\n2\ttext\n(there is more: continue with offset 2)\n");
        EXPECT_ERROR("Read", "{'file_path': 'n.ipynb', 'offset': 3}", "offset 3 exceeds cell count 2");
        write_notebook(OLD(""));
        EXPECT_OK("Read", "{'file_path': 'n.ipynb'}", "($/n.ipynb is a notebook without cells)\n");
        write_notebook(OLD(OLD_CELL("a\\r\\nb")));
        EXPECT_OK("Read", "{'file_path': 'n.ipynb'}",
                  "cell 1: raw\n1\ta\n2\tb\n(for NotebookEdit, the cell_id of a cell without an id is its number)\n");
}

static void test_read_shows_outputs_of_each_type_without_escapes(void **state)
{
        (void)state;
        write_notebook("{'nbformat': 4, 'cells': [{'cell_type': 'code', 'id': 'a', 'source': [], 'outputs': ["
                       "{'output_type': 'error', 'ename': 'E', 'evalue': 'v',"
                       " 'traceback': ['\\u001b[0;31m---\\u001b[0m', 'line\\n\\u001b]8;;u\\u0007two\\u001b[']},"
                       "{'output_type': 'error', 'ename': 'E', 'evalue': 'v', 'traceback': []},"
                       "{'output_type': 'stream', 'name': 'stderr', 'text': 'warn'},"
                       "{'output_type': 'execute_result', 'data': {'application/json': {'a': [1, 2]},"
                       " 'text/plain': 'x'}}, {'output_type': 'new'}, 5]}]}");
        EXPECT_OK("Read", "{'file_path': 'n.ipynb'}",
                  "cell 1: code, id a\noutput: error\n\t---\n\tline\n\ttwo\noutput: error\n\tE: v\n"
                  "output: stderr\n\twarn\noutput: application/json, 11 bytes\noutput: text/plain\n\tx\n"
                  "output: of unknown type, 21 bytes\noutput: of unknown type, 1 bytes\n");
}

static void test_content_of_a_cell_cannot_look_like_another_cell(void **state)
{
        (void)state;
        write_notebook("{'nbformat': 4, 'cells': [{'cell_type': 'code\\ncell 9: raw', 'id': 'a\\ncell 8: raw',"
                       " 'source': '\\ncell 7: raw', 'outputs': [{'output_type': 'stream', 'text': 'cell 6: raw'},"
                       " {'output_type': 'display_data', 'data': {'x\\ncell 5: raw': ''}}]}]}");
        EXPECT_OK("Read", "{'file_path': 'n.ipynb'}",
                  "cell 1: of unknown type, id a\\x0acell 8: raw\n1\t\n2\tcell 7: raw\noutput: stdout\n\tcell 6: raw\n"
                  "output: x\\x0acell 5: raw, 0 bytes\n");
}

static void test_broken_cells_are_shown_as_far_as_they_go(void **state)
{
        (void)state;
        write_notebook("{'nbformat': 4, 'cells': [5, {'source': 1}, {'source': ['a', 1]},"
                       " {'cell_type': 'code', 'id': 3, 'source': 'x', 'outputs': ["
                       "{'output_type': 'stream', 'text': 1}, {'output_type': 'display_data', 'data': 1},"
                       " {'output_type': 'error', 'traceback': 1}]}]}");
        EXPECT_OK("Read", "{'file_path': 'n.ipynb'}",
                  "cell 1: of unknown type\n(its source is neither a string nor a list of strings)\n\n"
                  "cell 2: of unknown type\n(its source is neither a string nor a list of strings)\n\n"
                  "cell 3: of unknown type\n(its source is neither a string nor a list of strings)\n\n"
                  "cell 4: code\n1\tx\noutput: stream without text, 1 bytes\noutput: error\n\terror: \n"
                  "(for NotebookEdit, the cell_id of a cell without an id is its number)\n");
}

static void test_file_that_is_no_notebook_is_shown_as_text(void **state)
{
        (void)state;
        static const char *const texts[] = {
                "{'cells': {}, 'nbformat': 4}", "{'cells': [], 'nbformat': 3}", "{'cells': []}", "[]", "text",
                "{'cells': [], 'nbformat': 4} x", "{'cells': [], 'cells': [], 'nbformat': 4}",
                "{'cells': [], 'nbformat': 4, 'x': 99999999999999999999}",
                "{'cells': [{'source': '\\u0000'}], 'nbformat': 4}",
                "{'cells': [{'source': '\\ud800'}], 'nbformat': 4}",
        };
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                CLEANUP_TEXT struct text expected = { 0 };
                CLEANUP_FREE char *quoted = with_quotes(texts[i]);
                write_file("n.ipynb", quoted);
                text_format(&expected, "1\t%s\n", quoted);
                EXPECT_OK("Read", "{'file_path': 'n.ipynb'}", expected.data);
        }
        CLEANUP_FREE char *notebook = with_quotes(OLD(""));
        write_file("n.json", notebook);
        CLEANUP_TEXT struct text expected = { 0 };
        text_format(&expected, "1\t%s\n", notebook);
        EXPECT_OK("Read", "{'file_path': 'n.json'}", expected.data);
        write_file("n.ipynb", "{\"cells\": [\"\xff\"], \"nbformat\": 4}");
        EXPECT_OK("Read", "{'file_path': 'n.ipynb'}",
                  "1\t{\"cells\": [\"\xef\xbf\xbd\"], \"nbformat\": 4}\n"
                  "(the file is not valid UTF-8; invalid bytes are shown as \xef\xbf\xbd)\n");
        write_file("n.ipynb", "");
        EXPECT_OK("Read", "{'file_path': 'n.ipynb'}", "($/n.ipynb is empty)");
}

/* --- the modes of NotebookEdit --- */

static void test_replace_changes_the_source_and_nothing_else(void **state)
{
        (void)state;
        write_and_read(NOTEBOOK);
        EXPECT_OK("NotebookEdit", "{'notebook_path': 'n.ipynb', 'cell_id': 'intro', 'new_source': '# Zürich\\n\\nnew'}",
                  "replaced cell 1 (markdown, id intro) in $/n.ipynb\n@@ -1,2 +1,3 @@\n # Zürich\n-text\n+\n+new\n");
        check_notebook(HEAD "  {\n   'cell_type': 'markdown',\n   'id': 'intro',\n   'metadata': {},\n   'source': [\n"
                            "    '# Zürich\\n',\n    '\\n',\n    'new'\n   ]\n  },\n" CODE TAIL);
        EXPECT_OK("NotebookEdit",
                  "{'notebook_path': 'n.ipynb', 'cell_id': 'intro', 'new_source': '# Zürich\\ntext'}",
                  "replaced cell 1 (markdown, id intro) in $/n.ipynb\n@@ -1,3 +1,2 @@\n # Zürich\n-\n-new\n+text\n");
        check_notebook(NOTEBOOK);
}

static void test_replaced_code_loses_its_outputs(void **state)
{
        (void)state;
        write_and_read(NOTEBOOK);
        EXPECT_OK("NotebookEdit",
                  "{'notebook_path': 'n.ipynb', 'cell_id': 'c0de', 'new_source': 'a = 1\\nb = 3\\nprint(a + b)'}",
                  "replaced cell 2 (code, id c0de) in $/n.ipynb; its 2 outputs were removed\n"
                  "@@ -1,3 +1,3 @@\n a = 1\n-b = 2\n+b = 3\n print(a + b)\n");
        check_notebook(HEAD INTRO ",\n" CODE_BEFORE_SOURCE("null", "[]")
                       "   'source': [\n    'a = 1\\n',\n    'b = 3\\n',\n    'print(a + b)'\n   ]\n  }" TAIL);
        EXPECT_ERROR("NotebookEdit",
                     "{'notebook_path': 'n.ipynb', 'cell_id': 'c0de', 'new_source': 'a = 1\\nb = 3\\nprint(a + b)'}",
                     "nothing would change in cell 2 of $/n.ipynb");
        EXPECT_OK("NotebookEdit", "{'notebook_path': 'n.ipynb', 'cell_id': 'c0de', 'new_source': ''}",
                  "replaced cell 2 (code, id c0de) in $/n.ipynb\n"
                  "@@ -1,3 +0,0 @@\n-a = 1\n-b = 3\n-print(a + b)\n");
        check_notebook(HEAD INTRO ",\n" CODE_BEFORE_SOURCE("null", "[]") "   'source': []\n  }" TAIL);
}

static void test_new_type_has_its_own_fields(void **state)
{
        (void)state;
        write_and_read(HEAD "  {\n   'cell_type': 'code',\n   'execution_count': 7,\n   'id': 'c',\n"
                            "   'metadata': {},\n   'outputs': [\n    5\n   ],\n   'source': []\n  }" TAIL);
        EXPECT_OK("NotebookEdit",
                  "{'notebook_path': 'n.ipynb', 'cell_id': 'c', 'cell_type': 'markdown', 'new_source': 'x'}",
                  "replaced cell 1 (markdown, id c) in $/n.ipynb; its 1 output was removed\n@@ -0,0 +1,1 @@\n+x\n");
        check_notebook(HEAD "  {\n   'cell_type': 'markdown',\n   'id': 'c',\n   'metadata': {},\n"
                            "   'source': [\n    'x'\n   ]\n  }" TAIL);
        EXPECT_OK("NotebookEdit",
                  "{'notebook_path': 'n.ipynb', 'cell_id': 'c', 'cell_type': 'code', 'new_source': 'x'}",
                  "replaced cell 1 (code, id c) in $/n.ipynb\n");
        check_notebook(HEAD "  {\n   'cell_type': 'code',\n   'execution_count': null,\n   'id': 'c',\n"
                            "   'metadata': {},\n   'outputs': [],\n   'source': [\n    'x'\n   ]\n  }" TAIL);
        write_and_read("{'nbformat':4,'cells':[{'source':'a','cell_type':'markdown','attachments':{'i':{}}}]}");
        EXPECT_OK("NotebookEdit",
                  "{'notebook_path': 'n.ipynb', 'cell_id': '1', 'cell_type': 'code', 'new_source': 'b'}",
                  "replaced cell 1 (code) in $/n.ipynb; its attachments were removed\n@@ -1,1 +1,1 @@\n-a\n+b\n");
        check_notebook("{'nbformat':4,'cells':[{'execution_count':null,'outputs':[],'source':'b',"
                       "'cell_type':'code'}]}");
}

static void test_insert_puts_a_cell_first_or_after_another(void **state)
{
        (void)state;
        bool error = true;
        write_and_read(HEAD INTRO TAIL);
        const char *text = call("NotebookEdit",
                                "{'notebook_path': 'n.ipynb', 'edit_mode': 'insert', 'cell_id': 'intro',"
                                " 'cell_type': 'code', 'new_source': 'x = 1\\n'}",
                                &error);
        assert_false(error);
        check_contains(text, "inserted cell 2 (code, id ");
        check_contains(text, "/n.ipynb, which now has 2 cells\n@@ -0,0 +1,1 @@\n+x = 1\n");
        char id[9] = "";
        const char *start = strstr(text, "id ") + 3;
        memcpy(id, start, 8);
        assert_int_equal(strspn(id, "0123456789abcdef"), 8);
        CLEANUP_TEXT struct text expected = { 0 };
        text_format(&expected, "%s,\n  {\n   'cell_type': 'code',\n   'execution_count': null,\n   'id': '%s',\n"
                    "   'metadata': {},\n   'outputs': [],\n   'source': [\n    'x = 1\\n'\n   ]\n  }%s",
                    HEAD INTRO, id, TAIL);
        check_notebook(expected.data);
        (void)call("NotebookEdit",
                   "{'notebook_path': 'n.ipynb', 'edit_mode': 'insert', 'cell_type': 'raw', 'new_source': ''}", &error);
        assert_false(error);
        text = call("Read", "{'file_path': 'n.ipynb'}", &error);
        check_contains(text, "cell 1: raw, id ");
        check_contains(text, "\ncell 2: markdown, id intro\n");
        check_contains(text, "\ncell 3: code, id ");
}

static void test_delete_removes_a_cell_and_its_comma(void **state)
{
        (void)state;
        write_and_read(NOTEBOOK);
        EXPECT_OK("NotebookEdit", "{'notebook_path': 'n.ipynb', 'edit_mode': 'delete', 'cell_id': 'intro'}",
                  "deleted cell 1 (markdown, id intro) from $/n.ipynb, which now has 1 cell\n"
                  "@@ -1,2 +0,0 @@\n-# Zürich\n-text\n");
        check_notebook(HEAD CODE TAIL);
        write_and_read(NOTEBOOK);
        EXPECT_OK("NotebookEdit", "{'notebook_path': 'n.ipynb', 'edit_mode': 'delete', 'cell_id': 'c0de'}",
                  "deleted cell 2 (code, id c0de) from $/n.ipynb, which now has 1 cell\n"
                  "@@ -1,3 +0,0 @@\n-a = 1\n-b = 2\n-print(a + b)\n");
        check_notebook(HEAD INTRO TAIL);
        EXPECT_OK("NotebookEdit", "{'notebook_path': 'n.ipynb', 'edit_mode': 'delete', 'cell_id': 'intro'}",
                  "deleted cell 1 (markdown, id intro) from $/n.ipynb, which now has 0 cells\n"
                  "@@ -1,2 +0,0 @@\n-# Zürich\n-text\n");
        check_notebook("{\n 'cells': []" REST);
}

static void test_cells_without_ids_are_named_by_their_number(void **state)
{
        (void)state;
        write_and_read(OLD(OLD_CELL("a") ", " OLD_CELL("b")));
        EXPECT_OK("NotebookEdit",
                  "{'notebook_path': 'n.ipynb', 'cell_id': '2', 'new_source': 'c\\\"\\t/\\u001b\\u007f'}",
                  "replaced cell 2 (raw) in $/n.ipynb\n@@ -1,1 +1,1 @@\n-b\n+c\"\t/\x1b\x7f\n");
        check_notebook(OLD(OLD_CELL("a") ", " OLD_CELL("c\\'\\t/\\u001b\x7f")));
        EXPECT_OK("NotebookEdit",
                  "{'notebook_path': 'n.ipynb', 'edit_mode': 'insert', 'cell_id': '2', 'cell_type': 'raw',"
                  " 'new_source': 'd\\ne'}",
                  "inserted cell 3 (raw) into $/n.ipynb, which now has 3 cells\n@@ -0,0 +1,2 @@\n+d\n+e\n");
        check_notebook(OLD(OLD_CELL("a") ", " OLD_CELL("c\\'\\t/\\u001b\x7f")
                           ", {'cell_type': 'raw', 'metadata': {}, 'source': ['d\\n', 'e']}"));
        EXPECT_OK("NotebookEdit", "{'notebook_path': 'n.ipynb', 'edit_mode': 'delete', 'cell_id': '2'}",
                  "deleted cell 2 (raw) from $/n.ipynb, which now has 2 cells\n@@ -1,1 +0,0 @@\n-c\"\t/\x1b\x7f\n");
        EXPECT_ERROR("NotebookEdit", "{'notebook_path': 'n.ipynb', 'edit_mode': 'delete', 'cell_id': '3'}",
                     "no cell of $/n.ipynb has the id '3'; Read shows the cells and their ids");
        EXPECT_ERROR("NotebookEdit", "{'notebook_path': 'n.ipynb', 'edit_mode': 'delete', 'cell_id': '0'}",
                     "no cell of $/n.ipynb has the id '0'; Read shows the cells and their ids");
        write_and_read(NOTEBOOK);
        EXPECT_ERROR("NotebookEdit", "{'notebook_path': 'n.ipynb', 'edit_mode': 'delete', 'cell_id': '2'}",
                     "cell 2 of $/n.ipynb has the id 'c0de': use that as cell_id");
        write_and_read(HEAD INTRO ",\n" INTRO TAIL);
        EXPECT_ERROR("NotebookEdit", "{'notebook_path': 'n.ipynb', 'edit_mode': 'delete', 'cell_id': 'intro'}",
                     "2 cells of $/n.ipynb have the id 'intro'; Edit can change the file as text");
}

/* --- what stays --- */

static void test_new_text_has_the_indentation_of_the_file(void **state)
{
        (void)state;
        static const char *const files[][2] = {
                { "{\n    'cells': [],\n    'nbformat': 4\n}",
                  "{\n    'cells': [\n        {\n            'cell_type': 'raw',\n            'metadata': {},\n"
                  "            'source': [\n                'a\\n',\n                'b'\n            ]\n        }\n"
                  "    ],\n    'nbformat': 4\n}" },
                { "{\r\n\t'nbformat': 4,\r\n\t'cells': [ ]\r\n}\r\n",
                  "{\r\n\t'nbformat': 4,\r\n\t'cells': [\r\n\t\t{\r\n\t\t\t'cell_type': 'raw',\r\n"
                  "\t\t\t'metadata': {},\r\n\t\t\t'source': [\r\n\t\t\t\t'a\\n',\r\n\t\t\t\t'b'\r\n\t\t\t]\r\n"
                  "\t\t}\r\n\t]\r\n}\r\n" },
                { "{'cells':[],'nbformat':4}",
                  "{'cells':[{'cell_type':'raw','metadata':{},'source':['a\\n','b']}],'nbformat':4}" },
                { "\xef\xbb\xbf{\n'cells': [],\n'nbformat': 4\n}",
                  "\xef\xbb\xbf{\n'cells': [\n{\n'cell_type': 'raw',\n'metadata': {},\n'source': [\n'a\\n',\n"
                  "'b'\n]\n}\n],\n'nbformat': 4\n}" },
                { "{'nbformat': 4, 'c\\u0065lls' : [{'n': [1E5, -0.0, 1e-300], 'x': '\\u00e9]}'}],"
                  " 'k': 100000000000000000}",
                  "{'nbformat': 4, 'c\\u0065lls' : [{'cell_type': 'raw', 'metadata': {}, 'source': ['a\\n', 'b']}, "
                  "{'n': [1E5, -0.0, 1e-300], 'x': '\\u00e9]}'}], 'k': 100000000000000000}" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                bool error = true;
                write_and_read(files[i][0]);
                (void)call("NotebookEdit",
                           "{'notebook_path': 'n.ipynb', 'edit_mode': 'insert', 'cell_type': 'raw',"
                           " 'new_source': 'a\\nb'}",
                           &error);
                assert_false(error);
                check_notebook(files[i][1]);
        }
}

static void test_lines_of_a_source_are_split_as_jupyter_does(void **state)
{
        (void)state;
        bool error = true;
        write_and_read("{'nbformat':4,'cells':[{'source':[]}]}");
        (void)call("NotebookEdit",
                   "{'notebook_path': 'n.ipynb', 'cell_id': '1',"
                   " 'new_source': 'a\\r\\nb\\rc\\fd\\u2028e\\u0085\\u00e9\\n'}",
                   &error);
        assert_false(error);
        check_notebook("{'nbformat':4,'cells':[{'source':['a\\r\\n','b\\r','c\\f','d\xe2\x80\xa8','e\xc2\x85',"
                       "'\xc3\xa9\\n']}]}");
}

/* --- what is refused --- */

static void test_notebook_must_have_been_read_and_be_unchanged(void **state)
{
        (void)state;
        static const char delete[] = "{'notebook_path': 'n.ipynb', 'edit_mode': 'delete', 'cell_id': 'intro'}";
        EXPECT_ERROR("NotebookEdit", delete, "no such file: $/n.ipynb");
        write_notebook(NOTEBOOK);
        EXPECT_ERROR("NotebookEdit", delete, "refusing to edit $/n.ipynb: Read it first");
        read_cells();
        write_notebook(HEAD INTRO TAIL);
        EXPECT_ERROR("NotebookEdit", delete, "refusing to edit $/n.ipynb: it changed since you read it: Read it again");
        check_notebook(HEAD INTRO TAIL);
        assert_int_equal(mkdir("d", 0755), 0);
        EXPECT_ERROR("NotebookEdit", "{'notebook_path': 'd', 'edit_mode': 'delete', 'cell_id': 'intro'}",
                     "path is a directory: $/d");
}

static void test_arguments_that_a_mode_needs(void **state)
{
        (void)state;
        write_and_read(NOTEBOOK);
        EXPECT_ERROR("NotebookEdit", "{'notebook_path': 'n.ipynb', 'new_source': ''}",
                     "NotebookEdit with edit_mode replace needs the parameter cell_id");
        EXPECT_ERROR("NotebookEdit", "{'notebook_path': 'n.ipynb', 'cell_id': 'intro'}",
                     "NotebookEdit with edit_mode replace needs the parameter new_source");
        EXPECT_ERROR("NotebookEdit", "{'notebook_path': 'n.ipynb', 'edit_mode': 'delete'}",
                     "NotebookEdit with edit_mode delete needs the parameter cell_id");
        EXPECT_ERROR("NotebookEdit", "{'notebook_path': 'n.ipynb', 'edit_mode': 'insert', 'new_source': ''}",
                     "NotebookEdit with edit_mode insert needs the parameter cell_type");
        EXPECT_ERROR("NotebookEdit", "{'notebook_path': 'n.ipynb', 'edit_mode': 'move'}",
                     "the parameter edit_mode of NotebookEdit must be one of replace, insert, delete");
        EXPECT_ERROR("NotebookEdit", "{'notebook_path': 'n.ipynb', 'cell_type': 'heading'}",
                     "the parameter cell_type of NotebookEdit must be one of code, markdown, raw");
        check_notebook(NOTEBOOK);
}

static void test_broken_notebooks_are_not_edited(void **state)
{
        (void)state;
        static const char *const files[][2] = {
                { "{'cells': {}, 'nbformat': 4}", "it is not a JSON object with nbformat 4 and a list of cells" },
                { "{'cells': [], 'nbformat': 3}", "it is not a JSON object with nbformat 4 and a list of cells" },
                { "{'cells': [], 'nbformat': 4", "line 1, column 27: '}' expected near end of file" },
                { "{'cells': [], 'nbformat': 4, 'x': 1e999}", "line 1, column 39: real number overflow near '1e999'" },
                { "\xff\xfe{\0}\0", "it is UTF-16LE, and notebooks are UTF-8" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                CLEANUP_TEXT struct text expected = { 0 };
                write_and_read(files[i][0]);
                text_format(&expected, "cannot edit $/n.ipynb as a notebook: %s", files[i][1]);
                EXPECT_ERROR("NotebookEdit", "{'notebook_path': 'n.ipynb', 'cell_id': '1', 'new_source': ''}",
                             expected.data);
                check_notebook(files[i][0]);
        }
        write_and_read("{'nbformat': 4, 'cells': [5, {'source': [1]}]}");
        EXPECT_ERROR("NotebookEdit", "{'notebook_path': 'n.ipynb', 'cell_id': '1', 'new_source': ''}",
                     "cell 1 of $/n.ipynb has no source that is a string or a list of strings");
        EXPECT_ERROR("NotebookEdit", "{'notebook_path': 'n.ipynb', 'cell_id': '2', 'new_source': ''}",
                     "cell 2 of $/n.ipynb has no source that is a string or a list of strings");
        EXPECT_OK("NotebookEdit", "{'notebook_path': 'n.ipynb', 'edit_mode': 'delete', 'cell_id': '1'}",
                  "deleted cell 1 (of unknown type) from $/n.ipynb, which now has 1 cell\n");
        check_notebook("{'nbformat': 4, 'cells': [{'source': [1]}]}");
}

static void test_redaction_mark_is_not_written_back(void **state)
{
        (void)state;
        static const char refused[] =
                "refusing to write $/n.ipynb: line 1 of new_source has [REDACTED:api-key], which stands for a "
                "secret that the answer of Read leaves out; the file would lose it. Edit only lines without it, or "
                "use Bash if the text itself is meant";
        write_and_read(OLD(OLD_CELL("key = sk-secret") ", " OLD_CELL("[REDACTED:x]")));
        EXPECT_ERROR("NotebookEdit",
                     "{'notebook_path': 'n.ipynb', 'cell_id': '1', 'new_source': 'key = [REDACTED:api-key]'}", refused);
        EXPECT_ERROR("NotebookEdit",
                     "{'notebook_path': 'n.ipynb', 'edit_mode': 'insert', 'cell_type': 'raw',"
                     " 'new_source': 'key = [REDACTED:api-key]'}",
                     refused);
        check_notebook(OLD(OLD_CELL("key = sk-secret") ", " OLD_CELL("[REDACTED:x]")));
        EXPECT_OK("NotebookEdit", "{'notebook_path': 'n.ipynb', 'cell_id': '2', 'new_source': '[REDACTED:x].'}",
                  "replaced cell 2 (raw) in $/n.ipynb\n@@ -1,1 +1,1 @@\n-[REDACTED:x]\n+[REDACTED:x].\n");
}

/* --- bounds --- */

static void add_repeated(struct text *out, const char *piece, size_t count)
{
        for (size_t i = 0; i < count; i++)
                text_add(out, piece);
}

/* Writes a notebook with so many pieces between a start and an end. */
static void write_repeated(const char *start, const char *piece, size_t count, const char *end)
{
        CLEANUP_TEXT struct text file = { 0 };
        text_add(&file, start);
        add_repeated(&file, piece, count);
        text_add(&file, end);
        assert_false(file.failed);
        write_notebook(file.data);
}

static void test_answer_about_a_large_notebook_is_bounded(void **state)
{
        (void)state;
        static const struct {
                const char *start, *piece, *end, *expected;
        } files[] = {
                { "{'nbformat': 4, 'cells': [", "{'cell_type': 'code', 'id': 'x', 'source': 'abc'},", "{}]}",
                  "\n(there is more: continue with offset " },
                { "{'nbformat': 4, 'cells': [{'source': '", "a\\n", "'}]}", " more bytes)\n" },
                { "{'nbformat': 4, 'cells': [{'source': '", "é", "'}]}", "… (18000 more bytes in this line)\n" },
                { "{'nbformat': 4, 'cells': [{'source': '", "\\u001b", "'}]}", " more bytes in this line)\n" },
                { "{'nbformat': 4, 'cells': [{'source': '', 'outputs': [", "{'output_type': 'stream', 'text': 'abc'},",
                  "5]}]}", " more outputs)\n" },
                { "{'nbformat': 4, 'cells': [{'source': '', 'outputs': [{'output_type': 'stream', 'text': ['",
                  "\\n', '", "']}]}]}", " more bytes)\n" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                bool error = true;
                write_repeated(files[i].start, files[i].piece, 10000, files[i].end);
                const char *text = call("Read", "{'file_path': 'n.ipynb'}", &error);
                assert_false(error);
                check_contains(text, files[i].expected);
                assert_in_range(strlen(text), 1, TOOL_TEXT_MAX);
                if (i)
                        check_contains(text, "to see all of cell N: Bash, jq '.cells[N-1]' '");
        }
        write_repeated(files[0].start, files[0].piece, 10000, files[0].end);
        EXPECT_OK("Read", "{'file_path': 'n.ipynb', 'offset': 10001}",
                  "cell 10001: of unknown type\n(its source is neither a string nor a list of strings)\n"
                  "(for NotebookEdit, the cell_id of a cell without an id is its number)\n");
        EXPECT_OK("NotebookEdit", "{'notebook_path': 'n.ipynb', 'edit_mode': 'delete', 'cell_id': '10001'}",
                  "deleted cell 10001 (of unknown type) from $/n.ipynb, which now has 10000 cells\n");
}

static void test_diff_of_a_large_cell_is_bounded(void **state)
{
        (void)state;
        bool error = true;
        write_repeated("{'nbformat': 4, 'cells': [{'source': '", "abcdefghijklmnopqrstuvwxyz\\nabc", 10000, "'}]}");
        read_cells();
        const char *text = call("NotebookEdit", "{'notebook_path': 'n.ipynb', 'edit_mode': 'delete', 'cell_id': '1'}",
                                &error);
        assert_false(error);
        check_contains(text, "\n(the rest of the diff is left out)\n");
        assert_in_range(strlen(text), 1, TOOL_TEXT_MAX);
}

static void test_depth_and_number_of_values_are_bounded(void **state)
{
        (void)state;
        static const char edit[] = "{'notebook_path': 'n.ipynb', 'cell_id': '1', 'new_source': ''}";
        write_repeated("{'nbformat': 4, 'cells': [], 'x': ", "[", 100000, "");
        read_cells();
        EXPECT_ERROR("NotebookEdit", edit,
                     "cannot edit $/n.ipynb as a notebook: line 1, column 98: nested too deeply");
        write_repeated("{'nbformat': 4, 'cells': [", "[],", NOTEBOOK_VALUES_MAX / 2, "[]]}");
        read_cells();
        EXPECT_ERROR("NotebookEdit", edit, "cannot edit $/n.ipynb as a notebook: it has more than 1048576 JSON values");
        write_repeated("{'nbformat': 4, 'cells': ['", "0123456789abcdef", NOTEBOOK_MAX / 16, "']}");
        read_cells();
        EXPECT_ERROR("NotebookEdit", edit, "cannot edit $/n.ipynb as a notebook: it has more than 16 MiB");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IN_BOX(test_read_shows_cells_and_the_text_of_their_outputs),
                IN_BOX(test_read_shows_outputs_of_each_type_without_escapes),
                IN_BOX(test_content_of_a_cell_cannot_look_like_another_cell),
                IN_BOX(test_broken_cells_are_shown_as_far_as_they_go),
                IN_BOX(test_file_that_is_no_notebook_is_shown_as_text),
                IN_BOX(test_replace_changes_the_source_and_nothing_else),
                IN_BOX(test_replaced_code_loses_its_outputs),
                IN_BOX(test_new_type_has_its_own_fields),
                IN_BOX(test_insert_puts_a_cell_first_or_after_another),
                IN_BOX(test_delete_removes_a_cell_and_its_comma),
                IN_BOX(test_cells_without_ids_are_named_by_their_number),
                IN_BOX(test_new_text_has_the_indentation_of_the_file),
                IN_BOX(test_lines_of_a_source_are_split_as_jupyter_does),
                IN_BOX(test_notebook_must_have_been_read_and_be_unchanged),
                IN_BOX(test_arguments_that_a_mode_needs),
                IN_BOX(test_broken_notebooks_are_not_edited),
                IN_BOX(test_redaction_mark_is_not_written_back),
                IN_BOX(test_answer_about_a_large_notebook_is_bounded),
                IN_BOX(test_diff_of_a_large_cell_is_bounded),
                IN_BOX(test_depth_and_number_of_values_are_bounded),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
