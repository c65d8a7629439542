/* HTML to readable text, and WebFetch's answer for a server's response. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/memory.h"
#include "tools/html.h"
#include "tools/html_charset.h"
#include "tools/html_entities.h"
#include "tools/tool.h"
#include "tools/web_fetch.h"

struct row {
        const char *html, *text;
};

static void check(const struct row *rows, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                CLEANUP_HTML_TEXT struct html_text t;
                html_to_text(rows[i].html, strlen(rows[i].html), 1 << 20, &t);
                if (strcmp(t.body.data ? t.body.data : "", rows[i].text) != 0)
                        fail_msg("%s\nis converted to\n%s\ninstead of\n%s", rows[i].html, t.body.data, rows[i].text);
                assert_false(t.cut);
        }
}
#define CHECK(rows) check(rows, ARRAY_SIZE(rows))

static void test_white_space_is_collapsed(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "", "" },
                { " \n ", "" },
                { " a \n\t b ", "a b" },
                { "a&nbsp;&nbsp;b", "a b" },
                { "a<b> b</b>c <i> d</i>", "a bc d" },
                { "<p> a </p> <p> b </p>", "a\n\nb" },
                { "<div>a</div><div>b</div>", "a\nb" },
                { "<div><div><div>a</div></div></div><p></p><p></p><div>b</div>", "a\n\nb" },
                { "a<br>b<br><br>c<br><br><br>d", "a\nb\n\nc\n\nd" },
                { "<br>a<br>", "a" },
                { "a<hr>b", "a\n\n---\n\nb" },
                { "so\xc2\xad" "ft \xe2\x80\x8bw\xef\xbb\xbf" "ords", "soft words" },
                { "a\x01\x1b[31m\x7f\xc2\x9b b", "a[31m b" },
        };
        CHECK(rows);
}

static void test_text_that_a_browser_does_not_show_is_dropped(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "<!doctype html><html><head><title>T</title><meta charset=utf-8></head><body>x</body></html>", "x" },
                { "a<script>if (1 < 2) document.write('<p>no</p>')</script>b", "ab" },
                { "a<SCRIPT type=x>no</scripty></SCRIPT >b", "ab" },
                { "a<style>p { color: red }</style>b", "ab" },
                { "a<!-- no <p> -- > no -->b", "ab" },
                { "a<!-->b<!--->c<!--x--!>d", "abcd" },
                { "a<![CDATA[no]]>b<?php no ?>c</ no>d</>e", "abcde" },
                { "a<svg><title>no</title><style/><path d=''/><text>no</text></svg>b", "ab" },
                { "a<template><p>no</p></template><iframe>no</iframe><textarea>no</textarea>b", "ab" },
                { "a<select><option>no<option>no</select>b", "ab" },
                { "a<div hidden>no<div>no</div>no</div>b", "ab" },
                { "a<span style='color: red; DISPLAY : none'>no</span>b", "ab" },
                { "a<span style='display&#58;none'>no</span>b", "ab" },
                { "a<span style=visibility:hidden>no</span><span style=display:block>b</span>", "ab" },
                { "a<i aria-hidden=true>no</i><i aria-hidden=false>b</i>", "ab" },
                { "<p hidden>no<p>b", "b" },
                { "<ul><li hidden>no<li>b</ul>", "- b" },
                { "<span>a<span hidden>no<span>no</span></span>b</span>c", "abc" },
                { "a<img hidden alt=no>b", "ab" },
                { "a<dialog>no</dialog>b<dialog open>c</dialog>d", "ab\nc\nd" },
                { "<body style='display:none' hidden>shown later", "shown later" },
                { "<noscript>b</noscript>", "b" },
                { "hidden \xf3\xa0\x81\x81\xf3\xa0\x81\x82 tags\xe2\x80\xae", "hidden tags" },
        };
        CHECK(rows);
}

/* A page could hide words for an agent in a sequence of characters that no browser shows. */
static void test_invisible_characters_are_dropped(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "a&#xfe00;&#xfe01;&#xfe0d;&#xe0100;&#xe01ef;b", "ab" },
                { "a&#x34f;&#x115f;&#x1160;&#x17b4;&#x17b5;&#x180b;&#x180e;b", "ab" },
                { "a&#x3164;&#xffa0;&#xfff0;&#x1bca0;&#x1d173;&#x2063;b", "ab" },
                { "a&#x2800;&#x2800;b", "a b" },
                { "a&#x200c;b&zwj;c&#xfe0e;d&#xfe0f;e", "abcde" },
                { "&zwj;a <b>&zwj;</b>&zwj; b", "a b" },
                { "é&zwj;&#x200c;&zwj;&#xfe0f;é &zwj;b&zwj;", "é\u200dé b" },
                { "é<br>&zwj;a", "é\na" },
                { "é<a href=x>&zwj;</a><code>&zwj;</code>", "é\u200d" },
                { "<pre>é&zwj;&zwj; &zwj;é\n&zwj;a</pre>", "```\né\u200d é\na\n```" },
                { "می&zwnj;خواهم ❤&#xfe0f; 👩&zwj;💻", "می\u200cخواهم ❤\ufe0f 👩\u200d💻" },
        };
        CHECK(rows);
}

static void test_headings_lists_and_quotes_become_markdown(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "<h1>One</h1>text<h2>Two <em>three</em></h2><h6>Six</h6>", "# One\n\ntext\n\n## Two three\n\n###### "
                                                                             "Six" },
                { "<h1>One<br>line</h1><h2></h2>x", "# One line\n\nx" },
                { "a<ul><li>b<li>c</ul>d", "a\n\n- b\n- c\n\nd" },
                { "<ul><li>a<ul><li>b<li>c</ul><li>d</ul>", "- a\n  - b\n  - c\n- d" },
                { "<ol><li>a<li>b<ol><li>c</ol><li>d</ol>", "1. a\n2. b\n   1. c\n3. d" },
                { "<ul><li><p>a</p><p>b</p></li><li><p>c</p></li></ul>", "- a\n\n  b\n\n- c" },
                { "<ul><li></li><li> <li>a</ul>", "- a" },
                { "<ul><li><ul><li>a</ul></ul>", "- - a" },
                { "<li>a<li>b", "- a\n- b" },
                { "<dl><dt>a<dd>b<dd>c<dt>d<dd>e</dl>", "a\n  b\n  c\nd\n  e" },
                { "a<blockquote>b<br>c<p>d</blockquote>e", "a\n\n> b\n> c\n>\n> d\n\ne" },
                { "<blockquote><ul><li>a<li>b</ul></blockquote>", "> - a\n> - b" },
        };
        CHECK(rows);
}

static void test_code_keeps_its_white_space(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "use <code>a  b</code>, <kbd>c</kbd><code></code>", "use `a b`, `c`" },
                { "<pre>\n  a\n\n\tb  c \n</pre>d", "```\n  a\n\n\tb  c \n```\n\nd" },
                { "<pre><code>int main(void)\r\n{\r\n}</code></pre>", "```\nint main(void)\n{\n}\n```" },
                { "<pre><span>a</span>\n<span>b</span><a href=x>c</a></pre>", "```\na\nbc\n```" },
                { "<ul><li>x<pre>a\n  b</pre></ul>", "- x\n\n  ```\n  a\n    b\n  ```" },
                { "<pre></pre><pre> </pre>", "```\n \n```" },
                { "<pre>a<br>b&lt;c&gt;</pre>", "```\na\nb<c>\n```" },
                { "<xmp><b>&amp;</xmp>", "```\n<b>&amp;\n```" },
                { "<code>a<br>b</code>", "`a`\nb" },
                { "<code>Vec&lt;<a href=/t>T</a>&gt;</code>", "`Vec<T>`" },
        };
        CHECK(rows);
}

static void test_links_and_images_become_markdown(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "see <a href='/x?a=1&amp;b=2'>the  page </a>.", "see [the page](/x?a=1&b=2) ." },
                { "<a href=/x>a</a><a href=/y>b</a>", "[a](/x)[b](/y)" },
                { "<a href=/x>a<a href=/y>b", "[a](/x)[b](/y)" },
                { "<a name=x>a</a> <a href='#x'>b</a> <a href=' JavaScript:x()'>c</a> <a href=data:,x>d</a>", "a b c "
                                                                                                              "d" },
                { "<a href=/x><img src=y></a>", "" },
                { "<a href=/x><img src=y alt=' the  logo '></a>", "[[image: the logo]](/x)" },
                { "<a href=/x><h3>Title</h3><p>text</p></a>", "### [Title](/x)\n\ntext" },
                { "<a href=/x><code>f</code></a>", "[`f`](/x)" },
                { "<p><a href=/x>a</p>b", "[a](/x)\n\nb" },
                { "<a href=' /a b/(c)\n\xc3\xbc'>x</a>", "[x](/a%20b/%28c%29%C3%BC)" },
                { "<a href=>x</a><a href>y</a>", "xy" },
                { "<a href=one href=two>x</a>", "[x](one)" },
        };
        CHECK(rows);
}

static void test_tables_become_rows(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "<table><caption>C</caption><tr><th>a<th>b<tr><td>c<td>d</table>e", "C\na | b\nc | d\n\ne" },
                { "<table><thead><tr><td>a</td><td>b</td></tr></thead><tbody><tr> <td> c </td> <td>d</td> "
                  "</tr></tbody></table>",
                  "a | b\nc | d" },
                { "<table><tr><td>a<td><td>c<tr><td><td>b<tr><td><td></table>", "a |  | c\n| b" },
                { "<table><tr><td><p>a</p></td><td><div>b</div></td></tr></table>", "a | b" },
                { "<table><tr><td>a<p>b</td><td>c</td></tr><tr><td>d<td>e</table>", "a\n\nb\nc\nd | e" },
                { "<table><tr><td>a<td><table><tr><td>b<td>c</table><td>d</table>", "a\nb | c\nd" },
                { "<table><tr><td></div>a</p></table>", "a" },
                { "<table><tr><td><a href=x>a</a><td><a href=y>b</table>", "[a](x) | [b](y)" },
        };
        CHECK(rows);
}

static void test_character_references_are_resolved(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "&amp;&lt;&gt;&quot;&apos;", "&<>\"'" },
                { "&eacute;&mdash;&hellip;&euro;&rarr;&Lstrok;&check;", "é—…€→Ł✓" },
                { "&copy2&amp&ampx&AMP;&notit;&notin;", "©2&&x&¬it;∉" },
                { "&unknown; &; & &# &#x; &#xg;", "&unknown; &; & &# &#x; &#xg;" },
                { "&#65;&#x42;&#X43;&#68E&#128169;", "ABCDE\xf0\x9f\x92\xa9" },
                { "&#150;&#x80;", "–€" },
                { "&#0;&#xd800;&#x110000;&#99999999999999999999;", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
                { "a&#10;&#32;b&shy;&zwj;&#8203;c", "a bc" },
                { "<a href='?a&copy=1&copy;&copyx&lt'>x</a>", "[x](?a&copy=1%C2%A9&copyx%3C)" },
                { "&lt;script&gt;", "<script>" },
        };
        CHECK(rows);
}

static void test_malformed_pages_are_parsed_as_by_browsers(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "a < b <c", "a < b" },
                { "a <1> <", "a <1> <" },
                { "a<b", "a" },
                { "a<b x='>", "a" },
                { "a<!-- b", "a" },
                { "a<script>b", "a" },
                { "a</b></div></p>b", "a\n\nb" },
                { "<p>a<div>b</p>c</div>d", "a\n\nb\n\nc\nd" },
                { "<b/>a<br/>b<p/>c", "a\nb\n\nc" },
                { "<p\nclass = 'x>y' id=z/>a", "a" },
                { "<a href=x/>a</a>", "[a](x/)" },
                { "<a =x href=y>a</a>", "[a](y)" },
                { "<x-y>a</x-y><averyveryverylongname>b", "ab" },
                { "a\xff\xc3(b\xe2\x82", "a\xef\xbf\xbd\xef\xbf\xbd(b\xef\xbf\xbd\xef\xbf\xbd" },
                { "<h1>a</h2>b", "# a\n\nb" },
        };
        CHECK(rows);
        CLEANUP_HTML_TEXT struct html_text t;
        html_to_text("a\0b<p\0>c", 9, 100, &t);
        assert_string_equal(t.body.data, "abc");
}

static void test_first_title_is_returned(void **state)
{
        (void)state;
        static const struct row rows[] = {
                { "<title> A &amp; <b>B\n </title>x", "A & <b>B" },
                { "<svg><title>no</title></svg><title>A</title><title>B</title>", "A" },
                { "<title></title>", "" },
                { "<title>A", "A" },
                { "x", "" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_HTML_TEXT struct html_text t;
                html_to_text(rows[i].html, strlen(rows[i].html), 100, &t);
                assert_string_equal(t.title.data ? t.title.data : "", rows[i].text);
        }
}

static char *repeat(const char *piece, size_t times)
{
        size_t length = strlen(piece);
        char *text = malloc(length * times + 1);
        assert_non_null(text);
        for (size_t i = 0; i < times; i++)
                memcpy(text + i * length, piece, length);
        text[length * times] = '\0';
        return text;
}

static void test_text_is_truncated_between_characters(void **state)
{
        (void)state;
        CLEANUP_FREE char *long_text = repeat("é", 5000);
        for (size_t limit = 0; limit < 40; limit++) {
                CLEANUP_HTML_TEXT struct html_text t;
                html_to_text(long_text, strlen(long_text), limit, &t);
                assert_int_equal(t.body.length, limit / 2 * 2);
                assert_true(t.cut);
                CLEANUP_HTML_TEXT struct html_text u;
                static const char page[] = "<ul><li><a href=/x>ä</a> "
                                           "ö<li><code>ü</code></ul><table><tr><td>a<td>b</table>";
                html_to_text(page, strlen(page), limit, &u);
                assert_true(u.body.length <= limit);
                assert_int_equal(text_utf8_valid_length(u.body.data ? u.body.data : "", u.body.length), u.body.length);
                assert_int_equal(u.cut, limit < strlen("- [ä](/x) ö\n- `ü`\n\na | b"));
        }
        CLEANUP_FREE char *long_title = repeat("<title>a b", 5000);
        CLEANUP_HTML_TEXT struct html_text t;
        html_to_text(long_title, strlen(long_title), 100, &t);
        assert_int_equal(t.title.length, HTML_TITLE_MAX);
}

static double time_repeated(const char *piece, size_t times)
{
        CLEANUP_FREE char *page = repeat(piece, times);
        struct timespec from, to;
        CLEANUP_HTML_TEXT struct html_text t;
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
        html_to_text(page, strlen(page), SIZE_MAX, &t);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
        return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

/* Pages that take quadratic time in a parser that builds a tree. */
static void test_hostile_page_of_a_megabyte_takes_less_than_three_seconds(void **state)
{
        (void)state;
        static const char *const pieces[] = {
                "<div>",
                "<b>",
                "<a>",
                "<b><p>",
                "<table><tr><td>",
                "<ul><li>",
                "<li><span hidden>",
                "<blockquote>",
                "<p><object>",
                "</div>",
                "<div></x>",
                "<",
                "<!--",
                "<!-",
                "<a x='",
                "<a b=c ",
                "&",
                "&amp",
                "&#",
                "<pre>\n",
                "<br>",
                "\n",
                "<script>",
                "<title>",
                "<svg>",
                "<svg/><style/>",
                "<td>",
                "<code>`",
                "é",
                "\xff",
                "<h1>",
        };
        for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
                size_t times = (1 << 20) / strlen(pieces[i]);
                double seconds = time_repeated(pieces[i], times);
                if (seconds > 3) /* usually it takes a hundredth of that */
                        fail_msg("a megabyte of '%s' took %.1f s", pieces[i], seconds);
        }
}

static void test_elements_that_are_nested_too_deeply_are_dropped_and_reported(void **state)
{
        (void)state;
        CLEANUP_FREE char *deep = repeat("<div>", 1000);
        CLEANUP_TEXT struct text page = { 0 };
        text_format(&page, "a%sb", deep);
        for (size_t i = 0; i < 1000; i++)
                text_add(&page, "</div>");
        text_add(&page, "c");
        CLEANUP_HTML_TEXT struct html_text t;
        html_to_text(page.data, page.length, 100, &t);
        assert_string_equal(t.body.data, "a\nc");
        assert_true(t.cut);
        CLEANUP_FREE char *inline_elements = repeat("<font><b>", 1000); /* ignored elements */
        page.length = 0;
        text_format(&page, "a%sb", inline_elements);
        CLEANUP_HTML_TEXT struct html_text u;
        html_to_text(page.data, page.length, 100, &u);
        assert_string_equal(u.body.data, "ab");
        assert_false(u.cut);
}

static void test_charsets_are_detected_and_decoded(void **state)
{
        (void)state;
        static const struct {
                const char *bytes;
                size_t length;
                const char *type;
                const char *text;
                bool has_invalid;
        } rows[] = {
                { "\xc3\xa9", 2, NULL, "é", false },
                { "\xc3\xa9", 2, "text/html; charset=UTF-8", "é", false },
                { "\xc3\xa9", 2, "text/html; charset=\"utf-8\"; x=y", "é", false },
                { "\xe9", 1, NULL, "é", false },
                { "\xe9\x80", 2, "text/html;charset=ISO-8859-1", "é€", false },
                { "\xe9", 1, "text/html; charset = 'latin1'", "é", false },
                { "\xe9", 1, "text/html; charset=utf-8", "\xef\xbf\xbd", true },
                { "\xe9", 1, "text/html; charset=koi8-r", "\xef\xbf\xbd", true },
                { "a", 1, "text/html; charset=koi8-r", "a", false },
                { "\xe9", 1, "text/html; charset=", "é", false },
                { "\xe9", 1, "text/html; charset  \0charset=koi8-r", "é", false }, /* nothing after the NUL is read */
                { "\xef\xbb\xbf\xc3\xa9", 5, "text/html; charset=latin1", "é", false },
                { "\xff\xfe\xe9\0\x3d\xd8\xa9\xdc", 8, NULL, "é\xf0\x9f\x92\xa9", false },
                { "\xfe\xff\0\xe9", 4, NULL, "é", false },
                { "\0a\xd8\0\0b", 6, "text/plain; charset=utf-16be", "a\xef\xbf\xbd" "b", true },
                { "a\0b", 3, "text/plain; charset=utf-16le", "a", true },
                { "\xc3\xa9\xe2\x82", 4, NULL, "é\xef\xbf\xbd\xef\xbf\xbd", true }, /* truncated */
                { "<meta charset=windows-1252>\x80", 28, NULL, "<meta charset=windows-1252>€", false },
                { "<META http-equiv=x content='text/html; charset=latin1'>\xc3\xa9", 57, NULL,
                  "<META http-equiv=x content='text/html; charset=latin1'>Ã©", false },
                { "<meta charset=utf-16>\xc3\xa9", 23, NULL, "<meta charset=utf-16>é", false },
                { "<!-- <meta charset=latin1> -->\xc3\xa9", 32, NULL, "<!-- <meta charset=latin1> -->é", false },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                CLEANUP_TEXT struct text out = { 0 };
                bool has_invalid = html_decode(rows[i].bytes, rows[i].length, rows[i].type, true, &out);
                assert_string_equal(out.data, rows[i].text);
                if (has_invalid != rows[i].has_invalid)
                        fail_msg("row %zu", i);
        }
        CLEANUP_TEXT struct text out = { 0 };
        assert_false(html_decode("<meta charset=latin1>\xc3\xa9", 23, "text/plain", false, &out));
        assert_string_equal(out.data, "<meta charset=latin1>é");
        assert_false(html_decode("", 0, NULL, true, &out));
}

static void test_every_code_point_is_written_as_valid_utf8(void **state)
{
        (void)state;
        for (uint32_t c = 0; c < 0x120000; c++) {
                char utf8[4];
                size_t length = html_write_utf8(c, utf8);
                assert_int_equal(text_utf8_valid_length(utf8, length), length);
                assert_int_equal(text_utf8_sequence_length(utf8, length), length);
        }
}

/* --- WebFetch --- */

#define URL "https://example.com/x"
#define PAGE "<title>A page</title><h1>Head</h1><p>caf\xe9 <a href=/y>link</a><script>x</script>"

static void test_response_is_converted_to_text(void **state)
{
        (void)state;
        static const struct {
                const char *type, *body;
                enum web_format format;
                const char *text;
        } rows[] = {
                { "text/html; charset=latin1", PAGE, WEB_TEXT, "Title: A page\n\n# Head\n\ncafé [link](/y)" },
                { "TEXT/HTML", "<p>a", WEB_TEXT, "a" },
                { "application/xhtml+xml", "<p>a</p>", WEB_TEXT, "a" },
                { NULL, " \n<!DOCTYPE HTML><p>a", WEB_TEXT, "a" },
                { NULL, "<p>a", WEB_TEXT, "<p>a" },
                { "text/html", "<p>caf\xe9", WEB_HTML, "<p>café" },
                { "text/html", "<p>caf\xe9", WEB_RAW,
                  "<p>caf\xef\xbf\xbd\n(bytes that are invalid in its charset are shown as \xef\xbf\xbd)" },
                { "application/json", "{\"a\": \"<b>\"}", WEB_TEXT, "{\"a\": \"<b>\"}" },
                { "text/plain; charset=utf-8", "\xe9", WEB_TEXT,
                  "\xef\xbf\xbd\n(bytes that are invalid in its charset are shown as \xef\xbf\xbd)" },
                { "text/html", "<script>x</script>", WEB_TEXT, "(" URL " is empty)" },
                { "text/html", "", WEB_TEXT, "(" URL " is empty)" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct tool_result answer = { 0 };
                struct web_response r = { URL, 200, rows[i].type, rows[i].body, strlen(rows[i].body), false };
                web_fetch_format_result(&r, rows[i].format, (struct web_part){ 0, 1000 }, &answer);
                assert_string_equal(answer.text.data, rows[i].text);
                assert_false(answer.is_error);
                assert_int_equal(json_integer_value(json_object_get(answer.details, "status")), 200);
                assert_int_equal(json_integer_value(json_object_get(answer.details, "bytes")), r.length);
                assert_true(json_is_false(json_object_get(answer.details, "more")));
                tool_result_done(&answer);
        }
}

static void test_response_that_is_truncated_says_so(void **state)
{
        (void)state;
        static const struct {
                const char *type, *body;
                struct web_part part;
                bool cut;
                const char *text;
        } rows[] = {
                { "text/plain", "aéb", { 0, 2 }, false, "a\n(there is more: continue with offset 1)" },
                { "text/plain", "aéb", { 1, 2 }, false, "é\n(there is more: continue with offset 3)" },
                { "text/plain", "aéb", { 3, 2 }, false, "b" },
                { "text/plain", "aéb", { 4, 2 }, false, "(" URL " has no more text)" },
                { "text/html", "<p>aéb", { 0, 2 }, false, "a\n(there is more: continue with offset 1)" },
                { "text/html", "<title>t</title><p>aéb", { 1, 9 }, false, "éb" },
                { "text/plain", "aéb", { 0, 4 }, false, "aéb" },
                { "text/plain", "aéb", { 0, 4 }, true, "aéb\n(only the first 4 bytes of the page were fetched)" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct tool_result answer = { 0 };
                struct web_response r = { URL, 200, rows[i].type, rows[i].body, strlen(rows[i].body), rows[i].cut };
                web_fetch_format_result(&r, WEB_TEXT, rows[i].part, &answer);
                assert_string_equal(answer.text.data, rows[i].text);
                assert_int_equal(json_is_true(json_object_get(answer.details, "more")),
                                 strstr(rows[i].text, "there is more") || rows[i].cut);
                tool_result_done(&answer);
        }
}

static void test_error_statuses_and_binary_content_are_errors(void **state)
{
        (void)state;
        static const struct {
                int status;
                const char *type, *body;
                size_t length;
                enum web_format format;
                const char *text;
        } rows[] = {
                { 404, "text/html", "<h1>Not here</h1>", 17, WEB_HTML,
                  URL ": the server answered with status 404\n\n# Not here" },
                { 500, "application/json", "{}", 2, WEB_TEXT, URL ": the server answered with status 500\n\n{}" },
                { 503, NULL, "", 0, WEB_TEXT, URL ": the server answered with status 503" },
                { 302, "image/png", "\0", 1, WEB_TEXT, URL ": the server answered with status 302" },
                { 200, "image/png", "\x89PNG\0", 5, WEB_TEXT,
                  URL " is binary: image/png, 5 bytes; only text can be shown" },
                { 200, "image/png", "\x89PNG\0", 5, WEB_RAW,
                  URL " is binary: image/png, 5 bytes; only text can be shown" },
                { 200, "a\x1b[31m/b", "\0", 1, WEB_RAW,
                  URL " is binary: a\\x1b[31m/b, 1 bytes; only text can be shown" },
                { 200, "text/css", "a", 1, WEB_HTML, URL " is not HTML but text/css: use the format text or raw" },
                { 200, "", "a", 1, WEB_HTML,
                  URL " is not HTML but of an unknown type: use the format text or raw" },
        };
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                struct tool_result answer = { 0 };
                struct web_response r = { URL, rows[i].status, rows[i].type, rows[i].body, rows[i].length, false };
                web_fetch_format_result(&r, rows[i].format, (struct web_part){ 0, 1000 }, &answer);
                assert_string_equal(answer.text.data, rows[i].text);
                assert_true(answer.is_error);
                assert_null(answer.details);
                tool_result_done(&answer);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_white_space_is_collapsed),
                cmocka_unit_test(test_text_that_a_browser_does_not_show_is_dropped),
                cmocka_unit_test(test_invisible_characters_are_dropped),
                cmocka_unit_test(test_headings_lists_and_quotes_become_markdown),
                cmocka_unit_test(test_code_keeps_its_white_space),
                cmocka_unit_test(test_links_and_images_become_markdown),
                cmocka_unit_test(test_tables_become_rows),
                cmocka_unit_test(test_character_references_are_resolved),
                cmocka_unit_test(test_malformed_pages_are_parsed_as_by_browsers),
                cmocka_unit_test(test_first_title_is_returned),
                cmocka_unit_test(test_text_is_truncated_between_characters),
                cmocka_unit_test(test_hostile_page_of_a_megabyte_takes_less_than_three_seconds),
                cmocka_unit_test(test_elements_that_are_nested_too_deeply_are_dropped_and_reported),
                cmocka_unit_test(test_charsets_are_detected_and_decoded),
                cmocka_unit_test(test_every_code_point_is_written_as_valid_utf8),
                cmocka_unit_test(test_response_is_converted_to_text),
                cmocka_unit_test(test_response_that_is_truncated_says_so),
                cmocka_unit_test(test_error_statuses_and_binary_content_are_errors),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
