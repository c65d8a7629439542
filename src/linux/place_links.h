/* Could a box have made a symlink on the way to a grant? Theory of operation: place_links.c. */
#ifndef RINGWALL_LINUX_PLACE_LINKS_H
#define RINGWALL_LINUX_PLACE_LINKS_H

#include <limits.h>
#include <stdbool.h>

/*
 * Reads the symlink at `path`, and finds out whether a program in one of this user's boxes could have made it. Returns
 * 0, -EINVAL when it is not a symlink, or another -errno.
 */
int place_link_read(const char *path, char ret_target[static PATH_MAX], bool *ret_box_could_make);

#endif
