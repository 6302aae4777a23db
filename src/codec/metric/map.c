/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/metric/map_priv.h"

#include "codec/decode_priv.h"

#include "base/assert.h"

#include <math.h>
#include <string.h>

/* No name or key of the tables is longer. */
#define KEY_MAX 64
#define TOTAL TC_LIT("_total")
#define REASONS TC_LIT("_reasons_")

static const struct tc__metric_row ROWS[] = {
#define NAME(text, to, factor, subject, from, how, which) \
    {.name = {text, sizeof(text) - 1},                    \
     .scale = (factor),                                   \
     .metric = TC_METRIC_##to,                            \
     .about = TC__ABOUT_##subject,                        \
     .device = TC__DEVICE_##from,                         \
     .value = TC__VALUE_##how,                            \
     .only = TC__ONLY_##which},
#include "codec/metric/names.def"
#undef NAME
};

struct tc__metric_label_row {
    struct tc_slice key;
    uint8_t field;
    uint8_t claim;
};

static const struct tc__metric_label_row LABELS[] = {
#define LABEL(text, what, strength) {{text, sizeof(text) - 1}, TC__FIELD_##what, (strength)},
#include "codec/metric/labels.def"
#undef LABEL
};

/* By their keys in plain letters. */
static const struct tc__metric_label_row NODE_LABELS[] = {
#define LABEL(text, what, strength) {{text, sizeof(text) - 1}, TC__FIELD_##what, (strength)},
#include "codec/metric/node_labels.def"
#undef LABEL
};

#define ROW_COUNT TC_COUNT(ROWS)
#define LABEL_COUNT TC_COUNT(LABELS)

const struct tc__metric_row *tc__metric_rows(size_t *out_count)
{
    *out_count = ROW_COUNT;
    return ROWS;
}

/* Lower case, and '_' for what is neither letter nor digit. */
static char plain_char(char c)
{
    bool upper = c >= 'A' && c <= 'Z';
    bool other = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    return upper ? (char)(c + ('a' - 'A')) : other ? c : '_';
}

/* False when it is too long for us. */
static bool plain_key(struct tc_slice key, char *out)
{
    if (key.len > KEY_MAX) {
        return false;
    }
    for (size_t i = 0; i < key.len; i++) {
        out[i] = plain_char(key.ptr[i]);
    }
    return true;
}

/* The row of a sorted table that begins with that name; NULL. */
static inline const void *find_named(const void *table, size_t count, size_t row_bytes,
                                     struct tc_slice name)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const void *row = (const char *)table + middle * row_bytes;
        int order = tc_slice_cmp(name, *(const struct tc_slice *)row);
        if (order == 0) {
            return row;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

static const struct tc__metric_row *find_row(struct tc_slice name)
{
    return find_named(ROWS, ROW_COUNT, sizeof ROWS[0], name);
}

/* "..._l17": the length of what is before it, and the digits; 0 when it is no such name. */
static size_t cut_link(struct tc_slice name, size_t *out_digits)
{
    size_t at = name.len;
    while (at > 0 && tc_is_digit(name.ptr[at - 1])) {
        at--;
    }
    *out_digits = name.len - at;
    bool is_link = *out_digits > 0 && *out_digits <= 2 && at > 2 && name.ptr[at - 1] == 'l' &&
                   name.ptr[at - 2] == '_';
    return is_link ? at - 2 : 0;
}

bool tc__metric_map(struct tc_slice name, struct tc__metric_use *out)
{
    char text[KEY_MAX];
    if (!plain_key(name, text)) {
        return false;
    }
    struct tc_slice plain = tc_slice_make(text, name.len);
    /* DCGM's own names end so, and OpenMetrics adds it to every counter. */
    while (tc_slice_ends(plain, TOTAL)) {
        plain.len -= TOTAL.len;
    }
    *out = (struct tc__metric_use){.row = find_row(plain)};
    if (out->row != NULL) {
        return true;
    }
    size_t digits = 0;
    size_t length = cut_link(plain, &digits);
    if (length == 0) {
        return false;
    }
    out->link = tc_slice_make(name.ptr + plain.len - digits, digits);
    out->row = find_row(tc_slice_head(plain, length));
    return out->row != NULL && out->row->device == TC__DEVICE_LINK;
}

static bool is_plain_of(struct tc_slice plain, struct tc_slice key)
{
    bool same = plain.len == key.len;
    for (size_t i = 0; same && i < key.len; i++) {
        same = plain.ptr[i] == plain_char(key.ptr[i]);
    }
    return same;
}

static const struct tc__metric_label_row *find_node_label(struct tc_slice plain)
{
    static const char *const prefixes[] = {"k8s_node_label_", "k8s_node_labels_", "label_"};
    for (size_t i = 0; i < TC_COUNT(prefixes); i++) {
        struct tc_slice prefix = tc_slice_cstr(prefixes[i]);
        if (tc_slice_starts(plain, prefix)) {
            plain = tc_slice_from(plain, prefix.len);
            break;
        }
    }
    for (size_t i = 0; i < TC_COUNT(NODE_LABELS); i++) {
        if (is_plain_of(plain, NODE_LABELS[i].key)) {
            return &NODE_LABELS[i];
        }
    }
    return NULL;
}

const struct tc__metric_label_row *tc__metric_label_find(struct tc_slice key)
{
    char text[KEY_MAX];
    if (!plain_key(key, text)) {
        return NULL;
    }
    struct tc_slice plain = tc_slice_make(text, key.len);
    const struct tc__metric_label_row *row =
        find_named(LABELS, LABEL_COUNT, sizeof LABELS[0], plain);
    return row != NULL ? row : find_node_label(plain);
}

void tc__node_place_label(struct tc__node_place *io, struct tc_slice key, struct tc_slice value)
{
    for (size_t i = 0; i < TC_COUNT(NODE_LABELS) && value.len > 0; i++) {
        const struct tc__metric_label_row *row = &NODE_LABELS[i];
        bool is_rack = row->field == TC__FIELD_RACK;
        uint8_t *claim = is_rack ? &io->rack_claim : &io->zone_claim;
        if (tc_slice_eq(row->key, key) && row->claim > *claim) {
            *(is_rack ? &io->rack : &io->zone) = value;
            *claim = row->claim;
        }
    }
}

bool tc__metric_label_field(struct tc_slice key, uint8_t *out_field)
{
    const struct tc__metric_label_row *row = tc__metric_label_find(key);
    if (row == NULL) {
        return false;
    }
    *out_field = row->field;
    return true;
}

void tc__metric_begin(struct tc__metric_sample *s, const struct tc__metric_use *use,
                      struct tc_arena *arena)
{
    s->use = *use;
    s->arena = arena;
    s->scope_of = 0;
    memset(s->texts, 0, sizeof s->texts);
    memset(s->claims, 0, sizeof s->claims);
}

void tc__metric_label_set(struct tc__metric_sample *s, const struct tc__metric_label_row *row,
                          struct tc_slice value)
{
    if (value.len > 0 && row->claim > s->claims[row->field]) {
        s->claims[row->field] = row->claim;
        s->texts[row->field] = value;
        s->scope_of = 0;
    }
}

bool tc__metric_label(struct tc__metric_sample *s, struct tc_slice key, struct tc_slice value)
{
    const struct tc__metric_label_row *row = tc__metric_label_find(key);
    if (row == NULL) {
        return false;
    }
    tc__metric_label_set(s, row, value);
    return true;
}

const char *tc__metric_why(enum tc__metric_verdict verdict)
{
    switch (verdict) {
    case TC__METRIC_READ:
        return "";
    case TC__METRIC_OTHER:
        return "not a series that any pattern reads";
    case TC__METRIC_NO_VALUE:
        return "the exporter has no value for it (not supported)";
    case TC__METRIC_NOT_FINITE:
        return "its value is not a finite number";
    case TC__METRIC_NOMEM:
        return "no memory";
    }
    return "";
}

/*
 * What DCGM writes in place of a value (dcgm_structs.h): 0x7ffffff0 and 0x7ffffffffffffff0 for
 * integers, 2^47 for floating point, and up to 15 more for the reason. The 64-bit ones come as
 * 2^63 when somebody made a floating point number of them.
 */
static bool is_dcgm_blank(double v)
{
    return (v >= 2147483632.0 && v <= 2147483647.0) ||
           (v >= 140737488355328.0 && v <= 140737488355343.0) || v >= 9223372036854774784.0;
}

bool tc__metric_value_of(uint8_t how, double scale, double *io_value)
{
    switch ((enum tc__metric_value)how) {
    case TC__VALUE_DCGM:
        if (is_dcgm_blank(*io_value)) {
            return false;
        }
        break;
    case TC__VALUE_SCALED:
        break;
    case TC__VALUE_FLAG:
        if (*io_value != 0 && *io_value != 1) {
            return false;
        }
        break;
    case TC__VALUE_ADMIN_STATE:
        if (*io_value != 1) {
            return false;
        }
        break;
    case TC__VALUE_NVSWITCH_LINK:
        /* Safe is a state on the way up or down, and says nothing of whether the link works. */
        if (*io_value != 0 && *io_value != 2 && *io_value != 3) {
            return false;
        }
        *io_value = *io_value == 2 ? 3 : *io_value == 3 ? 2 : 1;
        break;
    }
    *io_value *= scale;
    return true;
}

/* False when there is no value. */
static bool convert(const struct tc__metric_sample *s, double *io_value)
{
    const struct tc__metric_row *row = s->use.row;
    double scale = row->scale;
    if (row->value == TC__VALUE_ADMIN_STATE) { /* a label is the value */
        struct tc_slice admin = s->texts[TC__FIELD_ADMIN_STATE];
        if (!tc_slice_eq(admin, TC_LIT("up")) && !tc_slice_eq(admin, TC_LIT("down"))) {
            return false;
        }
        scale = tc_slice_eq(admin, TC_LIT("up")) ? scale : 0;
    }
    return tc__metric_value_of(row->value, scale, io_value);
}

static bool is_wanted(const struct tc__metric_sample *s)
{
    switch ((enum tc__metric_only)s->use.row->only) {
    case TC__ONLY_ALL:
        return true;
    case TC__ONLY_WRITES:
        return tc_slice_eq_nocase(s->texts[TC__FIELD_OPERATION], TC_LIT("WRITE")) ||
               tc_slice_eq_nocase(s->texts[TC__FIELD_DIRECTION], TC_LIT("write"));
    case TC__ONLY_RECEIVED:
        return tc_slice_eq_nocase(s->texts[TC__FIELD_DIRECTION], TC_LIT("receive"));
    }
    return false;
}

/* The number in "7" or "nvidia7"; -1 when there is none. */
static int32_t index_of(struct tc_slice text)
{
    uint64_t number = 0;
    if (tc_slice_starts(text, TC_LIT("nvidia"))) {
        text = tc_slice_from(text, 6);
    }
    return tc_slice_is_u64(text, &number) && number <= INT32_MAX ? (int32_t)number : -1;
}

/* A MIG instance has an id of its own ("MIG-..."), which is not the GPU's. */
static struct tc_slice gpu_uuid(struct tc__metric_sample *s)
{
    struct tc_slice uuid = s->texts[TC__FIELD_UUID];
    if (uuid.len == 0) {
        uuid = s->texts[TC__FIELD_INDEX];
    }
    if (tc_slice_starts(uuid, TC_LIT("GPU-"))) {
        return uuid;
    }
    return tc_is_uuid(uuid) ? tc__join(s->arena, TC_LIT("GPU-"), TC_EMPTY, uuid) : TC_EMPTY;
}

/* "gpu-07:9400": the host; empty when that is only the exporter's own machine. */
static struct tc_slice host_of(struct tc_slice instance)
{
    struct tc_slice rest;
    struct tc_slice host = tc_slice_cut(instance, ':', &rest);
    if (tc_slice_starts(instance, TC_LIT("["))) {
        host = tc_slice_cut(tc_slice_from(instance, 1), ']', &rest);
    }
    bool local = tc_slice_eq(host, TC_LIT("localhost")) || tc_slice_starts(host, TC_LIT("127.")) ||
                 tc_slice_eq(host, TC_LIT("::1"));
    return local ? TC_EMPTY : host;
}

static struct tc_slice node_of(const struct tc__metric_sample *s)
{
    struct tc_slice node = s->texts[TC__FIELD_NODE];
    if (node.len == 0) {
        node = host_of(s->texts[TC__FIELD_INSTANCE]);
    }
    /* Elsewhere it is the address of what was probed. */
    return node.len == 0 && s->use.row->about == TC__ABOUT_RANK ? s->texts[TC__FIELD_IP] : node;
}

/*
 * A scrape without honor_labels puts the exporter's pod where the exporter says nothing: that
 * pod does not use the GPU.
 */
static bool is_exporters_own(const struct tc__metric_sample *s)
{
    return s->use.row->about == TC__ABOUT_GPU &&
           tc_slice_contains(s->texts[TC__FIELD_POD], TC_LIT("exporter"));
}

static void fill_scope(struct tc__metric_sample *s)
{
    const struct tc_slice *t = s->texts;
    struct tc_scope *scope = &s->scope;
    enum tc__metric_about about = (enum tc__metric_about)s->use.row->about;
    int64_t pid = 0;
    if (s->scope_of == about + 1) {
        return;
    }
    s->scope_of = (uint8_t)(about + 1);
    *scope = TC_SCOPE_NONE;
    scope->node = node_of(s);
    if (about == TC__ABOUT_NODE) {
        return;
    }
    scope->job = t[TC__FIELD_JOB];
    scope->gpu_uuid = gpu_uuid(s);
    if (scope->gpu_uuid.len > 0 && scope->gpu_uuid.ptr != t[TC__FIELD_UUID].ptr &&
        scope->gpu_uuid.ptr != t[TC__FIELD_INDEX].ptr) {
        s->scope_of = 0; /* the arena is used again */
    }
    if (tc_bdf_parse(t[TC__FIELD_PCI], &scope->pci) != t[TC__FIELD_PCI].len) {
        scope->pci = (struct tc_bdf){0};
    }
    scope->gpu_index = index_of(t[TC__FIELD_INDEX]);
    if (scope->gpu_index < 0) {
        struct tc_slice other = t[about == TC__ABOUT_GPU ? TC__FIELD_DEVICE : TC__FIELD_LOCAL_RANK];
        scope->gpu_index = index_of(other);
    }
    scope->rank = index_of(t[TC__FIELD_RANK]);
    if (tc_slice_is_i64(t[TC__FIELD_PID], &pid) && pid > 0) {
        scope->pid = pid;
    }
    if (!is_exporters_own(s)) {
        scope->pod = t[TC__FIELD_POD];
        scope->ns = t[TC__FIELD_NS];
        scope->container = t[TC__FIELD_CONTAINER];
        scope->pod_uid = t[TC__FIELD_POD_UID];
    }
}

static struct tc_slice device_of(struct tc__metric_sample *s)
{
    const struct tc_slice *t = s->texts;
    switch ((enum tc__metric_device)s->use.row->device) {
    case TC__DEVICE_NONE:
        break;
    case TC__DEVICE_NAMED:
        return t[TC__FIELD_DEVICE];
    case TC__DEVICE_PORT:
        return t[TC__FIELD_PORT].len == 0 || tc_slice_eq(t[TC__FIELD_PORT], TC_LIT("1"))
                   ? t[TC__FIELD_DEVICE]
                   : tc__join(s->arena, t[TC__FIELD_DEVICE], TC_LIT("/"), t[TC__FIELD_PORT]);
    case TC__DEVICE_LINK:
        if (s->use.link.len > 0 || t[TC__FIELD_SWITCH].len == 0) {
            return s->use.link.len > 0 ? s->use.link : t[TC__FIELD_LINK];
        }
        return tc__join(s->arena, t[TC__FIELD_SWITCH], TC_LIT("/"), t[TC__FIELD_LINK]);
    case TC__DEVICE_MOUNT:
        return t[TC__FIELD_MOUNT];
    case TC__DEVICE_EXPORT:
        return t[TC__FIELD_EXPORT].len > 0 ? t[TC__FIELD_EXPORT] : t[TC__FIELD_MOUNT];
    case TC__DEVICE_TARGET:
        return t[TC__FIELD_TARGET].len > 0 ? t[TC__FIELD_TARGET] : t[TC__FIELD_IP];
    case TC__DEVICE_XID:
        return t[TC__FIELD_XID];
    case TC__DEVICE_REASON:
        return tc_slice_from(s->use.row->name,
                             tc_slice_find(s->use.row->name, REASONS) + REASONS.len);
    }
    return TC_EMPTY;
}

enum tc__metric_verdict tc__metric_end(struct tc__metric_sample *s, double value,
                                       struct tc_event *out)
{
    TC_ASSERT(s->use.row != NULL);
    if (!is_wanted(s)) {
        return TC__METRIC_OTHER;
    }
    if (!isfinite(value)) {
        return TC__METRIC_NOT_FINITE;
    }
    if (!convert(s, &value)) {
        return TC__METRIC_NO_VALUE;
    }
    if (!isfinite(value)) { /* the scale was too much for it */
        return TC__METRIC_NOT_FINITE;
    }
    fill_scope(s);
    struct tc_slice device = device_of(s);
    if (!tc_arena_ok(s->arena)) {
        return TC__METRIC_NOMEM;
    }
    /* As tc_event_init does, which walks all fields: a scrape has many samples. */
    memset(out, 0, sizeof *out);
    out->time_ns = TC_TIME_NONE;
    out->uptime_ns = TC_TIME_NONE;
    out->kind = TC_EVENT_METRIC;
    out->raw.source = TC_SOURCE_NONE;
    out->scope = s->scope;
    out->run_id = s->texts[TC__FIELD_RUN];
    out->metric.metric = s->use.row->metric;
    out->metric.value = value;
    out->metric.device = device;
    out->metric.rack = s->texts[TC__FIELD_RACK];
    out->metric.zone = s->texts[TC__FIELD_ZONE];
    return TC__METRIC_READ;
}

bool tc__metric_place(const struct tc_event *metric, struct tc_event *out)
{
    if (!tc__metric_has_place(&metric->scope)) {
        return false;
    }
    tc_event_init(out, TC_EVENT_RANK_PLACE);
    out->scope = metric->scope;
    out->place.origin = TC_LIT("labels");
    return true;
}
