/*
 * Host patterns. The input is two patterns, separated by a NUL. A printed pattern parses to the same pattern; a
 * canonical name is its own canonical form; malformed patterns are refused; a pattern that covers another matches
 * every name that the other matches; and the intersection of two matches only names that both match.
 */
#include <ctype.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "fuzz.h"
#include "idn.h"

static bool same(const struct host_pattern *a, const struct host_pattern *b)
{
        return strcmp(a->name, b->name) == 0 && a->wildcard == b->wildcard && a->port == b->port;
}

/* Checks that a name is canonical, mostly without the parser's own functions. */
static void check_canonical(const char *name)
{
        size_t length = strlen(name);
        char again[DOMAIN_MAX + 1];
        PROMISE(length >= 1 && length <= DOMAIN_MAX);
        PROMISE(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == length);
        PROMISE(name[0] != '.' && name[length - 1] != '.' && !strstr(name, ".."));
        const char *last = strrchr(name, '.') ? strrchr(name, '.') + 1 : name;
        PROMISE(last[strspn(last, "0123456789")]);
        PROMISE(!host_name_canonicalize(name, NULL, again));
        PROMISE(strcmp(name, again) == 0);
        PROMISE(!host_name_canonicalize(name, idn_to_ascii, again));
        PROMISE(strcmp(name, again) == 0);
}

static void check_matches(const struct host_pattern *d)
{
        char below[DOMAIN_MAX + 8], beside[DOMAIN_MAX + 8];
        uint16_t port = d->port ? d->port : 443;
        (void)snprintf(below, sizeof below, "a.%s", d->name);
        (void)snprintf(beside, sizeof beside, "a%s", d->name);
        for (enum portless portless = PORTLESS_EVERY; portless <= PORTLESS_DEFAULT; portless++) {
                PROMISE(host_pattern_match(d, portless, d->name, port) == !d->wildcard);
                PROMISE(host_pattern_match(d, portless, below, port) == d->wildcard);
                PROMISE(!host_pattern_match(d, portless, beside, port));
                PROMISE(!host_pattern_match(d, portless, "", port));
                if (d->port)
                        PROMISE(!host_pattern_match(d, portless, d->name, (uint16_t)(d->port ^ 1)) &&
                                !host_pattern_match(d, portless, below, (uint16_t)(d->port ^ 1)));
                PROMISE(host_pattern_covers(d, d, portless));
        }
        PROMISE(d->port || !host_pattern_match(d, PORTLESS_DEFAULT, d->wildcard ? below : d->name, 8443));
}

static void check_parsed(struct arena *arena, const char *text, const struct host_pattern *d)
{
        char printed[HOST_PATTERN_TEXT_SIZE];
        struct host_pattern back;
        check_canonical(d->name);
        PROMISE(!d->wildcard || strchr(d->name, '.'));
        for (const char *p = text; *p; p++)
                PROMISE((unsigned char)*p >= 0x80 || isalnum((unsigned char)*p) || strchr("-_.:*", *p));
        PROMISE(d->wildcard == text_has_prefix(text, "*."));
        host_pattern_print(d, printed);
        PROMISE(!host_pattern_parse(arena, printed, NULL, &back));
        PROMISE(same(d, &back));
        check_matches(d);
}

static void check_covers(const struct host_pattern *outer, const struct host_pattern *inner, enum portless portless)
{
        const uint16_t ports[] = { 443, 1, 22, inner->port ? inner->port : 80, outer->port ? outer->port : 80 };
        struct host_pattern intersection;
        char names[4][DOMAIN_MAX + 8];
        (void)snprintf(names[0], sizeof names[0], "%s", inner->name);
        (void)snprintf(names[1], sizeof names[1], "x.%s", inner->name);
        (void)snprintf(names[2], sizeof names[2], "%s", outer->name);
        (void)snprintf(names[3], sizeof names[3], "y.x.%s", outer->name);
        bool covers = host_pattern_covers(outer, inner, portless);
        bool intersects = host_pattern_intersect(outer, inner, portless, &intersection);
        PROMISE(!covers || (intersects && same(&intersection, inner)));
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                for (size_t j = 0; j < ARRAY_SIZE(ports); j++) {
                        bool in_inner = host_pattern_match(inner, portless, names[i], ports[j]);
                        bool in_both = in_inner && host_pattern_match(outer, portless, names[i], ports[j]);
                        PROMISE(!covers || in_inner == in_both);
                        PROMISE(in_both || !intersects ||
                                !host_pattern_match(&intersection, portless, names[i], ports[j]));
                }
        if (covers && host_pattern_covers(inner, outer, portless))
                PROMISE(same(outer, inner));
        /* A pattern for a single name is covered if and only if the name is matched. */
        if (!inner->wildcard && inner->port)
                PROMISE(covers == host_pattern_match(outer, portless, inner->name, inner->port));
}

/* Checks that the name in capitals and with a trailing dot has the same canonical form. */
static void check_spelling(const char *text)
{
        char canonical[DOMAIN_MAX + 1], variant_canonical[DOMAIN_MAX + 1];
        if (host_name_canonicalize(text, idn_to_ascii, canonical))
                return;
        check_canonical(canonical);
        CLEANUP_TEXT struct text variant = { 0 };
        for (const char *p = text; *p; p++) {
                char c = (char)toupper((unsigned char)*p);
                text_add_bytes(&variant, &c, 1);
        }
        if (text[strlen(text) - 1] != '.')
                text_add(&variant, ".");
        if (text_utf8_valid_length(text, strlen(text)) == strlen(text) && strspn(canonical, "-") == 0 &&
            variant.data[strspn(variant.data, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")] == '\0') {
                PROMISE(!host_name_canonicalize(variant.data, idn_to_ascii, variant_canonical));
                PROMISE(strcmp(canonical, variant_canonical) == 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
        size_t first = nul ? (size_t)(nul - data) : size;
        CLEANUP_FREE char *a = fuzz_string(data, first);
        CLEANUP_FREE char *b = fuzz_string(data + (nul ? first + 1 : size), nul ? size - first - 1 : 0);
        CLEANUP_ARENA struct arena *arena = arena_new(ARENA_BYTES_MAX);
        struct host_pattern x, y;
        check_spelling(a);
        const char *error = host_pattern_parse(arena, a, idn_to_ascii, &x);
        if (error) {
                PROMISE(*error);
                return 0;
        }
        check_parsed(arena, a, &x);
        if (host_pattern_parse(arena, b, idn_to_ascii, &y))
                return 0;
        for (enum portless portless = PORTLESS_EVERY; portless <= PORTLESS_DEFAULT; portless++) {
                check_covers(&x, &y, portless);
                check_covers(&y, &x, portless);
        }
        return 0;
}
