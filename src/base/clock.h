/* Time for measuring and waiting. */
#ifndef RINGWALL_BASE_CLOCK_H
#define RINGWALL_BASE_CLOCK_H

#include <stdint.h>

/* Milliseconds of a clock that does not jump. */
int64_t clock_ms(void);

#endif
