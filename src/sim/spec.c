/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/spec_priv.h"

#include "base/assert.h"
#include "base/units.h"

static const struct sim_fault FAULTS[] = {
#define FAULT(id, where, variants, weight, help) \
    {#id, SIM_##where, variants, weight, help, tc__sim_fault_##id},
#include "sim/faults.def"
#undef FAULT
};

#define FAULT_COUNT TC_COUNT(FAULTS)
#define COUNT_MAX 100000
/* "mixed": one fault on so many node-minutes. */
#define MIXED_NODE_MINUTES 900

/* An item of the SPEC. */
struct item {
    const struct sim_fault *fault; /* NULL: all of them, "mixed" */
    uint32_t count;
    uint32_t variant; /* SIM_NONE: in turn */
    uint32_t node;
    uint32_t gpu;
    int64_t at_ns; /* since the start; TC_TIME_NONE: drawn */
    uint32_t number;
    struct tc_slice text;
};

/* Word i of a list separated by blanks; empty behind the last. */
static struct tc_slice word(const char *list, uint32_t i)
{
    struct tc_slice rest = tc_slice_cstr(list);
    struct tc_slice w = tc_slice_cut(rest, ' ', &rest);
    for (; i > 0; i--) {
        w = tc_slice_cut(rest, ' ', &rest);
    }
    return w;
}

static uint32_t variant_count(const struct sim_fault *f)
{
    uint32_t count = 0;
    while (word(f->variants, count).len > 0) {
        count++;
    }
    return count;
}

static const struct sim_fault *fault_by_name(struct tc_slice name)
{
    size_t i = tc_slice_row(name, FAULTS, name);
    return i < FAULT_COUNT ? &FAULTS[i] : NULL;
}

/* ---- reading ------------------------------------------------------------------------------- */

static size_t offset_of(const struct tc_sim *s, struct tc_slice part)
{
    return (size_t)(part.ptr - s->options.faults.ptr);
}

static tc_status unknown_fault(const struct tc_sim *s, struct tc_slice name, struct tc_error *err)
{
    char text[TC_ERROR_MESSAGE_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        tc_buf_str(&b, tc_slice_cstr(FAULTS[i].name));
        tc_buf_lit(&b, ", ");
    }
    tc_buf_lit(&b, "mixed, none, noise");
    struct tc_slice list = tc_buf_slice(&b);
    return tc_fail(err, TC_E_USAGE, offset_of(s, name), "faults: no fault \"%.*s\"; there are %.*s",
                   name.len > 24 ? 24 : (int)name.len, name.ptr, TC_FMT(list));
}

static bool parse_node(const struct tc_sim *s, struct tc_slice text, uint32_t *out)
{
    struct tc_slice digits = tc_slice_starts(text, TC_LIT("gpu-")) ? tc_slice_from(text, 4) : text;
    uint64_t number = 0;
    if (!tc_slice_is_u64(digits, &number) || number < 1 || number > s->options.nodes) {
        return false;
    }
    *out = (uint32_t)number - 1;
    return true;
}

static tc_status bad_value(const struct tc_sim *s, struct tc_slice key, struct tc_slice value,
                           const char *what, struct tc_error *err)
{
    return tc_fail(err, TC_E_USAGE, offset_of(s, key), "faults: %.*s=%.*s: %s", TC_FMT(key),
                   value.len > 40 ? 40 : (int)value.len, value.ptr, what);
}

static tc_status read_variant(const struct tc_sim *s, struct tc_slice key, struct tc_slice value,
                              struct item *item, struct tc_error *err)
{
    const char *variants = item->fault == NULL ? "" : item->fault->variants;
    for (uint32_t i = 0; word(variants, i).len > 0; i++) {
        if (tc_slice_eq(word(variants, i), value)) {
            item->variant = i;
            return TC_OK;
        }
    }
    return tc_fail(err, TC_E_USAGE, offset_of(s, key),
                   "faults: %s has no variant \"%.*s\"; it has: %s",
                   item->fault == NULL ? "mixed" : item->fault->name,
                   value.len > 40 ? 40 : (int)value.len, value.ptr, variants);
}

static tc_status read_word(const struct tc_sim *s, struct tc_slice text, struct item *item,
                           struct tc_error *err)
{
    struct tc_slice value;
    struct tc_slice key = tc_slice_cut(text, '=', &value);
    uint64_t number = 0;
    if (tc_slice_eq(key, TC_LIT("variant"))) {
        return read_variant(s, key, value, item, err);
    }
    if (tc_slice_eq(key, TC_LIT("count"))) {
        if (!tc_slice_is_u64(value, &number) || number < 1 || number > COUNT_MAX) {
            return bad_value(s, key, value, "not a number from 1 to 100000", err);
        }
        item->count = (uint32_t)number;
    } else if (tc_slice_eq(key, TC_LIT("at"))) {
        if (!tc_duration_parse(value, &item->at_ns) || item->at_ns >= tc__sim_duration(s)) {
            return bad_value(s, key, value,
                             "not a time since the start within the simulation, as 90s, 20m or 1h",
                             err);
        }
    } else if (tc_slice_eq(key, TC_LIT("node"))) {
        if (!parse_node(s, value, &item->node)) {
            return bad_value(s, key, value, "no such node; the first is gpu-0001", err);
        }
    } else if (tc_slice_eq(key, TC_LIT("gpu"))) {
        if (!tc_slice_is_u64(value, &number) || number >= s->options.gpus_per_node) {
            return bad_value(s, key, value, "no such GPU; the first of a node is 0", err);
        }
        item->gpu = (uint32_t)number;
    } else {
        return tc_fail(err, TC_E_USAGE, offset_of(s, key),
                       "faults: no key \"%.*s\"; there are count, variant, at, node, gpu",
                       key.len > 40 ? 40 : (int)key.len, key.ptr);
    }
    return TC_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct tc_slice next_word(struct tc_slice *rest)
{
    struct tc_slice s = tc_slice_trim(*rest);
    size_t end = 0;
    while (end < s.len && !is_blank(s.ptr[end])) {
        end++;
    }
    *rest = tc_slice_from(s, end);
    return tc_slice_head(s, end);
}

static tc_status read_noise(struct tc_sim *s, struct tc_slice rest, struct tc_error *err)
{
    struct tc_slice value = next_word(&rest);
    uint64_t percent = 0;
    if (!tc_slice_is_u64(value, &percent) || percent > 1000 || tc_slice_trim(rest).len > 0) {
        return tc_fail(
            err, TC_E_USAGE, offset_of(s, value),
            "faults: noise takes one number: 0 for none, 100 for as much as is usual, up to "
            "1000");
    }
    s->noise_percent = (uint32_t)percent;
    return TC_OK;
}

/* ---- places -------------------------------------------------------------------------------- */

static bool fits_job(const struct tc_sim *s, const struct sim_job *j, uint32_t stages)
{
    if (j->taken || !j->warm || j->stop != SIM_GOES_ON || j->ranks < 3 || j->pipe < stages) {
        return false;
    }
    for (uint32_t i = 0; i < j->nodes; i++) {
        if (s->nodes[j->first_node + i].taken) {
            return false;
        }
    }
    return true;
}

static bool fits_node(const struct tc_sim *s, uint32_t node, enum sim_where where)
{
    const struct sim_node *n = &s->nodes[node];
    if (n->taken) {
        return false;
    }
    if (where == SIM_ON_DEV) {
        return n->use == SIM_DEV;
    }
    if (where == SIM_ON_IDLE) {
        return n->use != SIM_TRAIN;
    }
    const struct sim_job *j = n->use == SIM_TRAIN ? tc__sim_job(s, n->job) : NULL;
    return j != NULL && !j->taken && j->warm && j->stop == SIM_GOES_ON;
}

/* The first place that fits, from a drawn one on; false when there is none. */
static bool find_place(const struct tc_sim *s, const struct item *item, uint64_t luck,
                       struct sim_ask *ask)
{
    enum sim_where where = item->fault->where;
    if (where == SIM_ON_JOB) {
        /* A slow link shows only beside other links of its pipeline. */
        bool link = tc_slice_eq(word(item->fault->variants, ask->variant), TC_LIT("slow_link"));
        uint32_t count = (uint32_t)s->jobs.count;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t job = (sim_below(luck, count) + i) % count;
            const struct sim_job *j = tc__sim_job(s, job);
            bool here = item->node == SIM_NONE ||
                        (item->node >= j->first_node && item->node - j->first_node < j->nodes);
            if (here && fits_job(s, j, link ? 3 : 1)) {
                ask->job = job;
                ask->node = item->node != SIM_NONE
                                ? item->node
                                : j->first_node + sim_below(tc_random_mix(luck), j->nodes);
                return true;
            }
        }
        return false;
    }
    for (uint32_t i = 0; i < s->options.nodes; i++) {
        uint32_t node = (sim_below(luck, s->options.nodes) + i) % s->options.nodes;
        if ((item->node == SIM_NONE || item->node == node) && fits_node(s, node, where)) {
            ask->node = node;
            ask->job = s->nodes[node].job;
            return true;
        }
    }
    return false;
}

static void take(struct tc_sim *s, const struct sim_ask *ask, enum sim_where where)
{
    s->nodes[ask->node].taken = true;
    s->nodes[ask->node].faulty = true;
    if (where == SIM_ON_JOB) {
        struct sim_job *j = tc__sim_job(s, ask->job);
        j->taken = true;
        for (uint32_t i = 0; i < j->nodes; i++) {
            s->nodes[j->first_node + i].taken = true;
        }
    }
}

/* Not in the first minutes, and early enough to be seen. */
static int64_t draw_time(const struct tc_sim *s, uint64_t luck)
{
    int64_t duration = tc__sim_duration(s);
    int64_t first = duration / 8 < 10 * SIM_MINUTE ? duration / 8 : 10 * SIM_MINUTE;
    int64_t last = duration - 22 * SIM_MINUTE;
    last = last < first + SIM_MINUTE ? first + SIM_MINUTE : last;
    return s->options.start_ns + sim_between(luck, first / SIM_MS, last / SIM_MS) * SIM_MS;
}

/* Plans the item's k-th fault; false when it finds no place. */
static bool plan_one(struct tc_sim *s, const struct item *item, uint32_t k)
{
    uint64_t seed = s->options.seed;
    uint64_t which = (uint64_t)item->number << 32 | k;
    struct sim_ask ask = {.luck = sim_draw(seed, SIM_FOR_DETAIL, 1, which)};
    uint32_t variants = variant_count(item->fault);
    TC_ASSERT(variants > 0);
    uint32_t first = sim_below(sim_draw(seed, SIM_FOR_VARIANT, item->number, 0), variants);
    ask.variant = item->variant != SIM_NONE ? item->variant : (first + k) % variants;
    if (!find_place(s, item, sim_draw(seed, SIM_FOR_PLACE, 0, which), &ask)) {
        return false;
    }
    ask.gpu = item->gpu != SIM_NONE ? item->gpu : sim_below(ask.luck, s->options.gpus_per_node);
    ask.at_ns = item->at_ns != TC_TIME_NONE ? s->options.start_ns + item->at_ns
                                            : draw_time(s, sim_draw(seed, SIM_FOR_TIME, 0, which));
    take(s, &ask, item->fault->where);
    item->fault->plan(s, &ask);
    return true;
}

/* Every kind of fault at least once, more of the frequent ones on a large or long simulation. */
static void plan_mixed(struct tc_sim *s, const struct item *item)
{
    uint64_t total = (uint64_t)s->options.nodes * s->options.minutes / MIXED_NODE_MINUTES;
    for (int jobs = 1; jobs >= 0; jobs--) { /* whole jobs first: they need the most room */
        for (uint32_t i = 0; i < FAULT_COUNT; i++) {
            struct item one = *item;
            one.fault = &FAULTS[i];
            one.number = item->number * 64 + i;
            uint64_t count = total * one.fault->weight / 1000 * item->count;
            count = count < 1 ? 1 : count > COUNT_MAX ? COUNT_MAX : count;
            if ((one.fault->where == SIM_ON_JOB) != (jobs == 1)) {
                continue;
            }
            for (uint32_t k = 0; k < count; k++) {
                s->left_out += !plan_one(s, &one, k);
            }
        }
    }
}

static tc_status plan_item(struct tc_sim *s, const struct item *item, struct tc_error *err)
{
    if (item->fault == NULL) {
        plan_mixed(s, item);
        return TC_OK;
    }
    for (uint32_t k = 0; k < item->count; k++) {
        if (!plan_one(s, item, k)) {
            return tc_fail(
                err, TC_E_USAGE, offset_of(s, item->text),
                "faults: \"%.*s\": no place left for number %u; there are more on more nodes",
                item->text.len > 80 ? 80 : (int)item->text.len, item->text.ptr, k + 1);
        }
    }
    return TC_OK;
}

static tc_status read_item(struct tc_sim *s, struct tc_slice text, uint32_t number,
                           struct tc_error *err)
{
    struct tc_slice rest = text;
    struct tc_slice name = next_word(&rest);
    if (name.len == 0 || tc_slice_eq(name, TC_LIT("none"))) {
        return TC_OK;
    }
    if (tc_slice_eq(name, TC_LIT("noise"))) {
        return read_noise(s, rest, err);
    }
    struct item item = {fault_by_name(name), 1,      SIM_NONE, SIM_NONE, SIM_NONE,
                        TC_TIME_NONE,        number, text};
    if (item.fault == NULL && !tc_slice_eq(name, TC_LIT("mixed"))) {
        return unknown_fault(s, name, err);
    }
    for (struct tc_slice w; (w = next_word(&rest)).len > 0;) {
        TC_TRY(read_word(s, w, &item, err));
    }
    return plan_item(s, &item, err);
}

tc_status tc__sim_faults(struct tc_sim *s, struct tc_error *err)
{
    struct tc_slice rest = s->options.faults;
    uint32_t number = 1;
    while (rest.len > 0) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        line = tc_slice_cut(line, '#', &(struct tc_slice){NULL, 0});
        while (line.len > 0) {
            struct tc_slice text = tc_slice_trim(tc_slice_cut(line, ',', &line));
            TC_TRY(read_item(s, text, number++, err));
        }
    }
    return TC_OK;
}

void tc_sim_describe(struct tc_buf *out)
{
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        tc_format(out, "  {}: {}.\n    variants: {}\n", FAULTS[i].name, FAULTS[i].help,
                  FAULTS[i].variants);
    }
}

static const char *const TROUBLES[TC_SIM_TROUBLES + 1] = {
    [TC_SIM_NAMES] = "names",
    [TC_SIM_CLOCKS] = "clocks",
    [TC_SIM_TORN] = "torn",
    [TC_SIM_MISSING] = "missing",
};

tc_status tc_sim_trouble_parse(struct tc_slice list, uint32_t *out, struct tc_error *err)
{
    *out = 0;
    while (list.len > 0) {
        struct tc_slice name = tc_slice_trim(tc_slice_cut(list, ',', &list));
        int which = tc_slice_which(name, TROUBLES);
        if (tc_slice_eq(name, TC_LIT("all"))) {
            *out |= (1U << TC_SIM_TROUBLES) - 1;
        } else if (which < 0) {
            return tc_fail(err, TC_E_USAGE, 0,
                           "trouble: \"%.*s\" does not exist; there are: names, clocks, torn, "
                           "missing, all",
                           TC_FMT(name));
        } else {
            *out |= 1U << which;
        }
    }
    return TC_OK;
}
