/* The index of rules by anchor; see rule_index.h. */
#include "policy/rule_index.h"

#include <string.h>

struct anchored {
        const struct rule *rule;
        size_t length; /* of the anchor, at the start of rule->path */
};

struct rule_index {
        size_t count;
        struct anchored list[];
};

size_t rule_anchor_length(const struct rule *r)
{
        size_t n = r->glob ? strcspn(r->path, "*?[\\") : strlen(r->path);
        while (r->glob && n > 0 && r->path[n - 1] != '/')
                n--;
        while (n > 0 && r->path[n - 1] == '/')
                n--;
        return n;
}

static int compare_text(const char *a, size_t la, const char *b, size_t lb)
{
        int order = memcmp(a, b, la < lb ? la : lb);
        return order ? order : (la > lb) - (la < lb);
}

static int compare_anchors(const void *a, const void *b)
{
        const struct anchored *x = a, *y = b;
        return compare_text(x->rule->path, x->length, y->rule->path, y->length);
}

struct rule_index *rule_index_new(struct arena *a, const struct rules *rules)
{
        struct rule_index *index = arena_alloc(a, sizeof *index + rules->count * sizeof index->list[0]);
        if (!index)
                return NULL;
        index->count = rules->count;
        for (size_t i = 0; i < rules->count; i++)
                index->list[i] = (struct anchored){ &rules->list[i], rule_anchor_length(&rules->list[i]) };
        qsort(index->list, index->count, sizeof index->list[0], compare_anchors);
        return index;
}

/* The first entry whose anchor does not sort before this text. */
static size_t lower_bound(const struct rule_index *index, const char *path, size_t length)
{
        size_t low = 0, high = index->count;
        while (low < high) {
                size_t middle = low + (high - low) / 2;
                const struct anchored *m = &index->list[middle];
                if (compare_text(m->rule->path, m->length, path, length) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* The list keeps its memory between lookups, so it grows only to the largest result. */
static bool add_candidate(struct arena *a, struct rule_candidates *ret, const struct rule *rule)
{
        if (ret->rules.count == ret->room) {
                size_t room = ret->room ? ret->room * 2 : 16;
                struct rule *larger = arena_alloc(a, room * sizeof *larger);
                if (!larger)
                        return false;
                if (ret->rules.count)
                        memcpy(larger, ret->rules.list, ret->rules.count * sizeof *larger);
                ret->rules.list = larger;
                ret->room = room;
        }
        ret->rules.list[ret->rules.count++] = *rule;
        return true;
}

bool rule_index_candidates(struct rule_index *index, struct arena *a, const char *path,
                           struct rule_candidates *ret)
{
        ret->rules.count = 0;
        size_t length = strcmp(path, "/") == 0 ? 0 : strlen(path);
        for (;;) {
                for (size_t i = lower_bound(index, path, length); i < index->count; i++) {
                        const struct anchored *r = &index->list[i];
                        if (r->length != length || memcmp(r->rule->path, path, length) != 0)
                                break;
                        if (!add_candidate(a, ret, r->rule))
                                return false;
                }
                if (length == 0)
                        return true;
                while (path[length - 1] != '/')
                        length--;
                length--;
        }
}
