/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"
#include "base/clock.h"
#include "base/time.h"
#include "config/config.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/committer.h"
#include "server/forward/priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* How far the receivers are is written so often. What was sent after it is sent again after a
 * crash, and known there. */
#define SAVE_NS (2 * TC_SECOND)
/* After evidence that could not be read. */
#define AGAIN_NS TC_SECOND

bool tc_forward_judges_elsewhere(const struct tc_config *c)
{
    bool is_auto = strcmp(c->detection_enabled, "auto") == 0;
    return is_auto ? c->forward_endpoints[0] != '\0' : strcmp(c->detection_enabled, "false") == 0;
}

/* ---- how it is ---- */

void tc__forward_failing(struct tc__endpoint *e, const struct tc_error *why)
{
    struct tc_forward *f = e->of;
    if (!tc__forward_sleep(e, 0, false)) {
        return; /* because it is to end */
    }
    (void)pthread_mutex_lock(&f->lock);
    bool is_new = e->stats.failing_ns == 0 || strcmp(e->stats.why.message, why->message) != 0;
    e->stats.retries++;
    e->stats.failing_ns = e->stats.failing_ns == 0 ? tc_wall_ns() : e->stats.failing_ns;
    e->stats.why = *why;
    (void)pthread_mutex_unlock(&f->lock);
    if (is_new) {
        tc_log_fields(TC_LOG_WARN, "batches wait to be forwarded; it is tried again",
                      TC_LOG_CSTR("endpoint", e->url), TC_LOG_CSTR("error", why->message));
    }
}

void tc__forward_works(struct tc__endpoint *e)
{
    struct tc_forward *f = e->of;
    (void)pthread_mutex_lock(&f->lock);
    bool was_failing = e->stats.failing_ns != 0;
    e->stats.failing_ns = 0;
    (void)pthread_mutex_unlock(&f->lock);
    if (was_failing) {
        tc_log_fields(TC_LOG_INFO, "batches are forwarded again", TC_LOG_CSTR("endpoint", e->url));
    }
}

/* What nobody needs any more may be deleted; all that is needed is what the slowest has not. */
static void let_go(struct tc_forward *f, const struct tc_forward_place *place)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < place->count; i++) {
        uint64_t position = place->endpoints[i].position;
        least = position < least ? position : least;
    }
    tc_store_hold(f->parts.store, least + 1);
}

void tc__forward_save(struct tc_forward *f, bool now)
{
    struct tc_error err = {0};
    struct tc_forward_place place;
    (void)pthread_mutex_lock(&f->lock);
    bool is_due = f->is_changed && (now || tc_mono_ns() - f->saved_ns >= SAVE_NS);
    if (is_due) {
        f->is_changed = false;
        f->saved_ns = tc_mono_ns();
        for (size_t i = 0; i < f->count; i++) {
            f->place.endpoints[i].position = f->endpoints[i].position;
        }
        place = f->place;
    }
    (void)pthread_mutex_unlock(&f->lock);
    if (!is_due) {
        return;
    }
    (void)pthread_mutex_lock(&f->saver);
    tc_status status = tc_forward_place_write(f->parts.data_dir, &place, &err);
    (void)pthread_mutex_unlock(&f->saver);
    if (status != TC_OK) {
        tc_log_fields(TC_LOG_WARN,
                      "how far batches are forwarded cannot be written; after a crash more of them "
                      "are sent again",
                      TC_LOG_CSTR("error", err.message));
        (void)pthread_mutex_lock(&f->lock);
        f->is_changed = true;
        (void)pthread_mutex_unlock(&f->lock);
    }
    let_go(f, &place);
}

/* ---- the thread ---- */

static void note_position(struct tc__endpoint *e, uint64_t position, uint64_t bytes, bool is_batch)
{
    struct tc_forward *f = e->of;
    (void)pthread_mutex_lock(&f->lock);
    f->is_changed = f->is_changed || position != e->position;
    e->position = position;
    e->stats.batches += is_batch;
    e->stats.bytes += bytes;
    e->stats.oldest_ns = 0;
    (void)pthread_mutex_unlock(&f->lock);
    tc__forward_save(f, false);
}

static tc_status take(void *context, const struct tc_batch *batch, const struct tc_batch_info *info)
{
    struct tc__endpoint *e = context;
    (void)info;
    if (batch->number > e->until) {
        return TC_E_LIMIT; /* not durable yet */
    }
    (void)pthread_mutex_lock(&e->of->lock);
    e->stats.oldest_ns = batch->arrival_ns;
    uint64_t refused = e->stats.refused;
    (void)pthread_mutex_unlock(&e->of->lock);
    TC_TRY(tc__forward_batch(e, batch));
    bool is_taken = e->stats.refused == refused; /* only this thread changes it */
    note_position(e, batch->number, is_taken ? batch->body.len : 0, is_taken);
    return TC_OK;
}

static void bad(void *context, const char *line)
{
    const struct tc__endpoint *e = context;
    tc_log_fields(TC_LOG_ERROR, "a damaged batch is not forwarded", TC_LOG_CSTR("endpoint", e->url),
                  TC_LOG_CSTR("error", line));
}

/* All that is durable. */
static tc_status walk(struct tc__endpoint *e, struct tc_error *err)
{
    struct tc_evidence_choice choice = {.kinds = ~0U, .take = take, .bad = bad, .context = e};
    uint64_t from = e->position + 1;
    if (e->evidence == NULL) {
        TC_TRY(tc_evidence_open(e->of->parts.evidence_dir, &e->evidence, err));
    }
    tc_status status = tc_evidence_walk_some(e->evidence, &from, &choice, err);
    if (status == TC_OK || (status == TC_E_LIMIT && from > e->until)) {
        note_position(e, e->until, 0, false); /* what is not there was never stored, or is gone */
        return TC_OK;
    }
    return status;
}

static void *run(void *context)
{
    struct tc__endpoint *e = context;
    struct tc_forward *f = e->of;
    int64_t wait_ns = 0;
    while (tc__forward_sleep(e, wait_ns, e->position >= e->until)) {
        struct tc_error err = {0};
        e->until = tc_committer_settled(f->parts.committer);
        wait_ns = SAVE_NS;
        tc_status status = e->position < e->until ? walk(e, &err) : TC_OK;
        if (status != TC_OK && status != TC_E_AGAIN) {
            tc__forward_failing(e, &err);
            wait_ns = AGAIN_NS;
        }
        tc__forward_save(f, false);
    }
    return NULL;
}

/* From the loop's thread: there is more that is durable. */
static void on_grown(void *context)
{
    struct tc_forward *f = context;
    for (size_t i = 0; i < f->count; i++) {
        (void)eventfd_write(f->endpoints[i].wake_fd, 1);
    }
}

/* ---- life ---- */

/* Where a receiver goes on: where it was; one that is new begins with what comes now. */
static uint64_t find_position(const struct tc_forward_place *known, const char *url, uint64_t last)
{
    for (size_t i = 0; i < known->count; i++) {
        if (strcmp(known->endpoints[i].url, url) == 0) {
            return known->endpoints[i].position;
        }
    }
    return last;
}

static tc_status read_place(struct tc_forward *f, struct tc_error *err)
{
    struct tc_forward_place known;
    uint64_t last = tc_committer_settled(f->parts.committer);
    tc_status status = tc_forward_place_read(f->parts.data_dir, &known, err);
    if (status == TC_E_MALFORMED) {
        tc_log_fields(TC_LOG_ERROR,
                      "how far batches were forwarded is not known: only those that come from now "
                      "on are",
                      TC_LOG_CSTR("error", err->message));
    } else if (status != TC_OK) {
        return status;
    }
    bool is_new = known.agent[0] == 0 && known.agent[1] == 0;
    memcpy(f->place.agent, known.agent, sizeof known.agent);
    struct tc_slice rest = tc_slice_cstr(f->parts.config->forward_endpoints);
    while (rest.len > 0 && f->place.count < TC_FORWARD_ENDPOINTS_MAX) {
        struct tc_slice url = tc_slice_cut(rest, '\n', &rest);
        char *to = f->place.endpoints[f->place.count].url;
        TC_ASSERT(url.len < TC_FORWARD_URL_MAX); /* checked when it was read */
        memcpy(to, url.ptr, url.len);
        uint64_t position = find_position(&known, to, last);
        /* The store has lost its end, and gives those numbers again. */
        is_new = is_new || position > last;
        f->place.endpoints[f->place.count++].position = position < last ? position : last;
    }
    TC_TRY(is_new ? tc_forward_place_renew(&f->place, err) : TC_OK);
    TC_TRY(tc_forward_place_write(f->parts.data_dir, &f->place, err));
    let_go(f, &f->place);
    return TC_OK;
}

static tc_status start(struct tc_forward *f, struct tc_error *err)
{
    f->stop_fd = eventfd(0, EFD_CLOEXEC);
    TC_TRY(read_place(f, err));
    for (size_t i = 0; i < f->place.count; i++) {
        struct tc__endpoint *e = &f->endpoints[i];
        e->of = f;
        e->url = f->place.endpoints[i].url;
        e->position = f->place.endpoints[i].position;
        e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        f->count++;
        if (f->stop_fd < 0 || e->wake_fd < 0) {
            return tc_fail(err, TC_E_NOMEM, 0, "forwarding cannot be set up");
        }
    }
    tc_committer_listen(f->parts.committer, on_grown, f);
    for (size_t i = 0; i < f->count; i++) {
        struct tc__endpoint *e = &f->endpoints[i];
        e->is_started = pthread_create(&e->thread, NULL, run, e) == 0;
        if (!e->is_started) {
            return tc_fail(err, TC_E_NOMEM, 0, "a thread that forwards cannot be started");
        }
    }
    tc_metrics_more(TC_METRICS_FORWARD, tc__forward_metrics, f);
    return TC_OK;
}

tc_status tc_forward_create(const struct tc_forward_parts *parts, struct tc_forward **out_forward,
                            struct tc_error *err)
{
    struct tc_forward *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to forward");
    }
    f->parts = *parts;
    f->stop_fd = -1;
    (void)pthread_mutex_init(&f->lock, NULL);
    (void)pthread_mutex_init(&f->saver, NULL);
    tc_status status = start(f, err);
    if (status != TC_OK) {
        tc_forward_destroy(f);
        return status;
    }
    *out_forward = f;
    return TC_OK;
}

static void end_endpoint(struct tc__endpoint *e)
{
    if (e->is_started) {
        (void)pthread_join(e->thread, NULL);
    }
    if (e->wake_fd >= 0) {
        (void)close(e->wake_fd);
    }
    tc_post_close(&e->post);
    tc_evidence_close(e->evidence);
    free(e->plain);
    free(e->packed);
}

void tc_forward_destroy(struct tc_forward *f)
{
    if (f == NULL) {
        return;
    }
    tc_metrics_more(TC_METRICS_FORWARD, NULL, NULL);
    tc_committer_listen(f->parts.committer, NULL, NULL);
    if (f->stop_fd >= 0) {
        TC_ASSERT(eventfd_write(f->stop_fd, 1) == 0);
    }
    for (size_t i = 0; i < f->count; i++) {
        end_endpoint(&f->endpoints[i]);
    }
    tc__forward_save(f, true);
    if (f->stop_fd >= 0) {
        (void)close(f->stop_fd);
    }
    (void)pthread_mutex_destroy(&f->lock);
    (void)pthread_mutex_destroy(&f->saver);
    free(f);
}
