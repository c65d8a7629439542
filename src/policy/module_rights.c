/* The inference tables; see module_rights.h. */
#include "policy/module_rights.h"

#include "base/memory.h"

/* A shell that cannot fork runs no command, so modules that start programs need both exec and fork. */
const struct module_rights module_rows[] = {
        { KEY_MODULE_FILESYSTEM, 0, KEY_COUNT, NULL },
        { KEY_MODULE_SHELL, RIGHT_EXEC | RIGHT_FORK, KEY_COUNT, NULL },
        { KEY_MODULE_GIT, RIGHT_EXEC | RIGHT_FORK, KEY_COUNT, NULL },
        { KEY_MODULE_WEB, RIGHT_NETWORK, KEY_MODULE_WEB_DOMAINS, NULL },
        { KEY_MODULE_HTTP, RIGHT_NETWORK, KEY_MODULE_HTTP_DOMAINS, NULL },
        { KEY_MODULE_DATABASE, RIGHT_NETWORK, KEY_MODULE_DATABASE_DOMAINS, "localhost" },
        { KEY_MODULE_LLM, RIGHT_NETWORK, KEY_MODULE_LLM_DOMAINS, NULL },
        { KEY_MODULE_MCP, 0, KEY_COUNT, NULL },
};
const size_t module_row_count = ARRAY_SIZE(module_rows);

#define RIGHTS(word, granted, of_server) { granted, of_server },
const struct permission permissions[] = { PERMISSIONS(RIGHTS) };

const struct transport_need transport_needs[] = {
        { RIGHT_EXEC, "process.exec", "its program cannot be started" },
        { RIGHT_NETWORK, "net.http", "it cannot be reached" },
        { RIGHT_NETWORK, "net.http", "it cannot be reached" },
};
