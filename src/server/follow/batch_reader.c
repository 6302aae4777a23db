/* SPDX-License-Identifier: Apache-2.0 */
#include "server/follow/batch_reader.h"

#include "base/clock.h"
#include "event/copy.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "stored/batch_events.h"
#include "stored/batch_name.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Events of one chunk, and of all that wait for the loop. */
#define CHUNK_BYTES ((size_t)128 << 10)
#define QUEUE_BYTES ((size_t)2 << 20)
/* The digest of a body this long is made here, so that the loop need not. */
#define DIGEST_BYTES ((size_t)128 << 10)
/* What cannot be read now is tried again. */
#define RETRY_NS TC_SECOND
/* What was judged is written this often, and is as old as that when it is: by then the verdicts
 * that followed from it are durable. */
#define JUDGED_NS (10 * TC_SECOND)

/* A copy of an event in a chunk. */
struct record {
    size_t len;
    struct tc_event event; /* only as much of it as its kind has; its strings follow */
};

#define HEAD_BYTES offsetof(struct record, event)

/* A file that need not be read from the store. */
struct at_hand {
    struct at_hand *next;
    uint64_t number;
    struct tc_spool *spool;
    struct tc_slice body;
};

/*
 * Invariant: every batch before `from` was read, or is not for us; the queue holds what was read
 * and not taken. `lock` guards from, until, the queue, the files at hand, judged and stopping; the
 * rest is the thread's.
 */
struct tc_batch_reader {
    struct tc_batch_reader_config config;
    char *data_dir;
    char *evidence_dir;
    pthread_t thread;
    bool is_started;
    pthread_mutex_t lock;
    pthread_cond_t work; /* for the thread */
    uint64_t from;
    uint64_t until;
    struct tc_chunk *first;
    struct tc_chunk **last;
    size_t queue_bytes;
    struct tc_chunk *kept; /* to be used again */
    struct at_hand *files;
    struct tc_judged judged; /* as the loop says it, and as the file does */
    struct tc_judged written;
    bool stopping;
    struct tc_evidence *evidence; /* NULL: not opened yet */
    struct tc_otlp_reader *reader;
    struct tc_batch_arenas arenas;
    struct tc_event_strings strings;
    char said[sizeof((struct tc_error *)NULL)->message]; /* the failure that was logged last */
};

/* ---- chunks ---- */

const struct tc_event *tc_chunk_event(const struct tc_chunk *c, size_t *io_at)
{
    if (*io_at >= c->used) {
        return NULL;
    }
    const struct record *record = (const struct record *)(const void *)(c->data + *io_at);
    *io_at += record->len;
    return &record->event;
}

static void free_chunk(struct tc_chunk *c)
{
    if (c != NULL) {
        free(c->data);
        free(c);
    }
}

/* With room for `bytes` of records; NULL: no memory. */
static struct tc_chunk *make_chunk(struct tc_batch_reader *r, size_t bytes)
{
    (void)pthread_mutex_lock(&r->lock);
    struct tc_chunk *c = r->kept;
    r->kept = c == NULL ? NULL : c->next;
    (void)pthread_mutex_unlock(&r->lock);
    bytes = bytes < CHUNK_BYTES ? CHUNK_BYTES : bytes;
    if (c != NULL && c->cap >= bytes) {
        *c = (struct tc_chunk){.cap = c->cap, .data = c->data};
        return c;
    }
    free_chunk(c);
    c = calloc(1, sizeof *c);
    if (c != NULL) {
        c->cap = bytes;
        c->data = malloc(bytes + sizeof(struct tc_event)); /* see event/copy.h */
    }
    if (c != NULL && c->data == NULL) {
        free(c);
        c = NULL;
    }
    return c;
}

struct tc_chunk *tc_batch_reader_take(struct tc_batch_reader *r)
{
    (void)pthread_mutex_lock(&r->lock);
    struct tc_chunk *c = r->first;
    if (c != NULL) {
        r->first = c->next;
        r->last = r->first == NULL ? &r->first : r->last;
        r->queue_bytes -= c->cap;
        (void)pthread_cond_signal(&r->work);
    }
    (void)pthread_mutex_unlock(&r->lock);
    return c;
}

void tc_batch_reader_give(struct tc_batch_reader *r, struct tc_chunk *c)
{
    (void)pthread_mutex_lock(&r->lock);
    if (c->cap == CHUNK_BYTES && !r->stopping) {
        c->next = r->kept;
        r->kept = c;
        c = NULL;
    }
    (void)pthread_mutex_unlock(&r->lock);
    free_chunk(c);
}

/* Waits for room. Takes c. TC_E_AGAIN: the thread has to end. */
static tc_status push_chunk(struct tc_batch_reader *r, struct tc_chunk *c)
{
    (void)pthread_mutex_lock(&r->lock);
    while (!r->stopping && r->queue_bytes >= QUEUE_BYTES) {
        (void)pthread_cond_wait(&r->work, &r->lock);
    }
    bool stopping = r->stopping;
    bool was_empty = r->first == NULL;
    if (!stopping) {
        c->next = NULL;
        *r->last = c;
        r->last = &c->next;
        r->queue_bytes += c->cap;
    }
    (void)pthread_mutex_unlock(&r->lock);
    if (stopping) {
        free_chunk(c);
        return TC_E_AGAIN;
    }
    if (was_empty) {
        r->config.wake(r->config.context);
    }
    return TC_OK;
}

/* ---- one batch ---- */

/* A batch while it is read. */
struct reading {
    struct tc_batch_reader *r;
    const struct tc_batch *batch;
    struct tc_chunk *chunk; /* being filled; NULL: none */
    bool begun;             /* one was pushed */
    bool has_digest;
    struct tc_digest digest;
};

static tc_status begin_chunk(struct reading *g, size_t bytes)
{
    g->chunk = make_chunk(g->r, bytes);
    if (g->chunk == NULL) {
        return TC_E_NOMEM;
    }
    g->chunk->number = g->batch->number;
    g->chunk->arrival_ns = g->batch->arrival_ns;
    g->chunk->body_bytes = g->batch->body.len;
    g->chunk->is_file = tc_batch_is_file(g->batch);
    g->chunk->is_found = g->chunk->is_file && tc_batch_is_found(g->batch->name);
    (void)snprintf(g->chunk->sender, sizeof g->chunk->sender, "%.*s",
                   TC_FMT(tc_batch_sender(g->batch->name, NULL)));
    g->chunk->is_first = !g->begun;
    g->chunk->has_digest = g->has_digest;
    g->chunk->digest = g->digest;
    g->begun = true;
    return TC_OK;
}

static tc_status end_chunk(struct reading *g, bool is_last)
{
    struct tc_chunk *c = g->chunk;
    g->chunk = NULL;
    c->is_last = is_last;
    return push_chunk(g->r, c);
}

static tc_status copy_event(void *context, const struct tc_event *ev)
{
    struct reading *g = context;
    size_t len = HEAD_BYTES + tc_event_copy_bytes(&g->r->strings, ev);
    if (g->chunk != NULL && g->chunk->cap - g->chunk->used < len) {
        TC_TRY(end_chunk(g, false));
    }
    if (g->chunk == NULL) {
        TC_TRY(begin_chunk(g, len));
    }
    struct record *record = (struct record *)(void *)(g->chunk->data + g->chunk->used);
    record->len = len;
    tc_event_copy(&g->r->strings, ev, &record->event);
    g->chunk->used += len;
    return TC_OK;
}

static void count_unread(void *context, uint64_t count)
{
    (void)context;
    tc_count(TC_COUNT_EVENTS_UNKNOWN, count);
}

static tc_status read_batch(struct tc_batch_reader *r, const struct tc_batch *batch)
{
    struct reading g = {.r = r, .batch = batch};
    struct tc_batch_taker taker = {copy_event, count_unread, &g};
    struct tc_error err = {0};
    g.has_digest =
        batch->body.len >= DIGEST_BYTES && tc_digest_sha256(batch->body, &g.digest) == TC_OK;
    tc_status status = tc_batch_events(r->reader, batch, NULL, &r->arenas, &taker, &err);
    if (status == TC_E_AGAIN) {
        free_chunk(g.chunk);
        return status;
    }
    if (status != TC_OK) {
        tc_batch_say_unread(batch, &err);
    }
    if (g.chunk == NULL) {
        TC_TRY(begin_chunk(&g, 0));
    }
    return end_chunk(&g, true);
}

/* ---- the walk ---- */

/* Those before `number`, and that one when it was read, are not needed any more. */
static void drop_files(struct tc_batch_reader *r, uint64_t before)
{
    (void)pthread_mutex_lock(&r->lock);
    struct at_hand *gone = NULL;
    for (struct at_hand **at = &r->files; *at != NULL;) {
        struct at_hand *f = *at;
        if (f->number < before) {
            *at = f->next;
            f->next = gone;
            gone = f;
        } else {
            at = &f->next;
        }
    }
    (void)pthread_mutex_unlock(&r->lock);
    for (struct at_hand *next = NULL; gone != NULL; gone = next) {
        next = gone->next;
        tc_spool_close(gone->spool);
        free(gone);
    }
}

static bool find_file(struct tc_batch_reader *r, uint64_t number, struct tc_slice *out_body)
{
    bool found = false;
    (void)pthread_mutex_lock(&r->lock);
    for (const struct at_hand *f = r->files; f != NULL && !found; f = f->next) {
        found = f->number == number;
        *out_body = found ? f->body : *out_body;
    }
    (void)pthread_mutex_unlock(&r->lock);
    return found;
}

struct walk {
    struct tc_batch_reader *r;
    uint64_t until;
    tc_status status; /* of what was read in `wants` */
};

/* Asked of long bodies: one at hand is read from there, and the store's is left alone. */
static bool wants(void *context, const struct tc_batch *batch)
{
    struct walk *w = context;
    struct tc_batch whole = *batch;
    if (batch->number > w->until || w->status != TC_OK) {
        return true; /* `take` refuses it; its beginning is all that was read */
    }
    if (!find_file(w->r, batch->number, &whole.body)) {
        return true;
    }
    w->status = read_batch(w->r, &whole);
    return false;
}

static tc_status take(void *context, const struct tc_batch *batch, const struct tc_batch_info *info)
{
    struct walk *w = context;
    (void)info;
    TC_TRY(w->status);
    return batch->number > w->until ? TC_E_LIMIT : read_batch(w->r, batch);
}

static void bad(void *context, const char *line)
{
    (void)context;
    tc_count(TC_COUNT_REPLAY_FAILED, 1);
    tc_log_fields(TC_LOG_WARN, "stored evidence is damaged", TC_LOG_CSTR("what", line));
}

/* Reads from *io_from to `until`. */
static tc_status walk(struct tc_batch_reader *r, uint64_t *io_from, uint64_t until,
                      struct tc_error *err)
{
    struct walk w = {.r = r, .until = until};
    struct tc_evidence_choice choice = {
        .kinds = ~0U, .wants = wants, .take = take, .bad = bad, .context = &w};
    if (r->evidence == NULL) {
        TC_TRY(tc_evidence_open(r->evidence_dir, &r->evidence, err));
    }
    tc_status status = tc_evidence_walk_some(r->evidence, io_from, &choice, err);
    status = status == TC_OK ? w.status : status;
    if (status == TC_E_LIMIT && *io_from > until) {
        status = TC_OK;
    }
    if (status == TC_OK) {
        *io_from = until + 1; /* what is not there was never stored, or was deleted */
    }
    return status;
}

static void say_failure(struct tc_batch_reader *r, const struct tc_error *err)
{
    tc_count(TC_COUNT_REPLAY_FAILED, 1);
    if (strcmp(r->said, err->message) != 0) {
        memcpy(r->said, err->message, sizeof r->said);
        tc_log_fields(TC_LOG_ERROR, "stored evidence cannot be read; it is tried again",
                      TC_LOG_CSTR("error", err->message));
    }
}

/* ---- the thread ---- */

static void write_judged(const struct tc_batch_reader *r, struct tc_judged judged)
{
    struct tc_error err = {0};
    if (tc_judged_write(r->data_dir, &judged, &err) != TC_OK) {
        tc_log_fields(TC_LOG_WARN, "how far detection is cannot be written",
                      TC_LOG_CSTR("error", err.message));
    }
}

/* Waits for work; false at the end. Called and returns with the lock. */
static bool wait_for_work(struct tc_batch_reader *r)
{
    while (!r->stopping && r->from > r->until) {
        if (r->judged.number == r->written.number) {
            (void)pthread_cond_wait(&r->work, &r->lock);
            continue;
        }
        struct timespec until = tc_timespec(tc_mono_ns() + JUDGED_NS);
        struct tc_judged judged = r->judged;
        int rc = 0;
        while (rc == 0 && !r->stopping && r->from > r->until) {
            rc = pthread_cond_timedwait(&r->work, &r->lock, &until);
        }
        if (rc != 0) {
            (void)pthread_mutex_unlock(&r->lock);
            write_judged(r, judged);
            (void)pthread_mutex_lock(&r->lock);
            r->written = judged; /* a failure is not tried again until there is more to say */
        }
    }
    return !r->stopping;
}

/* One pass: up to what was asked for by now. */
static tc_status read_some(struct tc_batch_reader *r, uint64_t from, uint64_t until)
{
    struct tc_error err = {0};
    tc_status status = walk(r, &from, until, &err);
    drop_files(r, from);
    /* Before the loop hears of it: from then on it may read the next ones itself. */
    (void)pthread_mutex_lock(&r->lock);
    r->from = from;
    (void)pthread_mutex_unlock(&r->lock);
    if (status == TC_OK) {
        struct tc_chunk *end = make_chunk(r, 0);
        if (end == NULL) {
            return TC_E_NOMEM;
        }
        end->is_end = true;
        end->number = from;
        return push_chunk(r, end);
    }
    if (status != TC_E_AGAIN) {
        tc_evidence_close(r->evidence);
        r->evidence = NULL;
        say_failure(r, &err);
    }
    return status;
}

static void *run(void *context)
{
    struct tc_batch_reader *r = context;
    (void)pthread_mutex_lock(&r->lock);
    while (wait_for_work(r)) {
        uint64_t from = r->from;
        uint64_t until = r->until;
        (void)pthread_mutex_unlock(&r->lock);
        tc_status status = read_some(r, from, until);
        (void)pthread_mutex_lock(&r->lock);
        if (status != TC_OK && !r->stopping) {
            struct timespec later = tc_timespec(tc_mono_ns() + RETRY_NS);
            (void)pthread_cond_timedwait(&r->work, &r->lock, &later);
        }
    }
    (void)pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* ---- life ---- */

static tc_status start(struct tc_batch_reader *r, struct tc_error *err)
{
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&r->lock, NULL);
    (void)pthread_cond_init(&r->work, &attr);
    (void)pthread_condattr_destroy(&attr);
    r->reader = tc_otlp_reader_create(&r->config.otlp, r->config.body_max);
    if (r->data_dir == NULL || r->evidence_dir == NULL || r->reader == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the thread that reads stored batches");
    }
    TC_TRY(tc_batch_arenas_init(&r->arenas, err));
    r->is_started = pthread_create(&r->thread, NULL, run, r) == 0;
    return r->is_started ? TC_OK
                         : tc_fail(err, TC_E_NOMEM, 0,
                                   "the thread that reads stored batches cannot be started");
}

tc_status tc_batch_reader_create(const struct tc_batch_reader_config *config,
                                 struct tc_batch_reader **out_reader, struct tc_error *err)
{
    struct tc_batch_reader *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the thread that reads stored batches");
    }
    r->config = *config;
    r->config.otlp.objects_max = 0; /* what was taken once is read, whatever the limit is now */
    r->data_dir = strdup(config->data_dir);
    r->evidence_dir = strdup(config->evidence_dir);
    r->last = &r->first;
    r->from = 1;
    tc_event_strings_init(&r->strings);
    tc_status status = start(r, err);
    if (status != TC_OK) {
        tc_batch_reader_destroy(r);
        return status;
    }
    *out_reader = r;
    return TC_OK;
}

static void free_chunks(struct tc_chunk *c)
{
    for (struct tc_chunk *next = NULL; c != NULL; c = next) {
        next = c->next;
        free_chunk(c);
    }
}

void tc_batch_reader_destroy(struct tc_batch_reader *r)
{
    if (r == NULL) {
        return;
    }
    if (r->is_started) {
        (void)pthread_mutex_lock(&r->lock);
        r->stopping = true;
        (void)pthread_cond_signal(&r->work);
        (void)pthread_mutex_unlock(&r->lock);
        (void)pthread_join(r->thread, NULL);
        if (r->judged.number != r->written.number) {
            write_judged(r, r->judged);
        }
    }
    drop_files(r, UINT64_MAX);
    free_chunks(r->first);
    free_chunks(r->kept);
    tc_evidence_close(r->evidence);
    tc_otlp_reader_destroy(r->reader);
    tc_batch_arenas_fini(&r->arenas);
    (void)pthread_cond_destroy(&r->work);
    (void)pthread_mutex_destroy(&r->lock);
    free(r->data_dir);
    free(r->evidence_dir);
    free(r);
}

/* ---- the loop's thread ---- */

void tc_batch_reader_begin(struct tc_batch_reader *r, uint64_t from, uint64_t until)
{
    (void)pthread_mutex_lock(&r->lock);
    r->from = from;
    r->until = until;
    (void)pthread_cond_signal(&r->work);
    (void)pthread_mutex_unlock(&r->lock);
}

void tc_batch_reader_want(struct tc_batch_reader *r, uint64_t number, struct tc_spool *spool,
                          struct tc_slice body)
{
    struct at_hand *file = spool == NULL ? NULL : malloc(sizeof *file);
    if (file == NULL) {
        tc_spool_close(spool); /* without memory it is read from the store */
    } else {
        *file = (struct at_hand){.number = number, .spool = spool, .body = body};
    }
    (void)pthread_mutex_lock(&r->lock);
    r->from = r->from > r->until ? number : r->from;
    r->until = number;
    if (file != NULL) {
        file->next = r->files;
        r->files = file;
    }
    (void)pthread_cond_signal(&r->work);
    (void)pthread_mutex_unlock(&r->lock);
}

void tc_batch_reader_judged(struct tc_batch_reader *r, const struct tc_judged *judged)
{
    (void)pthread_mutex_lock(&r->lock);
    bool is_news = r->judged.number == r->written.number;
    r->judged = *judged;
    if (is_news) {
        (void)pthread_cond_signal(&r->work);
    }
    (void)pthread_mutex_unlock(&r->lock);
}

void tc_batch_say_unread(const struct tc_batch *batch, const struct tc_error *err)
{
    tc_count(TC_COUNT_BATCHES_UNREAD, 1);
    tc_log_fields(
        TC_LOG_WARN,
        tc_batch_is_file(batch) ? "an uploaded file was stored but could not be read to its end"
                                : "a batch was stored but could not be read to its end",
        TC_LOG_NUMBER("batch", (int64_t)batch->number), TC_LOG_CSTR("error", err->message));
}
