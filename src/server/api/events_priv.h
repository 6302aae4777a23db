/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the stream of verdicts: its readers, and verdicts as events. */
#ifndef TC_SERVER_API_EVENTS_PRIV_H
#define TC_SERVER_API_EVENTS_PRIV_H

#include "answers/live/filter.h"
#include "base/arena.h"
#include "base/table/grow.h"
#include "server/api/events.h"

struct event;

/* Verdicts that are kept for all readers. */
#define TC__RECENT_MAX 1024

struct tc__told {
    char *json;
    size_t len;
};

/* What it takes to look into a verdict's line; made when first needed. One thread. */
struct tc__sse_reading {
    struct tc_json_parser *parser;
    void *block; /* for the arrays of one verdict */
};

struct tc__stream {
    struct tc_api_job job; /* first: a job is its stream */
    struct tc_api_events *of;
    struct tc__stream *next_stream;
    struct tc_request *request; /* NULL: the reader is gone, and the job frees it */
    uint64_t next;              /* the number that comes next */
    bool is_level;              /* it has had all that is not kept */
    bool is_reading;            /* the job reads the log: what follows is the job's */
    bool is_failed;
    struct tc_grow backlog; /* events, ready to be sent */
    size_t backlog_at;
    struct tc_live_filter filter;
    struct tc_asked asked; /* what the filter borrows from */
    char text[];           /* of the query, decoded */
};

/* Invariant: recent has the verdicts [recent_from, recent_to), without a gap. */
struct tc_api_events {
    struct tc_api_events_parts parts;
    struct event *on_pump;
    struct event *on_beat;
    bool is_armed;
    struct tc__stream *streams;
    size_t stream_count;
    struct tc__told recent[TC__RECENT_MAX];
    uint64_t recent_from;
    uint64_t recent_to;
    size_t recent_bytes;
    struct tc_grow text; /* one event */
    struct tc__sse_reading reading;
};

static inline struct tc__stream *tc__stream_of_job(struct tc_api_job *job)
{
    return (struct tc__stream *)(void *)job;
}

/* event_text.c */

/* Appends one event: id, kind and the line. */
void tc__sse_put(struct tc_grow *g, uint64_t number, struct tc_slice json);
/* Whether the filter takes the verdict of that line; without memory to look it does. */
bool tc__sse_matches(struct tc__sse_reading *reading, const struct tc_live_filter *filter,
                     struct tc_slice json);
void tc__sse_reading_fini(struct tc__sse_reading *reading);
/* On a worker: the stream's backlog from the log, about so many bytes, and a "reset" where the log
 * has what comes next no more. */
void tc__sse_read_log(struct tc__stream *s, size_t bytes_max);

#endif
