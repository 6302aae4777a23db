/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: the list by pages, one run, and two groups compared. */
#include "support/asking.h"
#include "support/compare_rows.h"
#include "support/warehouse_room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RUNS 12

static struct tc_warehouse *w;
static struct asking a;

static void add_run(size_t n)
{
    char id[32];
    (void)snprintf(id, sizeof id, "run-%02zu", n);
    cr_add_run(w, &(struct cr_run){.id = id,
                                   .name = n % 2 == 0 ? "nightly" : "it's <b>odd</b>",
                                   .group = n < 6 ? "base" : "candidate",
                                   .benchmark_class = n < 6 ? "exploratory" : "realism_grade",
                                   .software = n < 6 ? "570" : "580",
                                   .started_s = (int64_t)n,
                                   /* some at the same time */
                                   .added_s = 100 + (int64_t)(n / 3)});
    cr_add_serving(w, &(struct cr_serving){.run = id,
                                           .point = "1k/1k",
                                           .concurrency = 64,
                                           .ttft_p99 = (n < 6 ? 100 : 160) + (double)n,
                                           .throughput = 1000});
}

static int setup(void **state)
{
    int result = wh_setup(state);
    struct wh_room *room = *state;
    w = wh_open(room, TC_WAREHOUSE_WRITE);
    for (size_t n = 0; n < RUNS; n++) {
        add_run(n);
    }
    asking_init(&a, w, room->dir);
    return result;
}

static int teardown(void **state)
{
    asking_fini(&a);
    tc_warehouse_close(w);
    return wh_teardown(state);
}

static void pages_give_each_run_once(void **state)
{
    (void)state;
    char cursor[4096] = "";
    char ids[RUNS][32] = {{0}};
    size_t count = 0;
    size_t pages = 0;
    for (; pages < RUNS; pages++) {
        struct tc_json page = ask_object(&a, "runs", "limit", "5", "cursor", cursor);
        size_t here = asking_count(page, "runs");
        assert_true(here > 0 && here <= 5);
        for (size_t n = 0; n < here; n++) {
            char path[64];
            (void)snprintf(path, sizeof path, "runs.%zu.run_id", n);
            struct tc_slice id;
            assert_true(tc_json_string(asking_at(page, path), &id));
            (void)snprintf(ids[count++], sizeof ids[0], "%.*s", TC_FMT(id));
        }
        struct tc_slice next = TC_EMPTY;
        if (!tc_json_string(asking_at(page, "next"), &next)) {
            break;
        }
        /* It goes into an address as it is. */
        assert_int_equal(tc_slice_find_byte(next, '+'), TC_NPOS);
        (void)snprintf(cursor, sizeof cursor, "%.*s", TC_FMT(next));
    }
    assert_int_equal(pages, 2);
    assert_int_equal(count, RUNS);
    assert_string_equal(ids[0], "run-09");
    assert_string_equal(ids[RUNS - 1], "run-02");
    for (size_t x = 0; x < RUNS; x++) {
        for (size_t y = x + 1; y < RUNS; y++) {
            assert_string_not_equal(ids[x], ids[y]);
        }
    }
}

static void filters_go_together(void **state)
{
    (void)state;
    struct tc_json page = ask_object(&a, "runs", "name", "it's <b>odd</b>", "class",
                                     "realism_grade", "since", "2025-11-01T12:28:22Z");
    assert_int_equal(asking_count(page, "runs"), 3);
    asking_is(page, "runs.0.run_id", "run-09");
    asking_is(page, "runs.0.points", "1");
    asking_is(page, "next", "null");
    page = ask_object(&a, "runs", "since", "2025-11-01T12:28:23Z");
    assert_int_equal(asking_count(page, "runs"), 3);
    page = ask_object(&a, "runs", "name", "'; DROP TABLE benchmark_run_fact; --");
    assert_int_equal(asking_count(page, "runs"), 0);
    asking_is(page, "next", "null");
}

static void cursors_of_others_are_refused(void **state)
{
    (void)state;
    struct tc_slice next;
    char cursor[4096];
    struct tc_json page = ask_object(&a, "runs", "limit", "5");
    assert_true(tc_json_string(asking_at(page, "next"), &next));
    (void)snprintf(cursor, sizeof cursor, "%.*s", TC_FMT(next));
    /* Of the list's name, and of the key, which only the checksum shows. */
    const size_t places[] = {12, strlen(cursor) - 3};
    for (size_t n = 0; n < TC_COUNT(places); n++) {
        char was = cursor[places[n]];
        cursor[places[n]] = was == 'A' ? 'B' : 'A';
        ask_refused(&a, TC_E_USAGE, "\"cursor\" is none that this list gave", "runs", "cursor",
                    cursor);
        cursor[places[n]] = was;
    }
    assert_int_equal(ask(&a, "runs", "cursor", cursor), TC_OK);
    ask_refused(&a, TC_E_USAGE, "\"cursor\"", "runs", "cursor", "AAAA");
    ask_refused(&a, TC_E_USAGE, "\"cursor\"", "runs", "cursor", "%%%");
    memset(cursor, 'A', sizeof cursor - 1);
    cursor[sizeof cursor - 1] = '\0';
    ask_refused(&a, TC_E_USAGE, "\"cursor\"", "runs", "cursor", cursor);
    ask_refused(&a, TC_E_USAGE, "from 1 to 1000", "runs", "limit", "1001");
    ask_refused(&a, TC_E_USAGE, "one of exploratory", "runs", "class", "<script>");
}

static void one_run_has_all_its_parts(void **state)
{
    (void)state;
    struct tc_json run = ask_object(&a, "run", "run", "run-03");
    asking_is(run, "run.run_id", "run-03");
    asking_is(run, "run.name", "it's <b>odd</b>");
    asking_is(run, "software.driver_version", "570");
    asking_is(run, "hardware", "null");
    asking_is(run, "serving.0.ttft_p99_ms", "103");
    asking_is(run, "publishable", "false");
    ask_refused(&a, TC_E_NOTFOUND, "run-99", "run", "run", "run-99");
    ask_refused(&a, TC_E_NOTFOUND, "", "run", "run", "nightly");
    ask_refused(&a, TC_E_NOTFOUND, "", "run", "run", "../../etc/passwd");
    ask_refused(&a, TC_E_USAGE, "\"run\" is missing", "run", NULL);
    assert_string_equal(a.wrong, "run");
}

static void groups_are_compared(void **state)
{
    (void)state;
    struct tc_json c = ask_object(&a, "compare", "base", "base", "candidate", "candidate");
    asking_is(c, "verdict", "worse");
    asking_is(c, "confidence", "0.95");
    assert_int_equal(asking_count(c, "candidate.runs"), 6);
    c = ask_object(&a, "compare", "base", "base", "candidate", "driver_version = '580'", "metric",
                   "ttft", "point", "concurrency=64", "confidence", "0.9");
    asking_is(c, "confidence", "0.9");
    assert_int_equal(asking_count(c, "series"), 1);
    asking_is(c, "series.0.metric", "ttft_p99_ms");
    ask_refused(&a, TC_E_NOTFOUND, "nothing", "compare", "base", "nothing", "candidate", "base");
    ask_refused(&a, TC_E_USAGE, "", "compare", "base", "base", "candidate",
                "1 = 1); DROP TABLE benchmark_run_fact; --");
    ask_refused(&a, TC_E_USAGE, "", "compare", "base", "base", "candidate",
                "run_id IN (SELECT content FROM read_text('/etc/passwd'))");
    ask_refused(&a, TC_E_NOTFOUND, "", "compare", "base", "base", "candidate", "candidate",
                "metric", "no_such_metric");
    ask_refused(&a, TC_E_USAGE, "\"candidate\" is missing", "compare", "base", "base");
    ask_refused(&a, TC_E_USAGE, "\"confidence\" takes a number from 0.5", "compare", "base", "base",
                "candidate", "candidate", "confidence", "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_give_each_run_once),
        cmocka_unit_test(filters_go_together),
        cmocka_unit_test(cursors_of_others_are_refused),
        cmocka_unit_test(one_run_has_all_its_parts),
        cmocka_unit_test(groups_are_compared),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
