/*
 * Host patterns; see host_pattern.h. Names in policies and names that programs ask for both go through canonicalise().
 */
#include "policy/host_pattern.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policy/default_ports.h"

static bool is_ascii(const char *text)
{
        for (; *text; text++)
                if ((unsigned char)*text >= 0x80)
                        return false;
        return true;
}

/* Finds mistakes such as a pasted URL. The order matters: the first match gives the most helpful message. */
static const char *check_pattern(const char *text)
{
        if (!*text)
                return "an empty pattern allows nothing; leave it out";
        for (const char *p = text; *p; p++)
                if ((unsigned char)*p <= 0x20 || *p == 0x7f)
                        return "a host name has no white space or control characters";
        if (strstr(text, "://"))
                return "write the host alone, without a scheme";
        if (strpbrk(text, "/?#"))
                return "write the host alone, without a path";
        if (strchr(text, '@'))
                return "write the host alone, without a user name";
        if (*text == '[' || (strchr(text, ':') && strchr(text, ':') != strrchr(text, ':')))
                return "an address is not a name; hosts are allowed by name";
        return NULL;
}

static const char *split_port(char *text, uint16_t *ret_port)
{
        char *colon = strrchr(text, ':');
        *ret_port = 0;
        if (!colon)
                return NULL;
        unsigned long long port = 0;
        if (!text_parse_unsigned(colon + 1, strlen(colon + 1), &port) || port < 1 || port > 65535 || colon[1] == '0')
                return "a port is a number from 1 to 65535";
        *ret_port = (uint16_t)port;
        *colon = '\0';
        return NULL;
}

/* Would inet_aton() or a browser parse it as an IPv4 address? Then its last label is a decimal or hex number. */
static bool looks_like_address(const char *name)
{
        const char *last = strrchr(name, '.');
        last = last ? last + 1 : name;
        if (last[0] == '0' && last[1] == 'x' && strspn(last + 2, "0123456789abcdef") == strlen(last + 2))
                return true;
        return strspn(last, "0123456789") == strlen(last);
}

static const char *check_labels(const char *name)
{
        if (strlen(name) > DOMAIN_MAX)
                return "a host name has at most 253 characters";
        for (const char *p = name; p; p = strchr(p, '.') ? strchr(p, '.') + 1 : NULL) {
                size_t n = strcspn(p, ".");
                if (n == 0)
                        return "a label of the name is empty";
                if (n > DOMAIN_LABEL_MAX)
                        return "a label of a host name has at most 63 characters";
                if (p[0] == '-' || p[n - 1] == '-')
                        return "a label begins and ends with a letter or a digit";
                if (strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789-_") < n)
                        return memchr(p, '*', n) ? "'*' is allowed only as the first label: *.example.com"
                                                 : "a host name has only letters, digits, '-' and '_'";
        }
        if (looks_like_address(name))
                return "an address is not a name; hosts are allowed by name";
        return NULL;
}

static const char *canonicalise(const char *text, to_ascii_function *to_ascii, char ret[DOMAIN_MAX + 1])
{
        char ascii[POLICY_TEXT_MAX + 1];
        if (strlen(text) >= sizeof ascii)
                return "a host name has at most 253 characters";
        for (const char *p = text; *p; p++)
                if ((unsigned char)*p < 0x80 && !isalnum((unsigned char)*p) && !strchr("-_.*", *p))
                        return "a host name has only letters, digits, '-' and '_'";
        if (is_ascii(text))
                (void)snprintf(ascii, sizeof ascii, "%s", text);
        else if (!to_ascii || !to_ascii(text, ascii, sizeof ascii) || !is_ascii(ascii))
                return "the name has no ASCII form; write it in its xn-- spelling";
        for (char *p = ascii; *p; p++)
                *p = (char)tolower((unsigned char)*p);
        size_t length = strlen(ascii);
        if (length > 1 && ascii[length - 1] == '.')
                ascii[length - 1] = '\0';
        const char *wrong = check_labels(ascii);
        if (wrong)
                return wrong;
        memcpy(ret, ascii, strlen(ascii) + 1);
        return NULL;
}

const char *host_name_canonicalize(const char *text, to_ascii_function *to_ascii, char ret[DOMAIN_MAX + 1])
{
        const char *wrong = check_pattern(text);
        return wrong ? wrong : canonicalise(text, to_ascii, ret);
}

const char *host_pattern_parse(struct arena *a, const char *text, to_ascii_function *to_ascii, struct host_pattern *ret)
{
        const char *wrong = check_pattern(text);
        if (wrong)
                return wrong;
        char copy[POLICY_TEXT_MAX + 1], name[DOMAIN_MAX + 1];
        if (strlen(text) >= sizeof copy)
                return "a host name has at most 253 characters";
        (void)snprintf(copy, sizeof copy, "%s", text);
        struct host_pattern d = { 0 };
        wrong = split_port(copy, &d.port);
        if (wrong)
                return wrong;
        if (strcmp(copy, "*") == 0)
                return "'*' would allow every host; name the hosts";
        d.wildcard = text_has_prefix(copy, "*.");
        wrong = canonicalise(copy + (d.wildcard ? 2 : 0), to_ascii, name);
        if (wrong)
                return wrong;
        if (d.wildcard && !strchr(name, '.'))
                return "'*.' and a single label would allow a whole top-level domain; name the hosts";
        d.name = arena_strdup(a, name);
        if (!d.name)
                return "there is no memory for it";
        *ret = d;
        return NULL;
}

/* Is `name` a subdomain of `parent`? */
static bool is_below(const char *name, const char *parent)
{
        size_t n = strlen(name), p = strlen(parent);
        return n > p + 1 && name[n - p - 1] == '.' && strcmp(name + n - p, parent) == 0;
}

bool host_pattern_match_name(const struct host_pattern *pattern, const char *name)
{
        return pattern->wildcard ? is_below(name, pattern->name) : strcmp(name, pattern->name) == 0;
}

bool host_pattern_match(const struct host_pattern *pattern, enum portless bare, const char *name, uint16_t port)
{
        if (!host_pattern_match_name(pattern, name))
                return false;
        if (pattern->port)
                return pattern->port == port;
        return bare == PORTLESS_EVERY || port_is_default(name, port);
}

/* Would the pattern without its port cover this port for each of its names? */
static bool bare_covers(const struct host_pattern *d, enum portless bare, uint16_t port)
{
        return bare == PORTLESS_EVERY || port_is_default(d->wildcard ? NULL : d->name, port);
}

static bool covers_names(const struct host_pattern *outer, const struct host_pattern *inner)
{
        if (!outer->wildcard)
                return !inner->wildcard && strcmp(outer->name, inner->name) == 0;
        if (inner->wildcard && strcmp(outer->name, inner->name) == 0)
                return true;
        return is_below(inner->name, outer->name);
}

bool host_pattern_covers(const struct host_pattern *outer, const struct host_pattern *inner, enum portless bare)
{
        if (!covers_names(outer, inner))
                return false;
        if (outer->port || !inner->port)
                return outer->port == inner->port; /* one port never covers a pattern without a port */
        return bare_covers(inner, bare, inner->port);
}

bool host_pattern_equal(const struct host_pattern *a, const struct host_pattern *b)
{
        return a->wildcard == b->wildcard && a->port == b->port && strcmp(a->name, b->name) == 0;
}

bool host_pattern_intersect(const struct host_pattern *a, const struct host_pattern *b, enum portless bare,
                            struct host_pattern *ret)
{
        bool a_is_wider = covers_names(a, b);
        if (!a_is_wider && !covers_names(b, a))
                return false;
        struct host_pattern both = a_is_wider ? *b : *a;
        both.port = a->port ? a->port : b->port;
        if (a->port && b->port && a->port != b->port)
                return false;
        if (a->port != b->port && !bare_covers(&both, bare, both.port))
                return false;
        *ret = both;
        return true;
}

void host_pattern_print(const struct host_pattern *d, char ret[HOST_PATTERN_TEXT_SIZE])
{
        char port[8] = "";
        if (d->port)
                (void)snprintf(port, sizeof port, ":%u", d->port);
        (void)snprintf(ret, HOST_PATTERN_TEXT_SIZE, "%s%s%s", d->wildcard ? "*." : "", d->name, port);
}
