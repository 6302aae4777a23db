/* SPDX-License-Identifier: Apache-2.0 */
#include "offline/clocks.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/os/block.h"
#include "base/table/map.h"
#include "base/time.h"
#include "directory/directory.h"
#include "event/fields.h"

#include <stdlib.h>

#define NAMES_BYTES ((size_t)16 << 20)
#define RANKS_MAX (8 * TC_CLOCK_SEATS)
/* Steps that two nodes must have in common, and how near their differences must be to each other.
 */
#define COMMON_MIN 3
#define NEAR_NS (2 * TC_SECOND)
/* Nodes with the same first label that are looked at: of clusters that name theirs alike. */
#define SAME_LABEL_MAX 16

struct sample {
    int64_t step;
    int64_t time_ns; /* when the first of the node's ranks ended it */
};

/* Where a rank of a job runs. */
struct rank {
    size_t seat; /* from 1 */
    int32_t number;
};

/* A node in a job. Invariant: steps ascend, and each is a multiple of the job's stride. */
struct seat {
    struct tc_slice node;
    size_t job;
    size_t next; /* of the same job, from 1; 0 ends */
    size_t count;
    int64_t ahead_ns; /* of the job's first seat */
    bool compared;
    struct sample samples[TC_CLOCK_STEPS];
};

struct job {
    struct tc_slice name;
    int64_t stride; /* only steps that it divides are kept */
    size_t first;   /* seat, from 1 */
    size_t last;
};

struct known {
    struct tc_clock clock;
    size_t agreeing; /* nodes that bear it out */
};

struct tc_clocks {
    struct tc_block *block;
    struct tc_arena arena;
    struct tc_map index; /* jobs and seats by name */
    struct tc_map rank_index;
    struct tc_map nodes; /* `known` by the first label of its name */
    struct job *jobs;
    struct seat *seats;
    struct rank *ranks;
    struct known *known;
    struct tc_clock *off;
    size_t job_count;
    size_t seat_count;
    size_t rank_count;
    size_t known_count;
    size_t off_count;
    size_t seat; /* of the last event, from 1: events of one node come together */
};

struct tc_clocks *tc_clocks_create(void)
{
    /* Of the block only what is used takes memory. */
    size_t map_bytes = (4 * TC_CLOCK_SEATS + RANKS_MAX) * 8 * sizeof(struct tc_map_slot);
    size_t bytes = TC_CLOCK_SEATS * (sizeof(struct seat) + sizeof(struct job) +
                                     sizeof(struct known) + sizeof(struct tc_clock)) +
                   RANKS_MAX * sizeof(struct rank) + map_bytes + NAMES_BYTES;
    struct tc_clocks *c = calloc(1, sizeof *c);
    struct tc_block *block = c == NULL ? NULL : tc_block_new(bytes);
    if (block == NULL) {
        free(c);
        return NULL;
    }
    c->block = block;
    tc_arena_init_zeroed(&c->arena, "clocks", block->bytes, block->size);
    c->jobs = tc_new(&c->arena, struct job, TC_CLOCK_SEATS);
    c->seats = tc_new(&c->arena, struct seat, TC_CLOCK_SEATS);
    c->ranks = tc_new(&c->arena, struct rank, RANKS_MAX);
    c->known = tc_new(&c->arena, struct known, TC_CLOCK_SEATS);
    c->off = tc_new(&c->arena, struct tc_clock, TC_CLOCK_SEATS);
    if (c->off == NULL || !tc_map_init(&c->index, &c->arena, 2 * TC_CLOCK_SEATS) ||
        !tc_map_init(&c->rank_index, &c->arena, RANKS_MAX) ||
        !tc_map_init(&c->nodes, &c->arena, TC_CLOCK_SEATS)) {
        tc_clocks_destroy(c);
        return NULL;
    }
    return c;
}

void tc_clocks_destroy(struct tc_clocks *c)
{
    if (c != NULL) {
        tc_arena_fini(&c->arena);
        tc_block_free(c->block);
        free(c);
    }
}

/* The maps have room for all there can be. */
static void add_to(struct tc_map *map, uint64_t hash, uint64_t value)
{
    bool added = tc_map_add(map, hash, value, 1);
    TC_ASSERT(added);
    (void)added;
}

/* A job, from 1; 0 when it is not known. */
static size_t find_job(const struct tc_clocks *c, struct tc_slice name)
{
    struct tc_map_iter it = tc_map_find(&c->index, tc_slice_hash(name, 1));
    for (uint64_t at; (at = tc_map_next(&c->index, &it)) != 0;) {
        if (at <= TC_CLOCK_SEATS && tc_slice_eq(c->jobs[at - 1].name, name)) {
            return (size_t)at;
        }
    }
    return 0;
}

/* The same; one that is new is kept while there is room. */
static size_t job_of(struct tc_clocks *c, struct tc_slice name)
{
    size_t known = find_job(c, name);
    if (known != 0) {
        return known;
    }
    struct tc_slice copy = tc_arena_copy(&c->arena, name);
    if (c->job_count == TC_CLOCK_SEATS || copy.len != name.len) {
        return 0;
    }
    c->jobs[c->job_count++] = (struct job){.name = copy, .stride = 1};
    add_to(&c->index, tc_slice_hash(name, 1), c->job_count);
    return c->job_count;
}

static bool is_seat(const struct tc_clocks *c, size_t seat, size_t job, struct tc_slice node)
{
    return c->seats[seat - 1].job == job && tc_slice_eq(c->seats[seat - 1].node, node);
}

/* The seat of a job on a node, from 1; 0 when there is no room. */
static size_t seat_of(struct tc_clocks *c, size_t job, struct tc_slice node)
{
    uint64_t hash = tc_hash_mix(tc_slice_hash(node, 2), job);
    struct tc_map_iter it = tc_map_find(&c->index, hash);
    for (uint64_t at; (at = tc_map_next(&c->index, &it)) != 0;) {
        if (at > TC_CLOCK_SEATS && is_seat(c, (size_t)at - TC_CLOCK_SEATS, job, node)) {
            return (size_t)at - TC_CLOCK_SEATS;
        }
    }
    struct tc_slice copy = tc_arena_copy(&c->arena, node);
    if (c->seat_count == TC_CLOCK_SEATS || copy.len != node.len) {
        return 0;
    }
    c->seats[c->seat_count++] = (struct seat){.node = copy, .job = job};
    struct job *j = &c->jobs[job - 1];
    if (j->first == 0) {
        j->first = c->seat_count;
    } else {
        c->seats[j->last - 1].next = c->seat_count;
    }
    j->last = c->seat_count;
    add_to(&c->index, hash, TC_CLOCK_SEATS + c->seat_count);
    return c->seat_count;
}

static uint64_t hash_rank(size_t job, int32_t rank)
{
    return tc_hash_mix(tc_hash_mix(3, job), (uint64_t)rank) | 1;
}

/* The node that a rank of a job runs on; "" when that is not known. */
static struct tc_slice node_of_rank(const struct tc_clocks *c, size_t job, int32_t rank)
{
    struct tc_map_iter it = tc_map_find(&c->rank_index, hash_rank(job, rank));
    for (uint64_t at; (at = tc_map_next(&c->rank_index, &it)) != 0;) {
        const struct rank *r = &c->ranks[at - 1];
        if (r->number == rank && c->seats[r->seat - 1].job == job) {
            return c->seats[r->seat - 1].node;
        }
    }
    return TC_EMPTY;
}

static void note_rank(struct tc_clocks *c, size_t seat, int32_t rank)
{
    size_t job = c->seats[seat - 1].job;
    if (rank >= 0 && c->rank_count < RANKS_MAX && node_of_rank(c, job, rank).len == 0) {
        c->ranks[c->rank_count++] = (struct rank){seat, rank};
        add_to(&c->rank_index, hash_rank(job, rank), c->rank_count);
    }
}

/* Every other step goes, of all nodes of the job alike: what is left is what they have in common.
 */
static void thin_out(struct tc_clocks *c, struct job *j)
{
    j->stride *= 2;
    for (size_t at = j->first; at != 0; at = c->seats[at - 1].next) {
        struct seat *s = &c->seats[at - 1];
        size_t kept = 0;
        for (size_t i = 0; i < s->count; i++) {
            if (s->samples[i].step % j->stride == 0) {
                s->samples[kept++] = s->samples[i];
            }
        }
        s->count = kept;
    }
}

static void note_step(struct tc_clocks *c, struct seat *s, int64_t step, int64_t time_ns)
{
    struct job *j = &c->jobs[s->job - 1];
    size_t at = s->count;
    while (at > 0 && s->samples[at - 1].step > step) {
        at--;
    }
    if (step % j->stride != 0) {
        return;
    }
    if (at > 0 && s->samples[at - 1].step == step) {
        struct sample *known = &s->samples[at - 1];
        known->time_ns = time_ns < known->time_ns ? time_ns : known->time_ns;
        return;
    }
    if (at < s->count) {
        return; /* the job went back to an earlier step */
    }
    while (s->count == TC_CLOCK_STEPS && j->stride < INT64_MAX / 2) {
        thin_out(c, j);
    }
    if (s->count < TC_CLOCK_STEPS && step % j->stride == 0) {
        s->samples[s->count++] = (struct sample){step, time_ns};
    }
}

void tc_clocks_note(struct tc_clocks *c, const struct tc_event *ev)
{
    const struct tc_scope *scope = &ev->scope;
    if (ev->kind != TC_EVENT_TRAIN_STEP || ev->train.step < 0 || scope->node.len == 0 ||
        scope->job.len == 0 || !tc_time_is_date(ev->time_ns)) {
        return;
    }
    if (c->seat == 0 || !is_seat(c, c->seat, c->seats[c->seat - 1].job, scope->node) ||
        !tc_slice_eq(c->jobs[c->seats[c->seat - 1].job - 1].name, scope->job)) {
        size_t job = job_of(c, scope->job);
        c->seat = job == 0 ? 0 : seat_of(c, job, scope->node);
    }
    if (c->seat != 0) {
        note_rank(c, c->seat, scope->rank);
        note_step(c, &c->seats[c->seat - 1], ev->train.step, ev->time_ns);
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* How far a seat is ahead of another, when enough steps say the same. */
static bool is_ahead(const struct seat *s, const struct seat *of, int64_t *out_ns)
{
    int64_t apart[TC_CLOCK_STEPS];
    size_t count = 0;
    for (size_t i = 0, k = 0; i < s->count && k < of->count;) {
        int64_t a = s->samples[i].step;
        int64_t b = of->samples[k].step;
        if (a == b) {
            apart[count++] = s->samples[i].time_ns - of->samples[k].time_ns;
        }
        i += a <= b;
        k += b <= a;
    }
    if (count < COMMON_MIN) {
        return false;
    }
    qsort(apart, count, sizeof apart[0], by_value);
    *out_ns = apart[count / 2];
    size_t near = 0;
    for (size_t i = 0; i < count; i++) {
        near += llabs(apart[i] - *out_ns) <= NEAR_NS;
    }
    return near * 4 >= count * 3;
}

/*
 * Where most of `count` ascending values are: the median of the largest group whose members are
 * within NEAR_NS of its first. Their number; 0 when no group is larger than all others, or none
 * has two members.
 */
static size_t find_agreement(const int64_t *values, size_t count, int64_t *out_ns)
{
    size_t most = 1;
    bool tied = true;
    for (size_t first = 0; first < count;) {
        size_t end = first;
        while (end < count && values[end] - values[first] <= NEAR_NS) {
            end++;
        }
        if (end - first > most) {
            most = end - first;
            *out_ns = values[first + most / 2];
            tied = false;
        } else if (end - first == most) {
            tied = true;
        }
        first = end;
    }
    return tied ? 0 : most;
}

/* What is known of a node by this or another of its names; NULL. */
static struct known *find_node(const struct tc_clocks *c, struct tc_slice node)
{
    struct tc_map_iter it = tc_map_find(&c->nodes, tc_slice_hash(tc_directory_host_label(node), 0));
    unsigned visited = 0;
    for (uint64_t at; visited < SAME_LABEL_MAX && (at = tc_map_next(&c->nodes, &it)) != 0;) {
        visited++;
        if (tc_directory_is_same_host(c->known[at - 1].clock.node, node)) {
            return &c->known[at - 1];
        }
    }
    return NULL;
}

static void keep_clock(struct tc_clocks *c, const struct seat *s, int64_t right_ns, size_t agreeing)
{
    struct known value = {{s->node, s->ahead_ns - right_ns, agreeing > 0}, agreeing};
    struct known *known = find_node(c, s->node);
    if (known == NULL) {
        c->known[c->known_count++] = value;
        add_to(&c->nodes, tc_slice_hash(tc_directory_host_label(s->node), 0), c->known_count);
    } else if (agreeing > known->agreeing) {
        value.clock.node = known->clock.node;
        *known = value;
    }
}

static void compare_job(struct tc_clocks *c, const struct job *j, int64_t *values)
{
    size_t count = 0;
    const struct seat *reference = &c->seats[j->first - 1];
    for (size_t at = j->first; at != 0; at = c->seats[at - 1].next) {
        struct seat *s = &c->seats[at - 1];
        s->compared = is_ahead(s, reference, &s->ahead_ns);
        if (s->compared) {
            values[count++] = s->ahead_ns;
        }
    }
    if (count < 2) {
        return;
    }
    qsort(values, count, sizeof values[0], by_value);
    int64_t right_ns = values[0];
    size_t agreeing = find_agreement(values, count, &right_ns);
    for (size_t at = j->first; at != 0; at = c->seats[at - 1].next) {
        if (c->seats[at - 1].compared) {
            keep_clock(c, &c->seats[at - 1], right_ns, agreeing);
        }
    }
}

static int further_first(const void *a, const void *b)
{
    const struct tc_clock *x = a;
    const struct tc_clock *y = b;
    int64_t apart = llabs(y->ahead_ns) - llabs(x->ahead_ns);
    return apart != 0 ? (apart > 0) - (apart < 0) : tc_slice_cmp(x->node, y->node);
}

size_t tc_clocks_compare(struct tc_clocks *c)
{
    int64_t *values = tc_new(&c->arena, int64_t, c->seat_count + 1);
    for (size_t i = 0; values != NULL && i < c->job_count; i++) {
        compare_job(c, &c->jobs[i], values);
    }
    for (size_t i = 0; i < c->known_count; i++) {
        if (llabs(c->known[i].clock.ahead_ns) >= TC_CLOCK_LEAST_NS) {
            c->off[c->off_count++] = c->known[i].clock;
        }
    }
    qsort(c->off, c->off_count, sizeof c->off[0], further_first);
    return c->off_count;
}

const struct tc_clock *tc_clocks_get(const struct tc_clocks *c, size_t index)
{
    return index < c->off_count ? &c->off[index] : NULL;
}

void tc_clocks_correct(const struct tc_clocks *c, struct tc_event *ev)
{
    const struct tc_scope *scope = &ev->scope;
    struct tc_slice node = scope->node;
    if (tc_event_clock(ev->kind) != TC_CLOCK_OF_NODE || !tc_time_is_date(ev->time_ns)) {
        return;
    }
    if (node.len == 0 && scope->rank >= 0 && scope->job.len > 0) {
        node = node_of_rank(c, find_job(c, scope->job), scope->rank);
    }
    const struct known *known = node.len == 0 ? NULL : find_node(c, node);
    if (known != NULL && llabs(known->clock.ahead_ns) >= TC_CLOCK_LEAST_NS) {
        tc_event_shift(ev, -known->clock.ahead_ns);
    }
}
