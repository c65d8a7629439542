/* Host names beyond ASCII, turned into their network form as the program itself does it. */
#ifndef RINGWALL_FUZZ_IDN_H
#define RINGWALL_FUZZ_IDN_H

#include "policy/domain.h"

domain_to_ascii idn_to_ascii;

#endif
