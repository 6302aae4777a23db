/* SPDX-License-Identifier: Apache-2.0 */
/* The book of alerts: what belongs together, who is told what and when, and what a restart knows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alert/alertmanager.h"
#include "alert/book.h"
#include "base/table/grow.h"
#include "base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T0 (1772600000 * TC_SECOND)
#define S TC_SECOND

static struct tc_json_parser *parser;
static struct tc_alert_book *book;
static uint64_t number;
static struct tc_alert_due due[64];
static int64_t next_ns;

/* A page after 3 s, news after 60 s, again never, forgotten after an hour. */
static struct tc_alert_policy policy;

static int make_book(void **state)
{
    (void)state;
    parser = tc_json_parser_create();
    book = tc_alert_book_create();
    number = 1;
    policy =
        (struct tc_alert_policy){.settle_ns = 3 * S, .update_ns = 60 * S, .forget_ns = 3600 * S};
    return parser == NULL || book == NULL ? -1 : 0;
}

static int drop_book(void **state)
{
    (void)state;
    tc_alert_book_destroy(book);
    tc_json_parser_destroy(parser);
    return 0;
}

/* One character names an incident: "a" is 32 of them. */
static struct tc_slice id_of(char c, char *out)
{
    memset(out, c, 32);
    return tc_slice_make(out, 32);
}

static tc_status try_take(char id, char group, const char *status, const char *severity, int64_t ns)
{
    char line[1024];
    char id_text[32];
    char group_text[32];
    struct tc_error err = {0};
    int len =
        snprintf(line, sizeof line,
                 "{\"pattern.name\":\"gpu_fault\",\"incident_id\":\"%.*s\",\"status\":\"%s\","
                 "\"severity\":\"%s\",\"headline\":\"of %c\",\"remediation\":\"mend\","
                 "\"first_seen\":\"2026-03-04T04:53:00Z\",\"k8s.node.name\":\"n-%c\"%s%.*s%s}",
                 32, id_of(id, id_text).ptr, status, severity, id, id,
                 group == 0 ? "" : ",\"incident_group\":\"", group == 0 ? 0 : 32,
                 id_of(group, group_text).ptr, group == 0 ? "" : "\"");
    return tc_alert_book_take(book, parser, number++, ns, tc_slice_make(line, (size_t)len), &err);
}

static void take(char id, char group, const char *status, const char *severity, int64_t ns)
{
    assert_int_equal(try_take(id, group, status, severity, ns), TC_OK);
}

static size_t ask(size_t receiver, int64_t ns)
{
    return tc_alert_book_due(book, receiver, &policy, ns, due, 64, &next_ns);
}

/* Exactly one alert is due: that of this incident, as firing or not. It is told. */
static void assert_tells(size_t receiver, int64_t ns, char id, bool is_firing)
{
    assert_int_equal(ask(receiver, ns), 1);
    assert_int_equal(due[0].id[0], id);
    assert_int_equal(due[0].is_firing, is_firing);
    tc_alert_book_told(book, receiver, &due[0], ns);
}

static void assert_silent(size_t receiver, int64_t ns)
{
    assert_int_equal(ask(receiver, ns), 0);
}

static size_t count_alerts(void)
{
    struct tc_alert_book_stats stats;
    tc_alert_book_sweep(book);
    tc_alert_book_stats(book, &stats);
    return stats.alerts;
}

static void an_incident_is_told_after_it_settled_and_when_it_ends(void **state)
{
    (void)state;
    tc_alert_book_join(book, 0, 1, false);
    take('a', 0, "open", "critical", T0);
    assert_silent(0, T0 + 2 * S);
    assert_int_equal(next_ns, T0 + 3 * S);
    struct tc_alert_waiting waiting;
    tc_alert_book_waiting(book, 0, &waiting);
    assert_int_equal(waiting.count, 1);
    assert_int_equal(waiting.oldest_ns, T0);
    assert_int_equal(tc_alert_book_cursor(book, 0), 1);
    assert_tells(0, T0 + 3 * S, 'a', true);
    assert_int_equal(tc_alert_book_cursor(book, 0), 2);
    assert_silent(0, T0 + 1000 * S);
    take('a', 0, "resolved", "info", T0 + 1000 * S);
    assert_tells(0, T0 + 1001 * S, 'a', false);
    assert_int_equal(count_alerts(), 0);
}

/* Slack refuses a block of more than 3,000 characters, and with it the page. */
static void what_others_say_fits_a_block_of_slack(void **state)
{
    (void)state;
    static const char *const FAR[] = {"\xc3\xa4", "n"};
    char line[4096];
    char node[254];
    struct tc_alert alert;
    for (size_t k = 0; k < 2; k++) {
        for (char id = 'a'; id <= 'k'; id++) {
            char id_text[32];
            char root_text[32];
            struct tc_error err = {0};
            node[0] = '\0';
            for (size_t n = 0; n + strlen(FAR[k]) < sizeof node; n += strlen(FAR[k])) {
                (void)snprintf(node + n, sizeof node - n, "%s", FAR[k]);
            }
            int len = snprintf(
                line, sizeof line,
                "{\"pattern.name\":\"network_link_fault\",\"incident_id\":\"%.*s\",\"status\":"
                "\"open\",\"severity\":\"critical\",\"headline\":\"%0512d\",\"first_seen\":"
                "\"2026-03-04T04:53:00Z\",\"k8s.node.name\":\"%s\",\"incident_group\":\"%.*s\"}",
                32, id_of(id, id_text).ptr, 7, node, 32, id_of('a', root_text).ptr);
            assert_int_equal(tc_alert_book_take(book, parser, number++, T0,
                                                tc_slice_make(line, (size_t)len), &err),
                             TC_OK);
        }
        tc_alert_book_join(book, 0, 1, false);
        assert_int_equal(ask(0, T0 + 3 * S), 1);
        assert_true(tc_alert_book_view(book, 0, &due[0], &alert));
        assert_int_equal(alert.node.len, k == 0 ? 252 : 253);
        size_t chars = strlen("\nand 32768 more");
        for (size_t i = 0; i < alert.shown_count; i++) {
            const struct tc_alert_part *part = &alert.parts[i];
            chars += strlen("critical  on : \n") + part->pattern.len + part->node.len +
                     part->headline.len;
            assert_true(part->node.len >= 64 && part->node.len % strlen(FAR[k]) == 0);
        }
        assert_int_equal(alert.shown_count, TC_ALERT_PARTS_SHOWN);
        assert_true(chars <= 3000);
    }
}

static void what_follows_from_one_cause_is_one_alert(void **state)
{
    (void)state;
    struct tc_alert alert;
    tc_alert_book_join(book, 0, 1, false);
    take('r', 'r', "open", "warning", T0);
    for (char c = 'A'; c < 'U'; c++) {
        take(c, 'r', "open", "warning", T0 + S);
    }
    assert_int_equal(ask(0, T0 + 3 * S), 1);
    assert_true(tc_alert_book_view(book, 0, &due[0], &alert));
    assert_int_equal(alert.part_count, 21);
    assert_int_equal(alert.shown_count, TC_ALERT_PARTS_SHOWN);
    assert_true(tc_slice_eq(alert.headline, TC_LIT("of r")));
    assert_true(tc_slice_eq(alert.node, TC_LIT("n-r")));
    tc_alert_book_told(book, 0, &due[0], T0 + 3 * S);
    /* It grows: news, after a while, of the same alert. */
    take('x', 'r', "open", "warning", T0 + 10 * S);
    assert_silent(0, T0 + 11 * S);
    assert_int_equal(next_ns, T0 + 63 * S);
    assert_int_equal(tc_alert_book_cursor(book, 0), number);
    assert_tells(0, T0 + 63 * S, 'r', true);
    /* It becomes worse: at once. */
    take('y', 'r', "open", "critical", T0 + 64 * S);
    assert_int_equal(ask(0, T0 + 64 * S), 1);
    assert_true(tc_alert_book_view(book, 0, &due[0], &alert));
    assert_int_equal(alert.severity, TC_SEVERITY_CRITICAL);
    assert_int_equal(alert.told_severity, TC_SEVERITY_WARNING);
    tc_alert_book_told(book, 0, &due[0], T0 + 64 * S);
    /* It is over with its last part. */
    for (char c = 'A'; c < 'U'; c++) {
        take(c, 'r', "resolved", "info", T0 + 70 * S);
    }
    take('x', 'r', "resolved", "info", T0 + 70 * S);
    take('y', 'r', "resolved", "info", T0 + 70 * S);
    take('r', 'r', "resolved", "info", T0 + 71 * S);
    assert_tells(0, T0 + 72 * S, 'r', false);
    assert_int_equal(count_alerts(), 0);
}

static void an_alert_that_turns_out_to_be_part_of_another_ends(void **state)
{
    (void)state;
    struct tc_alert alert;
    tc_alert_book_join(book, 0, 1, false);
    take('b', 0, "open", "warning", T0);
    assert_tells(0, T0 + 5 * S, 'b', true);
    take('c', 0, "open", "warning", T0 + 5 * S); /* not told yet */
    take('a', 'a', "open", "warning", T0 + 6 * S);
    take('b', 'a', "updated", "warning", T0 + 6 * S);
    take('c', 'a', "updated", "warning", T0 + 6 * S);
    assert_int_equal(ask(0, T0 + 9 * S), 2);
    bool has_b = due[0].id[0] == 'b';
    const struct tc_alert_due *end = has_b ? &due[0] : &due[1];
    assert_false(end->is_firing);
    assert_true(tc_alert_book_view(book, 0, end, &alert));
    char id[32];
    assert_true(tc_slice_eq(alert.merged_into, id_of('a', id)));
    assert_true(tc_slice_eq(alert.pattern, TC_LIT("gpu_fault")));
    assert_int_equal(due[has_b].id[0], 'a');
    assert_true(due[has_b].is_firing);
    tc_alert_book_told(book, 0, &due[0], T0 + 9 * S);
    tc_alert_book_told(book, 0, &due[1], T0 + 9 * S);
    assert_int_equal(count_alerts(), 1);
}

static void one_that_nobody_heard_of_is_not_told_as_such(void **state)
{
    (void)state;
    tc_alert_book_join(book, 0, 1, false);
    take('b', 0, "open", "warning", T0); /* the receiver is away */
    take('a', 'a', "open", "warning", T0 + 20 * S);
    take('b', 'a', "updated", "warning", T0 + 20 * S);
    assert_tells(0, T0 + 30 * S, 'a', true);
    assert_silent(0, T0 + 31 * S);
    assert_int_equal(count_alerts(), 1);
}

static void a_story_without_its_root_waits_for_it(void **state)
{
    (void)state;
    tc_alert_book_join(book, 0, 1, false);
    take('b', 'a', "open", "warning", T0);
    assert_silent(0, T0 + 10 * S);
    assert_int_equal(next_ns, T0 + 33 * S);
    assert_tells(0, T0 + 33 * S, 'a', true);
}

static void what_was_short_is_not_told_and_what_the_receiver_missed_is(void **state)
{
    (void)state;
    tc_alert_book_join(book, 0, 1, false);
    take('a', 0, "open", "critical", T0);
    take('a', 0, "resolved", "info", T0 + S);
    assert_silent(0, T0 + 10 * S);
    assert_int_equal(count_alerts(), 0);
    take('b', 0, "open", "critical", T0 + 20 * S); /* the receiver was away all the time */
    take('b', 0, "resolved", "info", T0 + 40 * S);
    assert_tells(0, T0 + 50 * S, 'b', true);
    assert_tells(0, T0 + 50 * S, 'b', false);
    assert_int_equal(count_alerts(), 0);
}

static void severity_and_quiet_hours_are_respected(void **state)
{
    (void)state;
    tc_alert_book_join(book, 0, 1, false);
    tc_alert_book_join(book, 1, 1, false);
    policy.severity = TC_SEVERITY_CRITICAL;
    take('a', 0, "open", "warning", T0);
    assert_silent(0, T0 + 10 * S);
    assert_int_equal(tc_alert_book_cursor(book, 0), 2);
    assert_int_equal(tc_alert_book_cursor(book, 1), 1);
    take('a', 0, "updated", "critical", T0 + 11 * S);
    assert_tells(0, T0 + 12 * S, 'a', true);
    policy.severity = TC_SEVERITY_INFO;
    policy.is_quiet = true;
    assert_tells(1, T0 + 12 * S, 'a', true); /* only `info` waits */
    take('i', 0, "open", "info", T0 + 20 * S);
    take('j', 0, "open", "info", T0 + 20 * S);
    assert_silent(1, T0 + 100 * S);
    assert_int_equal(next_ns, T0 + 160 * S);
    take('j', 0, "resolved", "info", T0 + 101 * S);
    policy.is_quiet = false;
    assert_tells(1, T0 + 200 * S, 'i', true); /* what was over meanwhile is not told */
    assert_silent(1, T0 + 200 * S);
}

static void an_alertmanager_is_reminded(void **state)
{
    (void)state;
    policy.update_ns = 0;
    policy.resend_ns = 60 * S;
    tc_alert_book_join(book, 0, 1, false);
    take('a', 0, "open", "warning", T0);
    assert_tells(0, T0 + 3 * S, 'a', true);
    assert_silent(0, T0 + 62 * S);
    assert_int_equal(next_ns, T0 + 63 * S);
    assert_tells(0, T0 + 63 * S, 'a', true);
    take('a', 0, "updated", "warning", T0 + 64 * S);
    assert_tells(0, T0 + 64 * S, 'a', true);
}

static void what_nothing_is_heard_of_is_forgotten(void **state)
{
    (void)state;
    tc_alert_book_join(book, 0, 1, false);
    take('a', 0, "open", "warning", T0);
    assert_tells(0, T0 + 3 * S, 'a', true);
    assert_silent(0, T0 + 3599 * S);
    assert_tells(0, T0 + 3600 * S, 'a', false);
    assert_int_equal(count_alerts(), 0);
    /* A restart long after does not tell its end once more. */
    take('b', 0, "open", "warning", T0);
    assert_silent(0, T0 + 3 * 3600 * S);
    assert_int_equal(count_alerts(), 0);
}

/* The records again, as a restart reads them, with the cursor that the log has. */
static void a_restart_goes_on_where_it_was(void **state)
{
    (void)state;
    tc_alert_book_join(book, 0, 4, false);
    take('a', 0, "open", "critical", T0);          /* 1: told */
    take('b', 0, "open", "critical", T0);          /* 2: told, and over */
    take('b', 0, "resolved", "info", T0 + 10 * S); /* 3 */
    take('a', 0, "resolved", "info", T0 + 20 * S); /* 4: not told */
    take('c', 0, "open", "critical", T0 + 20 * S); /* 5 */
    assert_int_equal(count_alerts(), 2);
    assert_int_equal(ask(0, T0 + 30 * S), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(due[i].is_firing, due[i].id[0] == 'c');
        tc_alert_book_told(book, 0, &due[i], T0 + 30 * S);
    }
    assert_int_equal(tc_alert_book_cursor(book, 0), 6);
    /* A receiver that is new is told what fires, and nothing of what is over. */
    tc_alert_book_join(book, 1, 0, true);
    assert_tells(1, T0 + 31 * S, 'c', true);
    tc_alert_book_leave(book, 1);
    assert_silent(1, T0 + 10000 * S);
}

static void compaction_keeps_what_a_restart_needs(void **state)
{
    (void)state;
    char id[32];
    tc_alert_book_join(book, 0, 1, false);
    assert_true(tc_alert_book_needs(book, id_of('z', id), 1)); /* not read yet */
    take('a', 0, "open", "critical", T0);
    take('a', 0, "updated", "critical", T0 + S);
    assert_false(tc_alert_book_needs(book, id_of('a', id), 1));
    assert_true(tc_alert_book_needs(book, id_of('a', id), 2));
    take('a', 0, "resolved", "info", T0 + 10 * S);
    assert_true(tc_alert_book_needs(book, id_of('a', id), 2)); /* that it was open, and how bad */
    assert_true(tc_alert_book_needs(book, id_of('a', id), 3));
    assert_false(tc_alert_book_needs(book, id_of('b', id), 3));
    assert_tells(0, T0 + 20 * S, 'a', true);
    assert_tells(0, T0 + 20 * S, 'a', false);
    assert_int_equal(count_alerts(), 0);
    assert_false(tc_alert_book_needs(book, id_of('a', id), 3));
}

static void a_node_is_well_when_nothing_of_it_fires(void **state)
{
    (void)state;
    char id[32];
    tc_alert_book_join(book, 0, 1, false);
    take('a', 0, "open", "warning", T0);
    assert_false(tc_alert_book_node_fires(book, TC_LIT("n-a"), TC_SEVERITY_INFO, id_of('a', id)));
    assert_true(tc_alert_book_node_fires(book, TC_LIT("n-a"), TC_SEVERITY_INFO, id_of('b', id)));
    assert_false(
        tc_alert_book_node_fires(book, TC_LIT("n-a"), TC_SEVERITY_CRITICAL, id_of('b', id)));
    assert_false(tc_alert_book_node_fires(book, TC_LIT("n-b"), TC_SEVERITY_INFO, id_of('b', id)));
    take('a', 0, "resolved", "info", T0);
    assert_false(tc_alert_book_node_fires(book, TC_LIT("n-a"), TC_SEVERITY_INFO, id_of('b', id)));
}

#define GROUPED \
    "{\"incident_id\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"incident_group\":\"short\"}"

static void what_is_no_verdict_is_refused(void **state)
{
    (void)state;
    struct tc_error err = {0};
    static const char *const BAD[] = {"", "[]", "{}", "{\"incident_id\":\"short\"}", GROUPED};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        assert_int_equal(
            tc_alert_book_take(book, parser, number++, T0, tc_slice_cstr(BAD[i]), &err),
            TC_E_MALFORMED);
    }
    take('a', 0, "open", "warning", T0);
    number -= 2; /* numbers grow */
    assert_int_equal(try_take('b', 0, "open", "warning", T0), TC_E_MALFORMED);
    assert_int_equal(tc_alert_book_due(book, 0, &policy, T0, due, 64, &next_ns), 0);
}

static void a_full_book_refuses_and_counts(void **state)
{
    (void)state;
    struct tc_error err = {0};
    char line[128];
    tc_alert_book_join(book, 0, 1, false);
    for (size_t i = 0; i <= TC_ALERT_INCIDENTS_MAX; i++) {
        int len = snprintf(line, sizeof line,
                           "{\"incident_id\":\"%032zx\",\"incident_group\":\"%032x\"}", i, 0U);
        tc_status want = i == TC_ALERT_INCIDENTS_MAX ? TC_E_LIMIT : TC_OK;
        assert_int_equal(
            tc_alert_book_take(book, parser, number++, T0, tc_slice_make(line, (size_t)len), &err),
            want);
    }
    struct tc_alert_book_stats stats;
    tc_alert_book_stats(book, &stats);
    assert_int_equal(stats.alerts, 1);
    assert_int_equal(stats.incidents, TC_ALERT_INCIDENTS_MAX);
    assert_int_equal(stats.refused, 1);
}

/* ---- Alertmanager --------------------------------------------------------------------------- */

static char *payload(const struct tc_alert *alert, const char *labels)
{
    struct tc_grow g = {0};
    struct tc_json_out j = tc_json_out_grow(&g);
    tc_json_add_array(&j);
    tc_alertmanager_add(&j, alert, tc_slice_cstr(labels));
    tc_json_end_array(&j);
    assert_true(tc_json_done(&j));
    char *text = calloc(1, g.buf.len + 1);
    assert_non_null(text);
    memcpy(text, g.buf.data, g.buf.len);
    tc_grow_fini(&g);
    return text;
}

static void an_alertmanager_gets_what_its_api_asks_for(void **state)
{
    (void)state;
    struct tc_alert alert;
    tc_alert_book_join(book, 0, 1, false);
    take('a', 0, "open", "critical", T0);
    assert_int_equal(ask(0, T0 + 3 * S), 1);
    assert_true(tc_alert_book_view(book, 0, &due[0], &alert));
    alert.ends_ns = T0 + 240 * S;
    alert.link = TC_LIT("https://t.example/#/incidents/a");
    char *text = payload(&alert, "cluster=east \"1\"\n");
    assert_string_equal(
        text,
        "[{\"labels\":{\"alertname\":\"TracecoreIncident\",\"story\":"
        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"severity\":\"critical\",\"pattern\":\"gpu_fault\","
        "\"cluster\":\"east \\\"1\\\"\"},\"annotations\":{\"summary\":\"of a\",\"description\":\"1 "
        "incident, 1 open.\\n- critical gpu_fault on n-a: of a\",\"remediation\":\"mend\",\"node\":"
        "\"n-a\"},\"startsAt\":\"2026-03-04T04:53:00Z\",\"endsAt\":\"2026-03-04T04:57:20Z\","
        "\"generatorURL\":\"https://t.example/#/incidents/a\"}]");
    free(text);
    /* More severe than it was told: it ends under the old labels and begins under the new. */
    alert.told_severity = TC_SEVERITY_WARNING;
    text = payload(&alert, "");
    assert_non_null(strstr(text, "\"severity\":\"warning\""));
    assert_non_null(strstr(text, "\"endsAt\":\"2026-03-04T04:53:00Z\",\"generatorURL\""));
    assert_non_null(strstr(text, "},{\"labels\""));
    free(text);
    /* Its end has the labels that it was told with, and is not before its beginning. */
    alert.is_firing = false;
    alert.ends_ns = alert.starts_ns - S;
    text = payload(&alert, "");
    assert_null(strstr(text, "\"severity\":\"critical\""));
    assert_non_null(strstr(text, "\"startsAt\":\"2026-03-04T04:52:59Z\",\"endsAt\":"
                                 "\"2026-03-04T04:52:59Z\""));
    free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_book, drop_book)
    const struct CMUnitTest tests[] = {
        TEST(an_incident_is_told_after_it_settled_and_when_it_ends),
        TEST(what_others_say_fits_a_block_of_slack),
        TEST(what_follows_from_one_cause_is_one_alert),
        TEST(an_alert_that_turns_out_to_be_part_of_another_ends),
        TEST(one_that_nobody_heard_of_is_not_told_as_such),
        TEST(a_story_without_its_root_waits_for_it),
        TEST(what_was_short_is_not_told_and_what_the_receiver_missed_is),
        TEST(severity_and_quiet_hours_are_respected),
        TEST(an_alertmanager_is_reminded),
        TEST(what_nothing_is_heard_of_is_forgotten),
        TEST(a_restart_goes_on_where_it_was),
        TEST(compaction_keeps_what_a_restart_needs),
        TEST(a_node_is_well_when_nothing_of_it_fires),
        TEST(what_is_no_verdict_is_refused),
        TEST(a_full_book_refuses_and_counts),
        TEST(an_alertmanager_gets_what_its_api_asks_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
