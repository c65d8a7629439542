/* The table of secret patterns, compiled when ringwall was built. */
#ifndef RINGWALL_GATE_SECRET_PATTERNS_DATABASE_H
#define RINGWALL_GATE_SECRET_PATTERNS_DATABASE_H

#include <stddef.h>

extern const unsigned char secret_patterns_database[];
extern const size_t secret_patterns_database_length;

#endif
