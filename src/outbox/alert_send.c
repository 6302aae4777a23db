/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread of one receiver: reads on in the log, asks the book what the receiver does not know,
 * and tells it. Nothing is kept here: what was not taken is asked for again.
 */
#include "alert/alertmanager.h"
#include "alert/template.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "observe/log.h"
#include "outbox/alert_body.h"
#include "outbox/alerts_priv.h"
#include "outbox/post.h"

#include <stdlib.h>
#include <string.h>

/* Alerts of one request. */
#define BATCH_MAX 64
#define TEXT_MAX 160 /* of a reply, in our log */
/* A receiver that could not be set up is tried again: a secret may come later. */
#define SETUP_PAUSE (30 * TC_SECOND)

struct sender {
    struct tc__alert_slot *slot;
    struct tc_outbox *o;
    struct tc_alert_output output;
    struct tc_alert_body body;
    struct tc_post post;
    struct tc_grow body_text; /* of a list or a webhook's */
    struct tc_alert_requests requests;
    struct tc_alert_due due[BATCH_MAX];
    size_t due_count;
    uint64_t turn;       /* of the configuration that it has */
    uint64_t seen;       /* records that were there when the log was read */
    int64_t wake_ns;     /* when something is due, monotonic; 0: when something happens */
    int64_t setup_ns;    /* not before, where it could not be set up; 0 */
    uint64_t fail_count; /* in a row */
};

/* ---- how it goes ---------------------------------------------------------------------------- */

static void note_failure(struct sender *s, const char *why, int64_t pause_ns)
{
    struct tc_alert_output_stats *stats = &s->slot->stats;
    (void)pthread_mutex_lock(&s->o->lock);
    bool is_new = stats->failing_ns == 0;
    stats->failing_ns = is_new ? tc_wall_ns() : stats->failing_ns;
    (void)snprintf(stats->error, sizeof stats->error, "%s", why);
    stats->retries++;
    (void)pthread_mutex_unlock(&s->o->lock);
    s->fail_count++;
    tc_log_fields(is_new ? TC_LOG_WARN : TC_LOG_DEBUG,
                  "alerts wait: their receiver does not take them",
                  TC_LOG_CSTR("output", s->output.name), TC_LOG_CSTR("error", why),
                  TC_LOG_NUMBER("again_in_ms", pause_ns / (TC_SECOND / 1000)));
}

static void note_success(struct sender *s)
{
    struct tc_alert_output_stats *stats = &s->slot->stats;
    (void)pthread_mutex_lock(&s->o->lock);
    int64_t since_ns = stats->failing_ns;
    stats->failing_ns = 0;
    stats->error[0] = '\0';
    (void)pthread_mutex_unlock(&s->o->lock);
    if (since_ns != 0) {
        tc_log_fields(TC_LOG_INFO, "alerts are delivered again",
                      TC_LOG_CSTR("output", s->output.name),
                      TC_LOG_NUMBER("after_ms", (tc_wall_ns() - since_ns) / (TC_SECOND / 1000)),
                      TC_LOG_NUMBER("tries", (int64_t)s->fail_count));
    }
    s->fail_count = 0;
}

/* ---- configuration -------------------------------------------------------------------------- */

/* The output of the slot as it is configured now. Holds the book's lock. */
static bool find_output(struct sender *s, struct tc_alert_settings *settings)
{
    for (size_t i = 0; i < settings->output_count; i++) {
        if (strcmp(settings->outputs[i].name, s->slot->stats.name) == 0) {
            s->output = settings->outputs[i];
            return true;
        }
    }
    return false;
}

static void set_up(struct sender *s)
{
    struct tc__alerts *a = s->o->alerts;
    struct tc_error err = {0};
    (void)pthread_mutex_lock(&a->lock);
    bool is_there = find_output(s, &a->settings);
    struct tc_post_config config = {.timeout_ns = a->settings.timeout_ns,
                                    .backoff_min_ns = a->settings.backoff_min_ns,
                                    .backoff_max_ns = a->settings.backoff_max_ns,
                                    .stop_fd = s->o->stop_fd};
    (void)pthread_mutex_unlock(&a->lock);
    tc_post_close(&s->post);
    tc_alert_body_fini(&s->body);
    s->setup_ns = 0;
    if (is_there && tc_alert_body_init(&s->body, &s->output, &config, &s->post, &err) != TC_OK) {
        s->setup_ns = tc_mono_ns() + SETUP_PAUSE;
        note_failure(s, err.message, SETUP_PAUSE);
    }
}

/* ---- one request ---------------------------------------------------------------------------- */

/* The book's view of one that is due; false when it is gone. Holds the book's lock. */
static bool view(const struct sender *s, const struct tc_alert_due *due, int64_t now_ns, char *link,
                 struct tc_alert *out)
{
    const struct tc__alerts *a = s->o->alerts;
    if (!tc_alert_book_view(a->book, s->slot->at, due, out)) {
        return false;
    }
    /* Long enough that one request may fail. */
    out->ends_ns = out->is_firing ? now_ns + 4 * a->settings.resend_ns : out->ends_ns;
    out->link = tc_alert_link(a->settings.link, out->id, link);
    return true;
}

/* All that is due, as one list for an Alertmanager. Holds the book's lock. */
static tc_status make_list(struct sender *s, int64_t now_ns)
{
    struct tc_json_out j = tc_json_out_grow(&s->body_text);
    tc_json_add_array(&j);
    for (size_t i = 0; i < s->due_count; i++) {
        char link[TC_ALERT_LINK_MAX];
        struct tc_alert alert;
        if (view(s, &s->due[i], now_ns, link, &alert)) {
            tc_alertmanager_add(&j, &alert, tc_slice_cstr(s->output.labels));
        }
    }
    tc_json_end_array(&j);
    return tc_json_done(&j) ? TC_OK : TC_E_NOMEM;
}

/* What is due, as requests. Holds the book's lock. */
static tc_status make_requests(struct sender *s, int64_t now_ns)
{
    char link[TC_ALERT_LINK_MAX];
    struct tc_alert alert;
    tc_status status = TC_OK;
    tc_buf_reset(&s->body_text.buf);
    s->body_text.failed = false;
    s->requests.count = 0;
    if (s->output.type == TC_ALERT_ALERTMANAGER) {
        status = make_list(s, now_ns);
    } else if (!view(s, &s->due[0], now_ns, link, &alert)) {
        return TC_OK;
    } else if (s->output.type == TC_ALERT_KUBERNETES) {
        bool is_alone =
            !tc_alert_book_node_fires(s->o->alerts->book, alert.node, s->output.severity, alert.id);
        return tc_alert_requests_make(&s->requests, &s->output, &alert, alert.is_firing || is_alone,
                                      now_ns);
    } else {
        status = tc_alert_body_render(&s->body, &alert, &s->body_text);
    }
    s->requests.items[0] = (struct tc_post_request){.body = tc_grow_slice(&s->body_text)};
    s->requests.count = 1;
    return status;
}

/* What the receiver is to be told, into s->due and s->requests. */
static tc_status ask_book(struct sender *s)
{
    struct tc_outbox *o = s->o;
    struct tc__alerts *a = o->alerts;
    int64_t now_ns = tc_wall_ns();
    int64_t next_ns = INT64_MAX;
    (void)pthread_mutex_lock(&a->lock);
    tc__alerts_read_log(o);
    bool is_list = s->output.type == TC_ALERT_ALERTMANAGER;
    bool has_news = s->output.type == TC_ALERT_WEBHOOK && a->settings.update_ns > 0;
    struct tc_alert_policy policy = {
        .severity = s->output.severity,
        .settle_ns = a->settings.settle_ns,
        .update_ns = is_list    ? 0
                     : has_news ? a->settings.update_ns
                                : -1,
        .resend_ns = is_list ? a->settings.resend_ns : 0,
        .forget_ns = a->settings.forget_ns,
        .is_quiet = tc_quiet_is(&a->quiet, &a->zone, now_ns),
    };
    s->due_count = tc_alert_book_due(a->book, s->slot->at, &policy, now_ns, s->due,
                                     is_list ? BATCH_MAX : 1, &next_ns);
    tc_status status = s->due_count > 0 ? make_requests(s, now_ns) : TC_OK;
    (void)pthread_mutex_unlock(&a->lock);
    s->wake_ns = next_ns == INT64_MAX ? 0 : tc_mono_ns() + (next_ns - now_ns);
    return status;
}

/* Takes note of what was told, and of how far the receiver is. */
static void settle(struct sender *s, bool is_told)
{
    struct tc_outbox *o = s->o;
    struct tc__alerts *a = o->alerts;
    struct tc_alert_waiting waiting;
    int64_t now_ns = tc_wall_ns();
    (void)pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < s->due_count && is_told; i++) {
        tc_alert_book_told(a->book, s->slot->at, &s->due[i], now_ns);
    }
    tc_alert_book_sweep(a->book);
    tc_alert_book_waiting(a->book, s->slot->at, &waiting);
    uint64_t cursor = tc_alert_book_cursor(a->book, s->slot->at);
    (void)pthread_mutex_lock(&o->lock);
    s->slot->stats.waiting = waiting.count;
    s->slot->stats.oldest_ns = waiting.oldest_ns;
    if (s->slot->is_on && cursor > s->slot->next) {
        s->slot->next = cursor;
        s->slot->moved = true;
        (void)pthread_cond_signal(&o->work);
    }
    (void)pthread_mutex_unlock(&o->lock);
    (void)pthread_mutex_unlock(&a->lock);
}

static void count(struct sender *s, bool is_refused)
{
    struct tc_alert_output_stats *stats = &s->slot->stats;
    (void)pthread_mutex_lock(&s->o->lock);
    *(is_refused ? &stats->refused : &stats->delivered) += s->due_count;
    (void)pthread_mutex_unlock(&s->o->lock);
}

/* Sends what was made; what a later one needs, an earlier one had taken. */
static void send_requests(struct sender *s)
{
    struct tc_http_reply reply = {0};
    struct tc_error err = {0};
    enum tc_post_result result = TC_POST_TAKEN;
    for (size_t i = 0; i < s->requests.count && result == TC_POST_TAKEN; i++) {
        result = tc_post_send(&s->post, &s->requests.items[i], &reply, &err);
    }
    if (result == TC_POST_LATER) {
        note_failure(s, err.message, s->post.pause_ns);
        settle(s, false);
        return;
    }
    if (s->requests.count > 0) {
        note_success(s);
        count(s, result == TC_POST_REFUSED);
    }
    if (result == TC_POST_REFUSED) {
        tc_log_fields(TC_LOG_ERROR, "alerts were refused by their receiver",
                      TC_LOG_CSTR("output", s->output.name), TC_LOG_NUMBER("status", reply.status),
                      TC_LOG_NUMBER("count", (int64_t)s->due_count),
                      TC_LOG_TEXT("reply", tc_slice_head(reply.body, TEXT_MAX)));
    }
    settle(s, true);
}

/* Tells what is due, one request of it. */
static void step(struct sender *s)
{
    tc_status status = ask_book(s);
    if (status != TC_OK) {
        note_failure(s, tc_status_text(status), TC_SECOND);
        s->wake_ns = tc_mono_ns() + TC_SECOND;
        s->due_count = 0;
    }
    if (s->due_count > 0) {
        send_requests(s);
    } else {
        settle(s, false);
    }
}

/* ---- the thread ----------------------------------------------------------------------------- */

/* Until when there is nothing to do, monotonic; 0: for ever, -1: there is something. Holds the
 * outbox's lock. */
static int64_t wait_until(const struct sender *s)
{
    const struct tc_outbox *o = s->o;
    int64_t now_ns = tc_mono_ns();
    if (s->turn != s->slot->turn) {
        return -1;
    }
    if (!s->slot->is_on) {
        return 0;
    }
    if (s->setup_ns != 0) {
        return s->setup_ns > now_ns ? s->setup_ns : -1;
    }
    if (s->post.retry_ns > now_ns) {
        return s->post.retry_ns;
    }
    bool has_news = o->next_stored != s->seen || s->post.retry_ns != 0 || s->due_count > 0;
    return has_news || (s->wake_ns != 0 && s->wake_ns <= now_ns) ? -1 : s->wake_ns;
}

static void run(struct sender *s)
{
    struct tc_outbox *o = s->o;
    (void)pthread_mutex_lock(&o->lock);
    for (;;) {
        int64_t until_ns = wait_until(s);
        bool is_idle = until_ns >= 0;
        if (o->aborting || (o->stopping && is_idle && o->first == NULL)) {
            break;
        }
        if (is_idle) {
            tc__outbox_wait(o, &o->export, until_ns);
            continue;
        }
        bool is_new = s->turn != s->slot->turn || s->setup_ns != 0;
        s->turn = s->slot->turn;
        s->seen = o->next_stored;
        (void)pthread_mutex_unlock(&o->lock);
        if (is_new) {
            set_up(s);
        }
        if (s->post.client != NULL) {
            step(s);
        }
        (void)pthread_mutex_lock(&o->lock);
    }
    o->alerts->running--;
    (void)pthread_cond_broadcast(&o->work);
    (void)pthread_mutex_unlock(&o->lock);
}

void *tc__alert_main(void *slot)
{
    struct tc__alert_slot *at = slot;
    struct sender *s = calloc(1, sizeof *s);
    if (s == NULL) {
        (void)pthread_mutex_lock(&at->o->lock);
        at->o->alerts->running--;
        (void)pthread_cond_broadcast(&at->o->work);
        (void)pthread_mutex_unlock(&at->o->lock);
        tc_log_fields(TC_LOG_ERROR, "alerts are not sent by this process",
                      TC_LOG_CSTR("error", "out of memory"));
        return NULL;
    }
    s->slot = at;
    s->o = at->o;
    run(s);
    tc_post_close(&s->post);
    tc_alert_body_fini(&s->body);
    tc_grow_fini(&s->body_text);
    tc_alert_requests_fini(&s->requests);
    free(s);
    return NULL;
}
