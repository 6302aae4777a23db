/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Xids of applications that follow one GPU. One alone is the program's; but when programs of
 * several jobs, in several pods, meet it on one GPU, and none of these jobs meets it on another,
 * the GPU is suspected. A job that meets it on two GPUs is at fault itself, and says nothing of
 * either.
 *
 * Kept: one strike per GPU, job and pod; and of each job the GPU that it was first hit on.
 */
#include "detect/finding_priv.h"
#include "detect/gpu_fault/priv.h"
#include "detect/words_priv.h"
#include "event/format.h"

#define KEY(name) TC_LIT("tracecore.alert.gpu_fault." name)
#define STRIKE_RING_BYTES ((size_t)2 << 20)
#define JOB_RING_BYTES ((size_t)1 << 20)
/* Strikes of one GPU that are looked at, and that are told: the latest. */
#define STRIKES_MAX 32
#define JOBS_MIN 2
#define STRIKES_MIN 2
#define UNIT_UNKNOWN (-1)
#define UNIT_SEVERAL (-2)
#define UNIT_TPCS 256

static const struct tc_record_type STRIKE = {
    .size = sizeof(struct gpuf_strike),
    .text_min = 1, /* a job */
    .texts = {TC_TEXT(struct gpuf_strike, job), TC_TEXT(struct gpuf_strike, ns),
              TC_TEXT(struct gpuf_strike, pod), TC_TEXT(struct gpuf_strike, node),
              TC_TEXT(struct gpuf_strike, uuid)},
    .keys = {{TC_FIELD(struct gpuf_strike, gpu), TC_FIELD(struct gpuf_strike, job),
              TC_FIELD(struct gpuf_strike, ns), TC_FIELD(struct gpuf_strike, pod)}},
    .chain = {TC_FIELD(struct gpuf_strike, gpu)},
};

static const struct tc_record_type JOB = {
    .size = sizeof(struct gpuf_job),
    .text_min = 1,
    .texts = {TC_TEXT(struct gpuf_job, name)},
    .keys = {{TC_FIELD(struct gpuf_job, name)}},
};

bool tc__gpuf_suspects_init(struct gpuf_state *st)
{
    return tc__window_open(&st->strikes, &st->base, &STRIKE, STRIKE_RING_BYTES, st->follows_ns) &&
           tc__window_open(&st->jobs, &st->base, &JOB, JOB_RING_BYTES, st->follows_ns);
}

bool tc__gpuf_is_application(const struct tc_xid_list *xids, int64_t code)
{
    return code == 13 || code == 31 || code == 43 ||
           tc_xid_list_says(xids, code, TC_XID_APPLICATION);
}

/* "Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0): ..." */
static int32_t unit_of(struct tc_slice message)
{
    static const struct tc_slice words[] = {{"(GPC ", 5}, {", TPC ", 6}};
    uint64_t numbers[TC_COUNT(words)];
    size_t at = tc_slice_find(message, words[0]);
    struct tc_slice rest = at == TC_NPOS ? TC_EMPTY : tc_slice_from(message, at);
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        size_t used = 0;
        if (tc_slice_starts(rest, words[i])) {
            rest = tc_slice_from(rest, words[i].len);
            used = tc_slice_u64(rest, &numbers[i]);
        }
        if (used == 0 || numbers[i] >= UNIT_TPCS) {
            return UNIT_UNKNOWN;
        }
        rest = tc_slice_from(rest, used);
    }
    return (int32_t)(numbers[0] * UNIT_TPCS + numbers[1]);
}

static int32_t join_units(int32_t a, int32_t b)
{
    return a == UNIT_UNKNOWN || a == b ? b : b == UNIT_UNKNOWN ? a : UNIT_SEVERAL;
}

/*
 * The job of who used the GPU. Where none is named, pods whose names begin alike are taken for one
 * job's: that makes jobs fewer, never more.
 */
static struct tc_slice job_of(struct tc_slice job, struct tc_slice pod)
{
    size_t dash = tc_slice_find(pod, TC_LIT("-"));
    return job.len > 0 ? job : dash == TC_NPOS ? pod : tc_slice_head(pod, dash);
}

/* What counts of the strikes of a GPU, oldest first. */
struct record {
    const struct gpuf_strike *strikes[STRIKES_MAX];
    size_t count;
    struct tc_slice jobs[STRIKES_MAX];
    size_t job_count;
    int32_t unit;
};

static void add_job(struct record *r, struct tc_slice job)
{
    for (size_t i = 0; i < r->job_count; i++) {
        if (tc_slice_eq(r->jobs[i], job)) {
            return;
        }
    }
    r->jobs[r->job_count++] = job;
}

static void gather(const struct gpuf_state *st, uint64_t gpu, struct record *out)
{
    const struct gpuf_strike *found[STRIKES_MAX];
    size_t count = 0;
    struct gpuf_strike key = {.gpu = gpu};
    const struct gpuf_strike *s = tc__window_newest(&st->strikes, &key);
    for (unsigned i = 0; s != NULL && i < STRIKES_MAX; i++) {
        struct gpuf_job job_key = {.name = s->job};
        const struct gpuf_job *job = tc__window_get(&st->jobs, &job_key);
        if (job != NULL && !job->elsewhere && s->time_ns >= st->base.now_ns - st->follows_ns) {
            found[count++] = s;
        }
        s = tc__window_older(&st->strikes, s);
    }
    *out = (struct record){.unit = UNIT_UNKNOWN};
    while (count > 0) {
        const struct gpuf_strike *oldest = found[--count];
        out->strikes[out->count++] = oldest;
        out->unit = join_units(out->unit, oldest->unit);
        add_job(out, oldest->job);
    }
}

/* One unit of the GPU every time is more telling than one GPU: it takes one strike fewer. */
static bool is_suspect(const struct gpuf_state *st, const struct record *r)
{
    int64_t needed = r->unit >= 0 ? st->follows - 1 : st->follows;
    return r->job_count >= JOBS_MIN && r->count >= STRIKES_MIN && (int64_t)r->count >= needed;
}

/* "pod ml/llama-0 of job llama" */
static void write_user(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct gpuf_strike *s = arg->object;
    tc_format(b, "{}job {}", tc_when(s->pod.len > 0, "pod {} of ", tc_as_pod(s->ns, s->pod)),
              s->job);
}

static void put_strike(struct tc_draft *d, const struct gpuf_strike *s,
                       const struct tc_scope *scope)
{
    tc__draft_piece(d, TC_LIT("xid"), s->time_ns, s->raw,
                    tc__draft_format(d, "xid:{}:{}:{}:{}", scope->node, tc_as_gpu_id(scope),
                                     s->code, tc_as_time(s->time_ns)),
                    tc__draft_format(d, "Xid {} hit {}{}", s->code, tc_as_written(write_user, s),
                                     tc_when(s->unit >= 0, " in GPC {}, TPC {}",
                                             s->unit / UNIT_TPCS, s->unit % UNIT_TPCS)));
}

static void put_attrs(struct tc_draft *d, const struct record *r)
{
    if (r->job_count > 0) {
        tc__draft_attr_list(d, KEY("jobs"), r->jobs, r->job_count);
    }
    tc__draft_attr_some(d, KEY("pods"), (int64_t)r->count);
    if (r->unit >= 0) {
        tc__draft_attr_int(d, KEY("gpc"), r->unit / UNIT_TPCS);
        tc__draft_attr_int(d, KEY("tpc"), r->unit % UNIT_TPCS);
    }
}

static struct tc_scope scope_of(const struct gpuf_state *st, const struct gpuf_strike *s)
{
    struct tc_scope scope = tc__gpu_scope(s->node, s->uuid, s->pci, s->index);
    (void)tc_directory_complete(st->directory, &scope);
    scope.ns = scope.pod = scope.container = scope.job = TC_EMPTY; /* of several */
    scope.rank = -1;
    return scope;
}

/* The words: that it is suspected, or that it is not any more. */
static void put_words(struct tc_draft *d, const struct record *r, const struct tc_scope *scope,
                      bool holds)
{
    struct tc_finding *f = &d->finding;
    struct tc_arg gpu = tc_as_gpu(scope);
    struct tc_arg node = tc__as_node(scope->node.len > 0 ? scope->node : TC__NO_NODE);
    if (!holds) {
        f->headline = tc__draft_format(
            d, "{} of {}: not suspected any more, a job that was hit on it is hit on another too",
            gpu, node);
        f->remediation = TC_LIT("Nothing to do for this GPU; look at the program of that job.");
        return;
    }
    f->headline = tc__draft_format(d, "{} of {}: Xids of applications follow it through {} of {}{}",
                                   gpu, node, tc_as_count((int64_t)r->count, "pod"),
                                   tc_as_count((int64_t)r->job_count, "job"),
                                   tc_when(r->unit >= 0, ", always in GPC {}, TPC {}",
                                           r->unit / UNIT_TPCS, r->unit % UNIT_TPCS));
    f->remediation = tc__draft_format(
        d,
        "For {} of {}: keep other jobs off it and run diagnostics (dcgmi diag -r 3, then field "
        "diagnostics); return it if they fail. None of these jobs was hit on another GPU, so their "
        "programs are not the first suspects.",
        gpu, node);
}

/* `proof` shows that it does not hold; NULL when it does. */
static tc_status report(const struct gpuf_state *st, const struct gpuf_gpu *gpu,
                        const struct record *r, const struct gpuf_strike *last,
                        const struct gpuf_strike *proof, const struct tc_sink *out)
{
    struct tc_draft d;
    struct tc_scope scope = scope_of(st, last);
    tc__draft_open(&d, &tc_detector_gpu_fault, st->base.scratch);
    struct tc_finding *f = &d.finding;
    f->key = tc__draft_format(&d, "{}|suspect|{}", tc_slice_make(gpu->suspect, gpu->suspect_len),
                              tc_as_time(gpu->suspect_ns));
    f->resolved = proof != NULL;
    f->severity = TC_SEVERITY_WARNING;
    f->confidence = TC_CONFIDENCE_PARTIAL;
    f->discriminator = TC_LIT("suspect");
    f->first_ns = gpu->suspect_ns;
    f->last_ns = proof != NULL ? proof->time_ns : last->time_ns;
    for (size_t i = 0; i < r->count; i++) {
        put_strike(&d, r->strikes[i], &scope);
    }
    if (proof != NULL) {
        struct tc_scope other = scope_of(st, proof);
        if (r->count == 0 || r->strikes[r->count - 1] != last) {
            put_strike(&d, last, &scope);
        }
        put_strike(&d, proof, &other);
    }
    scope.node = tc_slice_eq(scope.node, TC__NO_NODE) ? TC_EMPTY : scope.node;
    put_words(&d, r, &scope, proof == NULL);
    f->scope = scope;
    put_attrs(&d, r);
    tc__draft_sort(&d);
    return tc__draft_emit(&d, out);
}

static void begin(struct gpuf_gpu *gpu, const struct gpuf_strike *first)
{
    struct tc_scope scope = tc__gpu_scope(first->node, first->uuid, first->pci, first->index);
    struct tc_buf b = tc_buf_make(gpu->suspect, sizeof gpu->suspect);
    gpu->suspect_ns = first->time_ns;
    gpu->suspect_len = (uint8_t)tc_format(&b, "{}", tc_as_gpu_id(&scope)).len;
}

static tc_status look_at(struct gpuf_state *st, struct gpuf_gpu *gpu,
                         const struct gpuf_strike *last, const struct tc_sink *out)
{
    struct record r;
    gather(st, last->gpu, &r);
    if (!is_suspect(st, &r)) {
        return TC_OK;
    }
    if (gpu->suspect_ns == TC_TIME_NONE) {
        begin(gpu, r.strikes[0]);
    }
    return report(st, gpu, &r, last, NULL, out);
}

/* The job of a strike was hit on another GPU before: what was said of that one may not hold. */
static tc_status clear(struct gpuf_state *st, uint64_t gpu_id, const struct gpuf_strike *proof,
                       const struct tc_sink *out)
{
    struct gpuf_strike key = {.gpu = gpu_id};
    struct gpuf_gpu gpu_key = {.id = gpu_id};
    const struct gpuf_strike *last = tc__window_newest(&st->strikes, &key);
    struct gpuf_gpu *gpu = tc__window_get(&st->gpus, &gpu_key);
    if (last == NULL || gpu == NULL || gpu->suspect_ns == TC_TIME_NONE) {
        return TC_OK;
    }
    struct record r;
    gather(st, gpu_id, &r);
    bool holds = is_suspect(st, &r);
    tc_status status = report(st, gpu, &r, last, holds ? NULL : proof, out);
    gpu->suspect_ns = holds ? gpu->suspect_ns : TC_TIME_NONE;
    return status;
}

static tc_status note_job(struct gpuf_state *st, const struct gpuf_strike *strike,
                          const struct tc_sink *out)
{
    struct gpuf_job key = {.name = strike->job, .gpu = strike->gpu};
    struct gpuf_job *job = tc__window_get_or_add(&st->jobs, &key, st->base.now_ns);
    if (job == NULL) {
        return TC_E_NOMEM;
    }
    if (job->elsewhere || job->gpu == strike->gpu) {
        return TC_OK;
    }
    job->elsewhere = true;
    return clear(st, job->gpu, strike, out);
}

tc_status tc__gpuf_strike(struct gpuf_state *st, const struct tc_event *ev,
                          const struct tc_gpu *names, struct gpuf_gpu *gpu,
                          const struct tc_sink *out)
{
    bool own = ev->scope.pod.len > 0;
    struct tc_slice pod = own ? ev->scope.pod : names->pod;
    struct tc_slice job = ev->scope.job.len > 0 ? ev->scope.job : own ? TC_EMPTY : names->job;
    struct gpuf_strike strike = {.gpu = gpu->id,
                                 .job = job_of(job, pod),
                                 .ns = own ? ev->scope.ns : names->ns,
                                 .pod = pod,
                                 .node = names->node,
                                 .uuid = names->uuid,
                                 .pci = names->pci,
                                 .index = names->index,
                                 .code = ev->xid.code,
                                 .time_ns = ev->time_ns,
                                 .raw = ev->raw,
                                 .unit = unit_of(ev->xid.message)};
    if (strike.job.len == 0 || strike.job.len > TC_SCOPE_TEXT_MAX ||
        !tc_time_is_date(ev->time_ns)) {
        return TC_OK;
    }
    TC_TRY(note_job(st, &strike, out));
    struct gpuf_strike *known = tc__window_get(&st->strikes, &strike);
    if (known != NULL) { /* more of what hit that pod */
        known->unit = join_units(known->unit, strike.unit);
        return TC_OK;
    }
    known = tc__window_add(&st->strikes, &strike, st->base.now_ns);
    return known == NULL ? TC_E_NOMEM : look_at(st, gpu, known, out);
}
