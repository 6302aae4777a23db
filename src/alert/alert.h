/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An alert: one story, told to people. It is named by the root incident of its story, so that
 * everything that follows from one cause is one page, and two daemons that are fed alike name it
 * alike. It fires while any incident of the story is open. docs/internals/alerts.md has the design.
 */
#ifndef TC_ALERT_ALERT_H
#define TC_ALERT_ALERT_H

#include "base/slice.h"
#include "event/finding.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Incidents of a story that an alert names; the others are counted. */
#define TC_ALERT_PARTS_SHOWN 10
/* Bytes of an incident's headline and of its node where it stands among others: ten fit the 3,000
 * characters that Slack lets a block have. */
#define TC_ALERT_PART_TEXT_MAX 160
#define TC_ALERT_PART_NODE_MAX 100

struct tc_alert_part {
    struct tc_slice id;
    struct tc_slice pattern;
    struct tc_slice headline;
    struct tc_slice node;
    enum tc_severity severity;
    bool is_open;
};

/* What a payload is made of. Borrowed from whoever filled it. */
struct tc_alert {
    struct tc_slice id; /* incident id of the root */
    bool is_firing;
    enum tc_severity severity;      /* the highest that it had */
    enum tc_severity told_severity; /* that the receiver was told last; the same when it was not */
    int64_t starts_ns;
    int64_t ends_ns;         /* of a firing one: when it lapses unless it is told again */
    struct tc_slice pattern; /* of the root, as what follows */
    struct tc_slice headline;
    struct tc_slice remediation;
    struct tc_slice node;
    struct tc_slice gpu;
    struct tc_slice name_space;
    struct tc_slice pod;
    struct tc_slice job;
    struct tc_slice merged_into; /* id of the story that it turned out to be a part of; "" */
    struct tc_slice link;        /* where to look at it; "" */
    struct tc_slice token;       /* the receiver's secret, for templates that want it; "" */
    size_t part_count;
    size_t open_count;
    size_t shown_count;
    struct tc_alert_part parts[TC_ALERT_PARTS_SHOWN];
};

#endif
