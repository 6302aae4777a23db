/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"
#include "outbox/outbox_priv.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 256

static void hash_id(const struct tc__record *r, uint64_t out[2])
{
    out[0] = tc_slice_hash(r->mark.incident_id, 1) | 1; /* never free */
    out[1] = tc_slice_hash(r->mark.incident_id, 2);
}

static struct tc__mark_place *find(const struct tc__marks *m, const uint64_t id[2])
{
    for (size_t i = (size_t)id[1] & (m->size - 1);; i = (i + 1) & (m->size - 1)) {
        struct tc__mark_place *p = &m->places[i];
        if (p->id[0] == 0 || (p->id[0] == id[0] && p->id[1] == id[1])) {
            return p;
        }
    }
}

void tc__marks_fini(struct tc__marks *m)
{
    free(m->places);
    *m = (struct tc__marks){0};
}

static int by_number(const void *a, const void *b)
{
    const struct tc__mark_place *x = a;
    const struct tc__mark_place *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Resolved ones first, then by age: what may be forgotten first. */
static int by_worth(const void *a, const void *b)
{
    const struct tc__mark_place *x = a;
    const struct tc__mark_place *y = b;
    return x->resolved != y->resolved ? (int)y->resolved - (int)x->resolved : by_number(a, b);
}

static struct tc__mark_place *copy_all(const struct tc__marks *m)
{
    struct tc__mark_place *all = calloc(m->count == 0 ? 1 : m->count, sizeof *all);
    size_t count = 0;
    for (size_t i = 0; all != NULL && i < m->size; i++) {
        if (m->places[i].id[0] != 0) {
            all[count++] = m->places[i];
        }
    }
    return all;
}

struct tc__mark_place *tc__marks_sorted(const struct tc__marks *m)
{
    struct tc__mark_place *all = copy_all(m);
    if (all != NULL) {
        qsort(all, m->count, sizeof *all, by_number);
    }
    return all;
}

/* Makes room: a table of twice the size or, at the limit, without the quarter of least worth. */
static tc_status make_room(struct tc__marks *m)
{
    size_t size = m->size == 0 ? FIRST_SIZE : m->size * 2;
    struct tc__mark_place *all = copy_all(m);
    size_t from = 0;
    if (m->count >= TC_OUTBOX_MARKS_MAX) {
        TC_ASSERT(m->size > 0);
        size = m->size;
        from = m->count / 4;
        if (all != NULL) {
            qsort(all, m->count, sizeof *all, by_worth);
        }
    }
    struct tc__mark_place *places = calloc(size, sizeof *places);
    if (all == NULL || places == NULL) {
        free(all);
        free(places);
        return TC_E_NOMEM;
    }
    free(m->places);
    m->places = places;
    m->size = size;
    for (size_t i = from; i < m->count; i++) {
        *find(m, all[i].id) = all[i];
    }
    m->count -= from;
    free(all);
    return TC_OK;
}

tc_status tc__marks_put(struct tc__marks *m, const struct tc__record *r)
{
    if (m->count >= m->size / 2 || m->count >= TC_OUTBOX_MARKS_MAX) {
        TC_TRY(make_room(m));
    }
    uint64_t id[2];
    hash_id(r, id);
    struct tc__mark_place *p = find(m, id);
    m->count += p->id[0] == 0;
    *p = (struct tc__mark_place){.id = {id[0], id[1]},
                                 .number = r->number,
                                 .at = r->at,
                                 .resolved = r->mark.status == TC_VERDICT_RESOLVED};
    return TC_OK;
}

bool tc__marks_is_latest(const struct tc__marks *m, const struct tc__record *r)
{
    uint64_t id[2];
    hash_id(r, id);
    return m->size > 0 && find(m, id)->id[0] != 0 && find(m, id)->number == r->number;
}
