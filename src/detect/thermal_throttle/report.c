/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a thermal_throttle verdict. */
#include "base/sort.h"
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/thermal_throttle/priv.h"

#define KEY(name) TC_LIT("tracecore.alert.thermal_throttle." name)
#define ATTRS_MAX 10
/* The beginning of so many GPUs, then the last sample, the temperature and the end. */
#define FIRSTS_MAX 5
#define EVIDENCE_MAX (FIRSTS_MAX + 3)
#define LISTED_MAX 64
/* The fixed words of all strings together, with numbers and times. */
#define WORDS_BYTES 4096
#define UNKNOWN_NODE TC_LIT("(name unknown)")

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
    const struct heat_group *group;
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
    struct tc_slice gpus[LISTED_MAX];
    struct tc_slice nodes[LISTED_MAX];
    size_t listed_nodes;
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

/* Short and stable: for lists and uids. */
static struct tc_slice put_id(struct tc_buf *b, const struct tc_scope *s)
{
    size_t start = b->len;
    if (s->gpu_uuid.len > 0) {
        return s->gpu_uuid;
    }
    if (s->pci.known) {
        tc_buf_bdf(b, s->pci);
    } else {
        tc_buf_i64(b, s->gpu_index);
    }
    return tc_buf_since(b, start);
}

/* "GPU 3 of node gpu-07" */
static void put_gpu(struct tc_buf *b, const struct tc_scope *s)
{
    if (s->gpu_index >= 0) {
        tc_buf_lit(b, "GPU ");
        tc_buf_i64(b, s->gpu_index);
    } else if (s->pci.known) {
        tc_buf_lit(b, "GPU ");
        tc_buf_bdf(b, s->pci);
    } else {
        tc_buf_str(b, s->gpu_uuid);
    }
    tc_buf_lit(b, " of node ");
    tc_buf_str(b, s->node.len > 0 ? s->node : UNKNOWN_NODE);
}

static bool is_listed(const struct writer *w, struct tc_slice node)
{
    for (size_t i = 0; i < w->listed_nodes; i++) {
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
    if (!is_listed(w, m->scope.node) && w->listed_nodes < LISTED_MAX) {
        w->nodes[w->listed_nodes++] = m->scope.node;
    }
}

static void sum_up(struct writer *w, int64_t gpus)
{
    size_t kinds[HEAT_KINDS] = {0};
    w->first_ns = INT64_MAX;
    for (size_t i = 0; i < w->count; i++) {
        look_at(w, member(w, i), kinds);
    }
    w->last_ns = w->newest->gpu->episode.last_ns;
    for (unsigned i = 0; i < HEAT_KINDS; i++) {
        w->kind = kinds[i] >= kinds[w->kind] ? (enum heat_kind)i : w->kind;
    }
    w->node_count = w->listed_nodes;
    w->level = w->node_count > 1 ? HEAT_RACK : (w->total >= (size_t)gpus ? HEAT_NODE : HEAT_GPU);
}

static void put_who(struct writer *w)
{
    struct tc_buf *b = &w->d.text;
    if (w->total == 1) {
        put_gpu(b, &member(w, 0)->scope);
        return;
    }
    tc_buf_u64(b, w->total);
    tc_buf_lit(b, " GPUs of ");
    if (w->node_count > 1) {
        tc_buf_u64(b, w->node_count);
        tc_buf_lit(b, " nodes in rack ");
        tc_buf_str(b, w->group->rack);
    } else {
        tc_buf_lit(b, "node ");
        tc_buf_str(b, member(w, 0)->scope.node.len > 0 ? member(w, 0)->scope.node : UNKNOWN_NODE);
    }
}

static struct tc_slice headline(struct writer *w)
{
    struct tc_buf *b = &w->d.text;
    size_t start = b->len;
    bool over = w->group->hot_count == 0;
    put_who(w);
    if (over) {
        tc_buf_str(b, w->total == 1 ? TC_LIT(" was") : TC_LIT(" were"));
    } else {
        tc_buf_str(b, w->total == 1 ? TC_LIT(" is") : TC_LIT(" are"));
    }
    tc_buf_lit(b, " slowed by ");
    tc_buf_str(b, tc_slice_cstr(KINDS[w->kind].by));
    tc_buf_lit(b, " for ");
    tc_buf_duration(b, w->last_ns - w->first_ns);
    if (w->peak[HEAT_CORE] != NULL) {
        tc_buf_lit(b, ", up to ");
        tc_buf_i64(b, (int64_t)w->peak[HEAT_CORE]->gpu->peak[HEAT_CORE].celsius);
        tc_buf_lit(b, " C");
    }
    tc_buf_lit(b, ", since ");
    tc_buf_time(b, w->first_ns);
    return tc_buf_since(b, start);
}

static void put_heat_advice(struct writer *w)
{
    struct tc_buf *b = &w->d.text;
    if (w->level == HEAT_RACK) {
        tc_buf_lit(b, "Check the cooling of rack ");
        tc_buf_str(b, w->group->rack);
        tc_buf_lit(b, ": inlet air or coolant, its flow and its doors; move work away until it is "
                      "cold again.");
        return;
    }
    tc_buf_str(b, w->level == HEAT_NODE
                      ? TC_LIT("Check the fans, the air inlet and the coolant of ")
                      : TC_LIT("Check the heat sink, the fan and the airflow of "));
    if (w->level == HEAT_NODE) {
        tc_buf_lit(b, "node ");
        tc_buf_str(b, member(w, 0)->scope.node);
        tc_buf_lit(b, ": several of its GPUs are hot at once. Drain it if the heat stays.");
    } else {
        put_who(w);
        tc_buf_lit(b, ": its neighbours are not slowed. Drain the node if the heat stays.");
    }
}

static struct tc_slice remediation(struct writer *w)
{
    struct tc_buf *b = &w->d.text;
    size_t start = b->len;
    if (w->kind == HEAT_POWER_BRAKE) {
        tc_buf_lit(b, "Check the power supplies, power cables and power limits that feed ");
        put_who(w);
        tc_buf_lit(b, ": the brake is pulled from outside the GPU, and cooling does not mend it.");
    } else if (w->kind == HEAT_HW_SLOWDOWN) {
        tc_buf_lit(b, "Check cooling and power supply of ");
        put_who(w);
        tc_buf_lit(b, ": the hardware does not say which of the two it is.");
    } else {
        put_heat_advice(w);
    }
    return tc_buf_since(b, start);
}

static struct tc_slice make_uid(struct writer *w, const char *what, const struct tc_scope *s,
                                int64_t time_ns)
{
    struct tc_buf *b = &w->d.text;
    size_t start = b->len;
    tc_buf_str(b, tc_slice_cstr(what));
    tc_buf_char(b, ':');
    tc_buf_str(b, s->node);
    tc_buf_char(b, ':');
    if (s->gpu_uuid.len > 0) {
        tc_buf_str(b, s->gpu_uuid);
    } else {
        (void)put_id(b, s);
    }
    tc_buf_char(b, ':');
    tc_buf_time(b, time_ns);
    return tc_buf_since(b, start);
}

static void put_member(struct writer *w, const struct heat_member *m, bool last)
{
    struct tc_buf *b = &w->d.text;
    const struct tc_span *span = &m->gpu->episode;
    struct tc_evidence e = {
        .kind = TC_LIT("clock_event"),
        .time_ns = last ? span->last_ns : span->first_ns,
        .raw = last ? span->last_raw : span->first_raw,
    };
    e.uid = make_uid(w, "clock_event", &m->scope, e.time_ns);
    size_t start = b->len;
    put_gpu(b, &m->scope);
    if (last) {
        tc_buf_lit(b, " was still slowed, ");
        tc_buf_duration(b, span->last_ns - span->first_ns);
        tc_buf_lit(b, " after it began");
    } else if (m->gpu->by_counter) {
        tc_buf_lit(b, ": the time slowed by heat begins to grow");
    } else {
        tc_buf_lit(b, ": ");
        tc_buf_str(b, tc_slice_cstr(KINDS[m->gpu->kind].reason));
        tc_buf_lit(b, ", reasons 0x");
        tc_buf_hex(b, m->gpu->reasons, 2);
    }
    e.description = tc_buf_since(b, start);
    tc__draft_evidence(&w->d, e);
}

static void put_temperature(struct writer *w)
{
    struct tc_buf *b = &w->d.text;
    unsigned sensor = w->peak[HEAT_CORE] != NULL ? HEAT_CORE : HEAT_MEMORY;
    const struct heat_member *m = w->peak[sensor];
    if (m == NULL) {
        return;
    }
    const struct heat_peak *peak = &m->gpu->peak[sensor];
    struct tc_evidence e = {
        .kind = TC_LIT("temperature"), .time_ns = peak->time_ns, .raw = peak->raw};
    e.uid = make_uid(w, "temperature", &m->scope, peak->time_ns);
    size_t start = b->len;
    put_gpu(b, &m->scope);
    tc_buf_str(b, sensor == HEAT_CORE ? TC_LIT(" was at ") : TC_LIT(" had its memory at "));
    tc_buf_i64(b, (int64_t)peak->celsius);
    tc_buf_lit(b, " C, the highest seen");
    e.description = tc_buf_since(b, start);
    tc__draft_evidence(&w->d, e);
}

static void put_end(struct writer *w)
{
    struct tc_buf *b = &w->d.text;
    if (w->group->hot_count > 0 || w->cleared == NULL) {
        return;
    }
    const struct heat_gpu *gpu = w->cleared->gpu;
    struct tc_evidence e = {
        .kind = TC_LIT("clock_event"), .time_ns = gpu->cleared_ns, .raw = gpu->cleared_raw};
    e.uid = make_uid(w, "clear", &w->cleared->scope, e.time_ns);
    size_t start = b->len;
    put_gpu(b, &w->cleared->scope);
    tc_buf_lit(b, ": nothing slows it any more");
    e.description = tc_buf_since(b, start);
    tc__draft_evidence(&w->d, e);
}

static void put_list(struct writer *w, struct tc_slice key, const struct tc_slice *list,
                     size_t count)
{
    tc__draft_attr(&w->d, (struct tc_attr){.key = key,
                                           .type = TC_ATTR_STRINGS,
                                           .strings = list,
                                           .count = count < LISTED_MAX ? count : LISTED_MAX});
}

static void put_attrs(struct writer *w)
{
    tc__draft_attr_text(&w->d, KEY("level"), tc_slice_cstr(LEVELS[w->level]));
    tc__draft_attr_text(&w->d, KEY("rack"), w->group->rack);
    tc__draft_attr_int(&w->d, KEY("seconds"), (w->last_ns - w->first_ns) / TC_SECOND);
    tc__draft_attr_int(&w->d, KEY("gpu_count"), (int64_t)w->total);
    put_list(w, KEY("gpus"), w->gpus, w->count);
    if (w->level == HEAT_RACK) {
        tc__draft_attr_int(&w->d, KEY("node_count"), (int64_t)w->node_count);
        put_list(w, KEY("nodes"), w->nodes, w->listed_nodes);
    }
    if (w->peak[HEAT_CORE] != NULL) {
        tc__draft_attr_int(&w->d, KEY("temperature_celsius"),
                           (int64_t)w->peak[HEAT_CORE]->gpu->peak[HEAT_CORE].celsius);
    }
    if (w->peak[HEAT_MEMORY] != NULL) {
        tc__draft_attr_int(&w->d, KEY("memory_temperature_celsius"),
                           (int64_t)w->peak[HEAT_MEMORY]->gpu->peak[HEAT_MEMORY].celsius);
    }
}

static struct tc_slice put_key(struct writer *w)
{
    struct tc_buf *b = &w->d.text;
    size_t start = b->len;
    tc_buf_str(b, w->group->rack.len > 0 ? TC_LIT("rack|") : TC_LIT("node|"));
    tc_buf_str(b, w->group->name);
    tc_buf_char(b, '|');
    tc_buf_time(b, w->group->key_ns);
    return tc_buf_since(b, start);
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

/* The longest that uids, sentences and lists can become. */
static size_t text_bytes(const struct heat_group *group, const struct heat_member *members,
                         size_t count)
{
    size_t names = 0;
    for (size_t i = 0; i < count; i++) {
        size_t len = members[i].scope.node.len + members[i].scope.gpu_uuid.len;
        names = len > names ? len : names;
    }
    return WORDS_BYTES + (3 * EVIDENCE_MAX + 4) * names + 4 * (group->name.len + group->rack.len);
}

tc_status tc__heat_report(const struct heat_state *st, const struct heat_group *group,
                          const struct heat_member *members, size_t count,
                          const struct tc_sink *out)
{
    const void *order[HEAT_MEMBERS_MAX];
    const void *spare[HEAT_MEMBERS_MAX];
    for (size_t i = 0; i < count; i++) {
        order[i] = &members[i];
    }
    tc_sort_ptrs(order, spare, count, compare, NULL);
    struct writer w = {
        .group = group, .members = order, .count = count, .total = count + group->more_count};
    tc__draft_begin(&w.d, &tc_detector_thermal_throttle, st->scratch,
                    text_bytes(group, members, count), ATTRS_MAX, EVIDENCE_MAX);
    sum_up(&w, st->gpus);
    for (size_t i = 0; i < count && i < LISTED_MAX; i++) {
        w.gpus[i] = put_id(&w.d.text, &member(&w, i)->scope);
    }
    struct tc_finding *f = &w.d.finding;
    f->key = put_key(&w);
    f->resolved = group->hot_count == 0;
    f->incomplete = group->more_count > 0;
    f->severity = w.level == HEAT_GPU ? TC_SEVERITY_WARNING : TC_SEVERITY_CRITICAL;
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
        put_member(&w, member(&w, i), false);
    }
    if (w.newest->gpu->episode.count > 1) {
        put_member(&w, w.newest, true);
    }
    put_temperature(&w);
    put_end(&w);
    tc__draft_sort(&w.d);
    return tc__draft_emit(&w.d, out);
}
