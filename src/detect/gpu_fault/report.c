/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a gpu_fault verdict. */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/gpu_fault/priv.h"
#include "detect/words_priv.h"
#include "event/format.h"

#define KEY(name) TC_LIT("tracecore.alert.gpu_fault." name)
/* Whose actions sentences share. */
#define XID_POWER 54
#define XID_OFF_THE_BUS 79
#define XID_INIT_FAILED 143

static const struct {
    const char *discriminator;
    enum tc_severity severity;
} KINDS[] = {
    [GPUF_NONE] = {"", TC_SEVERITY_INFO},
    [GPUF_OTHER_ERROR] = {"other_hardware", TC_SEVERITY_WARNING},
    [GPUF_FIRMWARE_ERROR] = {"firmware", TC_SEVERITY_WARNING},
    [GPUF_GONE] = {"gone", TC_SEVERITY_CRITICAL},
    [GPUF_NEEDS_RESET] = {"needs_reset", TC_SEVERITY_CRITICAL},
    [GPUF_OTHER] = {"other_hardware", TC_SEVERITY_CRITICAL},
    [GPUF_INIT_FAILED] = {"init_failed", TC_SEVERITY_CRITICAL},
    [GPUF_FIRMWARE] = {"firmware", TC_SEVERITY_CRITICAL},
    [GPUF_OFF_THE_BUS] = {"off_the_bus", TC_SEVERITY_CRITICAL},
};

static const struct {
    const char *kind; /* of the evidence */
    const char *word; /* of its id */
    const char *what; /* for the headline; NULL: by the action */
    const char *says; /* for the evidence */
    int32_t xid;      /* whose action is taken; 0: none's */
} SORTS[] = {
    [GPUF_XID] = {"xid", "", NULL, NULL, 0},
    [GPUF_UNREACHABLE] = {"driver_fault", "unreachable", "it no longer answers on the bus",
                          "The kernel cannot reach the GPU on the bus", XID_OFF_THE_BUS},
    [GPUF_LOST] = {"gpu_health", "lost", "the driver has lost it",
                   "The driver says that the GPU is lost", XID_OFF_THE_BUS},
    [GPUF_INIT] = {"driver_fault", "init_failed", "the driver cannot initialise it",
                   "The driver could not initialise the GPU", XID_INIT_FAILED},
    [GPUF_PROBE] = {"driver_fault", "probe_failed", "the driver cannot initialise it",
                    "The driver's probe of the GPU failed", XID_INIT_FAILED},
    [GPUF_NO_HANDLE] = {"gpu_health", "no_handle", "the driver gives no handle for it",
                        "nvidia-smi gets no handle for the GPU", XID_INIT_FAILED},
    [GPUF_RESET] = {"gpu_health", "reset", NULL, "The driver says that the GPU must be reset", 0},
    [GPUF_POWER] = {"driver_fault", "no_power", "its power cables are not connected",
                    "The driver says that power cables of the GPU are not connected", XID_POWER},
    [GPUF_RESET_FAILED] = {"driver_fault", "reset_failed", "the driver cannot reset it",
                           "The driver could not reset the GPU", 0},
    [GPUF_RAS] = {"driver_fault", "hardware_error", "uncorrectable hardware error",
                  "The driver was told of an uncorrectable hardware error", 0},
    [GPUF_ABSENT] = {"scrape", "absent", "gone from the scrapes of its node",
                     "The first scrape of the node without the GPU", 0},
};

static const struct {
    const char *what;
    const char *action;
} ACTIONS[] = {
    [GPUF_NO_ACTION] = {"needs a reset", "reset the GPU"},
    [GPUF_DO_RESET] = {"needs a reset", "reset the GPU"},
    [GPUF_DO_DRAIN] = {"needs to be drained and reset", "drain and reset the GPU"},
    [GPUF_DO_REBOOT] = {"needs a reboot of its node", "drain and reboot the node"},
};

/* What one report is made from. */
struct writer {
    struct tc_draft d;
    const struct gpuf_incident *in;
    const struct tc_xid_list *site; /* what it says of Xids */
    const struct tc_scope *scope;
    const struct gpuf_fact *gravest;
    struct tc_slice node; /* for a sentence */
    int32_t xids[GPUF_FACTS_MAX];
    size_t xid_count;
};

static const char *what_of(const struct tc_xid_list *site, const struct gpuf_fact *f)
{
    const struct tc_xid *xid = f->sort == GPUF_XID ? tc_xid_list_find(site, f->code) : NULL;
    if (f->kind == GPUF_NEEDS_RESET) {
        return ACTIONS[f->action].what;
    }
    return xid != NULL ? xid->name : SORTS[f->sort].what;
}

static const char *action_of(const struct tc_xid_list *site, const struct gpuf_incident *in,
                             const struct gpuf_fact *f)
{
    if (f->kind == GPUF_NEEDS_RESET) {
        enum gpuf_action most = f->action;
        for (size_t i = 0; i < in->fact_count; i++) {
            most = in->facts[i].action > most ? in->facts[i].action : most;
        }
        return ACTIONS[most].action;
    }
    if (f->kind == GPUF_GONE) {
        return "look for it with nvidia-smi and lspci; power-cycle the node if it is not there, "
               "then check seating, power and cooling";
    }
    if (f->sort == GPUF_RESET_FAILED || f->sort == GPUF_RAS) {
        return "drain the node and power-cycle it; return the GPU if that fails or it happens "
               "again";
    }
    const struct tc_xid *xid =
        tc_xid_list_find(site, f->sort == GPUF_XID ? f->code : SORTS[f->sort].xid);
    return xid != NULL ? xid->action : ACTIONS[GPUF_DO_RESET].action;
}

/* The first time of the facts that is a date; of facts without one, of no meaning. */
static int64_t first_date(const struct gpuf_incident *in)
{
    int64_t first_ns = in->last_ns;
    for (size_t i = 0; i < in->fact_count; i++) {
        int64_t ns = in->facts[i].span.first_ns;
        first_ns = tc_time_is_date(ns) && ns < first_ns ? ns : first_ns;
    }
    return first_ns;
}

static struct tc_slice headline(struct writer *w)
{
    int64_t first_ns = first_date(w->in);
    bool lasted = tc__lasted(first_ns, w->in->last_ns);
    return tc__draft_format(
        &w->d, "{} of {}: {}{}{}{}{}{}", tc_as_gpu(w->scope), tc__as_node(w->node),
        what_of(w->site, w->gravest),
        tc_when(w->xid_count > 0, ", Xid {}", tc_as_ints(w->xids, w->xid_count, GPUF_FACTS_MAX)),
        lasted ? ", first " : ", ", tc_as_moment(first_ns),
        tc_when(lasted, ", last {} later", tc_as_duration(w->in->last_ns - first_ns)),
        tc_when(w->in->told_others > 0, ", with {} more of the node", (int64_t)w->in->told_others));
}

static struct tc_slice remediation(struct writer *w)
{
    const char *clears = w->gravest->kind == GPUF_GONE
                             ? "Clears when it is in a scrape again."
                             : "Clears when it answers again after a driver load or a boot.";
    return tc__draft_format(&w->d, "For {} of {}: {}.{} {}", tc_as_gpu(w->scope),
                            tc__as_node(w->node), action_of(w->site, w->in, w->gravest),
                            tc_when(w->in->told_others > 0,
                                    " Others of the node broke with it: check what they share "
                                    "(riser, power supply, baseboard) first."),
                            clears);
}

static struct tc_slice make_uid(struct writer *w, struct tc_slice kind, struct tc_arg word,
                                int64_t time_ns)
{
    return tc__draft_format(&w->d, "{}:{}:{}:{}:{}", kind, w->scope->node, tc_as_gpu_id(w->scope),
                            word, tc_as_time(time_ns));
}

static void write_xid(struct tc_buf *b, const struct gpuf_fact *f)
{
    const struct tc_xid *xid = tc_xid_find(f->code);
    tc_format(
        b, "{}Xid {}{}{}{}{}", f->exported ? "An exporter told of " : "", f->code,
        tc_when(xid != NULL, ": {}", xid == NULL ? "" : xid->name),
        tc_when(f->kind == GPUF_NEEDS_RESET, ", the GPU {}", ACTIONS[f->action].what),
        tc_when(f->process_len > 0, ", process {}", tc_slice_make(f->process, f->process_len)),
        tc_when(f->pid >= 0, ", pid {}", f->pid));
}

static void write_fact(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct gpuf_fact *f = arg->object;
    if (f->sort == GPUF_XID) {
        write_xid(b, f);
    } else {
        tc_format(b, "{}", SORTS[f->sort].says);
    }
    if (f->times > 1) {
        tc_format(b, ", {} times, the last {}", f->times, tc_as_moment(f->span.last_ns));
    }
}

static void put_fact(struct writer *w, const struct gpuf_fact *f)
{
    struct tc_slice kind = tc_slice_cstr(SORTS[f->sort].kind);
    struct tc_arg word = f->sort == GPUF_XID ? TC_ARG(f->code) : TC_ARG(SORTS[f->sort].word);
    struct tc_slice given = tc_slice_make(f->uid, f->uid_len);
    tc__draft_piece(&w->d, kind, f->span.first_ns, f->span.first_raw,
                    tc__text_or(given, make_uid(w, kind, word, f->span.first_ns)),
                    tc__draft_format(&w->d, "{}", tc_as_written(write_fact, f)));
}

static void put_last_sample(struct writer *w, const struct gpuf_fact *f)
{
    struct tc_slice kind = tc_slice_cstr(SORTS[f->sort].kind);
    tc__draft_piece(&w->d, kind, f->sampled_ns, f->sampled_raw,
                    make_uid(w, kind, TC_ARG("last"), f->sampled_ns),
                    TC_LIT("The last sample of the GPU"));
}

static bool before(const struct gpuf_fact *a, const struct gpuf_fact *b)
{
    return a->span.first_ns == b->span.first_ns ? tc__gpuf_graver(a, b)
                                                : a->span.first_ns < b->span.first_ns;
}

/* The first of each sort, in the order of time. */
static void put_facts(struct writer *w)
{
    const struct gpuf_fact *order[GPUF_FACTS_MAX];
    const struct gpuf_fact *absent = NULL;
    for (size_t i = 0; i < w->in->fact_count; i++) {
        size_t at = i;
        absent = w->in->facts[i].sort == GPUF_ABSENT ? &w->in->facts[i] : absent;
        for (; at > 0 && before(&w->in->facts[i], order[at - 1]); at--) {
            order[at] = order[at - 1];
        }
        order[at] = &w->in->facts[i];
    }
    for (size_t i = 0; i < w->in->fact_count; i++) {
        if (absent != NULL && absent->sampled_ns <= order[i]->span.first_ns) {
            put_last_sample(w, absent);
            absent = NULL;
        }
        put_fact(w, order[i]);
    }
}

static void put_end(struct writer *w)
{
    static const struct {
        const char *kind;
        const char *word;
        const char *text;
    } ends[] = {
        [GPUF_OPEN] = {"", "", ""},
        [GPUF_ANSWERED] = {"answer", "answered", "The GPU answers again"},
        [GPUF_ACTION_NONE] = {"xid", "no_action",
                              "Xid 154: the driver asks for no action any more"},
        [GPUF_WAS_RESET] = {"driver_fault", "reset_ok", "The driver has reset the GPU"},
        [GPUF_RETURNED] = {"scrape", "returned", "The GPU is in a scrape again"},
    };
    const struct gpuf_incident *in = w->in;
    if (in->end == GPUF_OPEN) {
        return;
    }
    if (in->end == GPUF_ANSWERED) {
        tc__draft_piece(&w->d, TC_LIT("driver_load"), in->load_ns, in->load_raw,
                        make_uid(w, TC_LIT("driver_load"), TC_ARG("loaded"), in->load_ns),
                        TC_LIT("The driver was loaded, or the node booted"));
    }
    struct tc_slice kind = tc_slice_cstr(ends[in->end].kind);
    tc__draft_piece(&w->d, kind, in->end_ns, in->end_raw,
                    make_uid(w, kind, TC_ARG(ends[in->end].word), in->end_ns),
                    tc_slice_cstr(ends[in->end].text));
}

/* The Xids, the gravest first. */
static void list_xids(struct writer *w)
{
    const struct gpuf_fact *order[GPUF_FACTS_MAX];
    for (size_t i = 0; i < w->in->fact_count; i++) {
        const struct gpuf_fact *f = &w->in->facts[i];
        size_t at = w->xid_count;
        if (f->sort != GPUF_XID) {
            continue;
        }
        for (; at > 0 && tc__gpuf_graver(f, order[at - 1]); at--) {
            order[at] = order[at - 1];
        }
        order[at] = f;
        w->xid_count++;
    }
    for (size_t i = 0; i < w->xid_count; i++) {
        w->xids[i] = order[i]->code;
    }
}

static void put_attrs(struct writer *w)
{
    if (w->xid_count > 0) {
        tc__draft_attr_ints(&w->d, KEY("xids"), w->xids, w->xid_count);
    }
    for (size_t i = 0; i < w->in->fact_count; i++) {
        tc__draft_attr_some(&w->d, KEY("missed_scrapes"), w->in->facts[i].missed);
    }
}

tc_status tc__gpuf_report(const struct gpuf_state *st, const struct gpuf_incident *in,
                          const struct tc_scope *scope, const struct tc_sink *out)
{
    struct writer w = {
        .in = in, .site = st->base.xids, .scope = scope, .gravest = tc__gpuf_gravest(in)};
    bool named = scope->gpu_uuid.len > 0 || scope->pci.known || scope->gpu_index >= 0;
    w.node = scope->node.len > 0 ? scope->node : TC__NO_NODE;
    tc__draft_open(&w.d, &tc_detector_gpu_fault, st->base.scratch);
    list_xids(&w);
    struct tc_finding *f = &w.d.finding;
    f->key = in->key;
    f->resolved = in->end != GPUF_OPEN;
    f->severity = KINDS[w.gravest->kind].severity;
    f->confidence = scope->node.len > 0 && named ? TC_CONFIDENCE_FULL : TC_CONFIDENCE_PARTIAL;
    f->discriminator = tc_slice_cstr(KINDS[w.gravest->kind].discriminator);
    f->headline = headline(&w);
    f->remediation = remediation(&w);
    f->first_ns = in->first_ns;
    f->last_ns = in->end == GPUF_OPEN ? in->last_ns : in->end_ns;
    f->scope = *scope;
    f->scope.pid = f->scope.pid < 0 ? w.gravest->pid : f->scope.pid;
    put_attrs(&w);
    put_facts(&w);
    put_end(&w);
    return tc__draft_emit(&w.d, out);
}
