/*
 * Settings with a secret value; see secret_assignment.h.
 *
 * How it works: the expressions of the table find a name such as "password", an operator and the first character of a
 * value. Many of these are code, and a value that is removed by mistake makes a file unreadable for the agent. So the
 * text around the match selects one of three forms, and each form has a rule for its values:
 *
 *   a setting    DB_PASSWORD=…, and password=… at the start of a line: any value that is not a reference
 *   a string     password = "…": one word with a digit, since "required" and "Passwort" are texts of programs
 *   a bare word  password: …: the same, and it must not be an expression of a programming language
 *
 * People choose passwords, but programs make tokens and keys: outside a setting, these must also look random.
 *
 * An attacker controls the text. At most EXAMINED_MAX bytes of a value are looked at, and as many before the name as
 * secret_assignment.h says.
 */
#include "gate/secret_assignment.h"

#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "gate/secret_checks.h"

enum {
        VALUE_MIN = 6,          /* bytes of a value; shorter ones are flags and numbers */
        NETRC_VALUE_MIN = 3,    /* bytes of a value in .netrc, where nothing else can be in its place */
        MACHINE_VALUE_MIN = 8,  /* bytes of a token or a key that is not a setting */
        LONG_VALUE_MIN = 12,    /* bytes of a token of letters alone, in a setting with a name in lower case */
        RANDOM_VALUE_MIN = 16,  /* a value this long that looks random is no code */
        TECHNICAL_MAX = 20,     /* bytes of a value that may be the name of an algorithm or a type */
        BLANKS_MAX = 24,        /* between the parts of a setting */
        TYPE_MAX = 32,          /* bytes of a type in NAME: TYPE = "…" */
        FIELD_NAME_MAX = 32,    /* bytes of the next name in a list: password=x&name=y */
};

struct setting {
        const char *text;
        size_t length;         /* of the text */
        size_t name, name_end; /* the whole name: spring.datasource.password, --db-password */
        size_t value, end;
        char sign;             /* = : or >; 0 if a blank separates the value */
        char quote;            /* before the value, or 0 */
        bool spaced;           /* blanks or a longer sign come between the name and the value */
        bool in_capitals;      /* the name is */
        bool is_password;      /* chosen by a person */
        bool leads;            /* the name begins a line, a command's option or an item of a list */
};

/* --- the parts of a setting --- */

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

static bool is_quote(char c)
{
        return c == '"' || c == '\'' || c == '`';
}

static bool is_name_char(char c)
{
        return alphabet_contains(ALPHABET_DOTTED, c);
}

static bool is_line_end(const struct setting *s, size_t at)
{
        return at >= s->length || s->text[at] == '\n' || s->text[at] == '\r' || s->text[at] == '\0';
}

static bool has_suffix(const char *text, size_t length, const char *suffix)
{
        size_t n = strlen(suffix);
        return length >= n && strncasecmp(text + length - n, suffix, n) == 0;
}

/* Does the word that ends before `at` introduce a setting: export NAME=value, docker run -e NAME=value? */
static bool follows_keyword(const struct setting *s, size_t at)
{
        static const char *const words[] = { "export", "set", "-e", "--env", "declare", "-x", "readonly", "ENV",
                                             "ARG" };
        while (at && is_blank(s->text[at - 1]) && s->name - at < 3)
                at--;
        for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
                size_t n = strlen(words[i]);
                if (at >= n && memcmp(s->text + at - n, words[i], n) == 0 &&
                    (at == n || !is_name_char(s->text[at - n - 1])))
                        return true;
        }
        return false;
}

/* A line of a file, also as Read, Grep and diff show it; an option; an item of a list in a URL or a string. */
static bool leads(const struct setting *s)
{
        if (s->name == 0 || s->text[s->name] == '-')
                return true;
        char before = s->text[s->name - 1], earlier = s->name > 1 ? s->text[s->name - 2] : '\n';
        if (strchr("\n\r;?&\"'", before) || (earlier == '\\' && strchr("nrt", before)))
                return true;
        if (before == '\t' || before == ':')
                return is_digit(earlier);
        if (before == '+')
                return earlier == '\n';
        return is_blank(before) && follows_keyword(s, s->name);
}

/* Password, passphrase and the like, whose value a person may have chosen. */
static bool names_password(const struct setting *s)
{
        static const char *const words[] = { "pass", "pwd", "psk", "identified" };
        for (size_t i = s->name; i < s->name_end; i++)
                for (size_t j = 0; j < ARRAY_SIZE(words); j++)
                        if (s->name_end - i >= strlen(words[j]) &&
                            strncasecmp(s->text + i, words[j], strlen(words[j])) == 0)
                                return true;
        return false;
}

/* "pass", "pwd" and "psk" must not end another word, such as "bypass". */
static bool is_whole_word(const struct setting *s, size_t word)
{
        static const char *const shorts[] = { "pass", "pwd", "psk" };
        char before = word > s->name ? s->text[word - 1] : '_';
        bool is_lower = before >= 'a' && before <= 'z', is_upper = before >= 'A' && before <= 'Z';
        for (size_t i = 0; i < ARRAY_SIZE(shorts); i++)
                if (s->name_end - word == strlen(shorts[i]) && has_suffix(s->text, s->name_end, shorts[i]))
                        return !is_upper && !(is_lower && s->text[word] >= 'a');
        return true;
}

/* The match begins at `word`, and its last byte is the sign. False if the name is another word. */
static bool parse_name(struct setting *s, size_t word, size_t sign)
{
        s->name = s->name_end = word;
        while (s->name && word - s->name < SETTING_NAME_MAX && is_name_char(s->text[s->name - 1]))
                s->name--;
        while (s->name_end < sign && is_name_char(s->text[s->name_end]))
                s->name_end++;
        if (s->name && s->text[s->name - 1] == '\\' && word > s->name)
                s->name++; /* the letter of \n, \t or \r */
        s->in_capitals = true;
        for (size_t i = s->name; i < s->name_end; i++)
                s->in_capitals &= !(s->text[i] >= 'a' && s->text[i] <= 'z');
        s->is_password = names_password(s);
        s->leads = leads(s);
        bool is_path = s->name && s->text[s->name - 1] == '/' && word == s->name; /* /etc/passwd: … */
        return !is_path && is_whole_word(s, word);
}

static size_t skip_blanks(const struct setting *s, size_t at)
{
        size_t from = at;
        while (at < s->length && at - from < BLANKS_MAX && is_blank(s->text[at]))
                at++;
        return at;
}

static bool is_byte(const struct setting *s, size_t at, const char *bytes)
{
        return at < s->length && s->text[at] && strchr(bytes, s->text[at]);
}

/* After the colon of NAME: TYPE = "…". Returns the offset after the equals sign, or that of the colon's end. */
static size_t skip_type(const struct setting *s, size_t at)
{
        size_t end = skip_blanks(s, at), from = end;
        while (end < s->length && end - from < TYPE_MAX && (is_name_char(s->text[end]) || is_byte(s, end, "&<>[]?| ")))
                end++;
        if (end == from || !is_byte(s, end, "=") || !is_byte(s, skip_blanks(s, end + 1), "\"'"))
                return at;
        return end + 1;
}

/* `at` is that of the sign: = : > := ?= or =>. Returns the offset after it, or 0 for another operator. */
static size_t skip_sign(const struct setting *s, size_t at)
{
        char sign = s->text[at];
        size_t next = at + 1;
        if (sign == '>')
                return at == s->name_end && !is_byte(s, next, "=>") ? next : 0; /* <password>… */
        if (sign == ':' && is_byte(s, next, ":"))
                return 0;
        if (is_byte(s, next, sign == '=' ? ">" : "="))
                return next + 1;
        return sign == ':' ? skip_type(s, next) : next;
}

/* Skips b", \" and the like. Sets the quote. */
static size_t skip_quote(struct setting *s, size_t at)
{
        size_t quote = at;
        while (quote - at < 2 && is_byte(s, quote, "bruLBRU@\\"))
                quote++;
        if (!is_byte(s, quote, "\"'"))
                return at;
        s->quote = s->text[quote];
        return quote + 1;
}

/* `sign` is the offset of the sign. Finds the first character of the value; false if there is no value. */
static bool parse_sign(struct setting *s, size_t sign)
{
        size_t after = skip_sign(s, sign);
        if (!after)
                return false;
        size_t quote = skip_blanks(s, after);
        s->sign = s->text[sign];
        s->spaced = after != sign + 1 || quote != after;
        for (size_t i = s->name_end; i < sign; i++)
                s->spaced |= !is_quote(s->text[i]);
        s->value = skip_quote(s, quote);
        return s->value < s->length && !is_blank(s->text[s->value]) && !is_line_end(s, s->value) &&
               !is_byte(s, s->value, "\"'=:\\<>${,;)}]");
}

/* --- where the value ends --- */

/* NAME= or NAME: at this place, as the next item of a list. */
static bool is_field(const struct setting *s, size_t at)
{
        size_t from = at;
        while (at < s->length && at - from < FIELD_NAME_MAX && (is_name_char(s->text[at]) || s->text[at] == ' '))
                at++;
        return at > from && at < s->length && (s->text[at] == '=' || s->text[at] == ':');
}

static bool is_end(const struct setting *s, size_t at)
{
        return is_line_end(s, at) || !alphabet_contains(ALPHABET_VALUE, s->text[at]);
}

/*
 * Does the byte end a value without quotes? Tokens have none of these bytes. Passwords may, so there it depends on what
 * follows.
 */
static bool ends_value(const struct setting *s, size_t at)
{
        char c = s->text[at];
        size_t next = at + 1;
        if (!s->is_password && strchr(";&,)}]", c))
                return true;
        if (c == ';' || c == '&' || c == ',')
                return is_end(s, next) || is_field(s, next) || (c == '&' && s->text[next] == '&');
        if (c == ')' || c == '}' || c == ']')
                return is_end(s, next) || strchr(")}],;.", s->text[next]);
        if (c == '|')
                return is_end(s, next);
        return c == '\\' && next < s->length && strchr("nrt\"'", s->text[next]);
}

/* Sets the end, and the alphabet that continues a value which is longer than the examined bytes. */
static enum alphabet find_end(struct setting *s)
{
        enum alphabet alphabet = ALPHABET_VALUE;
        size_t limit = s->length - s->value < EXAMINED_MAX ? s->length : s->value + EXAMINED_MAX;
        if (s->quote == '"')
                alphabet = s->text[s->value - 2] == '\\' ? ALPHABET_ESCAPED : ALPHABET_DOUBLE;
        else if (s->quote)
                alphabet = ALPHABET_SINGLE;
        for (s->end = s->value; s->end < limit; s->end++) {
                bool escaped = s->end > s->value && s->text[s->end - 1] == '\\' && alphabet == ALPHABET_DOUBLE;
                if (escaped && s->text[s->end] == '"')
                        continue;
                if (!alphabet_contains(alphabet, s->text[s->end]))
                        return ALPHABET_NONE;
                if (!s->quote && ends_value(s, s->end))
                        return ALPHABET_NONE;
        }
        return alphabet;
}

/* Is the rest of the line empty, a comment, or the end of a string? */
static bool ends_line(const struct setting *s)
{
        size_t at = s->end;
        while (at < s->length && at - s->end < SETTING_NAME_MAX && is_blank(s->text[at]))
                at++;
        if (is_line_end(s, at) || is_quote(s->text[at]) || strchr("<\\", s->text[at]))
                return true;
        return at > s->end && strchr("#;/", s->text[at]);
}

/* --- what the value is --- */

/* Ignores case. */
static bool contains_any(const struct setting *s, const char *const *words, size_t count)
{
        size_t length = s->end - s->value < EXAMINED_MAX ? s->end - s->value : EXAMINED_MAX;
        for (size_t i = 0; i < count; i++)
                if (secret_contains(s->text + s->value, length, words[i]))
                        return true;
        return false;
}

/* Names of algorithms, encodings and types have digits too. */
static bool is_technical(const struct setting *s)
{
        static const char *const words[] = {
                "sha1", "sha2", "sha3", "sha5", "md5", "base64", "base32", "utf8", "utf-8", "utf16", "int8", "int16",
                "int32", "int64", "float32", "float64", "oauth", "x509", "pkcs", "aes", "rsa", "ed25519", "25519",
                "ecdsa", "hmac", "p256", "s256", "http1", "http2", "ipv4", "ipv6", "v1alpha", "v1beta", "win32",
                "varchar", "argon2", "bcrypt", "pbkdf2",
        };
        return s->end - s->value <= TECHNICAL_MAX && contains_any(s, words, ARRAY_SIZE(words));
}

/* Names of secrets are also names of variables, and words of samples: token2, test_password_1. */
static bool repeats_the_name(const struct setting *s)
{
        static const char *const words[] = { "passw", "passphrase", "secret", "token", "credential", "apikey",
                                             "api_key", "api-key" };
        return contains_any(s, words, ARRAY_SIZE(words));
}

/* What tests and documentation use. In a setting, such a value is a secret like any other. */
static bool is_sample(const struct setting *s)
{
        static const char *const words[] = { "dummy", "sample", "fake", "foobar", "abc123" };
        static const char start[] = "test";
        size_t length = s->end - s->value, n = strlen(start);
        return (length >= n && strncasecmp(s->text + s->value, start, n) == 0) ||
               contains_any(s, words, ARRAY_SIZE(words));
}

struct value_kinds {
        size_t upper, lower, digit, special; /* special: neither a letter, a digit nor a character of names */
        size_t changes;                      /* from a letter to a digit, or back */
        bool has_blank;
};

static struct value_kinds count_value_kinds(const struct setting *s)
{
        struct value_kinds k = { 0 };
        char last = '\0';
        for (size_t i = s->value; i < s->end && i - s->value < EXAMINED_MAX; i++) {
                char c = s->text[i];
                bool digit = is_digit(c), upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
                bool inner = i > s->value && i + 1 < s->end;
                k.digit += digit;
                k.upper += upper;
                k.lower += lower;
                k.has_blank |= is_blank(c);
                k.special += inner && c > ' ' && strchr("!#$%&*+=?@^~", c);
                char kind = digit ? '0' : upper || lower ? 'a' : '\0';
                k.changes += kind && last && kind != last;
                last = kind;
        }
        return k;
}

static bool is_camel_case(const struct setting *s)
{
        for (size_t i = s->value; i < s->end; i++)
                if (!alphabet_contains(ALPHABET_WORD, s->text[i]))
                        return false;
        return s->text[s->value] >= 'a' && s->text[s->value] <= 'z';
}

/* A word of a programming language: a name, or a number. */
static bool is_code_word(const char *word, size_t length)
{
        if (!is_digit(*word) || (length > 1 && word[1] == 'x'))
                return true;
        for (size_t i = 0; i < length; i++)
                if (!is_digit(word[i]))
                        return false;
        return true;
}

/* Words of a programming language with operators between them: name, object.member, pointer->member, a+1. */
static bool is_code(const struct setting *s)
{
        for (size_t i = s->value, word = i; i <= s->end; i++) {
                char c = i < s->end ? s->text[i] : '.';
                if (alphabet_contains(ALPHABET_WORD, c))
                        continue;
                if (!strchr(".->:+*/|&?", c) || (i > word && !is_code_word(s->text + word, i - word)))
                        return false;
                word = i + 1;
        }
        return true;
}

static struct text_span span_of(const struct setting *s)
{
        return (struct text_span){ s->text, s->length, s->value, s->end, ALPHABET_NONE };
}

static bool is_long_and_random(const struct setting *s)
{
        struct text_span span = span_of(s);
        return s->end - s->value >= RANDOM_VALUE_MIN && check_random_looking(&span);
}

/* The rule for strings and bare words. */
static bool is_likely_secret(const struct setting *s)
{
        struct value_kinds k = count_value_kinds(s);
        if (k.has_blank || k.upper + k.lower == 0)
                return false; /* a text, or a number */
        if (is_long_and_random(s) && k.changes > 1)
                return true;
        if (is_technical(s) || is_sample(s))
                return false;
        if (repeats_the_name(s))
                return s->is_password && k.upper && k.lower && k.digit && (s->quote || !is_camel_case(s));
        if (s->is_password)
                return k.digit || k.special || s->text[s->end - 1] == '=';
        return k.changes > 1 && s->end - s->value >= MACHINE_VALUE_MIN;
}

/* --- the forms --- */

static bool is_setting(const struct setting *s)
{
        if (s->sign == ':') /* of YAML: POSTGRES_PASSWORD: … */
                return s->in_capitals && s->is_password && !s->quote && ends_line(s) &&
                       !secret_is_sample(s->text + s->value, s->end - s->value);
        return s->sign == '=' && !s->spaced && (s->in_capitals || s->leads);
}

/* Not PASSWORD_LIFETIME and the like, whose numbers are no passwords. */
static bool ends_with_password(const struct setting *s)
{
        return has_suffix(s->text, s->name_end, "password") || has_suffix(s->text, s->name_end, "passwd") ||
               has_suffix(s->text, s->name_end, "pass") || has_suffix(s->text, s->name_end, "pwd");
}

/* token=token2 */
static bool starts_with_the_name(const struct setting *s)
{
        size_t length = s->name_end - s->name;
        return s->end - s->value >= length && strncasecmp(s->text + s->name, s->text + s->value, length) == 0;
}

static bool accepts_setting(const struct setting *s)
{
        static const char *const words[] = { "required", "optional", "string", "prompt", "disabled", "enabled",
                                             "default", "generate", "hidden", "missing", "invalid", "number",
                                             "boolean", "undefined" };
        struct value_kinds k = count_value_kinds(s);
        size_t length = s->end - s->value;
        if (k.upper + k.lower == 0)
                return k.digit && ends_with_password(s);
        bool is_dotted = memchr(s->text + s->value, '.', length) && k.digit && !repeats_the_name(s);
        if (!s->quote && !is_dotted && secret_is_identifier(s->text + s->value, length))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (length == strlen(words[i]) && has_suffix(s->text, s->end, words[i]))
                        return false;
        if (s->in_capitals)
                return true;
        if (starts_with_the_name(s))
                return false;
        if (k.digit || k.special)
                return s->quote || !is_technical(s);
        if (secret_is_sample(s->text + s->value, length) || (k.upper == 1 && s->text[s->value] <= 'Z'))
                return false; /* a word of a text: login.password=Passwort */
        return s->is_password || length >= LONG_VALUE_MIN;
}

static bool accepts_bare_word(const struct setting *s)
{
        size_t length = s->end - s->value;
        bool has_terminator = s->end < s->length && strchr(";,)}]", s->text[s->end]);
        if (secret_is_identifier(s->text + s->value, length))
                return false;
        if (has_terminator && is_code(s) && !is_long_and_random(s))
                return false;
        if (!s->is_password && is_code(s) && memchr(s->text + s->value, '.', length))
                return false;
        if (!has_terminator && (s->spaced || s->sign != '=') && s->sign && !ends_line(s))
                return is_long_and_random(s);
        return is_likely_secret(s);
}

/* Moves the span to the value, if it is at least that long and `accepts` it. */
static bool decide(struct setting *s, struct text_span *span, size_t least, bool (*accepts)(const struct setting *s))
{
        enum alphabet alphabet = find_end(s);
        const char *value = s->text + s->value;
        size_t length = s->end - s->value;
        if (length < least || secret_is_placeholder(value, length) || secret_is_reference(value, length, s->quote) ||
            !accepts(s))
                return false;
        span->from = s->value;
        span->to = s->end;
        span->alphabet = alphabet;
        return true;
}

static bool accepts_value(const struct setting *s)
{
        if (is_setting(s))
                return accepts_setting(s);
        return s->quote ? is_likely_secret(s) : accepts_bare_word(s);
}

bool extract_assignment(struct text_span *span)
{
        struct setting s = { .text = span->text, .length = span->length };
        return parse_name(&s, span->from, span->to - 1) && parse_sign(&s, span->to - 1) &&
               decide(&s, span, VALUE_MIN, accepts_value);
}

bool extract_argument(struct text_span *span)
{
        size_t value = span->to - 1;
        struct setting s = { .text = span->text, .length = span->length, .name = span->from, .name_end = value,
                             .value = value, .spaced = true };
        s.is_password = names_password(&s);
        if (is_byte(&s, value - 1, "\"'"))
                s.quote = s.text[value - 1];
        return decide(&s, span, VALUE_MIN, accepts_value);
}

bool extract_user_password(struct text_span *span)
{
        struct setting s = { .text = span->text, .length = span->length, .name = span->from, .name_end = span->to - 1,
                             .value = span->to - 1, .is_password = true };
        return decide(&s, span, VALUE_MIN, is_likely_secret);
}

static bool is_any(const struct setting *s)
{
        return s->end > s->value;
}

/* Do the words "login NAME" end at `at`? But not "login and password". */
static bool follows_login(const struct setting *s, size_t at)
{
        static const char word[] = "login";
        size_t first = at > SETTING_NAME_MAX ? at - SETTING_NAME_MAX : 0, n = strlen(word);
        while (at > first && is_blank(s->text[at - 1]))
                at--;
        size_t end = at;
        while (at > first && !is_blank(s->text[at - 1]) && s->text[at - 1] != '\n')
                at--;
        if (end - at <= 3 && (has_suffix(s->text + at, end - at, "and") || has_suffix(s->text + at, end - at, "or")))
                return false;
        while (at > first && is_blank(s->text[at - 1]))
                at--;
        return at >= first + n && memcmp(s->text + at - n, word, n) == 0;
}

/* A line of its own, since the word is frequent in texts. */
static bool accepts_line(const struct setting *s)
{
        return s->leads && ends_line(s) && is_likely_secret(s);
}

bool extract_netrc(struct text_span *span)
{
        struct setting s = { .text = span->text, .length = span->length, .value = span->to - 1, .is_password = true };
        if (follows_login(&s, span->from))
                return decide(&s, span, NETRC_VALUE_MIN, is_any);
        s.name = span->from;
        while (s.name && span->from - s.name < SETTING_NAME_MAX && is_blank(s.text[s.name - 1]))
                s.name--;
        s.leads = leads(&s);
        return decide(&s, span, VALUE_MIN, accepts_line);
}
