/* Quantities as people write them. Each parser takes the whole text, or returns false. */
#ifndef RINGWALL_POLICY_UNITS_H
#define RINGWALL_POLICY_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* 512MB (powers of 1000), 1.5GiB or 2G (powers of 1024), 1048576 (bytes). */
bool units_parse_size(const char *text, uint64_t *ret_bytes);

/* Cores: 2, 0.5, "2 cores", 150%. In thousandths of a core. */
bool units_parse_cpu(const char *text, uint64_t *ret_millicores);

/* Seconds: 90, 90s, 10m, 1h30m, 2d. */
bool units_parse_duration(const char *text, uint64_t *ret_seconds);

/* Print a quantity so that its parser returns the same number. */
void units_print_size(uint64_t bytes, struct text *out);
void units_print_cpu(uint64_t millicores, struct text *out);
void units_print_duration(uint64_t seconds, struct text *out);

#endif
