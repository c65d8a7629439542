/*
 * A file of another program's configuration: read, and replaced as a whole, at once, with a backup beside it. Links are
 * followed to the file that they mean (people keep such files elsewhere and link them), and never replaced.
 */
#ifndef RINGWALL_CLI_CONFIG_FILE_H
#define RINGWALL_CLI_CONFIG_FILE_H

#include "base/error.h"
#include "base/text.h"
#include "path/workspace.h"

struct config_file {
        struct workspace *root;
        struct spot spot; /* spot.path names it, without links; spot.fd is -1 when there is none */
        char *data;       /* what is in it, a NUL behind; "" when there is none */
        size_t length;
};

#define CONFIG_FILE_NONE ((struct config_file){ .spot = SPOT_NONE })
void config_file_done(struct config_file *f);
#define CLEANUP_CONFIG_FILE CLEANUP(config_file_done)

/*
 * Reads the file at this path, of at most `cap` bytes; that there is none is no failure. `root` is the directory that
 * no link may lead out of.
 */
int config_file_read(const char *root, const char *path, size_t cap, struct config_file *ret, struct error *e);

/*
 * Replaces it. What was there is kept in a new file beside it, whose path is added to `ret_backup`. A new file gets
 * `mode`. Fails with -ESTALE when somebody else wrote there since it was read. After a failure nothing has changed, or
 * the backup is there.
 */
int config_file_write(struct config_file *f, const struct text *content, mode_t mode, struct text *ret_backup,
                      struct error *e);

#endif
