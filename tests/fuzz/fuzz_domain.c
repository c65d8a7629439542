/*
 * Host patterns. The input is two of them with a NUL between. What is printed parses back to the same; the canonical
 * spelling of a name is its own canonical spelling; the forms that must be refused are; if one pattern covers the
 * other, every name that the inner one matches is matched by the outer one; and their intersection matches no more
 * than both do.
 */
#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "fuzz.h"
#include "idn.h"

static bool same(const struct domain *a, const struct domain *b)
{
        return strcmp(a->name, b->name) == 0 && a->wildcard == b->wildcard && a->port == b->port;
}

/* What no pattern may let through, judged without the parser's own functions. */
static void check_canonical(const char *name)
{
        size_t length = strlen(name);
        char again[CAP_DOMAIN + 1];
        PROMISE(length >= 1 && length <= CAP_DOMAIN);
        PROMISE(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == length);
        PROMISE(name[0] != '.' && name[length - 1] != '.' && !strstr(name, ".."));
        const char *last = strrchr(name, '.') ? strrchr(name, '.') + 1 : name;
        PROMISE(last[strspn(last, "0123456789")]);
        PROMISE(!domain_canonical(name, NULL, again));
        PROMISE(strcmp(name, again) == 0);
        PROMISE(!domain_canonical(name, idn_to_ascii, again));
        PROMISE(strcmp(name, again) == 0);
}

static void check_matches(const struct domain *d)
{
        char below[CAP_DOMAIN + 8], beside[CAP_DOMAIN + 8];
        uint16_t port = d->port ? d->port : 443;
        (void)snprintf(below, sizeof below, "a.%s", d->name);
        (void)snprintf(beside, sizeof beside, "a%s", d->name);
        for (enum bare_port bare = BARE_EVERY; bare <= BARE_DEFAULT; bare++) {
                PROMISE(domain_match(d, bare, d->name, port) == !d->wildcard);
                PROMISE(domain_match(d, bare, below, port) == d->wildcard);
                PROMISE(!domain_match(d, bare, beside, port));
                PROMISE(!domain_match(d, bare, "", port));
                if (d->port)
                        PROMISE(!domain_match(d, bare, d->name, (uint16_t)(d->port ^ 1)) &&
                                !domain_match(d, bare, below, (uint16_t)(d->port ^ 1)));
                PROMISE(domain_covers(d, d, bare));
        }
        PROMISE(d->port || !domain_match(d, BARE_DEFAULT, d->wildcard ? below : d->name, 8443));
}

static void check_parsed(struct arena *arena, const char *text, const struct domain *d)
{
        char printed[DOMAIN_TEXT_SIZE];
        struct domain back;
        check_canonical(d->name);
        PROMISE(!d->wildcard || strchr(d->name, '.'));
        for (const char *p = text; *p; p++)
                PROMISE((unsigned char)*p >= 0x80 || isalnum((unsigned char)*p) || strchr("-_.:*", *p));
        PROMISE(d->wildcard == text_starts(text, "*."));
        domain_print(d, printed);
        PROMISE(!domain_parse(arena, printed, NULL, &back));
        PROMISE(same(d, &back));
        check_matches(d);
}

static void check_covers(const struct domain *outer, const struct domain *inner, enum bare_port bare)
{
        const uint16_t ports[] = { 443, 1, 22, inner->port ? inner->port : 80, outer->port ? outer->port : 80 };
        struct domain both;
        char names[4][CAP_DOMAIN + 8];
        (void)snprintf(names[0], sizeof names[0], "%s", inner->name);
        (void)snprintf(names[1], sizeof names[1], "x.%s", inner->name);
        (void)snprintf(names[2], sizeof names[2], "%s", outer->name);
        (void)snprintf(names[3], sizeof names[3], "y.x.%s", outer->name);
        bool covers = domain_covers(outer, inner, bare), meet = domain_intersect(outer, inner, bare, &both);
        PROMISE(!covers || (meet && same(&both, inner)));
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                for (size_t j = 0; j < ARRAY_SIZE(ports); j++) {
                        bool in_inner = domain_match(inner, bare, names[i], ports[j]);
                        bool in_both = in_inner && domain_match(outer, bare, names[i], ports[j]);
                        PROMISE(!covers || in_inner == in_both);
                        PROMISE(in_both || !meet || !domain_match(&both, bare, names[i], ports[j]));
                }
        if (covers && domain_covers(inner, outer, bare))
                PROMISE(same(outer, inner));
        /* A single name is covered exactly when it is matched. */
        if (!inner->wildcard && inner->port)
                PROMISE(covers == domain_match(outer, bare, inner->name, inner->port));
}

/* The same name in capitals, with a dot behind it, means the same. */
static void check_spelling(const char *text)
{
        char canonical[CAP_DOMAIN + 1], other[CAP_DOMAIN + 1];
        if (domain_canonical(text, idn_to_ascii, canonical))
                return;
        check_canonical(canonical);
        CLEANUP_TEXT struct text spelt = { 0 };
        for (const char *p = text; *p; p++) {
                char c = (char)toupper((unsigned char)*p);
                text_add_bytes(&spelt, &c, 1);
        }
        if (text[strlen(text) - 1] != '.')
                text_add(&spelt, ".");
        if (text_utf8_valid(text, strlen(text)) == strlen(text) && strspn(canonical, "-") == 0 &&
            spelt.data[strspn(spelt.data, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")] == '\0') {
                PROMISE(!domain_canonical(spelt.data, idn_to_ascii, other));
                PROMISE(strcmp(canonical, other) == 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
        size_t first = nul ? (size_t)(nul - data) : size;
        CLEANUP_FREE char *a = fuzz_string(data, first);
        CLEANUP_FREE char *b = fuzz_string(data + (nul ? first + 1 : size), nul ? size - first - 1 : 0);
        CLEANUP_ARENA struct arena *arena = arena_new(CAP_ARENA_BYTES);
        struct domain x, y;
        check_spelling(a);
        const char *wrong = domain_parse(arena, a, idn_to_ascii, &x);
        if (wrong) {
                PROMISE(*wrong);
                return 0;
        }
        check_parsed(arena, a, &x);
        if (domain_parse(arena, b, idn_to_ascii, &y))
                return 0;
        for (enum bare_port bare = BARE_EVERY; bare <= BARE_DEFAULT; bare++) {
                check_covers(&x, &y, bare);
                check_covers(&y, &x, bare);
        }
        return 0;
}
