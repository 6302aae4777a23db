/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore run show RUN --slower-than BASE`: from a slow run to its bytes. Each step names the
 * command of the next: points; --point: what stands out in its time; --node: all of a node and its
 * files.
 */
#include "base/format.h"
#include "base/number.h"
#include "cli/output/say.h"
#include "cli/output/terminal.h"
#include "cli/run/run.h"
#include "diagnose/base.h"
#include "diagnose/pivot.h"

#include <math.h>
#include <string.h>

/* Of one list for people; the rest is counted. */
#define LINES_MAX 24
#define FILES_MAX 8
/* Where nobody's screen is in the way: names of metrics and numbers of bytes are long. */
#define PIPE_WIDTH 240

static size_t page_width(void)
{
    return tc_terminal_is_output() ? tc_terminal_columns() : PIPE_WIDTH;
}

struct slower {
    const struct tc_run_args *args;
    struct tc_group run;
    struct tc_group base;
    struct tc_points points;
    struct tc_slice id;
};

static void put_head(struct tc_grow *g, const struct slower *s)
{
    tc_grow_format(g, "{}  {}, against {} ({})\n", s->id,
                   tc_as_printable(tc_group_text(&s->run, 0, TC_GROUP_RUN_NAME)),
                   tc_as_printable(tc_slice_cstr(s->base.text)),
                   tc_as_count((int64_t)s->base.run_count, "run"));
}

/* Words of a command that a shell takes as they are. */
static void put_next(struct tc_grow *g, const struct slower *s, const char *option,
                     struct tc_slice value)
{
    tc_grow_format(g, "next: tracecore run show {} --slower-than '{}'", s->id,
                   tc_as_printable(tc_slice_cstr(s->base.text)));
    if (s->args->point != NULL && strcmp(option, "--point") != 0) {
        tc_grow_format(g, " --point '{}'", tc_as_printable(tc_slice_cstr(s->args->point)));
    }
    tc_grow_format(g, " {} '{}'\n", option, tc_as_printable(value));
}

/* ---- step one ---- */

static void add_outcome(struct tc_text_table *t, const struct tc_outcome *o)
{
    tc_text_table_cell(t, o->series->name);
    tc_text_table_format(t, "{}", tc_as_number(o->base));
    tc_text_table_format(t, "{}", tc_as_number(o->run));
    tc_text_table_format(t, "{}", tc_as_number(o->ratio));
    tc_text_table_format(t, "{}", o->is_worse ? "worse" : "");
}

/* Of a point that is worse: what is worse; of another: its latency or throughput. */
static bool is_shown(const struct slower *s, const struct tc_outcome *o)
{
    const struct tc_slow_point *point = &s->points.points[o->point];
    return point->worst > 1 ? o->is_worse
                            : o->series->is_main && !isnan(o->ratio) && point->in_base;
}

/* One point: a row for each main metric, the others in a line. */
static void put_point(struct tc_grow *g, const struct slower *s, size_t point)
{
    struct tc_text_table t = {.column_count = 5,
                              .width = page_width(),
                              .heads = {"metric", "base", "run", "ratio", "verdict"},
                              .right = {false, true, true, true, false},
                              .flexible = 0,
                              .flexible_min = 16};
    struct tc_grow also = {0};
    for (size_t i = 0; i < s->points.outcome_count; i++) {
        const struct tc_outcome *o = &s->points.outcomes[i];
        if (o->point != point || !is_shown(s, o)) {
            continue;
        }
        if (o->series->is_main) {
            add_outcome(&t, o);
        } else {
            tc_grow_format(&also, "{}{} {}x", also.buf.len > 0 ? ", " : "",
                           tc_as_printable(o->series->name), tc_as_number(o->ratio));
        }
    }
    if (t.cell_count > 0 || also.buf.len > 0) {
        tc_grow_format(g, "{}. {}\n", point + 1,
                       tc_as_printable(s->points.points[point].point->text));
    }
    if (t.cell_count > 0) {
        (void)tc_text_table_print(&t, g, "  ");
    }
    if (also.buf.len > 0) {
        tc_text_words(g, "  also worse: ", tc_grow_slice(&also), "    ");
        tc_grow_lit(g, "\n");
    }
    g->failed |= t.failed || also.failed;
    tc_grow_fini(&also);
    tc_text_table_fini(&t);
}

static int print_points(const struct slower *s)
{
    struct tc_grow g = {0};
    size_t slower = 0;
    size_t strange = 0;
    put_head(&g, s);
    for (size_t p = 0; p < s->points.point_count; p++) {
        slower += s->points.points[p].worst > 1;
        strange += !s->points.points[p].in_base;
    }
    tc_grow_format(&g, "slower at {} of {}\n", slower,
                   tc_as_count((int64_t)s->points.point_count, "point"));
    for (size_t p = 0; p < s->points.point_count && p < LINES_MAX; p++) {
        put_point(&g, s, p);
    }
    if (strange > 0) {
        tc_grow_format(&g, "{} not measured in the base\n", tc_as_count((int64_t)strange, "point"));
    }
    if (s->base.run_count < 3) {
        tc_text_words(
            &g, "",
            TC_LIT("worse: outside of what the base's runs had, by 5 % or more. So few runs "
                   "say little of chance."),
            "");
        tc_grow_lit(&g, "\n");
    }
    if (slower > 0) {
        put_next(&g, s, "--point", s->points.points[0].point->text);
    }
    return tc_output_grown("run", &g, TC_EXIT_OK);
}

/* ---- steps two and three ---- */

static void add_scope(struct tc_text_table *t, const struct tc_pivot_series *s)
{
    struct tc_slice gpu = tc_slice_from(s->gpu, s->gpu.len > 12 ? s->gpu.len - 12 : 0);
    tc_text_table_format(t, "{}{}{}{}{}", tc_as_printable(tc_slice_or(s->node, TC_LIT("-"))),
                         tc_when(gpu.len > 0, " GPU ..{}", tc_as_printable(gpu)),
                         tc_when(s->rank >= 0, " rank {}", s->rank),
                         tc_when(gpu.len == 0 && s->pod_uid.len > 0, " pod {}",
                                 tc_as_printable(tc_slice_head(s->pod_uid, 8))),
                         s->is_fuzzy ? " ~" : "");
    tc_text_table_format(t, "{}{}", tc_as_printable(s->metric),
                         tc_when(s->point.len > 0, " {}", tc_as_printable(s->point)));
    tc_text_table_format(t, "{}{}{}", tc_as_number(s->value), s->unit.len > 0 ? " " : "",
                         tc_as_printable(s->unit));
    tc_text_table_format(t, "{}", tc_as_number(s->median));
    tc_text_table_format(t, "{}{}",
                         s->peers == TC_PEERS_NONE      ? "-"
                         : fabs(s->z) >= TC_PIVOT_Z_MAX ? "all equal"
                                                        : "",
                         tc_when(s->peers != TC_PEERS_NONE && fabs(s->z) < TC_PIVOT_Z_MAX, "{}{}",
                                 s->z > 0 ? "+" : "", tc_as_number(s->z)));
    tc_text_table_format(t, "{}{}", s->peer_count, s->peers == TC_PEERS_BASE ? " of the base" : "");
}

static void put_scopes(struct tc_grow *g, const struct tc_pivot *p, bool of_node)
{
    struct tc_text_table t = {.column_count = 6,
                              .width = page_width(),
                              .heads = {"scope", "metric", "value", "median", "z", "peers"},
                              .right = {false, false, true, true, true, true},
                              .flexible = 1,
                              .flexible_min = 12};
    bool fuzzy = false;
    for (size_t i = 0; i < p->series_count && i < LINES_MAX; i++) {
        add_scope(&t, &p->series[i]);
        fuzzy |= p->series[i].is_fuzzy;
    }
    if (p->series_count > 0) {
        (void)tc_text_table_print(&t, g, "  ");
    } else {
        tc_grow_format(g, "  {}\n",
                       p->read == 0 ? "there is no telemetry of it"
                       : of_node    ? "there is no telemetry of this node"
                                    : "none stands out");
    }
    if (p->series_count > LINES_MAX) {
        tc_grow_format(g, "  and {} more; --json has all\n", p->series_count - LINES_MAX);
    }
    if (fuzzy) {
        tc_grow_lit(g, "  ~ tied to the run by node and time only\n");
    }
    g->failed |= t.failed;
    tc_text_table_fini(&t);
}

static void put_requests(struct tc_grow *g, const struct tc_answer *requests)
{
    struct tc_text_table t = {
        .column_count = 6,
        .width = page_width(),
        .heads = {"request", "node or pod", "queue", "ttft", "e2e ms", "trace"},
        .right = {false, false, true, true, true, false},
        .flexible = 0,
        .flexible_min = 8};
    if (requests->row_count == 0) {
        return;
    }
    for (size_t row = 0; row < requests->row_count; row++) {
        tc_text_table_value(&t, requests, row, TC_PIVOT_REQUEST_ID);
        tc_text_table_value(&t, requests, row,
                            tc_answer_known(requests, row, TC_PIVOT_REQUEST_NODE)
                                ? TC_PIVOT_REQUEST_NODE
                                : TC_PIVOT_REQUEST_POD);
        tc_text_table_value(&t, requests, row, TC_PIVOT_REQUEST_QUEUE);
        tc_text_table_value(&t, requests, row, TC_PIVOT_REQUEST_TTFT);
        tc_text_table_value(&t, requests, row, TC_PIVOT_REQUEST_E2E);
        tc_text_table_value(&t, requests, row, TC_PIVOT_REQUEST_TRACE);
    }
    tc_grow_lit(g, "slowest requests\n");
    (void)tc_text_table_print(&t, g, "  ");
    g->failed |= t.failed;
    tc_text_table_fini(&t);
}

static void put_incidents(struct tc_grow *g, const struct tc_answer *incidents)
{
    for (size_t row = 0; row < incidents->row_count; row++) {
        bool given =
            tc_slice_eq(tc_answer_text(incidents, row, TC_PIVOT_INCIDENT_JOIN), TC_LIT("given"));
        tc_grow_format(
            g, "{}  {}  {}\n    {}{}{}\n", row == 0 ? "incidents\n" : "",
            tc_answer_as_value(incidents, row, TC_PIVOT_INCIDENT_SEEN),
            tc_answer_as_value(incidents, row, TC_PIVOT_INCIDENT_HEADLINE),
            tc_answer_as_value(incidents, row, TC_PIVOT_INCIDENT_PATTERN),
            given ? "" : ": tracecore incidents ",
            tc_when(!given, "{}", tc_answer_as_value(incidents, row, TC_PIVOT_INCIDENT_ID)));
    }
}

/* The files that the series stand in, each once. */
static void put_files(struct tc_grow *g, const struct tc_pivot *p)
{
    struct tc_slice shown[FILES_MAX];
    size_t count = 0;
    for (size_t i = 0; i < p->series_count + p->requests.row_count && count < FILES_MAX; i++) {
        struct tc_slice digest =
            i < p->series_count
                ? p->series[i].digest
                : tc_answer_text(&p->requests, i - p->series_count, TC_PIVOT_REQUEST_DIGEST);
        bool is_new = digest.len > 0;
        for (size_t n = 0; n < count; n++) {
            is_new = is_new && !tc_slice_eq(shown[n], digest);
        }
        if (is_new) {
            shown[count++] = digest;
            tc_grow_format(g, "{}  tracecore evidence cat {}\n", count == 1 ? "evidence\n" : "",
                           tc_as_printable(digest));
        }
    }
}

static int print_pivot(const struct slower *s, const struct tc_pivot_want *want,
                       const struct tc_pivot *p)
{
    struct tc_grow g = {0};
    put_head(&g, s);
    if (want->point != NULL) {
        tc_grow_format(&g, "{}{}\n", tc_as_printable(want->point->point->text),
                       want->point->started_us == INT64_MIN
                           ? "; when it was measured is not known: the whole run is shown"
                           : "");
    }
    tc_grow_format(&g, "{}{}\n", want->node.len > 0 ? "series of " : "stands out among its peers",
                   tc_as_printable(want->node));
    put_scopes(&g, p, want->node.len > 0);
    put_requests(&g, &p->requests);
    put_incidents(&g, &p->incidents);
    if (want->node.len == 0) {
        struct tc_slice node = p->series_count > 0 ? p->series[0].node : TC_EMPTY;
        if (node.len > 0) {
            put_next(&g, s, "--node", node);
        }
    }
    put_files(&g, p);
    return tc_output_grown("run", &g, TC_EXIT_OK);
}

/* ---- which ---- */

/* Said when there is none. */
static const struct tc_slow_point *find_point(const struct slower *s, const char *word)
{
    size_t hits = 0;
    const struct tc_slow_point *found = tc_points_find(&s->points, tc_slice_cstr(word), &hits);
    if (found != NULL) {
        return found;
    }
    tc_say("run", "%s point \"%s\"; the run has:", hits == 0 ? "there is no" : "more than one",
           word);
    for (size_t i = 0; i < s->points.point_count && i < LINES_MAX; i++) {
        tc_say_plain("  %zu  %.*s", i + 1, TC_FMT(s->points.points[i].point->text));
    }
    return NULL;
}

static const char *node_of(const struct tc_run_args *args)
{
    for (size_t i = 0; i < args->name_count; i++) {
        if (args->names[i].kind == TC_RUN_NAME_NODE) {
            return args->names[i].text;
        }
    }
    return NULL;
}

static int show_pivot(struct tc_warehouse *w, const struct slower *s)
{
    struct tc_error err = {0};
    struct tc_pivot pivot;
    struct tc_pivot_want want = {
        .run_id = s->id, .base = &s->base, .node = tc_slice_cstr(node_of(s->args))};
    if (s->args->point != NULL) {
        want.point = find_point(s, s->args->point);
        if (want.point == NULL) {
            return TC_EXIT_BAD;
        }
    }
    if (tc_pivot_read(w, &want, &pivot, &err) != TC_OK) {
        return tc_refuse("run", "%s", err.message);
    }
    int code = TC_EXIT_OK;
    if (s->args->json) {
        struct tc_grow g = {0};
        struct tc_json_out j = tc_json_out_grow(&g);
        tc_pivot_json(&j, &want, &pivot);
        (void)tc_json_done_line(&j);
        code = tc_output_grown("run", &g, TC_EXIT_OK);
    } else {
        code = print_pivot(s, &want, &pivot);
    }
    tc_pivot_fini(&pivot);
    return code;
}

static int show_points(const struct slower *s)
{
    if (!s->args->json) {
        return print_points(s);
    }
    struct tc_grow g = {0};
    struct tc_json_out j = tc_json_out_grow(&g);
    tc_points_json(&j, s->id, &s->base, &s->points);
    (void)tc_json_done_line(&j);
    return tc_output_grown("run", &g, TC_EXIT_OK);
}

int tc_run_show_slower(struct tc_warehouse *w, const struct tc_run_args *args, const char *id)
{
    struct slower s = {.args = args};
    struct tc_error err = {0};
    tc_status status = tc_one_run_find(w, tc_slice_cstr(id), &s.run, &err);
    if (status == TC_OK) {
        s.id = tc_group_text(&s.run, 0, TC_GROUP_RUN_ID);
        status = tc_base_find(w, &s.run, tc_slice_cstr(args->slower_than), &s.base, &err);
    }
    if (status == TC_OK) {
        status = tc_points_read(w, &s.run, &s.base, &s.points, &err);
    }
    int code = TC_EXIT_BAD;
    if (status != TC_OK) {
        tc_say("run", "%s", err.message);
    } else {
        code = args->point != NULL || node_of(args) != NULL ? show_pivot(w, &s) : show_points(&s);
    }
    tc_points_fini(&s.points);
    tc_group_fini(&s.run);
    tc_group_fini(&s.base);
    return code;
}
