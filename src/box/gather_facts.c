/*
 * Facts about this machine; see gather_facts.h. HOME and the XDG variables are ignored unless they are absolute paths
 * in UTF-8. libidn2 converts host names beyond ASCII.
 */
#include "box/gather_facts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <idn2.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "path/real_path.h"
#include "policy/path_pattern.h"

/*
 * Does not set IDN2_USE_STD3_ASCII_RULES, which drops forbidden characters instead of refusing them: host_pattern.c
 * checks the name before and after the conversion.
 */
bool host_name_to_ascii(const char *name, char *ret, size_t size)
{
        CLEANUP_FREE char *ascii = NULL;
        if (idn2_to_ascii_8z(name, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL) != IDN2_OK)
                return false;
        return (size_t)snprintf(ret, size, "%s", ascii) < size;
}

/* A plan is UTF-8 throughout, so a directory whose name is not UTF-8 cannot be part of it. */
static bool is_utf8(const char *value)
{
        return text_utf8_valid_length(value, strlen(value)) == strlen(value);
}

static const char *absolute_variable(struct arena *a, const char *name)
{
        const char *value = secure_getenv(name);
        return value && *value == '/' && is_utf8(value) ? path_normalize(a, value) : NULL;
}

/*
 * Reads only the file: other sources of users would need NSS plug-ins, which a static program cannot load, and their
 * users have HOME set.
 */
static const char *home_in_passwd(struct arena *a)
{
        const char *home = NULL;
        struct passwd entry = { 0 }, *found = NULL;
        char buffer[4096];
        FILE *file = fopen("/etc/passwd", "re");
        while (file && !home && fgetpwent_r(file, &entry, buffer, sizeof buffer, &found) == 0)
                if (found->pw_uid == getuid() && *found->pw_dir == '/' && is_utf8(found->pw_dir))
                        home = path_normalize(a, found->pw_dir);
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

/* ringwall's directory below the variable's, or below `home` if the variable is not set. */
static const char *own_directory(struct arena *a, const char *variable, const char *home, const char *fallback)
{
        const char *base = absolute_variable(a, variable);
        if (base)
                return arena_format(a, "%s/ringwall", base);
        return home ? arena_format(a, "%s/%s/ringwall", home, fallback) : NULL;
}

const char *facts_state_dir(struct arena *a, const char *home)
{
        return own_directory(a, "XDG_STATE_HOME", home, ".local/state");
}

/* --- toolchains --- */

enum { ENTRIES_MAX = 256 };

/* Is this the name of a directory that an installation has next to bin? */
static bool is_part_of_prefix(const char *name)
{
        static const char *const parts[] = { "lib", "lib64", "libexec", "share", "include" };
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
                if (strcmp(name, parts[i]) == 0)
                        return true;
        return false;
}

/* Does this entry show that the directory is a repository, or contains one? Then it is not a toolchain. */
static bool is_repository_entry(int directory, const char *name)
{
        char inner[NAME_MAX + sizeof "/.git"];
        if (strcmp(name, ".git") == 0)
                return true;
        (void)snprintf(inner, sizeof inner, "%s/.git", name);
        return faccessat(directory, inner, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * True for a directory with parts of an installation, and without sockets, repositories, or more entries than a
 * toolchain has at its top. False if it cannot be listed.
 */
static bool looks_like_prefix(const char *directory)
{
        int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd); /* owns fd from here on */
        if (!dir) {
                fd_close(&fd);
                return false;
        }
        bool has_part = false, excluded = false;
        size_t entries = 0;
        for (struct dirent *d; !excluded && (d = readdir(dir));) { // cppcheck-suppress readdirCalled
                if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
                        continue;
                has_part |= is_part_of_prefix(d->d_name);
                excluded = ++entries > ENTRIES_MAX || d->d_type == DT_SOCK || is_repository_entry(fd, d->d_name);
        }
        (void)closedir(dir);
        return has_part && !excluded;
}

/* Implements facts_resolve_links (policy/host_facts.h). */
static bool resolve_links(struct arena *a, const char *path, struct facts_resolved_path *ret, bool *ret_failed)
{
        CLEANUP_FD int fd = fd_open_no_symlinks(AT_FDCWD, path, O_PATH, 0);
        struct followed_links *links = fd == -ELOOP ? arena_alloc(a, sizeof *links) : NULL;
        *ret = (struct facts_resolved_path){ 0 };
        *ret_failed = fd == -ELOOP && !links;
        if (!links)
                return *ret_failed;
        int r = real_path(a, path, "", &ret->target, links);
        *ret_failed = r < 0 && r != -ELOOP;
        ret->links = links->paths;
        ret->link_count = links->count;
        return true;
}

/* Implements facts_is_missing (policy/host_facts.h). */
static bool is_missing(const char *path)
{
        struct stat st;
        return stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

int host_facts_gather(struct arena *a, struct host_facts *ret, struct error *e)
{
        CLEANUP_FREE char *cwd = getcwd(NULL, 0);
        if (!cwd || *cwd != '/')
                return error_errno(e, cwd ? ENOENT : errno, "cannot get the path of the current directory");
        const char *home = home_directory(a), *path = getenv("PATH");
        *ret = (struct host_facts){
                .cwd = arena_strdup(a, cwd),
                .home = home,
                .path = arena_strdup(a, path ? path : ""),
                .user_data = own_directory(a, "XDG_DATA_HOME", home, ".local/share"),
                .user_state = facts_state_dir(a, home),
                .is_prefix = looks_like_prefix,
                .is_missing = is_missing,
                .resolve_links = resolve_links,
                .to_ascii = host_name_to_ascii,
        };
        if (!ret->cwd || !ret->path)
                return error_errno(e, ENOMEM, "no memory");
        return 0;
}

const char *host_facts_config_dir(struct arena *a, const struct host_facts *facts)
{
        return own_directory(a, "XDG_CONFIG_HOME", facts->home, ".config");
}
