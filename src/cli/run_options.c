/* The flags of a policy; see run_options.h. */
#include "cli/run_options.h"

static const char policy[] = "Policy", files[] = "Files", network[] = "Network", resources[] = "Resources",
                  environment[] = "Environment";

static const struct option_row rows[] = {
        { RUN_OPTION_POLICY, 'p', "policy", "FILE", OPTION_FILE, true, policy,
          "Add this policy to the machine's and your own." },
        { RUN_OPTION_SETTINGS, 0, "settings", "FILE", OPTION_FILE, false, policy,
          "Add settings in the JSON format of srt." },
        { RUN_OPTION_CEILING, 0, "ceiling", "FILE", OPTION_FILE, true, policy,
          "Intersect with this policy: it can only take away." },
        { RUN_OPTION_LEVEL, 0, "level", "off|standard|strict|maximum", OPTION_WORDS, false, policy,
          "How strongly to confine; see ringwall-policy(5)." },
        { RUN_OPTION_BEST_EFFORT, 0, "best-effort", NULL, OPTION_NONE, false, policy,
          "Go on where this machine cannot enforce a rule, and say which." },
        { RUN_OPTION_MDWE, 0, "mdwe", NULL, OPTION_NONE, false, policy,
          "Never let memory that was written become code. No JIT compiler (Node, Java) can bear it." },

        { RUN_OPTION_WORKSPACE, 'w', "workspace", "DIR", OPTION_DIR, true, files,
          "Work in this directory, which may be read and written. Further ones may be too; for mcp each may have a name, as in "
          "NAME=DIR." },
        { RUN_OPTION_READ, 0, "read", "listed|broad", OPTION_WORDS, false, files,
          "Allow reading only what is listed, or everything except what is sensitive." },
        { RUN_OPTION_RO, 0, "ro", "PATH", OPTION_FILE, true, files, "Allow reading this." },
        { RUN_OPTION_RW, 0, "rw", "PATH", OPTION_FILE, true, files, "Allow reading and writing this." },
        { RUN_OPTION_DENY_READ, 0, "deny-read", "PATH", OPTION_FILE, true, files,
          "Forbid reading this, even inside what may be read." },
        { RUN_OPTION_DENY_WRITE, 0, "deny-write", "PATH", OPTION_FILE, true, files,
          "Forbid writing this, even inside what may be written." },

        { RUN_OPTION_ALLOW_DOMAIN, 0, "allow-domain", "DOMAIN", OPTION_FREE, true, network,
          "Allow reaching this host: on ports 443 and 80, on 22 where git is served, or on the one in HOST:PORT." },
        { RUN_OPTION_ALLOW_PRIVATE, 0, "allow-private", "DOMAIN", OPTION_FREE, true, network,
          "Let this host, which is allowed besides, have private addresses." },
        { RUN_OPTION_ALLOW_LOCAL_PORT, 0, "allow-local-port", "PORT", OPTION_FREE, true, network,
          "Allow reaching this port of the host's loopback, at 127.0.0.1 in the box." },
        { RUN_OPTION_PUBLISH, 0, "publish", "PORT", OPTION_FREE, true, network,
          "Let the host's loopback reach this port of 127.0.0.1 in the box." },
        { RUN_OPTION_LIVE, 0, "live", "off|new|all", OPTION_WORDS, false, network,
          "Follow the policy's files: when one changes, its hosts hold for new connections, or for all." },
        { RUN_OPTION_UNIX_SOCKET, 0, "unix-socket", "PATH", OPTION_FILE, true, network,
          "Allow connecting to this unix socket, an ssh-agent's for example." },

        { RUN_OPTION_MEMORY, 0, "memory", "SIZE", OPTION_FREE, false, resources, "Use no more memory than this." },
        { RUN_OPTION_CPU, 0, "cpu", "CORES", OPTION_FREE, false, resources, "Use no more processor cores than this." },
        { RUN_OPTION_PROCESSES, 0, "processes", "N", OPTION_FREE, false, resources,
          "Have no more processes at once than this." },
        { RUN_OPTION_TIMEOUT, 0, "timeout", "DURATION", OPTION_FREE, false, resources, "Run no longer than this." },

        { RUN_OPTION_ENV, 0, "env", "NAME[=VALUE]", OPTION_FREE, true, environment,
          "Set this variable; without a value, hand on the one from outside." },
};

const struct options_table run_options_policy = OPTIONS_TABLE(rows);

static const char reports[] = "Reports";

static const struct option_row report_rows[] = {
        { RUN_OPTION_AUDIT, 0, "audit", "FILE", OPTION_FILE, false, reports,
          "Append what was applied, intercepted, and how it ended to this file, as JSON lines." },
        { RUN_OPTION_JSON_REPORT, 0, "json-report", "FD|FILE", OPTION_FILE, false, reports,
          "Write what was enforced, what was refused and how it ended as JSON to this descriptor or file." },
        { RUN_OPTION_QUIET, 'q', "quiet", NULL, OPTION_NONE, false, reports,
          "Say nothing but what ringwall itself failed in." },
        { RUN_OPTION_VERBOSE, 'v', "verbose", NULL, OPTION_NONE, false, reports,
          "Say what was enforced and refused, also when the command succeeded." },
};

const struct options_table run_options_report = OPTIONS_TABLE(report_rows);
