/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which verdict proves which fault. Every fault looks at the verdicts of its places that are
 * near in time; all those pairs are sorted, the best first, and taken as long as both are
 * free. A crowded place shows a fault only the nearest few, so what is left over looks again,
 * at other ones, until nothing fits: work grows with the number of lines, not with its square.
 */
#include "base/table/grow.h"
#include "base/table/sort.h"
#include "base/time.h"
#include "score/score_priv.h"

#include <stdlib.h>

/* Verdicts that a fault looks at, a place and round, and entries of the index it steps over. */
#define LOOK_MAX 32
#define STEPS_MAX 256
/* Of one fault in one round. */
#define CANDIDATES_MAX 4096
/* Pairs weighed in one round; the faults that do not get their turn wait for the next. */
#define PAIRS_MAX ((size_t)8 << 20)
/* Later rounds spread the faults of a place over its verdicts: a few are enough. */
#define ROUNDS_MAX 64

/* The order of pairs: these bits, then how far apart they start. */
#define OTHER_CULPRIT (UINT64_C(4) << 61)
#define OTHER_DISCRIMINATOR (UINT64_C(1) << 61)
#define DISTANCE_MAX ((UINT64_C(1) << 61) - 1)

struct matcher {
    struct tc__items *truths;
    struct tc__items *verdicts;
    int64_t grace_ns;
    unsigned round;
    struct tc__index free; /* verdicts that are not paired */
    uint64_t *keys;
    size_t key_cap;
    uint32_t candidates[CANDIDATES_MAX];
    size_t candidate_count;
    struct tc_sort_pair *pairs; /* how good, and fault << 32 | verdict */
    size_t pair_count;
    size_t pair_cap;
};

/* ---- the lines of one incident ------------------------------------------------------------ */

/* The last line of an incident says what it is, the first when it was raised. */
static void join_lines(struct tc__items *verdicts)
{
    size_t kept = 0;
    tc__items_sort(verdicts);
    for (size_t i = 0; i < verdicts->count;) {
        int64_t detected_ns = TC_TIME_NONE;
        struct tc_slice id = verdicts->at[i].id;
        for (; i < verdicts->count && tc_slice_eq(verdicts->at[i].id, id); i++) {
            detected_ns = detected_ns == TC_TIME_NONE ? verdicts->at[i].detected_ns : detected_ns;
        }
        struct tc__item *item = &verdicts->at[kept++];
        *item = verdicts->at[i - 1];
        item->detected_ns = detected_ns;
    }
    verdicts->count = kept;
}

/* The i-th cause of a verdict when it is another one of the same pattern, else NULL. */
static struct tc__item *cause_of(const struct tc__items *verdicts, const struct tc__item *v,
                                 size_t i)
{
    struct tc__item *cause = tc__items_find(verdicts, v->causes.at[i]);
    return cause != NULL && cause != v && cause->pattern == v->pattern ? cause : NULL;
}

static void mark_consequences(struct tc__items *verdicts)
{
    for (size_t i = 0; i < verdicts->count; i++) {
        struct tc__item *v = &verdicts->at[i];
        for (size_t j = 0; j < v->causes.count && !v->is_consequence; j++) {
            v->is_consequence = cause_of(verdicts, v, j) != NULL;
        }
    }
}

/* ---- candidates --------------------------------------------------------------------------- */

static bool is_free_verdict(const struct tc__item *v)
{
    return v->fate == TC__LEFT;
}

static bool is_free_root(const struct tc__item *v)
{
    return is_free_verdict(v) && !v->is_consequence;
}

static bool is_free_fault(const struct tc__item *t)
{
    return t->kind == TC__FAULT && t->fate == TC__LEFT;
}

static int64_t later(int64_t ns, int64_t by_ns)
{
    return ns > INT64_MAX - by_ns ? INT64_MAX : ns + by_ns;
}

static int64_t earlier(int64_t ns, int64_t by_ns)
{
    return ns < INT64_MIN + by_ns ? INT64_MIN : ns - by_ns;
}

static struct tc__range range_of(const struct tc__index *index, uint64_t key,
                                 const struct tc__item *item, int64_t grace_ns)
{
    return tc__index_range(index, key, earlier(item->start_ns, grace_ns),
                           later(item->end_ns, grace_ns));
}

static uint64_t distance(int64_t a, int64_t b)
{
    return a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b;
}

/* Takes the entry when it is not over too early; true when it is taken. */
static bool look_at(struct matcher *m, size_t at, int64_t start_ns)
{
    const struct tc__entry *e = &m->free.at[at];
    if (e->end_ns < start_ns || m->candidate_count == CANDIDATES_MAX) {
        return false;
    }
    m->candidates[m->candidate_count++] = e->item;
    return true;
}

/* Outwards from where the fault starts. */
static void look_nearest(struct matcher *m, const struct tc__item *fault, struct tc__range r)
{
    int64_t start_ns = earlier(fault->start_ns, m->grace_ns);
    size_t right = r.from;
    size_t to = r.to;
    while (right < to) { /* the first that does not start before the fault */
        size_t mid = right + (to - right) / 2;
        if (m->free.at[mid].start_ns < fault->start_ns) {
            right = mid + 1;
        } else {
            to = mid;
        }
    }
    size_t left = right;
    size_t taken = 0;
    for (size_t i = 0; i < STEPS_MAX && taken < LOOK_MAX; i++) {
        if (left == r.from && right == r.to) {
            return;
        }
        bool goes_right =
            left == r.from ||
            (right < r.to && distance(m->free.at[right].start_ns, fault->start_ns) <=
                                 distance(m->free.at[left - 1].start_ns, fault->start_ns));
        taken += look_at(m, goes_right ? right++ : --left, start_ns);
    }
    (void)look_at(m, r.from, start_ns); /* it overlaps in any case */
}

/* From a place that moves on with every fault that asks. */
static void look_elsewhere(struct matcher *m, const struct tc__item *fault, struct tc__range r)
{
    int64_t start_ns = earlier(fault->start_ns, m->grace_ns);
    size_t width = r.to - r.from;
    size_t at = m->free.at[r.group].asked++ % width;
    size_t taken = 0;
    for (size_t i = 0; i < width && i < STEPS_MAX && taken < LOOK_MAX; i++) {
        taken += look_at(m, r.from + (at + i) % width, start_ns);
    }
    (void)look_at(m, r.from, start_ns);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static bool fit_keys(struct matcher *m, size_t count)
{
    return tc_grow_items(m->keys, m->key_cap, count, SIZE_MAX) == TC_OK;
}

static bool fit_pairs(struct matcher *m, size_t count)
{
    return tc_grow_items(m->pairs, m->pair_cap, m->pair_count + count, SIZE_MAX) == TC_OK;
}

static uint64_t weigh(const struct tc__item *fault, const struct tc__item *v)
{
    uint64_t apart = distance(fault->start_ns, v->start_ns);
    uint64_t key = apart < DISTANCE_MAX ? apart : DISTANCE_MAX;
    key |= tc__names_culprit(fault, v) ? 0 : OTHER_CULPRIT;
    key |= fault->discriminator.len > 0 && !tc_slice_eq(fault->discriminator, v->discriminator)
               ? OTHER_DISCRIMINATOR
               : 0;
    return key;
}

/* Adds the pairs of one fault, in order of the verdicts' ids. False when out of memory. */
static bool weigh_fault(struct matcher *m, uint32_t number)
{
    const struct tc__item *fault = &m->truths->at[number];
    size_t key_count = tc__place_keys(fault, true, NULL, 0);
    if (!fit_keys(m, key_count)) {
        return false;
    }
    (void)tc__place_keys(fault, true, m->keys, key_count);
    m->candidate_count = 0;
    for (size_t i = 0; i < key_count; i++) {
        struct tc__range r = range_of(&m->free, m->keys[i], fault, m->grace_ns);
        if (r.from < r.to && m->round == 0) {
            look_nearest(m, fault, r);
        } else if (r.from < r.to) {
            look_elsewhere(m, fault, r);
        }
    }
    if (m->candidate_count == 0) {
        return true;
    }
    qsort(m->candidates, m->candidate_count, sizeof m->candidates[0], by_number);
    if (!fit_pairs(m, m->candidate_count)) {
        return false;
    }
    for (size_t i = 0; i < m->candidate_count; i++) {
        uint32_t v = m->candidates[i];
        if (i == 0 || v != m->candidates[i - 1]) {
            m->pairs[m->pair_count++] = (struct tc_sort_pair){weigh(fault, &m->verdicts->at[v]),
                                                              (uint64_t)number << 32 | v};
        }
    }
    return true;
}

/* ---- pairing ------------------------------------------------------------------------------ */

static size_t take_best(struct matcher *m)
{
    size_t made = 0;
    for (size_t i = 0; i < m->pair_count; i++) {
        uint32_t f = (uint32_t)(m->pairs[i].value >> 32);
        uint32_t v = (uint32_t)m->pairs[i].value;
        struct tc__item *fault = &m->truths->at[f];
        struct tc__item *verdict = &m->verdicts->at[v];
        if (fault->fate == TC__LEFT && verdict->fate == TC__LEFT) {
            fault->fate = TC__PAIRED;
            fault->mate = v;
            verdict->fate = TC__PAIRED;
            verdict->mate = f;
            made++;
        }
    }
    return made;
}

static tc_status pair_round(struct matcher *m, bool (*wanted)(const struct tc__item *),
                            size_t *out_made)
{
    m->pair_count = 0;
    struct tc__some verdicts = {m->verdicts, wanted};
    struct tc__some faults = {m->truths, is_free_fault};
    if (!tc__index_build(&m->free, verdicts, faults)) {
        return TC_E_NOMEM;
    }
    bool ok = true;
    for (size_t i = 0; i < m->truths->count && ok && m->pair_count < PAIRS_MAX; i++) {
        ok = !is_free_fault(&m->truths->at[i]) || weigh_fault(m, (uint32_t)i);
    }
    tc__index_fini(&m->free);
    struct tc_sort_pair *scratch = ok ? calloc(m->pair_count + 1, sizeof *scratch) : NULL;
    if (scratch == NULL) {
        return TC_E_NOMEM;
    }
    tc_sort_keys(m->pairs, scratch, m->pair_count);
    free(scratch);
    *out_made = take_best(m);
    return TC_OK;
}

/* Roots first: what a verdict explains is no better proof than itself, and there may be hundreds.
 */
static tc_status pair_all(struct matcher *m)
{
    bool (*const turns[])(const struct tc__item *) = {is_free_root, is_free_verdict};
    for (size_t turn = 0; turn < TC_COUNT(turns); turn++) {
        size_t made = 1;
        for (m->round = 0; m->round < ROUNDS_MAX && made > 0; m->round++) {
            TC_TRY(pair_round(m, turns[turn], &made));
        }
    }
    return TC_OK;
}

/* ---- what is left over -------------------------------------------------------------------- */

/* From every paired verdict to what it caused, of the same pattern, and on. */
static tc_status explain(struct tc__items *verdicts)
{
    size_t count = 0;
    size_t total = 0;
    for (size_t i = 0; i < verdicts->count; i++) {
        total += verdicts->at[i].causes.count;
    }
    /* Cause to consequence; the scratch to sort them is the queue afterwards. */
    size_t room = total > verdicts->count ? total : verdicts->count;
    struct tc_sort_pair *edges = calloc(total + 1, sizeof *edges);
    struct tc_sort_pair *queue = calloc(room + 1, sizeof *queue);
    if (edges == NULL || queue == NULL) {
        free(edges);
        free(queue);
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < verdicts->count; i++) {
        const struct tc__item *v = &verdicts->at[i];
        for (size_t j = 0; j < v->causes.count; j++) {
            const struct tc__item *cause = cause_of(verdicts, v, j);
            if (cause != NULL) {
                edges[count++] = (struct tc_sort_pair){(uint64_t)(cause - verdicts->at), i};
            }
        }
    }
    tc_sort_keys(edges, queue, count);
    size_t tail = 0;
    for (size_t i = 0; i < verdicts->count; i++) {
        if (verdicts->at[i].fate == TC__PAIRED) {
            queue[tail++].key = i;
        }
    }
    for (size_t head = 0; head < tail; head++) {
        size_t from = 0;
        size_t to = count;
        while (from < to) {
            size_t mid = from + (to - from) / 2;
            from = edges[mid].key < queue[head].key ? mid + 1 : from;
            to = edges[mid].key < queue[head].key ? to : mid;
        }
        for (; from < count && edges[from].key == queue[head].key; from++) {
            struct tc__item *v = &verdicts->at[edges[from].value];
            if (v->fate == TC__LEFT) {
                v->fate = TC__EXPLAINED;
                queue[tail++].key = edges[from].value;
            }
        }
    }
    free(edges);
    free(queue);
    return TC_OK;
}

static bool is_paired_fault(const struct tc__item *t)
{
    return t->kind == TC__FAULT && t->fate == TC__PAIRED;
}

static bool is_noise(const struct tc__item *t)
{
    return t->kind == TC__NOISE;
}

static bool is_false_positive(const struct tc__item *v)
{
    return v->fate == TC__LEFT || v->fate == TC__DUPLICATE;
}

/* One of the index that is at the place and time of the item, or TC__NONE; the nearest of those
 * that start first at each of its places. False when out of memory. */
static bool find_fit(struct matcher *m, const struct tc__index *index,
                     const struct tc__items *items, const struct tc__item *item, uint32_t *out)
{
    size_t count = tc__place_keys(item, true, NULL, 0);
    uint64_t best = UINT64_MAX;
    *out = TC__NONE;
    if (!fit_keys(m, count)) {
        return false;
    }
    (void)tc__place_keys(item, true, m->keys, count);
    for (size_t i = 0; i < count; i++) {
        struct tc__range r = range_of(index, m->keys[i], item, m->grace_ns);
        if (r.from < r.to) {
            uint32_t found = index->at[r.from].item;
            uint64_t apart = distance(items->at[found].start_ns, item->start_ns);
            if (apart < best || (apart == best && found < *out)) {
                best = apart;
                *out = found;
            }
        }
    }
    return true;
}

static void mark_noise(struct tc__item *v, uint32_t noise)
{
    v->noise = noise;
}

static void mark_duplicate(struct tc__item *v, uint32_t fault)
{
    v->fate = TC__DUPLICATE;
    v->mate = fault;
}

static void mark_fooled(struct tc__item *noise, uint32_t verdict)
{
    noise->fate = TC__FOOLED;
    noise->mate = verdict;
}

/* Who asks, who is found, and what that makes of the one who asks. */
static tc_status relate(struct matcher *m, struct tc__items *items, struct tc__some askers,
                        struct tc__some found, void (*mark)(struct tc__item *item, uint32_t other))
{
    struct tc__index index;
    uint32_t other = TC__NONE;
    bool ok = tc__index_build(&index, found, askers);
    for (size_t i = 0; ok && i < items->count; i++) {
        struct tc__item *item = &items->at[i];
        if (askers.passes(item)) {
            ok = find_fit(m, &index, found.items, item, &other);
            if (ok && other != TC__NONE) {
                mark(item, other);
            }
        }
    }
    tc__index_fini(&index);
    return ok ? TC_OK : TC_E_NOMEM;
}

/*
 * A verdict that is left follows from a paired one, or proves again what is proved already, or
 * is about nothing that happened: the last two are false positives, and a noise that fits
 * none of them is a true negative.
 */
static tc_status judge_rest(struct matcher *m)
{
    struct tc__some left = {m->verdicts, is_free_verdict};
    struct tc__some wrong = {m->verdicts, is_false_positive};
    struct tc__some noises = {m->truths, is_noise};
    struct tc__some proved = {m->truths, is_paired_fault};
    TC_TRY(explain(m->verdicts));
    TC_TRY(relate(m, m->verdicts, left, noises, mark_noise));
    TC_TRY(relate(m, m->verdicts, left, proved, mark_duplicate));
    return relate(m, m->truths, noises, wrong, mark_fooled);
}

tc_status tc__match(struct tc_score *s)
{
    struct matcher *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return TC_E_NOMEM;
    }
    m->truths = &s->truths;
    m->verdicts = &s->verdicts;
    m->grace_ns = s->options.grace_ns;
    join_lines(m->verdicts);
    mark_consequences(m->verdicts);
    tc_status status = pair_all(m);
    if (status == TC_OK) {
        status = judge_rest(m);
    }
    free(m->keys);
    free(m->pairs);
    free(m);
    return status;
}
