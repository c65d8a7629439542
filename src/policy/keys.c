/* The table of keys, and how each kind of value is written; see keys.h. */
#include "policy/keys.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "policy/caps.h"
#include "policy/modules.h"
#include "policy/pattern.h"
#include "policy/units.h"

const char *const level_words[] = { "off", "standard", "strict", "maximum", NULL };
const char *const namespace_words[] = { "user", "pid", "mount", "ipc", "uts", "cgroup", "net", NULL };
const char *const read_words[] = { "listed", "broad", NULL };
const char *const live_words[] = { "off", "new", "all", NULL };
const char *const workspace_words[] = { "rw", "ro", NULL };
const char *const mode_words[] = { "accept-edits", "auto", NULL };
const char *const transport_words[] = { "stdio", "sse", "http", NULL };
#define WORD(word, granted, of_server) word,
const char *const permission_words[] = { PERMISSIONS(WORD) NULL };

#define MCP_SERVER "tools.modules.mcp.config.servers.*"
#define EGRESS_HELP "Hosts that the module may reach; they join network.allowed_domains."

const struct key keys[KEY_COUNT] = {
        [KEY_MODE] = { "mode", VALUE_WORD, .words = mode_words, .in_ceiling = true, .fallback = "accept-edits",
                       .help = "What an agent's tools may do without asking: edits and inspection, or everything; "
                               "the box is the guard in both." },
        [KEY_BEST_EFFORT] = { "best_effort", VALUE_BOOL, .in_ceiling = true, .fallback = "false",
                              .help = "Run even when a rule cannot be held on this machine. What is missing is "
                                      "printed and recorded. Without it ringwall refuses." },
        [KEY_WORKDIR] = { "runtime.workdir", VALUE_PATH, .fallback = "the current directory",
                          .help = "The workspace. A relative path starts from the directory of this file." },
        [KEY_TIMEOUT] = { "runtime.timeout", VALUE_DURATION, .min = 1, .max = 31536000, .in_ceiling = true,
                          .help = "How long a command may run." },
        [KEY_ENV] = { "runtime.env", VALUE_ENV, .list = true,
                      .help = "Variables for the box: NAME passes one on, NAME=VALUE sets it. Besides these it gets "
                              "PATH, HOME, LANG, TERM, USER and TMPDIR alone." },
        [KEY_LEVEL] = { "security.sandbox.level", VALUE_WORD, .words = level_words, .in_ceiling = true,
                        .fallback = "strict",
                        .help = "Which walls stand: standard is Landlock, seccomp, hardening and limits; strict adds "
                                "namespaces and a new root; maximum adds a network namespace; off is none." },
        [KEY_NAMESPACES] = { "security.sandbox.namespaces", VALUE_WORD, .list = true, .replaces = true,
                             .words = namespace_words, .in_ceiling = true, .fallback = "what the level has",
                             .help = "Exactly these namespaces instead of the level's own." },
        [KEY_POOL_SIZE] = { "security.sandbox.pool_size", VALUE_NUMBER, .min = 1, .max = 32, .in_ceiling = true,
                            .fallback = "2", .help = "Boxes kept warm for the next session." },
        [KEY_POOL_MAX] = { "security.sandbox.pool_max", VALUE_NUMBER, .min = 1, .max = 64, .in_ceiling = true,
                           .fallback = "8", .help = "Boxes at the most, warm and busy." },
        [KEY_SESSION_TIMEOUT] = { "security.sandbox.session_timeout", VALUE_DURATION, .min = 60, .max = 31536000,
                                  .in_ceiling = true, .fallback = "3600", .help = "How long a session may last." },
        [KEY_IDLE_TIMEOUT] = { "security.sandbox.idle_timeout", VALUE_DURATION, .min = 30, .max = 31536000,
                               .in_ceiling = true, .fallback = "300",
                               .help = "A session without a call for this long ends." },
        [KEY_SNAPSHOT] = { "security.sandbox.workspace_snapshot", VALUE_BOOL, .fallback = "false",
                           .help = "Each session works on a copy-on-write snapshot of the workspace, to be committed "
                                   "or discarded. Needs level maximum." },
        [KEY_AUDIT] = { "security.sandbox.audit", VALUE_BOOL, .in_ceiling = true, .fallback = "false",
                        .help = "Keep a record of each session, append-only, outside the box." },
        [KEY_MDWE] = { "security.sandbox.mdwe", VALUE_BOOL, .in_ceiling = true, .fallback = "false",
                       .help = "Memory that was written never becomes code (Linux 6.3). Programs that compile while they "
                               "run cannot bear it: Node, Java, LuaJIT." },
        [KEY_ALLOW_PATHS] = { "security.sandbox.allow_paths", VALUE_GRANT, .list = true, .in_ceiling = true,
                              .help = "Paths beyond the workspace: /path or /path:ro to read, /path:rw to write." },
        [KEY_RESOURCES] = { "security.sandbox.resources", VALUE_MAP, .in_ceiling = true,
                            .help = "Limits on the whole box. Without this block there are none." },
        [KEY_MEMORY] = { "security.sandbox.resources.memory", VALUE_SIZE, .min = 1 << 20, .max = 1ULL << 50,
                         .in_ceiling = true, .help = "Memory: 512MB, 1.5GiB." },
        [KEY_CPU] = { "security.sandbox.resources.cpu", VALUE_CPU, .min = 10, .max = 4096000, .in_ceiling = true,
                      .help = "Processor time: 2, 0.5, 2 cores, 150%." },
        [KEY_PROCESSES] = { "security.sandbox.resources.processes", VALUE_NUMBER, .min = 1, .max = 4194304,
                            .in_ceiling = true, .fallback = "10 inside a resources block, else no limit",
                            .help = "Processes and threads at the same time." },
        [KEY_READ] = { "filesystem.read", VALUE_WORD, .words = read_words, .in_ceiling = true, .fallback = "listed",
                       .help = "listed: the workspace, the system's directories, the toolchains that PATH leads to, "
                               "and what is allowed by name. broad: everything but the sensitive set." },
        [KEY_WORKSPACE] = { "filesystem.workspace", VALUE_WORD, .words = workspace_words, .in_ceiling = true,
                            .fallback = "rw", .help = "Whether the workspace may be written." },
        [KEY_ALLOW_WRITE] = { "filesystem.allow_write", VALUE_PATH, .list = true, .in_ceiling = true,
                              .help = "More paths that may be written (and read)." },
        [KEY_DENY_WRITE] = { "filesystem.deny_write", VALUE_PATTERN, .list = true, .in_ceiling = true,
                             .help = "Patterns that may not be written, whatever allows it." },
        [KEY_DENY_READ] = { "filesystem.deny_read", VALUE_PATTERN, .list = true, .managed = true, .in_ceiling = true,
                            .help = "Patterns that may be neither read nor written, unless a narrower path is "
                                    "allowed. +name and -name add and release entries of the sensitive set." },
        [KEY_PROTECT] = { "filesystem.protect", VALUE_PATTERN, .list = true, .managed = true, .in_ceiling = true,
                          .help = "Names below each writable directory that may be read but never written, replaced "
                                  "or moved. +name and -name add and release entries of the protected set." },
        [KEY_ALLOWED_DOMAINS] = { "network.allowed_domains", VALUE_DOMAIN, .list = true, .managed = true,
                                  .in_ceiling = true,
                                  .help = "Hosts that may be reached: example.com, *.example.com, example.com:8443. "
                                          "Without a port, 443 and 80, and 22 of hosts that are known for git. "
                                          "+dev-network, +npm, +github… add hosts of the dev-network set, -name "
                                          "leaves one out. An empty list allows nothing." },
        [KEY_DENIED_DOMAINS] = { "network.denied_domains", VALUE_DOMAIN, .list = true, .in_ceiling = true,
                                 .help = "Hosts that may not be reached, whatever allows it; without a port, on "
                                         "none." },
        [KEY_ALLOW_PRIVATE] = { "network.allow_private", VALUE_DOMAIN, .list = true, .in_ceiling = true,
                                .help = "Hosts whose addresses may be private, loopback, link-local and the like, "
                                        "which are refused otherwise. They must be allowed besides; without a port, "
                                        "it counts on each port on which they are." },
        [KEY_ALLOW_LOCAL_PORTS] = { "network.allow_local_ports", VALUE_NUMBER, .list = true, .min = 1, .max = 65535,
                                    .in_ceiling = true,
                                    .help = "TCP services on the host's loopback that the box reaches at 127.0.0.1 and "
                                            "the same port." },
        [KEY_PUBLISH] = { "network.publish", VALUE_NUMBER, .list = true, .min = 1, .max = 65535, .in_ceiling = true,
                          .help = "TCP servers in the box, at 127.0.0.1 and this port, that the host reaches on its "
                                  "own loopback at the same port." },
        [KEY_PROXY_VARIABLES] = { "network.proxy_variables", VALUE_BOOL, .in_ceiling = true, .fallback = "false",
                                  .help = "Set HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY in the box. At level "
                                          "standard they always are; at the others programs reach allowed hosts without "
                                          "them too." },
        [KEY_LIVE] = { "network.live", VALUE_WORD, .words = live_words, .in_ceiling = true, .fallback = "off",
                       .help = "Follow the policy's files while the box runs: when one changes, the hosts that it names "
                               "are those that may be reached. new: by new connections. all: open connections to others "
                               "are closed." },
        [KEY_UNIX_SOCKETS] = { "network.unix_sockets", VALUE_PATH, .list = true, .in_ceiling = true,
                               .help = "Unix sockets of the host's that the box may connect to, at the same path: an "
                                       "ssh-agent's, say. What listens there acts outside the box, for whoever asks." },
        [KEY_DENIED_COMMANDS] = { "gate.denied_commands", VALUE_COMMAND, .list = true, .managed = true,
                                  .in_ceiling = true,
                                  .help = "Commands that the Bash tool refuses where a command line calls them, in any "
                                          "directory; mkfs.* is a pattern. +name and -name add and release entries of "
                                          "the denied-commands set. It helps against accidents: a command that hides "
                                          "its name passes and meets the box." },
        [KEY_SECRET] = { "gate.secrets.*", VALUE_TEXT, .in_ceiling = true,
                         .help = "A regular expression for a secret of your own. What fits it is left out of every "
                                 "tool's answer, with [REDACTED:name] in its place. The name has small letters, digits "
                                 "and hyphens." },
        [KEY_MODULES] = { "tools.modules", VALUE_MAP,
                          .help = "The modules that the agent's application has. With this block, programs, forks "
                                  "and sockets are allowed only as far as a module or a grant needs them." },
        [KEY_MODULE_FILESYSTEM] = { "tools.modules.filesystem", VALUE_MAP, .help = "File tools." },
        [KEY_MODULE_FILESYSTEM_PATHS] = { "tools.modules.filesystem.constraints.paths", VALUE_GRANT, .list = true,
                                          .defaults_to_write = true,
                                          .help = "Paths that the file tools may read and write; :ro to read only." },
        [KEY_MODULE_SHELL] = { "tools.modules.shell", VALUE_MAP, .help = "Runs commands: allows exec and fork." },
        [KEY_MODULE_GIT] = { "tools.modules.git", VALUE_MAP, .help = "Runs git: allows exec and fork." },
        [KEY_MODULE_WEB] = { "tools.modules.web", VALUE_MAP, .help = "Fetches pages: allows sockets." },
        [KEY_MODULE_WEB_DOMAINS] = { "tools.modules.web.config.egress.allowed_domains", VALUE_DOMAIN, .list = true,
                                     .help = EGRESS_HELP },
        [KEY_MODULE_HTTP] = { "tools.modules.http", VALUE_MAP, .help = "Calls HTTP services: allows sockets." },
        [KEY_MODULE_HTTP_DOMAINS] = { "tools.modules.http.config.egress.allowed_domains", VALUE_DOMAIN, .list = true,
                                      .help = EGRESS_HELP },
        [KEY_MODULE_DATABASE] = { "tools.modules.database", VALUE_MAP,
                                  .help = "Talks to databases: allows sockets and the host localhost. The port of one "
                                          "on this machine belongs in network.allow_local_ports." },
        [KEY_MODULE_DATABASE_DOMAINS] = { "tools.modules.database.config.egress.allowed_domains", VALUE_DOMAIN,
                                          .list = true, .help = EGRESS_HELP },
        [KEY_MODULE_LLM] = { "tools.modules.llm_provider", VALUE_MAP,
                             .help = "Talks to a model provider: allows sockets." },
        [KEY_MODULE_LLM_DOMAINS] = { "tools.modules.llm_provider.config.egress.allowed_domains", VALUE_DOMAIN,
                                     .list = true, .help = EGRESS_HELP },
        [KEY_MODULE_MCP] = { "tools.modules.mcp", VALUE_MAP, .help = "MCP servers, each in a box of its own." },
        [KEY_SERVER] = { MCP_SERVER, VALUE_MAP, .help = "One server, by the name that you give it." },
        [KEY_SERVER_TRANSPORT] = { MCP_SERVER ".transport", VALUE_WORD, .words = transport_words, .fallback = "stdio",
                                   .help = "How the server is spoken to." },
        [KEY_SERVER_COMMAND] = { MCP_SERVER ".command", VALUE_TEXT, .list = true, .one_or_list = true,
                                 .help = "What starts a stdio server: a command line, or a list of words." },
        [KEY_SERVER_ARGS] = { MCP_SERVER ".args", VALUE_TEXT, .list = true,
                              .help = "More words for the command." },
        [KEY_SERVER_ENV] = { MCP_SERVER ".env.*", VALUE_TEXT, .help = "A variable for the server." },
        [KEY_SERVER_URL] = { MCP_SERVER ".url", VALUE_TEXT, .help = "Where an sse or http server answers." },
        [KEY_SERVER_SANDBOX] = { MCP_SERVER ".sandbox", VALUE_MAP,
                                 .help = "What the server may do. Required: a server gets nothing undeclared." },
        [KEY_SERVER_PERMISSIONS] = { MCP_SERVER ".sandbox.permissions", VALUE_WORD, .list = true,
                                     .words = permission_words, .help = "Kinds of rights the server has." },
        [KEY_SERVER_READ] = { MCP_SERVER ".sandbox.paths.read", VALUE_PATH, .list = true,
                              .help = "Paths it may read; needs fs.read." },
        [KEY_SERVER_WRITE] = { MCP_SERVER ".sandbox.paths.write", VALUE_PATH, .list = true,
                               .help = "Paths it may write; needs fs.write." },
        [KEY_SERVER_HOSTS] = { MCP_SERVER ".sandbox.allowed_hosts", VALUE_DOMAIN, .list = true,
                               .help = "Hosts it may reach; needs net.http." },
        [KEY_GRANT] = { "tools.capabilities.grant", VALUE_WORD, .list = true, .words = permission_words,
                        .help = "Rights beyond what the modules need." },
        [KEY_DENY] = { "tools.capabilities.deny", VALUE_WORD, .list = true, .words = permission_words,
                       .in_ceiling = true, .help = "Rights taken away, whatever grants them." },
};

int key_word_index(const char *const *words, const char *word)
{
        for (int i = 0; words[i]; i++)
                if (strcmp(words[i], word) == 0)
                        return i;
        return -1;
}

static const char *parse_quantity(const struct key *key, bool parsed, uint64_t number, struct value *ret)
{
        if (!parsed)
                return "this cannot be read";
        if (number < key->min)
                return "this is too small";
        if (number > key->max)
                return "this is too large";
        ret->number = number;
        return NULL;
}

static const char *parse_word(const struct key *key, const char *text, struct value *ret)
{
        int index = key_word_index(key->words, text);
        if (index < 0)
                return "this is not a known word";
        ret->number = (uint64_t)index;
        return NULL;
}

static const char *parse_bool(const char *text, struct value *ret)
{
        ret->number = strcmp(text, "true") == 0;
        return ret->number || strcmp(text, "false") == 0 ? NULL : "this is neither true nor false";
}

/* The suffix is taken off as a whole and only where it ends the text: /data/repo keeps its letters. */
static const char *parse_grant(const struct key *key, struct value *ret)
{
        ret->number = key->defaults_to_write ? ACCESS_WRITE : ACCESS_READ;
        size_t n = ret->length;
        if (n < 3 || ret->text[n - 3] != ':')
                return NULL;
        bool ro = strcmp(ret->text + n - 2, "ro") == 0, rw = strcmp(ret->text + n - 2, "rw") == 0;
        if (!ro && !rw)
                return NULL;
        ret->number = rw ? ACCESS_WRITE : ACCESS_READ_ONLY;
        ret->length = n - 3;
        return ret->length ? NULL : "the path in front of it is empty";
}

static const char *parse_path(const struct key *key, const char *text, struct value *ret)
{
        if (!*text)
                return "an empty path names nothing";
        if (key->kind == VALUE_PATTERN)
                return pattern_check(text);
        if (pattern_is_glob(text))
                return "a pattern cannot be granted: name the directory (write \\* for the character itself)";
        const char *wrong = pattern_check(text);
        if (wrong)
                return wrong;
        return key->kind == VALUE_GRANT ? parse_grant(key, ret) : NULL;
}

static const char *parse_command(const char *text)
{
        if (!*text)
                return "an empty name names nothing";
        if (strchr(text, '/'))
                return "a command is denied in every directory: write its name alone";
        if (strpbrk(text, " \t\n"))
                return "a command's name has no spaces: its arguments cannot be denied";
        if (strlen(text) > CAP_NAME)
                return "this is longer than a file's name can be";
        if (strcmp(text, "**") == 0)
                return "write * for every name";
        return pattern_check(text);
}

static const char *parse_env(const char *text)
{
        size_t n = strcspn(text, "=");
        if (n == 0 || isdigit((unsigned char)*text))
                return "a variable's name begins with a letter or '_'";
        for (size_t i = 0; i < n; i++)
                if (!isalnum((unsigned char)text[i]) && text[i] != '_')
                        return "a variable's name has only letters, digits and '_'";
        return NULL;
}

const char *key_parse_value(struct arena *a, const struct key *key, const char *text, domain_to_ascii *to_ascii,
                            struct value *ret)
{
        uint64_t n = 0;
        unsigned long long whole = 0;
        *ret = (struct value){ .text = text, .length = strlen(text) };
        switch (key->kind) {
        case VALUE_WORD:
                return parse_word(key, text, ret);
        case VALUE_BOOL:
                return parse_bool(text, ret);
        case VALUE_NUMBER: {
                bool parsed = text_to_number(text, ret->length, &whole);
                return parse_quantity(key, parsed, whole, ret);
        }
        case VALUE_SIZE: {
                bool parsed = units_parse_size(text, &n);
                return parse_quantity(key, parsed, n, ret);
        }
        case VALUE_CPU: {
                bool parsed = units_parse_cpu(text, &n);
                return parse_quantity(key, parsed, n, ret);
        }
        case VALUE_DURATION: {
                bool parsed = units_parse_duration(text, &n);
                return parse_quantity(key, parsed, n, ret);
        }
        case VALUE_PATH:
        case VALUE_GRANT:
        case VALUE_PATTERN:
                return parse_path(key, text, ret);
        case VALUE_DOMAIN:
                return domain_parse(a, text, to_ascii, &ret->domain);
        case VALUE_COMMAND:
                return parse_command(text);
        case VALUE_ENV:
                return parse_env(text);
        case VALUE_TEXT:
        case VALUE_MAP:
                break;
        }
        return NULL;
}

const char *key_check_secret(const char *name, const char *expression)
{
        size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
        if (!length || name[length])
                return "the name of a secret has small letters, digits and hyphens";
        if (!*expression)
                return "an empty expression fits everywhere";
        return strlen(expression) > CAP_EXPRESSION ? "the expression is too long" : NULL;
}

static void describe_bounds(const struct key *key, const char *what, void (*print)(uint64_t, struct text *),
                            struct text *out)
{
        text_format(out, "%s of at least ", what);
        print(key->min, out);
        text_add(out, " and at most ");
        print(key->max, out);
}

void key_describe_value(const struct key *key, struct text *out)
{
        switch (key->kind) {
        case VALUE_WORD:
                text_add(out, "one of ");
                for (size_t i = 0; key->words[i]; i++)
                        text_format(out, "%s%s", i ? ", " : "", key->words[i]);
                break;
        case VALUE_BOOL:
                text_add(out, "true or false");
                break;
        case VALUE_NUMBER:
                text_format(out, "a whole number from %llu to %llu", (unsigned long long)key->min,
                            (unsigned long long)key->max);
                break;
        case VALUE_SIZE:
                describe_bounds(key, "a size such as 512MB or 1.5GiB,", units_print_size, out);
                break;
        case VALUE_CPU:
                describe_bounds(key, "a number of cores such as 2, 0.5 or 150%,", units_print_cpu, out);
                break;
        case VALUE_DURATION:
                describe_bounds(key, "seconds, or a duration such as 10m or 1h30m,", units_print_duration, out);
                break;
        case VALUE_PATH:
                text_add(out, "a path: absolute, ~/…, {workspace}/…, or relative");
                break;
        case VALUE_GRANT:
                text_add(out, "a path, with :ro or :rw behind it if you like");
                break;
        case VALUE_PATTERN:
                text_add(out, "a path or a pattern with *, ?, [] and **");
                break;
        case VALUE_DOMAIN:
                text_add(out, "a host such as example.com, *.example.com or example.com:8443");
                break;
        case VALUE_COMMAND:
                text_add(out, "a command's name, or a pattern with *, ? and []");
                break;
        case VALUE_ENV:
                text_add(out, "NAME or NAME=VALUE");
                break;
        case VALUE_TEXT:
                text_add(out, "text");
                break;
        case VALUE_MAP:
                text_add(out, "a map");
                break;
        }
}

const struct key *key_find(const char *path)
{
        for (size_t i = 0; i < KEY_COUNT; i++)
                if (strcmp(keys[i].path, path) == 0)
                        return &keys[i];
        return NULL;
}

/* The name directly below prefix in this row's path, or NULL. */
static const char *child_of(const char *path, const char *prefix, size_t *ret_length)
{
        size_t n = strlen(prefix);
        if (n) {
                if (strncmp(path, prefix, n) != 0 || path[n] != '.')
                        return NULL;
                path += n + 1;
        }
        *ret_length = strcspn(path, ".");
        return path;
}

bool key_next_child(const char *prefix, size_t *position, const char **ret_name, size_t *ret_length)
{
        for (; *position < KEY_COUNT; ++*position) {
                const char *name = child_of(keys[*position].path, prefix, ret_length);
                bool seen = false;
                for (size_t i = 0; name && !seen && i < *position; i++) {
                        size_t length = 0;
                        const char *earlier = child_of(keys[i].path, prefix, &length);
                        seen = earlier && length == *ret_length && strncmp(earlier, name, length) == 0;
                }
                if (!name || seen)
                        continue;
                *ret_name = name;
                ++*position;
                return true;
        }
        return false;
}
