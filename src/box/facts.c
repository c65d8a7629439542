/*
 * Facts; see facts.h. HOME and the XDG variables are believed only when they are absolute paths. Names beyond ASCII
 * are turned into their network form by libidn2.
 */
#include "box/facts.h"

#include <errno.h>
#include <idn2.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "policy/pattern.h"

/*
 * Without IDN2_USE_STD3_ASCII_RULES, which drops what it forbids instead of refusing it: domain.c checks both ways.
 */
bool facts_to_ascii(const char *name, char *ret, size_t size)
{
        CLEANUP_FREE char *ascii = NULL;
        if (idn2_to_ascii_8z(name, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL) != IDN2_OK)
                return false;
        return (size_t)snprintf(ret, size, "%s", ascii) < size;
}

/* A plan is UTF-8 throughout, so a directory that is not cannot be part of it. */
static bool is_text(const char *value)
{
        return text_utf8_valid(value, strlen(value)) == strlen(value);
}

static const char *absolute_variable(struct arena *a, const char *name)
{
        const char *value = secure_getenv(name);
        return value && *value == '/' && is_text(value) ? pattern_normalise(a, value) : NULL;
}

/* Only the file: other sources of users would have to be loaded, and they set HOME. */
static const char *home_in_passwd(struct arena *a)
{
        const char *home = NULL;
        struct passwd entry = { 0 }, *found = NULL;
        char buffer[4096];
        FILE *file = fopen("/etc/passwd", "re");
        while (file && !home && fgetpwent_r(file, &entry, buffer, sizeof buffer, &found) == 0)
                if (found->pw_uid == getuid() && *found->pw_dir == '/' && is_text(found->pw_dir))
                        home = pattern_normalise(a, found->pw_dir);
        if (file)
                (void)fclose(file);
        return home;
}

static const char *home_directory(struct arena *a)
{
        const char *home = absolute_variable(a, "HOME");
        if (home)
                return home;
        return home_in_passwd(a);
}

static const char *below_home(struct arena *a, const char *variable, const char *home, const char *fallback)
{
        const char *base = absolute_variable(a, variable);
        if (base)
                return arena_format(a, "%s/ringwall", base);
        return home ? arena_format(a, "%s/%s/ringwall", home, fallback) : NULL;
}

int facts_gather(struct arena *a, struct facts *ret, struct error *e)
{
        CLEANUP_FREE char *cwd = getcwd(NULL, 0);
        if (!cwd || *cwd != '/')
                return error_errno(e, cwd ? ENOENT : errno, "facts", "the current directory cannot be named");
        const char *home = home_directory(a), *path = getenv("PATH");
        *ret = (struct facts){
                .cwd = arena_string(a, cwd),
                .home = home,
                .path = arena_string(a, path ? path : ""),
                .user_data = below_home(a, "XDG_DATA_HOME", home, ".local/share"),
                .to_ascii = facts_to_ascii,
        };
        if (!ret->cwd || !ret->path)
                return error_errno(e, ENOMEM, "facts", "no memory");
        return 0;
}

const char *facts_config_dir(struct arena *a, const struct facts *facts)
{
        return below_home(a, "XDG_CONFIG_HOME", facts->home, ".config");
}
