/*
 * Landlock's rights, and the ABI and kernel release that introduced each: the only place with these numbers. Other
 * files ask by feature.
 */
#ifndef RINGWALL_LINUX_LANDLOCK_TABLE_H
#define RINGWALL_LINUX_LANDLOCK_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "linux/kernel_abi.h"
#include "feature/feature.h"

enum landlock_kind { LANDLOCK_FS, LANDLOCK_NET, LANDLOCK_SCOPE, LANDLOCK_SWITCH /* of landlock_restrict_self() */ };

struct landlock_right {
        enum feature_id feature;
        enum landlock_kind kind;
        uint64_t bit;
        const char *name;
};
extern const struct landlock_right landlock_rights[];
extern const size_t landlock_right_count;

/* Sorted by ABI. */
struct landlock_version {
        enum feature_id feature;
        int abi;
        const char *release; /* of Linux */
};
extern const struct landlock_version landlock_versions[];
extern const size_t landlock_version_count;

/* The newest ABI whose rights this program can handle. */
int landlock_newest_known(void);

/* The ABI of this kernel, or -errno without Landlock. */
int landlock_abi(void);

/* Does an ABI, or this kernel, have a feature? */
bool landlock_abi_has(int abi, enum feature_id feature);
bool landlock_has(enum feature_id feature);

/* The Linux release that introduced a feature. */
const char *landlock_release(enum feature_id feature);

/* All rights that an ABI has. */
struct landlock_attr landlock_all_rights(int abi);

#endif
