/* Reads a git configuration file. */
#ifndef RINGWALL_LINUX_GIT_CONFIG_FILE_H
#define RINGWALL_LINUX_GIT_CONFIG_FILE_H

#include "policy/git_config_parse.h"

/* Returns 0 or -errno; -EINVAL: git could not parse the file either. The result is allocated in the arena. */
int git_config_file_read(struct arena *a, const char *path, struct git_config *ret);

#endif
