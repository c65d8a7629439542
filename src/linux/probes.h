/*
 * What each wall's file offers to the rest of this folder and to the unit tests; the theory of operation of each is
 * at the head of its .c file. One header for all: a landlock.h of our own would hide the kernel's <linux/landlock.h>.
 */
#ifndef RINGWALL_LINUX_PROBES_H
#define RINGWALL_LINUX_PROBES_H

#include <stddef.h>

#include "wall/wall.h"

void calls_probe(struct probe_report *report);
void guard_probe(struct probe_report *report);
void harden_probe(struct probe_report *report);
void landlock_probe(struct probe_report *report);
void limits_probe(struct probe_report *report);
void net_probe(struct probe_report *report);
void seccomp_probe(struct probe_report *report);
void spaces_probe(struct probe_report *report);
void surroundings_probe(struct probe_report *report);

/* After all the probes: puts the command that would help next to each feature that is lacking. */
void surroundings_remedy(struct probe_report *report);

/* The newest Landlock ABI whose rights this program can handle. */
enum { LANDLOCK_NEWEST_KNOWN = 10 };

/* "ABI 7", and plainly more when the ABI is newer than what is known here. */
void landlock_describe_abi(int abi, char *text, size_t size);

/* The names of the rights of one feature, in the table's order, separated by spaces. */
void landlock_list_rights(enum feature_id feature, char *text, size_t size);

#endif
