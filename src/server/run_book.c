/* SPDX-License-Identifier: Apache-2.0 */
#include "server/run_book.h"

#include "base/time.h"
#include "warehouse/run_claims.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* An entry is in one of so many places from its hash on. */
#define PROBES 8
/* Telemetry comes more often than this: what was silent so long has probably ended. */
#define SILENT_NS (60 * TC_SECOND)
/* Less than what is near to a window: verdicts are joined up to there without asking again. */
#define GROWN_NS (300 * TC_SECOND)
/* What was noted so shortly before is not noted again. */
#define SAME_NS TC_SECOND
#define NAME_MAX_BYTES (2 * TC_RUN_TEXT_MAX + 1)

struct entry {
    bool is_used;
    bool is_taken; /* from taken_first_ns to taken_last_ns */
    enum tc_run_name kind;
    uint64_t hash; /* of kind, name and run */
    int64_t first_ns;
    int64_t last_ns;
    int64_t taken_first_ns;
    int64_t taken_last_ns;
    char name[NAME_MAX_BYTES];
    size_t name_len;
    char run[TC_RUN_TEXT_MAX];
    size_t run_len;
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

/* A name of a run: of a pod, the namespace and the name. */
struct key {
    enum tc_run_name kind;
    struct tc_slice run;
    struct tc_slice name;
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

static struct key make_key(enum tc_run_name kind, struct tc_slice run, struct tc_slice name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) + (uint64_t)kind;
    return (struct key){kind, run, name, mix(mix(hash, name), run)};
}

static bool is_it(const struct entry *e, const struct key *k)
{
    return e->is_used && e->kind == k->kind && e->hash == k->hash &&
           tc_slice_eq(tc_slice_make(e->name, e->name_len), k->name) &&
           tc_slice_eq(tc_slice_make(e->run, e->run_len), k->run);
}

/* The entry of a key, or its new place: a free one, or that which was silent longest. */
static struct entry *find(const struct tc_run_book *b, const struct key *k)
{
    struct entry *oldest = NULL;
    for (size_t i = 0; i < PROBES; i++) {
        struct entry *e = &b->entries[(k->hash + i) % TC_RUN_BOOK_ENTRIES];
        if (is_it(e, k)) {
            return e;
        }
        bool older =
            oldest == NULL || (oldest->is_used && (!e->is_used || e->last_ns < oldest->last_ns));
        oldest = older ? e : oldest;
    }
    oldest->is_used = false;
    return oldest;
}

static void note(struct tc_run_book *b, const struct key *k, int64_t at_ns)
{
    if (k->name.len == 0 || k->name.len > NAME_MAX_BYTES) {
        return;
    }
    struct entry *e = find(b, k);
    if (!e->is_used) {
        *e = (struct entry){.is_used = true,
                            .kind = k->kind,
                            .hash = k->hash,
                            .first_ns = at_ns,
                            .last_ns = at_ns,
                            .name_len = k->name.len,
                            .run_len = k->run.len};
        memcpy(e->name, k->name.ptr, k->name.len);
        memcpy(e->run, k->run.ptr, k->run.len);
    }
    e->first_ns = at_ns < e->first_ns ? at_ns : e->first_ns;
    e->last_ns = at_ns > e->last_ns ? at_ns : e->last_ns;
}

/* "namespace/name", or the name alone; empty when it is too long. */
static struct tc_slice pod_name(const struct tc_scope *s, char out[NAME_MAX_BYTES])
{
    if (s->pod.len == 0 || s->pod.len > TC_RUN_TEXT_MAX || s->ns.len > TC_RUN_TEXT_MAX) {
        return TC_EMPTY;
    }
    struct tc_buf b = tc_buf_make(out, NAME_MAX_BYTES);
    tc_buf_str(&b, s->ns);
    tc_buf_str(&b, s->ns.len > 0 ? TC_LIT("/") : TC_EMPTY);
    tc_buf_str(&b, s->pod);
    return tc_buf_slice(&b);
}

void tc_run_book_note(struct tc_run_book *b, const struct tc_event *ev)
{
    const struct tc_scope *s = &ev->scope;
    struct tc_slice run = ev->run_id;
    char pod[NAME_MAX_BYTES];
    if (run.len == 0 || run.len > TC_RUN_TEXT_MAX || tc_slice_find_byte(run, '\0') != TC_NPOS) {
        return;
    }
    struct key keys[] = {
        make_key(TC_RUN_NAME_POD_UID, run, s->pod_uid),
        make_key(TC_RUN_NAME_POD, run, pod_name(s, pod)),
        make_key(TC_RUN_NAME_JOB, run, s->job),
        make_key(TC_RUN_NAME_NODE, run, s->node),
    };
    uint64_t all = keys[0].hash ^ keys[1].hash ^ keys[2].hash ^ keys[3].hash;
    (void)pthread_mutex_lock(&b->lock);
    bool same =
        all == b->last_hash && ev->time_ns >= b->last_ns && ev->time_ns - b->last_ns < SAME_NS;
    if (!same && b->entries == NULL) {
        b->entries = calloc(TC_RUN_BOOK_ENTRIES, sizeof *b->entries);
    }
    for (size_t i = 0; i < TC_COUNT(keys) && !same && b->entries != NULL; i++) {
        note(b, &keys[i], ev->time_ns);
    }
    if (!same) {
        b->last_hash = all;
        b->last_ns = ev->time_ns;
    }
    (void)pthread_mutex_unlock(&b->lock);
}

/* ---- taking ---- */

static bool is_due(const struct entry *e, int64_t now_ns, enum tc_run_book_want want)
{
    if (!e->is_used) {
        return false;
    }
    bool grown = !e->is_taken || e->first_ns < e->taken_first_ns || e->last_ns > e->taken_last_ns;
    int64_t length_ns = e->taken_last_ns - e->taken_first_ns;
    bool doubled = !e->is_taken || e->last_ns - e->first_ns >= 2 * length_ns + SILENT_NS;
    bool by_minutes =
        e->last_ns - e->taken_last_ns >= GROWN_NS || e->taken_first_ns - e->first_ns >= GROWN_NS;
    return grown && (want == TC_RUN_BOOK_ALL || doubled || now_ns - e->last_ns >= SILENT_NS ||
                     (want == TC_RUN_BOOK_NOW && by_minutes));
}

static bool put(const struct entry *e, struct tc_rows *rows)
{
    if (!tc_rows_add(rows)) {
        return false;
    }
    tc_rows_int(rows, TC_RUN_SCOPE_START, e->first_ns / 1000);
    tc_rows_int(rows, TC_RUN_SCOPE_END, e->last_ns / 1000);
    if (tc_rows_text(rows, TC_RUN_SCOPE_RUN_ID, tc_slice_make(e->run, e->run_len)) == TC_OK &&
        tc_rows_text(rows, TC_RUN_SCOPE_KIND, tc_run_name_kind(e->kind)) == TC_OK &&
        tc_rows_text(rows, TC_RUN_SCOPE_NAME, tc_slice_make(e->name, e->name_len)) == TC_OK &&
        tc_rows_text(rows, TC_RUN_SCOPE_SOURCE, TC_LIT("daemon")) == TC_OK) {
        return true;
    }
    rows->count--; /* there is no memory: later */
    return false;
}

void tc_run_book_take(struct tc_run_book *b, int64_t now_ns, enum tc_run_book_want want,
                      struct tc_rows *rows)
{
    (void)pthread_mutex_lock(&b->lock);
    for (size_t i = 0; b->entries != NULL && i < TC_RUN_BOOK_ENTRIES; i++) {
        struct entry *e = &b->entries[i];
        if (is_due(e, now_ns, want) && put(e, rows)) {
            e->is_taken = true;
            e->taken_first_ns = e->first_ns;
            e->taken_last_ns = e->last_ns;
        }
    }
    (void)pthread_mutex_unlock(&b->lock);
}

void tc_run_book_retake(struct tc_run_book *b)
{
    (void)pthread_mutex_lock(&b->lock);
    for (size_t i = 0; b->entries != NULL && i < TC_RUN_BOOK_ENTRIES; i++) {
        b->entries[i].is_taken = false;
    }
    (void)pthread_mutex_unlock(&b->lock);
}
