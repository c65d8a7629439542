/*
 * Plain values; see git_names.h.
 *
 * For a URL of the form WORD::REST git runs the program git-remote-WORD. It decodes percent signs in ssh:// URLs before
 * it looks at the host, and old versions passed a host that begins with "-" to ssh as an option. So this is an
 * allowlist: a URL must have one of four forms, with few characters allowed in each.
 */
#include "policy/git_names.h"

#include <string.h>

#include "base/text.h"
#include "policy/input_limits.h"

#define ALPHANUMERIC "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

enum { VALUE_MAX = 800 }; /* with its key, well below the 1024 bytes of CVE-2023-29007 (git_config.c) */

bool git_text_is_plain(const char *text)
{
        size_t length = strnlen(text, VALUE_MAX + 1);
        if (length > VALUE_MAX || text_utf8_valid_length(text, length) != length)
                return false;
        for (const unsigned char *p = (const unsigned char *)text; *p; p++)
                if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0))
                        return false;
        return true;
}

/* --- URLs --- */

/* Does every percent sign encode a printable ASCII character? */
static bool percents_are_plain(const char *text)
{
        static const char digits[] = "0123456789abcdefABCDEF";
        for (; (text = strchr(text, '%')); text++)
                if (!text[1] || !strchr("234567", text[1]) || !text[2] || !strchr(digits, text[2]) ||
                    strncasecmp(text, "%7f", 3) == 0)
                        return false;
        return true;
}

/* The length of the host at the start, a name or an IPv6 address in brackets; 0 if there is none. */
static size_t host_length(const char *at)
{
        if (*at == '[') {
                size_t length = 1 + strspn(at + 1, "0123456789abcdefABCDEF:.");
                return length > 1 && at[length] == ']' ? length + 1 : 0;
        }
        return *at == '-' ? 0 : strspn(at, ALPHANUMERIC "._-");
}

/* Skips USER@ at the start, if there is one. NULL: the user has other characters, begins with "-", or is empty. */
static const char *skip_user(const char *at, const char *characters)
{
        const char *end = at + strcspn(at, "/@");
        if (*end != '@')
                return at;
        size_t length = (size_t)(end - at);
        return length && *at != '-' && strspn(at, characters) >= length ? end + 1 : NULL;
}

/* Checks [USER@]HOST[:PORT]/PATH, which follows the scheme. */
static bool authority_is_plain(const char *at, const char *user_characters)
{
        at = skip_user(at, user_characters);
        size_t length = at ? host_length(at) : 0;
        if (!length)
                return false;
        at += length;
        if (*at == ':') {
                size_t digits = strspn(++at, "0123456789");
                if (digits < 1 || digits > 5)
                        return false;
                at += digits;
        }
        return *at == '/' && !strpbrk(at, " \\") && percents_are_plain(at);
}

/* Checks USER@HOST:PATH. */
static bool scp_is_plain(const char *url)
{
        const char *host = skip_user(url, ALPHANUMERIC "._+-");
        size_t length = host && host != url && *host != '[' ? host_length(host) : 0;
        if (!length || host[length] != ':')
                return false;
        const char *path = host + length + 1;
        return *path && !strchr(":-", *path);
}

static bool is_local(const char *url)
{
        return *url == '/' || strcmp(url, ".") == 0 || strcmp(url, "..") == 0 || text_has_prefix(url, "./") ||
               text_has_prefix(url, "../");
}

bool git_url_is_plain(const char *url)
{
        static const struct {
                const char *scheme, *user_characters;
        } schemes[] = {
                { "https://", ALPHANUMERIC "._~+:-" },
                { "ssh://", ALPHANUMERIC "._+-" },
        };
        if (!git_text_is_plain(url))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
                if (text_has_prefix(url, schemes[i].scheme))
                        return authority_is_plain(url + strlen(schemes[i].scheme), schemes[i].user_characters);
        return is_local(url) || scp_is_plain(url);
}

/* --- names --- */

/* Is it .git in any case, or a name that Windows or macOS takes for the same: ".git." ".git " "git~1"? */
static bool is_git_directory(const char *name, size_t length)
{
        while (length && (name[length - 1] == '.' || name[length - 1] == ' '))
                length--;
        return (length == 4 && strncasecmp(name, ".git", 4) == 0) || (length >= 4 && strncasecmp(name, "git~", 4) == 0);
}

bool git_path_is_plain(const char *path)
{
        if (!git_text_is_plain(path) || *path == '-' || *path == '!' || strpbrk(path, "\\:") || strstr(path, ".."))
                return false;
        for (const char *p = path;; p++) {
                size_t length = strcspn(p, "/");
                if (length == 0 || (length == 1 && *p == '.') || is_git_directory(p, length))
                        return false;
                p += length;
                if (!*p)
                        return true;
        }
}

bool git_remote_is_plain(const char *name)
{
        return git_path_is_plain(name) && *name != '.' && !name[strspn(name, ALPHANUMERIC "._/-")];
}

/* git-check-ref-format(1), and no "-", "/" or "!" at the start. The characters in `extra` are allowed too. */
static bool ref_name_is_plain(const char *name, const char *extra)
{
        size_t length = strlen(name);
        if (!git_text_is_plain(name) || !length || strchr("-/.!", *name) || strchr("/.", name[length - 1]))
                return false;
        for (const char *p = name; (p = strpbrk(p, " ~^:?*[\\")); p++)
                if (!strchr(extra, *p))
                        return false;
        return !strstr(name, "..") && !strstr(name, "@{") && !strstr(name, "//") && !strstr(name, "/.") &&
               !strstr(name, ".lock/") && !(length >= 5 && strcmp(name + length - 5, ".lock") == 0);
}

bool git_branch_is_plain(const char *name)
{
        return ref_name_is_plain(name, "") && strcmp(name, "@") != 0;
}

bool git_ref_is_plain(const char *ref)
{
        return text_has_prefix(ref, "refs/") && ref_name_is_plain(ref, "");
}

/* Is this line, up to its newline or the end, an object id? Returns what follows it, or NULL. */
static const char *skip_id(const char *at, const char *end)
{
        size_t digits = 0;
        while (at + digits < end && at[digits] && strchr("0123456789abcdef", at[digits]))
                digits++;
        at += digits;
        if ((digits != 40 && digits != 64) || (at < end && *at != '\n'))
                return NULL;
        return at < end ? at + 1 : at;
}

/* Is this line a name in refs/, without a way out of it? Returns what follows it, or NULL. */
static const char *skip_ref(const char *at, const char *end)
{
        char name[VALUE_MAX + 1];
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline ? newline : end) - at);
        if (length > VALUE_MAX)
                return NULL;
        memcpy(name, at, length);
        name[length] = '\0';
        return strlen(name) == length && git_ref_is_plain(name) ? at + length + (newline ? 1 : 0) : NULL;
}

bool git_ref_is_harmless(const char *text, size_t length)
{
        static const char symbolic[] = "ref: ";
        const char *at = text, *end = text + length;
        if (!length)
                return false;
        bool is_symbolic = length > strlen(symbolic) && memcmp(at, symbolic, strlen(symbolic)) == 0;
        return (is_symbolic ? skip_ref(at + strlen(symbolic), end) : skip_id(at, end)) == end;
}

bool git_updates_are_harmless(const char *text, size_t length)
{
        const char *at = text, *end = text + length;
        while (length && at && at < end) {
                at = skip_ref(at, end);
                at = at ? skip_id(at, end) : NULL;
                at = at ? skip_id(at, end) : NULL;
        }
        return !length || at == end;
}

bool git_refspec_is_plain(const char *refspec)
{
        char source[VALUE_MAX + 1];
        const char *colon = strchr(refspec, ':');
        if (!git_text_is_plain(refspec))
                return false;
        if (*refspec == '^')
                return text_has_prefix(refspec, "^refs/") && ref_name_is_plain(refspec + 1, "*");
        refspec += *refspec == '+';
        if (!colon || !(text_has_prefix(colon, ":refs/remotes/") || text_has_prefix(colon, ":refs/tags/")))
                return false;
        memcpy(source, refspec, (size_t)(colon - refspec));
        source[colon - refspec] = '\0';
        return (text_has_prefix(source, "refs/") || strcmp(source, "HEAD") == 0) && ref_name_is_plain(source, "*") &&
               ref_name_is_plain(colon + 1, "*");
}
