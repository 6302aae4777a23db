/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the log, little-endian:
 *
 *   0 u32 magic   4 u32 kind   8 u64 number   16 u32 length of the body   20 u32 zero
 *   24 u64 XXH3 of the body   32 u64 XXH3 of the 32 bytes before   40 body
 *
 * A record of version 2 says what its incident counts against too: 88 bytes between the lengths and
 * the texts of its mark. One that counts against nothing is of version 1.
 *
 * A head with a checksum of its own says where the next record begins even when the body is
 * damaged; the magic is what to look for when the head is.
 */
#include "outbox/outbox_priv.h"

#include <endian.h>
#include <string.h>

/* Four letters; the zero that C puts behind them is not written. */
static const char MAGIC[] = {'T', 'C', 'v', '1'};
#define MAGIC_BYTES sizeof MAGIC
#define VERSION_AT (MAGIC_BYTES - 1)
#define VERSION_OFFENCE '2' /* and the newest */
#define HASHED_HEAD 32
#define MARK_BYTES 64
#define OFFENCE_BYTES 88
#define CURSOR_BYTES 40
/* So that a record is never taken for something else that is hashed the same way. */
#define HASH_SEED UINT64_C(0x74635f6f7574626f)

static char *put32(char *to, uint32_t value)
{
    uint32_t le = htole32(value);
    memcpy(to, &le, sizeof le);
    return to + sizeof le;
}

static char *put64(char *to, uint64_t value)
{
    uint64_t le = htole64(value);
    memcpy(to, &le, sizeof le);
    return to + sizeof le;
}

static uint32_t get32(const char *from)
{
    uint32_t le;
    memcpy(&le, from, sizeof le);
    return le32toh(le);
}

static uint64_t get64(const char *from)
{
    uint64_t le;
    memcpy(&le, from, sizeof le);
    return le64toh(le);
}

static char *put_slice(char *to, struct tc_slice s)
{
    if (s.len > 0) {
        memcpy(to, s.ptr, s.len);
    }
    return to + s.len;
}

static size_t offence_size(const struct tc__record *r)
{
    return r->mark.offence.kind == TC_THING_NONE ? 0 : OFFENCE_BYTES;
}

static size_t body_size(const struct tc__record *r)
{
    if (r->kind == TC__RECORD_CURSOR) {
        return CURSOR_BYTES;
    }
    size_t json = r->kind == TC__RECORD_VERDICT ? r->json.len : 0;
    return MARK_BYTES + offence_size(r) + r->mark.pattern_id.len + r->mark.key.len +
           r->mark.incident_id.len + json;
}

size_t tc__record_size(const struct tc__record *r)
{
    return TC__RECORD_HEAD_BYTES + body_size(r);
}

static void write_cursor(char *to, const struct tc__cursor *c)
{
    to = put32(to, (uint32_t)c->output);
    to = put32(to, 0);
    to = put64(to, c->next);
    to = put64(to, c->dev);
    to = put64(to, c->ino);
    (void)put64(to, c->size);
}

static char *put_name(char *to, struct tc_lru_key name)
{
    to = put64(to, name.words[0]);
    return put64(to, name.words[1]);
}

static struct tc_lru_key get_name(const char *from)
{
    return (struct tc_lru_key){{get64(from), get64(from + 8)}};
}

static char *write_offence(char *to, const struct tc_offence *o)
{
    to = put32(to, (uint32_t)o->kind);
    to = put32(to, 0);
    to = put64(to, (uint64_t)o->last_ns);
    for (size_t i = 0; i < TC_THING_NAMES; i++) {
        to = put_name(to, o->names[i]);
    }
    to = put_name(to, o->node);
    return put64(to, o->domain);
}

static bool read_offence(const char *from, struct tc_offence *out)
{
    uint32_t kind = get32(from);
    if (kind == TC_THING_NONE || kind >= TC_THINGS) {
        return false;
    }
    *out = (struct tc_offence){.kind = (enum tc_thing)kind, .last_ns = (int64_t)get64(from + 8)};
    from += 16;
    for (size_t i = 0; i < TC_THING_NAMES; i++) {
        out->names[i] = get_name(from + 16 * i);
    }
    from += 16 * TC_THING_NAMES;
    out->node = get_name(from);
    out->domain = get64(from + 16);
    return true;
}

static void write_verdict(char *to, const struct tc__record *r)
{
    const struct tc_incident_mark *m = &r->mark;
    to = put64(to, (uint64_t)r->taken_ns);
    to = put64(to, (uint64_t)r->arrival_ns);
    to = put64(to, (uint64_t)m->first_ns);
    to = put64(to, (uint64_t)m->detected_ns);
    to = put64(to, m->content);
    to = put64(to, m->told);
    to = put32(to, (uint32_t)m->status);
    to = put32(to, (uint32_t)m->pattern_id.len);
    to = put32(to, (uint32_t)m->key.len);
    to = put32(to, (uint32_t)m->incident_id.len);
    to = m->offence.kind == TC_THING_NONE ? to : write_offence(to, &m->offence);
    to = put_slice(to, m->pattern_id);
    to = put_slice(to, m->key);
    to = put_slice(to, m->incident_id);
    if (r->kind == TC__RECORD_VERDICT) {
        (void)put_slice(to, r->json);
    }
}

void tc__record_write(char *to, const struct tc__record *r)
{
    size_t len = body_size(r);
    char *body = to + TC__RECORD_HEAD_BYTES;
    if (r->kind == TC__RECORD_CURSOR) {
        write_cursor(body, &r->cursor);
    } else {
        write_verdict(body, r);
    }
    memcpy(to, MAGIC, MAGIC_BYTES);
    if (r->kind != TC__RECORD_CURSOR && offence_size(r) > 0) {
        to[VERSION_AT] = VERSION_OFFENCE;
    }
    char *p = put32(to + 4, (uint32_t)r->kind);
    p = put64(p, r->number);
    p = put32(p, (uint32_t)len);
    p = put32(p, 0);
    p = put64(p, tc_slice_hash(tc_slice_make(body, len), HASH_SEED));
    (void)put64(p, tc_slice_hash(tc_slice_make(to, HASHED_HEAD), HASH_SEED));
}

static bool read_cursor(struct tc_slice body, struct tc__cursor *out)
{
    uint32_t output = body.len == CURSOR_BYTES ? get32(body.ptr) : TC__OUTPUT_COUNT;
    if (output >= TC__OUTPUT_COUNT && output != TC__OUTPUT_ALERT) {
        return false;
    }
    *out = (struct tc__cursor){.output = (enum tc__output)output,
                               .next = get64(body.ptr + 8),
                               .dev = get64(body.ptr + 16),
                               .ino = get64(body.ptr + 24),
                               .size = get64(body.ptr + 32)};
    return true;
}

static bool read_verdict(struct tc_slice body, bool has_offence, struct tc__record *out)
{
    size_t fixed = MARK_BYTES + (has_offence ? OFFENCE_BYTES : 0);
    struct tc_offence offence = {.kind = TC_THING_NONE};
    if (body.len < fixed || (has_offence && !read_offence(body.ptr + MARK_BYTES, &offence))) {
        return false;
    }
    const char *p = body.ptr;
    uint32_t status = get32(p + 48);
    size_t pattern = get32(p + 52);
    size_t key = get32(p + 56);
    size_t id = get32(p + 60);
    size_t room = body.len - fixed;
    if (status > TC_VERDICT_RESOLVED || pattern > room || key > room - pattern ||
        id > room - pattern - key) {
        return false;
    }
    out->taken_ns = (int64_t)get64(p);
    out->arrival_ns = (int64_t)get64(p + 8);
    const char *text = p + fixed;
    out->mark = (struct tc_incident_mark){.pattern_id = tc_slice_make(text, pattern),
                                          .key = tc_slice_make(text + pattern, key),
                                          .incident_id = tc_slice_make(text + pattern + key, id),
                                          .status = (enum tc_verdict_status)status,
                                          .first_ns = (int64_t)get64(p + 16),
                                          .detected_ns = (int64_t)get64(p + 24),
                                          .content = get64(p + 32),
                                          .told = get64(p + 40),
                                          .offence = offence};
    out->json = tc_slice_from(body, fixed + pattern + key + id);
    return true;
}

enum tc__record_found tc__record_read(struct tc_slice bytes, struct tc__record *out)
{
    size_t sure = bytes.len < VERSION_AT ? bytes.len : VERSION_AT;
    if (memcmp(bytes.ptr, MAGIC, sure) != 0 ||
        (bytes.len > VERSION_AT && bytes.ptr[VERSION_AT] != MAGIC[VERSION_AT] &&
         bytes.ptr[VERSION_AT] != VERSION_OFFENCE)) {
        return TC__RECORD_NONE;
    }
    if (bytes.len < TC__RECORD_HEAD_BYTES) {
        return TC__RECORD_TORN;
    }
    if (tc_slice_hash(tc_slice_make(bytes.ptr, HASHED_HEAD), HASH_SEED) != get64(bytes.ptr + 32)) {
        return TC__RECORD_NONE;
    }
    uint32_t kind = get32(bytes.ptr + 4);
    size_t len = get32(bytes.ptr + 16);
    if (len > TC_OUTBOX_RECORD_MAX) {
        return TC__RECORD_NONE;
    }
    *out = (struct tc__record){.kind = (enum tc__record_kind)kind,
                               .number = get64(bytes.ptr + 8),
                               .len = TC__RECORD_HEAD_BYTES + len};
    if (bytes.len < out->len) {
        return TC__RECORD_TORN;
    }
    struct tc_slice body = tc_slice_make(bytes.ptr + TC__RECORD_HEAD_BYTES, len);
    bool good = tc_slice_hash(body, HASH_SEED) == get64(bytes.ptr + 24);
    if (good && kind == TC__RECORD_CURSOR) {
        good = read_cursor(body, &out->cursor);
    } else if (good && (kind == TC__RECORD_VERDICT || kind == TC__RECORD_MARK)) {
        good = read_verdict(body, bytes.ptr[VERSION_AT] == VERSION_OFFENCE, out);
    } else {
        good = false;
    }
    return good ? TC__RECORD_GOOD : TC__RECORD_SPOILED;
}

unsigned tc__record_newer(struct tc_slice bytes)
{
    char head[HASHED_HEAD];
    if (bytes.len < TC__RECORD_HEAD_BYTES || memcmp(bytes.ptr, MAGIC, MAGIC_BYTES - 1) != 0 ||
        bytes.ptr[VERSION_AT] <= VERSION_OFFENCE || bytes.ptr[VERSION_AT] > '9') {
        return 0;
    }
    /* One of ours with a flipped bit? */
    bool is_damaged = false;
    memcpy(head, bytes.ptr, sizeof head);
    for (char version = MAGIC[VERSION_AT]; version <= VERSION_OFFENCE; version++) {
        head[VERSION_AT] = version;
        is_damaged = is_damaged || tc_slice_hash(tc_slice_make(head, sizeof head), HASH_SEED) ==
                                       get64(bytes.ptr + HASHED_HEAD);
    }
    return is_damaged ? 0 : (unsigned)(bytes.ptr[VERSION_AT] - '0');
}

size_t tc__record_seek(struct tc_slice bytes)
{
    struct tc_slice rest = tc_slice_from(bytes, 1);
    size_t found = tc_slice_find(rest, tc_slice_make(MAGIC, VERSION_AT));
    if (found != TC_NPOS) {
        return found + 1;
    }
    /* The first bytes of one may be the last ones here. */
    return rest.len < 2 ? bytes.len - rest.len : bytes.len - 2;
}
