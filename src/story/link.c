/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links. For every verdict the candidates are those that name the same thing: the postings of its
 * names, in order of time. What remains of them is one cause per pattern and thing, the nearest by
 * identity and then by time, without those that another cause already leads back to.
 *
 * All of it is made of pieces, one verdict or one name each, and can be put off between any two.
 * The verdicts stay as they are until all is known.
 */
#include "base/table/sort.h"
#include "base/time.h"
#include "story/story_priv.h"

/* Verdicts about one thing that are looked at as causes of one other. */
#define POSTINGS_MAX 512
#define CANDIDATES_MAX 64
/* What is so near is one moment, on clocks of one node. */
#define AT_ONCE_NS (5 * TC_SECOND)
/* How long after the last fault of a switch the GPUs behind it may tell of it. */
#define BEHIND_SWITCH_NS (60 * TC_SECOND)
/* Causes of causes that are followed. */
#define STEPS_MAX 4096

struct candidate {
    uint32_t cause;
    enum tc__class by;
    struct tc__token token; /* of the effect */
    const struct tc__rule *rule;
};

/* What is done, in this order, for one verdict after the other; the sorting and the groups for all
 * at once. */
enum stage {
    STAGE_PLACE, /* where causes are */
    STAGE_POST,
    STAGE_OWN, /* the causes that detectors gave */
    STAGE_FIND,
    STAGE_REDUCE,
    STAGE_WRITE,
    STAGE_GROUP,
    STAGE_DONE,
};

struct tc__linker {
    const struct tc_incident_table *kept;
    struct tc__lookup *lookup;
    struct tc_arena *work;
    struct tc_arena *out;
    enum stage stage;
    size_t at; /* in that stage: the verdict */
    struct tc__where *as_cause;
    size_t posting_max;
    struct tc_sort_pair *postings; /* key: name << 32 | verdict; value: the class */
    size_t posting_count;
    struct candidate **causes; /* of each verdict, cause_counts of them; own ones come first */
    size_t *cause_counts;
    uint32_t *marks; /* one per verdict, == mark: visited */
    uint32_t mark;
    uint32_t *stack;
    struct tc__links *links;
    /* STAGE_FIND: the verdict whose causes are looked for. */
    bool is_placed;
    tc_arena_mark before; /* what `where` took is given back */
    struct tc__where where;
    size_t class_left; /* classes that were not looked at */
    size_t token;
    struct candidate list[CANDIDATES_MAX];
    size_t list_count;
};

static tc_status place_cause(struct tc__linker *l, size_t i)
{
    const struct tc_incident_entry *v = &l->kept->items[i];
    if (!tc__is_cause(v->finding.pattern_name)) {
        return TC_OK;
    }
    if (!tc__where_of(l->lookup, v, true, l->work, &l->as_cause[i])) {
        return TC_E_NOMEM;
    }
    for (size_t c = 0; c < TC__CLASS_COUNT; c++) {
        l->posting_max += l->as_cause[i].count[c];
    }
    return TC_OK;
}

static tc_status post(struct tc__linker *l)
{
    l->postings = tc_new(l->work, struct tc_sort_pair, l->posting_max);
    struct tc_sort_pair *scratch = tc_new(l->work, struct tc_sort_pair, l->posting_max);
    if (l->postings == NULL || scratch == NULL) {
        return l->posting_max == 0 ? TC_OK : TC_E_NOMEM;
    }
    for (size_t i = 0; i < l->kept->count; i++) {
        const struct tc__where *w = &l->as_cause[i];
        for (size_t c = 0; c < TC__CLASS_COUNT; c++) {
            for (size_t t = 0; t < w->count[c]; t++) {
                uint64_t key = (uint64_t)w->tokens[c][t].name << 32 | i;
                l->postings[l->posting_count++] = (struct tc_sort_pair){key, c};
            }
        }
    }
    tc_sort_keys(l->postings, scratch, l->posting_count);
    return TC_OK;
}

/* The first posting at or after a key. */
static size_t posting_at(const struct tc__linker *l, uint64_t key)
{
    size_t low = 0;
    size_t high = l->posting_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->postings[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* A device that only its errors tell of: no GPU and no card that any statement is about. */
static bool is_nobodys(const struct tc__lookup *lookup, const struct tc__where *w)
{
    const struct tc_view *view = &lookup->view;
    for (size_t i = 0; i < w->count[TC__CLASS_GPU]; i++) {
        uint32_t name = w->tokens[TC__CLASS_GPU][i].name;
        struct tc_map_iter it = tc_view_of_thing(view, name);
        unsigned seen = 0;
        for (uint64_t v; seen < POSTINGS_MAX && (v = tc_map_next(&view->by_thing, &it)) != 0;
             seen++) {
            if (view->statements[v - 1].gpu == name) {
                return false;
            }
        }
    }
    return true;
}

/* A port reports an error at the moment at which a GPU of its node fails. */
static bool is_port_at_once(const struct tc__linker *l, const struct tc__rule *rule, uint32_t cause,
                            const struct tc_incident_entry *effect)
{
    const struct tc_incident_entry *c = &l->kept->items[cause];
    int64_t at = tc__effect_time(effect, rule);
    return at - c->finding.last_ns <= AT_ONCE_NS && c->verdict.first_ns - at <= AT_ONCE_NS &&
           is_nobodys(l->lookup, &l->as_cause[cause]);
}

/* The GPUs behind a switch tell of its fault, at that time. */
static bool is_behind_switch(const struct tc_incident_entry *cause,
                             const struct tc_incident_entry *effect)
{
    int64_t first_ns = effect->verdict.first_ns;
    return tc__is_of_switch(&cause->finding, &effect->finding) &&
           first_ns >= cause->verdict.first_ns - AT_ONCE_NS &&
           first_ns <= cause->finding.last_ns + BEHIND_SWITCH_NS;
}

/* Same node is not enough for some rules. */
static bool is_told_apart(const struct tc__linker *l, const struct tc__rule *rule, uint32_t cause,
                          const struct tc_incident_entry *effect)
{
    return ((rule->by & BY_PORT_AT_ONCE) != 0 && !is_port_at_once(l, rule, cause, effect)) ||
           ((rule->by & BY_SWITCH) != 0 && !is_behind_switch(&l->kept->items[cause], effect));
}

/* An eviction whose pressure was seen on the node needs no GPU of some other pod to explain it. */
static bool explained(enum tc__class by, const struct tc_incident_entry *effect)
{
    return by == TC__CLASS_NODE && effect->finding.confidence == TC_CONFIDENCE_FULL &&
           tc_slice_eq(effect->finding.pattern_name, TC_LIT("pod_evicted"));
}

static void consider(struct tc__linker *l, size_t effect, enum tc__class by,
                     const struct tc__token *token, uint32_t cause)
{
    const struct tc_incident_entry *c = &l->kept->items[cause];
    const struct tc_incident_entry *e = &l->kept->items[effect];
    const struct tc__rule *rule = tc__rule_of(c, e);
    l->lookup->steps++;
    if (cause == effect || rule == NULL || (rule->by & 1u << by) == 0 ||
        !tc__is_in_order(rule, c, e) ||
        tc__is_contradicted(rule, by, &l->as_cause[cause], &l->where) || explained(by, e) ||
        (by == TC__CLASS_NODE && is_told_apart(l, rule, cause, e))) {
        return;
    }
    struct candidate new = {cause, by, *token, rule};
    for (size_t i = 0; i < l->list_count; i++) {
        struct candidate *old = &l->list[i];
        const struct tc_incident_entry *o = &l->kept->items[old->cause];
        if (old->cause == cause) {
            *old = old->by < by ? new : *old;
            return;
        }
        if (tc_slice_eq(o->finding.pattern_name, c->finding.pattern_name) && old->by == by &&
            old->token.name == token->name) {
            *old = c->verdict.first_ns > o->verdict.first_ns ? new : *old;
            return;
        }
    }
    if (l->list_count < CANDIDATES_MAX) {
        l->list[l->list_count++] = new;
    }
}

/* Of the causes of one pattern only those of the closest identity stay. */
static size_t keep_closest(const struct tc__linker *l, struct candidate *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct tc_slice pattern = l->kept->items[list[i].cause].finding.pattern_name;
        bool closest = true;
        for (size_t k = 0; k < count; k++) {
            closest = closest &&
                      !(list[k].by > list[i].by &&
                        tc_slice_eq(l->kept->items[list[k].cause].finding.pattern_name, pattern));
        }
        /* What was thrown out may still be compared with: it loses to the same ones. */
        if (closest) {
            struct candidate c = list[kept];
            list[kept++] = list[i];
            list[i] = c;
        }
    }
    return kept;
}

/* What a verdict is about, and which of it to begin with. */
static tc_status begin_search(struct tc__linker *l, size_t effect)
{
    l->before = tc_arena_snapshot(l->work);
    if (!tc__where_of(l->lookup, &l->kept->items[effect], false, l->work, &l->where)) {
        return TC_E_NOMEM;
    }
    l->is_placed = true;
    l->class_left = TC__CLASS_COUNT;
    l->token = 0;
    l->list_count = 0;
    return TC_OK;
}

/* Looks at the verdicts that name the next thing that this one is about. False when there is no
 * such thing. */
static bool search_next(struct tc__linker *l, size_t effect)
{
    while (l->class_left > 0 && l->token == l->where.count[l->class_left - 1]) {
        l->class_left--;
        l->token = 0;
    }
    if (l->class_left == 0) {
        return false;
    }
    enum tc__class by = (enum tc__class)(l->class_left - 1);
    const struct tc__token *token = &l->where.tokens[by][l->token++];
    uint64_t first = (uint64_t)token->name << 32;
    size_t from = posting_at(l, first);
    size_t to = posting_at(l, first + ((uint64_t)1 << 32));
    from = to - from > POSTINGS_MAX ? to - POSTINGS_MAX : from;
    for (size_t i = from; i < to; i++) {
        consider(l, effect, by, token, (uint32_t)l->postings[i].key);
    }
    return true;
}

/* Whether `from` is among the causes, and their causes, of `at`. */
static bool leads_back(struct tc__linker *l, uint32_t at, uint32_t from)
{
    size_t depth = 0;
    unsigned steps = 0;
    l->mark++;
    l->stack[depth++] = at;
    l->marks[at] = l->mark;
    while (depth > 0 && steps++ < STEPS_MAX) {
        uint32_t now = l->stack[--depth];
        for (size_t i = 0; i < l->cause_counts[now]; i++) {
            uint32_t cause = l->causes[now][i].cause;
            l->lookup->steps++;
            if (cause == from) {
                return true;
            }
            if (l->marks[cause] != l->mark) {
                l->marks[cause] = l->mark;
                l->stack[depth++] = cause;
            }
        }
    }
    return false;
}

/* The causes a detector gave, as candidates without a rule, and room for those of the rules. */
static tc_status start_causes(struct tc__linker *l, size_t i)
{
    const struct tc_incident_entry *v = &l->kept->items[i];
    l->causes[i] = tc_new(l->work, struct candidate, v->own_cause_count + TC__CAUSES_MAX);
    if (l->causes[i] == NULL) {
        return TC_E_NOMEM;
    }
    for (size_t k = 0; k < v->own_cause_count; k++) {
        size_t at = tc_incident_table_find(l->kept, v->own_causes[k].incident_id);
        if (at != TC_INCIDENT_NONE && at != i) {
            l->causes[i][l->cause_counts[i]++] = (struct candidate){.cause = (uint32_t)at};
        }
    }
    return TC_OK;
}

/* The causes of a verdict are known: those that stay. */
static void end_search(struct tc__linker *l, size_t effect)
{
    size_t count = keep_closest(l, l->list, l->list_count);
    size_t room = l->cause_counts[effect] + TC__CAUSES_MAX;
    for (size_t k = 0; k < count && l->cause_counts[effect] < room; k++) {
        /* A circle would be a story without a beginning: the link that closes it is none. */
        if (!leads_back(l, l->list[k].cause, (uint32_t)effect)) {
            l->causes[effect][l->cause_counts[effect]++] = l->list[k];
        }
    }
    tc_arena_rewind(l->work, l->before);
    l->is_placed = false;
}

/* A piece of the search for a verdict's causes; *out_is_done with the last. */
static tc_status find_some(struct tc__linker *l, size_t effect, bool *out_is_done)
{
    if (!l->is_placed) {
        TC_TRY(begin_search(l, effect));
    }
    *out_is_done = !search_next(l, effect);
    if (*out_is_done) {
        end_search(l, effect);
    }
    return TC_OK;
}

/* Drops a cause that another cause of the same verdict leads back to: it is told once. */
static void reduce(struct tc__linker *l, size_t i)
{
    size_t count = l->cause_counts[i];
    for (size_t k = count; k-- > 0;) {
        bool twice = false;
        for (size_t o = 0; l->causes[i][k].rule != NULL && o < count && !twice; o++) {
            twice = o != k && leads_back(l, l->causes[i][o].cause, l->causes[i][k].cause);
        }
        if (twice) {
            for (size_t o = k + 1; o < count; o++) {
                l->causes[i][o - 1] = l->causes[i][o];
            }
            count--;
        }
    }
    l->cause_counts[i] = count;
}

/* A GPU that is slow for a known reason: it is not the host. */
static bool is_slow_gpu(const struct tc_incident_entry *v, const struct tc_incident_entry *cause,
                        enum tc__class by)
{
    return by == TC__CLASS_GPU &&
           !tc_slice_eq(cause->finding.pattern_name, TC_LIT("nvlink_degraded")) &&
           tc_slice_eq(v->own_discriminator, TC_LIT("slow_host")) &&
           tc_slice_eq(v->finding.pattern_name, TC_LIT("straggler"));
}

static tc_status write_causes(struct tc__linker *l, size_t i)
{
    const struct tc_incident_entry *v = &l->kept->items[i];
    struct tc__links *links = &l->links[i];
    size_t max = v->own_cause_count + l->cause_counts[i];
    struct tc_verdict_cause *causes = tc_new(l->out, struct tc_verdict_cause, max);
    if (causes == NULL) {
        return TC_E_NOMEM;
    }
    size_t count = 0;
    links->discriminator = v->own_discriminator;
    for (; count < v->own_cause_count; count++) {
        causes[count] = v->own_causes[count];
    }
    for (size_t k = 0; k < l->cause_counts[i]; k++) {
        const struct candidate *c = &l->causes[i][k];
        const struct tc_incident_entry *cause = &l->kept->items[c->cause];
        if (c->rule == NULL) {
            continue;
        }
        /* A copy: the verdict that has it may change before the links do. */
        causes[count].incident_id = tc_arena_copy(l->out, cause->verdict.incident_id);
        bool guessed = c->by == TC__CLASS_NODE && (c->rule->by & BY_WHOLE_NODE) == 0 &&
                       l->as_cause[c->cause].count[TC__CLASS_GPU] > 0;
        causes[count].why = tc__link_why(l->lookup, l->out, cause, v, c->by, &c->token, guessed);
        count++;
        links->discriminator =
            is_slow_gpu(v, cause, c->by) ? TC_LIT("slow_gpu") : links->discriminator;
    }
    links->causes = causes;
    links->cause_count = count;
    links->root = v->own_root;
    return tc_arena_ok(l->out) ? TC_OK : TC_E_NOMEM;
}

/* ---- groups ---- */

static uint32_t group_root(uint32_t *parents, uint32_t i)
{
    while (parents[i] != i) {
        parents[i] = parents[parents[i]];
        i = parents[i];
    }
    return i;
}

/* A story is what links hold together; it is named after its first root. */
static tc_status group(struct tc__linker *l)
{
    size_t n = l->kept->count;
    uint32_t *parents = tc_new(l->work, uint32_t, n);
    uint32_t *names = tc_new(l->work, uint32_t, n);
    bool *linked = tc_new(l->work, bool, n);
    if (!tc_arena_ok(l->work)) {
        return TC_E_NOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        parents[i] = i;
        names[i] = TC_NAME_NONE;
    }
    for (uint32_t i = 0; i < n; i++) {
        for (size_t k = 0; k < l->cause_counts[i]; k++) {
            uint32_t cause = l->causes[i][k].cause;
            uint32_t a = group_root(parents, i);
            uint32_t b = group_root(parents, cause);
            parents[a < b ? b : a] = a < b ? a : b;
            linked[i] = linked[cause] = true;
            l->links[cause].root = l->cause_counts[cause] == 0;
        }
        l->links[i].root = l->links[i].root && l->links[i].cause_count == 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t g = group_root(parents, i);
        names[g] = names[g] == TC_NAME_NONE && l->links[i].root ? i : names[g];
    }
    for (uint32_t i = 0; i < n; i++) {
        l->links[i].story = group_root(parents, i); /* the first: parents go down */
        uint32_t name = names[l->links[i].story];
        if (linked[i] && name != TC_NAME_NONE) {
            l->links[i].group = tc_arena_copy(l->out, l->kept->items[name].verdict.incident_id);
        }
    }
    return tc_arena_ok(l->out) ? TC_OK : TC_E_NOMEM;
}

/* ---- all of it ---- */

struct tc__linker *tc__linker_begin(const struct tc_incident_table *kept, struct tc__lookup *lookup,
                                    struct tc_arena *work, struct tc_arena *links)
{
    size_t n = kept->count;
    struct tc__linker *l = tc_new(work, struct tc__linker, 1);
    if (l == NULL) {
        return NULL;
    }
    *l = (struct tc__linker){.kept = kept, .lookup = lookup, .work = work, .out = links};
    l->as_cause = tc_new(work, struct tc__where, n);
    l->causes = tc_new(work, struct candidate *, n);
    l->cause_counts = tc_new(work, size_t, n);
    l->marks = tc_new(work, uint32_t, n);
    l->stack = tc_new(work, uint32_t, n + 1);
    l->links = tc_new(links, struct tc__links, n);
    return tc_arena_ok(work) && tc_arena_ok(links) ? l : NULL;
}

/* The next piece of the stage, and how far it is then. */
static tc_status go_on(struct tc__linker *l)
{
    bool is_done = true;
    switch (l->stage) {
    case STAGE_PLACE:
        TC_TRY(place_cause(l, l->at));
        break;
    case STAGE_POST:
        l->at = l->kept->count;
        return post(l);
    case STAGE_OWN:
        TC_TRY(start_causes(l, l->at));
        break;
    case STAGE_FIND:
        TC_TRY(find_some(l, l->at, &is_done));
        break;
    case STAGE_REDUCE:
        reduce(l, l->at);
        break;
    case STAGE_WRITE:
        TC_TRY(write_causes(l, l->at));
        break;
    case STAGE_GROUP:
        l->at = l->kept->count;
        return group(l);
    case STAGE_DONE:
        break;
    }
    l->at += is_done;
    return TC_OK;
}

tc_status tc__linker_go_on(struct tc__linker *l, const struct tc_turn *turn,
                           const struct tc__links **out)
{
    while (l->stage != STAGE_DONE) {
        TC_TRY(go_on(l));
        if (l->at == l->kept->count) {
            l->stage++;
            l->at = 0;
        }
        if (tc_turn_is_spent(turn)) {
            return TC_E_AGAIN;
        }
    }
    *out = l->links;
    return TC_OK;
}
