/*
 * Default ports; see default_ports.h. A person who allows a host means its web server, so every host has the default
 * ports 443 and 80. Only hosts that are known to serve git over ssh have 22 as well: ssh to another host can be a shell
 * or a tunnel that the person did not mean to allow. For git on another host a policy lists host:22.
 *
 * The list is searched for the requested name, not for the pattern that allows it: *.github.com allows 22 for
 * gist.github.com and for no other name below github.com.
 */
#include "policy/default_ports.h"

#include <string.h>

enum { PORT_HTTPS = 443, PORT_HTTP = 80, PORT_SSH = 22 };

const uint16_t default_ports[DEFAULT_PORT_COUNT] = { PORT_HTTPS, PORT_HTTP, PORT_SSH };

/*
 * Public forges, by the host names in their ssh clone URLs. ssh.github.com, altssh.gitlab.com and altssh.bitbucket.org
 * are left out: they serve ssh on port 443, where egress passes only TLS.
 */
const char *const git_hosts[] = {
        "github.com",
        "gist.github.com",
        "gitlab.com",
        "bitbucket.org",
        "codeberg.org",
        "git.sr.ht",
        "ssh.dev.azure.com",
        "vs-ssh.visualstudio.com",
        NULL,
};

static bool is_git_host(const char *name)
{
        for (size_t i = 0; git_hosts[i]; i++)
                if (strcmp(git_hosts[i], name) == 0)
                        return true;
        return false;
}

bool port_is_default(const char *name, uint16_t port)
{
        return port == PORT_HTTPS || port == PORT_HTTP || (port == PORT_SSH && name && is_git_host(name));
}
