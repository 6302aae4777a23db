/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quiet hours: "22:00-06:00", "Mon-Fri 20:00-07:00; Sat,Sun 00:00-24:00". A window that passes
 * midnight belongs to the day on which it begins. The time zone is UTC, an offset ("+02:00"), or
 * one that the caller has read of the system's database (RFC 9636); this room opens no files.
 */
#ifndef TC_ALERT_QUIET_H
#define TC_ALERT_QUIET_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_QUIET_WINDOWS_MAX 16
#define TC_ZONE_CHANGES_MAX 512
#define TC_ZONE_BYTES_MAX ((size_t)64 << 10)

/* "M3.5.0/2": the last Sunday of March, at two. */
struct tc_zone_rule {
    int32_t month;
    int32_t week;
    int32_t day;
    int32_t second;
};

/* Offsets in seconds east of UTC. Invariant: the changes are in order of time. */
struct tc_zone {
    struct {
        int64_t at_s;
        int32_t offset_s; /* from then on */
    } changes[TC_ZONE_CHANGES_MAX];
    size_t change_count;
    int32_t first_s;    /* before the first change */
    int32_t standard_s; /* after the last, by the rules */
    int32_t summer_s;
    bool has_summer; /* rules that go on for ever */
    struct tc_zone_rule begin;
    struct tc_zone_rule end;
};

/* "UTC", "", "+02:00". False: it is a name, or nothing. */
bool tc_zone_fixed(struct tc_slice text, struct tc_zone *out);
/* A file of the time zone database. TC_E_MALFORMED. */
TC_CHECKED tc_status tc_zone_read(struct tc_slice bytes, struct tc_zone *out, struct tc_error *err);
int32_t tc_zone_offset(const struct tc_zone *zone, int64_t ns);
/* Whether the name can be that of a zone, and not a path that leads elsewhere. */
bool tc_zone_is_name(struct tc_slice text);

struct tc_quiet {
    struct {
        unsigned days; /* bit 0: Monday */
        int32_t from_minute;
        int32_t to_minute;
    } windows[TC_QUIET_WINDOWS_MAX];
    size_t count;
};

/* TC_E_MALFORMED with what is wrong. An empty text has no windows. */
TC_CHECKED tc_status tc_quiet_read(struct tc_slice text, struct tc_quiet *out,
                                   struct tc_error *err);
bool tc_quiet_is(const struct tc_quiet *quiet, const struct tc_zone *zone, int64_t now_ns);

#endif
