/*
 * HTML to readable text; see html.h.
 *
 * How it works: the page is a row of tags and texts (html_token.c), and the text is written word by word
 * (html_writer.c). Between the two stands a stack of the elements that are open, and no tree: an element does something
 * when it opens and something when it closes, as the table of roles says. The stack is kept as browsers keep theirs
 * where it matters: an item closes the item before it, a paragraph ends where a block begins, and an end tag that fits
 * nothing does nothing.
 *
 * What an attacker controls: the page. The stack is bounded, and what nests deeper is left out; every step is bounded
 * by its depth; what is written is bounded by the writer. What the page's author hides from people (hidden, display:
 * none) is not shown to an agent either; style sheets are not read, so this stops the careless and not the clever.
 */
#include "tools/html.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "tools/html_token.h"
#include "tools/html_writer.h"

enum { DEPTH_MOST = 256, HREF_MOST = 2048, NAME_MOST = 16 };

enum role {
        ROLE_NONE,      /* an inline element, or one that we do not know: only its text counts */
        ROLE_VOID,      /* has no content */
        ROLE_SKIP,      /* its content is not shown */
        ROLE_TITLE,
        ROLE_BREAK,
        ROLE_RULE,
        ROLE_IMAGE,
        ROLE_LINK,
        ROLE_CODE,
        ROLE_BLOCK,
        ROLE_DIALOG,
        ROLE_PARAGRAPH,
        ROLE_HEADING,
        ROLE_PRE,
        ROLE_QUOTE,
        ROLE_LIST,
        ROLE_NUMBERS,
        ROLE_ITEM,
        ROLE_TERM,
        ROLE_MEANING,
        ROLE_TABLE,
        ROLE_SECTION,
        ROLE_ROW,
        ROLE_CELL,
};
#define ROLE(name) (1U << ROLE_##name)
#define BLOCKS (~(ROLE(NONE) | ROLE(VOID) | ROLE(SKIP) | ROLE(TITLE) | ROLE(LINK) | ROLE(CODE)))

#define VOIDS (ROLE(VOID) | ROLE(BREAK) | ROLE(RULE) | ROLE(IMAGE))

struct element {
        char name[NAME_MOST];
        enum role role;
};

/* In the order of strcmp(). */
static const struct element elements[] = {
        { "a", ROLE_LINK },
        { "address", ROLE_BLOCK },
        { "annotation", ROLE_SKIP },
        { "annotation-xml", ROLE_SKIP },
        { "area", ROLE_VOID },
        { "article", ROLE_BLOCK },
        { "aside", ROLE_BLOCK },
        { "audio", ROLE_SKIP },
        { "base", ROLE_VOID },
        { "blockquote", ROLE_QUOTE },
        { "br", ROLE_BREAK },
        { "canvas", ROLE_SKIP },
        { "caption", ROLE_BLOCK },
        { "center", ROLE_BLOCK },
        { "code", ROLE_CODE },
        { "col", ROLE_VOID },
        { "datalist", ROLE_SKIP },
        { "dd", ROLE_MEANING },
        { "details", ROLE_BLOCK },
        { "dialog", ROLE_DIALOG },
        { "dir", ROLE_LIST },
        { "div", ROLE_BLOCK },
        { "dl", ROLE_BLOCK },
        { "dt", ROLE_TERM },
        { "embed", ROLE_VOID },
        { "fieldset", ROLE_BLOCK },
        { "figcaption", ROLE_BLOCK },
        { "figure", ROLE_BLOCK },
        { "footer", ROLE_BLOCK },
        { "form", ROLE_BLOCK },
        { "h1", ROLE_HEADING },
        { "h2", ROLE_HEADING },
        { "h3", ROLE_HEADING },
        { "h4", ROLE_HEADING },
        { "h5", ROLE_HEADING },
        { "h6", ROLE_HEADING },
        { "header", ROLE_BLOCK },
        { "hgroup", ROLE_BLOCK },
        { "hr", ROLE_RULE },
        { "iframe", ROLE_SKIP },
        { "img", ROLE_IMAGE },
        { "input", ROLE_VOID },
        { "kbd", ROLE_CODE },
        { "legend", ROLE_BLOCK },
        { "li", ROLE_ITEM },
        { "link", ROLE_VOID },
        { "listing", ROLE_PRE },
        { "main", ROLE_BLOCK },
        { "menu", ROLE_LIST },
        { "meta", ROLE_VOID },
        { "nav", ROLE_BLOCK },
        { "noembed", ROLE_SKIP },
        { "noframes", ROLE_SKIP },
        { "ol", ROLE_NUMBERS },
        { "p", ROLE_PARAGRAPH },
        { "param", ROLE_VOID },
        { "plaintext", ROLE_PRE },
        { "pre", ROLE_PRE },
        { "samp", ROLE_CODE },
        { "script", ROLE_SKIP },
        { "search", ROLE_BLOCK },
        { "section", ROLE_BLOCK },
        { "select", ROLE_SKIP },
        { "source", ROLE_VOID },
        { "style", ROLE_SKIP },
        { "summary", ROLE_BLOCK },
        { "svg", ROLE_SKIP },
        { "table", ROLE_TABLE },
        { "tbody", ROLE_SECTION },
        { "td", ROLE_CELL },
        { "template", ROLE_SKIP },
        { "textarea", ROLE_SKIP },
        { "tfoot", ROLE_SECTION },
        { "th", ROLE_CELL },
        { "thead", ROLE_SECTION },
        { "title", ROLE_TITLE },
        { "tr", ROLE_ROW },
        { "track", ROLE_VOID },
        { "tt", ROLE_CODE },
        { "ul", ROLE_LIST },
        { "video", ROLE_SKIP },
        { "wbr", ROLE_VOID },
        { "xmp", ROLE_PRE },
};

struct open_element {
        enum role role;
        uint32_t name;  /* its hash: two names with the same one close each other */
        bool hides;     /* what is in it is not shown */
        size_t prefix;  /* of the lines around it */
        unsigned items; /* of a list */
};

/* What is to know of an element besides its role. */
struct traits {
        int level; /* of a heading */
        bool hidden, open;
        struct text href, alt;
};

struct page {
        struct html_reader reader;
        struct html_writer writer;
        struct html_text *ret;
        struct open_element stack[DEPTH_MOST];
        size_t depth;
        size_t deeper;  /* elements that found no room on it */
        size_t hidden;  /* elements on it that hide */
        size_t lists;
        struct traits traits; /* of the one that begins */
};

/* --- elements and attributes --- */

static int compare(const void *name, const void *element)
{
        return strcmp(name, ((const struct element *)element)->name);
}

static enum role find_role(const char *name)
{
        const struct element *e = bsearch(name, elements, ARRAY_SIZE(elements), sizeof *elements, compare);
        return e ? e->role : ROLE_NONE;
}

/* The name in lower case, empty if it is longer than any that we know, and its hash. */
static uint32_t take_name(const struct html_token *t, char ret[NAME_MOST])
{
        uint32_t hash = 2166136261U;
        size_t used = 0;
        for (size_t i = 0; i < t->length; i++) {
                int c = t->bytes[i] ? tolower((unsigned char)t->bytes[i]) : '?';
                hash = (hash ^ (uint32_t)c) * 16777619U;
                if (used + 1 < NAME_MOST)
                        ret[used++] = (char)c;
        }
        ret[t->length < NAME_MOST ? used : 0] = '\0';
        return hash;
}

static bool style_hides(const struct html_attribute *a)
{
        CLEANUP_TEXT struct text value = { 0 };
        size_t used = 0;
        html_add_value(&value, a);
        for (size_t i = 0; i < value.length; i++)
                if (value.data[i] && !isspace((unsigned char)value.data[i]))
                        value.data[used++] = (char)tolower((unsigned char)value.data[i]);
        if (value.data)
                value.data[used] = '\0';
        return value.data && (strstr(value.data, "display:none") || strstr(value.data, "visibility:hidden"));
}

static void take_attribute(const struct html_attribute *a, struct traits *ret)
{
        if (html_is(a->name, a->name_length, "hidden"))
                ret->hidden = true;
        else if (html_is(a->name, a->name_length, "aria-hidden"))
                ret->hidden |= html_is(a->value, a->value_length, "true");
        else if (html_is(a->name, a->name_length, "style"))
                ret->hidden |= style_hides(a);
        else if (html_is(a->name, a->name_length, "open"))
                ret->open = true;
        else if (html_is(a->name, a->name_length, "href") && !ret->href.length)
                html_add_value(&ret->href, a);
        else if (html_is(a->name, a->name_length, "alt") && !ret->alt.length)
                html_add_value(&ret->alt, a);
}

/* A link that leads somewhere, in ASCII, so that nothing hides in it, and without what would end it. */
static void take_href(struct page *p)
{
        static const char *const nowhere[] = { "#", "javascript:", "data:" };
        const char *at = p->traits.href.length ? p->traits.href.data : "", *end = at + p->traits.href.length;
        struct text *out = &p->writer.href;
        out->length = 0;
        while (at < end && isspace((unsigned char)*at))
                at++;
        while (end > at && isspace((unsigned char)end[-1]))
                end--;
        for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++)
                if ((size_t)(end - at) >= strlen(nowhere[i]) && strncasecmp(at, nowhere[i], strlen(nowhere[i])) == 0)
                        return;
        for (; at < end && out->length <= HREF_MOST; at++) {
                if (*at > ' ' && *at < 0x7f && !strchr("()<>", *at))
                        text_add_bytes(out, at, 1);
                else if (*at != '\n' && *at != '\r' && *at != '\t')
                        text_format(out, "%%%02X", (unsigned char)*at);
        }
        if (out->length > HREF_MOST)
                out->length = 0;
}

/* --- what elements do --- */

static void begin_link(struct page *p)
{
        take_href(p);
        html_begin_link(&p->writer);
}

static void end_link(struct page *p)
{
        html_end_link(&p->writer);
}

static void begin_code(struct page *p)
{
        html_begin_code(&p->writer);
}

static void end_code(struct page *p)
{
        html_end_code(&p->writer);
}

static void begin_heading(struct page *p)
{
        static const char marks[] = "###### ";
        html_indent(&p->writer, marks + 6 - p->traits.level, false);
}

static void begin_pre(struct page *p)
{
        html_begin_fence(&p->writer);
}

static void end_pre(struct page *p)
{
        html_end_fence(&p->writer);
}

static void begin_quote(struct page *p)
{
        html_indent(&p->writer, "> ", true);
}

static void begin_meaning(struct page *p)
{
        html_indent(&p->writer, "  ", true);
}

/* A list in a list has no empty line around it. */
static void begin_list(struct page *p)
{
        html_break(&p->writer, p->lists++ ? 1 : 2);
}

static void end_list(struct page *p)
{
        html_break(&p->writer, --p->lists ? 1 : 2);
}

static void begin_item(struct page *p)
{
        char mark[16] = "- ";
        size_t i = p->depth;
        while (i > 0 && !(1U << p->stack[i - 1].role & (ROLE(LIST) | ROLE(NUMBERS))))
                i--;
        if (i > 0 && p->stack[i - 1].role == ROLE_NUMBERS)
                (void)snprintf(mark, sizeof mark, "%u. ", ++p->stack[i - 1].items);
        html_indent(&p->writer, mark, false);
        p->writer.fresh = true;
}

static void end_item(struct page *p)
{
        p->writer.fresh = false;
}

static void begin_row(struct page *p)
{
        html_begin_row(&p->writer);
}

static void end_row(struct page *p)
{
        html_end_row(&p->writer);
}

static void begin_cell(struct page *p)
{
        html_begin_cell(&p->writer);
}

static void end_cell(struct page *p)
{
        html_end_cell(&p->writer);
}

#define TABLES (ROLE(CELL) | ROLE(TABLE))
#define LISTS (ROLE(LIST) | ROLE(NUMBERS))
#define TERMS (ROLE(TERM) | ROLE(MEANING))

static const struct {
        size_t lines;    /* around it: 1 for its own, 2 with an empty one */
        unsigned closes; /* open elements of these roles, when it begins, */
        unsigned within; /* but not behind these */
        unsigned ends;   /* its end tag does not look for its beginning behind these */
        void (*begin)(struct page *p);
        void (*end)(struct page *p);
} roles[] = {
        [ROLE_NONE] = { .ends = BLOCKS },
        [ROLE_VOID] = { 0 },
        [ROLE_SKIP] = { .ends = TABLES },
        [ROLE_TITLE] = { .ends = TABLES },
        [ROLE_BREAK] = { 0 },
        [ROLE_RULE] = { .closes = ROLE(PARAGRAPH), .within = TABLES },
        [ROLE_IMAGE] = { 0 },
        [ROLE_LINK] = { 0, ROLE(LINK), TABLES, BLOCKS, begin_link, end_link },
        [ROLE_CODE] = { 0, 0, 0, BLOCKS, begin_code, end_code },
        [ROLE_BLOCK] = { 1, ROLE(PARAGRAPH), TABLES, TABLES, NULL, NULL },
        [ROLE_DIALOG] = { 1, ROLE(PARAGRAPH), TABLES, TABLES, NULL, NULL },
        [ROLE_PARAGRAPH] = { 2, ROLE(PARAGRAPH), TABLES, TABLES, NULL, NULL },
        [ROLE_HEADING] = { 2, ROLE(PARAGRAPH), TABLES, TABLES, begin_heading, NULL },
        [ROLE_PRE] = { 2, ROLE(PARAGRAPH), TABLES, TABLES, begin_pre, end_pre },
        [ROLE_QUOTE] = { 2, ROLE(PARAGRAPH), TABLES, TABLES, begin_quote, NULL },
        [ROLE_LIST] = { 1, ROLE(PARAGRAPH), TABLES, TABLES, begin_list, end_list },
        [ROLE_NUMBERS] = { 1, ROLE(PARAGRAPH), TABLES, TABLES, begin_list, end_list },
        [ROLE_ITEM] = { 1, ROLE(ITEM), LISTS | TABLES, LISTS | TABLES, begin_item, end_item },
        [ROLE_TERM] = { 1, TERMS, ROLE(ITEM) | TABLES, TABLES, NULL, NULL },
        [ROLE_MEANING] = { 1, TERMS, ROLE(ITEM) | TABLES, TABLES, begin_meaning, NULL },
        [ROLE_TABLE] = { 2, ROLE(PARAGRAPH), TABLES, 0, NULL, NULL },
        [ROLE_SECTION] = { 1, ROLE(SECTION), ROLE(TABLE), ROLE(TABLE), NULL, NULL },
        [ROLE_ROW] = { 0, ROLE(ROW), ROLE(TABLE), ROLE(TABLE), begin_row, end_row },
        [ROLE_CELL] = { 0, ROLE(CELL), ROLE(ROW) | ROLE(TABLE), ROLE(TABLE), begin_cell, end_cell },
};

static void begin_element(struct page *p, enum role role)
{
        html_break(&p->writer, roles[role].lines);
        if (roles[role].begin)
                roles[role].begin(p);
}

static void end_element(struct page *p, const struct open_element *e)
{
        html_unindent(&p->writer, e->prefix);
        if (roles[e->role].end)
                roles[e->role].end(p);
        html_break(&p->writer, roles[e->role].lines);
}

/* Elements without content. */
static void do_void(struct page *p, enum role role)
{
        struct html_writer *w = &p->writer;
        bool in_heading = p->depth && p->stack[p->depth - 1].role == ROLE_HEADING;
        if (role == ROLE_BREAK && in_heading) {
                w->space = true;
        } else if (role == ROLE_BREAK) {
                html_break(w, w->verbatim || w->breaks < 2 ? w->breaks + 1 : 2);
        } else if (role == ROLE_RULE) {
                html_break(w, 2);
                html_put(w, "---");
                html_break(w, 2);
        } else if (role == ROLE_IMAGE && p->traits.alt.length) {
                html_put(w, "[image:");
                w->space = true;
                html_write(w, p->traits.alt.data, p->traits.alt.length, false);
                w->space = false;
                html_put(w, "]");
        }
}

/* --- the stack --- */

static void pop(struct page *p)
{
        const struct open_element *e = &p->stack[--p->depth];
        if (e->hides)
                p->hidden--;
        else if (!p->hidden)
                end_element(p, e);
}

static void pop_to(struct page *p, size_t depth)
{
        while (p->depth > depth)
                pop(p);
}

static void close_implied(struct page *p, enum role role)
{
        for (size_t i = p->depth; roles[role].closes && i-- > 0;) {
                unsigned found = 1U << p->stack[i].role;
                if (found & roles[role].closes)
                        pop_to(p, i);
                if (found & (roles[role].closes | roles[role].within))
                        return;
        }
}

static void take_traits(struct page *p, const struct html_token *t, const char *name, enum role role)
{
        struct html_attribute a;
        /* A page that hides all of itself shows itself later. */
        bool whole = strcmp(name, "body") == 0 || strcmp(name, "html") == 0;
        text_done(&p->traits.href);
        text_done(&p->traits.alt);
        p->traits = (struct traits){ .level = role == ROLE_HEADING ? name[1] - '0' : 0 };
        for (const char *at = t->attributes; html_next_attribute(&at, t->end, &a);)
                take_attribute(&a, &p->traits);
        p->traits.hidden &= !whole;
}

static void open_element(struct page *p, const struct html_token *t)
{
        char name[NAME_MOST];
        struct open_element e = { .name = take_name(t, name) };
        e.role = find_role(name);
        take_traits(p, t, name, e.role);
        close_implied(p, e.role);
        e.prefix = p->writer.prefix;
        e.hides = e.role == ROLE_SKIP || (e.role == ROLE_DIALOG && !p->traits.open) || p->traits.hidden;
        bool shown = !e.hides && !p->hidden && !p->deeper;
        if (1U << e.role & VOIDS || (p->reader.drawings && t->is_closed)) {
                if (shown)
                        do_void(p, e.role);
        } else if (p->depth == DEPTH_MOST) {
                p->deeper++;
                p->ret->cut = true;
        } else if (e.role != ROLE_NONE || !shown) {
                if (shown)
                        begin_element(p, e.role);
                p->hidden += e.hides;
                p->stack[p->depth++] = e;
        }
}

static void close_element(struct page *p, const struct html_token *t)
{
        char name[NAME_MOST];
        uint32_t hash = take_name(t, name);
        enum role role = find_role(name);
        if (p->deeper) {
                p->deeper--;
                return;
        }
        for (size_t i = p->depth; i-- > 0;) {
                const struct open_element *e = &p->stack[i];
                if (e->name == hash || (role == ROLE_HEADING && e->role == ROLE_HEADING)) {
                        pop_to(p, i);
                        return;
                }
                if (1U << e->role & roles[role].ends)
                        break;
        }
        if (role == ROLE_PARAGRAPH && !p->hidden) /* an empty one */
                html_break(&p->writer, roles[role].lines);
}

static void add_text(struct page *p, const struct html_token *t)
{
        const struct open_element *top = p->depth ? &p->stack[p->depth - 1] : NULL;
        if (p->hidden || p->deeper)
                return;
        if (!top || top->role != ROLE_TITLE) {
                html_write(&p->writer, t->bytes, t->length, !t->verbatim);
        } else if (!p->ret->title.length) {
                struct html_writer title = { .out = &p->ret->title, .most = HTML_TITLE_MOST };
                html_write(&title, t->bytes, t->length, true);
        }
}

void html_to_text(const char *html, size_t length, size_t most, struct html_text *ret)
{
        struct page p = { .reader = { .at = html, .end = html + length }, .ret = ret };
        struct html_token token;
        *ret = (struct html_text){ 0 };
        p.writer.out = &ret->body;
        p.writer.most = most;
        while (!p.writer.full && html_next(&p.reader, &token)) {
                if (token.kind == HTML_OPEN)
                        open_element(&p, &token);
                else if (token.kind == HTML_CLOSE)
                        close_element(&p, &token);
                else
                        add_text(&p, &token);
        }
        pop_to(&p, 0);
        ret->cut |= p.writer.full;
        text_done(&p.traits.href);
        text_done(&p.traits.alt);
        html_writer_done(&p.writer);
}

void html_text_done(struct html_text *t)
{
        text_done(&t->title);
        text_done(&t->body);
}
