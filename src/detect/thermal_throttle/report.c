/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a thermal_throttle verdict. */
#include "base/table/sort.h"
#include "detect/detector.h"
#include "detect/thermal_throttle/priv.h"
#include "detect/words_priv.h"
#include "event/format.h"

#define KEY(name) TC_LIT("tracecore.alert.thermal_throttle." name)
/* Of so many GPUs the beginning is evidence. */
#define FIRSTS_MAX 5
#define LISTED_MAX 64

static const struct {
    const char *discriminator;
    const char *by;     /* "slowed by ..." */
    const char *reason; /* for evidence */
} KINDS[] = {
    [HEAT_SW_THERMAL] = {"sw_thermal", "heat", "the driver lowers its clocks for heat"},
    [HEAT_HW_SLOWDOWN] = {"hw_slowdown", "the hardware", "the hardware lowers its clocks"},
    [HEAT_POWER_BRAKE] = {"power_brake", "the power brake",
                          "the power supply asks for lower clocks"},
    [HEAT_HW_THERMAL] = {"hw_thermal", "heat", "the hardware lowers its clocks for heat"},
};

static const char *const LEVELS[] = {"gpu", "node", "rack"};

/* What one report is made from. */
struct writer {
    struct tc_draft d;
    const struct heat_topic *topic;
    const void **members; /* struct heat_member, sorted by time */
    size_t count;
    size_t total;      /* with those that found no place */
    size_t node_count; /* different ones */
    enum heat_level level;
    enum heat_kind kind;
    int64_t first_ns;
    int64_t last_ns;                              /* of what was slowed */
    const struct heat_member *peak[HEAT_SENSORS]; /* the hottest; NULL when not known */
    const struct heat_member *newest;             /* the last sample */
    const struct heat_member *cleared;            /* the last that became clear */
    bool said;                                    /* all is known by what DCGM says */
    struct tc_slice gpus[LISTED_MAX];
    struct tc_slice nodes[LISTED_MAX];
};

static const struct heat_member *member(const struct writer *w, size_t i)
{
    return w->members[i];
}

static int compare(const void *left, const void *right, void *context)
{
    const struct heat_member *a = left;
    const struct heat_member *b = right;
    (void)context;
    if (a->gpu->episode.first_ns != b->gpu->episode.first_ns) {
        return a->gpu->episode.first_ns < b->gpu->episode.first_ns ? -1 : 1;
    }
    int order = tc_slice_cmp(a->scope.node, b->scope.node);
    order = order != 0 ? order
                       : (a->scope.gpu_index > b->scope.gpu_index) -
                             (a->scope.gpu_index < b->scope.gpu_index);
    return order != 0 ? order : tc_slice_cmp(a->scope.gpu_uuid, b->scope.gpu_uuid);
}

/* "GPU 3 of node gpu-07" */
static void write_gpu(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_scope *s = arg->object;
    tc_format(b, "{}{} of {}", s->gpu_index >= 0 || s->pci.known ? "GPU " : "",
              s->gpu_index >= 0 ? TC_ARG(s->gpu_index)
              : s->pci.known    ? tc_as_pci(s->pci)
                                : TC_ARG(s->gpu_uuid),
              tc__as_node(s->node));
}

static struct tc_arg gpu_name(const struct heat_member *m)
{
    return tc_as_written(write_gpu, &m->scope);
}

static bool is_listed(const struct writer *w, struct tc_slice node)
{
    for (size_t i = 0; i < w->node_count; i++) {
        if (tc_slice_eq(w->nodes[i], node)) {
            return true;
        }
    }
    return false;
}

static void look_at(struct writer *w, const struct heat_member *m, size_t kinds[HEAT_KINDS])
{
    const struct heat_gpu *gpu = m->gpu;
    kinds[gpu->kind]++;
    w->said = w->said && gpu->by_health;
    w->first_ns = gpu->episode.first_ns < w->first_ns ? gpu->episode.first_ns : w->first_ns;
    if (w->newest == NULL || gpu->episode.last_ns > w->newest->gpu->episode.last_ns) {
        w->newest = m;
    }
    for (size_t i = 0; i < HEAT_SENSORS; i++) {
        if (gpu->peak[i].known &&
            (w->peak[i] == NULL || gpu->peak[i].celsius > w->peak[i]->gpu->peak[i].celsius)) {
            w->peak[i] = m;
        }
    }
    if (!gpu->hot && (w->cleared == NULL || gpu->cleared_ns > w->cleared->gpu->cleared_ns)) {
        w->cleared = m;
    }
    if (!is_listed(w, m->scope.node) && w->node_count < LISTED_MAX) {
        w->nodes[w->node_count++] = m->scope.node;
    }
}

static void sum_up(struct writer *w, int64_t gpus)
{
    size_t kinds[HEAT_KINDS] = {0};
    w->first_ns = INT64_MAX;
    w->said = true;
    for (size_t i = 0; i < w->count; i++) {
        look_at(w, member(w, i), kinds);
    }
    w->last_ns = w->newest->gpu->episode.last_ns;
    for (unsigned i = 0; i < HEAT_KINDS; i++) {
        w->kind = kinds[i] >= kinds[w->kind] ? (enum heat_kind)i : w->kind;
    }
    w->level = w->topic->is_rack ? HEAT_RACK : (w->total >= (size_t)gpus ? HEAT_NODE : HEAT_GPU);
}

static void write_who(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct writer *w = arg->object;
    const struct heat_member *first = member(w, 0);
    if (w->total == 1) {
        tc_format(b, "{}", gpu_name(first));
    } else if (w->level == HEAT_RACK) {
        tc_format(b, "{} GPUs of {} nodes in rack {}", w->total, w->node_count,
                  w->topic->group->rack);
    } else {
        tc_format(b, "{} GPUs of {}", w->total, tc__as_node(first->scope.node));
    }
}

static struct tc_arg who(const struct writer *w)
{
    return tc_as_written(write_who, w);
}

/* The highest temperature that a sensor of any of them showed; 0 when none is known. */
static int64_t celsius(const struct writer *w, unsigned sensor)
{
    const struct heat_member *m = w->peak[sensor];
    return m == NULL ? 0 : (int64_t)m->gpu->peak[sensor].celsius;
}

static struct tc_slice headline(struct writer *w)
{
    static const char *const verbs[2][2] = {{"are", "is"}, {"were", "was"}};
    return tc__draft_format(
        &w->d, "{} {} slowed by {}{}{}{}", who(w), verbs[w->topic->over][w->total == 1],
        KINDS[w->kind].by,
        tc_when(!w->said && !w->d.finding.resolved, " for {}",
                tc_as_duration(w->last_ns - w->first_ns)),
        tc_when(w->peak[HEAT_CORE] != NULL, ", up to {} C", celsius(w, HEAT_CORE)),
        tc_time_is_date(w->first_ns) ? TC_EMPTY : TC_LIT(", undated"));
}

static struct tc_slice remediation(struct writer *w)
{
    bool heat = w->kind != HEAT_POWER_BRAKE && w->kind != HEAT_HW_SLOWDOWN;
    const char *advice =
        w->kind == HEAT_POWER_BRAKE
            ? "Check the power supplies, power cables and power limits that feed {}: the brake is "
              "pulled from outside the GPU, and cooling does not mend it."
        : w->kind == HEAT_HW_SLOWDOWN ? "Check cooling and power supply of {}: the hardware does "
                                        "not say which of the two it is."
        : w->level == HEAT_RACK
            ? "Check the cooling of rack {}: inlet air or coolant, its flow and its doors; move "
              "work away until it is cold again."
        : w->level == HEAT_NODE
            ? "Check the fans, the air inlet and the coolant of {}: several of its GPUs are "
              "hot at once. Drain it if the heat stays."
        : w->said
            ? "Check the heat sink, the fan and the airflow of {}. Drain the node if the heat "
              "stays."
            : "Check the heat sink, the fan and the airflow of {}: its neighbours are not slowed. "
              "Drain the node if the heat stays.";
    return tc__draft_format(&w->d, advice,
                            heat && w->level == HEAT_RACK   ? TC_ARG(w->topic->group->rack)
                            : heat && w->level == HEAT_NODE ? tc__as_node(member(w, 0)->scope.node)
                                                            : who(w));
}

/* Evidence about a GPU; `what` begins its uid. */
static void put_evidence(struct writer *w, const char *what, struct tc_slice kind,
                         const struct heat_member *m, int64_t time_ns, struct tc_raw raw,
                         struct tc_slice description)
{
    struct tc_slice uid = tc__draft_format(&w->d, "{}:{}:{}:{}", what, m->scope.node,
                                           tc_as_gpu_id(&m->scope), tc_as_time(time_ns));
    tc__draft_piece(&w->d, kind, time_ns, raw, uid, description);
}

static void put_clock(struct writer *w, const char *what, const struct heat_member *m,
                      int64_t time_ns, struct tc_raw raw, struct tc_slice description)
{
    put_evidence(w, what, TC_LIT("clock_event"), m, time_ns, raw, description);
}

static void put_begin(struct writer *w, const struct heat_member *m)
{
    const struct tc_span *span = &m->gpu->episode;
    put_clock(
        w, "clock_event", m, span->first_ns, span->first_raw,
        m->gpu->by_health ? tc__draft_format(&w->d, "{}: DCGM says that heat slows it", gpu_name(m))
        : m->gpu->by_counter
            ? tc__draft_format(&w->d, "{}: the time slowed by heat begins to grow", gpu_name(m))
            : tc__draft_format(&w->d, "{}: {}, reasons 0x{}", gpu_name(m),
                               KINDS[m->gpu->kind].reason, tc_as_hex(m->gpu->reasons, 2)));
}

static void put_newest(struct writer *w)
{
    const struct tc_span *span = &w->newest->gpu->episode;
    if (span->count > 1) {
        put_clock(w, "clock_event", w->newest, span->last_ns, span->last_raw,
                  w->newest->gpu->by_health
                      ? tc__draft_format(&w->d, "{}: DCGM says so again", gpu_name(w->newest))
                      : tc__draft_format(&w->d, "{} was still slowed, {} after it began",
                                         gpu_name(w->newest),
                                         tc_as_duration(span->last_ns - span->first_ns)));
    }
}

static void put_temperature(struct writer *w)
{
    unsigned sensor = w->peak[HEAT_CORE] != NULL ? HEAT_CORE : HEAT_MEMORY;
    const struct heat_member *m = w->peak[sensor];
    if (m != NULL) {
        const struct heat_peak *peak = &m->gpu->peak[sensor];
        put_evidence(w, "temperature", TC_LIT("temperature"), m, peak->time_ns, peak->raw,
                     tc__draft_format(&w->d, "{} {} {} C, the highest seen", gpu_name(m),
                                      sensor == HEAT_CORE ? "was at" : "had its memory at",
                                      celsius(w, sensor)));
    }
}

static void put_end(struct writer *w)
{
    if (w->topic->over && w->cleared != NULL) {
        const struct heat_gpu *gpu = w->cleared->gpu;
        put_clock(w, "clear", w->cleared, gpu->cleared_ns, gpu->cleared_raw,
                  tc__draft_format(&w->d, "{}: nothing slows it any more", gpu_name(w->cleared)));
    }
}

static void put_attrs(struct writer *w)
{
    tc__draft_attr_text(&w->d, KEY("level"), tc_slice_cstr(LEVELS[w->level]));
    tc__draft_attr_text(&w->d, KEY("rack"), w->topic->group->rack);
    tc__draft_attr_int(&w->d, KEY("seconds"), w->said ? 0 : (w->last_ns - w->first_ns) / TC_SECOND);
    tc__draft_attr_int(&w->d, KEY("gpu_count"), (int64_t)w->total);
    tc__draft_attr_list(&w->d, KEY("gpus"), w->gpus, w->count < LISTED_MAX ? w->count : LISTED_MAX);
    if (w->level == HEAT_RACK) {
        tc__draft_attr_int(&w->d, KEY("node_count"), (int64_t)w->node_count);
        tc__draft_attr_list(&w->d, KEY("nodes"), w->nodes, w->node_count);
    }
    if (w->peak[HEAT_CORE] != NULL) {
        tc__draft_attr_int(&w->d, KEY("temperature_celsius"), celsius(w, HEAT_CORE));
    }
    if (w->peak[HEAT_MEMORY] != NULL) {
        tc__draft_attr_int(&w->d, KEY("memory_temperature_celsius"), celsius(w, HEAT_MEMORY));
    }
}

static void put_scope(struct writer *w)
{
    struct tc_scope *scope = &w->d.finding.scope;
    if (w->total == 1) {
        *scope = member(w, 0)->scope;
    } else if (w->level != HEAT_RACK) {
        scope->node = member(w, 0)->scope.node;
    }
}

static struct tc_slice key_of(struct writer *w, const struct heat_topic *topic)
{
    return tc__draft_format(&w->d, "{}|{}|{}", topic->by_rack ? "rack" : "node", topic->place,
                            tc_as_time(topic->key_ns));
}

tc_status tc__heat_report(const struct heat_state *st, const struct heat_topic *topic,
                          const struct heat_topic *cause, const struct heat_member *members,
                          size_t count, const struct tc_sink *out)
{
    const void *order[HEAT_MEMBERS_MAX];
    const void *spare[HEAT_MEMBERS_MAX];
    for (size_t i = 0; i < count; i++) {
        order[i] = &members[i];
    }
    tc_sort_ptrs(order, spare, count, compare, NULL);
    struct writer w = {
        .topic = topic, .members = order, .count = count, .total = count + topic->more_count};
    struct tc_cause causes[1];
    tc__draft_open(&w.d, &tc_detector_thermal_throttle, st->base.scratch);
    sum_up(&w, st->gpus);
    for (size_t i = 0; i < count && i < LISTED_MAX; i++) {
        w.gpus[i] = tc__draft_format(&w.d, "{}", tc_as_gpu_id(&member(&w, i)->scope));
    }
    struct tc_finding *f = &w.d.finding;
    f->key = key_of(&w, topic);
    if (cause != NULL) {
        causes[0] = (struct tc_cause){
            key_of(&w, cause),
            tc__draft_format(&w.d, "GPUs of several nodes of rack {} are slowed at once",
                             topic->group->rack)};
        f->causes = causes;
        f->cause_count = 1;
    }
    f->resolved = topic->over;
    f->incomplete = topic->more_count > 0;
    f->severity = TC_SEVERITY_WARNING;
    f->confidence = w.peak[HEAT_CORE] != NULL || w.peak[HEAT_MEMORY] != NULL
                        ? TC_CONFIDENCE_FULL
                        : TC_CONFIDENCE_PARTIAL;
    f->discriminator = tc_slice_cstr(KINDS[w.kind].discriminator);
    f->headline = headline(&w);
    f->remediation = remediation(&w);
    f->first_ns = w.first_ns;
    f->last_ns = f->resolved && w.cleared != NULL ? w.cleared->gpu->cleared_ns : w.last_ns;
    put_scope(&w);
    put_attrs(&w);
    for (size_t i = 0; i < count && i < FIRSTS_MAX; i++) {
        put_begin(&w, member(&w, i));
    }
    put_newest(&w);
    put_temperature(&w);
    put_end(&w);
    tc__draft_sort(&w.d);
    return tc__draft_emit(&w.d, out);
}
