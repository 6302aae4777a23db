/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_priv.h"

#include "base/table/grow.h"
#include "base/table/sort.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (1u << 20)
#define TEXT_MAX 4096
#define ITEMS_MAX ((size_t)UINT32_MAX) /* as places in lists are kept */

void *tc__sim_add(struct sim_list *list, size_t size)
{
    if (tc_grow_array(&list->items, &list->room, list->count + 1, ITEMS_MAX, size) != TC_OK) {
        return NULL;
    }
    void *item = (char *)list->items + list->count * size;
    memset(item, 0, size);
    list->count++;
    return item;
}

struct tc_slice tc__sim_keep(struct tc_sim *s, const struct tc_buf *b)
{
    if (b->overflowed || b->len > CHUNK_BYTES - sizeof(struct sim_chunk)) {
        s->nomem = true;
        return TC_EMPTY;
    }
    struct sim_chunk *c = s->chunks;
    if (c == NULL || CHUNK_BYTES - sizeof *c - c->used < b->len) {
        c = malloc(CHUNK_BYTES);
        if (c == NULL) {
            s->nomem = true;
            return TC_EMPTY;
        }
        c->next = s->chunks;
        c->used = 0;
        s->chunks = c;
    }
    char *text = c->text + c->used;
    memcpy(text, b->data, b->len);
    c->used += b->len;
    return tc_slice_make(text, b->len);
}

struct tc_slice tc__sim_text_args(struct tc_sim *s, const struct tc_arg *args, size_t count)
{
    char text[TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    (void)tc_format_args(&b, args, count);
    return tc__sim_keep(s, &b);
}

void tc__sim_line(struct tc_sim *s, enum sim_stream stream, uint32_t place, uint32_t node,
                  int64_t at_ns, struct tc_slice text)
{
    if (at_ns < s->options.start_ns || at_ns >= s->end_ns) {
        return;
    }
    uint32_t number = (uint32_t)s->lines.count;
    struct sim_line *line = tc__sim_add(&s->lines, sizeof *line);
    if (line == NULL) {
        s->nomem = true;
        return;
    }
    *line = (struct sim_line){at_ns, stream, place, number, node, false, text};
}

static void change(struct tc_sim *s, uint32_t node, uint32_t gpu, int64_t at_ns,
                   enum sim_gauge gauge, bool adds, int64_t value)
{
    uint32_t number = (uint32_t)s->changes.count;
    struct sim_change *c = tc__sim_add(&s->changes, sizeof *c);
    if (c == NULL) {
        s->nomem = true;
        return;
    }
    *c = (struct sim_change){at_ns, node * s->options.gpus_per_node + gpu, number, gauge, adds,
                             value};
}

void tc__sim_set(struct tc_sim *s, uint32_t node, uint32_t gpu, int64_t at_ns, enum sim_gauge gauge,
                 int64_t value)
{
    change(s, node, gpu, at_ns, gauge, false, value);
}

void tc__sim_raise(struct tc_sim *s, uint32_t node, uint32_t gpu, int64_t at_ns,
                   enum sim_gauge gauge, int64_t by)
{
    change(s, node, gpu, at_ns, gauge, true, by);
}

void tc__sim_slow(struct tc_sim *s, uint32_t node, uint32_t gpu, int64_t at_ns, int64_t until_ns,
                  int64_t reasons, int64_t heat, int64_t clock_percent)
{
    tc__sim_set(s, node, gpu, at_ns, SIM_REASONS, reasons);
    tc__sim_set(s, node, gpu, at_ns, SIM_HEAT, heat);
    tc__sim_set(s, node, gpu, at_ns, SIM_CLOCK, clock_percent);
    tc__sim_set(s, node, gpu, until_ns, SIM_REASONS, 0);
    tc__sim_set(s, node, gpu, until_ns, SIM_HEAT, 0);
    tc__sim_set(s, node, gpu, until_ns, SIM_CLOCK, 100);
}

struct sim_truth *tc__sim_truth(struct tc_sim *s, bool noise, const char *pattern,
                                const char *discriminator, int64_t start_ns, int64_t end_ns,
                                const char *what)
{
    static _Thread_local struct sim_truth thrown_away;
    uint32_t number = (uint32_t)s->truths.count;
    struct sim_truth *t = tc__sim_add(&s->truths, sizeof *t);
    if (t == NULL) {
        s->nomem = true;
        t = &thrown_away;
    }
    *t = (struct sim_truth){.noise = noise,
                            .number = number,
                            .pattern = pattern,
                            .discriminator = discriminator,
                            .start_ns = start_ns,
                            .end_ns = end_ns < s->end_ns ? end_ns : s->end_ns,
                            .causes = {SIM_NONE, SIM_NONE},
                            .node = SIM_NONE,
                            .gpu = SIM_NONE,
                            .job = SIM_NONE,
                            .rank = SIM_NONE,
                            .other_rank = SIM_NONE,
                            .pod_job = SIM_NONE,
                            .pod_node = SIM_NONE,
                            .dev = SIM_NONE,
                            .affected_job = SIM_NONE,
                            .what = what};
    return t;
}

static int by_place_and_time(const void *a, const void *b)
{
    const struct sim_line *x = a;
    const struct sim_line *y = b;
    int order = TC_ORDER(x->stream, y->stream);
    order = order != 0 ? order : TC_ORDER(x->place, y->place);
    order = order != 0 ? order : TC_ORDER(x->at_ns, y->at_ns);
    return order != 0 ? order : TC_ORDER(x->number, y->number);
}

static int by_gpu_and_time(const void *a, const void *b)
{
    const struct sim_change *x = a;
    const struct sim_change *y = b;
    int order = TC_ORDER(x->gpu, y->gpu);
    order = order != 0 ? order : TC_ORDER(x->at_ns, y->at_ns);
    return order != 0 ? order : TC_ORDER(x->number, y->number);
}

static void sort(struct sim_list *list, size_t size, int (*order)(const void *, const void *))
{
    if (list->count > 1) {
        qsort(list->items, list->count, size, order);
    }
}

static tc_status make_plan(struct tc_sim *s, struct tc_error *err)
{
    TC_TRY(tc__sim_layout(s));
    TC_TRY(tc__sim_faults(s, err));
    tc__sim_noise(s);
    tc__sim_pods(s);
    sort(&s->lines, sizeof(struct sim_line), by_place_and_time);
    sort(&s->changes, sizeof(struct sim_change), by_gpu_and_time);
    TC_TRY(tc__sim_list_files(s));
    return s->nomem ? TC_E_NOMEM : TC_OK;
}

static tc_status check(const struct tc_sim_options *o, struct tc_error *err)
{
    if (o->nodes < 1 || o->nodes > TC_SIM_NODES_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "nodes: %u is not between 1 and %d", o->nodes,
                       TC_SIM_NODES_MAX);
    }
    if (o->gpus_per_node < 1 || o->gpus_per_node > TC_SIM_GPUS_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "gpus-per-node: %u is not between 1 and %d",
                       o->gpus_per_node, TC_SIM_GPUS_MAX);
    }
    if (o->minutes < TC_SIM_MINUTES_MIN || o->minutes > TC_SIM_MINUTES_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "hours: %u minutes is not between %d minutes and %d h",
                       o->minutes, TC_SIM_MINUTES_MIN, TC_SIM_MINUTES_MAX / 60);
    }
    if (o->start_ns < 0 || o->start_ns > TC_TIME_MAX - TC_SIM_MINUTES_MAX * SIM_MINUTE) {
        return tc_fail(err, TC_E_USAGE, 0, "start: not between 1970 and 2199");
    }
    return TC_OK;
}

tc_status tc_sim_create(const struct tc_sim_options *options, struct tc_sim **out_sim,
                        struct tc_error *err)
{
    TC_TRY(check(options, err));
    struct tc_sim *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "out of memory");
    }
    s->options = *options;
    s->end_ns = options->start_ns + options->minutes * SIM_MINUTE;
    s->noise_percent = 100;
    s->options.label = tc__sim_text(s, "{}", tc_slice_head(options->label, TEXT_MAX - 1));
    tc_status status = make_plan(s, err);
    s->options.faults = TC_EMPTY;
    if (status != TC_OK) {
        tc_sim_destroy(s);
        return status == TC_E_NOMEM ? tc_fail(err, status, 0, "out of memory") : status;
    }
    *out_sim = s;
    return TC_OK;
}

void tc_sim_destroy(struct tc_sim *s)
{
    if (s == NULL) {
        return;
    }
    while (s->chunks != NULL) {
        struct sim_chunk *next = s->chunks->next;
        free(s->chunks);
        s->chunks = next;
    }
    for (size_t i = 0; i < s->jobs.count; i++) {
        free(tc__sim_job(s, (uint32_t)i)->waits);
    }
    free(s->nodes);
    free(s->jobs.items);
    free(s->lines.items);
    free(s->changes.items);
    free(s->truths.items);
    free(s->files.items);
    free(s);
}

void tc_sim_counts(const struct tc_sim *s, struct tc_sim_counts *out)
{
    *out = (struct tc_sim_counts){.jobs = (uint32_t)s->jobs.count, .left_out = s->left_out};
    for (size_t i = 0; i < s->jobs.count; i++) {
        out->ranks += tc__sim_job(s, (uint32_t)i)->ranks;
    }
    for (size_t i = 0; i < s->truths.count; i++) {
        bool noise = SIM_AT(s->truths, struct sim_truth, i)->noise;
        out->noise += noise;
        out->faults += !noise;
    }
}
