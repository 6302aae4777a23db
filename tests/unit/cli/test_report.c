/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json/json.h"
#include "base/limits.h"
#include "base/time.h"
#include "cli/story/report.h"
#include "story/incident_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The first line of a page, whose number is that of the overview. */
#define PAGE ". INFO  nccl_hang"

#define T0 INT64_C(1794711845000000000) /* 2026-11-15T03:04:05Z */

struct made {
    struct tc_finding f;
    struct tc_verdict v;
    struct tc_verdict_cause cause;
    char id[TC_INCIDENT_ID_LEN + 1];
    char headline[64];
};

/* Verdict number n; caused by number cause unless that is negative. */
static void make(struct made *m, int n, int cause, const char *cause_id)
{
    *m = (struct made){0};
    (void)snprintf(m->id, sizeof m->id, "%032d", n);
    (void)snprintf(m->headline, sizeof m->headline, "headline of %d", n);
    m->f = (struct tc_finding){
        .pattern_id = TC_LIT("1"),
        .pattern_name = TC_LIT("nccl_hang"),
        .headline = tc_slice_cstr(m->headline),
        .first_ns = T0,
        .last_ns = T0,
    };
    m->f.scope = TC_SCOPE_NONE;
    m->cause = (struct tc_verdict_cause){tc_slice_cstr(cause_id), TC_LIT("why")};
    m->v = (struct tc_verdict){.finding = &m->f,
                               .incident_id = tc_slice_cstr(m->id),
                               .first_ns = T0 + n,
                               .causes = &m->cause,
                               .cause_count = cause >= 0};
}

static void keep(struct tc_incident_table *k, int n, int cause, bool root)
{
    struct made m;
    char cause_id[TC_INCIDENT_ID_LEN + 16];
    (void)snprintf(cause_id, sizeof cause_id, "%032d", cause < 0 ? 0 : cause);
    make(&m, n, cause, cause_id);
    m.f.root = root;
    assert_int_equal(tc_incident_table_add(k, &m.v), TC_OK);
    memset(&m, 0xee, sizeof m); /* nothing of it may be needed any more */
}

static char text[1 << 20];

static const char *report_some(struct tc_incident_table *k, const struct tc_report_style *style,
                               const struct tc_story_filter *filter, tc_status expected)
{
    struct tc_output out;
    struct tc_stories stories;
    int file = memfd_create("report", 0);
    tc_output_init(&out, file);
    tc_incident_table_sort(k);
    assert_int_equal(tc_stories_init(&stories, k, filter), TC_OK);
    assert_int_equal(tc_report(k, &stories, NULL, style, &out), expected);
    tc_stories_fini(&stories);
    assert_true(tc_output_flush(&out));
    ssize_t n = pread(file, text, sizeof text - 1, 0);
    assert_true(n >= 0);
    text[n] = '\0';
    (void)close(file);
    return text;
}

static const char *report(struct tc_incident_table *k, bool json, bool all, tc_status expected)
{
    struct tc_report_style style = {
        .text = {.columns = 80, .all = all}, .command = "detect", .json = json};
    return report_some(k, &style, &TC_STORY_FILTER_NONE, expected);
}

static size_t count_of(const char *needle)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, needle)) != NULL; at++) {
        count++;
    }
    return count;
}

static void everything_of_a_verdict_is_copied(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    struct made m;
    char cause[] = "00000000000000000000000000000003";
    make(&m, 7, 3, cause);
    /* All strings lie in memory that is overwritten before the copy is looked at. */
    char letters[] = "abcdefghijklmnopqrstuvwxyz";
#define LETTER(n) tc_slice_make(letters + (n), 1)
    int32_t ints[] = {1, 2};
    struct tc_slice strings[] = {LETTER(0), TC_EMPTY};
    struct tc_attr attrs[] = {
        {.key = LETTER(1), .type = TC_ATTR_INT, {.integer = 5}},
        {.key = LETTER(2), .type = TC_ATTR_BOOL, {.boolean = true}},
        {.key = LETTER(3), .type = TC_ATTR_STRING, {.string = LETTER(4)}},
        {.key = LETTER(5), .type = TC_ATTR_INTS, {.ints = ints}, .count = 2},
        {.key = LETTER(6), .type = TC_ATTR_STRINGS, {.strings = strings}, .count = 2},
    };
    struct tc_evidence evidence[] = {{LETTER(7), LETTER(8), LETTER(9), T0, {TC_SOURCE_NONE, 1, 2}}};
    m.f.attrs = attrs;
    m.f.attr_count = 5;
    m.f.evidence = evidence;
    m.f.evidence_count = 1;
    m.f.pattern_id = LETTER(10);
    m.f.pattern_name = LETTER(11);
    m.f.discriminator = LETTER(12);
    m.f.remediation = LETTER(13);
    m.f.scope.node = LETTER(14);
    m.f.scope.ns = LETTER(15);
    m.f.scope.pod = LETTER(16);
    m.f.scope.pod_uid = LETTER(17);
    m.f.scope.container = LETTER(18);
    m.f.scope.job = LETTER(19);
    m.f.scope.gpu_uuid = LETTER(20);
    m.f.scope.rank = 3;
    m.cause.why = LETTER(21);
    struct tc_buf before = tc_buf_make(text, sizeof text);
    tc_verdict_render_json(&before, &m.v, NULL);
    char *expected = strndup(text, before.len);
    assert_int_equal(tc_incident_table_add(&k, &m.v), TC_OK);
    memset(&m, 0xee, sizeof m);
    memset(cause, 0xee, sizeof cause);
    memset(letters, 0xee, sizeof letters);
    memset(ints, 0xee, sizeof ints);
    memset(strings, 0xee, sizeof strings);
    memset(attrs, 0xee, sizeof attrs);
    memset(evidence, 0xee, sizeof evidence);
    struct tc_buf after = tc_buf_make(text, sizeof text);
    tc_verdict_render_json(&after, &k.items[0].verdict, NULL);
    assert_int_equal(after.len, strlen(expected));
    assert_memory_equal(after.data, expected, after.len);
    free(expected);
    tc_incident_table_fini(&k);
}

static void the_latest_of_an_incident_wins(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    keep(&k, 1, -1, false);
    keep(&k, 2, -1, false);
    keep(&k, 1, -1, true);
    assert_int_equal(k.count, 2);
    assert_true(k.items[tc_incident_table_find(&k, TC_LIT("00000000000000000000000000000001"))]
                    .finding.root);
    assert_int_equal(tc_incident_table_find(&k, TC_LIT("nothing")), TC_INCIDENT_NONE);
    struct tc_incident_table none = {0};
    assert_int_equal(tc_incident_table_find(&none, TC_LIT("nothing")), TC_INCIDENT_NONE);
    tc_incident_table_fini(&k);
}

static void many_incidents_are_kept_and_then_counted(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    for (int i = 0; i < TC_INCIDENT_TABLE_MAX + 3; i++) {
        keep(&k, i, -1, false);
    }
    assert_int_equal(k.count, TC_INCIDENT_TABLE_MAX);
    assert_int_equal(k.left_out, 3);
    keep(&k, 5, -1, true); /* a known one still changes */
    assert_int_equal(k.left_out, 3);
    assert_true(k.items[5].finding.root);
    for (size_t i = 0; i < k.count; i++) {
        assert_ptr_equal(k.items[i].verdict.finding, &k.items[i].finding);
    }
    tc_incident_table_fini(&k);
}

static void order_is_time_then_pattern_number_then_id(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    static const struct {
        int n;
        int64_t first_ns;
        const char *pattern;
    } cases[] = {{4, T0, "2"}, {3, T0, "12"}, {2, T0 + 1, "1"}, {1, T0, "12"}, {5, T0 - 1, "9"}};
    static const int expected[] = {5, 4, 1, 3, 2};
    for (size_t i = 0; i < 5; i++) {
        struct made m;
        make(&m, cases[i].n, -1, "");
        m.v.first_ns = cases[i].first_ns;
        m.f.pattern_id = tc_slice_cstr(cases[i].pattern);
        assert_int_equal(tc_incident_table_add(&k, &m.v), TC_OK);
    }
    tc_incident_table_sort(&k);
    for (size_t i = 0; i < 5; i++) {
        char id[TC_INCIDENT_ID_LEN + 1];
        (void)snprintf(id, sizeof id, "%032d", expected[i]);
        assert_int_equal(tc_incident_table_find(&k, tc_slice_cstr(id)), i);
    }
    tc_incident_table_fini(&k);
}

static void nothing_kept_prints_nothing(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    assert_string_equal(report(&k, false, false, TC_OK), "");
    assert_string_equal(report(&k, true, false, TC_OK), "");
    tc_incident_table_fini(&k);
}

static void json_has_every_verdict_on_a_line_of_its_own(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    keep(&k, 2, 1, false);
    keep(&k, 1, -1, true);
    report(&k, true, false, TC_OK);
    assert_int_equal(count_of("\n"), 2);
    assert_true(strstr(text, "headline of 1") < strstr(text, "headline of 2"));
    tc_incident_table_fini(&k);
}

static void consequences_are_told_under_their_cause(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    keep(&k, 1, -1, false); /* stands alone, and is the oldest */
    keep(&k, 2, 5, false);
    keep(&k, 3, 2, false); /* a consequence of a consequence */
    keep(&k, 5, -1, true);
    keep(&k, 6, 99, false); /* its cause is not known: it stands for itself */
    report(&k, false, false, TC_OK);
    assert_ptr_equal(strstr(text, "3 stories on 2026-11-15 (UTC): 3 open (3 info)"), text);
    assert_non_null(strstr(text, "\nheadline of 5\n"));
    assert_non_null(strstr(text, "  What followed\n"
                                 "    headline of 2 (nccl_hang)\n"
                                 "      because why\n"
                                 "      and 1 other group\n"));
    assert_true(strstr(text, "headline of 1") < strstr(text, "headline of 5"));
    assert_true(strstr(text, "headline of 5") < strstr(text, "headline of 6"));
    assert_int_equal(count_of(PAGE), 3);
    assert_int_equal(count_of("\n\n"), 3);
    report(&k, false, true, TC_OK);
    assert_int_equal(count_of(PAGE), 5);
    assert_int_equal(count_of("What followed"), 0);
    tc_incident_table_fini(&k);
}

static void roots_of_one_group_are_one_story(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    struct made m;
    for (int n = 1; n <= 3; n++) {
        make(&m, n, n == 3 ? 1 : -1, "00000000000000000000000000000001");
        m.f.root = n < 3;
        m.f.severity = n == 2 ? TC_SEVERITY_CRITICAL : TC_SEVERITY_WARNING;
        m.v.group = TC_LIT("00000000000000000000000000000001");
        assert_int_equal(tc_incident_table_add(&k, &m.v), TC_OK);
    }
    report(&k, false, false, TC_OK);
    /* The gravest leads. */
    assert_ptr_equal(strstr(text, "CRITICAL  nccl_hang\nheadline of 2\n"), text);
    assert_non_null(strstr(text, "  Together with\n    headline of 1 (nccl_hang)\n"
                                 "  What followed\n    headline of 3 (nccl_hang)\n"));
    tc_incident_table_fini(&k);
}

/* Verdict n with a scope and a time of its own. */
static void keep_at(struct tc_incident_table *k, int n, const char *node, const char *job,
                    int64_t last_ns, enum tc_severity severity, enum tc_verdict_status status)
{
    struct made m;
    make(&m, n, -1, "");
    m.f.scope.node = tc_slice_cstr(node);
    m.f.scope.job = tc_slice_cstr(job);
    m.f.last_ns = last_ns;
    m.f.severity = severity;
    m.v.status = status;
    assert_int_equal(tc_incident_table_add(k, &m.v), TC_OK);
}

static void open_comes_before_resolved_and_critical_first(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    keep_at(&k, 1, "", "", T0, TC_SEVERITY_CRITICAL, TC_VERDICT_RESOLVED);
    keep_at(&k, 2, "", "", T0, TC_SEVERITY_WARNING, TC_VERDICT_OPEN);
    keep_at(&k, 3, "", "", T0, TC_SEVERITY_CRITICAL, TC_VERDICT_UPDATED);
    keep_at(&k, 4, "", "", T0, TC_SEVERITY_CRITICAL, TC_VERDICT_OPEN);
    report(&k, false, false, TC_OK);
    assert_ptr_equal(
        strstr(text, "4 stories on 2026-11-15 (UTC): 3 open (2 critical, 1 warning), 1 resolved"),
        text);
    const char *at = text;
    for (const char *const *line =
             (const char *const[]){"\nheadline of 3", "\nheadline of 4", "\nheadline of 2",
                                   "\nheadline of 1", NULL};
         *line != NULL; line++) {
        at = strstr(at, *line);
        assert_non_null(at);
    }
    struct tc_report_style brief = {.text = {.columns = 80}, .command = "detect", .brief = true};
    report_some(&k, &brief, &TC_STORY_FILTER_NONE, TC_OK);
    assert_int_equal(count_of("\n"), 5);
    tc_incident_table_fini(&k);
}

static void filters_choose_whole_stories(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    struct tc_report_style style = {.text = {.columns = 80}, .command = "detect", .json = true};
    static const struct {
        const char *node;
        const char *job;
        const char *incident;
        int64_t since_ns;
        size_t shown;
    } cases[] = {
        {"gpu-07", NULL, NULL, TC_TIME_NONE, 3},
        {"GPU-07.example.org", NULL, NULL, TC_TIME_NONE, 2}, /* not another domain's */
        {"gpu-0", NULL, NULL, TC_TIME_NONE, 0},
        {"10.0.0.1", NULL, NULL, TC_TIME_NONE, 1},
        {"10", NULL, NULL, TC_TIME_NONE, 0},
        {NULL, "llama", NULL, TC_TIME_NONE, 1},
        {NULL, "Llama", NULL, TC_TIME_NONE, 0},
        {NULL, NULL, NULL, T0 + 5, 2}, /* and what has no date */
        {"gpu-07", "llama", NULL, TC_TIME_NONE, 1},
        {NULL, NULL, "0000000000000000000000000000000", TC_TIME_NONE, 5},
        {NULL, NULL, "00000000000000000000000000000003", TC_TIME_NONE, 1},
    };
    keep_at(&k, 1, "gpu-07", "llama", T0, TC_SEVERITY_INFO, TC_VERDICT_OPEN);
    keep_at(&k, 2, "gpu-07.example.org", "", T0 + 5, TC_SEVERITY_INFO, TC_VERDICT_OPEN);
    keep_at(&k, 3, "gpu-07.example.com", "", T0, TC_SEVERITY_INFO, TC_VERDICT_OPEN);
    keep_at(&k, 4, "10.0.0.1", "", TC_TIME_NONE, TC_SEVERITY_INFO, TC_VERDICT_OPEN);
    keep_at(&k, 5, "other", "", T0, TC_SEVERITY_INFO, TC_VERDICT_OPEN);
    for (size_t i = 0; i < TC_COUNT(cases); i++) {
        struct tc_story_filter filter = {.since_ns = cases[i].since_ns,
                                         .node = cases[i].node,
                                         .job = cases[i].job,
                                         .incident = cases[i].incident};
        report_some(&k, &style, &filter, TC_OK);
        if (count_of("\n") != cases[i].shown) {
            print_error("case %zu: %zu\n", i, count_of("\n"));
            fail();
        }
    }
    /* One verdict of a story is enough for all of it. */
    struct made m;
    make(&m, 6, 5, "00000000000000000000000000000005");
    assert_int_equal(tc_incident_table_add(&k, &m.v), TC_OK);
    struct tc_story_filter filter = TC_STORY_FILTER_NONE;
    filter.node = "other";
    report_some(&k, &style, &filter, TC_OK);
    assert_int_equal(count_of("\n"), 2);
    tc_incident_table_fini(&k);
}

static void nodes_that_attributes_list_match_too(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    struct made m;
    const struct tc_slice nodes[] = {{"gpu-01", 6}, {"gpu-02", 6}};
    const struct tc_attr attrs[] = {{.key = TC_LIT("tracecore.alert.thermal_throttle.nodes"),
                                     .type = TC_ATTR_STRINGS,
                                     {.strings = nodes},
                                     .count = 2},
                                    {.key = TC_LIT("tracecore.alert.x.node"),
                                     .type = TC_ATTR_STRING,
                                     {.string = TC_LIT("gpu-03")}}};
    struct tc_report_style style = {.text = {.columns = 80}, .command = "detect", .json = true};
    make(&m, 1, -1, "");
    m.f.attrs = attrs;
    m.f.attr_count = 2;
    assert_int_equal(tc_incident_table_add(&k, &m.v), TC_OK);
    static const char *const wanted[] = {"gpu-02", "gpu-03.example.org", "gpu-04"};
    for (size_t i = 0; i < 3; i++) {
        struct tc_story_filter filter = TC_STORY_FILTER_NONE;
        filter.node = wanted[i];
        report_some(&k, &style, &filter, TC_OK);
        assert_int_equal(count_of("\n"), i < 2);
    }
    tc_incident_table_fini(&k);
}

static void a_root_is_shown_in_full_even_with_a_cause(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    keep(&k, 1, 2, true);
    keep(&k, 2, -1, true);
    report(&k, false, false, TC_OK);
    assert_int_equal(count_of(PAGE), 2);
    tc_incident_table_fini(&k);
}

static void causes_in_a_circle_are_shown_in_full(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    keep(&k, 1, 2, false);
    keep(&k, 2, 1, false);
    keep(&k, 3, 3, false);
    report(&k, false, false, TC_OK);
    assert_int_equal(count_of(PAGE), 3);
    tc_incident_table_fini(&k);
}

static void many_kinds_of_consequences_are_counted(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    keep(&k, 0, -1, true);
    for (int i = 1; i <= 13; i++) {
        struct made m;
        char job[16];
        make(&m, i, 0, "00000000000000000000000000000000");
        (void)snprintf(job, sizeof job, "job-%d", i);
        m.f.scope.job = tc_slice_cstr(job);
        assert_int_equal(tc_incident_table_add(&k, &m.v), TC_OK);
    }
    report(&k, false, false, TC_OK);
    assert_non_null(strstr(text, "    headline of 12 (nccl_hang)\n      because why\n"
                                 "    \xe2\x80\xa6 and 1 more, see --all\n"));
    assert_null(strstr(text, "headline of 13"));
    tc_incident_table_fini(&k);
}

static void what_is_hostile_in_a_consequence_is_escaped(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    struct made m;
    keep(&k, 0, -1, true);
    make(&m, 3, 0, "00000000000000000000000000000000");
    m.f.headline = TC_LIT("evil \033[2J");
    m.f.pattern_name = TC_LIT("host_oom");
    assert_int_equal(tc_incident_table_add(&k, &m.v), TC_OK);
    report(&k, false, false, TC_OK);
    assert_non_null(strstr(text, "    evil \\x1b[2J (host_oom)\n      because why\n"));
    tc_incident_table_fini(&k);
}

static void a_verdict_is_printed_whole_or_not_at_all(void **state)
{
    (void)state;
    struct tc_incident_table k = {0};
    struct made m;
    size_t big = TC_VERDICT_JSON_MAX * 2; /* more than one buffer: it grows */
    char *remediation = malloc(big);
    assert_non_null(remediation);
    memset(remediation, 'r', big);
    make(&m, 1, -1, "");
    m.f.remediation = tc_slice_make(remediation, big);
    assert_int_equal(tc_incident_table_add(&k, &m.v), TC_OK);
    keep(&k, 2, -1, false);
    report(&k, true, false, TC_OK);
    assert_int_equal(count_of("\n"), 2);
    assert_true(strlen(text) > big);
    /* Far too large: it is left out, the other stays. */
    size_t huge = TC_VERDICT_JSON_MAX * 64;
    remediation = realloc(remediation, huge);
    assert_non_null(remediation);
    memset(remediation, 'r', huge);
    m.f.remediation = tc_slice_make(remediation, huge);
    assert_int_equal(tc_incident_table_add(&k, &m.v), TC_OK);
    report(&k, true, false, TC_E_LIMIT);
    assert_int_equal(count_of("\n"), 1);
    assert_non_null(strstr(text, "headline of 2"));
    free(remediation);
    tc_incident_table_fini(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_of_a_verdict_is_copied),
        cmocka_unit_test(the_latest_of_an_incident_wins),
        cmocka_unit_test(many_incidents_are_kept_and_then_counted),
        cmocka_unit_test(order_is_time_then_pattern_number_then_id),
        cmocka_unit_test(nothing_kept_prints_nothing),
        cmocka_unit_test(json_has_every_verdict_on_a_line_of_its_own),
        cmocka_unit_test(consequences_are_told_under_their_cause),
        cmocka_unit_test(roots_of_one_group_are_one_story),
        cmocka_unit_test(open_comes_before_resolved_and_critical_first),
        cmocka_unit_test(filters_choose_whole_stories),
        cmocka_unit_test(nodes_that_attributes_list_match_too),
        cmocka_unit_test(a_root_is_shown_in_full_even_with_a_cause),
        cmocka_unit_test(causes_in_a_circle_are_shown_in_full),
        cmocka_unit_test(many_kinds_of_consequences_are_counted),
        cmocka_unit_test(what_is_hostile_in_a_consequence_is_escaped),
        cmocka_unit_test(a_verdict_is_printed_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
