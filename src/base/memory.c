/* Arenas: bump allocation in blocks that grow in size and are all freed together. See memory.h. */
#include "base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20, ALIGNMENT = 16 };

struct block {
        struct block *next;
        size_t size, used;
        _Alignas(ALIGNMENT) unsigned char data[];
};

struct arena {
        struct block *blocks;
        size_t cap, taken;
        bool full;
};

struct arena *arena_new(size_t cap)
{
        struct arena *a = calloc(1, sizeof *a);
        if (a)
                a->cap = cap;
        return a;
}

void arena_free(struct arena *a)
{
        if (!a)
                return;
        for (struct block *b = a->blocks, *next; b; b = next) {
                next = b->next;
                free(b);
        }
        free(a);
}

bool arena_is_full(const struct arena *a)
{
        return a->full;
}

static struct block *block_add(struct arena *a, size_t need)
{
        size_t size = a->blocks ? a->blocks->size * 2 : FIRST_BLOCK;
        if (size > LARGEST_BLOCK)
                size = LARGEST_BLOCK;
        if (size < need)
                size = need;
        size_t total = 0;
        struct block *b = __builtin_add_overflow(sizeof *b, size, &total) ? NULL : malloc(total);
        if (!b)
                return NULL;
        b->next = a->blocks;
        b->size = size;
        b->used = 0;
        a->blocks = b;
        return b;
}

void *arena_alloc(struct arena *a, size_t size)
{
        size_t need = 0;
        if (!a || __builtin_add_overflow(size, ALIGNMENT - 1, &need))
                return NULL;
        need = need / ALIGNMENT * ALIGNMENT;
        if (need > a->cap - a->taken) {
                a->full = true;
                return NULL;
        }
        struct block *b = a->blocks;
        if (!b || b->size - b->used < need) {
                b = block_add(a, need);
                if (!b)
                        return NULL;
        }
        void *p = b->data + b->used;
        b->used += need;
        a->taken += need;
        memset(p, 0, need);
        return p;
}

char *arena_strndup(struct arena *a, const char *text, size_t length)
{
        if (length == SIZE_MAX)
                return NULL;
        char *copy = arena_alloc(a, length + 1);
        if (copy && length)
                memcpy(copy, text, length);
        return copy;
}

char *arena_strdup(struct arena *a, const char *text)
{
        return arena_strndup(a, text, strlen(text));
}

char *arena_concat(struct arena *a, const char *first, const char *second)
{
        size_t n = strlen(first), m = strlen(second);
        char *text = arena_alloc(a, n + m + 1);
        if (text) {
                memcpy(text, first, n);
                memcpy(text + n, second, m);
        }
        return text;
}

char *arena_format(struct arena *a, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        int length = vsnprintf(NULL, 0, format, args);
        va_end(args);
        if (length < 0)
                return NULL;
        char *text = arena_alloc(a, (size_t)length + 1);
        if (!text)
                return NULL;
        va_start(args, format);
        (void)vsnprintf(text, (size_t)length + 1, format, args);
        va_end(args);
        return text;
}

/* Capacity is not stored: an array is full whenever its count is zero or a power of two. */
void *arena_array_push(struct arena *a, void *array_pointer, size_t *count, size_t element_size)
{
        unsigned char *array = NULL;
        memcpy(&array, array_pointer, sizeof array);
        size_t n = *count;
        if ((n & (n - 1)) == 0) {
                size_t capacity = n ? n * 2 : 1;
                if (capacity > SIZE_MAX / element_size)
                        return NULL;
                unsigned char *larger = arena_alloc(a, capacity * element_size);
                if (!larger)
                        return NULL;
                if (n)
                        memcpy(larger, array, n * element_size);
                array = larger;
                memcpy(array_pointer, &array, sizeof array);
        }
        *count = n + 1;
        return array + n * element_size;
}
