/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/run_claims.h"

#include "base/table/sort.h"

#include <stdlib.h>

/* Characters of a uid: 8-4-4-4-12 hex digits. */
#define UID_TEXT 36
#define NOBODY SIZE_MAX
#define SEVERAL (SIZE_MAX - 1)

static const char *const KINDS[TC_RUN_NAME_COUNT] = {
    [TC_RUN_NAME_POD_UID] = "pod_uid",     [TC_RUN_NAME_POD] = "pod",   [TC_RUN_NAME_JOB] = "job",
    [TC_RUN_NAME_SCHEDULER] = "scheduler", [TC_RUN_NAME_NODE] = "node",
};

struct tc_slice tc_run_name_kind(enum tc_run_name name)
{
    return tc_slice_cstr(KINDS[name]);
}

bool tc_run_name_parse(struct tc_slice kind, enum tc_run_name *out)
{
    for (size_t i = 0; i < TC_RUN_NAME_COUNT; i++) {
        if (tc_slice_eq(kind, tc_slice_cstr(KINDS[i]))) {
            *out = (enum tc_run_name)i;
            return true;
        }
    }
    return false;
}

/* ---- names ---- */

/* Digits and dots, or with a colon: what no host name is. */
static bool is_address(struct tc_slice node)
{
    bool digits = true;
    for (size_t i = 0; i < node.len; i++) {
        if (node.ptr[i] == ':') {
            return true;
        }
        digits = digits && ((node.ptr[i] >= '0' && node.ptr[i] <= '9') || node.ptr[i] == '.');
    }
    return digits;
}

struct tc_run_node tc_run_node_of(struct tc_slice node, char *out)
{
    if (is_address(node)) {
        return (struct tc_run_node){node, TC_EMPTY};
    }
    for (size_t i = 0; i < node.len; i++) {
        char c = node.ptr[i];
        out[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    struct tc_run_node made = {.domain = TC_EMPTY};
    made.host = tc_slice_cut(tc_slice_make(out, node.len), '.', &made.domain);
    return made;
}

bool tc_run_name_is_uid(struct tc_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (dash ? c != '-' : !hex) {
            return false;
        }
    }
    return text.len == UID_TEXT;
}

/* ---- windows ---- */

static int by_run(const void *a, const void *b)
{
    const struct tc_run_window *x = a;
    const struct tc_run_window *y = b;
    int order = TC_ORDER(x->run, y->run);
    order = order != 0 ? order : TC_ORDER(x->from_us, y->from_us);
    return order != 0 ? order : TC_ORDER(x->to_us, y->to_us);
}

static int64_t bounded(int64_t us)
{
    return us < TC_RUN_FIRST_US ? TC_RUN_FIRST_US : us > TC_RUN_LAST_US ? TC_RUN_LAST_US : us;
}

/* How far a window reaches; false: nowhere. */
static bool reach(enum tc_run_name name, bool is_unique, const struct tc_run_window *w,
                  struct tc_run_window *out)
{
    *out = *w;
    if (name == TC_RUN_NAME_NODE && !w->is_timed) {
        return false;
    }
    bool always = is_unique || !w->is_timed;
    out->from_us = always ? TC_RUN_FIRST_US : bounded(w->from_us - TC_RUN_NEAR_US);
    out->to_us = always ? TC_RUN_LAST_US : bounded(w->to_us + TC_RUN_NEAR_US);
    return true;
}

/* Windows of one run that overlap or follow each other become one. In order of the runs. */
static size_t merge(struct tc_run_window *windows, size_t count)
{
    size_t kept = 0;
    if (count > 1) {
        qsort(windows, count, sizeof *windows, by_run);
    }
    for (size_t i = 0; i < count; i++) {
        struct tc_run_window *last = kept > 0 ? &windows[kept - 1] : NULL;
        if (last != NULL && last->run == windows[i].run && windows[i].from_us <= last->to_us + 1) {
            last->to_us = windows[i].to_us > last->to_us ? windows[i].to_us : last->to_us;
        } else {
            windows[kept++] = windows[i];
        }
    }
    return kept;
}

/* ---- one after the other ---- */

/* Something begins or ends at a moment. */
struct edge {
    int64_t at_us;
    size_t run;
    bool begins;
    bool is_near; /* of how far it reaches, else of the window itself */
};

static int by_time(const void *a, const void *b)
{
    const struct edge *x = a;
    const struct edge *y = b;
    return TC_ORDER(x->at_us, y->at_us);
}

static size_t add_edges(const struct tc_run_window *windows, size_t count, bool is_near,
                        struct edge *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct tc_run_window *w = &windows[i];
        out[2 * i] = (struct edge){w->from_us, w->run, true, is_near};
        out[2 * i + 1] = (struct edge){w->to_us + 1, w->run, false, is_near};
    }
    return 2 * count;
}

/* Who is there: how many runs, and the sum of their numbers, which is the number of the only one.
 * A run is there once, since its windows do not overlap. */
struct present {
    size_t count;
    size_t sum;
};

static void step(struct present *p, const struct edge *e)
{
    p->count += e->begins ? 1 : SIZE_MAX;
    p->sum += e->begins ? e->run : (size_t)0 - e->run;
}

static size_t who(const struct present *p)
{
    return p->count == 0 ? NOBODY : p->count == 1 ? p->sum : SEVERAL;
}

/* A stretch of time behind the last one, or as its end. */
static size_t add_stretch(struct tc_run_claim *out, size_t count, struct tc_run_claim stretch)
{
    struct tc_run_claim *last = count > 0 ? &out[count - 1] : NULL;
    if (last != NULL && last->run == stretch.run && last->in_window == stretch.in_window &&
        last->to_us + 1 == stretch.from_us) {
        last->to_us = stretch.to_us;
        return count;
    }
    out[count] = stretch;
    return count + 1;
}

/* Who has the name when; also where several runs do, as SEVERAL in a window. */
static size_t sweep(const struct edge *edges, size_t count, struct tc_run_claim *out)
{
    struct present inside = {0};
    struct present near = {0};
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        step(edges[i].is_near ? &near : &inside, &edges[i]);
        if (i + 1 == count || edges[i + 1].at_us == edges[i].at_us) {
            continue;
        }
        bool in_window = inside.count > 0;
        size_t run = who(in_window ? &inside : &near);
        if (run == NOBODY || (run == SEVERAL && !in_window)) {
            continue;
        }
        struct tc_run_claim stretch = {.run = run,
                                       .in_window = in_window,
                                       .from_us = edges[i].at_us,
                                       .to_us = edges[i + 1].at_us - 1,
                                       .after_us = TC_RUN_FIRST_US,
                                       .before_us = TC_RUN_LAST_US};
        made = add_stretch(out, made, stretch);
    }
    return made;
}

/* The last run that was seen, where, and the last one before it that was another. */
struct neighbour {
    size_t run;
    int64_t at_us;
    int64_t other_us;
};

/* Where the nearest other run is on that side of a stretch. */
static int64_t look(struct neighbour *n, size_t run, int64_t edge_us)
{
    if (run != n->run) {
        n->other_us = n->at_us;
        n->run = run;
    }
    n->at_us = edge_us;
    return n->other_us;
}

/* What is before and behind each stretch in a window; those of several runs go. */
static size_t bound(struct tc_run_claim *claims, size_t count)
{
    struct neighbour before = {NOBODY, TC_RUN_FIRST_US, TC_RUN_FIRST_US};
    struct neighbour behind = {NOBODY, TC_RUN_LAST_US, TC_RUN_LAST_US};
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (claims[i].in_window) {
            claims[i].after_us = look(&before, claims[i].run, claims[i].to_us);
        }
    }
    for (size_t i = count; i > 0; i--) {
        if (claims[i - 1].in_window) {
            claims[i - 1].before_us = look(&behind, claims[i - 1].run, claims[i - 1].from_us);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (claims[i].run != SEVERAL) {
            claims[kept++] = claims[i];
        }
    }
    return kept;
}

/* ---- all ---- */

/* Windows that are one, in order; those that say nothing are left out. */
static size_t tidy(struct tc_run_window *windows, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct tc_run_window w = windows[i];
        w.from_us = bounded(w.from_us);
        w.to_us = bounded(w.to_us);
        if (!w.is_timed || w.from_us <= w.to_us) {
            windows[kept++] = w;
        }
    }
    return kept;
}

tc_status tc_run_claims(enum tc_run_name name, struct tc_slice text, struct tc_run_window *windows,
                        size_t count, struct tc_run_claim **out, size_t *out_count)
{
    bool is_unique =
        name == TC_RUN_NAME_POD_UID || (name != TC_RUN_NAME_NODE && tc_run_name_is_uid(text));
    size_t reached = 0;
    size_t timed = 0;
    count = tidy(windows, count);
    struct tc_run_window *near = calloc(count + 1, sizeof *near);
    struct edge *edges = calloc(4 * count + 1, sizeof *edges);
    struct tc_run_claim *claims = calloc(4 * count + 1, sizeof *claims);
    if (near == NULL || edges == NULL || claims == NULL) {
        free(near);
        free(edges);
        free(claims);
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        reached += reach(name, is_unique, &windows[i], &near[reached]);
    }
    for (size_t i = 0; i < count; i++) {
        if (windows[i].is_timed) {
            windows[timed++] = windows[i];
        }
    }
    size_t edge_count = add_edges(windows, merge(windows, timed), false, edges);
    edge_count += add_edges(near, merge(near, reached), true, edges + edge_count);
    if (edge_count > 1) {
        qsort(edges, edge_count, sizeof *edges, by_time);
    }
    *out_count = bound(claims, sweep(edges, edge_count, claims));
    *out = claims;
    free(near);
    free(edges);
    return TC_OK;
}
