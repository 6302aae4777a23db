/* SPDX-License-Identifier: Apache-2.0 */
/* One incident with the whole story that it belongs to. */
#include "answers/live/story.h"

#include "base/time.h"

#include <stdlib.h>

/* Of a story that has more, the rest is counted. */
#define NODES_MAX 500
#define SIGNALS_MAX 1000

/* A line of the time axis: one piece of evidence of one incident. */
struct signal {
    const struct tc_verdict *of;
    const struct tc_evidence *evidence;
};

struct signals {
    struct signal *items;
    size_t count;
    size_t cap;
    size_t total;
};

static int cmp_signals(const void *a, const void *b)
{
    const struct tc_evidence *x = ((const struct signal *)a)->evidence;
    const struct tc_evidence *y = ((const struct signal *)b)->evidence;
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    if (x->raw.source != y->raw.source) {
        return x->raw.source < y->raw.source ? -1 : 1;
    }
    return x->raw.offset == y->raw.offset ? 0 : x->raw.offset < y->raw.offset ? -1 : 1;
}

/* Those of the incident itself come first when there are too many. */
static tc_status gather(const struct tc_live_story *s, const struct tc_verdict *asked_for,
                        struct signals *out)
{
    for (size_t turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < s->count; i++) {
            const struct tc_verdict *v = s->items[i];
            if ((v == asked_for) != (turn == 0)) {
                continue;
            }
            const struct tc_finding *f = v->finding;
            out->total += f->evidence_count;
            for (size_t n = 0; n < f->evidence_count && out->count < SIGNALS_MAX; n++) {
                TC_TRY(tc_grow_items(out->items, out->cap, out->count + 1, SIGNALS_MAX));
                out->items[out->count++] = (struct signal){v, &f->evidence[n]};
            }
        }
    }
    if (out->count > 0) {
        qsort(out->items, out->count, sizeof out->items[0], cmp_signals);
    }
    return TC_OK;
}

static void put_raw(struct tc_json_out *j, const struct tc_raw *raw,
                    const struct tc_sources *sources)
{
    struct tc_source_view view;
    if (raw->source == TC_SOURCE_NONE || sources == NULL ||
        !sources->view(sources->context, raw->source, &view)) {
        tc_json_put_null(j, "raw");
        return;
    }
    tc_json_put_object(j, "raw");
    tc_json_put_plain(j, "digest", view.digest);
    tc_json_put_some(j, "member", view.member);
    tc_json_put_u64(j, "offset", raw->offset);
    tc_json_put_u64(j, "length", raw->length);
    tc_json_end_object(j);
}

static void put_timeline(struct tc_json_out *j, const struct signals *signals,
                         const struct tc_sources *sources)
{
    tc_json_put_array(j, "timeline");
    for (size_t i = 0; i < signals->count; i++) {
        const struct signal *s = &signals->items[i];
        tc_json_add_object(j);
        tc_live_put_time(j, "time", s->evidence->time_ns);
        tc_json_put_plain(j, "incident_id", s->of->incident_id);
        tc_json_put_plain(j, "pattern", s->of->finding->pattern_name);
        tc_json_put_object(j, "where");
        tc_live_put_where(j, &s->of->finding->scope);
        tc_json_end_object(j);
        tc_json_put_str(j, "kind", s->evidence->kind);
        tc_json_put_str(j, "text", s->evidence->description);
        put_raw(j, &s->evidence->raw, sources);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_put_u64(j, "timeline_total", signals->total);
}

/* What followed from what: a node for each incident, an edge from cause to effect. */
static void put_graph(struct tc_json_out *j, const struct tc_live_story *s)
{
    size_t count = s->count < NODES_MAX ? s->count : NODES_MAX;
    tc_json_put_object(j, "graph");
    tc_json_put_array(j, "nodes");
    for (size_t i = 0; i < count; i++) {
        tc_live_put_brief(j, s->items[i]);
    }
    tc_json_end_array(j);
    tc_json_put_array(j, "edges");
    for (size_t i = 0; i < count; i++) {
        const struct tc_verdict *v = s->items[i];
        for (size_t n = 0; n < v->cause_count; n++) {
            tc_json_add_object(j);
            tc_json_put_str_or_null(j, "from", v->causes[n].incident_id);
            tc_json_put_plain(j, "to", v->incident_id);
            tc_json_put_str(j, "why", v->causes[n].why);
            tc_json_end_object(j);
        }
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}

static void put_ids(struct tc_json_out *j, const struct tc_live_story *s, size_t from, size_t to)
{
    tc_json_add_array(j);
    for (size_t i = from; i < to && i < NODES_MAX; i++) {
        tc_json_add_plain(j, s->items[i]->incident_id);
    }
    tc_json_end_array(j);
}

static tc_status put_all(const struct tc_asked *asked, const struct tc_live_story *s,
                         const struct tc_verdict *v, struct tc_reply *out)
{
    struct signals signals = {0};
    struct tc_grow verdict = {0};
    tc_status status = gather(s, v, &signals);
    if (status == TC_OK) {
        tc_live_put_verdict(&verdict, v, asked->sources);
        status = verdict.failed ? TC_E_NOMEM : TC_OK;
    }
    if (status == TC_OK) {
        struct tc_json_out j = tc_json_object_grow(&out->body);
        tc_json_put_raw(&j, "incident", tc_slice_make(verdict.buf.data, verdict.buf.len));
        tc_json_put_object(&j, "story");
        tc_live_put_story(&j, s);
        tc_json_end_object(&j);
        tc_json_key(&j, "roots");
        put_ids(&j, s, 0, s->roots);
        tc_json_key(&j, "followed");
        put_ids(&j, s, s->roots, s->count);
        put_graph(&j, s);
        put_timeline(&j, &signals, asked->sources);
        (void)tc_json_end_line(&j);
    }
    tc_grow_fini(&verdict);
    free(signals.items);
    return status;
}

/* The list becomes that story: sorting all of them would take much longer. */
static struct tc_live_story story_of(struct tc_live_list *io_list, const struct tc_verdict *v)
{
    struct tc_slice id = tc_live_story_id(v);
    size_t count = 0;
    for (size_t i = 0; i < io_list->count; i++) {
        if (tc_slice_eq(tc_live_story_id(io_list->items[i]), id)) {
            io_list->items[count++] = io_list->items[i];
        }
    }
    io_list->count = count;
    tc_live_stories_sort(io_list);
    return tc_live_story_at(io_list, 0);
}

static tc_status answer(const struct tc_asked *asked, struct tc_reply *out, struct tc_error *err)
{
    struct tc_live_list list;
    const struct tc_verdict *v = NULL;
    TC_TRY(tc_live_list_read(asked, &list, err));
    tc_status status = tc_live_list_find(&list, tc_asked_text(asked, "id"), &v, err);
    if (status == TC_OK) {
        struct tc_live_story s = story_of(&list, v);
        status = put_all(asked, &s, v, out);
        if (status != TC_OK) {
            (void)!tc_fail(err, status, 0, "no memory for the story");
        }
    }
    tc_live_list_fini(&list);
    return status;
}

static const struct tc_param PARAMS[] = {
    {.name = "id",
     .help = "The incident's id, or how it begins.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED | TC_PARAM_IN_PATH},
};

static const struct tc_member MEMBERS[] = {
    {.name = "incident", .type = "object", .help = "Its latest verdict (schemas/verdict)."},
    {.name = "story",
     .type = "object",
     .help = "The story that it belongs to: headline, severity, where, what_to_do, counts, times."},
    {.name = "roots", .type = "array", .help = "Ids of the incidents that explain the others."},
    {.name = "followed", .type = "array", .help = "Ids of those that followed."},
    {.name = "graph",
     .type = "object",
     .help = "nodes: the incidents; edges: from cause to effect, with why."},
    {.name = "timeline",
     .type = "array",
     .help =
         "What was seen, in order: time, where, text, and raw: the digest, offset and length of "
         "the bytes that say so, for get_evidence."},
    {.name = "timeline_total",
     .type = "integer",
     .help = "How many there are; some may be left out."},
};

const struct tc_question tc_question_incident = {
    .name = "incident",
    .tool = "explain_incident",
    .path = "/api/v1/incidents/{id}",
    .summary = "one incident with the story that it belongs to",
    .help = "Explains one incident: what it is, what caused it, what followed, what to do, and the "
            "bytes that prove it. Ask it with an id of list_incidents.",
    .place = TC_PLACE_LIVE,
    .keeps = true,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .members = MEMBERS,
    .member_count = TC_COUNT(MEMBERS),
    .answer = answer,
};
