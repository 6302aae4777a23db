/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer: takes what waits, makes it durable in the log, appends it to the file, and says in
 * the log how far the outputs are. A disk that fails is tried again, with a pause that grows.
 */
#include "base/clock.h"
#include "base/time.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "outbox/alerts_priv.h"
#include "outbox/outbox_priv.h"

#include <stdlib.h>
#include <string.h>

#define DISK_BACKOFF_MIN (TC_SECOND / 100)
#define DISK_BACKOFF_MAX TC_SECOND

static const char *output_name(enum tc__output output)
{
    static const char *const names[TC__OUTPUT_COUNT] = {"file", "otlp", "warehouse"};
    return names[output];
}

/* A failure of the disk: counted, said, and not tried again before a while. */
static void outbox_failed(struct tc_outbox *o, const char *what, const struct tc_error *err,
                          int64_t *io_backoff_ns, int64_t *out_retry_ns)
{
    int64_t pause = *io_backoff_ns == 0 ? DISK_BACKOFF_MIN : *io_backoff_ns * 2;
    *io_backoff_ns = pause > DISK_BACKOFF_MAX ? DISK_BACKOFF_MAX : pause;
    *out_retry_ns = tc_mono_ns() + *io_backoff_ns;
    (void)pthread_mutex_lock(&o->lock);
    o->stats.errors++;
    (void)pthread_mutex_unlock(&o->lock);
    tc_log_fields(TC_LOG_ERROR, what, TC_LOG_CSTR("error", err->message),
                  TC_LOG_NUMBER("again_in_ms", *io_backoff_ns / (TC_SECOND / 1000)));
}

void tc__outbox_advance(struct tc_outbox *o, enum tc__output output, uint64_t next, uint64_t at,
                        uint64_t count, uint64_t bytes)
{
    struct tc__out *out = &o->out[output];
    if (next <= out->next) {
        return; /* it was turned off and on meanwhile */
    }
    out->next = next;
    out->at = at;
    out->pending -= count < out->pending ? count : out->pending;
    out->pending_bytes -= bytes < out->pending_bytes ? bytes : out->pending_bytes;
    /* What is not durable in the file yet is said when it is. */
    out->moved = output != TC__OUTPUT_FILE || !o->file_dirty;
}

void tc__outbox_give_up(struct tc_outbox *o, enum tc__output output, uint64_t end)
{
    (void)pthread_mutex_lock(&o->lock);
    struct tc__out *out = &o->out[output];
    uint64_t lost = o->log_end == end ? out->pending : 0;
    if (lost > 0) {
        o->stats.damaged += lost;
        tc__outbox_advance(o, output, o->next_stored, end, lost, out->pending_bytes);
    }
    (void)pthread_mutex_unlock(&o->lock);
    if (lost > 0) {
        tc_log_fields(TC_LOG_ERROR, "verdicts in the log are damaged and were not delivered",
                      TC_LOG_CSTR("output", output_name(output)),
                      TC_LOG_NUMBER("count", (int64_t)lost));
    }
}

uint64_t tc__outbox_drop(struct tc_outbox *o, enum tc__output output, struct tc__outbox_scan *s)
{
    (void)pthread_mutex_lock(&o->lock);
    struct tc__out out = o->out[output];
    uint64_t max = o->queue_bytes_max;
    uint64_t end = o->log_end;
    (void)pthread_mutex_unlock(&o->lock);
    if (max == 0 || out.pending_bytes <= max) {
        return 0;
    }
    struct tc__record r;
    tc_status status = TC_OK;
    uint64_t count = 0;
    uint64_t bytes = 0;
    uint64_t next = out.next;
    tc__outbox_scan_begin(s, o->log.fd, out.at, end);
    while (out.pending_bytes - bytes > max && tc__outbox_scan_next(s, &r, &status)) {
        if (r.kind == TC__RECORD_VERDICT && r.number >= out.next) {
            count++;
            bytes += r.len;
            next = r.number + 1;
        }
    }
    (void)pthread_mutex_lock(&o->lock);
    tc__outbox_advance(o, output, next, s->at, count, bytes);
    *(output == TC__OUTPUT_FILE   ? &o->stats.dropped_file
      : output == TC__OUTPUT_OTLP ? &o->stats.dropped_otlp
                                  : &o->stats.dropped_pull) += count;
    (void)pthread_mutex_unlock(&o->lock);
    tc_log_fields(TC_LOG_WARN, "verdicts were dropped: too many wait for an output",
                  TC_LOG_CSTR("output", output_name(output)),
                  TC_LOG_NUMBER("count", (int64_t)count));
    return count;
}

/* ---- to the log ---------------------------------------------------------------------------- */

/* The first of what waits, as one run of bytes. They stay where they are. Holds the lock. */
static size_t gather(struct tc_outbox *o, size_t *out_count)
{
    size_t len = 0;
    size_t count = 0;
    for (const struct tc__waiting *w = o->first; w != NULL && len < TC__GROUP_BYTES; w = w->next) {
        memcpy(o->group + len, w->bytes, w->record.len);
        len += w->record.len;
        count++;
    }
    *out_count = count;
    return len;
}

/* They are in the log now, from `at` on. Takes them from the queue; the caller frees them. */
static struct tc__waiting *settle(struct tc_outbox *o, size_t count, uint64_t at)
{
    struct tc__waiting *head = o->first;
    struct tc__waiting *last = NULL;
    for (size_t i = 0; i < count; i++) {
        struct tc__waiting *w = last == NULL ? head : last->next;
        w->record.at = at;
        at += w->record.len;
        for (size_t k = 0; k < TC__OUTPUT_COUNT; k++) {
            struct tc__out *out = &o->out[k];
            if (!out->on || out->pending == 0) {
                out->next = w->record.number + !out->on;
                out->at = w->record.at;
                out->moved = out->moved || !out->on;
            }
            out->pending += out->on;
            out->pending_bytes += out->on ? w->record.len : 0;
        }
        o->waiting--;
        o->waiting_bytes -= w->record.len;
        last = w;
    }
    o->next_stored = last->record.number + 1;
    o->first = last->next;
    last->next = NULL;
    return head;
}

static void observe(int64_t arrival_ns, int64_t now_ns)
{
    if (arrival_ns > 0) {
        tc_observe(TC_HIST_DETECT, now_ns > arrival_ns ? now_ns - arrival_ns : 0);
    }
}

static void remember(struct tc_outbox *o, struct tc__waiting *list, bool left)
{
    int64_t now_ns = tc_wall_ns();
    while (list != NULL) {
        struct tc__waiting *next = list->next;
        tc__marks_put(&o->marks, &list->record);
        if (left) {
            observe(list->record.arrival_ns, now_ns);
        }
        free(list);
        list = next;
    }
}

void tc__outbox_store(struct tc_outbox *o)
{
    if (o->log_retry_ns > tc_mono_ns()) {
        return;
    }
    size_t count = 0;
    (void)pthread_mutex_lock(&o->lock);
    size_t len = gather(o, &count);
    (void)pthread_mutex_unlock(&o->lock);
    if (count == 0) {
        return;
    }
    struct tc_error err = {0};
    uint64_t at = o->log.end;
    if (tc__log_append(&o->log, &o->io, tc_slice_make(o->group, len), true, &err) != TC_OK) {
        outbox_failed(o, "verdicts cannot be stored", &err, &o->log_backoff_ns, &o->log_retry_ns);
        return;
    }
    o->log_backoff_ns = 0;
    o->log_retry_ns = 0;
    (void)pthread_mutex_lock(&o->lock);
    struct tc__waiting *list = settle(o, count, at);
    bool left = !o->out[TC__OUTPUT_FILE].on;
    o->log_end = o->log.end;
    o->stats.log_bytes = o->log.end;
    (void)pthread_cond_broadcast(&o->export);
    (void)pthread_mutex_unlock(&o->lock);
    remember(o, list, left);
    (void)pthread_mutex_lock(&o->lock);
    o->stats.incidents = o->marks.count;
    (void)pthread_mutex_unlock(&o->lock);
}

/* Cursors, to the log. */
static void save_cursors(struct tc_outbox *o, bool durable)
{
    char bytes[(TC__OUTPUT_COUNT + TC_ALERT_RECEIVERS_MAX) * 128];
    struct tc__cursor alerts[TC_ALERT_RECEIVERS_MAX];
    size_t len = 0;
    (void)pthread_mutex_lock(&o->lock);
    size_t alert_count = tc__alerts_cursors(o, true, alerts);
    for (size_t i = 0; i < alert_count; i++) {
        struct tc__record r = {.kind = TC__RECORD_CURSOR, .cursor = alerts[i]};
        tc__record_write(bytes + len, &r);
        len += tc__record_size(&r);
    }
    for (size_t i = 0; i < TC__OUTPUT_COUNT; i++) {
        struct tc__out *out = &o->out[i];
        if (i == TC__OUTPUT_FILE && o->file_dirty) {
            out->moved = false; /* until it was synced */
        }
        if (out->moved) {
            struct tc__record r = {.kind = TC__RECORD_CURSOR,
                                   .cursor = {.output = (enum tc__output)i, .next = out->next}};
            if (i == TC__OUTPUT_FILE) {
                o->file_cursor.next = out->next;
                r.cursor = o->file_cursor;
            }
            tc__record_write(bytes + len, &r);
            len += tc__record_size(&r);
            out->moved = false;
        }
    }
    (void)pthread_mutex_unlock(&o->lock);
    struct tc_error err = {0};
    if (len == 0 ||
        tc__log_append(&o->log, &o->io, tc_slice_make(bytes, len), durable, &err) == TC_OK) {
        return;
    }
    outbox_failed(o, "verdicts cannot be stored", &err, &o->log_backoff_ns, &o->log_retry_ns);
    (void)pthread_mutex_lock(&o->lock);
    o->out[TC__OUTPUT_FILE].moved = !o->file_dirty;
    o->out[TC__OUTPUT_OTLP].moved = true;
    o->out[TC__OUTPUT_PULL].moved = true;
    tc__alerts_unsaved(o);
    (void)pthread_mutex_unlock(&o->lock);
}

/* ---- to the file --------------------------------------------------------------------------- */

/* What was read from the log for one write to the file. */
struct group {
    size_t len;
    uint64_t count;
    uint64_t bytes; /* in the log */
    uint64_t next;
};

/* Lines from the log; false when reading failed. */
static bool collect(struct tc_outbox *o, const struct tc__out *out, uint64_t end, struct group *g)
{
    struct tc__record r;
    tc_status status = TC_OK;
    g->len = 0;
    g->count = 0;
    g->bytes = 0;
    g->next = out->next;
    tc__outbox_scan_begin(&o->scan, o->log.fd, out->at, end);
    while (g->len < TC__GROUP_BYTES && g->count < TC__GROUP_RECORDS &&
           tc__outbox_scan_next(&o->scan, &r, &status)) {
        if (r.kind != TC__RECORD_VERDICT || r.number < out->next) {
            continue;
        }
        memcpy(o->group + g->len, r.json.ptr, r.json.len);
        g->len += r.json.len;
        o->group[g->len++] = '\n';
        o->arrivals[g->count++] = r.number >= o->first_number ? r.arrival_ns : 0;
        g->bytes += r.len;
        g->next = r.number + 1;
    }
    return status == TC_OK;
}

/* The verdicts that may be in the file already. */
struct expecting {
    struct tc_outbox *o;
    uint64_t next;
    uint64_t count;
    uint64_t bytes;
    uint64_t at;
    struct tc__record r; /* given last: passed over when the next is asked for */
    bool given;
};

static bool expect_next(void *context, struct tc_slice *out_json)
{
    struct expecting *e = context;
    tc_status status = TC_OK;
    if (e->given) {
        e->next = e->r.number + 1;
        e->bytes += e->r.len;
        e->at = e->r.at + e->r.len;
        e->count++;
    }
    e->given = false;
    while (tc__outbox_scan_next(&e->o->scan, &e->r, &status)) {
        if (e->r.kind == TC__RECORD_VERDICT && e->r.number >= e->next) {
            e->given = true;
            *out_json = e->r.json;
            return true;
        }
    }
    return false;
}

/* The file has something new: durable before long. */
static void wrote(struct tc_outbox *o)
{
    if (!o->file_dirty) {
        o->file_dirty = true;
        o->file_sync_ns = tc_mono_ns() + o->file_sync_after_ns;
    }
}

static tc_status resume(struct tc_outbox *o, const struct tc__out *out, uint64_t end,
                        struct tc_error *err)
{
    struct expecting e = {.o = o, .next = out->next, .at = out->at};
    uint64_t found = 0;
    tc__outbox_scan_begin(&o->scan, o->log.fd, out->at, end);
    TC_TRY(tc__file_resume(&o->file, &o->file_cursor, expect_next, &e, &found, err));
    o->file.resumed = true;
    wrote(o);
    (void)pthread_mutex_lock(&o->lock);
    tc__outbox_advance(o, TC__OUTPUT_FILE, e.next, e.at, e.count, e.bytes);
    o->stats.written += found;
    (void)pthread_mutex_unlock(&o->lock);
    return TC_OK;
}

/* Everything that was written is durable then, and the cursor may say so. */
static tc_status sync_file(struct tc_outbox *o, struct tc_error *err)
{
    TC_TRY(tc__file_sync(&o->file, &o->io, err));
    o->file_dirty = false;
    (void)pthread_mutex_lock(&o->lock);
    struct tc__out *out = &o->out[TC__OUTPUT_FILE];
    o->file_cursor = (struct tc__cursor){.output = TC__OUTPUT_FILE, .next = out->next};
    out->moved = true;
    (void)pthread_mutex_unlock(&o->lock);
    if (o->file.regular) {
        o->file_cursor.dev = o->file.dev;
        o->file_cursor.ino = o->file.ino;
        o->file_cursor.size = o->file.size;
    }
    return TC_OK;
}

/*
 * A file that was moved away or emptied: what it has is made durable and said before anything is
 * written to another place, so that a crash finds each line where the cursor says.
 */
static tc_status leave_file(struct tc_outbox *o, struct tc_error *err)
{
    bool shrank = tc__file_shrank(&o->file);
    if (o->file_dirty && (shrank || !tc__file_is_current(&o->file))) {
        TC_TRY(sync_file(o, err));
        save_cursors(o, false);
    }
    return TC_OK;
}

/* Opens the file, the first time with a look at what is in it; then writes the next group. */
static tc_status write_group(struct tc_outbox *o, struct tc_error *err)
{
    TC_TRY(leave_file(o, err));
    TC_TRY(tc__file_open(&o->file, err));
    (void)pthread_mutex_lock(&o->lock);
    struct tc__out out = o->out[TC__OUTPUT_FILE];
    uint64_t end = o->log_end;
    (void)pthread_mutex_unlock(&o->lock);
    if (!o->file.resumed) {
        return resume(o, &out, end, err);
    }
    struct group g;
    if (!collect(o, &out, end, &g)) {
        return tc_fail(err, TC_E_IO, 0, "the log cannot be read");
    }
    if (g.count == 0) {
        tc__outbox_give_up(o, TC__OUTPUT_FILE, end);
        return TC_OK;
    }
    TC_TRY(tc__file_append(&o->file, &o->io, tc_slice_make(o->group, g.len), err));
    int64_t now_ns = tc_wall_ns();
    for (uint64_t i = 0; i < g.count; i++) {
        observe(o->arrivals[i], now_ns);
    }
    wrote(o);
    (void)pthread_mutex_lock(&o->lock);
    tc__outbox_advance(o, TC__OUTPUT_FILE, g.next, o->scan.at, g.count, g.bytes);
    o->stats.written += g.count;
    (void)pthread_mutex_unlock(&o->lock);
    return TC_OK;
}

/* Another path, or the same one anew (a rotation). */
static void reopen(struct tc_outbox *o)
{
    char path[TC__PATH_MAX];
    (void)pthread_mutex_lock(&o->lock);
    bool wanted = o->reopen;
    o->reopen = false;
    memcpy(path, o->path, sizeof path);
    (void)pthread_mutex_unlock(&o->lock);
    if (!wanted) {
        return;
    }
    if (o->file_dirty) {
        struct tc_error err = {0};
        (void)(sync_file(o, &err) == TC_OK); /* it is in the file in any case */
    }
    if (o->file.partial == 0 || strcmp(path, o->file.path) != 0) {
        tc__file_close(&o->file);
    }
    memcpy(o->file.path, path, sizeof path);
    o->file_retry_ns = 0;
}

/* Whether the file has had its time, or the end is near. */
static bool is_sync_due(const struct tc_outbox *o, bool stopping)
{
    return o->file_dirty && (stopping || o->file_sync_ns <= tc_mono_ns());
}

/* From the log to the file. */
static void deliver_all(struct tc_outbox *o)
{
    reopen(o);
    /* As long as the file takes them, what waits is only what came this moment. */
    if (o->file_backoff_ns != 0 && o->file.partial == 0) {
        (void)tc__outbox_drop(o, TC__OUTPUT_FILE, &o->scan);
    }
    (void)pthread_mutex_lock(&o->lock);
    struct tc__out out = o->out[TC__OUTPUT_FILE];
    bool stopping = o->stopping;
    (void)pthread_mutex_unlock(&o->lock);
    if (o->file_retry_ns > tc_mono_ns()) {
        return;
    }
    struct tc_error err = {0};
    tc_status status = out.on && out.pending > 0 ? write_group(o, &err) : TC_OK;
    if (status == TC_OK && is_sync_due(o, stopping)) {
        status = sync_file(o, &err);
    }
    if (status != TC_OK) {
        outbox_failed(o, "verdicts cannot be written to their file", &err, &o->file_backoff_ns,
                      &o->file_retry_ns);
        return;
    }
    o->file_backoff_ns = 0;
    o->file_retry_ns = 0;
}

/* ---- the thread ---------------------------------------------------------------------------- */

/* When there is something to do: 0 now, INT64_MAX when something happens. Holds the lock. */
static int64_t next_step(const struct tc_outbox *o)
{
    const struct tc__out *file = &o->out[TC__OUTPUT_FILE];
    bool log = o->first != NULL || file->moved || o->out[TC__OUTPUT_OTLP].moved ||
               o->out[TC__OUTPUT_PULL].moved || tc__alerts_moved(o);
    bool line = file->on && file->pending > 0;
    int64_t at = o->reopen ? 0 : INT64_MAX;
    if (log && o->log_retry_ns < at) {
        at = o->log_retry_ns;
    }
    if (line && o->file_retry_ns < at) {
        at = o->file_retry_ns;
    }
    if (o->file_dirty) {
        int64_t due = o->stopping ? 0 : o->file_sync_ns;
        due = due > o->file_retry_ns ? due : o->file_retry_ns;
        at = due < at ? due : at;
    }
    return at;
}

static bool is_over(const struct tc_outbox *o)
{
    bool senders_over = o->export_over && o->alerts->running == 0;
    return senders_over && (o->aborting || (o->stopping && next_step(o) == INT64_MAX));
}

/* Between two groups, when nobody waits. */
static void prepare(struct tc_outbox *o)
{
    if (o->log_backoff_ns == 0 && !tc__log_prepare(&o->log, &o->io, o->group)) {
        (void)pthread_mutex_lock(&o->lock);
        o->stats.errors++;
        (void)pthread_mutex_unlock(&o->lock);
    }
}

void *tc__outbox_writer_main(void *outbox)
{
    struct tc_outbox *o = outbox;
    (void)pthread_mutex_lock(&o->lock);
    while (!is_over(o)) {
        int64_t at = next_step(o);
        if (at > tc_mono_ns()) {
            tc__outbox_wait(o, &o->work, at == INT64_MAX ? 0 : at);
            continue;
        }
        (void)pthread_mutex_unlock(&o->lock);
        tc__outbox_store(o);
        deliver_all(o);
        if (o->log_retry_ns <= tc_mono_ns()) {
            save_cursors(o, false);
        }
        tc__outbox_compact(o);
        prepare(o);
        (void)pthread_mutex_lock(&o->lock);
        (void)pthread_cond_broadcast(&o->export);
    }
    (void)pthread_mutex_unlock(&o->lock);
    save_cursors(o, true);
    (void)pthread_mutex_lock(&o->lock);
    o->writer_over = true;
    (void)pthread_cond_broadcast(&o->ended);
    (void)pthread_mutex_unlock(&o->lock);
    return NULL;
}
