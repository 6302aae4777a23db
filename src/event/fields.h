/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table of every field of every event kind: name, type, place. The NDJSON
 * writer and reader, the canonical order of events and docs/events.md all come
 * from it, so they cannot disagree.
 */
#ifndef TC_EVENT_FIELDS_H
#define TC_EVENT_FIELDS_H

#include "base/slice.h"
#include "event/event.h"

#include <stddef.h>
#include <stdint.h>

enum tc_field_type {
    TC_FIELD_STRING, /* struct tc_slice; absent when empty */
    TC_FIELD_TIME,   /* int64_t ns as RFC 3339; absent when TC_TIME_NONE */
    TC_FIELD_I64,    /* absent when equal to `none` */
    TC_FIELD_I32,    /* absent when equal to `none` */
    TC_FIELD_KEY,    /* uint64_t as 16 hex digits; absent when 0 */
    TC_FIELD_F64,    /* absent when 0 */
    TC_FIELD_BOOL,   /* absent when false */
    TC_FIELD_BDF,    /* absent when not known */
    TC_FIELD_STATE,  /* enum tc_nccl_state by name; always there */
    TC_FIELD_METRIC, /* uint16_t, enum tc_metric by name; absent when TC_METRIC_NONE */
};

struct tc_field {
    struct tc_slice name;
    enum tc_field_type type;
    uint32_t kinds; /* bits of enum tc_event_kind that have it */
    size_t offset;  /* in struct tc_event */
    int64_t none;   /* the value that means "not known", for I64 and I32 */
    const char *help;
};

/* All fields, in the order in which they are written. */
const struct tc_field *tc_fields(size_t *out_count);

/* Strings of one kind of event: those of every event, and its own. */
#define TC_EVENT_STRINGS_MAX 24

/* Where the strings of a kind lie in struct tc_event; returns how many there are. */
size_t tc_event_strings(enum tc_event_kind kind, uint16_t out_offsets[TC_EVENT_STRINGS_MAX]);

/* The same of every kind, for those who move many events with their strings. */
struct tc_event_strings {
    uint16_t offsets[TC_EVENT_KIND_COUNT][TC_EVENT_STRINGS_MAX];
    uint8_t counts[TC_EVENT_KIND_COUNT];
};

void tc_event_strings_init(struct tc_event_strings *out);

/* Moves every time of an event by delta_ns: for clocks that are off. Times that are not known, or
 * are only an order, stay. */
void tc_event_shift(struct tc_event *ev, int64_t delta_ns);

static inline struct tc_slice *tc_event_string(struct tc_event *ev, uint16_t offset)
{
    return (struct tc_slice *)(void *)((char *)ev + offset);
}

#endif
