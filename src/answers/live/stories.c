/* SPDX-License-Identifier: Apache-2.0 */
/* The overview: one row for each story, what needs somebody first. */
#include "answers/cursor.h"
#include "answers/live/filter.h"
#include "answers/live/story.h"

#include "base/time.h"

#include <stdlib.h>

#define STORIES_MAX ((size_t)1 << 20)

/* Where a story stands: what is open and grave first, then the newest. As one number for the
 * cursor, which has a time: the time is the key's. */
struct row {
    size_t at; /* in the list */
    bool is_open;
    enum tc_severity severity;
    int64_t last_ns;
    struct tc_slice id;
};

static int cmp_rows(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    if (x->is_open != y->is_open) {
        return x->is_open ? -1 : 1;
    }
    if (x->severity != y->severity) {
        return x->severity > y->severity ? -1 : 1;
    }
    if (x->last_ns != y->last_ns) {
        return x->last_ns > y->last_ns ? -1 : 1;
    }
    return tc_slice_cmp(x->id, y->id);
}

/* "o2" and the id, "r0" and the id. */
static bool read_after(const struct tc_cursor *after, struct row *out)
{
    struct tc_slice key = after->key;
    if (!after->is_given || key.len < 3) {
        return false;
    }
    *out = (struct row){.is_open = key.ptr[0] == 'o',
                        .severity = (enum tc_severity)(key.ptr[1] - '0'),
                        .last_ns = after->at,
                        .id = tc_slice_from(key, 2)};
    return true;
}

static bool takes(const struct tc_live_filter *f, const struct tc_live_story *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (tc_live_filter_takes(f, s->items[i])) {
            return true;
        }
    }
    return false;
}

/* The rows that are asked for, in order. */
static tc_status make_rows(const struct tc_live_list *l, const struct tc_live_filter *filter,
                           const struct tc_cursor *after, struct row **out_rows, size_t *out_count)
{
    struct row end;
    bool has_end = read_after(after, &end);
    struct row *rows = NULL;
    size_t cap = 0;
    size_t count = 0;
    for (size_t at = 0; at < l->count;) {
        struct tc_live_story s = tc_live_story_at(l, at);
        struct row row = {at, s.open > 0, s.severity, s.last_ns, tc_live_story_id(l->items[at])};
        if ((!has_end || cmp_rows(&row, &end) > 0) && takes(filter, &s)) {
            tc_status status = tc_grow_items(rows, cap, count + 1, STORIES_MAX);
            if (status != TC_OK) {
                free(rows);
                return status;
            }
            rows[count++] = row;
        }
        at += s.count;
    }
    if (count > 0) {
        qsort(rows, count, sizeof *rows, cmp_rows);
    }
    *out_rows = rows;
    *out_count = count;
    return TC_OK;
}

static void put_rows(const struct tc_asked *asked, const struct tc_live_list *l,
                     const struct row *rows, size_t count, struct tc_reply *out)
{
    size_t limit = (size_t)tc_asked_value(asked, "limit")->count;
    size_t shown = count < limit ? count : limit;
    char key[2 + TC_INCIDENT_ID_LEN];
    struct tc_buf b = tc_buf_make(key, sizeof key);
    struct tc_json_out j = tc_json_object_grow(&out->body);
    tc_json_put_array(&j, "stories");
    for (size_t i = 0; i < shown; i++) {
        struct tc_live_story s = tc_live_story_at(l, rows[i].at);
        tc_json_add_object(&j);
        tc_live_put_story(&j, &s);
        tc_json_end_object(&j);
    }
    tc_json_end_array(&j);
    if (shown > 0) {
        tc_buf_char(&b, rows[shown - 1].is_open ? 'o' : 'r');
        tc_buf_char(&b, (char)('0' + (int)rows[shown - 1].severity));
        tc_buf_str(&b, rows[shown - 1].id);
    }
    tc_cursor_put(&j, asked->question, shown<count, shown> 0 ? rows[shown - 1].last_ns : 0,
                  tc_buf_slice(&b));
    (void)tc_json_end_line(&j);
}

static tc_status answer(const struct tc_asked *asked, struct tc_reply *out, struct tc_error *err)
{
    struct tc_cursor after;
    struct tc_live_filter filter;
    struct tc_live_list list;
    struct row *rows = NULL;
    size_t count = 0;
    TC_TRY(tc_cursor_read(asked, &after, err));
    tc_live_filter_of(asked, &filter);
    TC_TRY(tc_live_list_read(asked, &list, err));
    tc_live_stories_sort(&list);
    tc_status status = make_rows(&list, &filter, &after, &rows, &count);
    if (status == TC_OK) {
        put_rows(asked, &list, rows, count, out);
    } else {
        (void)!tc_fail(err, status, 0, "no memory for the stories");
    }
    free(rows);
    tc_live_list_fini(&list);
    return status;
}

static const struct tc_param PARAMS[] = {
    TC_LIVE_FILTER_PARAMS,
    TC_PARAM_LIMIT("100", 1000),
    TC_PARAM_CURSOR,
};

static const struct tc_member MEMBERS[] = {
    {.name = "stories",
     .type = "array",
     .help =
         "One object for each story, open ones first, of those the critical: id, status, "
         "severity, headline, what_to_do, where, nodes, patterns, times, counts, incident_ids."},
    TC_MEMBER_NEXT,
};

const struct tc_question tc_question_stories = {
    .name = "stories",
    .path = "/api/v1/stories",
    .summary = "one row for each story, what is open and grave first",
    .help = "Stories: incidents that links hold together, each with what happened first, where, "
            "how bad and what to do. A story is shown when one of its incidents is asked for.",
    .place = TC_PLACE_LIVE,
    .keeps = true,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .members = MEMBERS,
    .member_count = TC_COUNT(MEMBERS),
    .answer = answer,
};
