/*
 * The denied-commands set: commands that cannot work in a box. The Bash tool refuses a command line that calls one and
 * says why, instead of letting it fail halfway.
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
