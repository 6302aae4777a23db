/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every question that is answered from tables and files, with allocations of ours failing in turn:
 * no crash, no leak, and either a failure or the very answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "answers/openapi.h"
#include "answers/question.h"
#include "support/asking.h"
#include "support/faulty.h"
#include "support/published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the calls of one question some are tried. */
#define POINTS 24

static struct asking a;

static tc_status try_at(const char *question, const char *const *pairs, long fail_at)
{
    *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = fail_at};
    tc_status status = asking_ask(&a, question, pairs);
    tc_faulty_plan->fault = FAULT_NONE;
    return status;
}

static void survives(const char *question, const char *const *pairs)
{
    assert_int_equal(try_at(question, pairs, -1), TC_OK);
    long calls = tc_faulty_plan->calls;
    struct tc_slice body = tc_grow_slice(&a.reply.body);
    char *good = malloc(body.len + 1);
    assert_non_null(good);
    memcpy(good, body.ptr, body.len);
    good[body.len] = '\0';
    size_t len = body.len;
    long step = calls / POINTS + 1;
    /* The first is the test's own. */
    for (long n = 1; n < calls; n += step) {
        tc_status status = try_at(question, pairs, n);
        body = tc_grow_slice(&a.reply.body);
        if (status == TC_OK && !tc_slice_eq(body, tc_slice_make(good, len))) {
            fail_msg("%s: allocation %ld of %ld failed, and the answer is another: %.*s", question,
                     n, calls, TC_FMT(body));
        }
        if (status != TC_OK && a.err.message[0] == '\0') {
            fail_msg("%s: allocation %ld failed without a word", question, n);
        }
    }
    free(good);
}
#define SURVIVES(question, ...) survives((question), (const char *const[]){__VA_ARGS__, NULL})

static int setup(void **state)
{
    if (tc_faulty_init() != 0) {
        return -1;
    }
    *tc_faulty_plan = (struct plan){.fault = FAULT_NONE};
    int result = pb_setup(state);
    struct pb_room *room = *state;
    asking_init(&a, room->w, room->dir);
    return result;
}

static int teardown(void **state)
{
    asking_fini(&a);
    return pb_teardown(state);
}

static void questions_about_runs_survive(void **state)
{
    (void)state;
    SURVIVES("runs", "name", "x", "since", "2h", "limit", "2");
    SURVIVES("run", "run", "r1");
    SURVIVES("points", "run", "r1");
    SURVIVES("slices", "run", "r1", "metric", "sm_clock");
    SURVIVES("trend", "metric", "ttft_p99", "runs", "run_id IN ('r1', 'r2', 'r3')");
    SURVIVES("pivot", "run", "r1", "base", "run_id IN ('r2', 'r3')");
    SURVIVES("pivot", "run", "r1", "base", "run_id IN ('r2', 'r3')", "point", "1");
    SURVIVES("diagnose", "run", "r1", "against", "run_id IN ('r2', 'r3')");
    SURVIVES("report", "runs", "r1", "format", "html");
}

static void questions_about_tables_survive(void **state)
{
    (void)state;
    SURVIVES("sql", "sql", "SELECT run_id, [1, 2] AS list FROM benchmark_run_fact ORDER BY run_id");
    SURVIVES("tables", NULL);
    SURVIVES("verdicts", "q", "x", "node", "n1");
    SURVIVES("node_history", "node", "n1");
    SURVIVES("contracts", NULL);
    SURVIVES("render_run", "name", "mine");
}

static void questions_about_claims_survive(void **state)
{
    struct pb_room *room = *state;
    char id[TC_NUMBER_ID_BYTES];
    char digest[128];
    struct tc_slice text;
    pb_published(room, id);
    SURVIVES("numbers", NULL);
    struct tc_json run = ask_object(&a, "run", "run", "r1");
    assert_true(tc_json_string(asking_at(run, "lineage.raw_uris.0.digest"), &text));
    (void)snprintf(digest, sizeof digest, "%.*s", TC_FMT(text));
    SURVIVES("evidence", "digest", digest);
    SURVIVES("evidence_view", "digest", digest, "at", "3,9");
}

static void schemas_survive(void **state)
{
    (void)state;
    for (long n = 0; n < 24; n++) {
        struct tc_grow g = {0};
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = n};
        struct tc_json_out j = tc_json_out_grow(&g);
        tc_openapi_write(&j);
        bool whole = tc_json_done_line(&j);
        tc_faulty_plan->fault = FAULT_NONE;
        assert_int_equal(whole, !tc_faulty_plan->hit);
        tc_grow_fini(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_about_runs_survive),
        cmocka_unit_test(questions_about_tables_survive),
        cmocka_unit_test(questions_about_claims_survive),
        cmocka_unit_test(schemas_survive),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
