/*
 * The grammar of a command line; see shell_grammar.h.
 *
 * Theory of operation. bash expects a command after every separator, every opening bracket and most reserved words, and
 * nowhere else. So a list is parsed token by token: separators and words such as `then` are skipped, because a command
 * may follow. Constructs with another syntax (case, for, [[, functions) have a function each, which skips the words
 * that are not commands. Syntax errors are skipped too: bash will reject the line, so they need no check here.
 *
 * An attacker controls the whole line. Each byte is read once per level; COMMAND_DEPTH_MAX bounds the levels, and
 * `lookahead_left` bounds the lookahead. Every loop consumes a byte or ends.
 */
#include "gate/shell_grammar.h"

#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "gate/shell_parser.h"

enum { LOOKAHEAD_FACTOR = COMMAND_DEPTH_MAX };

/* ---- bytes ---- */

int parser_current(struct shell_parser *p)
{
        const char *bytes = p->text.bytes;
        while (p->at + 1 < p->text.length && bytes[p->at] == '\\' && bytes[p->at + 1] == '\n')
                p->at += 2;
        return p->at < p->text.length && !p->stopped ? (unsigned char)bytes[p->at] : PARSER_END;
}

bool parser_next_is(struct shell_parser *p, char byte)
{
        size_t before = p->at++;
        bool is = parser_current(p) == (unsigned char)byte;
        p->at = before;
        return is;
}

bool parser_accept(struct shell_parser *p, char byte)
{
        bool is = parser_current(p) == (unsigned char)byte;
        p->at += is;
        return is;
}

bool parser_enter(struct shell_parser *p)
{
        if (++p->depth > COMMAND_DEPTH_MAX)
                p->stopped = true;
        return !p->stopped;
}

void parser_leave(struct shell_parser *p)
{
        p->depth--;
}

void parser_skip_blanks(struct shell_parser *p)
{
        while (parser_accept(p, ' ') || parser_accept(p, '\t'))
                ;
        if (parser_current(p) != '#')
                return;
        const char *newline = memchr(p->text.bytes + p->at, '\n', p->text.length - p->at);
        p->at = newline ? (size_t)(newline - p->text.bytes) : p->text.length;
}

/* Is this the next word, unquoted? bash knows reserved words only without quotes. */
static bool at_word(struct shell_parser *p, const char *word)
{
        size_t n = strlen(word);
        (void)parser_current(p);
        if (p->stopped || p->text.length - p->at < n || memcmp(p->text.bytes + p->at, word, n) != 0)
                return false;
        return p->at + n == p->text.length || parser_ends_word((unsigned char)p->text.bytes[p->at + n]);
}

/* ---- here-documents ---- */

/* Parses the delimiter and removes its quotes; bash expands nothing in a delimiter. */
static void take_delimiter(struct shell_parser *p, bool tabs)
{
        struct here_document h = { .tabs = tabs };
        h.id = parser_add_input(p, &h.is_script);
        parser_skip_blanks(p);
        char quote = 0;
        for (int c; (c = parser_current(p)) != PARSER_END && (quote || !parser_ends_word(c)); p->at++) {
                if (quote ? c == quote : c == '\'' || c == '"') {
                        quote = quote ? 0 : (char)c;
                        h.quoted = true;
                        continue;
                }
                if (c == '\\' && !quote && p->at + 1 < p->text.length) {
                        c = (unsigned char)p->text.bytes[++p->at];
                        h.quoted = true;
                }
                if (h.length == DELIMITER_MAX)
                        p->stopped = true;
                else
                        h.delimiter[h.length++] = (char)c;
        }
        if (p->pending_count < HERE_DOCUMENTS_MAX)
                p->pending[p->pending_count++] = h;
}

static size_t end_of_line(const struct shell_parser *p, size_t at, bool continued)
{
        for (; at < p->text.length && p->text.bytes[at] != '\n'; at++)
                at += continued && p->text.bytes[at] == '\\' && at + 1 < p->text.length;
        return at;
}

/* Does the document end with this line? In a substitution the closing parenthesis may follow the delimiter directly. */
static bool ends_here(const struct shell_parser *p, const struct here_document *h, size_t start, size_t end)
{
        const char *line = p->text.bytes + start;
        size_t length = end - start;
        if (length < h->length || memcmp(line, h->delimiter, h->length) != 0)
                return false;
        return length == h->length || (p->substitutions && line[h->length] == ')');
}

/* Reads the text up to `end`: visits its expansions, and keeps it if a shell may read it. */
static void read_text(struct shell_parser *p, const struct here_document *h, size_t end)
{
        struct word_list text = { 0 };
        struct word_list *kept = h->is_script || parser_keeps_input(p, h->id) ? &text : NULL;
        if (!h->quoted)
                parser_parse_here_text(p, end, kept);
        else if (kept)
                parser_copy_text(p, end, kept);
        parser_set_input(p, h->id, h->is_script, &text);
}

static void take_here_document(struct shell_parser *p, const struct here_document *h)
{
        size_t line = p->at, rest = p->text.length;
        while (line < p->text.length) {
                size_t end = end_of_line(p, line, !h->quoted), start = line;
                while (h->tabs && start < end && p->text.bytes[start] == '\t')
                        start++;
                if (ends_here(p, h, start, end)) {
                        rest = start + h->length;
                        break;
                }
                line = end + 1;
        }
        if (line > p->text.length)
                line = p->text.length;
        read_text(p, h, line);
        /* The newline after the delimiter is left for the caller: no pending here-document begins after it. */
        p->at = rest;
}

static void take_newline(struct shell_parser *p)
{
        p->at++;
        size_t first = p->pending_first, count = p->pending_count;
        for (size_t i = first; i < count && !p->stopped; i++) {
                struct here_document h = p->pending[i];
                p->pending_first = p->pending_count; /* a newline in its text must not start the next document */
                take_here_document(p, &h);
                if (i + 1 < count && p->at < p->text.length && p->text.bytes[p->at] == '\n')
                        p->at++;
        }
        p->pending_first = first;
        if (count > first)
                p->pending_count = first;
}

void parser_skip_space(struct shell_parser *p)
{
        for (parser_skip_blanks(p); parser_current(p) == '\n'; parser_skip_blanks(p))
                take_newline(p);
}

/* ---- simple commands ---- */

/* After <<< */
static void take_here_string(struct shell_parser *p)
{
        struct word_list text = { 0 };
        bool is_script = false;
        parser_skip_blanks(p);
        if (parser_current(p) == PARSER_END)
                return;
        parser_parse_word(p, &text);
        size_t id = parser_add_input(p, &is_script);
        parser_set_input(p, id, is_script, &text);
}

/* The current byte is < or >, or the & of &>. */
static void take_redirection(struct shell_parser *p)
{
        int c = parser_current(p);
        p->at++;
        if (c == '<' && parser_accept(p, '<')) {
                if (parser_accept(p, '<'))
                        take_here_string(p);
                else
                        take_delimiter(p, parser_accept(p, '-'));
                return;
        } else if (c == '&') {
                (void)parser_accept(p, '>');
                (void)parser_accept(p, '>');
        } else if (!parser_accept(p, '&') && !parser_accept(p, '>')) {
                (void)parser_accept(p, '|');
        }
        parser_skip_blanks(p);
        parser_parse_word(p, NULL);
}

/* 2> and {name}> : the word before the redirection names the descriptor. */
static bool is_descriptor(const struct word_list *w)
{
        const char *s = w->bytes + w->start;
        size_t length = w->length - w->start, digits = 0;
        while (digits < length && isdigit((unsigned char)s[digits]))
                digits++;
        return length && w->special > length && (digits == length || (s[0] == '{' && s[length - 1] == '}'));
}

static void visit_command(struct shell_parser *p, struct word_list *w)
{
        size_t start = 0;
        for (size_t i = 0; i < w->count; i++) {
                struct shell_text *t = &w->list[i].text;
                t->bytes = w->bytes + start;
                t->origins = w->origins + start;
                start += t->length;
        }
        struct shell_command command = { w->list, w->count, p->depth };
        if (w->count && p->visit(p->context, &command))
                parser_shell_reads_input(p);
}

static void take_case(struct shell_parser *p);
static void take_for(struct shell_parser *p);
static void take_function(struct shell_parser *p);
static void take_coprocess(struct shell_parser *p);
static void take_time(struct shell_parser *p);
static void take_condition(struct shell_parser *p);

/*
 * A command follows a reserved word, except where `take` skips other words first. `group` opens or closes a compound
 * command.
 */
static const struct {
        const char *word;
        void (*take)(struct shell_parser *);
        void (*group)(struct shell_parser *);
} reserved[] = {
        { "!", NULL, NULL },
        { "{", NULL, parser_open_group },
        { "}", NULL, parser_close_group },
        { "[[", take_condition, NULL },
        { "case", take_case, NULL },
        { "coproc", take_coprocess, NULL },
        { "do", NULL, NULL },
        { "done", NULL, parser_close_group },
        { "elif", NULL, NULL },
        { "else", NULL, NULL },
        { "fi", NULL, parser_close_group },
        { "for", take_for, parser_open_group },
        { "function", take_function, NULL },
        { "if", NULL, parser_open_group },
        { "select", take_for, parser_open_group },
        { "then", NULL, NULL },
        { "time", take_time, NULL },
        { "until", NULL, parser_open_group },
        { "while", NULL, parser_open_group },
};

/* Called where a command may begin. False if there is no reserved word. */
static bool take_reserved(struct shell_parser *p)
{
        for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
                if (!at_word(p, reserved[i].word))
                        continue;
                p->at += strlen(reserved[i].word);
                if (reserved[i].group)
                        reserved[i].group(p);
                if (reserved[i].take)
                        reserved[i].take(p);
                return true;
        }
        return false;
}

/* NAME () defines a function. False if the parentheses do not follow. */
static bool take_definition(struct shell_parser *p)
{
        size_t before = p->at;
        parser_skip_blanks(p);
        if (parser_accept(p, '(')) {
                parser_skip_blanks(p);
                if (parser_accept(p, ')'))
                        return true;
        }
        p->at = before;
        return false;
}

static void take_simple(struct shell_parser *p)
{
        CLEANUP(word_list_done) struct word_list w = { 0 };
        for (;;) {
                parser_skip_blanks(p);
                int c = parser_current(p);
                bool substitution = (c == '<' || c == '>') && parser_next_is(p, '(');
                if ((c == '&' && parser_next_is(p, '>')) || ((c == '<' || c == '>') && !substitution)) {
                        take_redirection(p);
                        continue;
                }
                if (parser_ends_word(c) && !substitution)
                        break;
                parser_parse_word(p, &w);
                if (p->stopped)
                        break;
                c = parser_current(p);
                if (((c == '<' || c == '>') && is_descriptor(&w)) || (w.count == 1 && word_list_assignment_length(&w)))
                        word_list_pop(&w);
                else if (w.count == 1 && take_definition(p))
                        return;
        }
        visit_command(p, &w);
}

/* ---- compound commands ---- */

static void take_function(struct shell_parser *p)
{
        parser_skip_blanks(p);
        parser_parse_word(p, NULL);
        (void)take_definition(p);
}

static void take_time(struct shell_parser *p)
{
        for (parser_skip_blanks(p); at_word(p, "-p") || at_word(p, "--"); parser_skip_blanks(p))
                p->at += 2;
}

/* A name before a compound command is the name of the coprocess. */
static void take_coprocess(struct shell_parser *p)
{
        static const char *const compound[] = { "{", "[[", "case", "for", "if", "select", "until", "while" };
        parser_skip_blanks(p);
        size_t before = p->at;
        while (isalnum(parser_current(p)) || parser_current(p) == '_')
                p->at++;
        size_t name = p->at;
        parser_skip_blanks(p);
        bool named = parser_current(p) == '(';
        for (size_t i = 0; i < ARRAY_SIZE(compound); i++)
                named |= at_word(p, compound[i]);
        if (!named || p->at == name)
                p->at = before;
}

/* Skips the variable and the words after `in`, or the arithmetic of `for ((`. */
static void take_for(struct shell_parser *p)
{
        parser_skip_blanks(p);
        if (parser_current(p) == '(' && parser_next_is(p, '(')) {
                (void)parser_accept(p, '(');
                (void)parser_accept(p, '(');
                parser_parse_arithmetic(p, '(', ')', 2);
                return;
        }
        parser_parse_word(p, NULL);
        parser_skip_space(p);
        if (!at_word(p, "in"))
                return;
        p->at += 2;
        for (;;) {
                parser_skip_blanks(p);
                int c = parser_current(p);
                if (parser_ends_word(c) && !((c == '<' || c == '>') && parser_next_is(p, '(')))
                        return;
                parser_parse_word(p, NULL);
        }
}

/* Skips the patterns of one clause and its parenthesis; false at `esac`, and if the parenthesis is missing. */
static bool take_patterns(struct shell_parser *p)
{
        parser_skip_space(p);
        if (at_word(p, "esac")) {
                p->at += strlen("esac");
                return false;
        }
        if (parser_accept(p, '('))
                parser_skip_blanks(p);
        do {
                parser_skip_blanks(p);
                parser_parse_word(p, NULL);
                parser_skip_blanks(p);
        } while (parser_accept(p, '|'));
        return parser_accept(p, ')');
}

static void take_case(struct shell_parser *p)
{
        parser_skip_blanks(p);
        parser_parse_word(p, NULL);
        parser_skip_space(p);
        if (!at_word(p, "in"))
                return;
        p->at += 2;
        size_t base = parser_enter_group(p);
        while (take_patterns(p) && parser_parse_list(p, UNTIL_CLAUSE) == ENDING_CLAUSE)
                ;
        parser_leave_group(p, base);
}

/* Between [[ and ]], no command follows operators such as && and (. */
static void take_condition(struct shell_parser *p)
{
        for (int c; (c = parser_current(p)) != PARSER_END;) {
                if (at_word(p, "]]")) {
                        p->at += 2;
                        return;
                }
                if (parser_ends_word(c) && !((c == '<' || c == '>') && parser_next_is(p, '(')))
                        p->at++;
                else
                        parser_parse_word(p, NULL);
        }
}

/* After an opening parenthesis where a command may begin. */
static void take_group(struct shell_parser *p)
{
        if (parser_current(p) == '(') {
                size_t before = p->at++;
                if (parser_at_arithmetic(p)) {
                        parser_parse_arithmetic(p, '(', ')', 2);
                        return;
                }
                p->at = before;
        }
        size_t base = parser_enter_group(p);
        (void)parser_parse_list(p, UNTIL_PARENTHESIS);
        parser_leave_group(p, base);
}

/* ---- lists ---- */

/* After a semicolon: ;; ;& and ;;& end a clause. */
static bool take_clause_end(struct shell_parser *p)
{
        if (parser_accept(p, ';')) {
                (void)parser_accept(p, '&');
                return true;
        }
        return parser_accept(p, '&');
}

/* & && | |& or || */
static void take_separator(struct shell_parser *p, char c)
{
        p->at++;
        bool is_double = parser_accept(p, c);
        if (c == '|' && !is_double) {
                (void)parser_accept(p, '&');
                parser_continue_pipeline(p);
        } else {
                parser_end_pipeline(p);
        }
}

static enum list_end take_commands(struct shell_parser *p, enum list_terminator closer)
{
        for (;;) {
                parser_skip_blanks(p);
                int c = parser_current(p);
                if (c == PARSER_END)
                        return ENDING_OF_TEXT;
                if (c == '\n') {
                        if (!p->input.after_pipe)
                                parser_end_pipeline(p);
                        take_newline(p);
                        continue;
                }
                p->input.after_pipe = false;
                if (parser_accept(p, ';')) {
                        parser_end_pipeline(p);
                        if (take_clause_end(p) && closer == UNTIL_CLAUSE)
                                return ENDING_CLAUSE;
                } else if (c == '|' || (c == '&' && !parser_next_is(p, '>'))) {
                        take_separator(p, (char)c);
                } else if (parser_accept(p, '(')) {
                        take_group(p);
                } else if (c == ')') {
                        if (closer == UNTIL_CLAUSE)
                                return ENDING_OF_TEXT; /* it closes the list around the case */
                        p->at++;
                        if (closer == UNTIL_PARENTHESIS)
                                return ENDING_PARENTHESIS;
                } else if (at_word(p, "esac")) {
                        p->at += strlen("esac");
                        if (closer == UNTIL_CLAUSE)
                                return ENDING_CASE;
                } else if (!take_reserved(p)) {
                        take_simple(p);
                }
        }
}

enum list_end parser_parse_list(struct shell_parser *p, enum list_terminator closer)
{
        enum list_end ending = ENDING_OF_TEXT;
        if (parser_enter(p))
                ending = take_commands(p, closer);
        parser_leave(p);
        return ending;
}

void parser_parse_substitution(struct shell_parser *p)
{
        size_t first = p->pending_first;
        p->pending_first = p->pending_count;
        p->substitutions++;
        size_t base = parser_enter_group(p);
        (void)parser_parse_list(p, UNTIL_PARENTHESIS);
        parser_leave_group(p, base);
        p->substitutions--;
        /* A here-document of the substitution that is still pending begins after the next newline. */
        p->pending_first = first;
}

void shell_walk_commands(struct shell_text line, unsigned depth, shell_command_callback *visit, void *context)
{
        if (line.length > COMMAND_LINE_MAX)
                line.length = COMMAND_LINE_MAX;
        struct shell_parser p = {
                .text = line,
                .depth = depth,
                .lookahead_left = line.length * LOOKAHEAD_FACTOR,
                .visit = visit,
                .context = context,
        };
        (void)parser_parse_list(&p, UNTIL_END);
        parser_free_input(&p);
}
