/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/segment_priv.h"

#include "base/time.h"

#include <xxhash.h>

static const char HEAD_MAGIC[8] = {'T', 'C', 'S', 'E', 'G', 'M', 'T', '\n'};
/* Not text, so that it is not found in what compression leaves as it was. */
static const char PIECE_MAGIC[8] = {'\xf5', 'T', 'C', 'B', '\x1a', '\xe4', '\x0d', '\xfe'};
static const char END_MAGIC[8] = {'T', 'C', 'S', 'E', 'G', 'E', 'N', 'D'};

static void put16(char *out, uint16_t v)
{
    out[0] = (char)(v & 0xff);
    out[1] = (char)(v >> 8);
}

static void put32(char *out, uint32_t v)
{
    put16(out, (uint16_t)(v & 0xffff));
    put16(out + 2, (uint16_t)(v >> 16));
}

static void put64(char *out, uint64_t v)
{
    put32(out, (uint32_t)(v & 0xffffffff));
    put32(out + 4, (uint32_t)(v >> 32));
}

static uint16_t get16(const char *in)
{
    return (uint16_t)((uint8_t)in[0] | ((uint16_t)(uint8_t)in[1] << 8));
}

static uint32_t get32(const char *in)
{
    return (uint32_t)get16(in) | ((uint32_t)get16(in + 2) << 16);
}

static uint64_t get64(const char *in)
{
    return (uint64_t)get32(in) | ((uint64_t)get32(in + 4) << 32);
}

static bool time_ok(int64_t ns)
{
    return ns >= 0 && ns <= TC_TIME_MAX;
}

void tc__totals_init(struct tc__totals *t)
{
    *t = (struct tc__totals){.arrival_min = INT64_MAX};
}

void tc__totals_add(struct tc__totals *t, uint64_t number, int64_t arrival_ns, uint64_t body_len)
{
    t->first = t->batches == 0 ? number : t->first;
    t->last = number;
    t->batches++;
    t->body_bytes += body_len;
    t->arrival_min = arrival_ns < t->arrival_min ? arrival_ns : t->arrival_min;
    t->arrival_max = arrival_ns > t->arrival_max ? arrival_ns : t->arrival_max;
}

uint64_t tc__sum(const void *data, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, len, seed);
}

void tc__head_put(char *out, const struct tc__head *head)
{
    memset(out, 0, TC__HEAD_BYTES);
    memcpy(out, HEAD_MAGIC, sizeof HEAD_MAGIC);
    put32(out + 8, head->version);
    put32(out + 12, TC__HEAD_BYTES);
    put64(out + 16, head->first);
    put64(out + 24, (uint64_t)head->created_ns);
    put64(out + 32, head->id);
    put64(out + 56, tc__sum(out, 56, 0));
}

bool tc__head_get(const char *bytes, struct tc__head *out)
{
    uint32_t version = get32(bytes + 8);
    if (memcmp(bytes, HEAD_MAGIC, sizeof HEAD_MAGIC) != 0 || version < TC__SEGMENT_VERSION_ZSTD ||
        version > TC__SEGMENT_VERSION || get32(bytes + 12) != TC__HEAD_BYTES ||
        get64(bytes + 56) != tc__sum(bytes, 56, 0)) {
        return false;
    }
    out->version = version;
    out->first = get64(bytes + 16);
    out->created_ns = (int64_t)get64(bytes + 24);
    out->id = get64(bytes + 32);
    return time_ok(out->created_ns);
}

unsigned tc__head_newer(const char *bytes)
{
    unsigned version = get32(bytes + 8);
    if (memcmp(bytes, HEAD_MAGIC, sizeof HEAD_MAGIC) != 0 || version <= TC__SEGMENT_VERSION) {
        return 0;
    }
    /* A header of our length whose checksum does not hold is one of ours with a flipped bit. */
    bool is_damaged =
        get32(bytes + 12) == TC__HEAD_BYTES && get64(bytes + 56) != tc__sum(bytes, 56, 0);
    return is_damaged ? 0 : version;
}

void tc__piece_put(char *out, const struct tc__piece *piece, uint64_t offset)
{
    memcpy(out, PIECE_MAGIC, sizeof PIECE_MAGIC);
    put16(out + 8, TC__PIECE_BYTES);
    put16(out + 10, (uint16_t)(piece->kind | (piece->is_lz4 ? TC__KIND_LZ4 : 0)));
    put32(out + 12, piece->name_len);
    put64(out + 16, piece->number);
    put64(out + 24, (uint64_t)piece->arrival_ns);
    put64(out + 32, piece->body_len);
    put64(out + 40, piece->piece_at);
    put64(out + 48, piece->piece_len);
    put64(out + 56, piece->payload_len);
    put64(out + 64, piece->payload_sum);
    put64(out + 72, piece->id);
    put64(out + 80, tc__sum(out, 80, offset));
}

/* What a header may say: the limits of the format. */
static bool piece_ok(const struct tc__piece *p)
{
    if (!time_ok(p->arrival_ns) || p->number > TC__NUMBER_MAX) {
        return false;
    }
    bool is_bare = p->name_len == 0 && p->body_len == 0 && p->piece_at == 0 && p->piece_len == 0;
    if (p->kind == TC__KIND_TABLE) {
        return is_bare && p->payload_len <= TC__TABLE_BYTES_MAX;
    }
    if (p->kind == TC__KIND_SKIP) {
        return is_bare && p->payload_len <= UINT64_MAX / 4;
    }
    return p->kind >= TC_BATCH_LOGS_PROTOBUF && p->kind <= TC_BATCH_KIND_LAST && p->number > 0 &&
           p->name_len <= (p->piece_at == 0 ? TC_STORE_NAME_MAX : 0) &&
           p->body_len <= TC_STORE_BODY_MAX && p->piece_len <= TC__PIECE_MAX &&
           p->piece_at <= p->body_len && p->piece_len <= p->body_len - p->piece_at &&
           (p->piece_len > 0 || p->body_len == 0) && p->payload_len <= TC__PAYLOAD_MAX;
}

bool tc__piece_get(const char *bytes, uint64_t offset, struct tc__piece *out)
{
    if (memcmp(bytes, PIECE_MAGIC, sizeof PIECE_MAGIC) != 0 ||
        get16(bytes + 8) != TC__PIECE_BYTES || get64(bytes + 80) != tc__sum(bytes, 80, offset)) {
        return false;
    }
    uint16_t kind = get16(bytes + 10);
    bool is_lz4 = kind < TC__KIND_TABLE && (kind & TC__KIND_LZ4) != 0;
    *out = (struct tc__piece){
        .kind = (uint16_t)(is_lz4 ? kind & ~TC__KIND_LZ4 : kind),
        .is_lz4 = is_lz4,
        .name_len = get32(bytes + 12),
        .number = get64(bytes + 16),
        .arrival_ns = (int64_t)get64(bytes + 24),
        .body_len = get64(bytes + 32),
        .piece_at = get64(bytes + 40),
        .piece_len = get64(bytes + 48),
        .payload_len = get64(bytes + 56),
        .payload_sum = get64(bytes + 64),
        .id = get64(bytes + 72),
    };
    return piece_ok(out);
}

size_t tc__piece_find(const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len) {
        const char *hit = memchr(bytes + at, PIECE_MAGIC[0], len - at);
        if (hit == NULL) {
            return len;
        }
        at = (size_t)(hit - bytes);
        size_t rest = len - at < sizeof PIECE_MAGIC ? len - at : sizeof PIECE_MAGIC;
        if (memcmp(hit, PIECE_MAGIC, rest) == 0) {
            return at;
        }
        at++;
    }
    return len;
}

void tc__entry_put(char *out, const struct tc__entry *entry)
{
    put64(out, entry->number);
    put64(out + 8, entry->offset);
}

void tc__entry_get(const char *bytes, struct tc__entry *out)
{
    out->number = get64(bytes);
    out->offset = get64(bytes + 8);
}

void tc__end_put(char *out, const struct tc__end *end)
{
    memcpy(out, END_MAGIC, sizeof END_MAGIC);
    put64(out + 8, end->table_at);
    put64(out + 16, end->totals.first);
    put64(out + 24, end->totals.last);
    put64(out + 32, end->totals.batches);
    put64(out + 40, end->totals.body_bytes);
    put64(out + 48, (uint64_t)end->totals.arrival_min);
    put64(out + 56, (uint64_t)end->totals.arrival_max);
    put64(out + 64, end->id);
    put64(out + 72, end->entries);
    put64(out + 80, tc__sum(out, 80, end->table_at));
}

bool tc__end_get(const char *bytes, uint64_t offset, struct tc__end *out)
{
    struct tc__end end = {
        .table_at = get64(bytes + 8),
        .totals = {.first = get64(bytes + 16),
                   .last = get64(bytes + 24),
                   .batches = get64(bytes + 32),
                   .body_bytes = get64(bytes + 40),
                   .arrival_min = (int64_t)get64(bytes + 48),
                   .arrival_max = (int64_t)get64(bytes + 56)},
        .id = get64(bytes + 64),
        .entries = get64(bytes + 72),
    };
    if (memcmp(bytes, END_MAGIC, sizeof END_MAGIC) != 0 || end.entries > TC__TABLE_MAX ||
        end.table_at < TC__HEAD_BYTES || end.table_at > offset ||
        offset - end.table_at != TC__PIECE_BYTES + end.entries * TC__ENTRY_BYTES ||
        get64(bytes + 80) != tc__sum(bytes, 80, end.table_at) || end.totals.batches == 0 ||
        end.totals.first > end.totals.last || !time_ok(end.totals.arrival_min) ||
        !time_ok(end.totals.arrival_max)) {
        return false;
    }
    *out = end;
    return true;
}
