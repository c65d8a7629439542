/* Host names beyond ASCII for targets that need them: libidn2 with the flags that the program itself uses. */
#ifndef RINGWALL_FUZZ_IDN_H
#define RINGWALL_FUZZ_IDN_H

#include "policy/domain.h"

domain_to_ascii idn_to_ascii;

#endif
