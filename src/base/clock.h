/* Time for measuring and waiting. */
#ifndef RINGWALL_BASE_CLOCK_H
#define RINGWALL_BASE_CLOCK_H

#include <stdint.h>

/* Milliseconds of CLOCK_MONOTONIC, which never jumps. */
int64_t clock_ms(void);

#endif
