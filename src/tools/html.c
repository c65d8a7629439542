/*
 * Converts HTML to readable text; see html.h.
 *
 * How it works: html_token.c splits the page into tags and texts, and html_writer.c writes text word by word. Between
 * them is a stack of open elements, not a tree: each element acts when it opens and when it closes, as its row in the
 * table of roles says. The stack behaves like a browser's where it matters: an item closes the item before it, a
 * paragraph ends where a block begins, and an end tag without a start tag does nothing.
 *
 * What an attacker controls: the page. The depth of the stack is limited, and deeper content is left out; each step
 * takes time bounded by that depth; the writer limits the output. Content that the page hides from people (hidden,
 * display: none) is not shown to an agent either. Style sheets are not read, so a page can still hide text by them.
 */
#include "tools/html.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "tools/html_token.h"
#include "tools/html_writer.h"

enum { DEPTH_MAX = 256, HREF_MAX = 2048, TAG_NAME_MAX = 16 };

enum role {
        ROLE_NONE,      /* an inline element, or an unknown one: only its text counts */
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
        ROLE_ORDERED,
        ROLE_ITEM,
        ROLE_TERM,
        ROLE_DEFINITION,
        ROLE_TABLE,
        ROLE_ROW_GROUP,
        ROLE_ROW,
        ROLE_CELL,
};
#define ROLE(name) (1U << ROLE_##name)
#define BLOCKS (~(ROLE(NONE) | ROLE(VOID) | ROLE(SKIP) | ROLE(TITLE) | ROLE(LINK) | ROLE(CODE)))

#define VOIDS (ROLE(VOID) | ROLE(BREAK) | ROLE(RULE) | ROLE(IMAGE))

struct element {
        char name[TAG_NAME_MAX];
        enum role role;
};

/* Sorted by strcmp(). */
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
        { "dd", ROLE_DEFINITION },
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
        { "ol", ROLE_ORDERED },
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
        { "tbody", ROLE_ROW_GROUP },
        { "td", ROLE_CELL },
        { "template", ROLE_SKIP },
        { "textarea", ROLE_SKIP },
        { "tfoot", ROLE_ROW_GROUP },
        { "th", ROLE_CELL },
        { "thead", ROLE_ROW_GROUP },
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
        uint32_t name;  /* its hash; an end tag closes the element with the same hash */
        bool hides;     /* its content is not shown */
        size_t prefix;  /* length of the line prefix outside of it */
        unsigned items; /* of an ordered list, so far */
};

/* What the attributes of a start tag say. */
struct traits {
        int level; /* of a heading */
        bool hidden, open;
        struct text href, alt;
};

struct page {
        struct html_reader reader;
        struct html_writer writer;
        struct html_text *ret;
        struct open_element stack[DEPTH_MAX];
        size_t depth;
        size_t deeper;  /* open elements beyond DEPTH_MAX */
        size_t hidden;  /* elements on the stack that hide their content */
        size_t lists;   /* open lists */
        struct traits traits; /* of the current start tag */
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

/* Stores the name in lower case, empty if it is longer than any known one. Returns the hash. */
static uint32_t read_name(const struct html_token *t, char ret[TAG_NAME_MAX])
{
        uint32_t hash = 2166136261U;
        size_t used = 0;
        for (size_t i = 0; i < t->length; i++) {
                int c = t->bytes[i] ? tolower((unsigned char)t->bytes[i]) : '?';
                hash = (hash ^ (uint32_t)c) * 16777619U;
                if (used + 1 < TAG_NAME_MAX)
                        ret[used++] = (char)c;
        }
        ret[t->length < TAG_NAME_MAX ? used : 0] = '\0';
        return hash;
}

static bool style_hides(const struct html_attribute *a)
{
        CLEANUP_TEXT struct text value = { 0 };
        size_t used = 0;
        html_add_attribute_value(&value, a);
        for (size_t i = 0; i < value.length; i++)
                if (value.data[i] && !isspace((unsigned char)value.data[i]))
                        value.data[used++] = (char)tolower((unsigned char)value.data[i]);
        if (value.data)
                value.data[used] = '\0';
        return value.data && (strstr(value.data, "display:none") || strstr(value.data, "visibility:hidden"));
}

static void read_attribute(const struct html_attribute *a, struct traits *ret)
{
        if (html_equals(a->name, a->name_length, "hidden"))
                ret->hidden = true;
        else if (html_equals(a->name, a->name_length, "aria-hidden"))
                ret->hidden |= html_equals(a->value, a->value_length, "true");
        else if (html_equals(a->name, a->name_length, "style"))
                ret->hidden |= style_hides(a);
        else if (html_equals(a->name, a->name_length, "open"))
                ret->open = true;
        else if (html_equals(a->name, a->name_length, "href") && !ret->href.length)
                html_add_attribute_value(&ret->href, a);
        else if (html_equals(a->name, a->name_length, "alt") && !ret->alt.length)
                html_add_attribute_value(&ret->alt, a);
}

/*
 * Sets the link's target, if it leads to another page. All but visible ASCII is percent-encoded, so that nothing hides
 * in it, and so are the characters that would end the link.
 */
static void set_href(struct page *p)
{
        static const char *const skipped[] = { "#", "javascript:", "data:" };
        const char *at = p->traits.href.length ? p->traits.href.data : "", *end = at + p->traits.href.length;
        struct text *out = &p->writer.href;
        out->length = 0;
        while (at < end && isspace((unsigned char)*at))
                at++;
        while (end > at && isspace((unsigned char)end[-1]))
                end--;
        for (size_t i = 0; i < ARRAY_SIZE(skipped); i++)
                if ((size_t)(end - at) >= strlen(skipped[i]) && strncasecmp(at, skipped[i], strlen(skipped[i])) == 0)
                        return;
        for (; at < end && out->length <= HREF_MAX; at++) {
                if (*at > ' ' && *at < 0x7f && !strchr("()<>", *at))
                        text_add_bytes(out, at, 1);
                else if (*at != '\n' && *at != '\r' && *at != '\t')
                        text_format(out, "%%%02X", (unsigned char)*at);
        }
        if (out->length > HREF_MAX)
                out->length = 0;
}

/* --- what elements do --- */

static void begin_link(struct page *p)
{
        set_href(p);
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

static void begin_definition(struct page *p)
{
        html_indent(&p->writer, "  ", true);
}

/* A nested list has no empty lines around it. */
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
        while (i > 0 && !(1U << p->stack[i - 1].role & (ROLE(LIST) | ROLE(ORDERED))))
                i--;
        if (i > 0 && p->stack[i - 1].role == ROLE_ORDERED)
                (void)snprintf(mark, sizeof mark, "%u. ", ++p->stack[i - 1].items);
        html_indent(&p->writer, mark, false);
        p->writer.at_start = true;
}

static void end_item(struct page *p)
{
        p->writer.at_start = false;
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
#define LISTS (ROLE(LIST) | ROLE(ORDERED))
#define TERMS (ROLE(TERM) | ROLE(DEFINITION))

static const struct {
        size_t lines;    /* around it: 1 for a new line, 2 for an empty line */
        unsigned closes; /* roles of open elements that its start tag closes, */
        unsigned within; /* unless one of these roles is between them */
        unsigned stops;  /* its end tag does not close an element outside of these roles */
        void (*begin)(struct page *p);
        void (*end)(struct page *p);
} roles[] = {
        [ROLE_NONE] = { .stops = BLOCKS },
        [ROLE_VOID] = { 0 },
        [ROLE_SKIP] = { .stops = TABLES },
        [ROLE_TITLE] = { .stops = TABLES },
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
        [ROLE_ORDERED] = { 1, ROLE(PARAGRAPH), TABLES, TABLES, begin_list, end_list },
        [ROLE_ITEM] = { 1, ROLE(ITEM), LISTS | TABLES, LISTS | TABLES, begin_item, end_item },
        [ROLE_TERM] = { 1, TERMS, ROLE(ITEM) | TABLES, TABLES, NULL, NULL },
        [ROLE_DEFINITION] = { 1, TERMS, ROLE(ITEM) | TABLES, TABLES, begin_definition, NULL },
        [ROLE_TABLE] = { 2, ROLE(PARAGRAPH), TABLES, 0, NULL, NULL },
        [ROLE_ROW_GROUP] = { 1, ROLE(ROW_GROUP), ROLE(TABLE), ROLE(TABLE), NULL, NULL },
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
static void show_void(struct page *p, enum role role)
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

static void read_traits(struct page *p, const struct html_token *t, const char *name, enum role role)
{
        struct html_attribute a;
        /* A page that hides all of itself shows itself later, by a script. */
        bool is_page = strcmp(name, "body") == 0 || strcmp(name, "html") == 0;
        text_done(&p->traits.href);
        text_done(&p->traits.alt);
        p->traits = (struct traits){ .level = role == ROLE_HEADING ? name[1] - '0' : 0 };
        for (const char *at = t->attributes; html_next_attribute(&at, t->end, &a);)
                read_attribute(&a, &p->traits);
        p->traits.hidden &= !is_page;
}

static void open_element(struct page *p, const struct html_token *t)
{
        char name[TAG_NAME_MAX];
        struct open_element e = { .name = read_name(t, name) };
        e.role = find_role(name);
        read_traits(p, t, name, e.role);
        close_implied(p, e.role);
        e.prefix = p->writer.prefix;
        e.hides = e.role == ROLE_SKIP || (e.role == ROLE_DIALOG && !p->traits.open) || p->traits.hidden;
        bool shown = !e.hides && !p->hidden && !p->deeper;
        if (1U << e.role & VOIDS || (p->reader.svg_depth && t->is_closed)) {
                if (shown)
                        show_void(p, e.role);
        } else if (p->depth == DEPTH_MAX) {
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
        char name[TAG_NAME_MAX];
        uint32_t hash = read_name(t, name);
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
                if (1U << e->role & roles[role].stops)
                        break;
        }
        if (role == ROLE_PARAGRAPH && !p->hidden) /* a </p> without <p> is an empty paragraph */
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
                struct html_writer title = { .out = &p->ret->title, .max_bytes = HTML_TITLE_MAX };
                html_write(&title, t->bytes, t->length, true);
        }
}

void html_to_text(const char *html, size_t length, size_t max_bytes, struct html_text *ret)
{
        struct page p = { .reader = { .at = html, .end = html + length }, .ret = ret };
        struct html_token token;
        *ret = (struct html_text){ 0 };
        p.writer.out = &ret->body;
        p.writer.max_bytes = max_bytes;
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
