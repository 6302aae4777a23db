/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/kept.h"

#include "base/buf.h"
#include "base/time.h"

#include <stdlib.h>

#define ENTRIES_MAX 512
/* One answer may have this part of the room. */
#define SHARE 4

/* What was found live is as good as new for a moment: times of what was last heard move on. */
#define LIVE_NS TC_SECOND
/* The tables, where more has streamed in since: good, then good enough while it is asked anew. */
#define FED_GOOD_NS TC_SECOND
#define FED_OLD_NS (5 * TC_SECOND)
/* And where nothing was written: "two hours ago" moves on all the same. */
#define UNCHANGED_NS (60 * TC_SECOND)

/* Invariant: an entry that has no body is empty. */
struct entry {
    struct tc_kept_key key; /* its texts lie in `text` */
    struct tc_kept_from from;
    struct tc_api_body *body;
    char *text;
    uint64_t hash;
    uint64_t used; /* the number of the last look that found it */
};

struct tc_kept {
    size_t bytes_max;
    size_t bytes;
    uint64_t looks;
    struct entry entries[ENTRIES_MAX];
};

struct tc_kept *tc_kept_create(size_t bytes)
{
    struct tc_kept *k = calloc(1, sizeof *k);
    if (k != NULL) {
        k->bytes_max = bytes;
    }
    return k;
}

/* What an entry costs, with its texts. */
static size_t cost(const struct entry *e)
{
    return e->body == NULL ? 0 : e->body->bytes.len + e->key.path.len + e->key.query.len;
}

static void forget(struct tc_kept *k, struct entry *e)
{
    k->bytes -= cost(e);
    tc_api_body_give(e->body);
    free(e->text);
    *e = (struct entry){0};
}

void tc_kept_destroy(struct tc_kept *k)
{
    for (size_t i = 0; k != NULL && i < ENTRIES_MAX; i++) {
        forget(k, &k->entries[i]);
    }
    free(k);
}

bool tc_kept_is_same(const struct tc_kept_key *a, const struct tc_kept_key *b)
{
    return a->question == b->question && a->is_gzip == b->is_gzip &&
           tc_slice_eq(a->path, b->path) && tc_slice_eq(a->query, b->query);
}

static uint64_t hash_of(const struct tc_kept_key *key)
{
    return tc_slice_hash(key->query, tc_slice_hash(key->path, key->is_gzip));
}

static struct entry *find(struct tc_kept *k, const struct tc_kept_key *key, uint64_t hash)
{
    for (size_t i = 0; i < ENTRIES_MAX; i++) {
        struct entry *e = &k->entries[i];
        if (e->body != NULL && e->hash == hash && tc_kept_is_same(&e->key, key)) {
            return e;
        }
    }
    return NULL;
}

static enum tc_kept_use use_of(const struct entry *e, const struct tc_kept_from *now)
{
    int64_t age_ns = now->at_ns - e->from.at_ns;
    if (e->from.told != now->told || age_ns < 0) {
        return TC_KEPT_NONE;
    }
    if (e->key.question->place == TC_PLACE_LIVE) {
        return age_ns <= LIVE_NS ? TC_KEPT_GOOD : TC_KEPT_NONE;
    }
    if (e->from.fed == now->fed) {
        return age_ns <= UNCHANGED_NS ? TC_KEPT_GOOD : TC_KEPT_NONE;
    }
    return age_ns <= FED_GOOD_NS ? TC_KEPT_GOOD : age_ns <= FED_OLD_NS ? TC_KEPT_OLD : TC_KEPT_NONE;
}

struct tc_api_body *tc_kept_find(struct tc_kept *k, const struct tc_kept_key *key,
                                 const struct tc_kept_from *now, enum tc_kept_use *out_use,
                                 int64_t *out_age_ns)
{
    struct entry *e = find(k, key, hash_of(key));
    *out_use = e == NULL ? TC_KEPT_NONE : use_of(e, now);
    if (*out_use == TC_KEPT_NONE) {
        return NULL;
    }
    e->used = ++k->looks;
    *out_age_ns = now->at_ns - e->from.at_ns;
    return e->body;
}

/* The one that was asked for longest ago; an empty one before all. */
static struct entry *oldest(struct tc_kept *k, bool may_be_empty)
{
    struct entry *found = NULL;
    for (size_t i = 0; i < ENTRIES_MAX; i++) {
        struct entry *e = &k->entries[i];
        if (e->body == NULL) {
            if (may_be_empty) {
                return e;
            }
        } else if (found == NULL || e->used < found->used) {
            found = e;
        }
    }
    return found;
}

void tc_kept_put(struct tc_kept *k, const struct tc_kept_key *key, const struct tc_kept_from *from,
                 struct tc_api_body *body)
{
    uint64_t hash = hash_of(key);
    struct entry *e = find(k, key, hash);
    size_t text_len = key->path.len + key->query.len;
    size_t bytes = body->bytes.len + text_len;
    if (e != NULL) {
        forget(k, e);
    }
    char *text = bytes > k->bytes_max / SHARE ? NULL : malloc(text_len + 1);
    if (text == NULL) {
        return;
    }
    while (k->bytes > k->bytes_max - bytes) {
        forget(k, oldest(k, false));
    }
    e = oldest(k, true);
    forget(k, e);
    struct tc_buf b = tc_buf_make(text, text_len + 1);
    tc_buf_str(&b, key->path);
    tc_buf_str(&b, key->query);
    *e = (struct entry){.key = *key,
                        .from = *from,
                        .body = tc_api_body_use(body),
                        .text = text,
                        .hash = hash,
                        .used = ++k->looks};
    e->key.path = tc_slice_make(text, key->path.len);
    e->key.query = tc_slice_make(text + key->path.len, key->query.len);
    k->bytes += bytes;
}
