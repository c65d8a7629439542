/* Converts international host names to ASCII with the function that ringwall itself uses. */
#ifndef RINGWALL_FUZZ_IDN_H
#define RINGWALL_FUZZ_IDN_H

#include "policy/domain.h"

domain_to_ascii idn_to_ascii;

#endif
