/* Is it a secret, or does it only look like one? What the table of shapes names, and where a word starts. */
#ifndef RINGWALL_GATE_SHAPE_CHECKS_H
#define RINGWALL_GATE_SHAPE_CHECKS_H

#include "gate/shapes.h"

/*
 * Nothing of a word stands in front of it. The last letter of an escape is not part of a word: \n and \u0026 in
 * strings of programs, %3D in URLs, the colours of a terminal.
 */
bool shape_starts_word(const struct span *s);

/* Capitals, small letters and digits: rules out identifiers and words, which a short prefix would let in. */
bool check_mixed(const struct span *s);
/* A letter, a digit and many different characters: rules out the zeros of base64, and rows of x. */
bool check_varied(const struct span *s);
/* As chance makes it: many different characters, and enough digits. */
bool check_chance(const struct span *s);
/* The value of a setting whose name says that it is a secret: no reference, no code, no placeholder. */
bool check_value(const struct span *s);

/* Behind the "=" of a setting; in quotes, it goes to the one that closes them. */
bool part_value(struct span *s);
/* User and password in a URL. */
bool part_url(struct span *s);
/* From the beginning of the token, of which the second part was found. */
bool part_jwt(struct span *s);

#endif
