/*
 * A whole file as text, for the tools that change it: its encoding and line ends are found, so that a change keeps
 * them.
 */
#ifndef RINGWALL_TOOLS_FILE_TEXT_H
#define RINGWALL_TOOLS_FILE_TEXT_H

#include "base/text.h"
#include "path/workspace.h"
#include "tools/tool.h"

enum { FILE_TEXT_MAX = 64 << 20 };

/* The encodings that a byte order mark tells. Without one, text is taken as UTF-8 and kept byte for byte. */
enum file_encoding { FILE_UTF_8, FILE_UTF_8_BOM, FILE_UTF_16LE, FILE_UTF_16BE };

struct file_text {
        enum file_encoding encoding;
        struct text text; /* UTF-8 without the byte order mark; never NULL */
};

/* What the first bytes of a file say. *ret_length: of the byte order mark. */
enum file_encoding file_encoding_find(const char *bytes, size_t length, size_t *ret_length);
const char *file_encoding_name(enum file_encoding encoding);

/* Reads and decodes the file. If it changes meanwhile, held_path_replace() will fail. Returns 0 or -errno. */
int file_text_read(const struct held_path *s, struct file_text *ret, struct error *e);

/*
 * Resolves the path of a file that may be edited, because it was read and has not changed since, and reads it. False
 * with an error in the answer.
 */
bool file_text_open_to_edit(const struct tool_context *tools, const char *path, struct held_path *s,
                            struct file_text *ret, struct tool_result *answer);

void file_text_done(struct file_text *f);
#define CLEANUP_FILE_TEXT CLEANUP(file_text_done)

/* Writes the text in the encoding, with the byte order mark. Returns -EILSEQ if the text is not valid UTF-8. */
int file_text_encode(enum file_encoding encoding, const char *text, size_t length, struct text *out);

/* The line ends around an offset: true if the next one is CRLF, or the last one where none follows. */
bool file_text_has_crlf_at(const struct file_text *f, size_t offset);

/* True if there is at least one line end and each is CRLF. */
bool file_text_is_crlf(const struct file_text *f);

/*
 * A tool's answer shows marks where it leaves something out: [REDACTED:…] for a secret, U+FFFD for a byte that is not
 * UTF-8. Text with such a mark must not replace what the mark stands for. True if `after` has more of a mark than
 * `before`, and `given` has it, which is the value of this parameter; then makes the answer an error with its line.
 */
bool file_text_would_lose(const struct file_text *before, const struct text *after, const json_t *given,
                          const char *path, const char *parameter, struct tool_result *answer);

/* Writes the text into the file in its encoding, and records the file as read. False with an error in the answer. */
bool file_text_write(const struct tool_context *tools, struct held_path *s, enum file_encoding encoding,
                     const char *text, size_t length, struct tool_result *answer);

#endif
