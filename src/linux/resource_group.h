/* The object that enforces the limits of a box on Linux; see platform/limits.h. */
#ifndef RINGWALL_LINUX_RESOURCE_GROUP_H
#define RINGWALL_LINUX_RESOURCE_GROUP_H

#include "linux/cgroup.h"
#include "platform/limits.h"

struct resource_group {
        struct cgroup cgroup;
};

#endif
