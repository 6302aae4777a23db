/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/incident.h"

#include "base/digest.h"

#include <string.h>

struct incident {
    uint64_t content; /* hash of what was last said */
    int64_t first_ns;
    int64_t detected_ns;
    uint32_t key_len;
    uint8_t status; /* enum tc_verdict_status of what was last said */
    char id[TC_INCIDENT_ID_LEN];
    char key[]; /* pattern id, NUL, join key */
};

/* The index has room for as many records as the ring can hold, so only the ring ever drops. */
bool tc_incidents_init(struct tc_incidents *t, struct tc_arena *arena, size_t bytes,
                       struct tc_lru *told)
{
    *t = (struct tc_incidents){.told = told};
    return tc_ring_init(&t->ring, arena, bytes) &&
           tc_map_init(&t->index, arena, bytes / sizeof(struct incident));
}

static uint64_t key_hash(struct tc_slice pattern_id, struct tc_slice key)
{
    uint64_t seed = pattern_id.len;
    for (size_t i = 0; i < pattern_id.len; i++) { /* a number of one or two digits */
        seed = seed * 31 + (unsigned char)pattern_id.ptr[i];
    }
    return tc_slice_hash(key, seed);
}

#define ID_TEXT_MAX 512

static bool same_key(const struct incident *in, struct tc_slice pattern_id, struct tc_slice key)
{
    return in->key_len == pattern_id.len + 1 + key.len &&
           tc_bytes_eq(in->key + pattern_id.len + 1, key.ptr, key.len) &&
           tc_bytes_eq(in->key, pattern_id.ptr, pattern_id.len);
}

/* The live incident of that key and where the index holds it; or NULL and where it would. */
static struct incident *find(const struct tc_incidents *t, struct tc_slice pattern_id,
                             struct tc_slice key, uint64_t hash, struct tc_map_iter *slot)
{
    *slot = tc_map_find(&t->index, hash);
    for (uint64_t pos; (pos = tc_map_next(&t->index, slot)) != 0;) {
        struct incident *in = tc_ring_at(&t->ring, pos);
        if (in != NULL && same_key(in, pattern_id, key)) {
            return in;
        }
    }
    return NULL;
}

/* Both halves of the product: each bit of a and b moves many of the result. */
static inline uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* One more number of the content. */
static inline uint64_t add_number(uint64_t h, uint64_t value)
{
    return fold(h ^ value, 0xff51afd7ed558ccdULL);
}

/* Up to sixteen bytes, straight from where they are: what was just written in pieces is slow to
 * read as a whole. */
static inline uint64_t few_bytes(const char *p, size_t len)
{
    uint64_t head = 0;
    uint64_t tail = 0;
    if (len >= 8) {
        __builtin_memcpy(&head, p, 8);
        __builtin_memcpy(&tail, p + len - 8, 8);
    } else if (len >= 4) {
        __builtin_memcpy(&head, p, 4);
        __builtin_memcpy(&tail, p + len - 4, 4);
    } else if (len > 0) {
        head = (unsigned char)p[0];
        tail = (uint64_t)(unsigned char)p[len / 2] << 8 | (unsigned char)p[len - 1];
    }
    return fold(head ^ 0x9e3779b97f4a7c15ULL, tail ^ ~(uint64_t)len);
}

/* One more string. What it says is known before h is: strings do not wait for each other. */
static inline uint64_t add_text(uint64_t h, struct tc_slice s)
{
    return add_number(h, s.len > 16 ? tc_slice_hash(s, s.len) : few_bytes(s.ptr, s.len));
}

static uint64_t add_scope(uint64_t h, const struct tc_scope *s)
{
    const struct tc_slice texts[] = {s->node, s->ns, s->pod, s->gpu_uuid};
    for (size_t i = 0; i < TC_COUNT(texts); i++) {
        h = add_text(h, texts[i]);
    }
    uint64_t pci = (uint64_t)s->pci.domain << 24 | (uint64_t)s->pci.bus << 16 |
                   (uint64_t)s->pci.device << 8 | s->pci.function;
    return add_number(add_number(h, pci), (uint64_t)s->rank << 32 | (uint32_t)s->gpu_index);
}

/* The value of an attribute, whatever its type. */
static inline uint64_t add_attr(uint64_t h, const struct tc_attr *a)
{
    switch (a->type) {
    case TC_ATTR_STRING:
        return add_text(h, a->string);
    case TC_ATTR_INT:
        return add_number(h, (uint64_t)a->integer);
    case TC_ATTR_BOOL:
        return add_number(h, a->boolean);
    case TC_ATTR_INTS:
        return add_text(h, tc_slice_make((const char *)a->ints, a->count * sizeof *a->ints));
    case TC_ATTR_STRINGS:
        for (size_t i = 0; i < a->count; i++) {
            h = add_text(h, a->strings[i]);
        }
        return add_number(h, a->count);
    case TC_ATTR_SCOPES:
        for (size_t i = 0; i < a->count; i++) {
            h = add_scope(h, &a->scopes[i]);
        }
        return add_number(h, a->count);
    }
    return h;
}

/*
 * What a reader would notice: the headline, which says who and where, every attribute, how much
 * evidence there is, other advice, another cause. Not last_seen, which moves with every event.
 */
static uint64_t content_hash(const struct tc_finding *f)
{
    uint64_t h = add_text(f->attr_count, f->discriminator);
    for (size_t i = 0; i < f->attr_count; i++) {
        h = add_attr(h, &f->attrs[i]);
    }
    h = add_number(h, (uint64_t)f->evidence_count << 32 | (uint64_t)f->cause_count << 16 |
                          (uint64_t)f->confidence << 8 | (uint64_t)f->severity << 4 |
                          (uint64_t)f->root << 1 | (uint64_t)f->incomplete);
    h = add_number(h, f->remediation.len); /* other advice is news, and seldom as long */
    if (f->evidence_count > 0) {
        h = add_text(h, f->evidence[f->evidence_count - 1].uid);
    }
    for (size_t i = 0; i < f->cause_count; i++) {
        h = add_text(h, f->causes[i].key);
    }
    return add_text(h, f->headline);
}

static tc_status make_id(const struct tc_finding *f, struct tc_arena *scratch, char *out)
{
    struct tc_slice first = f->evidence_count > 0 ? f->evidence[0].uid : TC_EMPTY;
    size_t len = f->pattern_id.len + f->key.len + first.len + 2;
    char small[ID_TEXT_MAX];
    char *text = len <= sizeof small ? small : tc_new(scratch, char, len);
    if (text == NULL) {
        return TC_E_NOMEM;
    }
    struct tc_buf b = tc_buf_make(text, len);
    tc_buf_str(&b, f->pattern_id);
    tc_buf_char(&b, '\0');
    tc_buf_str(&b, f->key);
    tc_buf_char(&b, '\0');
    tc_buf_str(&b, first);
    struct tc_digest digest;
    TC_TRY(tc_digest_sha256(tc_buf_slice(&b), &digest));
    (void)tc_put_hex_bytes(out, digest.bytes, TC_INCIDENT_ID_LEN / 2);
    return TC_OK;
}

/* A new incident, of which only the key is known. NULL when the key is too long to be kept. */
static struct incident *add(struct tc_incidents *t, struct tc_slice pattern_id, struct tc_slice key,
                            const struct tc_map_iter *slot)
{
    uint64_t pos = TC_RING_NONE;
    size_t key_len = pattern_id.len + 1 + key.len;
    size_t len = sizeof(struct incident) + key_len;
    if (len > t->ring.size / 2 - sizeof(struct tc_ring_record)) {
        return NULL;
    }
    struct incident *in = tc_ring_push_raw(&t->ring, len, &pos);
    /* Where the next one goes: by the time it comes the cache has it. */
    __builtin_prefetch((const char *)in + len, 1);
    __builtin_prefetch((const char *)in + len + 64, 1);
    *in = (struct incident){.key_len = (uint32_t)key_len};
    char *p = tc_put_str(in->key, pattern_id);
    *p++ = '\0';
    (void)tc_put_str(p, key);
    return tc_map_add_found(&t->index, slot, pos, t->ring.tail) ? in : NULL;
}

/* Moves a changed incident to the young end of the ring, so that idle ones leave first. */
static struct incident *renew(struct tc_incidents *t, const struct incident *old,
                              struct tc_map_iter *slot)
{
    uint64_t pos = TC_RING_NONE;
    size_t len = sizeof *old + old->key_len;
    if (t->ring.size - (size_t)(t->ring.head - t->ring.tail) < 4 * len) {
        return NULL; /* the push could drop old itself: leave it where it is */
    }
    struct incident *in = tc_ring_push(&t->ring, len, &pos);
    if (in != NULL) {
        memcpy(in, old, len);
        tc_map_replace(slot, pos);
    }
    return in;
}

/* ---- what was told ---- */

/* A digest: senders choose join keys, and none may pass for another's. */
static struct tc_lru_key told_key(struct tc_slice pattern_id, struct tc_slice key)
{
    struct tc_sha256 sha;
    struct tc_digest digest;
    struct tc_lru_key out;
    tc_sha256_init(&sha);
    tc_sha256_update(&sha, pattern_id);
    tc_sha256_update(&sha, tc_slice_make("", 1));
    tc_sha256_update(&sha, key);
    tc_sha256_final(&sha, &digest);
    memcpy(&out, digest.bytes, sizeof out);
    return out;
}

const struct tc_incident_told *tc_incidents_told(const struct tc_incidents *t,
                                                 struct tc_slice pattern_id, struct tc_slice key)
{
    return t->told == NULL ? NULL : tc_lru_find(t->told, told_key(pattern_id, key));
}

tc_status tc_incidents_note_told(struct tc_incidents *t, const struct tc_incident_mark *mark,
                                 bool earlier)
{
    if (mark->incident_id.len != TC_INCIDENT_ID_LEN || mark->pattern_id.len == 0) {
        return TC_E_MALFORMED;
    }
    if (t->told == NULL) {
        return TC_OK;
    }
    struct tc_incident_told *told = tc_lru_put(t->told, told_key(mark->pattern_id, mark->key),
                                               mark->status == TC_VERDICT_RESOLVED);
    *told = (struct tc_incident_told){.first_ns = mark->first_ns,
                                      .detected_ns = mark->detected_ns,
                                      .content = mark->content,
                                      .hash = mark->told,
                                      .status = (uint8_t)mark->status,
                                      .earlier = earlier};
    memcpy(told->id, mark->incident_id.ptr, TC_INCIDENT_ID_LEN);
    return TC_OK;
}

/* Makes a new record the incident that was told under its key; false when none was. */
static bool recall(const struct tc_incidents *t, const struct tc_finding *f, struct incident *in)
{
    const struct tc_incident_told *told = tc_incidents_told(t, f->pattern_id, f->key);
    if (told == NULL) {
        return false;
    }
    memcpy(in->id, told->id, TC_INCIDENT_ID_LEN);
    in->first_ns = told->first_ns;
    in->detected_ns = told->detected_ns;
    in->content = told->content;
    in->status = told->status;
    return true;
}

/* ---- findings ---- */

/*
 * The id of the incident of a cause, empty when nobody knows it. Many findings name the same one in
 * a row. A record that was renewed since has the right id still, and it leaves the ring before the
 * younger one.
 */
static struct tc_slice find_cause(struct tc_incidents *t, struct tc_slice pattern_id,
                                  struct tc_slice key)
{
    const struct incident *in = tc_ring_at(&t->ring, t->last_cause);
    if (in == NULL || !same_key(in, pattern_id, key)) {
        struct tc_map_iter slot;
        in = find(t, pattern_id, key, key_hash(pattern_id, key), &slot);
        t->last_cause = in == NULL ? TC_RING_NONE : slot.slot->value;
    }
    if (in != NULL) {
        return tc_slice_make(in->id, TC_INCIDENT_ID_LEN);
    }
    const struct tc_incident_told *told = tc_incidents_told(t, pattern_id, key);
    return told == NULL ? TC_EMPTY : tc_slice_make(told->id, TC_INCIDENT_ID_LEN);
}

static tc_status resolve_causes(struct tc_incidents *t, const struct tc_finding *f,
                                struct tc_arena *scratch, struct tc_verdict *out)
{
    if (f->cause_count == 0) {
        return TC_OK;
    }
    struct tc_verdict_cause *causes = tc_new(scratch, struct tc_verdict_cause, f->cause_count);
    if (causes == NULL) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < f->cause_count; i++) {
        causes[i].why = f->causes[i].why;
        causes[i].incident_id = find_cause(t, f->pattern_id, f->causes[i].key);
    }
    out->causes = causes;
    out->cause_count = f->cause_count;
    return TC_OK;
}

/* A finding that the table has no incident for: one that was told before, or a new one. */
static tc_status begin(struct tc_incidents *t, const struct tc_finding *f, int64_t now_ns,
                       const struct tc_map_iter *slot, struct tc_arena *scratch,
                       struct incident **out, bool *out_known)
{
    struct incident *in = add(t, f->pattern_id, f->key, slot);
    if (in == NULL) {
        return TC_E_NOMEM;
    }
    *out_known = recall(t, f, in);
    if (!*out_known) {
        TC_TRY(make_id(f, scratch, in->id));
        in->first_ns = f->first_ns;
        in->detected_ns = now_ns;
    }
    *out = in;
    return TC_OK;
}

/* The incident goes on, with something new about it. */
static void go_on(struct incident *in, const struct tc_finding *f, int64_t now_ns)
{
    if (f->redated && f->first_ns > in->first_ns) {
        in->detected_ns = now_ns;
        in->first_ns = f->first_ns;
    }
    in->first_ns = f->first_ns < in->first_ns ? f->first_ns : in->first_ns;
}

tc_status tc_incidents_apply(struct tc_incidents *t, const struct tc_finding *f, int64_t now_ns,
                             struct tc_arena *scratch, struct tc_verdict *out, bool *out_new)
{
    *out_new = false;
    struct tc_map_iter slot;
    uint64_t hash = key_hash(f->pattern_id, f->key);
    tc_map_prefetch(&t->index, hash); /* seldom in the cache, and needed only after the content */
    uint64_t content = content_hash(f);
    struct incident *in = find(t, f->pattern_id, f->key, hash, &slot);
    enum tc_verdict_status status = f->resolved ? TC_VERDICT_RESOLVED : TC_VERDICT_UPDATED;
    if (in == NULL) {
        bool known = false;
        TC_TRY(begin(t, f, now_ns, &slot, scratch, &in, &known));
        status = f->resolved || known ? status : TC_VERDICT_OPEN;
    } else {
        bool was_resolved = in->status == TC_VERDICT_RESOLVED;
        if (in->content == content && was_resolved == f->resolved) {
            t->unchanged++;
            return TC_OK;
        }
        struct incident *young = renew(t, in, &slot);
        in = young == NULL ? in : young;
    }
    go_on(in, f, now_ns);
    t->opened += status == TC_VERDICT_OPEN;
    t->updated += status == TC_VERDICT_UPDATED;
    t->resolved += status == TC_VERDICT_RESOLVED;
    in->content = content;
    in->status = (uint8_t)status;
    *out = (struct tc_verdict){.finding = f,
                               .status = status,
                               .first_ns = in->first_ns,
                               .detected_ns = in->detected_ns,
                               .content = content};
    out->incident_id = tc_slice_make(in->id, TC_INCIDENT_ID_LEN);
    TC_TRY(resolve_causes(t, f, scratch, out));
    *out_new = true;
    return TC_OK;
}
