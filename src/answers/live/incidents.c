/* SPDX-License-Identifier: Apache-2.0 */
/* The incidents that are kept, a page at a time: what others follow from comes first, so that a
 * storm of symptoms does not push its cause off the page. */
#include "answers/cursor.h"
#include "answers/live/filter.h"
#include "answers/live/list.h"

#include <stdlib.h>

/* A page ends with the verdict that goes over this. */
#define PAGE_BYTES_MAX ((size_t)4 << 20)
/* In front of the id in a cursor: which half of the list it is of. */
#define ROOT 'r'
#define CAUSED 'c'

/* Where a verdict stands in the list. */
struct place {
    bool is_caused;
    int64_t first_ns;
    struct tc_slice id;
};

static struct place place_of(const struct tc_verdict *v)
{
    return (struct place){v->cause_count > 0, v->first_ns, v->incident_id};
}

static int cmp_places(const struct place *a, const struct place *b)
{
    if (a->is_caused != b->is_caused) {
        return a->is_caused ? 1 : -1;
    }
    if (a->first_ns != b->first_ns) {
        return a->first_ns > b->first_ns ? -1 : 1;
    }
    return tc_slice_cmp(b->id, a->id);
}

static int cmp_items(const void *a, const void *b)
{
    struct place x = place_of(*(const struct tc_verdict *const *)a);
    struct place y = place_of(*(const struct tc_verdict *const *)b);
    return cmp_places(&x, &y);
}

/* Leaves those that are asked for and come behind the cursor, in order. */
static void choose(struct tc_live_list *l, const struct tc_live_filter *filter,
                   const struct tc_cursor *after)
{
    size_t count = 0;
    struct place end = {
        .is_caused = after->is_given && after->key.ptr[0] == CAUSED,
        .first_ns = after->at,
        .id = after->is_given ? tc_slice_from(after->key, 1) : TC_EMPTY,
    };
    for (size_t i = 0; i < l->count; i++) {
        struct place p = place_of(l->items[i]);
        if ((!after->is_given || cmp_places(&p, &end) > 0) &&
            tc_live_filter_takes(filter, l->items[i])) {
            l->items[count++] = l->items[i];
        }
    }
    l->count = count;
    if (count > 0) {
        qsort(l->items, count, sizeof l->items[0], cmp_items);
    }
}

static void put_next(struct tc_json_out *j, const struct tc_asked *asked, bool has_more,
                     const struct tc_verdict *last)
{
    char key[TC_INCIDENT_ID_LEN + 1];
    struct tc_buf b = tc_buf_make(key, sizeof key);
    if (last != NULL) {
        tc_buf_char(&b, last->cause_count > 0 ? CAUSED : ROOT);
        tc_buf_str(&b, last->incident_id);
    }
    tc_cursor_put(j, asked->question, has_more, last == NULL ? 0 : last->first_ns,
                  tc_buf_slice(&b));
}

static tc_status answer(const struct tc_asked *asked, struct tc_reply *out, struct tc_error *err)
{
    size_t limit = (size_t)tc_asked_value(asked, "limit")->count;
    struct tc_cursor after;
    struct tc_live_filter filter;
    struct tc_live_list list;
    struct tc_grow lines = {0};
    size_t n = 0;
    TC_TRY(tc_cursor_read(asked, &after, err));
    tc_live_filter_of(asked, &filter);
    TC_TRY(tc_live_list_read(asked, &list, err));
    choose(&list, &filter, &after);
    for (; n < list.count && n < limit && lines.buf.len < PAGE_BYTES_MAX; n++) {
        tc_grow_str(&lines, n > 0 ? TC_LIT(",\n") : TC_EMPTY);
        tc_live_put_verdict(&lines, list.items[n], asked->sources);
    }
    struct tc_json_out j = tc_json_object_grow(&out->body);
    tc_json_put_array(&j, "incidents");
    tc_json_add_raw(&j, tc_slice_make(lines.buf.data, lines.buf.len));
    tc_json_end_array(&j);
    bool has_more = n < list.count;
    put_next(&j, asked, has_more, n == 0 ? NULL : list.items[n - 1]);
    (void)tc_json_end_line(&j);
    out->body.failed = out->body.failed || lines.failed;
    tc_grow_fini(&lines);
    tc_live_list_fini(&list);
    return TC_OK;
}

static const struct tc_param PARAMS[] = {
    TC_LIVE_FILTER_PARAMS,
    TC_PARAM_LIMIT("100", 1000),
    TC_PARAM_CURSOR,
};

static const struct tc_member MEMBERS[] = {
    {.name = "incidents",
     .type = "array",
     .help = "Verdicts (schemas/verdict): first those that no other explains, then what followed "
             "from them, each the newest first."},
    TC_MEMBER_NEXT,
};

const struct tc_question tc_question_incidents = {
    .name = "incidents",
    .tool = "list_incidents",
    .path = "/api/v1/incidents",
    .summary = "list incidents, causes first",
    .help =
        "Lists the incidents that detection keeps: what went wrong, where, how bad, what to do. "
        "Ask it first when something is wrong with the cluster or a job; explain_incident "
        "tells the whole story of one.",
    .place = TC_PLACE_LIVE,
    .keeps = true,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .members = MEMBERS,
    .member_count = TC_COUNT(MEMBERS),
    .answer = answer,
};
