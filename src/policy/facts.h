/*
 * What a compilation must know of the machine. The caller asks the system; nothing in this folder does. An empty or
 * missing fact is not guessed: a rule that needs it is an error.
 */
#ifndef RINGWALL_POLICY_FACTS_H
#define RINGWALL_POLICY_FACTS_H

#include "policy/domain.h"

struct facts {
        const char *cwd;       /* absolute */
        const char *home;      /* the person's home directory, absolute */
        const char *path;      /* $PATH */
        const char *user_data; /* ringwall's data, or that of the program that embeds it */
        const char *const *own_files; /* absolute paths of the policy files in use, NULL after the last; or NULL */
        domain_to_ascii *to_ascii;
};

#endif
