/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which attribute means what: attrs.def. Of two names for one thing the one with the higher
 * claim counts, then the record's before its resource's, then the first.
 */
#include "base/limits.h"
#include "codec/match_priv.h"
#include "codec/metric/map_priv.h"
#include "codec/otlp/record_priv.h"
#include "codec/otlp/tape_priv.h"

#include <math.h>

#define S(literal) TC_LIT(literal)

/* Attributes of one owner that are looked at; what comes behind them is not read. */
#define ATTRS_MAX 1024
/* Digits of an integer, with its sign. */
#define INTEGER_TEXT_MAX 24
/* A double of less than this fits int64_t. */
#define INTEGER_DOUBLE_MAX 9.2e18

static const struct {
    struct tc_slice name;
    enum tc__otlp_attr attr;
    uint8_t claim; /* 1..9 */
} TABLE[] = {
#define ATTRIBUTE(id, field, meaning)
#define NAME(id, text, strength) {{text, sizeof(text) - 1}, TC__OTLP_##id, (strength)},
#include "codec/otlp/attrs.def"
#undef ATTRIBUTE
#undef NAME
};

#define TABLE_COUNT TC_COUNT(TABLE)

const struct tc__otlp_value tc__otlp_nothing = {.kind = TC__OTLP_NOTHING};

_Static_assert(TC__OTLP_NAME_FIRST + TABLE_COUNT <= UINT8_MAX, "a name is one byte");

static unsigned slot_of(struct tc_slice key)
{
    unsigned first = (unsigned char)key.ptr[0];
    unsigned last = (unsigned char)key.ptr[key.len - 1];
    unsigned middle = (unsigned char)key.ptr[key.len / 2];
    return (first * 7 + last * 3 + middle + (unsigned)key.len * 13) & (TC__OTLP_NAME_SLOTS - 1);
}

static void init_names(struct tc__otlp_names *names)
{
    *names = (struct tc__otlp_names){0};
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        unsigned slot = slot_of(TABLE[i].name);
        while (names->slots[slot] != 0) {
            slot = (slot + 1) & (TC__OTLP_NAME_SLOTS - 1);
        }
        names->slots[slot] = (uint8_t)(TC__OTLP_NAME_FIRST + i);
        names->use[TC__OTLP_NAME_FIRST + i] =
            TABLE[i].attr == TC__OTLP_KIND ? TC__OTLP_USE_ALL : TC__OTLP_USE_VALUE;
    }
    names->use[TC__OTLP_NAME_OTHER] = TC__OTLP_USE_NONE;
    names->use[TC__OTLP_NAME_K8S_EVENT] = TC__OTLP_USE_VALUE;
}

uint8_t tc__otlp_name(const struct tc__otlp_names *names, struct tc_slice key)
{
    if (key.len == 0) {
        return TC__OTLP_NAME_OTHER;
    }
    for (unsigned slot = slot_of(key); names->slots[slot] != 0;
         slot = (slot + 1) & (TC__OTLP_NAME_SLOTS - 1)) {
        struct tc_slice name = TABLE[names->slots[slot] - TC__OTLP_NAME_FIRST].name;
        if (name.len == key.len && tc_bytes_eq(name.ptr, key.ptr, key.len)) {
            return names->slots[slot];
        }
    }
    return key.ptr[0] == 'k' && tc_slice_starts(key, S("k8s.event.")) ? TC__OTLP_NAME_K8S_EVENT
                                                                      : TC__OTLP_NAME_OTHER;
}

void tc__otlp_init(struct tc__otlp *o)
{
    tc__train_text_init(&o->train);
    tc__kmsg_scan_init(&o->kernel_scan);
    tc_event_init(&o->blank_xid, TC_EVENT_XID);
    init_names(&o->names);
}

static struct tc_slice integer_text(struct tc__otlp *o, int64_t value)
{
    char *bytes = tc_new(o->decode.out->scratch, char, INTEGER_TEXT_MAX);
    if (bytes == NULL) {
        return TC_EMPTY;
    }
    struct tc_buf text = tc_buf_make(bytes, INTEGER_TEXT_MAX);
    tc_buf_i64(&text, value);
    return tc_buf_slice(&text);
}

static bool is_whole(double value)
{
    return floor(value) == value && fabs(value) < INTEGER_DOUBLE_MAX;
}

struct tc_slice tc__otlp_text(struct tc__otlp *o, const struct tc__otlp_value *v)
{
    switch ((enum tc__otlp_value_kind)v->kind) {
    case TC__OTLP_TEXT:
        return v->text;
    case TC__OTLP_WHOLE:
        return integer_text(o, v->whole);
    case TC__OTLP_REAL:
        return is_whole(v->real) ? integer_text(o, (int64_t)v->real) : TC_EMPTY;
    case TC__OTLP_NOTHING:
        break;
    }
    return TC_EMPTY;
}

bool tc__otlp_number(const struct tc__otlp_value *v, double *out)
{
    switch ((enum tc__otlp_value_kind)v->kind) {
    case TC__OTLP_TEXT: {
        struct tc_slice trimmed = tc_slice_trim(v->text);
        return trimmed.len > 0 && tc__text_number(trimmed, out) == trimmed.len;
    }
    case TC__OTLP_WHOLE:
        *out = (double)v->whole;
        return true;
    case TC__OTLP_REAL:
        *out = v->real;
        return true;
    case TC__OTLP_NOTHING:
        break;
    }
    return false;
}

/* Written in place: the parts of a struct that was just put together are slow to copy. */
static void read_node(const struct tc_otlp_tape *tape, const struct tc__otlp_node *n,
                      struct tc__otlp_value *out)
{
    out->kind = TC__OTLP_NOTHING;
    if (n->type == TC__OTLP_N_STRING) {
        out->text = tc__otlp_node_text(tape, n);
        out->kind = TC__OTLP_TEXT;
    } else if (n->type == TC__OTLP_N_INT) {
        out->whole = n->integer;
        out->kind = TC__OTLP_WHOLE;
    } else if (n->type == TC__OTLP_N_DOUBLE && isfinite(n->number)) {
        out->real = n->number;
        out->kind = TC__OTLP_REAL;
    }
}

struct tc__otlp_value tc__otlp_value_read(struct tc__value v)
{
    struct tc__otlp_value out = {.kind = TC__OTLP_NOTHING};
    struct tc_json typed;
    if (!v.there) {
        return out;
    }
    if (v.tape) {
        const struct tc_otlp_tape *tape = v.v.doc;
        read_node(tape, &tape->nodes[v.v.at], &out);
        return out;
    }
    if (tc_json_get(v.v, S("stringValue"), &typed)) {
        out.kind = tc_json_string(typed, &out.text) ? TC__OTLP_TEXT : TC__OTLP_NOTHING;
    } else if (tc_json_get(v.v, S("intValue"), &typed)) {
        out.kind = tc_json_int(typed, &out.whole) ? TC__OTLP_WHOLE : TC__OTLP_NOTHING;
    } else if (tc_json_get(v.v, S("doubleValue"), &typed)) {
        bool real = tc_json_double(typed, &out.real) && isfinite(out.real);
        out.kind = real ? TC__OTLP_REAL : TC__OTLP_NOTHING;
    }
    return out;
}

/* Where a value of that row goes; NULL when a better one came already. */
static struct tc__otlp_value *claim_row(size_t row, uint8_t boost, struct tc__otlp_attrs *io)
{
    enum tc__otlp_attr attr = TABLE[row].attr;
    uint8_t claim = (uint8_t)(TABLE[row].claim + boost);
    if (claim <= tc__otlp_own(io, attr)->claim) {
        return NULL;
    }
    io->came |= UINT64_C(1) << attr;
    io->of[attr].claim = claim;
    return &io->of[attr];
}

static void add_value(size_t row, struct tc__otlp_value value, uint8_t boost,
                      struct tc__otlp_attrs *io)
{
    bool says =
        value.kind != TC__OTLP_NOTHING && (value.kind != TC__OTLP_TEXT || value.text.len > 0);
    struct tc__otlp_value *to = says ? claim_row(row, boost, io) : NULL;
    if (to != NULL) {
        value.claim = to->claim;
        *to = value;
    }
}

static bool node_says(const struct tc__otlp_node *n)
{
    return (n->type == TC__OTLP_N_STRING && n->length > 0) || n->type == TC__OTLP_N_INT ||
           (n->type == TC__OTLP_N_DOUBLE && isfinite(n->number));
}

void tc__otlp_attrs_add(struct tc__otlp *o, struct tc__value_iter pairs, uint8_t boost,
                        struct tc__otlp_attrs *io)
{
    struct tc_slice key;
    struct tc__value value;
    for (size_t n = 0; n < ATTRS_MAX && pairs.pairs && tc__value_next(&pairs, &key, &value); n++) {
        uint8_t name = tc__otlp_name(&o->names, key);
        io->has_k8s_event = io->has_k8s_event || name == TC__OTLP_NAME_K8S_EVENT;
        if (name >= TC__OTLP_NAME_FIRST) {
            add_value((size_t)name - TC__OTLP_NAME_FIRST, tc__otlp_value_read(value), boost, io);
        }
    }
}

void tc__otlp_attrs_add_pair(struct tc__otlp *o, const struct tc_otlp_tape *tape, size_t at,
                             struct tc__otlp_attrs *io)
{
    const struct tc__otlp_node *n = &tape->nodes[at];
    uint8_t name = n->name;
    if (name == TC__OTLP_NAME_NOT_LOOKED_UP) {
        name = tc__otlp_name(&o->names, tc__otlp_node_text(tape, n));
    }
    io->has_k8s_event = io->has_k8s_event || name == TC__OTLP_NAME_K8S_EVENT;
    if (name < TC__OTLP_NAME_FIRST || n->next == at + 1 || !node_says(n + 1)) {
        return;
    }
    struct tc__otlp_value *to =
        claim_row((size_t)name - TC__OTLP_NAME_FIRST, TC__OTLP_BOOST_ATTRIBUTE, io);
    if (to != NULL) {
        read_node(tape, n + 1, to);
    }
}

/* Copies the texts to scratch, so that they outlive the parse. */
static void keep_texts(struct tc__otlp *o, struct tc__otlp_attrs *io)
{
    for (size_t i = 0; i < TC__OTLP_ATTR_COUNT; i++) {
        if ((io->came >> i & 1) != 0 && io->of[i].kind == TC__OTLP_TEXT) {
            io->of[i].text = tc_arena_copy(o->decode.out->scratch, io->of[i].text);
        }
    }
}

tc_status tc__otlp_resource_read(struct tc__otlp *o, struct tc__value resource,
                                 struct tc__otlp_resource *out)
{
    TC_TRY(tc__k8s_resource(&o->decode, resource, &out->k8s));
    tc__otlp_attrs_add(o, tc__value_attributes(resource), TC__OTLP_BOOST_ATTRIBUTE, &out->attrs);
    if (!resource.tape) {
        keep_texts(o, &out->attrs);
    }
    if (!resource.tape || ((const struct tc_otlp_tape *)resource.v.doc)->signal != TC_OTLP_LOGS) {
        tc__otlp_labels(o, resource, out);
    }
    if (!tc_arena_ok(o->decode.out->scratch)) {
        return tc_fail(o->decode.err, TC_E_LIMIT, o->decode.raw_offset,
                       "a resource's attributes are too long");
    }
    return TC_OK;
}

/* A number that fits, or the fallback. */
static int64_t integer_of(const struct tc__otlp_value *v, int64_t max, int64_t fallback)
{
    double number = 0;
    bool fits = tc__otlp_number(v, &number) && number >= 0 && number <= (double)max &&
                number == floor(number);
    return fits ? (int64_t)number : fallback;
}

void tc__otlp_scope(struct tc__otlp *o, const struct tc__otlp_record *r, struct tc_scope *io)
{
    const struct {
        enum tc__otlp_attr attr;
        struct tc_slice *to;
    } texts[] = {
        {TC__OTLP_NODE, &io->node},
        {TC__OTLP_HOSTNAME, &io->node},
        {TC__OTLP_HOST, &io->node},
        {TC__OTLP_NS, &io->ns},
        {TC__OTLP_POD, &io->pod},
        {TC__OTLP_POD_UID, &io->pod_uid},
        {TC__OTLP_CONTAINER, &io->container},
        {TC__OTLP_JOB, &io->job},
        {TC__OTLP_GPU_UUID, &io->gpu_uuid},
    };
    for (size_t i = 0; i < TC_COUNT(texts); i++) {
        if (texts[i].to->len == 0) {
            *texts[i].to = tc__otlp_text(o, tc__otlp_get(r, texts[i].attr));
        }
    }
    if (io->pod.len == 0) {
        tc__train_pod(tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_FILE)), io);
    }
    struct tc_slice hw = tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_HW_ID));
    if (tc_slice_starts(hw, S("GPU-"))) {
        io->gpu_uuid = tc_slice_or(io->gpu_uuid, hw);
    }
    struct tc_slice pci = tc__otlp_text(o, tc__otlp_get(r, TC__OTLP_PCI));
    struct tc_bdf bdf = {0};
    if (!io->pci.known && pci.len > 0 && tc_bdf_parse(pci, &bdf) == pci.len) {
        io->pci = bdf;
    }
    if (io->rank < 0) {
        io->rank = (int32_t)integer_of(tc__otlp_get(r, TC__OTLP_RANK), TC_FR_RANK_MAX, -1);
    }
    if (io->gpu_index < 0) {
        io->gpu_index = (int32_t)integer_of(tc__otlp_get(r, TC__OTLP_GPU_INDEX), UINT16_MAX, -1);
    }
}

tc_status tc__otlp_place(struct tc__otlp *o, const struct tc_event *ev)
{
    struct tc_event place;
    if (!tc__metric_has_place(&ev->scope)) {
        return TC_OK;
    }
    const struct tc_slice names[] = {ev->scope.job, ev->scope.node,    ev->scope.ns,
                                     ev->scope.pod, ev->scope.pod_uid, ev->scope.gpu_uuid};
    uint64_t hash = (uint64_t)ev->scope.rank + 1;
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        hash = tc_slice_hash(names[i], hash);
    }
    uint64_t *slot = &o->places[hash % TC__OTLP_PLACES];
    if (*slot == hash) {
        return TC_OK;
    }
    *slot = hash;
    o->has_places = true;
    if (!tc__metric_place(ev, &place)) {
        return TC_OK;
    }
    place.time_ns = ev->time_ns;
    return tc__decode_emit(&o->decode, &place);
}
