/*
 * The denied-commands set: commands that do nothing good in a box, so that a command line which calls one is refused
 * with words instead of failing in the middle.
 */
#include "base/memory.h"
#include "policy/managed.h"

static const struct managed_entry entries[] = {
        { "privileges", "sudo" },
        { "privileges", "su" },
        { "power", "shutdown" },
        { "power", "reboot" },
        { "power", "halt" },
        { "power", "poweroff" },
        { "filesystems", "chroot" },
        { "filesystems", "mount" },
        { "filesystems", "umount" },
        { "filesystems", "mkfs" },
        { "filesystems", "mkfs.*" },
};

const struct managed_set denied_commands_set = {
        .name = "denied-commands",
        .key = KEY_DENIED_COMMANDS,
        .by_default = true,
        .entries = entries,
        .count = ARRAY_SIZE(entries),
};
