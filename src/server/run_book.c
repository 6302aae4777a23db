/* SPDX-License-Identifier: Apache-2.0 */
#include "server/run_book.h"

#include "base/time.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* An entry is in one of so many places from its hash on. */
#define PROBES 8
/* A run that was silent so long may still be what happens to its pod; names are used again later.
 */
#define NEAR_NS (600 * TC_SECOND)
/* Telemetry comes more often than this: another run within it shares the node. */
#define SHARED_NS (300 * TC_SECOND)
/* What was noted so shortly before is not noted again. */
#define SAME_NS TC_SECOND

enum key_kind { KEY_NONE, KEY_POD_UID, KEY_POD, KEY_JOB, KEY_NODE };

struct entry {
    enum key_kind kind; /* KEY_NONE: free */
    uint64_t hash;
    int64_t first_ns;
    int64_t last_ns;
    int64_t shared_ns; /* when another run was seen there too; INT64_MIN: never */
    char key[2 * TC_RUN_TEXT_MAX];
    size_t key_len;
    char run[TC_RUN_TEXT_MAX];
};

struct tc_run_book {
    pthread_mutex_t lock;
    struct entry *entries; /* made when the first is noted */
    uint64_t last_hash;    /* of all that was noted last ... */
    int64_t last_ns;       /* ... and when */
};

struct tc_run_book *tc_run_book_create(void)
{
    struct tc_run_book *b = calloc(1, sizeof *b);
    if (b != NULL) {
        (void)pthread_mutex_init(&b->lock, NULL);
    }
    return b;
}

void tc_run_book_destroy(struct tc_run_book *b)
{
    if (b == NULL) {
        return;
    }
    (void)pthread_mutex_destroy(&b->lock);
    free(b->entries);
    free(b);
}

struct key {
    enum key_kind kind;
    struct tc_slice first;
    struct tc_slice second; /* of a pod: its name, after the namespace */
    uint64_t hash;
};

/* FNV-1a: a few short names for each event that names a run. */
static uint64_t mix(uint64_t hash, struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        hash = (hash ^ (unsigned char)s.ptr[i]) * UINT64_C(0x100000001b3);
    }
    return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

static struct key make_key(enum key_kind kind, struct tc_slice first, struct tc_slice second)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) + (uint64_t)kind;
    return (struct key){kind, first, second, mix(mix(hash, first), second)};
}

static bool is_usable(const struct key *k)
{
    bool has = k->kind == KEY_POD ? k->second.len > 0 : k->first.len > 0;
    return has && k->first.len < TC_RUN_TEXT_MAX && k->second.len < TC_RUN_TEXT_MAX;
}

static bool is_it(const struct entry *e, const struct key *k)
{
    return e->kind == k->kind && e->hash == k->hash &&
           e->key_len == k->first.len + 1 + k->second.len &&
           memcmp(e->key, k->first.ptr == NULL ? "" : k->first.ptr, k->first.len) == 0 &&
           (k->second.len == 0 ||
            memcmp(e->key + k->first.len + 1, k->second.ptr, k->second.len) == 0);
}

static struct entry *find(const struct tc_run_book *b, const struct key *k)
{
    for (size_t i = 0; i < PROBES && b->entries != NULL; i++) {
        struct entry *e = &b->entries[(k->hash + i) % TC_RUN_BOOK_ENTRIES];
        if (is_it(e, k)) {
            return e;
        }
    }
    return NULL;
}

/* A free place for the key, or the one that was silent longest. */
static struct entry *make(const struct tc_run_book *b, const struct key *k)
{
    struct entry *oldest = NULL;
    for (size_t i = 0; i < PROBES; i++) {
        struct entry *e = &b->entries[(k->hash + i) % TC_RUN_BOOK_ENTRIES];
        if (e->kind == KEY_NONE) {
            oldest = e;
            break;
        }
        oldest = oldest == NULL || e->last_ns < oldest->last_ns ? e : oldest;
    }
    *oldest = (struct entry){.kind = k->kind, .hash = k->hash, .shared_ns = INT64_MIN};
    if (k->first.len > 0) {
        memcpy(oldest->key, k->first.ptr, k->first.len);
    }
    if (k->second.len > 0) {
        memcpy(oldest->key + k->first.len + 1, k->second.ptr, k->second.len);
    }
    oldest->key_len = k->first.len + 1 + k->second.len;
    return oldest;
}

static void note(struct tc_run_book *b, const struct key *k, struct tc_slice run, int64_t at_ns)
{
    if (!is_usable(k)) {
        return;
    }
    struct entry *e = find(b, k);
    bool is_new = e == NULL;
    if (is_new) {
        e = make(b, k);
    }
    if (!is_new && tc_slice_eq(tc_slice_cstr(e->run), run)) {
        e->first_ns = at_ns < e->first_ns ? at_ns : e->first_ns;
        e->last_ns = at_ns > e->last_ns ? at_ns : e->last_ns;
        return;
    }
    if (!is_new && at_ns < e->last_ns + SHARED_NS) {
        e->shared_ns = at_ns;
    }
    memcpy(e->run, run.ptr, run.len);
    e->run[run.len] = '\0';
    e->first_ns = at_ns;
    e->last_ns = at_ns;
}

void tc_run_book_note(struct tc_run_book *b, const struct tc_event *ev)
{
    const struct tc_scope *s = &ev->scope;
    struct tc_slice run = ev->run_id;
    if (run.len == 0 || run.len >= TC_RUN_TEXT_MAX || tc_slice_find_byte(run, '\0') != TC_NPOS) {
        return;
    }
    struct key keys[] = {
        make_key(KEY_POD_UID, s->pod_uid, TC_EMPTY),
        make_key(KEY_POD, s->ns, s->pod),
        make_key(KEY_JOB, s->job, TC_EMPTY),
        make_key(KEY_NODE, s->node, TC_EMPTY),
    };
    uint64_t all = mix(keys[0].hash ^ keys[1].hash ^ keys[2].hash ^ keys[3].hash, run);
    (void)pthread_mutex_lock(&b->lock);
    bool same =
        all == b->last_hash && ev->time_ns >= b->last_ns && ev->time_ns - b->last_ns < SAME_NS;
    if (!same && b->entries == NULL) {
        b->entries = calloc(TC_RUN_BOOK_ENTRIES, sizeof *b->entries);
    }
    for (size_t i = 0; i < TC_COUNT(keys) && !same && b->entries != NULL; i++) {
        note(b, &keys[i], run, ev->time_ns);
    }
    if (!same) {
        b->last_hash = all;
        b->last_ns = ev->time_ns;
    }
    (void)pthread_mutex_unlock(&b->lock);
}

/* The run of the key, if it was there around that time. */
static bool look(const struct tc_run_book *b, struct key k, const struct tc_run_question *q,
                 char *out_run)
{
    const struct entry *e = is_usable(&k) ? find(b, &k) : NULL;
    if (e == NULL || q->to_ns < e->first_ns - NEAR_NS || q->from_ns > e->last_ns + NEAR_NS) {
        return false;
    }
    bool shared = e->shared_ns != INT64_MIN && e->shared_ns >= q->from_ns - SHARED_NS;
    if (k.kind == KEY_NODE && shared) {
        return false; /* it may be either */
    }
    memcpy(out_run, e->run, sizeof e->run);
    return true;
}

enum tc_run_join tc_run_book_find(struct tc_run_book *b, const struct tc_run_question *q,
                                  char *out_run)
{
    enum tc_run_join join = TC_RUN_NONE;
    out_run[0] = '\0';
    (void)pthread_mutex_lock(&b->lock);
    if (look(b, make_key(KEY_POD_UID, q->pod_uid, TC_EMPTY), q, out_run) ||
        look(b, make_key(KEY_POD, q->ns, q->pod), q, out_run) ||
        look(b, make_key(KEY_JOB, q->job, TC_EMPTY), q, out_run)) {
        join = TC_RUN_IDENTITY;
    } else if (look(b, make_key(KEY_NODE, q->node, TC_EMPTY), q, out_run)) {
        join = TC_RUN_TIME;
    }
    (void)pthread_mutex_unlock(&b->lock);
    return join;
}

struct tc_slice tc_run_join_name(enum tc_run_join join)
{
    return join == TC_RUN_IDENTITY ? TC_LIT("identity")
           : join == TC_RUN_TIME   ? TC_LIT("time")
                                   : TC_EMPTY;
}
