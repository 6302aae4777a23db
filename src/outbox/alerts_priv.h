/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alerts out of the outbox: one book of stories, made of the log, and one thread for each receiver,
 * which tells it what it does not know. How far a receiver is stands in the log like the cursors of
 * the other outputs. docs/internals/alerts.md.
 *
 * Locks, in this order: the book's, then the outbox's `swap`, then its `lock`.
 */
#ifndef TC_OUTBOX_ALERTS_PRIV_H
#define TC_OUTBOX_ALERTS_PRIV_H

#include "alert/book.h"
#include "alert/output.h"
#include "alert/quiet.h"
#include "outbox/outbox.h"
#include "outbox/outbox_priv.h"

/* One receiver. Under the outbox's lock, but for what the thread keeps to itself. */
struct tc__alert_slot {
    struct tc_outbox *o;
    size_t at;
    bool is_on;
    bool has_thread;
    bool joins_late; /* it is new: what fires once the log is read is told */
    uint64_t turn;   /* counts configurations */
    pthread_t thread;
    uint64_t mark_id; /* of its cursor in the log */
    uint64_t next;    /* the cursor */
    bool moved;       /* the log does not have it yet */
    struct tc_alert_output_stats stats;
};

struct tc__alerts {
    pthread_mutex_t lock; /* of the book, and of what follows */
    struct tc_alert_book *book;
    struct tc_json_parser *parser;
    struct tc__outbox_scan scan;
    uint64_t next; /* record to be read next, where it may be, and in which turn of the log */
    uint64_t at;
    uint64_t log_turn;
    bool is_read; /* the log was read to its end once */
    struct tc_alert_settings settings;
    struct tc_quiet quiet;
    struct tc_zone zone;

    /* Under the outbox's lock. */
    struct tc__alert_slot slots[TC_ALERT_RECEIVERS_MAX];
    size_t running; /* threads */
    bool is_started;
    struct tc__cursor known[TC_ALERT_RECEIVERS_MAX]; /* as the log has them, at first */
    size_t known_count;
};

/* TC_E_NOMEM. */
TC_CHECKED tc_status tc__alerts_create(struct tc_outbox *o);
void tc__alerts_destroy(struct tc_outbox *o);
/* Before the configuration: where a receiver was, as the log says. */
void tc__alerts_note_cursor(struct tc_outbox *o, const struct tc__cursor *c);
/* Receivers as they are configured now; those of the same name stay what they are. Alone, or with
 * none of the locks held. */
void tc__alerts_configure(struct tc_outbox *o, const struct tc_alert_settings *settings);
/* Starts the threads; those of receivers that come later start then. */
void tc__alerts_start(struct tc_outbox *o);
/* Waits for them, after `aborting` or `stopping` was set. */
void tc__alerts_join(struct tc_outbox *o);

/* Whether compaction has to leave the record as it is. */
bool tc__alerts_need(struct tc_outbox *o, const struct tc__record *r);
/* The cursors that the log is to have, all of them or those that moved, which count as written
 * then. out has room for TC_ALERT_RECEIVERS_MAX. Holds the outbox's lock. */
size_t tc__alerts_cursors(struct tc_outbox *o, bool only_moved, struct tc__cursor *out);
bool tc__alerts_moved(const struct tc_outbox *o);
/* They could not be written. Holds the outbox's lock. */
void tc__alerts_unsaved(struct tc_outbox *o);

/* Reads what the log has and the book does not know yet. Holds the book's lock. */
void tc__alerts_read_log(struct tc_outbox *o);

/* alert_send.c: the thread of a receiver. */
void *tc__alert_main(void *slot);

#endif
