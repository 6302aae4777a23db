/* SPDX-License-Identifier: Apache-2.0 */
#include "event/event.h"

#include "base/assert.h"
#include "base/limits.h"
#include "event/fields.h"

enum tc_event_clock tc_event_clock(enum tc_event_kind kind)
{
    const uint32_t kubernetes = TC_EVENT_BIT(TC_EVENT_K8S_EVENT) |
                                TC_EVENT_BIT(TC_EVENT_POD_STATE) |
                                TC_EVENT_BIT(TC_EVENT_NODE_CONDITION);
    const uint32_t monitor = TC_EVENT_BIT(TC_EVENT_METRIC) | TC_EVENT_BIT(TC_EVENT_RANK_PLACE);
    return (TC_EVENT_BIT(kind) & kubernetes) != 0 ? TC_CLOCK_OF_KUBERNETES
           : (TC_EVENT_BIT(kind) & monitor) != 0  ? TC_CLOCK_OF_MONITOR
                                                  : TC_CLOCK_OF_NODE;
}

struct tc_slice tc_event_kind_name(enum tc_event_kind kind)
{
    static const struct tc_slice names[TC_EVENT_KIND_COUNT] = {
#define TC_EVENT_KIND_TEXT(name, text, payload) [TC_EVENT_##name] = {text, sizeof(text) - 1},
        TC_EVENT_KIND_MAP(TC_EVENT_KIND_TEXT)
#undef TC_EVENT_KIND_TEXT
    };
    TC_ASSERT((unsigned)kind < TC_EVENT_KIND_COUNT);
    return names[kind];
}

bool tc_event_kind_parse(struct tc_slice name, enum tc_event_kind *out)
{
    for (unsigned i = 0; i < TC_EVENT_KIND_COUNT; i++) {
        if (tc_slice_eq(name, tc_event_kind_name((enum tc_event_kind)i))) {
            *out = (enum tc_event_kind)i;
            return true;
        }
    }
    return false;
}

/* Hex of at most `max` digits at s[at]; the number of digits. */
static size_t hex_at(struct tc_slice s, size_t at, size_t max, uint64_t *out)
{
    return tc_slice_hex(tc_slice_head(tc_slice_from(s, at), max), out);
}

size_t tc_bdf_parse(struct tc_slice s, struct tc_bdf *out)
{
    uint64_t domain = 0;
    uint64_t bus = 0;
    uint64_t device = 0;
    uint64_t function = 0;
    size_t at = hex_at(s, 0, 8, &bus);
    if (at == 0 || at >= s.len || s.ptr[at] != ':') {
        return 0;
    }
    size_t used = hex_at(s, at + 1, 2, &device);
    if (used == 0) {
        return 0;
    }
    at += 1 + used;
    if (at < s.len && s.ptr[at] == ':') {
        domain = bus;
        bus = device;
        used = hex_at(s, at + 1, 2, &device);
        if (used == 0) {
            return 0;
        }
        at += 1 + used;
    }
    if (at + 1 < s.len && s.ptr[at] == '.' && hex_at(s, at + 1, 1, &function) == 1) {
        at += 2;
    }
    if (domain > UINT32_MAX || bus > UINT8_MAX || device > 31 || function > 7) {
        return 0;
    }
    *out =
        (struct tc_bdf){(uint32_t)domain, (uint8_t)bus, (uint8_t)device, (uint8_t)function, true};
    return at;
}

void tc_buf_bdf(struct tc_buf *b, struct tc_bdf bdf)
{
    unsigned digits = 4;
    while (digits < 8 && bdf.domain >> (4 * digits) != 0) {
        digits++;
    }
    tc_buf_hex(b, bdf.domain, digits);
    tc_buf_char(b, ':');
    tc_buf_hex(b, bdf.bus, 2);
    tc_buf_char(b, ':');
    tc_buf_hex(b, bdf.device, 2);
    tc_buf_char(b, '.');
    tc_buf_hex(b, bdf.function, 1);
}

bool tc_is_uuid(struct tc_slice s)
{
    bool is_uuid = s.len == 36;
    for (size_t i = 0; is_uuid && i < s.len; i++) {
        uint64_t digit = 0;
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        is_uuid = dash ? s.ptr[i] == '-' : tc_slice_hex(tc_slice_make(s.ptr + i, 1), &digit) == 1;
    }
    return is_uuid;
}

static uint64_t bdf_bits(struct tc_bdf a)
{
    return (uint64_t)a.known << 60 | (uint64_t)a.domain << 24 | (uint64_t)a.bus << 16 |
           (uint64_t)a.device << 8 | a.function;
}

bool tc_bdf_eq(struct tc_bdf a, struct tc_bdf b)
{
    return bdf_bits(a) == bdf_bits(b);
}

void tc_event_init(struct tc_event *ev, enum tc_event_kind kind)
{
    memset(ev, 0, sizeof *ev);
    ev->kind = kind;
    ev->raw.source = TC_SOURCE_NONE;
    size_t count = 0;
    const struct tc_field *fields = tc_fields(&count);
    for (size_t i = 0; i < count; i++) {
        const struct tc_field *f = &fields[i];
        void *at = (char *)ev + f->offset;
        if ((f->kinds & TC_EVENT_BIT(kind)) == 0) {
            continue;
        }
        if (f->type == TC_FIELD_TIME) {
            *(int64_t *)at = TC_TIME_NONE;
        } else if (f->type == TC_FIELD_I64) {
            *(int64_t *)at = f->none;
        } else if (f->type == TC_FIELD_I32) {
            *(int32_t *)at = (int32_t)f->none;
        }
    }
}

static int cmp_i64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int cmp_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int cmp_field(const struct tc_field *f, const void *a, const void *b)
{
    switch (f->type) {
    case TC_FIELD_STRING:
        return tc_slice_cmp(*(const struct tc_slice *)a, *(const struct tc_slice *)b);
    case TC_FIELD_TIME:
    case TC_FIELD_I64:
        return cmp_i64(*(const int64_t *)a, *(const int64_t *)b);
    case TC_FIELD_I32:
        return cmp_i64(*(const int32_t *)a, *(const int32_t *)b);
    case TC_FIELD_KEY:
        return cmp_u64(*(const uint64_t *)a, *(const uint64_t *)b);
    case TC_FIELD_F64: {
        double x = *(const double *)a;
        double y = *(const double *)b;
        return x < y ? -1 : x > y;
    }
    case TC_FIELD_BOOL:
    case TC_FIELD_STATE:
        return cmp_i64(*(const uint8_t *)a, *(const uint8_t *)b);
    case TC_FIELD_METRIC:
        return cmp_i64(*(const uint16_t *)a, *(const uint16_t *)b);
    case TC_FIELD_BDF:
        return cmp_u64(bdf_bits(*(const struct tc_bdf *)a), bdf_bits(*(const struct tc_bdf *)b));
    }
    return 0;
}

/* A few numbers that tell most events of one time apart: those of a scrape, of a job's ranks. */
static int cmp_numbers(const struct tc_event *a, const struct tc_event *b)
{
    int order = cmp_i64((int64_t)a->kind, (int64_t)b->kind);
    if (order == 0) {
        order = cmp_i64(a->scope.rank, b->scope.rank);
    }
    if (order == 0) {
        order = cmp_i64(a->scope.gpu_index, b->scope.gpu_index);
    }
    if (order == 0 && a->kind == TC_EVENT_METRIC) {
        order = cmp_i64((int64_t)a->metric.metric, (int64_t)b->metric.metric);
    }
    return order;
}

int tc_event_cmp(const struct tc_event *a, const struct tc_event *b)
{
    int order = cmp_i64(a->time_ns, b->time_ns);
    if (order == 0) {
        order = cmp_numbers(a, b);
    }
    size_t count = 0;
    const struct tc_field *fields = tc_fields(&count);
    for (size_t i = 0; i < count && order == 0; i++) {
        const struct tc_field *f = &fields[i];
        if ((f->kinds & TC_EVENT_BIT(a->kind)) != 0) {
            order = cmp_field(f, (const char *)a + f->offset, (const char *)b + f->offset);
        }
    }
    return order;
}

int tc_event_order(const struct tc_event *a, const struct tc_event *b)
{
    int order = tc_event_cmp(a, b);
    if (order == 0) {
        order = cmp_u64(a->raw.source, b->raw.source);
    }
    return order == 0 ? cmp_u64(a->raw.offset, b->raw.offset) : order;
}

uint64_t tc_nccl_group_key(struct tc_slice job, struct tc_slice name, struct tc_slice ranks)
{
    uint64_t key = tc_slice_hash(name, tc_slice_hash(job, 0));
    size_t at = 0;
    int32_t rank = 0;
    while (tc_rank_list_next(ranks, &at, &rank)) {
        key = tc_hash_mix(key, (uint64_t)rank);
    }
    return key == 0 ? 1 : key;
}

bool tc_rank_list_next(struct tc_slice ranks, size_t *io_at, int32_t *out_rank)
{
    size_t at = *io_at;
    while (at < ranks.len &&
           (ranks.ptr[at] == '[' || ranks.ptr[at] == ' ' || ranks.ptr[at] == ',')) {
        at++;
    }
    uint64_t rank = 0;
    size_t used = tc_slice_u64(tc_slice_from(ranks, at), &rank);
    if (used == 0 || rank > TC_FR_RANK_MAX) {
        return false;
    }
    *io_at = at + used;
    *out_rank = (int32_t)rank;
    return true;
}
