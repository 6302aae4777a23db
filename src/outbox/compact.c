/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compaction: a new log with one mark per incident and what is not delivered yet. It gets its name
 * once it is durable, so that a crash at any moment leaves one whole log; the old one goes last.
 */
#include "observe/log.h"
#include "outbox/alerts_priv.h"
#include "outbox/outbox_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The log is compacted beyond this, unless the configuration says otherwise. */
#define COMPACT_BYTES ((uint64_t)8 << 20)

struct compaction {
    struct tc__log log; /* the new one */
    size_t have;        /* of o->group: not written yet */
    struct tc__out out[TC__OUTPUT_COUNT];
    uint64_t at[TC__OUTPUT_COUNT]; /* of the first that the output wants; 0: none so far */
};

static tc_status flush(struct tc_outbox *o, struct compaction *c, struct tc_error *err)
{
    tc_status status =
        tc__log_append(&c->log, &o->io, tc_slice_make(o->group, c->have), false, err);
    c->have = 0;
    return status;
}

static tc_status add(struct tc_outbox *o, struct compaction *c, const struct tc__record *r,
                     struct tc_error *err)
{
    if (c->have >= TC__GROUP_BYTES) {
        TC_TRY(flush(o, c, err));
    }
    tc__record_write(o->group + c->have, r);
    c->have += tc__record_size(r);
    return TC_OK;
}

/* What of a record is still needed: all, its mark, or nothing. */
static tc_status copy(struct tc_outbox *o, struct compaction *c, struct tc__record *r,
                      struct tc_error *err)
{
    bool wanted = false;
    for (size_t i = 0; i < TC__OUTPUT_COUNT && r->kind == TC__RECORD_VERDICT; i++) {
        if (c->out[i].on && r->number >= c->out[i].next) {
            wanted = true;
            c->at[i] = c->at[i] == 0 ? c->log.end + c->have + 1 : c->at[i];
        }
    }
    wanted = wanted || (r->kind == TC__RECORD_VERDICT && tc__alerts_need(o, r));
    if (r->kind == TC__RECORD_CURSOR || (!wanted && !tc__marks_is_latest(&o->marks, r))) {
        return TC_OK;
    }
    r->kind = wanted ? TC__RECORD_VERDICT : TC__RECORD_MARK;
    return add(o, c, r, err);
}

static tc_status add_cursors(struct tc_outbox *o, struct compaction *c, struct tc_error *err)
{
    for (size_t i = 0; i < TC__OUTPUT_COUNT; i++) {
        struct tc__record r = {.kind = TC__RECORD_CURSOR,
                               .cursor = {.output = (enum tc__output)i, .next = c->out[i].next}};
        if (i == TC__OUTPUT_FILE) {
            o->file_cursor.next = c->out[i].next;
            r.cursor = o->file_cursor;
        }
        TC_TRY(add(o, c, &r, err));
    }
    struct tc__cursor alerts[TC_ALERT_RECEIVERS_MAX];
    (void)pthread_mutex_lock(&o->lock);
    size_t count = tc__alerts_cursors(o, false, alerts);
    (void)pthread_mutex_unlock(&o->lock);
    for (size_t i = 0; i < count; i++) {
        struct tc__record r = {.kind = TC__RECORD_CURSOR, .cursor = alerts[i]};
        TC_TRY(add(o, c, &r, err));
    }
    return TC_OK;
}

static tc_status fill(struct tc_outbox *o, struct compaction *c, struct tc_error *err)
{
    struct tc__record r;
    tc_status status = TC_OK;
    tc__outbox_scan_begin(&o->scan, o->log.fd, 0, o->log.end);
    while (tc__outbox_scan_next(&o->scan, &r, &status)) {
        TC_TRY(copy(o, c, &r, err));
    }
    if (status != TC_OK) {
        return tc_fail(err, status, 0, "the log cannot be read: %s", strerror(errno));
    }
    TC_TRY(add_cursors(o, c, err));
    TC_TRY(flush(o, c, err));
    return o->io.sync(c->log.fd) == 0
               ? TC_OK
               : tc_fail(err, TC_E_IO, 0, "the log cannot be synced: %s", strerror(errno));
}

static tc_status write_new(struct tc_outbox *o, struct compaction *c, struct tc_error *err)
{
    char unfinished[TC__LOG_NAME_MAX];
    char name[TC__LOG_NAME_MAX];
    tc__log_name(unfinished, c->log.seq, "tmp");
    tc__log_name(name, c->log.seq, "log");
    c->log.fd = openat(c->log.dir_fd, unfinished,
                       O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (c->log.fd < 0) {
        return tc_fail(err, TC_E_IO, 0, "%s: cannot be made: %s", unfinished, strerror(errno));
    }
    tc_status status = fill(o, c, err);
    if (status == TC_OK &&
        (o->io.rename(c->log.dir_fd, unfinished, name) != 0 || o->io.sync(c->log.dir_fd) != 0)) {
        status = tc_fail(err, TC_E_IO, 0, "%s: cannot be renamed: %s", unfinished, strerror(errno));
        (void)unlinkat(c->log.dir_fd, name, 0);
    }
    if (status != TC_OK) {
        (void)unlinkat(c->log.dir_fd, unfinished, 0);
        (void)close(c->log.fd);
    }
    return status;
}

/* The new log takes the place of the old one, also for the export thread. */
static void exchange(struct tc_outbox *o, const struct compaction *c)
{
    char old[TC__LOG_NAME_MAX];
    tc__log_name(old, o->log.seq, "log");
    int old_fd = o->log.fd;
    (void)pthread_mutex_lock(&o->swap);
    (void)pthread_mutex_lock(&o->lock);
    o->log = c->log;
    o->log_end = c->log.end;
    o->log_turn++;
    o->stats.log_bytes = c->log.end;
    o->stats.compactions++;
    for (size_t i = 0; i < TC__OUTPUT_COUNT; i++) {
        o->out[i].at = c->at[i] == 0 ? c->log.end : c->at[i] - 1;
    }
    (void)pthread_mutex_unlock(&o->lock);
    (void)pthread_mutex_unlock(&o->swap);
    (void)close(old_fd);
    (void)unlinkat(o->log.dir_fd, old, 0);
}

void tc__outbox_compact_init(struct tc_outbox *o, uint64_t beyond_bytes)
{
    o->compact_bytes = beyond_bytes == 0 ? COMPACT_BYTES : beyond_bytes;
    o->compact_at = o->compact_bytes;
}

void tc__outbox_compact(struct tc_outbox *o)
{
    if (o->log.end <= o->compact_at || o->file_dirty) {
        return; /* what is not durable in the file is still needed */
    }
    struct compaction c = {.log = {.dir_fd = o->log.dir_fd, .fd = -1, .seq = o->log.seq + 1}};
    uint64_t pending = 0;
    (void)pthread_mutex_lock(&o->lock);
    memcpy(c.out, o->out, sizeof c.out);
    (void)pthread_mutex_unlock(&o->lock);
    for (size_t i = 0; i < TC__OUTPUT_COUNT; i++) {
        pending = c.out[i].pending_bytes > pending ? c.out[i].pending_bytes : pending;
    }
    if (pending > o->log.end / 2) {
        return; /* it would not get much shorter */
    }
    struct tc_error err = {0};
    if (write_new(o, &c, &err) != TC_OK) {
        (void)pthread_mutex_lock(&o->lock);
        o->stats.errors++;
        (void)pthread_mutex_unlock(&o->lock);
        tc_log_fields(TC_LOG_WARN, "the log of verdicts cannot be compacted",
                      TC_LOG_CSTR("error", err.message));
        o->compact_at = o->log.end + o->compact_bytes; /* not before it is longer again */
        return;
    }
    exchange(o, &c);
    o->compact_at = c.log.end * 2 > o->compact_bytes ? c.log.end * 2 : o->compact_bytes;
}
