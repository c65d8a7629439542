/* The table of shapes, compiled when ringwall was built. */
#ifndef RINGWALL_GATE_SHAPES_DATABASE_H
#define RINGWALL_GATE_SHAPES_DATABASE_H

#include <stddef.h>

extern const unsigned char shapes_database[];
extern const size_t shapes_database_length;

#endif
