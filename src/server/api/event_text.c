/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts as server-sent events. */
#include "server/api/events_priv.h"
#include "verdict/read.h"

#include <stdlib.h>

/* The arrays of one verdict. */
#define BLOCK_BYTES ((size_t)8 << 20)

/* The status comes before anything that telemetry could have written. */
static struct tc_slice kind_of(struct tc_slice json)
{
    struct tc_slice rest;
    size_t at = tc_slice_find(json, TC_LIT("\"status\":\""));
    if (at == TC_NPOS) {
        return TC_LIT("updated");
    }
    struct tc_slice status =
        tc_slice_cut(tc_slice_from(json, at + sizeof "\"status\":\"" - 1), '"', &rest);
    return tc_slice_eq(status, TC_LIT("open"))       ? TC_LIT("opened")
           : tc_slice_eq(status, TC_LIT("resolved")) ? TC_LIT("resolved")
                                                     : TC_LIT("updated");
}

void tc__sse_put(struct tc_grow *g, uint64_t number, struct tc_slice json)
{
    tc_grow_str(g, TC_LIT("id: "));
    tc_grow_i64(g, (int64_t)number);
    tc_grow_str(g, TC_LIT("\nevent: "));
    tc_grow_str(g, kind_of(json));
    tc_grow_str(g, TC_LIT("\ndata: "));
    tc_grow_str(g, json);
    tc_grow_str(g, TC_LIT("\n\n"));
}

static uint32_t no_source(void *context, struct tc_slice digest)
{
    (void)context;
    (void)digest;
    return TC_SOURCE_NONE;
}

bool tc__sse_matches(struct tc__sse_reading *reading, const struct tc_live_filter *filter,
                     struct tc_slice json)
{
    struct tc_arena arena;
    struct tc_json root;
    struct tc_verdict verdict;
    struct tc_finding finding;
    struct tc_error err = {0};
    if (tc_live_filter_is_empty(filter)) {
        return true;
    }
    reading->parser = reading->parser == NULL ? tc_json_parser_create() : reading->parser;
    reading->block = reading->block == NULL ? malloc(BLOCK_BYTES) : reading->block;
    if (reading->parser == NULL || reading->block == NULL ||
        tc_json_parse(reading->parser, json, &root, &err) != TC_OK) {
        return true;
    }
    tc_arena_init(&arena, "event", reading->block, BLOCK_BYTES);
    bool takes = tc_verdict_read_json(root, &arena, no_source, NULL, &verdict, &finding) != TC_OK ||
                 tc_live_filter_takes(filter, &verdict);
    tc_arena_fini(&arena);
    return takes;
}

void tc__sse_reading_fini(struct tc__sse_reading *reading)
{
    tc_json_parser_destroy(reading->parser);
    free(reading->block);
    *reading = (struct tc__sse_reading){0};
}

struct backlog {
    struct tc__stream *stream;
    struct tc__sse_reading reading;
};

static tc_status take(void *context, uint64_t number, struct tc_slice json)
{
    struct backlog *b = context;
    struct tc_grow *g = &b->stream->backlog;
    if (tc__sse_matches(&b->reading, &b->stream->filter, json)) {
        tc__sse_put(g, number, json);
    }
    return g->failed ? TC_E_NOMEM : TC_OK;
}

void tc__sse_read_log(struct tc__stream *s, size_t bytes_max)
{
    struct backlog b = {.stream = s};
    struct tc_outbox *outbox = s->of->parts.outbox;
    bool is_gap = false;
    tc_status status = tc_outbox_read(outbox, s->next, bytes_max, take, &b, &s->next, &is_gap);
    tc__sse_reading_fini(&b.reading);
    if (status == TC_OK && is_gap) {
        s->next = tc_outbox_stored(outbox);
        tc_grow_str(&s->backlog, TC_LIT("id: "));
        tc_grow_i64(&s->backlog, (int64_t)(s->next - 1));
        tc_grow_str(&s->backlog,
                    TC_LIT("\nevent: reset\ndata: {\"detail\":\"the log has not all that followed "
                           "your last event; read /api/v1/incidents anew\"}\n\n"));
    }
    s->is_failed = status != TC_OK || s->backlog.failed;
}
