/*
 * Default ports; see default_ports.h. A person who allows a host means its web server, so 443 and 80 go with every
 * name. 22 goes only with hosts that are known to serve git there: behind ssh is anything, a shell or a tunnel, and on
 * a host that serves no git nobody asked for that. Whoever runs git elsewhere writes host:22.
 *
 * The name that is asked for is looked up, not the pattern that allows it: *.github.com opens 22 for gist.github.com
 * and for nothing else below it.
 */
#include "policy/default_ports.h"

#include <string.h>

enum { PORT_HTTPS = 443, PORT_HTTP = 80, PORT_SSH = 22 };

const uint16_t default_ports[DEFAULT_PORT_COUNT] = { PORT_HTTPS, PORT_HTTP, PORT_SSH };

/*
 * Public forges, by the names in the ssh addresses that they show for cloning. ssh.github.com, altssh.gitlab.com and
 * altssh.bitbucket.org are not among them: they are there to speak ssh on 443, where only TLS passes.
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
