/* Detects directories in which names that differ only in case are the same name. */
#ifndef RINGWALL_LINUX_CASE_FOLDING_H
#define RINGWALL_LINUX_CASE_FOLDING_H

#include <stdbool.h>

/*
 * Is "a" the same name as "A" in this directory? Tests a name that exists in it, if one has letters; then the
 * directory's own name; then the file system's type. False for a directory that cannot be opened.
 */
bool directory_folds_case(const char *path);

#endif
