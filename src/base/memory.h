/*
 * Ownership of memory, in two forms: single objects with a cleanup attribute, and arenas for objects that are freed
 * together (a parsed file, a plan). An arena has a cap, so that no input can use unbounded memory.
 */
#ifndef RINGWALL_BASE_MEMORY_H
#define RINGWALL_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static inline void memory_free_pointer(void *p)
{
        free(*(void **)p);
}

#define CLEANUP(function) __attribute__((cleanup(function)))
#define CLEANUP_FREE CLEANUP(memory_free_pointer)

/* Hands a pointer over: the variable is NULL afterwards, so its cleanup does nothing. */
#define TAKE_PTR(p) ({ __typeof__(p) taken_ = (p); (p) = NULL; taken_; })

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct arena;

/* An arena that never hands out more than cap bytes; NULL if out of memory. */
struct arena *arena_new(size_t cap);
void arena_free(struct arena *a);
/* Has an allocation failed because of the cap? */
bool arena_is_full(const struct arena *a);
static inline void arena_free_pointer(struct arena **a)
{
        arena_free(*a);
}
#define CLEANUP_ARENA CLEANUP(arena_free_pointer)

/* Zeroed memory aligned for any type; NULL beyond the cap or if out of memory. */
void *arena_alloc(struct arena *a, size_t size);
#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))

/* Copies of a text, with a terminator; the first takes `length` bytes, which need not have one. */
char *arena_strndup(struct arena *a, const char *text, size_t length);
char *arena_strdup(struct arena *a, const char *text);
/* Concatenates the two texts. */
char *arena_concat(struct arena *a, const char *first, const char *second);
char *arena_format(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Appends an element to an array in the arena; a full array is doubled. Returns the new element, zeroed, and increments
 * *count. If out of memory, returns NULL and changes nothing.
 */
void *arena_array_push(struct arena *a, void *array_pointer, size_t *count, size_t element_size);

#endif
