/*
 * The messages of a worker; see worker_message.h.
 *
 * A message is a sequence of numbers (64 bits) and strings (a number, the length, and that many bytes):
 *
 *   call, is_progress, progress, is_error, image type, text,
 *   number of fields, each: name, type, number or string
 *   number of patterns, each: name, count
 *
 * It is not JSON: the server has nothing to parse, and writes the JSON of an answer itself. So a worker cannot add a
 * key to an answer, nest a value, break the line, or hide a secret behind an escape. A call, which goes the other way,
 * is: number, cancel, wants_progress, tool, and the arguments as JSON up to the end.
 *
 * What an attacker controls: every byte of a message, because a command in the box may control the worker. Reading
 * refuses lengths beyond the message, invalid UTF-8 and NUL, unknown types, names of other than lower-case letters,
 * digits, '_' and '-', duplicate names, negative counts, images that are not base64, and bytes after the end. A call
 * comes from the server, which the worker trusts.
 */
#include "session/worker_message.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "wire/channel.h"

static const char name_characters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";

/* --- in the box --- */

static void add_number(struct text *out, int64_t number)
{
        text_add_bytes(out, (const char *)&number, sizeof number);
}

static void add_string(struct text *out, const char *bytes, size_t length)
{
        if (length > WORKER_TEXT_MAX)
                out->failed = true;
        add_number(out, (int64_t)length);
        text_add_bytes(out, bytes, length);
}

static void add_head(struct text *out, int64_t call, bool is_progress, int64_t progress, bool is_error)
{
        add_number(out, call);
        add_number(out, is_progress);
        add_number(out, progress);
        add_number(out, is_error);
}

/* Returns 0, or -EINVAL for a value that a field cannot have. */
static int add_field(struct text *out, const char *name, const json_t *value)
{
        add_string(out, name, strlen(name));
        if (json_is_string(value)) {
                add_number(out, WORKER_STRING);
                add_string(out, json_string_value(value), json_string_length(value));
        } else if (json_is_integer(value) || json_is_boolean(value)) {
                add_number(out, json_is_integer(value) ? WORKER_INTEGER : WORKER_BOOLEAN);
                add_number(out, json_is_integer(value) ? json_integer_value(value) : json_is_true(value));
        } else if (json_is_null(value)) {
                add_number(out, WORKER_NULL);
        } else {
                return -EINVAL;
        }
        return 0;
}

int worker_message_write_answer(struct text *out, int64_t call, const struct tool_result *answer,
                                const json_t *secrets)
{
        const char *image = answer->image_type ? answer->image_type : "", *name;
        json_t *value;
        int r = json_object_size(answer->details) > WORKER_FIELDS_MAX ? -EINVAL : 0;
        add_head(out, call, false, 0, answer->is_error);
        add_string(out, image, strlen(image));
        add_string(out, answer->text.data, answer->text.length);
        add_number(out, (int64_t)json_object_size(answer->details));
        json_object_foreach (answer->details, name, value)
                r = r < 0 ? r : add_field(out, name, value);
        add_number(out, (int64_t)json_object_size(secrets));
        json_object_foreach ((json_t *)(uintptr_t)secrets, name, value) {
                add_string(out, name, strlen(name));
                add_number(out, json_integer_value(value));
        }
        return r < 0 ? r : out->failed ? -ENOMEM : 0;
}

int worker_message_write_progress(struct text *out, int64_t call, int64_t progress, const struct text *message)
{
        add_head(out, call, true, progress, false);
        add_string(out, "", 0);
        add_string(out, message->data, message->length);
        add_number(out, 0);
        add_number(out, 0);
        return out->failed ? -ENOMEM : 0;
}

/* --- in the server --- */

/* `failed` means that the rest must not be used; what is taken from then on is 0 or empty. */
struct reader {
        const char *at;
        size_t left;
        bool failed;
};

static int64_t take_number(struct reader *r, int64_t min, int64_t max)
{
        int64_t number = 0;
        if (r->failed || r->left < sizeof number) {
                r->failed = true;
                return min;
        }
        memcpy(&number, r->at, sizeof number);
        r->at += sizeof number;
        r->left -= sizeof number;
        r->failed = number < min || number > max;
        return r->failed ? min : number;
}

/* Returns `*ret_length` bytes of valid UTF-8 without NUL. */
static const char *take_string(struct reader *r, size_t max, size_t *ret_length)
{
        size_t length = (size_t)take_number(r, 0, (int64_t)max);
        const char *bytes = r->at;
        r->failed |= length > r->left;
        *ret_length = 0;
        if (r->failed)
                return bytes;
        r->failed = memchr(bytes, '\0', length) || text_utf8_valid_length(bytes, length) != length;
        r->at += length;
        r->left -= length;
        *ret_length = r->failed ? 0 : length;
        return bytes;
}

static void take_text(struct reader *r, struct text *ret)
{
        size_t length = 0;
        const char *bytes = take_string(r, WORKER_TEXT_MAX, &length);
        text_add_bytes(ret, bytes, length);
}

/* Takes a name, which must not be empty. */
static void take_name(struct reader *r, char ret[WORKER_NAME_MAX + 1])
{
        size_t length = 0;
        const char *bytes = take_string(r, WORKER_NAME_MAX, &length);
        memcpy(ret, bytes, length);
        ret[length] = '\0';
        r->failed |= length == 0 || strspn(ret, name_characters) != length;
}

static bool is_image_type(const char *type)
{
        static const char prefix[] = "image/";
        const char *rest = type + sizeof prefix - 1;
        return text_has_prefix(type, prefix) && *rest && strspn(rest, name_characters) == strlen(rest);
}

static bool is_base64(const struct text *t)
{
        static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
        return !t->length || strspn(t->data, alphabet) == t->length;
}

static void take_content(struct reader *r, struct worker_message *m)
{
        size_t length = 0;
        const char *type = take_string(r, WORKER_NAME_MAX, &length);
        memcpy(m->image_type, type, length);
        take_text(r, &m->text);
        if (length && !m->text.failed)
                r->failed |= !is_image_type(m->image_type) || !is_base64(&m->text);
}

static void take_field(struct reader *r, struct worker_message *m)
{
        struct worker_field *f = &m->fields[m->field_count];
        take_name(r, f->name);
        for (size_t i = 0; i < m->field_count; i++)
                r->failed |= strcmp(m->fields[i].name, f->name) == 0;
        f->type = (enum worker_field_type)take_number(r, WORKER_NULL, WORKER_STRING);
        m->field_count++;
        if (f->type == WORKER_STRING)
                take_text(r, &f->string);
        else if (f->type == WORKER_BOOLEAN)
                f->number = take_number(r, 0, 1);
        else if (f->type == WORKER_INTEGER)
                f->number = take_number(r, INT64_MIN, INT64_MAX);
}

/* Returns 0 or -ENOMEM. */
static int take_secret(struct reader *r, struct worker_message *m)
{
        char name[WORKER_NAME_MAX + 1];
        take_name(r, name);
        int64_t count = take_number(r, 1, INT64_MAX);
        if (r->failed)
                return 0;
        if (!m->secrets && !(m->secrets = json_object()))
                return -ENOMEM;
        r->failed = json_object_get(m->secrets, name) != NULL;
        return json_object_set_new(m->secrets, name, json_integer(count)) < 0 ? -ENOMEM : 0;
}

static bool has_no_memory(const struct worker_message *m)
{
        bool failed = m->text.failed;
        for (size_t i = 0; i < m->field_count; i++)
                failed |= m->fields[i].string.failed;
        return failed;
}

int worker_message_read(const char *bytes, size_t length, struct worker_message *ret)
{
        struct reader r = { bytes, length, false };
        int result = 0;
        *ret = (struct worker_message){ 0 };
        ret->call = take_number(&r, INT64_MIN, INT64_MAX);
        ret->is_progress = take_number(&r, 0, 1);
        ret->progress = take_number(&r, 0, INT64_MAX);
        ret->is_error = take_number(&r, 0, 1);
        take_content(&r, ret);
        int64_t fields = take_number(&r, 0, WORKER_FIELDS_MAX);
        while (!r.failed && fields-- > 0)
                take_field(&r, ret);
        int64_t secrets = take_number(&r, 0, WORKER_SECRETS_MAX);
        while (!r.failed && result == 0 && secrets-- > 0)
                result = take_secret(&r, ret);
        if (result == 0 && has_no_memory(ret))
                result = -ENOMEM;
        return result < 0 ? result : r.failed || r.left ? -EPROTO : 0;
}

void worker_message_done(struct worker_message *m)
{
        text_done(&m->text);
        for (size_t i = 0; i < m->field_count; i++)
                text_done(&m->fields[i].string);
        json_decref(m->secrets);
        m->field_count = 0;
        m->secrets = NULL;
}

/* --- calls --- */

int worker_call_write(struct text *out, int64_t number, const char *tool, const json_t *arguments, bool progress)
{
        add_number(out, number);
        add_number(out, false);
        add_number(out, progress);
        add_string(out, tool, strlen(tool));
        if (!arguments)
                text_add(out, "{}");
        else if (!out->failed)
                return json_write(arguments, out, false);
        return out->failed ? -ENOMEM : 0;
}

int worker_call_write_cancel(struct text *out, int64_t number)
{
        add_number(out, number);
        add_number(out, true);
        return out->failed ? -ENOMEM : 0;
}

int worker_call_read(const char *bytes, size_t length, struct worker_call *ret)
{
        struct reader r = { bytes, length, false };
        *ret = (struct worker_call){ .number = take_number(&r, INT64_MIN, INT64_MAX) };
        ret->cancel = take_number(&r, 0, 1);
        if (r.failed || ret->cancel)
                return r.failed || r.left ? -EPROTO : 0;
        ret->wants_progress = take_number(&r, 0, 1);
        take_text(&r, &ret->tool);
        if (ret->tool.failed)
                return -ENOMEM;
        if (r.failed || json_parse_bounded(r.at, r.left, CHANNEL_MAX, JSON_DEPTH_MAX, &ret->arguments, NULL, NULL,
                                           NULL) < 0)
                return -EPROTO;
        return 0;
}

void worker_call_done(struct worker_call *c)
{
        text_done(&c->tool);
        json_decref(c->arguments);
        c->arguments = NULL;
}
