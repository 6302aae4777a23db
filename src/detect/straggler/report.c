/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a straggler verdict. */
#include "detect/straggler/priv.h"
#include "detect/words_priv.h"
#include "event/format.h"

#define KEY(name) TC_LIT("tracecore.alert.straggler." name)
#define MS (TC_SECOND / 1000)
#define PERCENT_MAX 9999

enum subject { ABOUT_RANK, ABOUT_NODE, ABOUT_LINK };

/* One report: what it is about, and what is known of that. */
struct telling {
    const struct straggler *st;
    const struct strag_culprit *c;
    const struct strag_lane *lane;
    const struct strag_rank *rank; /* named first; of a link the sender */
    const struct strag_rank *peer; /* of a link the receiver */
    enum subject about;
    bool link; /* transfers take long, rather than that someone is late */
    const struct strag_hot *hot;
    struct tc_scope scope;
    const int32_t *ranks;
    size_t rank_count;
};

static void write_ms(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_format(b, arg->integer >= 10 * TC_SECOND ? "{}" : "{} ms",
              arg->integer >= 10 * TC_SECOND ? tc_as_duration(arg->integer)
                                             : TC_ARG(arg->integer / MS));
}

static struct tc_arg ms(int64_t ns)
{
    return (struct tc_arg){.write = write_ms, .integer = ns};
}

static int64_t percent(const struct strag_mark *m)
{
    int64_t share = m->peers_ns > 0 ? m->late_ns * 100 / m->peers_ns : PERCENT_MAX;
    return share < PERCENT_MAX ? share : PERCENT_MAX;
}

/* "rank 3 on node gpu-07", or another first word. */
static void write_rank(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_scope *s = arg->object;
    tc_format(b, "{} {}{}", arg->word, s->rank, tc_when(s->node.len > 0, " on node {}", s->node));
}

static struct tc_arg rank_as(const char *word, const struct strag_rank *r)
{
    return (struct tc_arg){.write = write_rank, .object = &r->scope, .word = word};
}

static void write_subject(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct telling *t = arg->object;
    switch (t->about) {
    case ABOUT_RANK:
        tc_format(b, "{}", rank_as("Rank", t->rank));
        break;
    case ABOUT_NODE:
        tc_format(b, "Node {}, all {} ranks,", t->rank->scope.node, t->rank_count);
        break;
    case ABOUT_LINK:
        tc_format(b, "The link from {} to {}", rank_as("rank", t->rank), rank_as("rank", t->peer));
        break;
    }
}

static struct tc_arg subject(const struct telling *t)
{
    return tc_as_written(write_subject, t);
}

/* What is compared: "collective". */
static const char *thing(const struct telling *t)
{
    static const char *const words[] = {[STRAG_COLLECTIVES] = "collective",
                                        [STRAG_TRANSFERS] = "transfer",
                                        [STRAG_STEPS] = "step",
                                        [STRAG_SAMPLES] = "step"};
    return words[t->lane->basis];
}

static struct tc_slice headline(struct tc_draft *d, const struct telling *t, bool resolved)
{
    const struct strag_mark *m = &t->c->last;
    if (resolved) {
        return tc__draft_format(d, "{} keeps up again: as fast as its peers in the last {} {}s",
                                subject(t), t->st->steps, thing(t));
    }
    return tc__draft_format(
        d, "{} {}, in {} of the last {} {}s{}{}", subject(t),
        t->lane->basis == STRAG_COLLECTIVES
            ? tc_when(true, "arrives {} ({} %) later than its peers", ms(m->late_ns), percent(m))
            : tc_when(true, "takes {} a {} where its peers take {} ({} % longer)",
                      ms(m->peers_ns + m->late_ns), t->link ? "transfer" : "step", ms(m->peers_ns),
                      percent(m)),
        t->c->late_count, t->st->steps, thing(t),
        tc_when(t->lane->group.len > 0, " of group {}", t->lane->group),
        t->hot != NULL ? "; its GPU is being slowed down" : "");
}

static struct tc_slice remediation(struct tc_draft *d, const struct telling *t)
{
    if (t->link) {
        return tc__draft_format(
            d,
            "Check the way between {} and {}: error counters and speed of its NICs, cables, PCIe "
            "and NVLink; measure it with a send/receive test before the job goes on.",
            rank_as("rank", t->rank),
            t->about == ABOUT_LINK ? rank_as("rank", t->peer) : TC_ARG("its peers"));
    }
    const struct tc_scope *s = &t->rank->scope;
    return tc__draft_format(
        d, "On {}: {}",
        s->node.len > 0 ? tc_when(true, "node {}", s->node)
                        : tc_when(true, "the node of rank {}", s->rank),
        t->hot != NULL
            ? tc_when(true,
                      "see why GPU {} is slowed down (cooling, power supply), and move the rank "
                      "elsewhere until it is mended.",
                      tc_as_gpu_id(&t->scope))
            : TC_ARG("look at CPU load and limits, data loading, other processes, and the clocks "
                     "of the GPU; if nothing shows, move the work to another node and see whether "
                     "the delay stays behind."));
}

/* What a rank did in one cohort. Its uid, "collective:job/group:812:3", names the other end of a
 * link too, unless `peer` is NULL. */
static void put_deed(struct tc_draft *d, const struct telling *t, const struct strag_mark *m,
                     const struct strag_rank *rank, const struct strag_rank *peer,
                     struct tc_raw raw, struct tc_slice description)
{
    struct tc_slice uid = tc__draft_format(
        d, "{}:{}/{}:{}:{}{}", thing(t), t->st->jobs[t->lane->job].name, t->lane->group,
        m->seq >= 0 ? TC_ARG(m->seq) : tc_as_time(m->time_ns), rank->scope.rank,
        tc_when(peer != NULL, ",{}", peer == NULL ? 0 : peer->scope.rank));
    tc__draft_piece(d, tc_slice_cstr(thing(t)), m->time_ns, raw, uid, description);
}

/* What the straggler did in one cohort. */
static void put_own(struct tc_draft *d, const struct telling *t, const struct strag_mark *m,
                    bool kept_up)
{
    struct tc_arg rank = rank_as("Rank", t->rank);
    struct tc_arg number = tc_when(m->seq >= 0, " {}", m->seq);
    struct tc_slice description =
        kept_up ? tc__draft_format(d, "{} kept up with its peers in {}{}", rank, thing(t), number)
        : t->lane->basis == STRAG_COLLECTIVES
            ? tc__draft_format(d, "{} arrived {} later than the middle of its peers in {}{}", rank,
                               ms(m->late_ns), thing(t), number)
            : tc__draft_format(d, "{} took {} for {}{}{}", rank, ms(m->late_ns + m->peers_ns),
                               thing(t), number,
                               tc_when(t->peer != NULL, " with rank {}",
                                       t->peer == NULL ? 0 : t->peer->scope.rank));
    put_deed(d, t, m, t->rank, t->peer, m->raw, description);
}

/* What a peer did in the same cohort. */
static void put_peer(struct tc_draft *d, const struct telling *t, const struct strag_mark *m)
{
    const struct strag_rank *peer = &t->st->ranks[m->peer];
    put_deed(d, t, m, peer, NULL, m->peer_raw,
             tc__draft_format(d, "{}, in the middle of the peers, {} {}{}", rank_as("Rank", peer),
                              t->lane->basis == STRAG_COLLECTIVES
                                  ? TC_ARG("waited in")
                                  : tc_when(true, "took {} for", ms(m->peers_ns)),
                              thing(t), tc_when(m->seq >= 0, " {}", m->seq)));
}

static void put_hot(struct tc_draft *d, const struct telling *t)
{
    tc__draft_piece(d, TC_LIT("gpu_metric"), t->hot->time_ns, t->hot->raw,
                    tc__draft_format(d, "gpu_throttle_reasons:{}/{}:{}", t->scope.node,
                                     t->scope.gpu_uuid, tc_as_time(t->hot->time_ns)),
                    tc__draft_format(d, "The GPU of rank {} reported the throttle reasons 0x{}",
                                     t->rank->scope.rank, tc_as_hex(t->hot->bits, 2)));
}

static void put_attrs(struct tc_draft *d, const struct telling *t)
{
    const struct strag_mark *m = &t->c->last;
    tc__draft_attr_text(d, KEY("basis"),
                        t->lane->arrivals ? TC_LIT("arrivals")
                                          : tc__draft_format(d, "{}s", thing(t)));
    tc__draft_attr_text(d, KEY("group"), t->lane->group);
    tc__draft_attr_ints(d, KEY("ranks"), t->ranks, t->rank_count);
    tc__draft_attr_int(d, KEY("late_ms"), m->late_ns / MS);
    tc__draft_attr_int(d, KEY("late_percent"), percent(m));
    tc__draft_attr_int(d, KEY("peers_ms"), (m->peers_ns > 0 ? m->peers_ns : 0) / MS);
    tc__draft_attr_int(d, KEY("late_count"), t->c->late_count);
    tc__draft_attr_int(d, KEY("compared"), t->st->steps);
    if (t->hot != NULL) {
        tc__draft_attr_int(d, KEY("throttle_reasons"), (int64_t)t->hot->bits);
    }
}

static void add_rank(int32_t *ranks, size_t *io_count, int32_t rank)
{
    size_t at = *io_count;
    for (; at > 0 && ranks[at - 1] > rank; at--) {
        ranks[at] = ranks[at - 1];
    }
    ranks[at] = rank;
    (*io_count)++;
}

/* The ranks it is about, ascending. False when scratch is full. */
static bool list_ranks(struct telling *t, struct tc_arena *scratch)
{
    const struct straggler *st = t->st;
    uint32_t self = (uint32_t)(t->c - st->culprits);
    int32_t *ranks = tc_new(scratch, int32_t, STRAG_CULPRITS_MAX);
    if (ranks == NULL) {
        return false;
    }
    if (t->about == ABOUT_NODE) {
        for (uint32_t i = 0; i < st->culprit_count; i++) {
            const struct strag_culprit *c = &st->culprits[i];
            if (c->state != STRAG_FREE && c->leader == self) {
                add_rank(ranks, &t->rank_count, st->ranks[st->seats[c->seat].rank].scope.rank);
            }
        }
    } else {
        add_rank(ranks, &t->rank_count, t->rank->scope.rank);
        if (t->about == ABOUT_LINK) {
            add_rank(ranks, &t->rank_count, t->peer->scope.rank);
        }
    }
    t->ranks = ranks;
    return true;
}

static struct telling make_telling(const struct straggler *st, const struct strag_culprit *c)
{
    const struct strag_seat *seat = &st->seats[c->seat];
    struct telling t = {.st = st, .c = c, .lane = &st->lanes[seat->lane], .about = ABOUT_RANK};
    t.rank = &st->ranks[seat->rank];
    t.link = seat->peer != STRAG_NONE;
    t.peer = t.link ? &st->ranks[seat->peer] : NULL;
    if (t.link && c->blamed == STRAG_NONE) {
        t.about = ABOUT_LINK;
    } else if (c->node) {
        t.about = ABOUT_NODE;
    }
    if (c->blamed == seat->peer && t.link) {
        t.rank = &st->ranks[seat->peer];
        t.peer = &st->ranks[seat->rank];
    }
    t.scope = t.rank->scope;
    if (c->slow_gpu) {
        t.hot = tc__strag_hot(st, c, &t.scope);
    }
    if (t.about == ABOUT_NODE) {
        t.scope = TC_SCOPE_NONE;
        t.scope.node = t.rank->scope.node;
        t.scope.job = t.rank->scope.job;
    } else if (t.about == ABOUT_LINK) {
        t.scope = TC_SCOPE_NONE;
        t.scope.job = t.rank->scope.job;
        bool inside = tc_slice_eq(t.rank->scope.node, t.peer->scope.node);
        t.scope.node = inside ? t.rank->scope.node : TC_EMPTY;
    }
    return t;
}

static struct tc_slice make_key(struct tc_draft *d, const struct telling *t)
{
    const struct tc_scope *s = &t->rank->scope;
    switch (t->about) {
    case ABOUT_LINK:
        return tc__draft_format(d, "{}|link|{}|{}", s->job, t->ranks[0], t->ranks[1]);
    case ABOUT_NODE:
        return tc__draft_format(d, "{}|node|{}", s->job, s->node);
    case ABOUT_RANK:
        break;
    }
    return tc__draft_format(d, "{}|{}|{}", s->job, t->link ? "links" : "rank", s->rank);
}

static struct tc_slice discriminator(const struct telling *t)
{
    if (t->link) {
        return TC_LIT("slow_link");
    }
    return t->hot != NULL ? TC_LIT("slow_gpu") : TC_LIT("slow_host");
}

tc_status tc__strag_report(struct straggler *st, struct strag_culprit *c, bool resolved,
                           const struct tc_sink *out)
{
    struct telling t = make_telling(st, c);
    if (!list_ranks(&t, st->base.scratch)) {
        return TC_E_NOMEM;
    }
    struct tc_draft d;
    tc__draft_open(&d, &tc_detector_straggler, st->base.scratch);
    struct tc_finding *f = &d.finding;
    f->key = make_key(&d, &t);
    f->resolved = resolved;
    f->incomplete = t.lane->lost;
    f->severity = TC_SEVERITY_WARNING;
    f->confidence = t.lane->arrivals ? TC_CONFIDENCE_PARTIAL : TC_CONFIDENCE_FULL;
    f->discriminator = discriminator(&t);
    f->headline = headline(&d, &t, resolved);
    f->remediation = remediation(&d, &t);
    f->first_ns = c->first.time_ns;
    f->last_ns = resolved ? c->back.time_ns : c->last.time_ns;
    f->scope = t.scope;
    put_attrs(&d, &t);
    put_own(&d, &t, &c->first, false);
    put_peer(&d, &t, &c->first);
    if (c->last.seq != c->first.seq || c->last.time_ns != c->first.time_ns) {
        put_own(&d, &t, &c->last, false);
        put_peer(&d, &t, &c->last);
    }
    if (resolved) {
        put_own(&d, &t, &c->back, true);
    }
    if (t.hot != NULL) {
        put_hot(&d, &t);
    }
    tc__draft_sort(&d);
    return tc__draft_emit(&d, out);
}
