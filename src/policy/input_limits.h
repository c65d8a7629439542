/*
 * All limits on what a policy may contain. They are far above what people write, and low enough that no input makes the
 * compiler slow or use much memory. Input beyond a limit gets an error message of its own.
 */
#ifndef RINGWALL_POLICY_INPUT_LIMITS_H
#define RINGWALL_POLICY_INPUT_LIMITS_H

enum policy_input_limit {
        POLICY_FILE_BYTES_MAX = 1 << 20,     /* one policy file */
        POLICY_DEPTH_MAX = 24,               /* nested maps and lists */
        POLICY_NODES_MAX = 40000,            /* values in one file; an alias counts each time it is used */
        POLICY_KEYS_MAX = 1024,              /* keys of one map */
        POLICY_ANCHORS_MAX = 256,            /* YAML anchors in one file */
        POLICY_MESSAGES_MAX = 40,            /* messages shown for one run; the rest are only counted */
        POLICY_TEXT_MAX = 4096,              /* bytes of one value: PATH_MAX */
        POLICY_SETTINGS_MAX = 16384,         /* values of all files and flags together */
        POLICY_GRANTS_MAX = 2048,            /* paths granted to one box */
        POLICY_PATTERNS_MAX = 1024,          /* glob patterns in denials; relative ones of protect are apart */
        POLICY_ENV_MAX = 512,                /* environment variables of one box */
        POLICY_HOSTS_MAX = 4096,             /* host rules of one box */
        POLICY_PRIVATE_HOSTS_MAX = 256,      /* entries of network.allow_private, before a ceiling splits them */
        POLICY_PORTS_MAX = 64,               /* host ports that a box may reach; published ports count apart */
        POLICY_SOCKETS_MAX = 64,             /* unix sockets of the host that a box may connect to */
        POLICY_WRITABLE_MAX = 1024,          /* writable directories of one box */
        POLICY_RULES_MAX = 1 << 17,          /* file and host rules of a plan and its servers together */
        POLICY_COMMANDS_MAX = 256,           /* denied commands */
        POLICY_SECRETS_MAX = 64,             /* secrets (name and regular expression) that policies add */
        POLICY_EXPRESSION_MAX = 1000,        /* bytes of the regular expression of one secret */
        POLICY_SERVERS_MAX = 128,            /* MCP servers */
        POLICY_LINE_SHOWN_MAX = 120,         /* columns of a source line under an error */
        ARENA_BYTES_MAX = 128 << 20,         /* memory of one compilation */
        DOMAIN_MAX = 253,                    /* bytes of a host name without its port (RFC 1035) */
        DOMAIN_LABEL_MAX = 63,               /* bytes of one label of a host name */
        PATH_COMPONENTS_MAX = 512,           /* components of one path */
        PATH_NAME_MAX = 255,                 /* bytes of one component: NAME_MAX */
};

#endif
