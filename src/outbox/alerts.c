/* SPDX-License-Identifier: Apache-2.0 */
/* The receivers of alerts: who they are, how far they are, and the book that they share. */
#include "outbox/alerts_priv.h"

#include "base/assert.h"
#include "observe/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ZONE_FOLDER "/usr/share/zoneinfo/"
#define MARK_SEED UINT64_C(0x616c657274)

tc_status tc__alerts_create(struct tc_outbox *o)
{
    struct tc__alerts *a = calloc(1, sizeof *a);
    if (a == NULL) {
        return TC_E_NOMEM;
    }
    (void)pthread_mutex_init(&a->lock, NULL);
    a->next = 1;
    for (size_t i = 0; i < TC_ALERT_RECEIVERS_MAX; i++) {
        a->slots[i].o = o;
        a->slots[i].at = i;
    }
    o->alerts = a;
    return TC_OK;
}

void tc__alerts_destroy(struct tc_outbox *o)
{
    struct tc__alerts *a = o->alerts;
    if (a != NULL) {
        tc_alert_book_destroy(a->book);
        tc_json_parser_destroy(a->parser);
        tc__outbox_scan_fini(&a->scan);
        (void)pthread_mutex_destroy(&a->lock);
        free(a);
        o->alerts = NULL;
    }
}

/* ---- cursors -------------------------------------------------------------------------------- */

void tc__alerts_note_cursor(struct tc_outbox *o, const struct tc__cursor *c)
{
    struct tc__alerts *a = o->alerts;
    for (size_t i = 0; i < a->known_count; i++) {
        if (a->known[i].dev == c->dev) {
            a->known[i] = *c;
            return;
        }
    }
    if (a->known_count < TC_ALERT_RECEIVERS_MAX) {
        a->known[a->known_count++] = *c;
    }
}

size_t tc__alerts_cursors(struct tc_outbox *o, bool only_moved, struct tc__cursor *out)
{
    size_t count = 0;
    for (size_t i = 0; i < TC_ALERT_RECEIVERS_MAX; i++) {
        struct tc__alert_slot *s = &o->alerts->slots[i];
        if (s->is_on && !s->joins_late && (s->moved || !only_moved)) {
            out[count++] =
                (struct tc__cursor){.output = TC__OUTPUT_ALERT, .next = s->next, .dev = s->mark_id};
            s->moved = false;
        }
    }
    return count;
}

bool tc__alerts_moved(const struct tc_outbox *o)
{
    bool moved = false;
    for (size_t i = 0; i < TC_ALERT_RECEIVERS_MAX; i++) {
        const struct tc__alert_slot *s = &o->alerts->slots[i];
        moved = moved || (s->is_on && s->moved && !s->joins_late);
    }
    return moved;
}

void tc__alerts_unsaved(struct tc_outbox *o)
{
    for (size_t i = 0; i < TC_ALERT_RECEIVERS_MAX; i++) {
        o->alerts->slots[i].moved = true;
    }
}

/* ---- the book ------------------------------------------------------------------------------- */

static tc_status make_book(struct tc__alerts *a)
{
    if (a->book == NULL) {
        a->book = tc_alert_book_create();
        a->parser = a->parser == NULL ? tc_json_parser_create() : a->parser;
    }
    if (a->book == NULL || a->parser == NULL) {
        return TC_E_NOMEM;
    }
    return a->scan.buf == NULL ? tc__outbox_scan_init(&a->scan) : TC_OK;
}

/* One verdict of the log. False: the book had no memory for it, and it comes again. */
static bool take(struct tc__alerts *a, const struct tc__record *r)
{
    struct tc_error err = {0};
    struct tc_alert_book_stats stats;
    tc_status status =
        tc_alert_book_take(a->book, a->parser, r->number, r->taken_ns, r->json, &err);
    if (status == TC_E_LIMIT) {
        tc_alert_book_stats(a->book, &stats);
        if ((stats.refused & (stats.refused - 1)) == 0) { /* the 1st, 2nd, 4th, 8th, ... */
            tc_log_fields(TC_LOG_ERROR, "an incident is not alerted of: too many are open",
                          TC_LOG_NUMBER("count", (int64_t)stats.refused));
        }
    } else if (status != TC_OK && status != TC_E_NOMEM) {
        tc_log_fields(TC_LOG_ERROR, "a verdict cannot be alerted of",
                      TC_LOG_CSTR("error", err.message));
    }
    return status != TC_E_NOMEM;
}

/* Receivers that are new: what was over before they came is not told, what fires now is. */
static void join_late(struct tc_outbox *o)
{
    for (size_t i = 0; i < TC_ALERT_RECEIVERS_MAX; i++) {
        struct tc__alert_slot *s = &o->alerts->slots[i];
        (void)pthread_mutex_lock(&o->lock);
        bool joins = s->is_on && s->joins_late;
        s->joins_late = false;
        (void)pthread_mutex_unlock(&o->lock);
        if (joins) {
            tc_alert_book_join(o->alerts->book, i, 0, true);
        }
    }
}

void tc__alerts_read_log(struct tc_outbox *o)
{
    struct tc__alerts *a = o->alerts;
    struct tc__record r;
    tc_status status = TC_OK;
    bool is_whole = true;
    (void)pthread_mutex_lock(&o->swap);
    (void)pthread_mutex_lock(&o->lock);
    uint64_t end = o->log_end;
    bool is_moved = a->log_turn != o->log_turn;
    a->log_turn = o->log_turn;
    (void)pthread_mutex_unlock(&o->lock);
    tc__outbox_scan_begin(&a->scan, o->log.fd, is_moved ? 0 : a->at, end);
    while (is_whole && tc__outbox_scan_next(&a->scan, &r, &status)) {
        if (r.kind == TC__RECORD_VERDICT && r.number >= a->next) {
            is_whole = take(a, &r);
            a->next = is_whole ? r.number + 1 : a->next;
        }
        a->at = is_whole ? r.at + r.len : r.at;
    }
    (void)pthread_mutex_unlock(&o->swap);
    a->is_read = a->is_read || (is_whole && status == TC_OK);
    if (a->is_read) {
        join_late(o);
    }
}

bool tc__alerts_need(struct tc_outbox *o, const struct tc__record *r)
{
    struct tc__alerts *a = o->alerts;
    (void)pthread_mutex_lock(&a->lock);
    bool needed =
        a->book != NULL && a->settings.output_count > 0 &&
        (r->number >= a->next || tc_alert_book_needs(a->book, r->mark.incident_id, r->number));
    (void)pthread_mutex_unlock(&a->lock);
    return needed;
}

/* ---- configuration -------------------------------------------------------------------------- */

static void read_zone(struct tc__alerts *a)
{
    struct tc_slice name = tc_slice_cstr(a->settings.quiet_time_zone);
    struct tc_error err = {0};
    if (tc_zone_fixed(name, &a->zone)) {
        return;
    }
    char path[sizeof ZONE_FOLDER + TC_ALERT_NAME_MAX];
    char *bytes = malloc(TC_ZONE_BYTES_MAX);
    (void)snprintf(path, sizeof path, "%s%s", ZONE_FOLDER, a->settings.quiet_time_zone);
    int fd = tc_zone_is_name(name) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t n = fd < 0 || bytes == NULL ? -1 : read(fd, bytes, TC_ZONE_BYTES_MAX);
    tc_status status = n < 0 ? tc_fail(&err, TC_E_IO, 0, "%s", strerror(errno))
                             : tc_zone_read(tc_slice_make(bytes, (size_t)n), &a->zone, &err);
    if (status != TC_OK) {
        memset(&a->zone, 0, sizeof a->zone);
        tc_log_fields(TC_LOG_ERROR, "alerts.quiet.time_zone is not known here; UTC is used",
                      TC_LOG_CSTR("zone", a->settings.quiet_time_zone),
                      TC_LOG_CSTR("error", err.message));
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    free(bytes);
}

static void start_thread(struct tc_outbox *o, struct tc__alert_slot *s)
{
    if (s->has_thread || !s->is_on || !o->alerts->is_started) {
        return;
    }
    /* Signals are for the loop's thread. */
    sigset_t all;
    sigset_t old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    int code = pthread_create(&s->thread, NULL, tc__alert_main, s);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    s->has_thread = code == 0;
    o->alerts->running += code == 0;
    if (code != 0) {
        tc_log_fields(TC_LOG_ERROR, "alerts are not sent: no thread for their receiver",
                      TC_LOG_CSTR("output", s->stats.name), TC_LOG_CSTR("error", strerror(code)));
    }
}

/* The slot of that name, or a free one. */
static struct tc__alert_slot *find_slot(struct tc__alerts *a, const char *name)
{
    struct tc__alert_slot *free_one = NULL;
    for (size_t i = 0; i < TC_ALERT_RECEIVERS_MAX; i++) {
        struct tc__alert_slot *s = &a->slots[i];
        if (s->is_on && strcmp(s->stats.name, name) == 0) {
            return s;
        }
        free_one = free_one == NULL && !s->is_on ? s : free_one;
    }
    TC_ASSERT(free_one != NULL);
    return free_one;
}

static bool is_named(const struct tc_alert_settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->output_count; i++) {
        if (strcmp(settings->outputs[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Holds both locks. */
static void turn_on(struct tc_outbox *o, const struct tc_alert_output *output)
{
    struct tc__alerts *a = o->alerts;
    struct tc__alert_slot *s = find_slot(a, output->name);
    bool is_new = !s->is_on;
    s->turn++;
    if (is_new) {
        uint64_t next =
            UINT64_MAX; /* all that the log has was told, but for what fires in the end */
        s->stats = (struct tc_alert_output_stats){0};
        (void)snprintf(s->stats.name, sizeof s->stats.name, "%s", output->name);
        s->mark_id = tc_slice_hash(tc_slice_cstr(output->name), MARK_SEED);
        s->is_on = true;
        s->joins_late = true;
        for (size_t i = 0; i < a->known_count && !a->is_read; i++) {
            if (a->known[i].dev == s->mark_id) {
                next = a->known[i].next;
                s->joins_late = false;
            }
        }
        s->next = s->joins_late ? o->next_stored : next;
        s->moved = true;
        tc_alert_book_join(a->book, s->at, next, false);
    }
    s->stats.type = output->type == TC_ALERT_ALERTMANAGER ? "alertmanager"
                    : output->type == TC_ALERT_WEBHOOK    ? "webhook"
                                                          : "kubernetes";
}

static void turn_off_others(struct tc__alerts *a)
{
    for (size_t i = 0; i < TC_ALERT_RECEIVERS_MAX; i++) {
        struct tc__alert_slot *s = &a->slots[i];
        if (s->is_on && !is_named(&a->settings, s->stats.name)) {
            s->is_on = false;
            s->turn++;
            tc_alert_book_leave(a->book, i);
        }
    }
}

void tc__alerts_configure(struct tc_outbox *o, const struct tc_alert_settings *settings)
{
    struct tc__alerts *a = o->alerts;
    struct tc_error err = {0};
    (void)pthread_mutex_lock(&a->lock);
    bool is_used = (settings != NULL && settings->output_count > 0) || a->book != NULL;
    if (is_used && make_book(a) != TC_OK) {
        tc_log_fields(TC_LOG_ERROR, "alerts are not sent", TC_LOG_CSTR("error", "out of memory"));
        is_used = false;
    }
    if (is_used) {
        memset(&a->settings, 0, sizeof a->settings);
        if (settings != NULL) {
            a->settings = *settings;
        }
        read_zone(a);
        if (tc_quiet_read(tc_slice_cstr(a->settings.quiet_hours), &a->quiet, &err) != TC_OK) {
            a->quiet.count = 0; /* the configuration is checked before */
        }
        (void)pthread_mutex_lock(&o->lock);
        turn_off_others(a);
        for (size_t i = 0; i < a->settings.output_count; i++) {
            turn_on(o, &a->settings.outputs[i]);
        }
        for (size_t i = 0; i < TC_ALERT_RECEIVERS_MAX; i++) {
            start_thread(o, &a->slots[i]);
        }
        (void)pthread_cond_broadcast(&o->export);
        (void)pthread_mutex_unlock(&o->lock);
    }
    (void)pthread_mutex_unlock(&a->lock);
}

void tc__alerts_start(struct tc_outbox *o)
{
    (void)pthread_mutex_lock(&o->lock);
    o->alerts->is_started = true;
    for (size_t i = 0; i < TC_ALERT_RECEIVERS_MAX; i++) {
        start_thread(o, &o->alerts->slots[i]);
    }
    (void)pthread_mutex_unlock(&o->lock);
}

void tc__alerts_join(struct tc_outbox *o)
{
    for (size_t i = 0; i < TC_ALERT_RECEIVERS_MAX; i++) {
        struct tc__alert_slot *s = &o->alerts->slots[i];
        if (s->has_thread) {
            (void)pthread_join(s->thread, NULL);
            s->has_thread = false;
        }
    }
}

size_t tc_outbox_alert_stats(struct tc_outbox *o, struct tc_alert_output_stats *out, size_t max)
{
    size_t count = 0;
    (void)pthread_mutex_lock(&o->lock);
    for (size_t i = 0; i < TC_ALERT_RECEIVERS_MAX && count < max; i++) {
        if (o->alerts->slots[i].is_on) {
            out[count++] = o->alerts->slots[i].stats;
        }
    }
    (void)pthread_mutex_unlock(&o->lock);
    return count;
}
