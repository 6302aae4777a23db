/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/incident.h"

#include "base/digest.h"

#include <string.h>

struct incident {
    uint64_t content; /* hash of what was last said */
    int64_t first_ns;
    int64_t detected_ns;
    struct tc_incident_told told;
    uint32_t key_len;
    uint8_t status; /* enum tc_verdict_status of what was last said */
    bool unseen;    /* restored, and not found again since */
    char id[TC_INCIDENT_ID_LEN];
    char key[]; /* pattern id, NUL, join key */
};

/* The index has room for as many records as the ring can hold, so only the ring ever drops. */
bool tc_incidents_init(struct tc_incidents *t, struct tc_arena *arena, size_t bytes)
{
    *t = (struct tc_incidents){0};
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
           memcmp(in->key, pattern_id.ptr, pattern_id.len) == 0 &&
           (key.len == 0 || memcmp(in->key + pattern_id.len + 1, key.ptr, key.len) == 0);
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

/* One more number of the content. */
static uint64_t add_number(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0xff51afd7ed558ccdULL;
    return h ^ h >> 32;
}

/* The value of an attribute, whatever its type. */
static uint64_t add_attr(uint64_t h, const struct tc_attr *a)
{
    switch (a->type) {
    case TC_ATTR_STRING:
        return tc_slice_hash(a->string, h);
    case TC_ATTR_INT:
        return add_number(h, (uint64_t)a->integer);
    case TC_ATTR_BOOL:
        return add_number(h, a->boolean);
    case TC_ATTR_INTS:
        for (size_t i = 0; i < a->count; i++) {
            h = add_number(h, (uint64_t)a->ints[i]);
        }
        return add_number(h, a->count);
    case TC_ATTR_STRINGS:
        for (size_t i = 0; i < a->count; i++) {
            h = tc_slice_hash(a->strings[i], h);
        }
        return add_number(h, a->count);
    }
    return h;
}

/*
 * What a reader would notice: the headline, which says who and where, every
 * attribute, how much evidence there is. Not last_seen, which moves with every event.
 */
static uint64_t content_hash(const struct tc_finding *f)
{
    uint64_t h = tc_slice_hash(f->discriminator, f->attr_count);
    for (size_t i = 0; i < f->attr_count; i++) {
        h = add_attr(h, &f->attrs[i]);
    }
    h = add_number(h, (uint64_t)f->evidence_count << 32 | (uint64_t)f->cause_count << 16 |
                          (uint64_t)f->confidence << 8 | (uint64_t)f->severity << 4 |
                          (uint64_t)f->root << 1 | (uint64_t)f->incomplete);
    if (f->evidence_count > 0) {
        h = tc_slice_hash(f->evidence[f->evidence_count - 1].uid, h);
    }
    return tc_slice_hash(f->headline, h);
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

static struct incident *add(struct tc_incidents *t, struct tc_slice pattern_id, struct tc_slice key,
                            const struct tc_map_iter *slot)
{
    uint64_t pos = TC_RING_NONE;
    size_t key_len = pattern_id.len + 1 + key.len;
    struct incident *in = tc_ring_push(&t->ring, sizeof *in + key_len, &pos);
    if (in == NULL) {
        return NULL;
    }
    in->key_len = (uint32_t)key_len;
    struct tc_buf b = tc_buf_make(in->key, key_len);
    tc_buf_str(&b, pattern_id);
    tc_buf_char(&b, '\0');
    tc_buf_str(&b, key);
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

static tc_status resolve_causes(const struct tc_incidents *t, const struct tc_finding *f,
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
        struct tc_map_iter slot;
        struct tc_slice key = f->causes[i].key;
        const struct incident *cause =
            find(t, f->pattern_id, key, key_hash(f->pattern_id, key), &slot);
        causes[i].why = f->causes[i].why;
        causes[i].incident_id =
            cause == NULL ? TC_EMPTY : tc_slice_make(cause->id, TC_INCIDENT_ID_LEN);
    }
    out->causes = causes;
    out->cause_count = f->cause_count;
    return TC_OK;
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
        in = add(t, f->pattern_id, f->key, &slot);
        if (in == NULL) {
            return TC_E_NOMEM;
        }
        TC_TRY(make_id(f, scratch, in->id));
        in->first_ns = f->first_ns;
        in->detected_ns = now_ns;
        status = f->resolved ? TC_VERDICT_RESOLVED : TC_VERDICT_OPEN;
    } else {
        bool was_resolved = in->status == TC_VERDICT_RESOLVED;
        if (in->content == content && was_resolved == f->resolved && !in->unseen) {
            t->unchanged++;
            return TC_OK;
        }
        struct incident *young = renew(t, in, &slot);
        in = young == NULL ? in : young;
        in->first_ns = f->first_ns < in->first_ns ? f->first_ns : in->first_ns;
        in->unseen = false;
    }
    t->opened += status == TC_VERDICT_OPEN;
    t->updated += status == TC_VERDICT_UPDATED;
    t->resolved += status == TC_VERDICT_RESOLVED;
    in->content = content;
    in->status = (uint8_t)status;
    *out = (struct tc_verdict){
        .finding = f, .status = status, .first_ns = in->first_ns, .detected_ns = in->detected_ns};
    out->incident_id = tc_slice_make(in->id, TC_INCIDENT_ID_LEN);
    TC_TRY(resolve_causes(t, f, scratch, out));
    *out_new = true;
    return TC_OK;
}

tc_status tc_incidents_restore(struct tc_incidents *t, const struct tc_incident_mark *mark)
{
    if (mark->incident_id.len != TC_INCIDENT_ID_LEN || mark->pattern_id.len == 0) {
        return TC_E_MALFORMED;
    }
    struct tc_map_iter slot;
    uint64_t hash = key_hash(mark->pattern_id, mark->key);
    struct incident *in = find(t, mark->pattern_id, mark->key, hash, &slot);
    if (in == NULL) {
        in = add(t, mark->pattern_id, mark->key, &slot);
        if (in == NULL) {
            return TC_E_LIMIT;
        }
    }
    memcpy(in->id, mark->incident_id.ptr, TC_INCIDENT_ID_LEN);
    in->first_ns = mark->first_ns;
    in->detected_ns = mark->detected_ns;
    in->content = mark->content;
    in->status = (uint8_t)mark->status;
    in->unseen = true;
    in->told = (struct tc_incident_told){.hash = mark->told,
                                         .content = mark->content,
                                         .at_ns = TC_TIME_NONE,
                                         .status = (uint8_t)mark->status,
                                         .opened = true,
                                         .earlier = true};
    return TC_OK;
}

struct tc_incident_told *tc_incidents_told(struct tc_incidents *t, struct tc_slice pattern_id,
                                           struct tc_slice key, uint64_t *out_content)
{
    struct tc_map_iter slot;
    struct incident *in = find(t, pattern_id, key, key_hash(pattern_id, key), &slot);
    if (in == NULL) {
        return NULL;
    }
    *out_content = in->content;
    return &in->told;
}
