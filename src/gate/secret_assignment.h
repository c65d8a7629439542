/*
 * Settings whose name says that the value is a secret: password = …, "apiKey": "…", --token …, DB_PASSWORD=…. Decides
 * whether the value is one, or code, a reference, a placeholder or a text; docs/decisions/scrubbing.md has the rules.
 */
#ifndef RINGWALL_GATE_SECRET_ASSIGNMENT_H
#define RINGWALL_GATE_SECRET_ASSIGNMENT_H

#include "gate/secret_patterns.h"

enum {
        SETTING_NAME_MAX = 64,   /* bytes of a name that are looked at before the word that says it is a secret */
        SETTING_BEFORE_MAX = 16, /* … and before the name */
};

/*
 * The match begins with a word such as "password", and ends with the sign before the value. Moves the span to the
 * value, without quotes; false if it is no secret.
 */
bool extract_assignment(struct text_span *s);
/* A value that follows the name after a blank, as on a command line. The match ends with its first character. */
bool extract_argument(struct text_span *s);
/* The password in -u user:password; the match ends with its first character. */
bool extract_user_password(struct text_span *s);
/* The password in .netrc: login NAME password …, or a line of its own. The match ends with its first character. */
bool extract_netrc(struct text_span *s);

#endif
