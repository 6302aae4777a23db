/* SPDX-License-Identifier: Apache-2.0 */
/* What nvlink_degraded says. */
#include "detect/finding_priv.h"
#include "detect/nvlink_degraded/priv.h"
#include "event/sxid.h"
#include "event/xid.h"

#define KEY(name) TC_LIT("tracecore.alert.nvlink_degraded." name)

#define ATTRS_MAX 12
#define EVIDENCE_MAX 10
/* Links that a headline names; the attribute has them all. */
#define LINKS_TOLD 6
/* All the words of a finding but for names that come from outside. */
#define WORDS_BYTES 4096
/* How often the names of a place are written, at most. */
#define NAMES_MAX 20

static const char *const REASONS[] = {
    [NVLINK_NOTHING] = "",
    [NVLINK_ERROR_STORM] = "error_storm",
    [NVLINK_XID] = "nvlink_xid",
    [NVLINK_LINK_DOWN] = "link_down",
    [NVLINK_FATAL_SXID] = "fatal_sxid",
};

static const struct {
    const char *name;
    const char *words;
} CLASSES[NVLINK_CLASSES] = {
    [NVLINK_CRC] = {"crc_errors", "CRC errors"},
    [NVLINK_REPLAY] = {"replay_errors", "replays"},
    [NVLINK_RECOVERY] = {"recovery_errors", "recoveries"},
};

/* A finding being written, with what its parts need. */
struct telling {
    struct tc_draft draft;
    const struct nvlink_device *d;
    const struct nvlink_state *st;
    struct tc_scope scope;
    enum nvlink_reason reason;
    int32_t links[NVLINK_LINKS_MAX];
    size_t link_count;
};

static void put_node(struct tc_buf *b, struct tc_slice node)
{
    tc_buf_str(b, node.len > 0 ? node : TC_LIT("(unknown)"));
}

/* "GPU 3 (0000:b3:00.0)", "NVSwitch 0000:c1:00.0", "NVSwitch nvswitch1" */
static void put_device(struct tc_buf *b, const struct telling *t)
{
    if (t->d->role == NVLINK_SWITCH) {
        tc_buf_lit(b, "NVSwitch ");
        if (t->d->pci.known) {
            tc_buf_bdf(b, t->d->pci);
        } else {
            tc_buf_str(b, t->d->name);
        }
        return;
    }
    tc_buf_lit(b, "GPU ");
    bool index = t->scope.gpu_index >= 0;
    if (index) {
        tc_buf_i64(b, t->scope.gpu_index);
    }
    if (t->scope.pci.known) {
        tc_buf_str(b, index ? TC_LIT(" (") : TC_EMPTY);
        tc_buf_bdf(b, t->scope.pci);
        tc_buf_str(b, index ? TC_LIT(")") : TC_EMPTY);
    } else if (!index) {
        tc_buf_str(b, t->scope.gpu_uuid);
    }
}

/* " on links 28, 30"; nothing without one */
static void put_links(struct tc_buf *b, const struct telling *t, struct tc_slice noun)
{
    for (size_t i = 0; i < t->link_count && i < LINKS_TOLD; i++) {
        if (i == 0) {
            tc_buf_str(b, noun);
            tc_buf_str(b, t->link_count > 1 ? TC_LIT("s ") : TC_LIT(" "));
        } else {
            tc_buf_lit(b, ", ");
        }
        tc_buf_i64(b, t->links[i]);
    }
    if (t->link_count > LINKS_TOLD) {
        tc_buf_lit(b, " and ");
        tc_buf_u64(b, t->link_count - LINKS_TOLD);
        tc_buf_lit(b, " more");
    }
}

static struct tc_slice sxid_name(int64_t code)
{
    const struct tc_sxid *x = tc_sxid_find(code);
    return x == NULL ? TC_EMPTY : tc_slice_cstr(x->name);
}

static struct tc_slice xid_name(int64_t code)
{
    const struct tc_xid *x = tc_xid_find(code);
    return x == NULL ? TC_EMPTY : tc_slice_cstr(x->name);
}

static void put_code(struct tc_buf *b, bool sxid, int64_t code)
{
    struct tc_slice name = sxid ? sxid_name(code) : xid_name(code);
    tc_buf_str(b, sxid ? TC_LIT("SXid ") : TC_LIT("Xid "));
    tc_buf_i64(b, code);
    if (name.len > 0) {
        tc_buf_lit(b, " (");
        tc_buf_str(b, name);
        tc_buf_char(b, ')');
    }
}

static void put_seconds(struct tc_buf *b, int64_t ns)
{
    if (ns < TC_SECOND) {
        tc_buf_lit(b, "less than 1 s");
        return;
    }
    tc_buf_i64(b, ns / TC_SECOND);
    tc_buf_lit(b, " s");
}

/* "12000 CRC errors and 40 replays in 210 s" */
static void put_storm(struct tc_buf *b, const struct telling *t)
{
    bool more = false;
    for (unsigned i = 0; i < NVLINK_CLASSES; i++) {
        if (t->d->totals[i] >= t->st->limits[i]) {
            tc_buf_str(b, more ? TC_LIT(" and ") : TC_EMPTY);
            tc_buf_i64(b, t->d->totals[i]);
            tc_buf_lit(b, " NVLink ");
            tc_buf_str(b, tc_slice_cstr(CLASSES[i].words));
            more = true;
        }
    }
    tc_buf_str(b, more ? TC_EMPTY : TC_LIT("NVLink errors"));
    tc_buf_lit(b, " in ");
    put_seconds(b, t->d->storm.last.time_ns - t->d->storm.first.time_ns);
}

static struct tc_slice headline(struct telling *t)
{
    const struct nvlink_device *d = t->d;
    struct tc_buf *b = &t->draft.text;
    size_t start = b->len;
    put_device(b, t);
    tc_buf_lit(b, " on node ");
    put_node(b, d->node);
    tc_buf_lit(b, ": ");
    if (t->reason == NVLINK_FATAL_SXID || t->reason == NVLINK_XID) {
        tc_buf_str(b, t->reason == NVLINK_FATAL_SXID ? TC_LIT("fatal ") : TC_EMPTY);
        put_code(b, d->role == NVLINK_SWITCH, d->fatal.code);
        put_links(b, t, TC_LIT(" on link"));
    } else if (t->reason == NVLINK_LINK_DOWN) {
        put_links(b, t, TC_LIT("NVLink"));
        tc_buf_str(b, t->draft.finding.resolved ? TC_LIT(" went down, up again")
                                                : TC_LIT(" went down"));
    } else {
        put_storm(b, t);
        put_links(b, t, TC_LIT(" on link"));
        if (t->draft.finding.resolved) {
            tc_buf_lit(b, "; none for ");
            put_seconds(b, t->st->window_ns);
        }
    }
    if (d->gpu_count > 0) {
        tc_buf_lit(b, "; ");
        tc_buf_i64(b, d->gpu_count);
        tc_buf_str(b, d->gpu_count > 1 ? TC_LIT(" GPUs lost links with it")
                                       : TC_LIT(" GPU lost links with it"));
    }
    return tc_buf_since(b, start);
}

static struct tc_slice remediation(struct telling *t)
{
    struct tc_buf *b = &t->draft.text;
    size_t start = b->len;
    const struct tc_sxid *x =
        t->reason == NVLINK_FATAL_SXID ? tc_sxid_find(t->d->fatal.code) : NULL;
    if (t->reason == NVLINK_ERROR_STORM) {
        tc_buf_lit(b, "At the next drain of node ");
        put_node(b, t->d->node);
        tc_buf_lit(b, ": reset ");
        put_device(b, t);
        tc_buf_lit(b, ", run the NVLink test of dcgmi diag; reseat the board or its far end if "
                      "the errors come back, then replace it.");
        return tc_buf_since(b, start);
    }
    tc_buf_lit(b, "Drain node ");
    put_node(b, t->d->node);
    if (x != NULL && x->reach == TC_SXID_FABRIC) {
        tc_buf_lit(b, " and reboot it: the whole fabric is lost until GPUs and NVSwitches are "
                      "reset together. Replace the baseboard of ");
        put_device(b, t);
        tc_buf_lit(b, " if it comes back.");
    } else if (t->d->role == NVLINK_SWITCH) {
        tc_buf_lit(b, "; reset the GPUs behind the links of ");
        put_device(b, t);
        tc_buf_lit(b, " and restart the fabric manager, or reboot. If it comes back, check the "
                      "connectors of these links, then replace GPU or switch.");
    } else {
        tc_buf_lit(b, "; reset ");
        put_device(b, t);
        tc_buf_lit(b, " (with all GPUs and the fabric manager on NVSwitch systems). If it comes "
                      "back, check the far end and reseat the board, then replace it.");
    }
    return tc_buf_since(b, start);
}

/* `which` tells pieces of one kind and time apart. */
static void put_evidence(struct telling *t, struct tc_slice kind, const struct tc_mark *mark,
                         struct tc_slice description, struct tc_slice which)
{
    struct tc_buf *b = &t->draft.text;
    size_t start = b->len;
    tc_buf_str(b, kind);
    tc_buf_char(b, ':');
    tc_buf_str(b, t->d->node);
    tc_buf_char(b, ':');
    if (t->scope.pci.known) {
        tc_buf_bdf(b, t->scope.pci);
    } else {
        tc_buf_str(b, t->d->name.len > 0 ? t->d->name : t->scope.gpu_uuid);
    }
    tc_buf_char(b, ':');
    tc_buf_time(b, mark->time_ns);
    tc_buf_str(b, which);
    tc__draft_evidence(&t->draft, (struct tc_evidence){
                                      .kind = kind,
                                      .uid = tc__mark_uid(mark, tc_buf_since(b, start)),
                                      .description = description,
                                      .time_ns = mark->time_ns,
                                      .raw = mark->raw,
                                  });
}

/* "Fatal SXid 20034 (...) on link 30" */
static struct tc_slice fault_text(struct telling *t, struct tc_slice before, bool sxid,
                                  const struct nvlink_sign *s)
{
    struct tc_buf *b = &t->draft.text;
    size_t start = b->len;
    tc_buf_str(b, before);
    put_code(b, sxid, s->code);
    if (s->link >= 0) {
        tc_buf_lit(b, " on link ");
        tc_buf_i64(b, s->link);
    }
    return tc_buf_since(b, start);
}

static void put_sign(struct telling *t, struct tc_slice kind, const struct nvlink_sign *s,
                     struct tc_slice first, struct tc_slice last)
{
    bool instant = s->first.time_ns == s->last.time_ns;
    put_evidence(t, kind, &s->first, first, TC_EMPTY);
    if (!tc__mark_same(&s->first, &s->last)) {
        put_evidence(t, kind, &s->last, last, instant ? TC_LIT(":last") : TC_EMPTY);
    }
}

static struct tc_slice storm_text(struct telling *t)
{
    size_t start = t->draft.text.len;
    put_storm(&t->draft.text, t);
    return tc_buf_since(&t->draft.text, start);
}

static void put_trail(struct telling *t, const struct nvlink_device *node,
                      const struct tc_mark *relief)
{
    const struct nvlink_device *d = t->d;
    bool sxid = d->role == NVLINK_SWITCH;
    struct tc_slice kind = sxid ? TC_LIT("sxid") : TC_LIT("xid");
    if (d->fatal.first.known) {
        put_sign(t, kind, &d->fatal, fault_text(t, TC_LIT("First: "), sxid, &d->fatal),
                 sxid ? TC_LIT("Last fatal SXid of the switch")
                      : TC_LIT("Last NVLink Xid of the GPU"));
    }
    if (d->down.first.known) {
        put_evidence(t, TC_LIT("link_state"), &d->up, TC_LIT("Last sample with the link up"),
                     TC_EMPTY);
        put_sign(t, TC_LIT("link_state"), &d->down, TC_LIT("First sample with a link down"),
                 TC_LIT("Sample with the last link that went down"));
    }
    if (d->storm.first.known) {
        put_sign(t, TC_LIT("nvlink_counter"), &d->storm, TC_LIT("First errors of the storm"),
                 storm_text(t));
    }
    if (d->joined.first.known) {
        struct tc_slice joined_kind = d->joined.code >= 0 ? TC_LIT("xid") : TC_LIT("link_state");
        put_sign(t, joined_kind, &d->joined, TC_LIT("First GPU that lost links with the switch"),
                 TC_LIT("Last GPU that lost links with the switch"));
    }
    int64_t apart_ns = d->minor.last.time_ns - d->since_ns;
    bool near = apart_ns >= -t->st->window_ns && apart_ns <= t->st->window_ns;
    if (d->minor.last.known && near && t->draft.finding.evidence_count < EVIDENCE_MAX - 2) {
        put_evidence(t, kind, &d->minor.last, fault_text(t, TC_LIT("Not fatal: "), sxid, &d->minor),
                     TC_LIT(":minor"));
    }
    if (node != NULL && t->draft.finding.evidence_count < EVIDENCE_MAX - 1) {
        put_evidence(t, TC_LIT("driver_fault"), &node->minor.last,
                     TC_LIT("The driver could not find out which links are up"), TC_EMPTY);
    }
    if (relief != NULL && t->draft.finding.evidence_count < EVIDENCE_MAX) {
        put_evidence(t, TC_LIT("link_state"), relief, TC_LIT("The links are up again"), TC_EMPTY);
    }
}

static void put_attrs(struct telling *t)
{
    const struct nvlink_device *d = t->d;
    struct tc_draft *draft = &t->draft;
    bool sxid = d->role == NVLINK_SWITCH;
    tc__draft_attr_text(draft, KEY("device_type"), sxid ? TC_LIT("nvswitch") : TC_LIT("gpu"));
    tc__draft_attr_text(draft, KEY("switch"), d->name);
    if (d->fatal.first.known) {
        tc__draft_attr_int(draft, sxid ? KEY("sxid") : KEY("xid"), d->fatal.code);
        tc__draft_attr_text(draft, KEY("name"),
                            sxid ? sxid_name(d->fatal.code) : xid_name(d->fatal.code));
        tc__draft_attr_text(draft, KEY("unit"), tc_slice_make(d->unit, d->unit_len));
    }
    if (t->link_count > 0) {
        tc__draft_attr(draft, (struct tc_attr){.key = KEY("links"),
                                               .type = TC_ATTR_INTS,
                                               .ints = t->links,
                                               .count = t->link_count});
    }
    if (d->gpu_count > 0) {
        tc__draft_attr_int(draft, KEY("gpu_count"), d->gpu_count);
    }
    if (d->storm.first.known) {
        tc__draft_attr_int(draft, KEY("crc_errors"), d->totals[NVLINK_CRC]);
        tc__draft_attr_int(draft, KEY("replay_errors"), d->totals[NVLINK_REPLAY]);
        tc__draft_attr_int(draft, KEY("recovery_errors"), d->totals[NVLINK_RECOVERY]);
    }
}

static void span(const struct nvlink_sign *s, struct tc_finding *f)
{
    if (s->first.known) {
        f->first_ns = s->first.time_ns < f->first_ns ? s->first.time_ns : f->first_ns;
        f->last_ns = s->last.time_ns > f->last_ns ? s->last.time_ns : f->last_ns;
    }
}

static struct tc_slice put_key(struct telling *t)
{
    struct tc_buf *b = &t->draft.text;
    size_t start = b->len;
    tc_buf_str(b, t->d->node);
    tc_buf_char(b, '|');
    if (t->d->uuid.len > 0 || t->d->name.len > 0) {
        tc_buf_str(b, t->d->uuid.len > 0 ? t->d->uuid : t->d->name);
    } else if (t->d->pci.known) {
        tc_buf_bdf(b, t->d->pci);
    } else {
        tc_buf_i64(b, t->d->index);
    }
    tc_buf_char(b, '|');
    tc_buf_time(b, t->d->since_ns);
    return tc_buf_since(b, start);
}

static void read_place(struct telling *t)
{
    const struct nvlink_device *d = t->d;
    t->scope = TC_SCOPE_NONE;
    t->scope.node = d->node;
    t->scope.gpu_uuid = d->uuid;
    t->scope.pci = d->pci;
    t->scope.gpu_index = d->index;
    if (d->role == NVLINK_GPU) {
        (void)tc_directory_complete(t->st->directory, &t->scope);
    }
    for (int32_t i = 0; i < NVLINK_LINKS_MAX; i++) {
        if ((d->links[i / 64] >> i % 64 & 1) != 0) {
            t->links[t->link_count++] = i;
        }
    }
}

tc_status tc__nvlink_report(const struct nvlink_device *d, const struct nvlink_state *st,
                            const struct nvlink_device *node, bool resolved,
                            const struct tc_mark *relief, const struct tc_sink *out)
{
    struct telling t = {.d = d, .st = st, .reason = tc__nvlink_reason(d)};
    read_place(&t);
    size_t names = t.scope.node.len + t.scope.gpu_uuid.len + d->name.len;
    tc__draft_begin(&t.draft, &tc_detector_nvlink_degraded, st->scratch,
                    WORDS_BYTES + NAMES_MAX * names, ATTRS_MAX, EVIDENCE_MAX);
    struct tc_finding *f = &t.draft.finding;
    f->resolved = resolved;
    f->incomplete = st->devices.lost_ns >= d->since_ns || st->meters.lost_ns >= d->since_ns ||
                    st->switches.lost_ns >= d->since_ns;
    f->severity = t.reason == NVLINK_ERROR_STORM ? TC_SEVERITY_WARNING : TC_SEVERITY_CRITICAL;
    f->confidence =
        t.reason == NVLINK_FATAL_SXID && !d->said ? TC_CONFIDENCE_PARTIAL : TC_CONFIDENCE_FULL;
    f->key = put_key(&t);
    f->discriminator = tc_slice_cstr(REASONS[t.reason]);
    f->headline = headline(&t);
    f->remediation = remediation(&t);
    f->first_ns = d->since_ns;
    f->last_ns = d->since_ns;
    span(&d->fatal, f);
    span(&d->down, f);
    span(&d->storm, f);
    span(&d->joined, f);
    f->last_ns = relief != NULL && relief->time_ns > f->last_ns ? relief->time_ns : f->last_ns;
    f->scope = t.scope;
    put_attrs(&t);
    put_trail(&t, node, relief);
    tc__draft_sort(&t.draft);
    return tc__draft_emit(&t.draft, out);
}
