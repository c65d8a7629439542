/*
 * Every bound on what a policy may contain, in one place. They are far above what people write and low enough that no
 * input makes the compiler slow or large; each has an error that names it.
 */
#ifndef RINGWALL_POLICY_CAPS_H
#define RINGWALL_POLICY_CAPS_H

enum policy_cap {
        CAP_FILE_BYTES = 1 << 20,     /* one policy file */
        CAP_DEPTH = 24,               /* nested maps and lists */
        CAP_NODES = 40000,            /* values in one file, aliases counted as often as they are used */
        CAP_KEYS = 1024,              /* keys of one map */
        CAP_ANCHORS = 256,            /* YAML anchors in one file */
        CAP_MESSAGES = 40,            /* errors shown for one run; the rest are counted */
        CAP_TEXT = 4096,              /* one value: the kernel's own limit on a path */
        CAP_SETTINGS = 16384,         /* values of all files and flags together */
        CAP_GRANTS = 2048,            /* paths granted to one box */
        CAP_PATTERNS = 1024,          /* denials with pattern characters in one box */
        CAP_ENV = 512,                /* variables of one box */
        CAP_HOSTS = 4096,             /* host rules of one box */
        CAP_PRIVATE_HOSTS = 256,      /* hosts that policies let be private; ceilings may cut one into several */
        CAP_PORTS = 64,               /* ports of the host's that a box reaches; published ones likewise */
        CAP_SOCKETS = 64,             /* unix sockets of the host's that a box may connect to */
        CAP_WRITABLE = 1024,          /* writable directories of one box */
        CAP_RULES = 1 << 17,          /* file rules of one plan, those of its servers included; host rules likewise */
        CAP_COMMANDS = 256,           /* denied commands */
        CAP_SECRETS = 64,             /* shapes of secrets that policies add */
        CAP_EXPRESSION = 1000,        /* bytes of the regular expression of one */
        CAP_SERVERS = 128,            /* MCP servers */
        CAP_LINE_SHOWN = 120,         /* columns of a source line under an error */
        CAP_ARENA_BYTES = 128 << 20,  /* memory of one compilation */
        CAP_DOMAIN = 253,             /* a host name without its port (RFC 1035) */
        CAP_LABEL = 63,               /* one label of it */
        CAP_COMPONENTS = 512,         /* names in one path */
        CAP_NAME = 255,               /* one name of a path: the kernel's own limit */
};

#endif
