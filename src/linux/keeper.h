/* The keeper: the first process of a box. */
#ifndef RINGWALL_LINUX_KEEPER_H
#define RINGWALL_LINUX_KEEPER_H

#include "linux/box_setup.h"

/* Prepares the walls, starts the command and supervises it. Runs as pid 1 of the box, where it has a pid namespace. */
_Noreturn void keeper_run(struct box_setup setup);

#endif
