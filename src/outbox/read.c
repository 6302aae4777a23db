/* SPDX-License-Identifier: Apache-2.0 */
/* The log as a history: for readers that come back and say how far they were. */
#include "outbox/outbox_priv.h"

uint64_t tc_outbox_next(const struct tc_outbox *o)
{
    return o->next_number;
}

uint64_t tc_outbox_stored(struct tc_outbox *o)
{
    (void)pthread_mutex_lock(&o->lock);
    uint64_t next = o->next_stored;
    (void)pthread_mutex_unlock(&o->lock);
    return next;
}

/* Holds `swap`, so that the log is not exchanged meanwhile. Numbers grow in the log; what was
 * compacted away left a mark, or nothing. */
static tc_status read_from(struct tc_outbox *o, struct tc__outbox_scan *scan, size_t bytes_max,
                           tc_status (*take)(void *context, uint64_t number, struct tc_slice json),
                           void *context, uint64_t *io_next, bool *out_is_gap)
{
    struct tc__record r;
    size_t bytes = 0;
    tc_status status = TC_OK;
    (void)pthread_mutex_lock(&o->lock);
    uint64_t end = o->log_end;
    uint64_t stored = o->next_stored;
    (void)pthread_mutex_unlock(&o->lock);
    tc__outbox_scan_begin(scan, o->log.fd, 0, end);
    while (bytes < bytes_max && *io_next < stored && tc__outbox_scan_next(scan, &r, &status)) {
        if (r.kind == TC__RECORD_CURSOR || r.number < *io_next) {
            continue;
        }
        if (r.kind != TC__RECORD_VERDICT || r.number != *io_next) {
            *out_is_gap = true;
            return TC_OK;
        }
        TC_TRY(take(context, r.number, r.json));
        bytes += r.json.len;
        *io_next = r.number + 1;
    }
    *out_is_gap = status == TC_OK && *io_next != stored && bytes < bytes_max;
    return status;
}

tc_status tc_outbox_read(struct tc_outbox *o, uint64_t from, size_t bytes_max,
                         tc_status (*take)(void *context, uint64_t number, struct tc_slice json),
                         void *context, uint64_t *out_next, bool *out_is_gap)
{
    struct tc__outbox_scan scan = {0};
    *out_next = from;
    *out_is_gap = false;
    TC_TRY(tc__outbox_scan_init(&scan));
    (void)pthread_mutex_lock(&o->swap);
    tc_status status = read_from(o, &scan, bytes_max, take, context, out_next, out_is_gap);
    (void)pthread_mutex_unlock(&o->swap);
    tc__outbox_scan_fini(&scan);
    return status;
}
