/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the book share: book.c keeps it, due.c decides who is told what, and when. */
#ifndef TC_ALERT_BOOK_PRIV_H
#define TC_ALERT_BOOK_PRIV_H

#include "alert/book.h"

/* The fields of an incident that are kept, in the order of their bytes. */
enum tc__part_field {
    TC__PART_PATTERN,
    TC__PART_HEADLINE,
    TC__PART_REMEDIATION,
    TC__PART_NODE,
    TC__PART_GPU,
    TC__PART_NAMESPACE,
    TC__PART_POD,
    TC__PART_JOB,
    TC__PART_FIELDS
};

struct tc__story;

/* An incident. Invariant: it is in the list of its story, and in the book's table. */
struct tc__part {
    struct tc__part *chain; /* of the table */
    struct tc__part *next;  /* of the story, oldest first */
    struct tc__part *prev;
    struct tc__story *of;
    char id[TC_INCIDENT_ID_LEN];
    uint64_t number;      /* of its latest record */
    uint64_t open_number; /* of the latest that says it is open: its end alone says little; 0 */
    int64_t first_ns;
    uint8_t severity; /* enum tc_severity */
    bool is_open;
    uint16_t lens[TC__PART_FIELDS];
    char text[];
};

/* What a receiver was told of a story. */
struct tc__told {
    uint64_t waits_from; /* the first record that says something urgent which it was not told; 0 */
    int64_t waits_ns;    /* when that was taken */
    uint64_t version;    /* told last */
    int64_t at_ns;       /* when; 0: not by this process */
    uint8_t severity;
    bool is_firing; /* as the receiver sees it */
    bool was_held;  /* quiet hours kept it back */
};

/* Invariants: open_count parts of the list are open; no part and not merged: it does not exist. */
struct tc__story {
    struct tc__story *chain; /* of the table */
    size_t at;               /* in the list of stories */
    char id[TC_INCIDENT_ID_LEN];
    struct tc__part *first;
    struct tc__part *last;
    size_t part_count;
    size_t open_count;
    uint64_t version;  /* number of the record that changed it last */
    int64_t began_ns;  /* when its first record was taken */
    int64_t news_ns;   /* its last */
    int64_t starts_ns; /* the first time that its evidence tells of */
    int64_t ended_ns;  /* when it was over; 0 while it fires */
    uint8_t severity;
    bool is_forgotten;
    bool is_merged;
    char merged_into[TC_INCIDENT_ID_LEN];
    struct tc__part *shown; /* the last part that it had, for what is told once it is merged */
    struct tc__told told[TC_ALERT_RECEIVERS_MAX];
};

struct tc__receiver {
    bool is_on;
    uint64_t next; /* records before it were told, in an earlier life */
};

/* Lists of some four in a full book. */
#define TC__BUCKETS 8192

struct tc_alert_book {
    struct tc__part *parts[TC__BUCKETS];
    struct tc__story *by_id[TC__BUCKETS];
    size_t part_count;
    struct tc__story **stories;
    size_t story_count;
    size_t story_cap;
    struct tc__receiver receivers[TC_ALERT_RECEIVERS_MAX];
    uint64_t next; /* one after the record taken last */
    uint64_t refused;
};

static inline bool tc__story_fires(const struct tc__story *s)
{
    return s->open_count > 0 && !s->is_forgotten;
}

/* The part of that id, NULL when there is none. */
struct tc__part *tc__book_find(const struct tc_alert_book *b, struct tc_slice id);
struct tc__story *tc__book_story(const struct tc_alert_book *b, struct tc_slice id);
/* What the story is told by: its root where that is known. NULL when it has no part. */
const struct tc__part *tc__story_root(const struct tc_alert_book *b, const struct tc__story *s);

#endif
