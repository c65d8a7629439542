/* Converts international host names to ASCII with the function that ringwall itself uses. */
#ifndef RINGWALL_FUZZ_IDN_H
#define RINGWALL_FUZZ_IDN_H

#include "policy/host_pattern.h"

to_ascii_function idn_to_ascii;

#endif
