/*
 * Words of a command line: quotes, escapes, and expansions, which may contain commands. See shell_grammar.h.
 *
 * How it works: each piece of a word (a byte, a quoted text, an expansion) is parsed in place, so that every byte is
 * read once. The exception is the text between backticks: bash removes a layer of backslashes from it first, so it is
 * copied and walked as a separate line. An expansion becomes one SHELL_UNKNOWN in the word.
 */
#include "gate/shell_parser.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct quoting {
        bool single_quotes, double_quotes; /* start a quoted text here */
        const char *escaped;               /* what a backslash escapes; NULL: everything */
};

static const struct quoting plain = { true, true, NULL }, in_double = { false, false, "$`\"\\" },
                            in_here_text = { false, false, "$`\\" };

static void take_piece(struct shell_parser *p, struct word_list *w, struct quoting q);

/* ---- the words ---- */

void word_list_done(struct word_list *w)
{
        free(w->bytes);
        free(w->origins);
        free(w->list);
}

static bool words_grow(struct word_list *w)
{
        size_t room = w->room ? w->room * 2 : 64;
        char *bytes = realloc(w->bytes, room);
        if (bytes)
                w->bytes = bytes;
        unsigned *origins = realloc(w->origins, room * sizeof *origins);
        if (origins)
                w->origins = origins;
        if (bytes && origins)
                w->room = room;
        return bytes && origins;
}

static unsigned origin_of(const struct shell_parser *p, size_t index)
{
        return p->text.origins ? p->text.origins[index] : (unsigned)index;
}

/* Appends a byte whose index in the parser's text is `index`. */
static void add(struct shell_parser *p, struct word_list *w, char byte, size_t index)
{
        if (!w)
                return;
        if (w->length == w->room && !words_grow(w)) {
                p->stopped = true;
                return;
        }
        w->bytes[w->length] = byte;
        w->origins[w->length++] = origin_of(p, index);
}

static void mark_special(struct word_list *w)
{
        if (w && w->special == SIZE_MAX)
                w->special = w->length - w->start;
}

static void add_unknown(struct shell_parser *p, struct word_list *w, size_t index)
{
        mark_special(w);
        add(p, w, SHELL_UNKNOWN, index);
}

static bool list_grow(struct word_list *w)
{
        size_t room = w->list_room ? w->list_room * 2 : 8;
        struct shell_word *list = reallocarray(w->list, room, sizeof *list);
        if (!list)
                return false;
        w->list = list;
        w->list_room = room;
        return true;
}

static void words_begin(struct shell_parser *p, struct word_list *w)
{
        if ((w->count == w->list_room && !list_grow(w)) || (!w->room && !words_grow(w))) {
                p->stopped = true;
                return;
        }
        w->start = w->length;
        w->special = SIZE_MAX;
        w->list[w->count++] = (struct shell_word){ .at = origin_of(p, p->at) };
}

void word_list_pop(struct word_list *w)
{
        w->length = w->start;
        w->count--;
}

size_t word_list_assignment_length(const struct word_list *w)
{
        const char *s = w->bytes + w->start;
        size_t length = w->length - w->start, n = 0;
        while (n < length && (isalnum((unsigned char)s[n]) || s[n] == '_'))
                n++;
        if (n == 0 || isdigit((unsigned char)s[0]) || n >= w->special)
                return 0;
        if (n < length && s[n] == '[') { /* the subscript may contain anything, quotes included */
                const char *closing = memchr(s + n, ']', length - n);
                n = closing ? (size_t)(closing - s) + 1 : length;
        } else if (w->special <= n + (n < length && s[n] == '+')) {
                return 0; /* a quoted = does not assign */
        }
        n += n < length && s[n] == '+';
        return n < length && s[n] == '=' ? n + 1 : 0;
}

/* ---- quotes ---- */

static void take_single_quotes(struct shell_parser *p, struct word_list *w)
{
        const char *start = p->text.bytes + p->at;
        const char *closing = memchr(start, '\'', p->text.length - p->at);
        size_t end = closing ? (size_t)(closing - p->text.bytes) : p->text.length;
        for (; p->at < end; p->at++)
                add(p, w, p->text.bytes[p->at], p->at);
        p->at += closing != NULL;
}

static void take_double_quotes(struct shell_parser *p, struct word_list *w)
{
        int c = 0;
        if (parser_enter(p))
                while ((c = parser_current(p)) != PARSER_END && c != '"')
                        take_piece(p, w, in_double);
        p->at += c == '"';
        parser_leave(p);
}

/* A number in this base, of at most `digits_max` digits. */
static unsigned long take_digits(struct shell_parser *p, unsigned base, size_t digits_max)
{
        static const char digits[] = "0123456789abcdef";
        unsigned long value = 0;
        for (size_t n = 0; n < digits_max && p->at < p->text.length; n++, p->at++) {
                int c = tolower((unsigned char)p->text.bytes[p->at]);
                const char *digit = c ? memchr(digits, c, base) : NULL;
                if (!digit)
                        break;
                value = value * base + (unsigned long)(digit - digits);
        }
        return value;
}

/* The character after a backslash between $' and '. A character beyond ASCII is returned as unknown. */
static char take_ansi_escape(struct shell_parser *p)
{
        static const char letters[] = "abeEfnrtv", meanings[] = "\a\b\033\033\f\n\r\t\v";
        unsigned long value = 0;
        char c = p->text.bytes[p->at];
        const char *letter = c ? strchr(letters, c) : NULL;
        if (letter) {
                p->at++;
                return meanings[letter - letters];
        }
        if (c >= '0' && c <= '7') {
                value = take_digits(p, 8, 3) & 0xff;
        } else if (c == 'x' || c == 'u' || c == 'U') {
                p->at++;
                value = take_digits(p, 16, c == 'x' ? 2 : c == 'u' ? 4 : 8);
        } else if (c == 'c' && p->at + 1 < p->text.length) {
                p->at += 2;
                value = p->text.bytes[p->at - 1] & 0x1f;
        } else {
                p->at++;
                return c;
        }
        return value < 0x80 ? (char)value : SHELL_UNKNOWN;
}

static void take_ansi_quotes(struct shell_parser *p, struct word_list *w)
{
        while (p->at < p->text.length) {
                size_t from = p->at;
                char c = p->text.bytes[p->at++];
                if (c == '\'')
                        return;
                if (c == '\\' && p->at < p->text.length)
                        c = take_ansi_escape(p);
                add(p, w, c, from);
        }
}

static void take_escape(struct shell_parser *p, struct word_list *w, struct quoting q)
{
        size_t from = p->at++;
        bool last = p->at >= p->text.length;
        char c = last ? '\\' : p->text.bytes[p->at];
        if (last || (q.escaped && (!c || !strchr(q.escaped, c)))) {
                add(p, w, '\\', from);
                return;
        }
        p->at++;
        add(p, w, c, from);
}

/* ---- expansions ---- */

/* Walks the commands between backticks, after removing the layer of backslashes that the backticks require. */
static void take_backticks(struct shell_parser *p, struct word_list *w, struct quoting q)
{
        CLEANUP(word_list_done) struct word_list inner = { 0 };
        size_t from = p->at++;
        const char *escaped = q.double_quotes ? "`\\$" : "`\\$\"";
        for (; p->at < p->text.length && p->text.bytes[p->at] != '`' && !p->stopped; p->at++) {
                char next = p->at + 1 < p->text.length ? p->text.bytes[p->at + 1] : SHELL_UNKNOWN;
                p->at += p->text.bytes[p->at] == '\\' && next && strchr(escaped, next);
                add(p, &inner, p->text.bytes[p->at], p->at);
        }
        p->at += p->at < p->text.length;
        if (inner.length && parser_enter(p)) {
                struct shell_text line = { inner.bytes, inner.origins, inner.length };
                shell_walk_commands(line, p->depth, p->visit, p->context);
        }
        if (inner.length)
                parser_leave(p);
        add_unknown(p, w, from);
}

static void take_enclosed(struct shell_parser *p, char open, char close, unsigned nesting, struct quoting q)
{
        if (parser_enter(p))
                for (int c; nesting && (c = parser_current(p)) != PARSER_END;) {
                        if (c == close || (open && c == open)) {
                                nesting = c == close ? nesting - 1 : nesting + 1;
                                p->at++;
                        } else {
                                take_piece(p, NULL, q);
                        }
                }
        parser_leave(p);
}

void parser_parse_arithmetic(struct shell_parser *p, char open, char close, unsigned nesting)
{
        take_enclosed(p, open, close, nesting, plain);
}

bool parser_at_arithmetic(struct shell_parser *p)
{
        char quote = 0;
        size_t open = 1;
        for (size_t i = p->at; i < p->text.length && p->lookahead_left; i++, p->lookahead_left--) {
                char c = p->text.bytes[i];
                if (c == '\\' && quote != '\'')
                        i++;
                else if (quote)
                        quote = c == quote ? 0 : quote;
                else if (c == '\'' || c == '"')
                        quote = c;
                else if (c == '(')
                        open++;
                else if (c == ')' && --open == 0)
                        return i + 1 < p->text.length && p->text.bytes[i + 1] == ')';
        }
        return false;
}

/* After ${. With an operator that removes or replaces text, single quotes quote even between double quotes. */
static void take_parameter(struct shell_parser *p, struct quoting q)
{
        p->at += parser_current(p) == '!' || parser_current(p) == '#';
        while (isalnum(parser_current(p)) || parser_current(p) == '_')
                p->at++;
        int operator = parser_current(p);
        bool edits_text = operator > 0 && strchr("#%/^,", operator);
        take_enclosed(p, 0, '}', 1, (struct quoting){ q.single_quotes || edits_text, true, NULL });
}

/* After $(, which may begin arithmetic. */
static void take_parentheses(struct shell_parser *p)
{
        if (parser_current(p) == '(') {
                size_t before = p->at++;
                if (parser_at_arithmetic(p)) {
                        take_enclosed(p, '(', ')', 2, plain);
                        return;
                }
                p->at = before;
        }
        parser_parse_substitution(p);
}

static void take_dollar(struct shell_parser *p, struct word_list *w, struct quoting q)
{
        size_t from = p->at++;
        int c = parser_current(p);
        if ((c == '\'' && q.single_quotes) || (c == '"' && q.double_quotes)) {
                mark_special(w);
                p->at++;
                if (c == '"')
                        take_double_quotes(p, w);
                else
                        take_ansi_quotes(p, w);
                return;
        }
        if (c == '(' || c == '{' || c == '[') {
                p->at++;
                if (c == '(')
                        take_parentheses(p);
                else if (c == '{')
                        take_parameter(p, q);
                else
                        take_enclosed(p, '[', ']', 1, plain);
        } else if (isalpha(c) || c == '_') {
                while (isalnum(parser_current(p)) || parser_current(p) == '_')
                        p->at++;
        } else if (c > 0 && strchr("@*#?$!-0123456789", c)) {
                p->at++;
        } else {
                add(p, w, '$', from);
                return;
        }
        add_unknown(p, w, from);
}

/* Takes one byte, a quoted text or an expansion. */
static void take_piece(struct shell_parser *p, struct word_list *w, struct quoting q)
{
        int c = parser_current(p);
        if (c == '$') {
                take_dollar(p, w, q);
        } else if (c == '`') {
                take_backticks(p, w, q);
        } else if (c == '\\') {
                mark_special(w);
                take_escape(p, w, q);
        } else if ((c == '\'' && q.single_quotes) || (c == '"' && q.double_quotes)) {
                mark_special(w);
                p->at++;
                if (c == '"')
                        take_double_quotes(p, w);
                else
                        take_single_quotes(p, w);
        } else if (c != PARSER_END) {
                add(p, w, (char)c, p->at);
                p->at++;
        }
}

void parser_parse_here_text(struct shell_parser *p, size_t end, struct word_list *w)
{
        size_t length = p->text.length;
        p->text.length = end;
        while (parser_current(p) != PARSER_END)
                take_piece(p, w, in_here_text);
        p->text.length = length;
}

void parser_copy_text(struct shell_parser *p, size_t end, struct word_list *w)
{
        for (; p->at < end && !p->stopped; p->at++)
                add(p, w, p->text.bytes[p->at], p->at);
}

/* ---- whole words ---- */

/* After NAME=( : the words of an array, which are not commands. */
static void take_array(struct shell_parser *p)
{
        if (parser_enter(p))
                for (;;) {
                        parser_skip_space(p);
                        int c = parser_current(p);
                        if (c == PARSER_END || parser_accept(p, ')'))
                                break;
                        if (parser_ends_word(c) && !((c == '<' || c == '>') && parser_next_is(p, '(')))
                                p->at++;
                        else
                                parser_parse_word(p, NULL);
                }
        parser_leave(p);
}

bool parser_ends_word(int byte)
{
        return byte == PARSER_END || (byte > 0 && strchr(" \t\n;&|()<>", byte));
}

void parser_parse_word(struct shell_parser *p, struct word_list *w)
{
        (void)parser_current(p);
        if (w)
                words_begin(p, w);
        while (!p->stopped) {
                int c = parser_current(p);
                size_t from = p->at;
                if ((c == '<' || c == '>') && parser_next_is(p, '(')) {
                        p->at++;
                        (void)parser_accept(p, '(');
                        parser_parse_substitution(p);
                        add_unknown(p, w, from);
                } else if (c == '(' && w && word_list_assignment_length(w) == w->length - w->start &&
                           w->length > w->start) {
                        p->at++;
                        take_array(p);
                        add_unknown(p, w, from);
                } else if (parser_ends_word(c)) {
                        break;
                } else {
                        take_piece(p, w, plain);
                }
        }
        if (w && w->count)
                w->list[w->count - 1].text.length = w->length - w->start;
}
