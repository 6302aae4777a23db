/* SPDX-License-Identifier: Apache-2.0 */
/* The words of an hbm_ecc verdict. */
#include "detect/detector.h"
#include "detect/hbm_ecc/priv.h"
#include "detect/words_priv.h"
#include "event/format.h"
#include "event/xid.h"

#define KEY(name) TC_LIT("tracecore.alert.hbm_ecc." name)
/* The first of so many sorts of facts, then the last of all, then the end. */
#define FIRSTS_MAX 7

static const struct {
    const char *discriminator;
    enum tc_severity severity;
    const char *what; /* where no number is told */
} KINDS[] = {
    [ECC_NONE] = {"", TC_SEVERITY_INFO, ""},
    [ECC_CORRECTED_STORM] = {"corrected_storm", TC_SEVERITY_WARNING,
                             "a high rate of corrected memory errors"},
    [ECC_REMAP_PENDING] = {"remap_pending", TC_SEVERITY_WARNING,
                           "bad memory waits for a reset to be set aside"},
    [ECC_CONTAINED] = {"contained", TC_SEVERITY_CRITICAL, "a memory error that was contained"},
    [ECC_UNCORRECTABLE] = {"uncorrectable", TC_SEVERITY_CRITICAL, ""},
    [ECC_UNCONTAINED] = {"uncontained", TC_SEVERITY_CRITICAL,
                         "a memory error that was not contained"},
    [ECC_REMAP_FAILED] = {"remap_failed", TC_SEVERITY_CRITICAL,
                          "bad memory could not be set aside, a remap failed"},
};

/* What one report is made from. */
struct writer {
    struct tc_draft d;
    const struct ecc_incident *in;
    const struct tc_scope *scope;
    enum ecc_kind kind;
    struct tc_slice node; /* for a sentence */
    int32_t xids[ECC_XIDS];
    size_t xid_count;
};

static bool seen(const struct ecc_incident *in, enum ecc_fact_name name)
{
    return in->facts[name].span.count > 0;
}

static void write_gpu(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct writer *w = arg->object;
    if (tc__ecc_is_named(w->in)) {
        tc_format(b, "{}", tc_as_gpu(w->scope));
    } else if (w->scope->rank >= 0) {
        tc_format(b, "GPU of rank {}", w->scope->rank);
    } else {
        tc_format(b, "A GPU");
    }
}

/* Whose GPU it is, where the GPU has no name. */
static void write_nameless(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct writer *w = arg->object;
    if (w->scope->rank >= 0) {
        tc_format(b, "rank {} on ", w->scope->rank);
    }
    tc_format(b, "{}", tc__as_node(w->node));
}

static struct tc_arg nameless(const struct writer *w)
{
    return tc_as_written(write_nameless, w);
}

static struct tc_arg gpu_name(const struct writer *w)
{
    return tc_as_written(write_gpu, w);
}

static void write_where(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct writer *w = arg->object;
    tc_format(b, "{} of {}", gpu_name(w), tc__as_node(w->node));
}

static struct tc_arg where(const struct writer *w)
{
    return tc_as_written(write_where, w);
}

static void write_what(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct writer *w = arg->object;
    const struct ecc_incident *in = w->in;
    if (w->kind == ECC_CORRECTED_STORM && seen(in, ECC_CORRECTED)) {
        tc_format(b, "{} within {}",
                  tc_as_count((int64_t)in->facts[ECC_CORRECTED].amount, "corrected memory error"),
                  tc_as_duration(in->window_ns));
    } else if (w->kind == ECC_UNCORRECTABLE) {
        tc_format(b, "{}", tc_as_count(tc__ecc_uncorrected(in), "uncorrectable memory error"));
    } else {
        tc_format(b, "{}", KINDS[w->kind].what);
    }
}

static struct tc_slice headline(struct writer *w)
{
    bool lasted = tc__lasted(w->in->first_ns, w->in->last_ns);
    return tc__draft_format(
        &w->d, "{}: {}{}{}{}{}", where(w), tc_as_written(write_what, w),
        tc_when(w->xid_count > 0, ", Xid {}", tc_as_ints(w->xids, w->xid_count, ECC_XIDS)),
        lasted ? ", first " : ", ", tc_as_moment(w->in->first_ns),
        tc_when(lasted, ", last {} later", tc_as_duration(w->in->last_ns - w->in->first_ns)));
}

static struct tc_slice remediation(struct writer *w)
{
    const struct tc_scope *s = w->scope;
    struct tc_arg workload = s->pod.len == 0 ? TC_ARG("the application that was hit")
                                             : tc_when(true, "pod {}", tc_as_pod(s->ns, s->pod));
    switch (w->kind) {
    case ECC_CORRECTED_STORM:
        return tc__draft_format(&w->d,
                                "Keep running and watch {}; at the next idle moment run memory "
                                "diagnostics and reset it. Return the board if the rate comes back "
                                "after that.",
                                where(w));
    case ECC_REMAP_PENDING:
        return tc__draft_format(&w->d,
                                "Reset {} at the next idle moment so that the bad memory is set "
                                "aside; work that is running may go on until then.",
                                where(w));
    case ECC_CONTAINED:
        return tc__draft_format(&w->d,
                                "Restart {}, whose data was lost; others go on. Reset {} at the "
                                "next idle moment.",
                                workload, where(w));
    case ECC_UNCORRECTABLE:
    case ECC_UNCONTAINED:
        if (!tc__ecc_is_named(w->in)) {
            return tc__draft_format(
                &w->d,
                "Find the GPU of {}: its kernel log and nvidia-smi -q -d ECC,ROW_REMAPPER name it. "
                "Drain its node, reset it and restart {}. Return the board if errors come back "
                "after the reset or a remap fails.",
                nameless(w), workload);
        }
        return tc__draft_format(
            &w->d,
            "Drain {}, reset {} and restart {}. Return the board if errors come back after "
            "the reset or a remap fails.",
            tc__as_node(w->node), gpu_name(w),
            w->kind == ECC_UNCONTAINED ? TC_ARG("all that ran on it from a checkpoint from before")
                                       : workload);
    case ECC_REMAP_FAILED:
        return tc__draft_format(&w->d,
                                "Drain {} and return the board of {}: it can set aside no "
                                "more bad memory, and a reset does not mend that.",
                                tc__as_node(w->node), tc_as_gpu(s));
    case ECC_NONE:
        break;
    }
    return TC_EMPTY;
}

static void write_xid(struct tc_buf *b, const struct ecc_fact *f, int32_t code)
{
    const struct tc_xid *xid = tc_xid_find(code);
    int64_t count = tc__ecc_xid_count(f);
    tc_format(
        b, "{}Xid {}{}{}{}{}", f->lines > 0 ? "" : "An exporter told of ", code,
        tc_when(xid != NULL, ": {}", xid == NULL ? "" : xid->name),
        tc_when(f->process_len > 0, ", process {}", tc_slice_make(f->process, f->process_len)),
        tc_when(f->pid >= 0, ", pid {}", f->pid),
        tc_when(count > 1, ", {} times, the last {}", count, tc_as_moment(f->span.last_ns)));
}

static void write_fact(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct ecc_incident *in = arg->object;
    enum ecc_fact_name name = (enum ecc_fact_name)arg->count;
    const struct ecc_fact *f = &in->facts[name];
    int64_t amount = (int64_t)f->amount;
    if (name < ECC_XIDS) {
        write_xid(b, f, tc__ecc_xid(name));
    } else if (name == ECC_UNCORRECTED) {
        tc_format(b, "The counter of uncorrectable errors rose by {}",
                  (int64_t)(f->amount > f->lifetime ? f->amount : f->lifetime));
    } else if (name == ECC_CORRECTED) {
        tc_format(b, "The counter of corrected errors rose by up to {} within {}", amount,
                  tc_as_duration(in->window_ns));
    } else if (name == ECC_ROWS) {
        tc_format(b, "The count of remapped rows rose by {}", amount);
    } else if (name == ECC_PAGES_PENDING) {
        tc_format(b, "The retirement of {} waits for a reset", tc_as_count(amount, "page"));
    } else if (name == ECC_CUDA) {
        tc_format(b, "A process died of a CUDA error: uncorrectable ECC error encountered");
    } else {
        tc_format(b, "A row remap {}", name == ECC_ROW_PENDING ? "waits for a reset" : "failed");
    }
}

static struct tc_slice kind_of(enum ecc_fact_name name)
{
    if (name < ECC_XIDS) {
        return TC_LIT("xid");
    }
    if (name == ECC_CUDA) {
        return TC_LIT("driver_fault");
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
    [ECC_CUDA] = "cuda_ecc",
};

static struct tc_slice make_uid(struct writer *w, struct tc_slice kind, struct tc_arg word,
                                int64_t time_ns)
{
    return tc__draft_format(&w->d, "{}:{}:{}:{}:{}", kind, w->scope->node, tc_as_gpu_id(w->scope),
                            word, tc_as_time(time_ns));
}

static void put_fact(struct writer *w, enum ecc_fact_name name, bool last)
{
    const struct ecc_fact *f = &w->in->facts[name];
    struct tc_slice kind = kind_of(name);
    int64_t time_ns = last ? f->span.last_ns : f->span.first_ns;
    struct tc_slice given = tc_slice_make(f->uid, last ? 0 : f->uid_len);
    struct tc_arg word = name < ECC_XIDS ? TC_ARG(tc__ecc_xid(name)) : TC_ARG(WORDS[name]);
    struct tc_arg fact = {.write = write_fact, .object = w->in, .count = name};
    tc__draft_piece(&w->d, kind, time_ns, last ? f->span.last_raw : f->span.first_raw,
                    tc__text_or(given, make_uid(w, kind, word, time_ns)),
                    tc__draft_format(&w->d, "{}{}", last ? "The last of it: " : "", fact));
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
        tc__draft_piece(&w->d, kind, w->in->end_ns, w->in->end_raw,
                        make_uid(w, kind, TC_ARG(ends[w->in->end].word), w->in->end_ns),
                        tc_slice_cstr(ends[w->in->end].text));
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
    tc__draft_attr_some(&w->d, KEY("uncorrected_errors"), tc__ecc_uncorrected(in));
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
        tc__draft_attr_ints(&w->d, KEY("xids"), w->xids, w->xid_count);
    }
}

tc_status tc__ecc_report(const struct ecc_incident *in, enum ecc_kind kind,
                         const struct tc_scope *scope, struct tc_arena *scratch,
                         const struct tc_sink *out)
{
    struct writer w = {.in = in, .scope = scope, .kind = kind};
    w.node = scope->node.len > 0 ? scope->node : ECC_NO_NODE;
    tc__draft_open(&w.d, &tc_detector_hbm_ecc, scratch);
    for (unsigned i = 0; i < ECC_XIDS; i++) {
        if (seen(in, (enum ecc_fact_name)i)) {
            w.xids[w.xid_count++] = tc__ecc_xid((enum ecc_fact_name)i);
        }
    }
    struct tc_finding *f = &w.d.finding;
    f->key = in->key;
    f->resolved = in->end != ECC_OPEN;
    f->severity = KINDS[kind].severity;
    bool full = is_proved(in, kind) && scope->node.len > 0 && tc__ecc_is_named(in);
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
