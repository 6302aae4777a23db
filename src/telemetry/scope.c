/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a series is: family, metric, unit, who it belongs to, and in `point` what else tells it from
 * others. Once for each series; nothing here is on the path of a sample that came before.
 */
#include "base/assert.h"
#include "base/buf.h"
#include "base/digest.h"
#include "telemetry/slices_priv.h"

/* Labels of a point, and those that are made of the scope of an event. */
#define POINT_LABELS_MAX (TC_SAMPLE_LABELS_MAX + 8)
/* Room for any point, before it is known whether it is too long: keys, and values that may double.
 */
#define POINT_BYTES_MAX ((size_t)POINT_LABELS_MAX * (3 * TC__TEXT_MAX + 2))
/* Characters of the uid of a pod. */
#define UID_TEXT 36
/* Hex digits of a digest that stands for a text. */
#define DIGEST_DIGITS 16

static const struct {
    struct tc_slice key;
    enum tc_label_meaning meaning;
} LABELS[] = {
#define LABEL(key, meaning) {{key, sizeof(key) - 1}, TC_LABEL_##meaning},
#include "telemetry/labels.def"
#undef LABEL
};

enum tc_label_meaning tc_label_meaning(struct tc_slice key)
{
    char text[TC_PLAIN_NAME_MAX];
    struct tc_slice plain = tc_plain_name(key, false, text);
    for (size_t i = 0; i < TC_COUNT(LABELS); i++) {
        bool open = tc_slice_ends(LABELS[i].key, TC_LIT("_"));
        if (open ? tc_slice_starts(plain, LABELS[i].key) : tc_slice_eq(plain, LABELS[i].key)) {
            return LABELS[i].meaning;
        }
    }
    return TC_LABEL_OTHER;
}

struct point {
    struct tc_sample_label labels[POINT_LABELS_MAX];
    size_t count;
};

static void point_add(struct point *p, struct tc_slice key, struct tc_slice value)
{
    if (value.len > 0 && p->count < POINT_LABELS_MAX) {
        p->labels[p->count++] = (struct tc_sample_label){key, value};
    }
}

static int label_cmp(const struct tc_sample_label *a, const struct tc_sample_label *b)
{
    int order = tc_slice_cmp(a->key, b->key);
    return order != 0 ? order : tc_slice_cmp(a->value, b->value);
}

/* There are few: insertion. */
static void point_sort(struct point *p)
{
    for (size_t i = 1; i < p->count; i++) {
        struct tc_sample_label x = p->labels[i];
        size_t j = i;
        for (; j > 0 && label_cmp(&p->labels[j - 1], &x) > 0; j--) {
            p->labels[j] = p->labels[j - 1];
        }
        p->labels[j] = x;
    }
}

/* What a text that is too long is kept as. */
static struct tc_slice digest_of(struct tc_slice text, struct tc_arena *arena)
{
    char bytes[8 + TC_DIGEST_BYTES * 2];
    struct tc_buf b = tc_buf_make(bytes, sizeof bytes);
    struct tc_sha256 h;
    struct tc_digest digest;
    tc_sha256_init(&h);
    tc_sha256_update(&h, text);
    tc_sha256_final(&h, &digest);
    tc_buf_digest(&b, &digest);
    return tc_arena_copy(arena,
                         tc_slice_head(tc_buf_slice(&b), sizeof "sha256:" - 1 + DIGEST_DIGITS));
}

struct tc_slice tc__clean(struct tc_slice s, struct tc_arena *arena)
{
    char bytes[TC__TEXT_MAX * 4 + 8];
    if (s.len <= TC__TEXT_MAX && tc_slice_is_plain(s)) {
        return s;
    }
    if (s.len > TC__TEXT_MAX) {
        return digest_of(s, arena);
    }
    struct tc_buf b = tc_buf_make(bytes, sizeof bytes);
    tc_buf_printable(&b, s);
    struct tc_slice shown = tc_buf_slice(&b);
    return shown.len > TC__TEXT_MAX ? digest_of(s, arena) : tc_arena_copy(arena, shown);
}

/* A backslash before what would end a value. */
static void put_value(struct tc_buf *b, struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == ',' || s.ptr[i] == '\\') {
            tc_buf_char(b, '\\');
        }
        tc_buf_char(b, s.ptr[i]);
    }
}

/* "key=value,key=value" in the order of the keys. */
static struct tc_slice point_text(struct point *p, struct tc_arena *arena)
{
    if (p->count == 0) {
        return TC_EMPTY;
    }
    char *room = tc_arena_alloc_raw(arena, POINT_BYTES_MAX, 1);
    if (room == NULL) {
        return TC_EMPTY;
    }
    struct tc_buf b = tc_buf_make(room, POINT_BYTES_MAX);
    point_sort(p);
    for (size_t i = 0; i < p->count; i++) {
        if (i > 0) {
            tc_buf_char(&b, ',');
        }
        tc_buf_str(&b, tc__clean(p->labels[i].key, arena));
        tc_buf_char(&b, '=');
        put_value(&b, tc__clean(p->labels[i].value, arena));
    }
    return tc_buf_slice(&b);
}

/* What is known from outside, where nothing in the sample says it; and how the run was found. */
static enum tc__scope_verdict settle(const struct tc_series_scope *known, struct tc_arena *scratch,
                                     struct tc__identity *io)
{
    struct tc_slice *t = io->text;
    if (t[TC__TEXT_RUN].len > 0) {
        if (known->run_id.len > 0 && !tc_slice_eq(known->run_id, t[TC__TEXT_RUN]) &&
            tc_slice_eq(known->run_join, TC_LIT("given"))) {
            return TC__SCOPE_OTHER_RUN;
        }
        t[TC__TEXT_JOIN] = TC_LIT("identity");
    } else if (known->run_id.len > 0) {
        t[TC__TEXT_RUN] = known->run_id;
        t[TC__TEXT_JOIN] = known->run_join;
    }
    t[TC__TEXT_SCHEDULER] = tc_slice_or(t[TC__TEXT_SCHEDULER], known->scheduler_run_id);
    t[TC__TEXT_JOB] = tc_slice_or(t[TC__TEXT_JOB], known->job_uid);
    t[TC__TEXT_POD] = tc_slice_or(t[TC__TEXT_POD], known->pod_uid);
    t[TC__TEXT_NODE] = tc_slice_or(t[TC__TEXT_NODE], known->node);
    t[TC__TEXT_GPU] = tc_slice_or(t[TC__TEXT_GPU], known->gpu_uuid);
    t[TC__TEXT_CLASS] = tc_slice_or(t[TC__TEXT_CLASS], known->request_class);
    io->rank = io->rank >= 0 ? io->rank : known->rank;
    for (size_t i = 0; i < TC__TEXT_COUNT; i++) {
        t[i] = tc__clean(t[i], scratch);
    }
    return tc_arena_ok(scratch) ? TC__SCOPE_OK : TC__SCOPE_NOMEM;
}

/* The columns of a scope, and in the point what has none. */
static void take_scope(const struct tc_scope *scope, struct tc_arena *scratch, struct point *point,
                       struct tc__identity *io)
{
    io->text[TC__TEXT_NODE] = scope->node;
    io->text[TC__TEXT_GPU] = scope->gpu_uuid;
    io->text[TC__TEXT_POD] = scope->pod_uid;
    io->text[TC__TEXT_JOB] = tc_slice_or(io->text[TC__TEXT_JOB], scope->job);
    io->rank = scope->rank;
    if (point == NULL) {
        return;
    }
    point_add(point, TC_LIT("pod"), scope->pod);
    point_add(point, TC_LIT("namespace"), scope->ns);
    point_add(point, TC_LIT("container"), scope->container);
    if (scope->gpu_uuid.len == 0 && scope->gpu_index >= 0) {
        char text[16];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_i64(&b, scope->gpu_index);
        point_add(point, TC_LIT("gpu"), tc_arena_copy(scratch, tc_buf_slice(&b)));
    }
    if (scope->gpu_uuid.len == 0 && scope->pci.known) {
        char text[32];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_bdf(&b, scope->pci);
        point_add(point, TC_LIT("pci"), tc_arena_copy(scratch, tc_buf_slice(&b)));
    }
}

/* One label that the codecs' table knows nothing of, or that tells series apart. */
static void take_label(const struct tc_sample_label *label, bool used, struct point *point,
                       struct tc__identity *io)
{
    switch (tc_label_meaning(label->key)) {
    case TC_LABEL_RUN:
        io->text[TC__TEXT_RUN] = label->value;
        break;
    case TC_LABEL_SCHEDULER:
        io->text[TC__TEXT_SCHEDULER] = label->value;
        break;
    case TC_LABEL_CLASS:
        io->text[TC__TEXT_CLASS] = label->value;
        break;
    case TC_LABEL_JOB:
        io->text[TC__TEXT_JOB] = label->value;
        break;
    case TC_LABEL_REQUEST:
        io->lost_labels = true;
        break;
    case TC_LABEL_ABOUT:
        break;
    case TC_LABEL_OTHER:
        if (!used) {
            point_add(point, label->key, label->value);
        }
        break;
    }
}

/* The number of a GPU on its node says nothing more where its UUID is known. */
static bool is_gpu_number(const struct tc_sample_label *label)
{
    return tc_slice_eq(label->key, TC_LIT("gpu")) ||
           (tc_slice_eq(label->key, TC_LIT("device")) &&
            tc_slice_starts(label->value, TC_LIT("nvidia"))) ||
           tc_slice_eq_nocase(label->key, TC_LIT("pci_bus_id"));
}

/* The value of a label of the point, which is taken off it; empty when it has none. */
static struct tc_slice point_remove(struct point *p, struct tc_slice key)
{
    for (size_t i = 0; i < p->count; i++) {
        if (tc_slice_eq(p->labels[i].key, key)) {
            struct tc_slice value = p->labels[i].value;
            p->labels[i] = p->labels[--p->count];
            return value;
        }
    }
    return TC_EMPTY;
}

/* "…pod0a1b2c3d_4e5f_…": the uid of a pod in the name of its cgroup, as its API writes it. */
static struct tc_slice cgroup_pod(struct tc_slice id, struct tc_arena *scratch)
{
    size_t at = 0;
    size_t found = 0;
    while ((found = tc_slice_find(tc_slice_from(id, at), TC_LIT("pod"))) != TC_NPOS) {
        TC_ASSERT(id.ptr != NULL); /* for something was found in it */
        at += found + 3;
        struct tc_slice uid = tc_slice_head(tc_slice_from(id, at), UID_TEXT);
        size_t good = 0;
        while (good < uid.len) {
            char c = uid.ptr[good];
            bool dash = good == 8 || good == 13 || good == 18 || good == 23;
            bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
            if (dash ? c != '-' && c != '_' : !hex) {
                break;
            }
            good++;
        }
        char *text = good == UID_TEXT ? tc_new(scratch, char, UID_TEXT) : NULL;
        for (size_t i = 0; text != NULL && i < UID_TEXT; i++) {
            text[i] = uid.ptr[i] == '_' ? '-' : uid.ptr[i];
        }
        if (text != NULL) {
            return tc_slice_make(text, UID_TEXT);
        }
    }
    return TC_EMPTY;
}

/*
 * Labels of kube-state-metrics and cAdvisor that mean what their metric is about. Of a container
 * that is told by pod and name, cgroup, image and id say nothing more.
 */
static void take_kubernetes(struct tc_slice name, struct tc_arena *scratch, struct point *point,
                            struct tc__identity *io)
{
    if (tc_slice_starts(name, TC_LIT("kube_pod_")) && io->text[TC__TEXT_POD].len == 0) {
        io->text[TC__TEXT_POD] = point_remove(point, TC_LIT("uid"));
    }
    bool in_pod = false;
    for (size_t i = 0; i < point->count; i++) {
        in_pod = in_pod || tc_slice_eq(point->labels[i].key, TC_LIT("pod"));
    }
    if (tc_slice_starts(name, TC_LIT("container_")) && in_pod) {
        struct tc_slice id = point_remove(point, TC_LIT("id"));
        io->text[TC__TEXT_POD] = tc_slice_or(io->text[TC__TEXT_POD], cgroup_pod(id, scratch));
        (void)point_remove(point, TC_LIT("image"));
        (void)point_remove(point, TC_LIT("name"));
    }
}

/* What a prober calls its target stays one: its other metrics have it by that name. */
static struct tc_slice device_key(struct tc_slice device, const struct tc_sample *sample)
{
    for (size_t i = 0; i < sample->label_count && i < TC_SAMPLE_LABELS_MAX; i++) {
        if (tc_slice_eq(sample->labels[i].key, TC_LIT("target")) &&
            tc_slice_eq(sample->labels[i].value, device)) {
            return TC_LIT("target");
        }
    }
    return TC_LIT("device");
}

/* What a metric of ours is called, counted in and grouped with. */
static void name_ours(enum tc_metric metric, struct tc__identity *io)
{
    const struct tc_metric_info *info = tc_metric_info(metric);
    io->family = (uint8_t)tc__family_of_metric(metric);
    io->text[TC__TEXT_METRIC] = info->name;
    io->text[TC__TEXT_UNIT] = tc_slice_cstr(info->unit);
    io->type = info->type == TC_METRIC_COUNTER ? TC_SAMPLE_COUNTER : TC_SAMPLE_GAUGE;
}

static void take_ours(const struct tc_series_meaning *m, const struct tc_sample *sample,
                      struct point *point, struct tc__identity *io)
{
    name_ours(m->metric, io);
    if (io->type == TC_SAMPLE_COUNTER && sample->type == TC_SAMPLE_DELTA) {
        io->type = TC_SAMPLE_DELTA;
    }
    point_add(point, device_key(m->device, sample), m->device);
    point_add(point, TC_LIT("rack"), m->rack);
    /* One metric of ours may be two of the producer's that measure differently. */
    if (m->metric == TC_METRIC_GPU_UTIL && m->scale != 1) {
        point_add(point, TC_LIT("source"), sample->name);
    }
}

static void take_theirs(const struct tc_sample *sample, struct tc__identity *io)
{
    struct tc__naming naming;
    tc__naming_of(sample->name, &naming);
    io->family = (uint8_t)naming.family;
    io->text[TC__TEXT_METRIC] = naming.ours.len > 0 ? naming.ours : sample->name;
    bool counted = tc_slice_ends(sample->name, TC_LIT("_count")) ||
                   tc_slice_ends(sample->name, TC_LIT("_bucket"));
    if (naming.unit.len > 0) {
        io->text[TC__TEXT_UNIT] = naming.unit;
    } else if (!counted || tc_slice_starts(sample->unit, TC_LIT("{"))) {
        /* A histogram's count is no number of its unit. */
        io->text[TC__TEXT_UNIT] = tc__unit_spelled(sample->unit);
    }
    io->scale *= naming.factor;
    io->type = (uint8_t)(naming.is_rate                      ? TC_SAMPLE_GAUGE
                         : sample->type == TC_SAMPLE_UNTYPED ? naming.untyped
                                                             : sample->type);
}

enum tc__scope_verdict tc__identify(const struct tc_sample *sample,
                                    const struct tc_series_scope *known, struct tc_arena *scratch,
                                    struct tc__identity *out)
{
    struct tc_series_meaning m;
    struct point point = {.count = 0};
    *out = (struct tc__identity){.rank = -1};
    if (!tc_series_read(sample, scratch, &m)) {
        return TC__SCOPE_NOMEM;
    }
    bool ours = m.metric != TC_METRIC_NONE;
    out->how = m.how;
    out->scale = m.scale;
    for (size_t i = 0; i < sample->label_count && i < TC_SAMPLE_LABELS_MAX; i++) {
        bool used = (m.used >> i & 1) != 0 ||
                    (m.scope.gpu_uuid.len > 0 && is_gpu_number(&sample->labels[i]));
        take_label(&sample->labels[i], used, &point, out);
    }
    take_scope(&m.scope, scratch, ours ? &point : NULL, out);
    if (ours) {
        take_ours(&m, sample, &point, out);
    } else {
        take_theirs(sample, out);
    }
    take_kubernetes(sample->name, scratch, &point, out);
    out->text[TC__TEXT_POINT] = point_text(&point, scratch);
    return settle(known, scratch, out);
}

enum tc__scope_verdict tc__identify_event(const struct tc_event *ev,
                                          const struct tc_series_scope *known,
                                          struct tc_arena *scratch, struct tc__identity *out)
{
    struct point point = {.count = 0};
    *out = (struct tc__identity){.rank = -1, .scale = 1};
    name_ours((enum tc_metric)ev->metric.metric, out);
    take_scope(&ev->scope, scratch, &point, out);
    point_add(&point, TC_LIT("device"), ev->metric.device);
    point_add(&point, TC_LIT("rack"), ev->metric.rack);
    out->text[TC__TEXT_POINT] = point_text(&point, scratch);
    return settle(known, scratch, out);
}

bool tc__define(const struct tc_sample *sample, struct tc_arena *scratch,
                struct tc_telemetry_definition *out)
{
    static const char *const notes[] = {
        [TC_SAMPLE_GAUGE] = "values of a window",
        [TC_SAMPLE_COUNTER] = "rise per second between two samples; last is the counter",
        [TC_SAMPLE_DELTA] = "difference by the seconds since its start",
    };
    struct tc_series_scope nothing = TC_SERIES_SCOPE_NONE;
    struct tc__identity id;
    if (tc__identify(sample, &nothing, scratch, &id) != TC__SCOPE_OK) {
        return false;
    }
    struct tc_slice unit = id.text[TC__TEXT_UNIT];
    bool converted = id.scale != 1;
    *out = (struct tc_telemetry_definition){.family = tc__family_name((enum tc__family)id.family),
                                            .field = tc__clean(sample->name, scratch),
                                            .metric = id.text[TC__TEXT_METRIC],
                                            .source_unit = converted ? sample->unit : unit,
                                            .unit = unit,
                                            .note = notes[id.type]};
    return true;
}
