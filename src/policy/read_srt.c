/*
 * Reads srt's JSON settings, a second format for a policy. Each of its keys has a row: the key of ours that it becomes,
 * or the reason why it is refused. No key is ignored silently.
 *
 * The defaults of srt are used: reads are broad, and the current directory is writable only if allowWrite has it. Hosts
 * differ from srt: an allowed host without a port is allowed on its default ports only, since no pattern of ours means
 * every port.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "policy/input_limits.h"
#include "policy/node.h"
#include "policy/settings.h"

enum srt_kind {
        SRT_MAP,          /* a group of keys */
        SRT_LIST,         /* each entry is a value of `key` */
        SRT_READ_GRANTS,  /* each entry may be read */
        SRT_RELEASE,      /* true: takes `value` out of the managed set of `key` */
        SRT_SOCKETS,      /* true: allows sockets, but no host */
        SRT_ALWAYS,       /* a boolean that is always true in ringwall */
        SRT_REFUSED,      /* not enforceable; accepted if it asks for nothing: null, false, an empty list or map */
};

struct srt_row {
        const char *path;
        enum srt_kind kind;
        enum key_id key;
        const char *value;
        const char *why; /* SRT_REFUSED: what to do instead; SRT_ALWAYS: what happens */
};

static const struct srt_row rows[] = {
        { "network", SRT_MAP, .why = NULL },
        { "network.allowedDomains", SRT_LIST, .key = KEY_ALLOWED_DOMAINS },
        { "network.deniedDomains", SRT_LIST, .key = KEY_DENIED_DOMAINS },
        { "network.deniedDomainReasons", SRT_REFUSED,
          .why = "ringwall writes its own messages, with the rule and its source" },
        { "network.strictAllowlist", SRT_ALWAYS, .why = "ringwall never asks: a host that is not listed is refused" },
        { "network.deniedResolvedAddresses", SRT_REFUSED,
          .why = "a policy cannot name addresses yet; use network.deniedDomains" },
        { "network.allowUnixSockets", SRT_LIST, .key = KEY_UNIX_SOCKETS },
        { "network.allowAllUnixSockets", SRT_REFUSED, .why = "name them one by one in network.allowUnixSockets" },
        { "network.allowLocalBinding", SRT_SOCKETS, .why = NULL },
        { "network.allowMachLookup", SRT_REFUSED, .why = "it exists only on macOS" },
        { "network.httpProxyPort", SRT_REFUSED, .why = "connections go through ringwall's own proxy" },
        { "network.socksProxyPort", SRT_REFUSED, .why = "connections go through ringwall's own proxy" },
        { "network.mitmProxy", SRT_REFUSED, .why = "ringwall does not decrypt TLS" },
        { "network.parentProxy", SRT_REFUSED, .why = "a policy cannot name an upstream proxy yet" },
        { "network.tlsTerminate", SRT_REFUSED, .why = "ringwall does not decrypt TLS" },
        { "network.filterRequest", SRT_REFUSED, .why = "ringwall decides by host and port, not by request" },
        { "filesystem", SRT_MAP, .why = NULL },
        { "filesystem.disabled", SRT_REFUSED, .why = "to run without a sandbox, use --level off" },
        { "filesystem.denyRead", SRT_LIST, .key = KEY_DENY_READ },
        { "filesystem.allowRead", SRT_READ_GRANTS, .key = KEY_ALLOW_PATHS },
        { "filesystem.allowWrite", SRT_LIST, .key = KEY_ALLOW_WRITE },
        { "filesystem.denyWrite", SRT_LIST, .key = KEY_DENY_WRITE },
        { "filesystem.allowGitConfig", SRT_RELEASE, .key = KEY_PROTECT, .value = ".git/config" },
        { "credentials", SRT_REFUSED,
          .why = "name the files in filesystem.denyRead; variables reach the box only when --env names them" },
        { "ignoreViolations", SRT_REFUSED, .why = "every denial is reported" },
        { "enableWeakerNestedSandbox", SRT_REFUSED, .why = "to accept a weaker box, use --best-effort" },
        { "enableWeakerNetworkIsolation", SRT_REFUSED, .why = "to accept a weaker box, use --best-effort" },
        { "allowAppleEvents", SRT_REFUSED, .why = "it exists only on macOS" },
        { "mandatoryDenySearchDepth", SRT_REFUSED,
          .why = "ringwall protects names at the top of each writable directory; add patterns such as **/.envrc to "
                 "filesystem.protect of a native policy for more" },
        { "allowPty", SRT_ALWAYS, .why = "a box has ptys of its own" },
        { "ripgrep", SRT_REFUSED, .why = "ringwall needs no search tool" },
        { "seccomp", SRT_REFUSED, .why = "ringwall has its own filter" },
        { "bwrapPath", SRT_REFUSED, .why = "ringwall does not use bubblewrap" },
        { "socatPath", SRT_REFUSED, .why = "ringwall does not use socat" },
        { "javaProxyAgentPath", SRT_REFUSED, .why = "programs need no proxy settings" },
        { "windows", SRT_REFUSED, .why = "it exists only on Windows" },
        { "git", SRT_REFUSED, .why = "set variables with --env" },
};

struct srt_reader {
        struct settings *settings;
        const char *base;
        bool failed;
};

static const struct srt_row *find_row(const char *path)
{
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (strcmp(rows[i].path, path) == 0)
                        return &rows[i];
        return NULL;
}

static void report_unknown(struct srt_reader *r, const char *path, struct source place)
{
        const char *known[ARRAY_SIZE(rows)];
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                known[i] = rows[i].path;
        const char *near = text_suggest(path, known, ARRAY_SIZE(rows));
        char hint[128];
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", near ? near : "");
        diagnostic_error(r->settings->messages, place,
                         near ? hint : "srt has no such setting, or only a newer srt does", "unknown setting '%.100s'",
                         path);
        r->failed = true;
}

static void report_pattern(struct srt_reader *r, const struct srt_row *row, const struct node *n, const char *expected)
{
        char buffer[96], hint[64];
        (void)snprintf(hint, sizeof hint, "expected %s", expected);
        diagnostic_error(r->settings->messages, n->from, hint, "%s cannot be %s", row->path,
                         node_describe(n, buffer, sizeof buffer));
        r->failed = true;
}

static int add_value(struct srt_reader *r, const struct srt_row *row, const struct node *n, const char *text)
{
        struct setting setting = { .key = row->key, .base = r->base, .from = n->from, .optional = true };
        if (row->kind == SRT_READ_GRANTS) {
                /* srt has no suffixes: /a:rw is a path there. */
                setting.literal = true;
                setting.number = ACCESS_READ;
                setting.text = text;
                if (*text)
                        return settings_append(r->settings, &setting);
                diagnostic_error(r->settings->messages, n->from, "name a file or a directory", "the path is empty");
                return 1;
        }
        /* srt has no signs: + and - begin a name there. */
        if (*text == '+' || *text == '-') {
                if (keys[row->key].kind == VALUE_DOMAIN) {
                        report_pattern(r, row, n, "a host name");
                        return 0;
                }
                text = arena_format(r->settings->arena, "./%s", text);
                if (!text)
                        return -ENOMEM;
        }
        return settings_add(r->settings, setting, text);
}

static int read_strings(struct srt_reader *r, const struct srt_row *row, const struct node *n)
{
        if (n->kind != NODE_LIST) {
                report_pattern(r, row, n, "a list of strings");
                return 0;
        }
        if (n->count == 0) {
                struct setting empty = { .key = row->key, .empty = true, .from = n->from };
                return settings_append(r->settings, &empty);
        }
        for (size_t i = 0; i < n->count; i++) {
                const struct node *item = n->items[i];
                if (item->kind != NODE_SCALAR || item->scalar != SCALAR_QUOTED) {
                        report_pattern(r, row, item, "a string");
                        continue;
                }
                int e = add_value(r, row, item, item->text);
                r->failed |= e > 0;
                if (e < 0)
                        return e;
        }
        return 0;
}

static bool read_bool(struct srt_reader *r, const struct srt_row *row, const struct node *n)
{
        bool is_true = n->kind == NODE_SCALAR && n->scalar == SCALAR_PLAIN && strcmp(n->text, "true") == 0;
        bool is_false = n->kind == NODE_SCALAR && n->scalar == SCALAR_PLAIN && strcmp(n->text, "false") == 0;
        if (!is_true && !is_false)
                report_pattern(r, row, n, "true or false");
        return is_true;
}

static bool asks_for_nothing(const struct node *n)
{
        if (n->kind != NODE_SCALAR)
                return n->count == 0;
        return n->scalar == SCALAR_NULL || (n->scalar == SCALAR_PLAIN && strcmp(n->text, "false") == 0);
}

static int read_row(struct srt_reader *r, const struct srt_row *row, const struct node *n)
{
        struct diagnostics *m = r->settings->messages;
        switch (row->kind) {
        case SRT_LIST:
        case SRT_READ_GRANTS:
                return read_strings(r, row, n);
        case SRT_RELEASE:
                if (!read_bool(r, row, n))
                        return 0;
                return settings_append(r->settings, &(struct setting){ .key = row->key, .sign = SIGN_MINUS,
                                                                       .text = row->value, .from = n->from });
        case SRT_SOCKETS:
                if (!read_bool(r, row, n))
                        return 0;
                diagnostic_warning(m, n->from, "servers in the box can be reached only from inside the box",
                                   "ports are bound in the box's own network");
                return settings_append(r->settings, &(struct setting){ .key = KEY_GRANT, .text = "net.listen",
                        .number = (uint64_t)key_word_index(permission_words, "net.listen"), .from = n->from });
        case SRT_ALWAYS:
                if (!read_bool(r, row, n) && !r->failed)
                        diagnostic_warning(m, n->from, row->why, "%s cannot be turned off", row->path);
                return 0;
        case SRT_REFUSED:
                if (asks_for_nothing(n))
                        return 0;
                diagnostic_error(m, n->from, row->why, "%s cannot be enforced", row->path);
                r->failed = true;
                return 0;
        case SRT_MAP:
                break;
        }
        return 0;
}

static int read_object(struct srt_reader *r, const char *prefix, const struct node *n)
{
        for (size_t i = 0; i < n->count; i++) {
                char path[200];
                (void)snprintf(path, sizeof path, "%s%s%.100s", prefix, *prefix ? "." : "", n->names[i]);
                const struct srt_row *row = find_row(path);
                int e = 0;
                if (!row)
                        report_unknown(r, path, n->name_places[i]);
                else if (row->kind != SRT_MAP)
                        e = read_row(r, row, n->items[i]);
                else if (n->items[i]->kind == NODE_MAP)
                        e = read_object(r, path, n->items[i]);
                else
                        report_pattern(r, row, n->items[i], "an object");
                if (e)
                        return e;
        }
        return 0;
}

/* srt's own defaults, which the keys of the file then change. */
static int add_defaults(struct settings *s, struct source from)
{
        int e = settings_append(s, &(struct setting){ .key = KEY_READ, .text = "broad", .number = 1, .from = from });
        if (e)
                return e;
        return settings_append(s, &(struct setting){ .key = KEY_WORKSPACE, .text = "ro", .number = 1, .from = from });
}

int settings_parse_srt(struct settings *s, const char *name, const char *text, size_t length, const char *base)
{
        struct node *root = NULL;
        int e = diagnostics_add_input(s->messages, name, text,
                                      length < POLICY_FILE_BYTES_MAX ? length : POLICY_FILE_BYTES_MAX);
        if (e)
                return e;
        e = node_from_json(s->arena, name, text, length, s->messages, &root);
        if (e)
                return e;
        struct srt_reader r = { .settings = s, .base = arena_strdup(s->arena, base) };
        if (!r.base)
                return -ENOMEM;
        if (root->kind != NODE_MAP) {
                diagnostic_error(s->messages, root->from, "expected an object with network and filesystem",
                                 "the settings are not an object");
                return 1;
        }
        s->layer++;
        e = add_defaults(s, (struct source){ root->from.name, 1, 1 });
        if (e == 0)
                e = read_object(&r, "", root);
        return e ? e : r.failed;
}

/* A JSON object with at least one of srt's keys. All of them differ from those of the native file. */
bool settings_is_srt(const char *text, size_t length)
{
        CLEANUP_JSON json_t *root = NULL;
        size_t blank = 0;
        while (blank < length && strchr(" \t\r\n", text[blank]) && text[blank])
                blank++;
        if (blank == length || text[blank] != '{' || length > POLICY_FILE_BYTES_MAX ||
             json_parse_bounded(text, length, POLICY_FILE_BYTES_MAX, POLICY_DEPTH_MAX, &root, NULL, NULL, NULL) < 0)
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                const char *dot = strchr(rows[i].path, '.');
                char group[32];
                (void)snprintf(group, sizeof group, "%.*s", (int)(dot ? dot - rows[i].path : 0), rows[i].path);
                const json_t *map = dot ? json_object_get(root, group) : root;
                if (rows[i].kind != SRT_MAP && json_object_get(map, dot ? dot + 1 : rows[i].path))
                        return true;
        }
        return false;
}
