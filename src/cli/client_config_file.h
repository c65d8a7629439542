/*
 * Reads another program's configuration file, and replaces it atomically or removes it, with a backup beside it.
 * Symlinks are followed and never replaced, because users keep such files elsewhere and link to them.
 */
#ifndef RINGWALL_CLI_CLIENT_CONFIG_FILE_H
#define RINGWALL_CLI_CLIENT_CONFIG_FILE_H

#include "base/error.h"
#include "base/text.h"
#include "path/workspace.h"

struct client_config_file {
        char *path; /* as it was given */
        struct workspace *root;
        struct held_path held; /* held.path is the path with all symlinks resolved; held.fd is -1 if no file exists */
        char *data;            /* the content, followed by a NUL; "" if no file exists */
        size_t length;
};

#define CONFIG_FILE_NONE ((struct client_config_file){ .held = HELD_PATH_NONE })
void client_config_file_done(struct client_config_file *f);
#define CLEANUP_CONFIG_FILE CLEANUP(client_config_file_done)

/*
 * Reads the file at this path, of at most `bytes_max` bytes. A missing file is not an error. Symlinks must not lead out
 * of the directory `root`.
 */
int client_config_file_read(const char *root, const char *path, size_t bytes_max, struct client_config_file *ret,
                            struct error *e);

/*
 * Replaces the file. The old content is saved in a new file beside it, whose path is added to `ret_backup`. `mode` is
 * used if the file did not exist. Fails with -ESTALE if another process wrote the file since it was read. After a
 * failure either nothing has changed, or the backup exists.
 */
int client_config_file_write(struct client_config_file *f, const struct text *content, mode_t mode,
                             struct text *ret_backup, struct error *e);

/*
 * Removes the file, after its content was saved as above. A file to which a symlink leads is emptied instead, so that
 * the link stays valid: it gets `content`.
 */
int client_config_file_remove(struct client_config_file *f, const struct text *content, struct text *ret_backup,
                              struct error *e);

/* The number of backups of the file. */
unsigned client_config_file_count_backups(const struct client_config_file *f);

/* Reads a backup of the file; the oldest has number 0. The text is followed by a NUL. */
int client_config_file_read_backup(const struct client_config_file *f, unsigned number, size_t bytes_max,
                                   char **ret_data, size_t *ret_length, struct error *e);

#endif
