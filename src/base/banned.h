/*
 * Functions that have no safe use here. Every source file is compiled with this header in front (meson.build), so a
 * call to one of them is a compile error that names the function. The system headers that declare them come first,
 * because poisoning a name also poisons its declaration.
 */
#ifndef RINGWALL_BASE_BANNED_H
#define RINGWALL_BASE_BANNED_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* No bound on what they write. */
#pragma GCC poison strcpy strcat stpcpy sprintf vsprintf gets
/* Truncate silently, or leave the terminator off. */
#pragma GCC poison strncpy strncat
/* Hidden static state. */
#pragma GCC poison strtok asctime ctime gmtime localtime
/* Cannot report an error. */
#pragma GCC poison atoi atol atoll atof
/* Run a shell. */
#pragma GCC poison system popen
/* Return names that another process can take first. */
#pragma GCC poison mktemp tmpnam tempnam

#endif
