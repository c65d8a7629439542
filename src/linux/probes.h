/*
 * The probes: each asks the kernel for the features of one wall. Theory of operation: the head of each probe_*.c. One
 * header for all of them, because a landlock.h of our own would hide the kernel's <linux/landlock.h>.
 */
#ifndef RINGWALL_LINUX_PROBES_H
#define RINGWALL_LINUX_PROBES_H

#include <stddef.h>

#include "feature/feature.h"

void probe_syscalls(struct probe_report *report);
void probe_guard(struct probe_report *report);
void probe_harden(struct probe_report *report);
void probe_landlock(struct probe_report *report);
void probe_limits(struct probe_report *report);
void probe_net(struct probe_report *report);
void probe_seccomp(struct probe_report *report);
void namespaces_probe(struct probe_report *report);
void host_probe(struct probe_report *report);

/* Call it after all probes: sets `help` of each missing feature, if a command is known that would provide it. */
void host_find_remedies(struct probe_report *report);

/* "ABI 7", with a remark if this ABI is newer than the newest one that ringwall knows. */
void landlock_describe_abi(int abi, char *text, size_t size);

/* For tests: the names of the rights of one feature, in the table's order, separated by spaces. */
void landlock_list_rights(enum feature_id feature, char *text, size_t size);

#endif
