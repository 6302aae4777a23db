/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One finding of the record graph: headline, advice, attributes, what it names.
 */
#include "base/buf.h"
#include "base/time.h"
#include "detect/nccl_hang/priv.h"

#include <stddef.h>
#include <string.h>

static void put_call(struct tc_buf *b, const struct nccl_draft *d)
{
    if (d->op->is_p2p) {
        tc_format(b, "point-to-point traffic");
    } else if (d->op->front == 0 && d->group->name.len == 0) { /* old logs count nothing */
        tc_format(b, "a collective ({})", tc__nccl_op(d->main));
    } else if (d->main->len.op > 0) {
        tc_format(b, "collective {} ({})", d->op->front, tc__nccl_op(d->main));
    } else {
        tc_format(b, "collective {}", d->op->front);
    }
}

static TC_SELDOM size_t sort_rest(int32_t *v, size_t kept, size_t count)
{
    for (size_t i = kept; i < count; i++) {
        int32_t x = v[i];
        size_t j = kept;
        while (j > 0 && v[j - 1] > x) {
            j--;
        }
        if (j > 0 && v[j - 1] == x) {
            continue;
        }
        for (size_t k = kept; k > j; k--) {
            v[k] = v[k - 1];
        }
        v[j] = x;
        kept++;
    }
    return kept;
}

/* Sorts and removes doubles in place; the lists are short or sorted already. */
static inline size_t tidy(int32_t *v, size_t count)
{
    size_t kept = count > 0;
    while (kept < count && v[kept - 1] < v[kept]) {
        kept++;
    }
    return kept == count ? count : sort_rest(v, kept, count);
}

/* Room for one list of ranks on the desk: five of them fit. */
static int32_t *int_list(struct nccl_draft *d)
{
    int32_t *list = d->st->desk->ints + d->int_count;
    d->int_count += TC_VERDICT_RANKS_MAX;
    return list;
}

static size_t list_waiting(struct nccl_draft *d, int32_t *out)
{
    size_t count = 0;
    uint64_t culprits = d->said->culprits;
    const struct nccl_rank *all = d->st->ranks;
    for (uint32_t o = 0; o < d->said->op_count; o++) {
        const struct nccl_op *op = &d->said->ops[o];
        const uint32_t *ranks = &d->e->lists[op->waiting_first];
        uint32_t waiting = op->waiting_count;
        if (culprits == 0 && waiting <= TC_VERDICT_RANKS_MAX - count) { /* all of them */
            int32_t last = INT32_MIN;
            bool sorted = d->said->op_count == 1;
            for (uint32_t i = 0; i < waiting; i++) {
                int32_t rank = all[ranks[i]].rank;
                out[count + i] = rank;
                sorted &= rank > last;
                last = rank;
            }
            count += waiting;
            if (sorted) {
                return count;
            }
            continue;
        }
        for (uint32_t i = 0; i < waiting && count < TC_VERDICT_RANKS_MAX; i++) {
            uint32_t bit = d->e->blamed[ranks[i]].bit;
            if (culprits == 0 || bit == NCCL_NONE || (culprits >> bit & 1) == 0) {
                out[count++] = all[ranks[i]].rank;
            }
        }
    }
    return tidy(out, count);
}

/* The ranks it waits for that are no culprits, those that left nothing, those whose dump is torn.
 */
struct blockers {
    int32_t *blocking;
    int32_t *absent;
    int32_t *unreadable;
    size_t blocking_count;
    size_t absent_count;
    size_t unreadable_count;
};

static void list_rank(int32_t *list, size_t *count, int32_t rank)
{
    if (*count < TC_VERDICT_RANKS_MAX) {
        list[(*count)++] = rank;
    }
}

static struct blockers list_targets(struct nccl_draft *d)
{
    struct blockers b = {int_list(d), int_list(d), int_list(d), 0, 0, 0};
    if (d->e->target_count == 0) { /* nobody waits for anybody */
        return b;
    }
    for (uint32_t o = 0; o < d->said->op_count; o++) {
        const struct nccl_op *op = &d->said->ops[o];
        for (uint32_t i = 0; i < op->target_count; i++) {
            const struct nccl_target *t = &d->e->targets[op->target_first + i];
            int32_t rank = tc__nccl_rank_number(d, t->rank);
            if (t->block == NCCL_ABSENT) {
                list_rank(b.absent, &b.absent_count, rank);
            } else if (t->block == NCCL_UNREADABLE) {
                list_rank(b.unreadable, &b.unreadable_count, rank);
            } else if (d->e->blamed[t->rank].blame == NCCL_BLAME_NONE) {
                list_rank(b.blocking, &b.blocking_count, rank);
            }
        }
    }
    b.blocking_count = tidy(b.blocking, b.blocking_count);
    b.absent_count = tidy(b.absent, b.absent_count);
    b.unreadable_count = tidy(b.unreadable, b.unreadable_count);
    return b;
}

/* Adds the culprits the finding waits for that have no bit of their own. */
static size_t add_unnumbered(const struct nccl_draft *d, struct tc_sort_pair *out, size_t count)
{
    for (uint32_t o = 0; d->said->has_more && o < d->said->op_count; o++) {
        const struct nccl_op *op = &d->said->ops[o];
        for (uint32_t i = 0; i < op->target_count && count < TC_VERDICT_RANKS_MAX; i++) {
            uint32_t rank = d->e->targets[op->target_first + i].rank;
            const struct nccl_blamed *b = &d->e->blamed[rank];
            if (b->blame != NCCL_BLAME_NONE && b->bit == NCCL_NONE) {
                out[count++] = (struct tc_sort_pair){(uint64_t)tc__nccl_rank_number(d, rank), rank};
            }
        }
    }
    return count;
}

/* The culprits of this finding in order of rank, in desk->named: how many. */
static size_t name_culprits(const struct nccl_draft *d)
{
    /* The second half of st->pending is free once the records are sorted. */
    struct tc_sort_pair *pairs = d->st->pending + d->st->most.pending;
    size_t count = 0;
    for (uint32_t c = 0; c < d->e->culprit_count; c++) {
        if ((d->said->culprits >> c & 1) != 0) {
            uint32_t rank = d->e->culprits[c];
            pairs[count++] = (struct tc_sort_pair){(uint64_t)tc__nccl_rank_number(d, rank), rank};
        }
    }
    count = add_unnumbered(d, pairs, count);
    tc_sort_keys(pairs, pairs + TC_VERDICT_RANKS_MAX, count);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || pairs[i].key != pairs[i - 1].key) {
            d->st->desk->named[kept++] = (uint32_t)pairs[i].value;
        }
    }
    return kept;
}

/* How it shows in this very finding, where it does; else where it shows best. */
static struct nccl_blamed blamed_here(const struct nccl_draft *d, uint32_t rank)
{
    struct nccl_blamed b = d->e->blamed[rank];
    for (uint32_t o = 0; o < d->said->op_count; o++) {
        const struct nccl_op *op = &d->said->ops[o];
        for (uint32_t i = 0; i < op->target_count; i++) {
            const struct nccl_target *t = &d->e->targets[op->target_first + i];
            bool host = b.blame == NCCL_BLAME_MISSING || b.blame == NCCL_BLAME_PASSED;
            bool fits =
                b.blame == NCCL_BLAME_STOPPED ? t->sync && t->head >= 0 : host && t->head < 0;
            if (t->rank == rank && fits && !op->is_p2p) {
                b.op = (uint32_t)(op - d->e->ops);
                b.head = t->head;
                b.last = t->last;
                return b;
            }
        }
    }
    return b;
}

static void put_reasons(struct nccl_draft *d, const uint32_t *ranks, size_t count)
{
    for (size_t i = 0; i < count && i < NCCL_REASONS_MAX; i++) {
        struct tc_buf *t = &d->draft.text;
        size_t start = t->len;
        struct nccl_blamed why = blamed_here(d, ranks[i]);
        tc_format(t, "rank {}: ", tc__nccl_rank_number(d, ranks[i]));
        tc__nccl_put_reason(t, d->st, d->e, ranks[i], &why);
        d->st->desk->reasons[d->reason_count++] = tc_buf_since(t, start);
    }
}

static struct tc_slice discriminator(const struct nccl_draft *d)
{
    bool lagging = false;
    bool missing = false;
    uint8_t mismatch = NCCL_BLAME_NONE;
    for (uint32_t o = 0; o < d->said->op_count; o++) {
        const struct nccl_op *op = &d->said->ops[o];
        for (uint32_t i = 0; i < op->target_count; i++) {
            const struct nccl_target *t = &d->e->targets[op->target_first + i];
            bool blamed = d->e->blamed[t->rank].blame != NCCL_BLAME_NONE;
            missing |= t->block == NCCL_MISSING || (t->block != NCCL_LAGGING && blamed);
            lagging |= t->block == NCCL_LAGGING;
        }
        lagging |= op->passed_count > 0 && d->said->is_direct;
        mismatch = op->mismatch;
    }
    return missing                       ? TC_LIT("missing_rank")
           : mismatch == NCCL_BLAME_OP   ? TC_LIT("op_mismatch")
           : mismatch == NCCL_BLAME_SIZE ? TC_LIT("size_mismatch")
           : mismatch != NCCL_BLAME_NONE ? TC_LIT("dtype_mismatch")
           : lagging                     ? TC_LIT("lagging_rank")
                                         : TC_LIT("all_stuck");
}

/* What is stuck opens the headline of a root; consequences are told apart by their group. */
static void put_subject(struct nccl_draft *d)
{
    struct tc_buf *t = &d->draft.text;
    size_t start = t->len;
    if (d->said->is_root) {
        put_call(t, d);
        tc_format(t, " of ");
    }
    tc__nccl_put_group(t, d->group);
    /* Our own words open a sentence with a capital; a group's name stays as it is. */
    if (start < t->len && (d->said->is_root || d->group->desc.len == 0)) {
        t->data[start] = (char)(t->data[start] - 'a' + 'A');
    }
}

static struct tc_slice headline(struct nccl_draft *d, const int32_t *culprits, size_t culprit_count,
                                const struct blockers *b, size_t waiting_count, int64_t stall_ns)
{
    struct tc_buf *t = &d->draft.text;
    size_t start = t->len;
    bool direct = d->said->is_direct;
    struct tc_arg blamed = tc__nccl_as_ranks(culprits, culprit_count);
    struct tc_arg nodes = tc__nodes_as_nodes(d->st->desk->places, d->place_count);
    struct tc_arg blocking = tc__nccl_as_ranks(b->blocking, b->blocking_count);
    put_subject(d);
    bool mismatch = tc_slice_ends(d->draft.finding.discriminator, TC_LIT("_mismatch"));
    if (culprit_count > 0 && mismatch && direct) {
        tc_format(t, ": {}{} made another call", blamed, nodes);
    } else if (culprit_count > 0) {
        tc_format(t, " {} {}{}", direct ? "waits for" : "is held up by", blamed, nodes);
    } else if (b->blocking_count > 0) {
        tc_format(t, " waits for {}, held up elsewhere", blocking);
    } else {
        tc_format(t, ": {} ranks entered, none completed", waiting_count);
    }
    if (!d->said->is_root) {
        tc_format(t, " in ");
        put_call(t, d);
    }
    if (culprit_count > 0 && !direct && b->blocking_count > 0) {
        tc_format(t, " through {}", blocking);
    }
    if (stall_ns >= d->st->threshold_ns) {
        tc_format(t, ", stalled for {}", tc_as_duration(stall_ns));
    }
    return tc_buf_since(t, start);
}

static struct tc_slice remediation(struct nccl_draft *d, const uint32_t *culprits, size_t count)
{
    struct tc_buf *t = &d->draft.text;
    const struct tc_scope *places = d->st->desk->places;
    const struct nccl_check check = {d->st->nodes, places, d->draft.finding.first_ns};
    size_t start = t->len;
    if (count == 0) {
        return TC_LIT("No rank stands out: check the links between the members (NIC and NVLink "
                      "errors, NCCL_DEBUG=INFO), then their GPUs, before restarting the job.");
    }
    tc_format(t, "Look first at {}", tc__nodes_as_place(&places[0]));
    tc__nccl_put_advice(t, (enum nccl_blame)d->e->blamed[culprits[0]].blame, &check);
    for (size_t i = 1; i < count && i < NCCL_RANKS_SHOWN; i++) {
        tc_format(t, "{}{}", i == 1 ? " Then look at " : ", ", tc__nodes_as_place(&places[i]));
    }
    tc_format(t, count > 1 ? "." : "");
    return tc_buf_since(t, start);
}

/*
 * The sequence id that names the incident of an operation. A dump that comes later may show an
 * older one stuck: that is the same hang, when both were issued at about the same time.
 */
static int64_t naming_seq(struct nccl_draft *d, const struct nccl_op *op, bool from_dump)
{
    struct nccl_group *g = &d->st->groups[op->group];
    if (!d->st->settles || !from_dump || op->is_p2p) {
        return op->oldest;
    }
    int64_t apart_ns = op->created_ns - g->told_ns;
    if (g->told_seq == 0 || apart_ns > d->st->threshold_ns || -apart_ns > d->st->threshold_ns) {
        g->told_seq = op->oldest + 1;
        g->told_ns = op->created_ns;
    }
    return g->told_seq - 1;
}

struct tc_slice tc__nccl_key(struct nccl_draft *d, const struct nccl_op *op, bool from_dump)
{
    int64_t seq = naming_seq(d, op, from_dump);
    const struct nccl_group *g = &d->st->groups[op->group];
    struct tc_slice job = d->st->jobs[g->job];
    struct tc_slice group = tc_slice_make(g->hex, sizeof g->hex);
    return op->is_p2p ? tc__draft_format(&d->draft, "{}/{}/p2p", job, group)
                      : tc__draft_format(&d->draft, "{}/{}/{}", job, group, seq);
}

/* Many findings of an analysis have the same cause: its words are kept with the analysis. */
static void put_cause(struct nccl_draft *d)
{
    struct tc_finding *f = &d->draft.finding;
    f->root = d->said->is_root;
    if (f->root) {
        return;
    }
    const struct nccl_op *root = d->said->root_op;
    bool blames = d->said->culprits != 0;
    struct tc_cause *c = &d->said->causes[blames];
    if (c->key.len == 0) {
        struct tc_arena *a = &d->st->eval;
        struct tc_slice key = tc__nccl_key(d, root, tc__nccl_pending(d->e, root->first)->from_dump);
        struct tc_slice why = tc__draft_format(&d->draft, "the same {} {}",
                                               blames ? "culprits hold up" : "ranks are stuck in",
                                               tc__nccl_as_group(&d->st->groups[root->group]));
        *c = (struct tc_cause){.key = tc_arena_copy(a, key), .why = tc_arena_copy(a, why)};
    }
    f->causes = c;
    f->cause_count = c->key.len > 0; /* not when eval was full */
}

/* Marks the records of the finding, so that their completion ends it. */
static void remember(struct nccl_draft *d, int64_t first_ns)
{
    struct nccl_hang *st = d->st;
    struct nccl_seat *seats = st->seats;
    uint64_t oldest_pos = st->records.tail;
    uint32_t serial = tc__nccl_pending(d->e, d->op->first)->open;
    struct nccl_open *o = &st->open[serial % NCCL_OPEN_MAX];
    if (serial == 0 || o->serial != serial || o->oldest != d->op->oldest) {
        serial = ++st->open_serial;
        o = &st->open[serial % NCCL_OPEN_MAX];
    }
    *o = (struct nccl_open){.serial = serial,
                            .group = d->op->group,
                            .is_p2p = d->op->is_p2p,
                            .oldest = d->op->oldest,
                            .first_ns = first_ns,
                            .discriminator = d->draft.finding.discriminator};
    for (uint32_t n = 0; n < d->said->op_count; n++) {
        const struct nccl_op *op = &d->said->ops[n];
        const struct tc_sort_pair *pending = &d->e->pending[op->first];
        uint32_t count = op->count;
        o->remaining += count;
        for (uint32_t i = 0; i < count; i++) {
            struct nccl_record *r = (struct nccl_record *)(uintptr_t)pending[i].value;
            struct nccl_seat *seat = &seats[r->seat];
            r->open = serial;
            if (seat->open_pos < oldest_pos) { /* none, or it has left the window */
                seat->open_pos = r->pos;
            }
        }
    }
}

/* Collectives issued behind the front: the records of an episode are in the order of their ids. */
static int64_t queued(const struct nccl_draft *d)
{
    int64_t last = tc__nccl_pending(d->e, d->op->first + d->op->count - 1)->seq;
    return last > d->op->front ? last - d->op->front : 0;
}

static void put_facts(struct nccl_draft *d, int64_t stall_ns)
{
    struct tc_draft *t = &d->draft;
    tc__draft_attr_any(t, NCCL_ATTR("process_group"), d->group->name);
    tc__draft_attr_text(t, NCCL_ATTR("process_group_desc"), d->group->desc);
    tc__draft_attr_any(t, NCCL_ATTR("op"), tc__nccl_op(d->main));
    tc__draft_attr_int(t, NCCL_ATTR("seq"), d->op->front);
    tc__draft_attr_int(t, NCCL_ATTR("members"), d->group->seat_count);
    tc__draft_attr_int(t, NCCL_ATTR("queued_collectives"), d->op->is_p2p ? 0 : queued(d));
    if (stall_ns >= d->st->threshold_ns) {
        tc__draft_attr_int(t, NCCL_ATTR("stall_seconds"), stall_ns / TC_SECOND);
    }
}

static void put_lists(struct nccl_draft *d, size_t culprit_count, int64_t stall_ns)
{
    struct tc_draft *t = &d->draft;
    int32_t *waiting = int_list(d);
    int32_t *culprits = int_list(d);
    size_t waiting_count = list_waiting(d, waiting);
    for (size_t i = 0; i < culprit_count; i++) {
        culprits[i] = tc__nccl_rank_number(d, d->st->desk->named[i]);
    }
    struct blockers b = list_targets(d);
    t->finding.headline = headline(d, culprits, culprit_count, &b, waiting_count, stall_ns);
    tc__draft_attr_ints(t, NCCL_ATTR("culprit_ranks"), culprits, culprit_count);
    tc__nodes_put_culprits(t, d->st->desk->places, d->place_count);
    tc__draft_attr_list(t, NCCL_ATTR("culprit_reasons"), d->st->desk->reasons, d->reason_count);
    tc__draft_attr_ints(t, NCCL_ATTR("waiting_ranks"), waiting, waiting_count);
    tc__draft_attr_ints(t, NCCL_ATTR("blocking_ranks"), b.blocking, b.blocking_count);
    if (b.absent_count > 0) {
        tc__draft_attr_ints(t, NCCL_ATTR("absent_ranks"), b.absent, b.absent_count);
    }
    if (b.unreadable_count > 0) {
        tc__draft_attr_ints(t, NCCL_ATTR("unreadable_ranks"), b.unreadable, b.unreadable_count);
    }
    t->finding.confidence = b.absent_count + b.unreadable_count > 0 && culprit_count == 0
                                ? TC_CONFIDENCE_PARTIAL
                                : TC_CONFIDENCE_FULL;
}

void tc__nccl_put_scope(struct nccl_draft *d, size_t count)
{
    struct tc_scope *s = &d->draft.finding.scope;
    if (count == 1) {
        *s = d->st->desk->places[0];
    }
    s->job = d->st->jobs[d->group->job];
}

/* Where the culprits run, in desk->places: the job is the verdict's. */
static void place_culprits(struct nccl_draft *d, const uint32_t *culprits, size_t count)
{
    d->place_count = count < NCCL_PLACES_MAX ? count : NCCL_PLACES_MAX;
    for (size_t i = 0; i < d->place_count; i++) {
        const struct nccl_rank *r = &d->st->ranks[culprits[i]];
        struct tc_scope *s = &d->st->desk->places[i];
        *s = TC_SCOPE_NONE;
        s->rank = r->rank;
        s->node = r->node;
        s->ns = r->ns;
        s->pod = r->pod;
        s->job = d->st->jobs[r->job];
        tc__nodes_place(d->st->nodes, s);
        s->job = TC_EMPTY;
    }
}

/* The record that stands for the operation: one at the front, of a rank that is no culprit. */
static const struct nccl_record *main_record(const struct nccl_draft *d)
{
    for (uint32_t i = d->op->first; i < d->op->first + d->op->count; i++) {
        const struct nccl_record *r = tc__nccl_pending(d->e, i);
        if (r->seq == d->op->front && d->e->blamed[r->rank_at].blame == NCCL_BLAME_NONE) {
            return r;
        }
    }
    return tc__nccl_pending(d->e, d->op->first);
}

static int64_t oldest_created(const struct nccl_draft *d)
{
    int64_t created = INT64_MAX;
    for (uint32_t o = 0; o < d->said->op_count; o++) {
        int64_t c = d->said->ops[o].created_ns;
        created = c < created ? c : created;
    }
    return created;
}

static bool is_plain(const struct nccl_draft *d, const uint32_t *culprits, size_t count)
{
    bool plain = d->group->plain && d->st->groups[d->said->root_op->group].plain;
    for (size_t i = 0; i < d->place_count && plain; i++) {
        plain = tc__scope_is_plain(&d->st->desk->places[i]);
    }
    for (size_t i = 0; i < count && plain; i++) {
        const struct nccl_blamed *b = &d->e->blamed[culprits[i]];
        plain = d->st->groups[d->e->ops[b->op].group].plain && b->blame != NCCL_BLAME_OP &&
                b->blame != NCCL_BLAME_SIZE && b->blame != NCCL_BLAME_DTYPE &&
                b->blame != NCCL_BLAME_UNREADABLE;
    }
    return plain && tc_slice_is_plain(tc__nccl_op(d->main));
}

tc_status tc__nccl_say(struct nccl_hang *st, struct nccl_eval *e, const struct nccl_said *said,
                       const struct tc_sink *out)
{
    struct nccl_draft d; /* not by a literal, which would zero it in whole: this runs often */
    struct tc_finding *f = &d.draft.finding;
    tc__draft_open(&d.draft, &tc_detector_nccl_hang, st->base.scratch);
    d.st = st;
    d.e = e;
    d.said = said;
    d.op = said->ops;
    d.group = &st->groups[d.op->group];
    d.int_count = d.reason_count = 0;
    d.shared_seq = -1; /* the rest of what is shared follows it */
    const uint32_t *culprits = st->desk->named;
    size_t count = name_culprits(&d);
    place_culprits(&d, culprits, count);
    d.main = main_record(&d);
    int64_t first_ns = oldest_created(&d);
    /* A dump has no clock: only the user or the job's own later events say how long it stands. */
    bool has_clock = st->has_now || !d.main->from_dump;
    int64_t now_ns = has_clock ? st->now_ns : st->job_last_ns[d.group->job];
    now_ns = tc_time_is_date(first_ns) ? now_ns : first_ns;
    int64_t stall_ns = now_ns - first_ns;
    f->severity = TC_SEVERITY_CRITICAL;
    f->incomplete = e->full || st->records.dropped_count + st->restarts > 0;
    f->first_ns = first_ns;
    f->last_ns = now_ns > first_ns ? now_ns : first_ns;
    f->plain = is_plain(&d, culprits, count);
    put_cause(&d);
    f->key = tc__nccl_key(&d, d.op, tc__nccl_pending(e, d.op->first)->from_dump);
    f->discriminator = discriminator(&d);
    put_reasons(&d, culprits, count);
    put_facts(&d, stall_ns);
    put_lists(&d, count, stall_ns);
    f->remediation = remediation(&d, culprits, count);
    tc__nccl_put_scope(&d, count);
    tc__nccl_put_evidence(&d, culprits, count);
    remember(&d, first_ns);
    return tc__draft_emit(&d.draft, out);
}
