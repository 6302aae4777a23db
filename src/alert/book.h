/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The alerts that are not over, made of the verdicts in the order of the outbox's log, and what
 * each receiver was told of them. Pure: time comes as an argument, and the same records give the
 * same book, so that a restart makes it anew from the log.
 *
 * Incidents belong to the alert that their verdict's incident_group names, or to one of their own.
 * One that moves to another story takes its part along; an alert that loses all its parts that way
 * is over, and says where they went. A full book refuses incidents and counts them.
 *
 * One thread at a time.
 */
#ifndef TC_ALERT_BOOK_H
#define TC_ALERT_BOOK_H

#include "alert/alert.h"
#include "base/json/json.h"
#include "base/status.h"
#include "event/verdict.h"

#define TC_ALERT_RECEIVERS_MAX 16
/* Incidents in the book; some 700 bytes each. */
#define TC_ALERT_INCIDENTS_MAX ((size_t)32768)

struct tc_alert_book;

/* NULL when there is no memory. */
struct tc_alert_book *tc_alert_book_create(void);
void tc_alert_book_destroy(struct tc_alert_book *b);

/*
 * A receiver comes: it was told what the records before number `next` say. With is_new it was told
 * nothing, and is told what fires now; what was over before is not its business. Before the first
 * record, or at any time.
 */
void tc_alert_book_join(struct tc_alert_book *b, size_t receiver, uint64_t next, bool is_new);
void tc_alert_book_leave(struct tc_alert_book *b, size_t receiver);

/*
 * Takes one verdict: its number in the log, when it was taken (wall clock), and its line. Numbers
 * grow. TC_E_MALFORMED when it is no verdict, TC_E_LIMIT when the book is full, TC_E_NOMEM: the
 * book is as it was.
 */
TC_CHECKED tc_status tc_alert_book_take(struct tc_alert_book *b, struct tc_json_parser *parser,
                                        uint64_t number, int64_t taken_ns, struct tc_slice line,
                                        struct tc_error *err);

/* Whether a restart needs that record to make the book anew: it is the latest of its incident, or
 * the latest that says it is open. */
bool tc_alert_book_needs(const struct tc_alert_book *b, struct tc_slice incident_id,
                         uint64_t number);

/* When a receiver is told. */
struct tc_alert_policy {
    enum tc_severity severity; /* the least that it is told of */
    int64_t
        settle_ns; /* an alert is told so long after its first verdict: its story is whole then */
    int64_t update_ns; /* news of a firing alert are told so long after the last; < 0: never */
    int64_t resend_ns; /* a firing alert is told again after this; 0: never */
    int64_t forget_ns; /* an alert without news is over after this; 0: never */
    bool is_quiet;     /* what is `info` waits */
};

/* One alert whose turn it is, and as what. */
struct tc_alert_due {
    char id[TC_INCIDENT_ID_LEN];
    uint64_t version;
    enum tc_severity severity;
    bool is_firing;
};

/*
 * The alerts that a receiver is to be told of now, at most max of them; returns how many.
 * *out_next_ns: when to ask again if nothing happens before, INT64_MAX for never.
 */
size_t tc_alert_book_due(struct tc_alert_book *b, size_t receiver,
                         const struct tc_alert_policy *policy, int64_t now_ns,
                         struct tc_alert_due *out, size_t max, int64_t *out_next_ns);

/* Fills out for a payload: false when the book does not have it any more. Its slices live until the
 * book changes. */
bool tc_alert_book_view(const struct tc_alert_book *b, size_t receiver,
                        const struct tc_alert_due *due, struct tc_alert *out);

/* Whether another alert than that of the id fires whose root is on the node, of the least severity
 * at least. */
bool tc_alert_book_node_fires(const struct tc_alert_book *b, struct tc_slice node,
                              enum tc_severity severity, struct tc_slice other_than);

/* The receiver took it, or refused it for good. */
void tc_alert_book_told(struct tc_alert_book *b, size_t receiver, const struct tc_alert_due *due,
                        int64_t now_ns);
/* Takes what is over, and was told to everyone, out of the book. */
void tc_alert_book_sweep(struct tc_alert_book *b);

/* The first record that the receiver is not done with: what a restart begins with. */
uint64_t tc_alert_book_cursor(const struct tc_alert_book *b, size_t receiver);

struct tc_alert_waiting {
    size_t count;      /* beginnings, escalations and ends that it was not told */
    int64_t oldest_ns; /* when the first of them was taken; 0: none waits */
};
void tc_alert_book_waiting(const struct tc_alert_book *b, size_t receiver,
                           struct tc_alert_waiting *out);

struct tc_alert_book_stats {
    size_t alerts;
    size_t firing;
    size_t incidents;
    uint64_t refused; /* incidents that the book had no room for */
};
void tc_alert_book_stats(const struct tc_alert_book *b, struct tc_alert_book_stats *out);

#endif
