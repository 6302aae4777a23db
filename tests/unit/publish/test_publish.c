/* SPDX-License-Identifier: Apache-2.0 */
/* What publishing asks, on both sides of each condition; queries; taking back; packets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "publish/compose.h"
#include "publish/numbers.h"
#include "publish/packet.h"
#include "publish/values.h"
#include "support/published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALL "SELECT run_id, ttft_p99_ms AS value FROM serving_outcome_fact"

/* The conditions that are not met, by name, one after another. */
static void unmet(const struct tc_publish_outcome *out, char text[256])
{
    text[0] = '\0';
    for (size_t i = 0; i < out->claim.condition_count; i++) {
        const struct tc_condition *c = &out->claim.conditions[i];
        size_t len = strlen(text);
        if (c->state != TC_CONDITION_MET) {
            (void)snprintf(text + len, 256 - len, "%s%.*s", len > 0 ? " " : "", TC_FMT(c->name));
        }
    }
}

/* Publishes without a reason; these must be named. */
static void expect_unmet(struct pb_room *room, const char *query, const char *names)
{
    struct tc_publish_outcome out;
    struct tc_error err;
    char text[256];
    if (pb_publish(room, query, NULL, &out, &err) != TC_OK) {
        fail_msg("%s", err.message);
    }
    unmet(&out, text);
    assert_string_equal(text, names);
    assert_int_equal(out.is_published, names[0] == '\0');
    assert_int_equal(out.number_id[0] != '\0', names[0] == '\0');
    assert_false(out.is_damaged);
    tc_publish_fini(&out);
}

static void each_condition_is_named_when_it_is_not_met(void **state)
{
    struct pb_room *room = *state;
    /* Without a contract; tests/e2e/publish.test.mjs has the other sides of these two. */
    expect_unmet(room, ALL " WHERE run_id = 'r1'", "contract runs replicates confidence");
    expect_unmet(room, ALL " WHERE run_id <> 'r1'", "contract runs replicates");
    expect_unmet(room, NULL, "contract runs");
    struct tc_numbers numbers;
    struct tc_error err = {0};
    assert_int_equal(tc_numbers_read(room->dir, &numbers, &err), TC_OK);
    assert_int_equal(numbers.count, 0); /* what was refused left nothing */
    tc_numbers_fini(&numbers);
}

/* Tables in which somebody wrote that all is well. */
static void conditions_that_the_files_do_not_give_are_not_taken(void **state)
{
    struct pb_room *room = *state;
    struct tc_publish_outcome out;
    struct tc_error err;
    struct tc_answer set;
    char text[4096];
    assert_int_equal(
        tc_answer_query(room->w, "SELECT conditions FROM benchmark_run_fact WHERE run_id = 'r1'",
                        NULL, 0, &set, &err),
        TC_OK);
    struct tc_slice old = tc_answer_text(&set, 0, 0);
    pb_set_contract(room, "sha256:00", 3, "[{\"condition\":\"contract\",\"state\":\"met\"}]");
    assert_int_equal(pb_publish(room, NULL, NULL, &out, &err), TC_OK);
    assert_true(out.is_damaged);
    assert_false(out.is_published);
    assert_non_null(strstr(out.chain.steps[TC_STEP_NUMBER].what,
                           "says of run r1 what its files do not give: contract"));
    tc_publish_fini(&out);
    pb_set_contract(room, NULL, 0, "[{\"condition\":\"contract\",\"state\":\"met\"}]");
    assert_int_equal(pb_publish(room, NULL, "x", &out, &err), TC_OK);
    assert_true(out.is_damaged);
    tc_publish_fini(&out);
    /* That the tables are stricter is no lie. */
    (void)snprintf(text, sizeof text, "[{\"condition\":\"status\",\"state\":\"not_met\"},%.*s",
                   TC_FMT(tc_slice_from(old, 1)));
    pb_set_contract(room, NULL, 0, text);
    expect_unmet(room, NULL, "contract runs");
    (void)snprintf(text, sizeof text, "%.*s", TC_FMT(old));
    pb_set_contract(room, NULL, 0, text);
    tc_answer_fini(&set);
}

static tc_status other_workload(void *context, struct tc_rows *rows)
{
    tc_rows_seek(rows, 0);
    return tc_rows_text(rows, TC_RUN_SPEC_DIGEST, *(const struct tc_slice *)context);
}

/* A table that says so; that the files say otherwise is found as well. */
static void runs_of_two_workloads_are_no_number(void **state)
{
    struct pb_room *room = *state;
    struct tc_answer set;
    struct tc_error err = {0};
    struct tc_publish_outcome out;
    char text[256];
    assert_int_equal(tc_answer_query(room->w,
                                     "SELECT workload_spec_digest FROM benchmark_run_fact WHERE "
                                     "run_id = 'r2'",
                                     NULL, 0, &set, &err),
                     TC_OK);
    struct tc_slice old = tc_answer_text(&set, 0, 0);
    struct tc_slice other =
        TC_LIT("sha256:0000000000000000000000000000000000000000000000000000000000000000");
    pb_edit(room, TC_TABLE_RUN, TC_RUN_RUN_ID, "r2", other_workload, &other);
    assert_int_equal(pb_publish(room, NULL, "because", &out, &err), TC_OK);
    unmet(&out, text);
    assert_string_equal(text, "contract runs workload recomputed");
    assert_true(out.is_damaged);
    assert_false(out.is_published);
    tc_publish_fini(&out);
    pb_edit(room, TC_TABLE_RUN, TC_RUN_RUN_ID, "r2", other_workload, &old);
    tc_answer_fini(&set);
}

static void a_reason_publishes_with_the_statement(void **state)
{
    struct pb_room *room = *state;
    struct tc_publish_outcome out;
    struct tc_error err;
    assert_int_equal(pb_publish(room, NULL, "a first look", &out, &err), TC_OK);
    assert_true(out.is_published);
    assert_true(tc_slice_eq(
        out.claim.statement,
        TC_LIT("unstable or not representative: a first look; not met: contract, runs")));
    tc_publish_fini(&out);
}

static void damage_is_not_excused(void **state)
{
    struct pb_room *room = *state;
    struct tc_publish_outcome out;
    struct tc_error err = {0};
    struct tc_answer set;
    char text[256];
    assert_int_equal(tc_answer_query(room->w,
                                     "SELECT source_digest FROM serving_outcome_fact WHERE run_id "
                                     "= 'r1'",
                                     NULL, 0, &set, &err),
                     TC_OK);
    pb_flip(room, tc_answer_text(&set, 0, 0));
    assert_int_equal(pb_publish(room, PB_QUERY "  ", "never mind", &out, &err), TC_OK);
    unmet(&out, text);
    assert_string_equal(text, "contract runs evidence recomputed");
    assert_true(out.is_damaged);
    assert_false(out.is_published);
    tc_publish_fini(&out);
    pb_flip(room, tc_answer_text(&set, 0, 0));
    tc_answer_fini(&set);
}

/* ---- queries ---- */

static void expect_refused(struct pb_room *room, const char *query, const char *words)
{
    struct tc_publish_outcome out;
    struct tc_error err;
    assert_int_equal(pb_publish(room, query, "x", &out, &err), TC_E_USAGE);
    if (strstr(err.message, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, words);
    }
    tc_publish_fini(&out);
}

static void a_query_that_gives_no_values_of_runs_is_refused(void **state)
{
    struct pb_room *room = *state;
    expect_refused(room, "SELECT 1", "run_id and value");
    expect_refused(room, "SELECT run_id, tool AS value FROM serving_outcome_fact",
                   "run_id and value");
    expect_refused(room, "SELECT run_id, goodput AS value FROM serving_outcome_fact",
                   "no value for run r1");
    expect_refused(room, ALL " WHERE run_id = 'none'", "nothing to publish");
    expect_refused(room, "SELECT 'ghost' AS run_id, 1 AS value", "no run in benchmark_run_fact");
    expect_refused(room, "DROP TABLE published_number", "");
}

static void values_that_do_not_come_from_the_files_are_not_published(void **state)
{
    struct pb_room *room = *state;
    struct tc_publish_outcome out;
    struct tc_error err;
    /* r3 has no value of its own in it, so that its files are not there when it is made again. */
    assert_int_equal(pb_publish(room,
                                "SELECT run_id, (SELECT max(ttft_p99_ms) FROM "
                                "serving_outcome_fact) AS value FROM serving_outcome_fact WHERE "
                                "run_id <> 'r3'",
                                "x", &out, &err),
                     TC_OK);
    assert_true(out.is_damaged);
    assert_int_equal(out.chain.steps[TC_STEP_NUMBER].state, TC_STEP_BROKEN);
    tc_publish_fini(&out);
}

static void several_rows_of_a_run_are_one_value(void **state)
{
    struct pb_room *room = *state;
    struct tc_values values;
    struct tc_error err = {0};
    assert_int_equal(tc_values_query(room->w,
                                     TC_LIT("SELECT run_id, ttft_p99_ms AS value FROM "
                                            "serving_outcome_fact UNION ALL SELECT run_id, "
                                            "ttft_p99_ms + 10 FROM serving_outcome_fact UNION ALL "
                                            "SELECT 'r2', 1000"),
                                     &values, &err),
                     TC_OK);
    assert_int_equal(values.count, 3);
    assert_true(values.items[0].value == PB_FIRST + 5 && values.items[0].rows == 2);
    assert_true(values.items[1].value == PB_FIRST + 11 && values.items[1].rows == 3);
    tc_values_fini(&values);
}

static void the_query_of_a_group_names_its_runs_point_and_definition(void **state)
{
    struct pb_room *room = *state;
    struct tc_composed c;
    struct tc_error err = {0};
    struct tc_compose_want want = {.group = TC_LIT("night"), .metric = TC_LIT("ttft_p99_ms")};
    if (tc_compose(room->w, &want, &c, &err) != TC_OK) {
        fail_msg("%s", err.message);
    }
    char text[1024];
    (void)snprintf(text, sizeof text, "%.*s", TC_FMT(tc_grow_slice(&c.query)));
    assert_string_equal(
        text, "SELECT run_id, ttft_p99_ms AS value FROM serving_outcome_fact WHERE run_id IN "
              "('r1', 'r2', 'r3') AND workload_point = 'in=5 out=5' AND concurrency = 1 AND "
              "request_rate IS NULL AND definitions LIKE '%\"ttft_p99_ms\":\"vllm:p99_ttft_ms\"%' "
              "AND ttft_p99_ms IS NOT NULL ORDER BY run_id, value");
    tc_compose_fini(&c);
    want.metric = TC_LIT("ttft_p98_ms");
    assert_int_equal(tc_compose(room->w, &want, &c, &err), TC_E_NOTFOUND);
    assert_non_null(strstr(err.message, "did you mean"));
    tc_compose_fini(&c);
    want.metric = TC_LIT("ttft_p99_ms");
    want.group = TC_LIT("nobody");
    assert_int_equal(tc_compose(room->w, &want, &c, &err), TC_E_NOTFOUND);
    tc_compose_fini(&c);
}

/* ---- taking back ---- */

static void what_was_retracted_is_no_number_any_more(void **state)
{
    struct pb_room *room = *state;
    char id[TC_NUMBER_ID_BYTES];
    struct tc_error err = {0};
    struct tc_chain chain;
    int64_t rows = 1;
    pb_published(room, id);
    struct tc_retract_want want = {.data_dir = room->dir,
                                   .w = room->w,
                                   .number_id = tc_slice_cstr(id),
                                   .reason = TC_LIT("wrong image"),
                                   .by = TC_LIT("tester"),
                                   .now_ns = INT64_C(1771000001000000000)};
    assert_int_equal(tc_publish_retract(&want, &err), TC_OK);
    struct tc_bind bind = {.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(id)};
    assert_int_equal(tc_warehouse_int(room->w,
                                      "SELECT count(*) FROM published_number WHERE number_id = ?",
                                      &bind, 1, -1, &rows, &err),
                     TC_OK);
    assert_int_equal(rows, 0);
    assert_int_equal(pb_broken(room, id, NULL, &chain), TC_STEP_AUDIT);
    assert_string_equal(chain.steps[TC_STEP_AUDIT].what,
                        "it was retracted at 2026-02-13T16:26:41 UTC: wrong image");
    assert_int_equal(tc_publish_retract(&want, &err), TC_OK); /* once is enough */
    want.number_id = TC_LIT("num-0000000000000000");
    assert_int_equal(tc_publish_retract(&want, &err), TC_E_NOTFOUND);
    want.reason = TC_EMPTY;
    assert_int_equal(tc_publish_retract(&want, &err), TC_E_USAGE);
    pb_published(room, id); /* it may be claimed anew */
    assert_int_equal(pb_broken(room, id, NULL, NULL), TC_STEP_COUNT);
}

/* ---- statistics ---- */

static void two_modes_are_told_and_one_is_not(void **state)
{
    (void)state;
    static const double one[] = {100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111};
    static const double two[] = {100, 101, 102, 101, 100, 102, 201, 200, 202, 201, 202, 200};
    struct tc_statistic s;
    struct tc_error err = {0};
    bool outliers[12];
    assert_int_equal(tc_statistic_make(one, 12, 0.95, &s, outliers, &err), TC_OK);
    assert_false(s.is_multimodal);
    assert_true(s.value == 105.5 && s.low == 102 && s.high == 109 && s.level > 0.95);
    assert_false(outliers[0]);
    assert_int_equal(tc_statistic_make(two, 12, 0.95, &s, NULL, &err), TC_OK);
    assert_true(s.is_multimodal);
    assert_int_equal(tc_statistic_make(two, 7, 0.95, &s, NULL, &err), TC_OK);
    assert_false(s.is_multimodal); /* too few to tell */
    assert_int_equal(tc_statistic_make(one, 1, 0.95, &s, NULL, &err), TC_OK);
    assert_true(s.value == 100 && isnan(s.low) && isnan(s.level) && isnan(s.spread));
    assert_true(tc_values_are_same(1, 1 + 5e-10));
    assert_false(tc_values_are_same(1, 1 + 5e-9));
}

static void a_number_of_two_modes_is_refused(void **state)
{
    struct pb_room *room = *state;
    struct tc_publish_outcome out;
    struct tc_error err;
    char text[256];
    for (int i = 0; i < 5; i++) {
        pb_add_run(room, 9000 + i);
    }
    /* Three against five: the dip test tells them apart from eight values on. */
    assert_int_equal(pb_publish(room, ALL, NULL, &out, &err), TC_OK);
    unmet(&out, text);
    assert_string_equal(text, "contract runs distribution");
    assert_false(out.is_published || out.is_damaged);
    tc_publish_fini(&out);
    expect_unmet(room, ALL " WHERE ttft_p99_ms >= 9000", "contract runs");
}

/* ---- packets ---- */

static enum tc_step check_packet(const char *dir, struct tc_chain *out)
{
    struct tc_chain chain;
    struct tc_claim claim;
    struct tc_error err = {0};
    char id[TC_NUMBER_ID_BYTES];
    if (tc_packet_check(dir, NULL, id, &chain, &claim, &err) != TC_OK) {
        fail_msg("%s", err.message);
    }
    tc_claim_fini(&claim);
    if (out != NULL) {
        *out = chain;
    }
    return tc_chain_broken(&chain);
}

/* Another byte for one in a file of the packet; puts it back when it was tried. */
static void try_byte(struct pb_room *room, const char *name, const char *at_text, char to,
                     enum tc_step step)
{
    size_t len = 0;
    char dir[256];
    char *text = pb_slurp(room, name, &len);
    char *at = at_text == NULL ? text + len / 2 : memmem(text, len, at_text, strlen(at_text));
    assert_non_null(at);
    char old = *at;
    *at = to;
    pb_write(room, name, text, len);
    (void)snprintf(dir, sizeof dir, "%s/packet", room->dir);
    struct tc_chain chain;
    enum tc_step broken = check_packet(dir, &chain);
    if (broken != step) {
        fail_msg("%s: broken at %s: %s", name,
                 broken == TC_STEP_COUNT ? "nothing" : tc_step_name(broken, true),
                 broken == TC_STEP_COUNT ? "" : chain.steps[broken].what);
    }
    *at = old;
    pb_write(room, name, text, len);
    free(text);
}

static void write_packet(struct pb_room *room, const char *id, const char *dir)
{
    struct tc_numbers numbers;
    struct tc_claim claim;
    struct tc_source source;
    struct tc_error err = {0};
    uint64_t files = 0;
    uint64_t bytes = 0;
    assert_int_equal(tc_numbers_read(room->dir, &numbers, &err), TC_OK);
    const struct tc_number *number = tc_numbers_find(&numbers, tc_slice_cstr(id));
    assert_int_equal(tc_claim_read(number->claim, &claim, &err), TC_OK);
    assert_int_equal(tc_source_stored(room->dir, room->files, room->w, &claim, &source, &err),
                     TC_OK);
    if (tc_packet_write(dir, number, &claim, &source, &files, &bytes, &err) != TC_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(files, 6); /* three manifests, three results */
    assert_int_equal(tc_packet_write(dir, number, &claim, &source, &files, &bytes, &err),
                     TC_E_USAGE);
    tc_source_fini(&source);
    tc_claim_fini(&claim);
    tc_numbers_fini(&numbers);
}

static void a_packet_is_checked_without_the_tables(void **state)
{
    struct pb_room *room = *state;
    char id[TC_NUMBER_ID_BYTES];
    char dir[256];
    char name[256];
    struct tc_error err = {0};
    struct tc_chain chain;
    struct tc_claim claim;
    struct tc_answer set;
    pb_published(room, id);
    (void)snprintf(dir, sizeof dir, "%s/packet", room->dir);
    write_packet(room, id, dir);
    assert_int_equal(check_packet(dir, &chain), TC_STEP_COUNT);
    assert_int_equal(chain.steps[TC_STEP_NUMBER].state, TC_STEP_HOLDS);
    assert_int_equal(chain.steps[TC_STEP_TABLES].state, TC_STEP_UNCHECKED);
    assert_int_equal(tc_answer_query(room->w,
                                     "SELECT s.source_digest, s.artifact_manifest_digest FROM "
                                     "serving_outcome_fact s WHERE s.run_id = 'r1'",
                                     NULL, 0, &set, &err),
                     TC_OK);
    (void)snprintf(name, sizeof name, "packet/files/%.64s", tc_answer_text(&set, 0, 0).ptr + 7);
    try_byte(room, name, NULL, '9', TC_STEP_FILES);
    (void)snprintf(name, sizeof name, "packet/files/%.64s", tc_answer_text(&set, 0, 1).ptr + 7);
    try_byte(room, name, NULL, '9', TC_STEP_MANIFESTS);
    try_byte(room, "packet/packet.json", "a row", 'b', TC_STEP_AUDIT);
    try_byte(room, "packet/packet.json", "SELECT", 's', TC_STEP_AUDIT);
    try_byte(room, "packet/packet.json", "night", 'l', TC_STEP_RUNS);
    assert_int_equal(check_packet(dir, NULL), TC_STEP_COUNT);
    assert_int_equal(tc_packet_check(room->from, NULL, id, &chain, &claim, &err), TC_E_NOTFOUND);
    tc_claim_fini(&claim);
    tc_answer_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_modes_are_told_and_one_is_not),
        cmocka_unit_test(each_condition_is_named_when_it_is_not_met),
        cmocka_unit_test(conditions_that_the_files_do_not_give_are_not_taken),
        cmocka_unit_test(runs_of_two_workloads_are_no_number),
        cmocka_unit_test(a_reason_publishes_with_the_statement),
        cmocka_unit_test(damage_is_not_excused),
        cmocka_unit_test(a_query_that_gives_no_values_of_runs_is_refused),
        cmocka_unit_test(values_that_do_not_come_from_the_files_are_not_published),
        cmocka_unit_test(several_rows_of_a_run_are_one_value),
        cmocka_unit_test(the_query_of_a_group_names_its_runs_point_and_definition),
        cmocka_unit_test(what_was_retracted_is_no_number_any_more),
        cmocka_unit_test(a_packet_is_checked_without_the_tables),
        cmocka_unit_test(a_number_of_two_modes_is_refused),
    };
    return cmocka_run_group_tests(tests, pb_setup, pb_teardown);
}
