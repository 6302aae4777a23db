/* SPDX-License-Identifier: Apache-2.0 */
/* The words of an hbm_ecc verdict. */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/hbm_ecc/priv.h"
#include "event/xid.h"

#define KEY(name) TC_LIT("tracecore.alert.hbm_ecc." name)
#define ATTRS_MAX 8
/* The first of so many sorts of facts, then the last of all, then the end. */
#define FIRSTS_MAX 7
#define EVIDENCE_MAX (FIRSTS_MAX + 2)
/* The fixed words of all strings together, with numbers and times. */
#define WORDS_BYTES 4096

static const struct {
    const char *discriminator;
    enum tc_severity severity;
} KINDS[] = {
    [ECC_NONE] = {"", TC_SEVERITY_INFO},
    [ECC_CORRECTED_STORM] = {"corrected_storm", TC_SEVERITY_WARNING},
    [ECC_REMAP_PENDING] = {"remap_pending", TC_SEVERITY_WARNING},
    [ECC_CONTAINED] = {"contained", TC_SEVERITY_WARNING},
    [ECC_UNCORRECTABLE] = {"uncorrectable", TC_SEVERITY_CRITICAL},
    [ECC_UNCONTAINED] = {"uncontained", TC_SEVERITY_CRITICAL},
    [ECC_REMAP_FAILED] = {"remap_failed", TC_SEVERITY_CRITICAL},
};

/* What one report is made from. */
struct writer {
    struct tc_draft d;
    const struct ecc_incident *in;
    const struct tc_scope *scope;
    enum ecc_kind kind;
    struct tc_slice node;     /* for a sentence */
    struct tc_slice gpu;      /* for a sentence: "GPU 3 (0000:b3:00.0)" */
    struct tc_slice short_id; /* for a uid */
    int32_t xids[ECC_XIDS];
    size_t xid_count;
};

static bool seen(const struct ecc_incident *in, enum ecc_fact_name name)
{
    return in->facts[name].span.count > 0;
}

static void name_gpu(struct writer *w)
{
    struct tc_buf *b = &w->d.text;
    const struct tc_scope *s = w->scope;
    size_t start = b->len;
    tc_buf_lit(b, "GPU ");
    if (s->gpu_index >= 0) {
        tc_buf_i64(b, s->gpu_index);
        if (s->pci.known) {
            tc_buf_lit(b, " (");
            tc_buf_bdf(b, s->pci);
            tc_buf_char(b, ')');
        }
    } else if (s->pci.known) {
        tc_buf_bdf(b, s->pci);
    } else {
        /* A UUID says "GPU-" itself. */
        bool says = tc_slice_starts(s->gpu_uuid, TC_LIT("GPU-"));
        b->len -= says ? sizeof "GPU " - 1 : 0;
        tc_buf_str(b, s->gpu_uuid);
    }
    w->gpu = tc_buf_since(b, start);
    start = b->len;
    if (s->gpu_uuid.len > 0) {
        tc_buf_str(b, s->gpu_uuid);
    } else if (s->pci.known) {
        tc_buf_bdf(b, s->pci);
    } else {
        tc_buf_i64(b, s->gpu_index);
    }
    w->short_id = tc_buf_since(b, start);
    w->node = s->node.len > 0 ? s->node : ECC_NO_NODE;
}

static void put_where(struct writer *w)
{
    struct tc_buf *b = &w->d.text;
    tc_buf_str(b, w->gpu);
    tc_buf_lit(b, " of node ");
    tc_buf_str(b, w->node);
}

static void put_count(struct tc_buf *b, int64_t count, const char *thing)
{
    tc_buf_i64(b, count);
    tc_buf_char(b, ' ');
    tc_buf_str(b, tc_slice_cstr(thing));
    tc_buf_str(b, count == 1 ? TC_EMPTY : TC_LIT("s"));
}

static void put_what(struct writer *w)
{
    struct tc_buf *b = &w->d.text;
    const struct ecc_incident *in = w->in;
    switch (w->kind) {
    case ECC_CORRECTED_STORM:
        if (seen(in, ECC_CORRECTED)) {
            put_count(b, (int64_t)in->facts[ECC_CORRECTED].amount, "corrected memory error");
            tc_buf_lit(b, " within ");
            tc_buf_duration(b, in->window_ns);
        } else {
            tc_buf_lit(b, "a high rate of corrected memory errors");
        }
        return;
    case ECC_REMAP_PENDING:
        tc_buf_lit(b, "bad memory waits for a reset to be set aside");
        return;
    case ECC_CONTAINED:
        tc_buf_lit(b, "a memory error that was contained");
        return;
    case ECC_UNCORRECTABLE:
        put_count(b, tc__ecc_uncorrected(in), "uncorrectable memory error");
        return;
    case ECC_UNCONTAINED:
        tc_buf_lit(b, "a memory error that was not contained");
        return;
    case ECC_REMAP_FAILED:
        tc_buf_lit(b, "bad memory could not be set aside, a remap failed");
        return;
    case ECC_NONE:
        return;
    }
}

static void put_xids(struct writer *w)
{
    struct tc_buf *b = &w->d.text;
    for (size_t i = 0; i < w->xid_count; i++) {
        bool last = i + 1 == w->xid_count;
        tc_buf_str(b, i == 0 ? TC_LIT(", Xid ") : (last ? TC_LIT(" and ") : TC_LIT(", ")));
        tc_buf_i64(b, w->xids[i]);
    }
}

static struct tc_slice headline(struct writer *w)
{
    struct tc_buf *b = &w->d.text;
    size_t start = b->len;
    put_where(w);
    tc_buf_lit(b, ": ");
    put_what(w);
    put_xids(w);
    tc_buf_str(b, w->in->last_ns > w->in->first_ns ? TC_LIT(", first at ") : TC_LIT(", at "));
    tc_buf_time(b, w->in->first_ns);
    if (w->in->last_ns > w->in->first_ns) {
        tc_buf_lit(b, ", last ");
        tc_buf_duration(b, w->in->last_ns - w->in->first_ns);
        tc_buf_lit(b, " later");
    }
    return tc_buf_since(b, start);
}

static void put_workload(struct writer *w)
{
    struct tc_buf *b = &w->d.text;
    if (w->scope->pod.len == 0) {
        tc_buf_lit(b, "the application that was hit");
        return;
    }
    tc_buf_lit(b, "pod ");
    if (w->scope->ns.len > 0) {
        tc_buf_str(b, w->scope->ns);
        tc_buf_char(b, '/');
    }
    tc_buf_str(b, w->scope->pod);
}

static struct tc_slice remediation(struct writer *w)
{
    struct tc_buf *b = &w->d.text;
    size_t start = b->len;
    switch (w->kind) {
    case ECC_CORRECTED_STORM:
        tc_buf_lit(b, "Keep running and watch ");
        put_where(w);
        tc_buf_lit(b, "; at the next idle moment run memory diagnostics and reset it. Return the "
                      "board if the rate comes back after that.");
        break;
    case ECC_REMAP_PENDING:
        tc_buf_lit(b, "Reset ");
        put_where(w);
        tc_buf_lit(b, " at the next idle moment so that the bad memory is set aside; work that is "
                      "running may go on until then.");
        break;
    case ECC_CONTAINED:
        tc_buf_lit(b, "Restart ");
        put_workload(w);
        tc_buf_lit(b, ", whose data was lost; others go on. Reset ");
        put_where(w);
        tc_buf_lit(b, " at the next idle moment.");
        break;
    case ECC_UNCORRECTABLE:
    case ECC_UNCONTAINED:
        tc_buf_lit(b, "Drain node ");
        tc_buf_str(b, w->node);
        tc_buf_lit(b, ", reset ");
        tc_buf_str(b, w->gpu);
        tc_buf_str(b, w->kind == ECC_UNCONTAINED
                          ? TC_LIT(" and restart all that ran on it from a checkpoint from before")
                          : TC_LIT(" and restart "));
        if (w->kind == ECC_UNCORRECTABLE) {
            put_workload(w);
        }
        tc_buf_lit(b, ". Return the board if errors come back after the reset or a remap fails.");
        break;
    case ECC_REMAP_FAILED:
        tc_buf_lit(b, "Drain node ");
        tc_buf_str(b, w->node);
        tc_buf_lit(b, " and return the board of ");
        tc_buf_str(b, w->gpu);
        tc_buf_lit(b, ": it can set aside no more bad memory, and a reset does not mend that.");
        break;
    case ECC_NONE:
        break;
    }
    return tc_buf_since(b, start);
}

static void put_repeats(struct tc_buf *b, const struct ecc_fact *f, int64_t count)
{
    if (count > 1) {
        tc_buf_lit(b, ", ");
        tc_buf_i64(b, count);
        tc_buf_lit(b, " times until ");
        tc_buf_time(b, f->span.last_ns);
    }
}

static void describe_xid(struct writer *w, enum ecc_fact_name name)
{
    struct tc_buf *b = &w->d.text;
    const struct ecc_fact *f = &w->in->facts[name];
    const struct tc_xid *xid = tc_xid_find(tc__ecc_xid(name));
    tc_buf_str(b, f->lines > 0 ? TC_LIT("Xid ") : TC_LIT("An exporter told of Xid "));
    tc_buf_i64(b, tc__ecc_xid(name));
    if (xid != NULL) {
        tc_buf_lit(b, ": ");
        tc_buf_str(b, tc_slice_cstr(xid->name));
    }
    if (f->process_len > 0) {
        tc_buf_lit(b, ", process ");
        tc_buf_put(b, f->process, f->process_len);
    }
    if (f->pid >= 0) {
        tc_buf_lit(b, ", pid ");
        tc_buf_i64(b, f->pid);
    }
    put_repeats(b, f, tc__ecc_xid_count(f));
}

static void describe(struct writer *w, enum ecc_fact_name name)
{
    struct tc_buf *b = &w->d.text;
    const struct ecc_fact *f = &w->in->facts[name];
    switch (name) {
    case ECC_UNCORRECTED:
        tc_buf_lit(b, "The counter of uncorrectable errors rose by ");
        tc_buf_i64(b, (int64_t)(f->amount > f->lifetime ? f->amount : f->lifetime));
        return;
    case ECC_CORRECTED:
        tc_buf_lit(b, "The counter of corrected errors rose by up to ");
        tc_buf_i64(b, (int64_t)f->amount);
        tc_buf_lit(b, " within ");
        tc_buf_duration(b, w->in->window_ns);
        return;
    case ECC_ROWS:
        tc_buf_lit(b, "The count of remapped rows rose by ");
        tc_buf_i64(b, (int64_t)f->amount);
        return;
    case ECC_ROW_PENDING:
        tc_buf_lit(b, "A row remap waits for a reset");
        return;
    case ECC_PAGES_PENDING:
        tc_buf_lit(b, "The retirement of ");
        put_count(b, (int64_t)f->amount, "page");
        tc_buf_lit(b, " waits for a reset");
        return;
    case ECC_ROW_FAILURE:
        tc_buf_lit(b, "A row remap failed");
        return;
    case ECC_XID_48:
    case ECC_XID_63:
    case ECC_XID_64:
    case ECC_XID_92:
    case ECC_XID_94:
    case ECC_XID_95:
    case ECC_XID_140:
    case ECC_XID_171:
    case ECC_XID_172:
    case ECC_FACTS:
        describe_xid(w, name);
        return;
    }
}

static struct tc_slice kind_of(enum ecc_fact_name name)
{
    if (name < ECC_XIDS) {
        return TC_LIT("xid");
    }
    return name == ECC_UNCORRECTED || name == ECC_CORRECTED ? TC_LIT("ecc_counter")
                                                            : TC_LIT("remap_state");
}

static const char *const WORDS[] = {
    [ECC_UNCORRECTED] = "uncorrected",
    [ECC_CORRECTED] = "corrected",
    [ECC_ROWS] = "rows",
    [ECC_ROW_PENDING] = "row_pending",
    [ECC_PAGES_PENDING] = "pages",
    [ECC_ROW_FAILURE] = "row_failure",
};

static struct tc_slice make_uid(struct writer *w, struct tc_slice kind, struct tc_slice word,
                                int32_t xid, int64_t time_ns)
{
    struct tc_buf *b = &w->d.text;
    size_t start = b->len;
    tc_buf_str(b, kind);
    tc_buf_char(b, ':');
    tc_buf_str(b, w->scope->node);
    tc_buf_char(b, ':');
    tc_buf_str(b, w->short_id);
    tc_buf_char(b, ':');
    if (xid > 0) {
        tc_buf_i64(b, xid);
    }
    tc_buf_str(b, word);
    tc_buf_char(b, ':');
    tc_buf_time(b, time_ns);
    return tc_buf_since(b, start);
}

static void put_fact(struct writer *w, enum ecc_fact_name name, bool last)
{
    const struct ecc_fact *f = &w->in->facts[name];
    struct tc_evidence e = {
        .kind = kind_of(name),
        .time_ns = last ? f->span.last_ns : f->span.first_ns,
        .raw = last ? f->span.last_raw : f->span.first_raw,
    };
    e.uid = !last && f->uid_len > 0
                ? tc_slice_make(f->uid, f->uid_len)
                : make_uid(w, e.kind, name < ECC_XIDS ? TC_EMPTY : tc_slice_cstr(WORDS[name]),
                           tc__ecc_xid(name), e.time_ns);
    size_t start = w->d.text.len;
    if (last) {
        tc_buf_lit(&w->d.text, "The last of it: ");
    }
    describe(w, name);
    e.description = tc_buf_since(&w->d.text, start);
    tc__draft_evidence(&w->d, e);
}

static bool before(const struct ecc_incident *in, unsigned a, unsigned b)
{
    int64_t a_ns = in->facts[a].span.first_ns;
    int64_t b_ns = in->facts[b].span.first_ns;
    return a_ns == b_ns ? a < b : a_ns < b_ns;
}

/* The first of each sort, in the order of time; of too many sorts the worst. */
static void put_firsts(struct writer *w)
{
    unsigned order[ECC_FACTS];
    unsigned count = 0;
    for (unsigned i = 0; i < ECC_FACTS; i++) {
        if (seen(w->in, (enum ecc_fact_name)i)) {
            unsigned at = count++;
            for (; at > 0 && before(w->in, i, order[at - 1]); at--) {
                order[at] = order[at - 1];
            }
            order[at] = i;
        }
    }
    while (count > FIRSTS_MAX) {
        unsigned least = count - 1;
        for (unsigned i = count - 1; i > 0; i--) {
            if (tc__ecc_fact_kind((enum ecc_fact_name)order[i]) <
                tc__ecc_fact_kind((enum ecc_fact_name)order[least])) {
                least = i;
            }
        }
        for (unsigned i = least; i + 1 < count; i++) {
            order[i] = order[i + 1];
        }
        count--;
    }
    for (unsigned i = 0; i < count; i++) {
        put_fact(w, (enum ecc_fact_name)order[i], false);
    }
}

/* The newest of all, when it is not the first of its sort. */
static void put_last(struct writer *w)
{
    unsigned last = 0;
    for (unsigned i = 1; i < ECC_FACTS; i++) {
        bool newer = w->in->facts[i].span.last_ns > w->in->facts[last].span.last_ns;
        last =
            seen(w->in, (enum ecc_fact_name)i) && (newer || !seen(w->in, (enum ecc_fact_name)last))
                ? i
                : last;
    }
    const struct tc_span *span = &w->in->facts[last].span;
    if (span->last_ns > span->first_ns) {
        put_fact(w, (enum ecc_fact_name)last, true);
    }
}

static void put_end(struct writer *w)
{
    static const struct {
        const char *kind;
        const char *word;
        const char *text;
    } ends[] = {
        [ECC_BY_COUNTER] = {"ecc_counter", "restarted",
                            "The counters of errors started again: the GPU was reset"},
        [ECC_BY_PENDING] = {"remap_state", "not_pending",
                            "Nothing waits for a reset any more: the GPU was reset"},
        [ECC_BY_FAILURE] = {"remap_state", "no_failure", "No failed remap is reported any more"},
        [ECC_BY_CALM] = {"ecc_counter", "calm", "The rate of corrected errors has fallen"},
    };
    if (w->in->end != ECC_OPEN) {
        struct tc_slice kind = tc_slice_cstr(ends[w->in->end].kind);
        tc__draft_evidence(&w->d, (struct tc_evidence){
                                      .kind = kind,
                                      .uid = make_uid(w, kind, tc_slice_cstr(ends[w->in->end].word),
                                                      0, w->in->end_ns),
                                      .description = tc_slice_cstr(ends[w->in->end].text),
                                      .time_ns = w->in->end_ns,
                                      .raw = w->in->end_raw,
                                  });
    }
}

/* An exporter's last Xid, or rows that were remapped before, prove less than a line or a flag. */
static bool is_proved(const struct ecc_incident *in, enum ecc_kind kind)
{
    for (unsigned i = 0; i < ECC_FACTS; i++) {
        if (tc__ecc_fact_kind((enum ecc_fact_name)i) == kind && seen(in, (enum ecc_fact_name)i) &&
            (i < ECC_XIDS ? in->facts[i].lines > 0 : i != ECC_ROWS)) {
            return true;
        }
    }
    return false;
}

static void put_attrs(struct writer *w)
{
    const struct ecc_incident *in = w->in;
    if (tc__ecc_uncorrected(in) > 0) {
        tc__draft_attr_int(&w->d, KEY("uncorrected_errors"), tc__ecc_uncorrected(in));
    }
    if (seen(in, ECC_CORRECTED)) {
        tc__draft_attr_int(&w->d, KEY("corrected_errors"),
                           (int64_t)in->facts[ECC_CORRECTED].amount);
        tc__draft_attr_int(&w->d, KEY("window_seconds"), in->window_ns / TC_SECOND);
    }
    if (seen(in, ECC_ROWS)) {
        tc__draft_attr_int(&w->d, KEY("remapped_rows"), (int64_t)in->facts[ECC_ROWS].amount);
    }
    if (seen(in, ECC_PAGES_PENDING)) {
        tc__draft_attr_int(&w->d, KEY("pages_pending"),
                           (int64_t)in->facts[ECC_PAGES_PENDING].amount);
    }
    if (w->xid_count > 0) {
        tc__draft_attr(&w->d, (struct tc_attr){.key = KEY("xids"),
                                               .type = TC_ATTR_INTS,
                                               .ints = w->xids,
                                               .count = w->xid_count});
    }
}

tc_status tc__ecc_report(const struct ecc_incident *in, enum ecc_kind kind,
                         const struct tc_scope *scope, struct tc_arena *scratch,
                         const struct tc_sink *out)
{
    struct writer w = {.in = in, .scope = scope, .kind = kind};
    /* Every uid and sentence names the node and the GPU once at most. */
    size_t names = scope->node.len + scope->gpu_uuid.len + scope->ns.len + scope->pod.len;
    tc__draft_begin(&w.d, &tc_detector_hbm_ecc, scratch, WORDS_BYTES + 16 * names, ATTRS_MAX,
                    EVIDENCE_MAX);
    for (unsigned i = 0; i < ECC_XIDS; i++) {
        if (seen(in, (enum ecc_fact_name)i)) {
            w.xids[w.xid_count++] = tc__ecc_xid((enum ecc_fact_name)i);
        }
    }
    name_gpu(&w);
    struct tc_finding *f = &w.d.finding;
    f->key = in->key;
    f->resolved = in->end != ECC_OPEN;
    f->severity = KINDS[kind].severity;
    bool full = is_proved(in, kind) && scope->node.len > 0;
    f->confidence = full ? TC_CONFIDENCE_FULL : TC_CONFIDENCE_PARTIAL;
    f->discriminator = tc_slice_cstr(KINDS[kind].discriminator);
    f->headline = headline(&w);
    f->remediation = remediation(&w);
    f->first_ns = in->first_ns;
    f->last_ns = in->end == ECC_OPEN ? in->last_ns : in->end_ns;
    f->scope = *scope;
    for (unsigned i = 0; i < ECC_XIDS && f->scope.pid < 0; i++) {
        bool worst = tc__ecc_fact_kind((enum ecc_fact_name)i) == kind;
        f->scope.pid = worst && seen(in, (enum ecc_fact_name)i) ? in->facts[i].pid : -1;
    }
    put_attrs(&w);
    put_firsts(&w);
    put_last(&w);
    put_end(&w);
    return tc__draft_emit(&w.d, out);
}
