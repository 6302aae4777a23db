/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a straggler verdict. */
#include "detect/finding_priv.h"
#include "detect/straggler/priv.h"

#define KEY(name) TC_LIT("tracecore.alert.straggler." name)
#define ATTRS_MAX 9
#define EVIDENCE_MAX 6
/* The fixed words of all strings together, with numbers and times. */
#define WORDS_BYTES 4096
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

static void put_ms(struct tc_buf *b, int64_t ns)
{
    if (ns >= 10 * TC_SECOND) {
        tc_buf_duration(b, ns);
        return;
    }
    tc_buf_i64(b, ns / MS);
    tc_buf_lit(b, " ms");
}

static int64_t percent(const struct strag_mark *m)
{
    int64_t share = m->peers_ns > 0 ? m->late_ns * 100 / m->peers_ns : PERCENT_MAX;
    return share < PERCENT_MAX ? share : PERCENT_MAX;
}

static void put_rank(struct tc_buf *b, const struct strag_rank *r, bool first)
{
    if (first) {
        tc_buf_lit(b, "Rank ");
    } else {
        tc_buf_lit(b, "rank ");
    }
    tc_buf_i64(b, r->scope.rank);
    if (r->scope.node.len > 0) {
        tc_buf_lit(b, " on node ");
        tc_buf_str(b, r->scope.node);
    }
}

static void put_subject(struct tc_buf *b, const struct telling *t)
{
    switch (t->about) {
    case ABOUT_RANK:
        put_rank(b, t->rank, true);
        break;
    case ABOUT_NODE:
        tc_buf_lit(b, "Node ");
        tc_buf_str(b, t->rank->scope.node);
        tc_buf_lit(b, ", all ");
        tc_buf_u64(b, t->rank_count);
        tc_buf_lit(b, " ranks,");
        break;
    case ABOUT_LINK:
        tc_buf_lit(b, "The link from ");
        put_rank(b, t->rank, false);
        tc_buf_lit(b, " to ");
        put_rank(b, t->peer, false);
        break;
    }
}

static struct tc_slice things(const struct telling *t)
{
    switch ((enum strag_basis)t->lane->basis) {
    case STRAG_COLLECTIVES:
        return TC_LIT("collectives");
    case STRAG_TRANSFERS:
        return TC_LIT("transfers");
    case STRAG_STEPS:
    case STRAG_SAMPLES:
        break;
    }
    return TC_LIT("steps");
}

static void put_share(struct tc_buf *b, const struct telling *t)
{
    tc_buf_lit(b, ", in ");
    tc_buf_u64(b, t->c->late_count);
    tc_buf_lit(b, " of the last ");
    tc_buf_i64(b, t->st->steps);
    tc_buf_char(b, ' ');
    tc_buf_str(b, things(t));
    if (t->lane->group.len > 0) {
        tc_buf_lit(b, " of group ");
        tc_buf_str(b, t->lane->group);
    }
}

static struct tc_slice headline(struct tc_draft *d, const struct telling *t, bool resolved)
{
    struct tc_buf *b = &d->text;
    const struct strag_mark *m = &t->c->last;
    size_t start = b->len;
    put_subject(b, t);
    if (resolved) {
        tc_buf_lit(b, " keeps up again: as fast as its peers in the last ");
        tc_buf_i64(b, t->st->steps);
        tc_buf_char(b, ' ');
        tc_buf_str(b, things(t));
        return tc_buf_since(b, start);
    }
    if (t->lane->basis == STRAG_COLLECTIVES) {
        tc_buf_lit(b, " arrives ");
        put_ms(b, m->late_ns);
        tc_buf_lit(b, " (");
        tc_buf_i64(b, percent(m));
        tc_buf_lit(b, " %) later than its peers");
    } else {
        tc_buf_lit(b, " takes ");
        put_ms(b, m->peers_ns + m->late_ns);
        tc_buf_str(b, t->link ? TC_LIT(" a transfer") : TC_LIT(" a step"));
        tc_buf_lit(b, " where its peers take ");
        put_ms(b, m->peers_ns);
        tc_buf_lit(b, " (");
        tc_buf_i64(b, percent(m));
        tc_buf_lit(b, " % longer)");
    }
    put_share(b, t);
    if (t->hot != NULL) {
        tc_buf_lit(b, "; its GPU is being slowed down");
    }
    return tc_buf_since(b, start);
}

static struct tc_slice remediation(struct tc_draft *d, const struct telling *t)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    if (t->link) {
        tc_buf_lit(b, "Check the way between ");
        put_rank(b, t->rank, false);
        if (t->about == ABOUT_LINK) {
            tc_buf_lit(b, " and ");
            put_rank(b, t->peer, false);
        } else {
            tc_buf_lit(b, " and its peers");
        }
        tc_buf_lit(b, ": error counters and speed of its NICs, cables, PCIe and NVLink; measure it "
                      "with a send/receive test before the job goes on.");
        return tc_buf_since(b, start);
    }
    if (t->rank->scope.node.len > 0) {
        tc_buf_lit(b, "On node ");
        tc_buf_str(b, t->rank->scope.node);
        tc_buf_lit(b, ": ");
    } else {
        tc_buf_lit(b, "On the node of rank ");
        tc_buf_i64(b, t->rank->scope.rank);
        tc_buf_lit(b, ": ");
    }
    if (t->hot != NULL) {
        tc_buf_lit(b, "see why GPU ");
        if (t->scope.gpu_uuid.len > 0) {
            tc_buf_str(b, t->scope.gpu_uuid);
        } else if (t->scope.pci.known) {
            tc_buf_bdf(b, t->scope.pci);
        } else {
            tc_buf_i64(b, t->scope.gpu_index);
        }
        tc_buf_lit(b,
                   " is slowed down (cooling, power supply), and move the rank elsewhere until it "
                   "is mended.");
    } else {
        tc_buf_lit(b, "look at CPU load and limits, data loading, other processes, and the clocks "
                      "of the GPU; if nothing shows, move the work to another node and see whether "
                      "the delay stays behind.");
    }
    return tc_buf_since(b, start);
}

static struct tc_slice evidence_kind(const struct telling *t)
{
    switch ((enum strag_basis)t->lane->basis) {
    case STRAG_COLLECTIVES:
        return TC_LIT("collective");
    case STRAG_TRANSFERS:
        return TC_LIT("transfer");
    case STRAG_STEPS:
    case STRAG_SAMPLES:
        break;
    }
    return TC_LIT("step");
}

/* "collective:job/group:812:3" */
static struct tc_slice evidence_uid(struct tc_draft *d, const struct telling *t,
                                    const struct strag_mark *m, const struct strag_rank *r)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    tc_buf_str(b, evidence_kind(t));
    tc_buf_char(b, ':');
    tc_buf_str(b, t->st->jobs[t->lane->job].name);
    tc_buf_char(b, '/');
    tc_buf_str(b, t->lane->group);
    tc_buf_char(b, ':');
    if (m->seq >= 0) {
        tc_buf_i64(b, m->seq);
    } else {
        tc_buf_time(b, m->time_ns);
    }
    tc_buf_char(b, ':');
    tc_buf_i64(b, r->scope.rank);
    if (t->peer != NULL) {
        tc_buf_char(b, ',');
        tc_buf_i64(b, t->peer->scope.rank);
    }
    return tc_buf_since(b, start);
}

static void put_thing(struct tc_buf *b, const struct telling *t, const struct strag_mark *m)
{
    tc_buf_str(b, evidence_kind(t));
    if (m->seq >= 0) {
        tc_buf_char(b, ' ');
        tc_buf_i64(b, m->seq);
    }
}

/* What the straggler did in one cohort. */
static void put_own(struct tc_draft *d, const struct telling *t, const struct strag_mark *m,
                    const struct strag_rank *rank, bool kept_up)
{
    struct tc_buf *b = &d->text;
    struct tc_evidence e = {.kind = evidence_kind(t), .time_ns = m->time_ns, .raw = m->raw};
    e.uid = evidence_uid(d, t, m, rank);
    size_t start = b->len;
    put_rank(b, rank, true);
    if (kept_up) {
        tc_buf_lit(b, " kept up with its peers in ");
        put_thing(b, t, m);
    } else if (t->lane->basis == STRAG_COLLECTIVES) {
        tc_buf_lit(b, " arrived ");
        put_ms(b, m->late_ns);
        tc_buf_lit(b, " later than the middle of its peers in ");
        put_thing(b, t, m);
    } else {
        tc_buf_lit(b, " took ");
        put_ms(b, m->late_ns + m->peers_ns);
        tc_buf_lit(b, " for ");
        put_thing(b, t, m);
        if (t->peer != NULL) {
            tc_buf_lit(b, " with rank ");
            tc_buf_i64(b, t->peer->scope.rank);
        }
    }
    e.description = tc_buf_since(b, start);
    tc__draft_evidence(d, e);
}

/* What a peer did in the same cohort. */
static void put_peer(struct tc_draft *d, const struct telling *t, const struct strag_mark *m)
{
    struct tc_buf *b = &d->text;
    const struct strag_rank *peer = &t->st->ranks[m->peer];
    struct telling plain = *t;
    plain.peer = NULL;
    struct tc_evidence e = {.kind = evidence_kind(t), .time_ns = m->time_ns, .raw = m->peer_raw};
    e.uid = evidence_uid(d, &plain, m, peer);
    size_t start = b->len;
    put_rank(b, peer, true);
    if (t->lane->basis == STRAG_COLLECTIVES) {
        tc_buf_lit(b, ", in the middle of the peers, waited in ");
    } else {
        tc_buf_lit(b, ", in the middle of the peers, took ");
        put_ms(b, m->peers_ns);
        tc_buf_lit(b, " for ");
    }
    put_thing(b, t, m);
    e.description = tc_buf_since(b, start);
    tc__draft_evidence(d, e);
}

static void put_hot(struct tc_draft *d, const struct telling *t)
{
    struct tc_buf *b = &d->text;
    struct tc_evidence e = {
        .kind = TC_LIT("gpu_metric"), .time_ns = t->hot->time_ns, .raw = t->hot->raw};
    size_t start = b->len;
    tc_buf_lit(b, "gpu_throttle_reasons:");
    tc_buf_str(b, t->scope.node);
    tc_buf_char(b, '/');
    tc_buf_str(b, t->scope.gpu_uuid);
    tc_buf_char(b, ':');
    tc_buf_time(b, t->hot->time_ns);
    e.uid = tc_buf_since(b, start);
    start = b->len;
    tc_buf_lit(b, "The GPU of rank ");
    tc_buf_i64(b, t->rank->scope.rank);
    tc_buf_lit(b, " reported the throttle reasons 0x");
    tc_buf_hex(b, t->hot->bits, 2);
    e.description = tc_buf_since(b, start);
    tc__draft_evidence(d, e);
}

static void put_attrs(struct tc_draft *d, const struct telling *t)
{
    const struct strag_mark *m = &t->c->last;
    tc__draft_attr_text(d, KEY("basis"), t->lane->arrivals ? TC_LIT("arrivals") : things(t));
    tc__draft_attr_text(d, KEY("group"), t->lane->group);
    tc__draft_attr(d, (struct tc_attr){.key = KEY("ranks"),
                                       .type = TC_ATTR_INTS,
                                       .ints = t->ranks,
                                       .count = t->rank_count});
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
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    tc_buf_str(b, t->rank->scope.job);
    switch (t->about) {
    case ABOUT_RANK:
        tc_buf_str(b, t->link ? TC_LIT("|links|") : TC_LIT("|rank|"));
        tc_buf_i64(b, t->rank->scope.rank);
        break;
    case ABOUT_NODE:
        tc_buf_lit(b, "|node|");
        tc_buf_str(b, t->rank->scope.node);
        break;
    case ABOUT_LINK:
        tc_buf_lit(b, "|link|");
        tc_buf_i64(b, t->ranks[0]);
        tc_buf_char(b, '|');
        tc_buf_i64(b, t->ranks[1]);
        break;
    }
    return tc_buf_since(b, start);
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
    if (!list_ranks(&t, st->scratch)) {
        return TC_E_NOMEM;
    }
    size_t names = t.scope.job.len + t.lane->group.len + t.rank->scope.node.len +
                   t.scope.gpu_uuid.len + (t.peer == NULL ? 0 : t.peer->scope.node.len) +
                   st->ranks[c->first.peer].scope.node.len + st->ranks[c->last.peer].scope.node.len;
    struct tc_draft d;
    tc__draft_begin(&d, &tc_detector_straggler, st->scratch, WORDS_BYTES + 8 * names, ATTRS_MAX,
                    EVIDENCE_MAX);
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
    put_own(&d, &t, &c->first, t.rank, false);
    put_peer(&d, &t, &c->first);
    if (c->last.seq != c->first.seq || c->last.time_ns != c->first.time_ns) {
        put_own(&d, &t, &c->last, t.rank, false);
        put_peer(&d, &t, &c->last);
    }
    if (resolved) {
        put_own(&d, &t, &c->back, t.rank, true);
    }
    if (t.hot != NULL) {
        put_hot(&d, &t);
    }
    tc__draft_sort(&d);
    return tc__draft_emit(&d, out);
}
