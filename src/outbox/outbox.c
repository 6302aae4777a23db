/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox/outbox.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/time.h"
#include "observe/log.h"
#include "outbox/alerts_priv.h"
#include "outbox/outbox_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Until then the log has it, and waiting for the disk would hold up the verdicts that come next. */
#define FILE_SYNC_AFTER (TC_SECOND / 2)
#define GROUP_ROOM (TC__GROUP_BYTES + TC_OUTBOX_RECORD_MAX + 4096)

void tc__outbox_wait(struct tc_outbox *o, pthread_cond_t *cond, int64_t until_ns)
{
    if (until_ns == 0) {
        (void)pthread_cond_wait(cond, &o->lock);
        return;
    }
    struct timespec until = tc_timespec(until_ns);
    (void)pthread_cond_timedwait(cond, &o->lock, &until);
}

/* ---- configuration ------------------------------------------------------------------------- */

static void copy_text(char *to, size_t size, const char *from)
{
    struct tc_buf b = tc_buf_make(to, size - 1);
    tc_buf_str(&b, tc_slice_head(tc_slice_cstr(from), size - 1));
    to[b.len] = '\0';
}

/* "Name: value" lines with any end of line, each whole and printable, become header lines. */
static void copy_headers(char *to, size_t size, const char *from)
{
    struct tc_buf b = tc_buf_make(to, size - 1);
    struct tc_slice rest = tc_slice_cstr(from);
    while (rest.len > 0) {
        struct tc_slice line = tc_slice_trim(tc_slice_cut(rest, '\n', &rest));
        bool good = tc_slice_find_byte(line, ':') != TC_NPOS && line.ptr[0] != ':';
        for (size_t i = 0; i < line.len && good; i++) {
            good = (unsigned char)line.ptr[i] >= ' ' && line.ptr[i] != 0x7f;
        }
        if (good && line.len + 2 <= b.cap - b.len) {
            tc_buf_str(&b, line);
            tc_buf_lit(&b, "\r\n");
        } else if (line.len > 0) {
            tc_log_fields(TC_LOG_WARN, "a header for the verdicts' receiver is left out",
                          TC_LOG_CSTR("reason", good ? "too long" : "not \"Name: value\""));
        }
    }
    to[b.len] = '\0';
}

/* Holds the lock, or is alone. */
static void apply(struct tc_outbox *o, const struct tc_outbox_config *config)
{
    copy_text(o->path, sizeof o->path, config->file_path);
    copy_text(o->endpoint, sizeof o->endpoint, config->otlp_endpoint);
    copy_headers(o->headers, sizeof o->headers, config->otlp_headers);
    if (config->instance_id != NULL && config->instance_id[0] != '\0') {
        copy_text(o->instance_id, sizeof o->instance_id, config->instance_id);
    } else if (gethostname(o->instance_id, sizeof o->instance_id - 1) != 0) {
        o->instance_id[0] = '\0';
    }
    o->timeout_ns = config->otlp_timeout_ns;
    o->backoff_min_ns = config->backoff_min_ns;
    o->backoff_max_ns = config->backoff_max_ns;
    o->queue_bytes_max = config->queue_bytes_max;
    o->out[TC__OUTPUT_FILE].on = o->path[0] != '\0';
    o->out[TC__OUTPUT_OTLP].on = o->endpoint[0] != '\0';
    o->out[TC__OUTPUT_PULL].on = config->is_pulled;
    for (size_t i = 0; i < TC__OUTPUT_COUNT; i++) {
        struct tc__out *out = &o->out[i];
        if (!out->on && out->pending > 0) {
            /* Nobody wants them any more. */
            out->next = o->next_stored;
            out->at = o->log_end;
            out->pending = 0;
            out->pending_bytes = 0;
            out->moved = true;
        }
    }
    o->reopen = true;
    o->reconnect = true;
}

void tc_outbox_configure(struct tc_outbox *o, const struct tc_outbox_config *config)
{
    tc__alerts_configure(o, config->alerts);
    (void)pthread_mutex_lock(&o->lock);
    apply(o, config);
    (void)pthread_cond_broadcast(&o->work);
    (void)pthread_cond_broadcast(&o->export);
    (void)pthread_mutex_unlock(&o->lock);
}

/* ---- opening ------------------------------------------------------------------------------- */

static ssize_t system_write(int fd, const void *data, size_t len)
{
    return write(fd, data, len);
}

static int system_rename(int dir_fd, const char *from, const char *to)
{
    return renameat(dir_fd, from, dir_fd, to);
}

static void fill_io(struct tc_outbox_io *io, const struct tc_outbox_io *given)
{
    io->pwrite = given->pwrite == NULL ? pwrite : given->pwrite;
    io->write = given->write == NULL ? system_write : given->write;
    io->sync = given->sync == NULL ? fdatasync : given->sync;
    io->rename = given->rename == NULL ? system_rename : given->rename;
}

static void note_cursor(struct tc_outbox *o, const struct tc__cursor *c)
{
    if (c->output == TC__OUTPUT_ALERT) {
        tc__alerts_note_cursor(o, c);
        return;
    }
    struct tc__out *out = &o->out[c->output];
    out->next = c->next > out->next ? c->next : out->next;
    if (c->output == TC__OUTPUT_FILE) {
        o->file_cursor = *c;
    }
}

/* No record begins at `at`: what is there is torn, or the zeros that were written ahead. */
static tc_status cut_tail(struct tc_outbox *o, uint64_t at)
{
    uint64_t content_end = at;
    TC_TRY(tc__log_content_end(&o->log, at, &content_end));
    o->stats.torn_bytes = content_end - at;
    o->log.end = at;
    if (ftruncate(o->log.fd, (off_t)at) != 0) {
        return TC_E_IO;
    }
    o->log.size = at;
    return TC_OK;
}

/* First pass: what there is, how far the outputs are, where it ends. */
static tc_status read_log(struct tc_outbox *o)
{
    struct tc__record r;
    tc_status status = TC_OK;
    uint64_t last = 0;
    tc__outbox_scan_begin(&o->scan, o->log.fd, 0, o->log.end);
    while (tc__outbox_scan_next(&o->scan, &r, &status)) {
        last = r.number > last ? r.number : last;
        if (r.kind == TC__RECORD_CURSOR) {
            note_cursor(o, &r.cursor);
        } else {
            tc__marks_put(&o->marks, &r);
        }
    }
    TC_TRY(status);
    o->stats.damaged = o->scan.damaged;
    o->next_number = last + 1;
    for (size_t i = 0; i < TC__OUTPUT_COUNT; i++) {
        o->next_number = o->out[i].next > o->next_number ? o->out[i].next : o->next_number;
    }
    o->next_stored = o->next_number;
    o->first_number = o->next_number;
    o->file.dev = o->file_cursor.dev;
    o->file.ino = o->file_cursor.ino;
    o->file.size = o->file_cursor.size;
    o->file.regular = o->file_cursor.ino != 0;
    return o->scan.bad ? cut_tail(o, o->scan.bad_at) : TC_OK;
}

/* Second pass, now that the cursors are known: what each output still has to get. */
static tc_status count_pending(struct tc_outbox *o)
{
    struct tc__record r;
    tc_status status = TC_OK;
    for (size_t i = 0; i < TC__OUTPUT_COUNT; i++) {
        o->out[i].at = o->log.end;
    }
    tc__outbox_scan_begin(&o->scan, o->log.fd, 0, o->log.end);
    while (tc__outbox_scan_next(&o->scan, &r, &status)) {
        for (size_t i = 0; i < TC__OUTPUT_COUNT && r.kind == TC__RECORD_VERDICT; i++) {
            struct tc__out *out = &o->out[i];
            if (r.number >= out->next) {
                out->at = out->pending == 0 ? r.at : out->at;
                out->pending++;
                out->pending_bytes += r.len;
            }
        }
    }
    o->log_end = o->log.end;
    o->stats.log_bytes = o->log.end;
    return status;
}

/* Third pass, now that it is known which record of an incident is its last. */
static tc_status restore_marks(struct tc_outbox *o,
                               tc_status (*restore)(void *context,
                                                    const struct tc_incident_mark *mark),
                               void *context)
{
    struct tc__record r;
    tc_status status = TC_OK;
    tc__outbox_scan_begin(&o->scan, o->log.fd, 0, o->log.end);
    while (tc__outbox_scan_next(&o->scan, &r, &status)) {
        if (r.kind != TC__RECORD_CURSOR && tc__marks_is_latest(&o->marks, &r)) {
            TC_TRY(restore(context, &r.mark));
        }
    }
    return status;
}

static tc_status recover(struct tc_outbox *o, const struct tc_outbox_config *config,
                         tc_status (*restore)(void *context, const struct tc_incident_mark *mark),
                         void *context, struct tc_error *err)
{
    tc_status status = read_log(o);
    if (status == TC_E_UNSUPPORTED) {
        return tc__log_refuse(config->dir, o->log.seq, o->scan.newer, err);
    }
    status = status == TC_OK ? count_pending(o) : status;
    if (status == TC_OK && (o->stats.torn_bytes > 0 || o->stats.damaged > 0)) {
        char name[TC__LOG_NAME_MAX];
        tc__log_name(name, o->log.seq, "log");
        tc_log_fields(TC_LOG_WARN, "the log of verdicts was damaged and is repaired",
                      TC_LOG_CSTR("dir", config->dir), TC_LOG_CSTR("file", name),
                      TC_LOG_NUMBER("torn_bytes", (int64_t)o->stats.torn_bytes),
                      TC_LOG_NUMBER("skipped", (int64_t)o->stats.damaged));
    }
    if (status == TC_OK) {
        o->stats.incidents = o->marks.count;
        apply(o, config);
        tc__alerts_configure(o, config->alerts);
        tc__file_cut_zeros(o->path);
    }
    status = status == TC_OK && restore != NULL ? restore_marks(o, restore, context) : status;
    return status == TC_OK ? TC_OK
                           : tc_fail(err, status, 0, "%s: the log of verdicts: %s", config->dir,
                                     status == TC_E_IO ? strerror(errno) : tc_status_text(status));
}

static void init_sync(struct tc_outbox *o)
{
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&o->lock, NULL);
    (void)pthread_mutex_init(&o->swap, NULL);
    (void)pthread_cond_init(&o->work, &attr);
    (void)pthread_cond_init(&o->export, &attr);
    (void)pthread_cond_init(&o->ended, &attr);
    (void)pthread_condattr_destroy(&attr);
}

static void destroy(struct tc_outbox *o)
{
    for (struct tc__waiting *w = o->first; w != NULL;) {
        struct tc__waiting *next = w->next;
        free(w);
        w = next;
    }
    tc__alerts_destroy(o);
    tc__file_close(&o->file);
    tc__log_close(&o->log);
    tc_lru_fini(&o->marks);
    tc__outbox_scan_fini(&o->scan);
    tc__outbox_scan_fini(&o->pull);
    if (o->stop_fd >= 0) {
        (void)close(o->stop_fd);
    }
    (void)pthread_mutex_destroy(&o->lock);
    (void)pthread_mutex_destroy(&o->swap);
    (void)pthread_cond_destroy(&o->work);
    (void)pthread_cond_destroy(&o->export);
    (void)pthread_cond_destroy(&o->ended);
    free(o->group);
    free(o);
}

tc_status tc_outbox_open(const struct tc_outbox_config *config,
                         tc_status (*restore)(void *context, const struct tc_incident_mark *mark),
                         void *context, struct tc_outbox **out_outbox, struct tc_error *err)
{
    struct tc_outbox *o = calloc(1, sizeof *o);
    if (o == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the outbox");
    }
    o->log = (struct tc__log){.dir_fd = -1, .fd = -1};
    init_sync(o);
    tc__file_init(&o->file);
    fill_io(&o->io, &config->io);
    tc__outbox_compact_init(o, config->compact_bytes);
    o->file_sync_after_ns = config->file_sync_ns == 0 ? FILE_SYNC_AFTER : config->file_sync_ns;
    o->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    o->group = malloc(GROUP_ROOM);
    tc_status status = TC_OK;
    size_t marks_max = config->marks_max == 0 ? TC_OUTBOX_MARKS_MAX : config->marks_max;
    if (o->stop_fd < 0 || o->group == NULL || tc__outbox_scan_init(&o->scan) != TC_OK ||
        !tc_lru_init(&o->marks, marks_max, sizeof(struct tc__mark_place)) ||
        tc__alerts_create(o) != TC_OK) {
        status = tc_fail(err, TC_E_NOMEM, 0, "no memory or descriptor for the outbox");
    }
    status = status == TC_OK ? tc_outbox_check_version(config->dir, err) : status;
    status = status == TC_OK ? tc__log_open(&o->log, &o->io, config->dir, err) : status;
    status = status == TC_OK ? recover(o, config, restore, context, err) : status;
    if (status != TC_OK) {
        destroy(o);
        return status;
    }
    *out_outbox = o;
    return TC_OK;
}

tc_status tc_outbox_start(struct tc_outbox *o, struct tc_error *err)
{
    TC_ASSERT(!o->started);
    /* Signals are for the loop's thread; a closed pipe is an error here, not an end. */
    sigset_t all;
    sigset_t old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    int code = pthread_create(&o->writer, NULL, tc__outbox_writer_main, o);
    if (code == 0) {
        o->started = true;
        code = pthread_create(&o->exporter, NULL, tc__outbox_export_main, o);
        if (code != 0) {
            (void)pthread_mutex_lock(&o->lock);
            o->export_over = true;
            o->stopping = true;
            (void)pthread_cond_broadcast(&o->work);
            (void)pthread_mutex_unlock(&o->lock);
            (void)pthread_join(o->writer, NULL);
            o->started = false;
        }
    }
    if (code == 0) {
        tc__alerts_start(o);
    }
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return code == 0 ? TC_OK
                     : tc_fail(err, TC_E_IO, 0, "no thread for the outbox: %s", strerror(code));
}

/* ---- taking -------------------------------------------------------------------------------- */

tc_status tc_outbox_put(struct tc_outbox *o, const struct tc_incident_mark *mark,
                        struct tc_slice json, int64_t arrival_ns)
{
    struct tc__record r = {.kind = TC__RECORD_VERDICT,
                           .number = o->next_number,
                           .taken_ns = tc_wall_ns(),
                           .arrival_ns = arrival_ns,
                           .mark = *mark,
                           .json = json};
    r.len = tc__record_size(&r);
    if (r.len - TC__RECORD_HEAD_BYTES > TC_OUTBOX_RECORD_MAX) {
        return TC_E_UNSUPPORTED;
    }
    struct tc__waiting *w = malloc(sizeof *w + r.len);
    if (w == NULL) {
        return TC_E_NOMEM;
    }
    tc__record_write(w->bytes, &r);
    enum tc__record_found found = tc__record_read(tc_slice_make(w->bytes, r.len), &w->record);
    TC_ASSERT(found == TC__RECORD_GOOD);
    w->next = NULL;
    (void)pthread_mutex_lock(&o->lock);
    bool full = o->waiting_bytes + r.len > TC_OUTBOX_QUEUE_MAX;
    if (full) {
        o->stats.refused++;
    } else {
        *(o->first == NULL ? &o->first : &o->last->next) = w;
        o->last = w;
        o->waiting++;
        o->waiting_bytes += r.len;
        o->next_number++;
        o->stats.taken++;
        (void)pthread_cond_signal(&o->work);
    }
    (void)pthread_mutex_unlock(&o->lock);
    if (full) {
        free(w);
    }
    return full ? TC_E_LIMIT : TC_OK;
}

void tc_outbox_stats(struct tc_outbox *o, struct tc_outbox_stats *out)
{
    (void)pthread_mutex_lock(&o->lock);
    *out = o->stats;
    const struct tc__out *file = &o->out[TC__OUTPUT_FILE];
    const struct tc__out *otlp = &o->out[TC__OUTPUT_OTLP];
    out->pending_file = file->on ? file->pending + o->waiting : 0;
    out->pending_otlp = otlp->on ? otlp->pending + o->waiting : 0;
    out->pending_pull = o->out[TC__OUTPUT_PULL].on ? o->out[TC__OUTPUT_PULL].pending : 0;
    out->waiting = o->waiting;
    (void)pthread_mutex_unlock(&o->lock);
}

/* ---- the end ------------------------------------------------------------------------------- */

static void stop_threads(struct tc_outbox *o, int64_t wait_ns)
{
    int64_t until_ns = tc_mono_ns() + (wait_ns < 0 ? 0 : wait_ns);
    (void)pthread_mutex_lock(&o->lock);
    o->stopping = true;
    (void)pthread_cond_broadcast(&o->work);
    (void)pthread_cond_broadcast(&o->export);
    while (!o->writer_over && tc_mono_ns() < until_ns) {
        tc__outbox_wait(o, &o->ended, until_ns);
    }
    o->aborting = true;
    uint64_t one = 1;
    ssize_t n = write(o->stop_fd, &one, sizeof one);
    (void)n; /* an eventfd that is full is readable as well */
    (void)pthread_cond_broadcast(&o->work);
    (void)pthread_cond_broadcast(&o->export);
    (void)pthread_mutex_unlock(&o->lock);
    tc__alerts_join(o);
    (void)pthread_join(o->exporter, NULL);
    (void)pthread_join(o->writer, NULL);
}

void tc_outbox_close(struct tc_outbox *o, int64_t wait_ns)
{
    if (o == NULL) {
        return;
    }
    if (o->started) {
        stop_threads(o, wait_ns);
    } else if (o->first != NULL) {
        tc__outbox_store(o);
    }
    if (o->first != NULL) {
        tc_log_fields(TC_LOG_ERROR, "verdicts were not stored",
                      TC_LOG_NUMBER("count", (int64_t)o->waiting),
                      TC_LOG_CSTR("reason", "the disk did not take them in time"));
    }
    destroy(o);
}
