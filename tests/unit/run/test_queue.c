/* SPDX-License-Identifier: Apache-2.0 */
/* Queueing delay of a point from a server's histogram: which scrapes count, and what they give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "codec/samples.h"
#include "run/import_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define POINT_S 100
#define START_S 1000

static struct tc__import import;
static struct tc_rows *rows;

static void begin(void)
{
    import = (struct tc__import){.gpu_hour_usd = (double)NAN};
    rows = tc_rows_create(TC_TABLE_SERVING);
    assert_non_null(rows);
    assert_true(tc_rows_add(rows));
    tc_rows_int(rows, TC_SERVING_STARTED, START_S * 1000000LL);
    tc_rows_int(rows, TC_SERVING_ENDED, (START_S + POINT_S) * 1000000LL);
}

static void end(void)
{
    free(import.queue);
    free(import.definitions);
    tc__import_pool_fini(&import.pool);
    tc_rows_destroy(rows);
}

static void sample(const char *name, const char *le, double second, double value)
{
    const struct tc_sample_label labels[] = {{TC_LIT("engine"), TC_LIT("0")},
                                             {TC_LIT("le"), tc_slice_cstr(le)}};
    struct tc_sample s = {.name = tc_slice_cstr(name),
                          .time_ns = (int64_t)(second * TC_SECOND),
                          .start_ns = TC_TIME_NONE,
                          .value = value,
                          .labels = labels,
                          .label_count = le == NULL ? 1 : 2};
    tc__queue_take(&import, &s);
}

/* One scrape: so many requests below 0.1 s, from there to 1 s, and above. */
static void scrape(double second, double low, double middle, double high, double sum)
{
    sample("vllm:request_queue_time_seconds_bucket", "0.1", second, low);
    sample("vllm:request_queue_time_seconds_bucket", "1.0", second, low + middle);
    sample("vllm:request_queue_time_seconds_bucket", "+Inf", second, low + middle + high);
    sample("vllm:request_queue_time_seconds_count", NULL, second, low + middle + high);
    sample("vllm:request_queue_time_seconds_sum", NULL, second, sum);
}

static double filled(size_t column)
{
    struct tc__made made = {.count = 0};
    struct tc_error err;
    tc__queue_sort(&import);
    assert_int_equal(tc__queue_fill(&import, rows, 0, &made, &err), TC_OK);
    return tc_rows_is_null(rows, column, 0) ? -1 : tc_rows_get_real(rows, column, 0);
}

static void what_rose_between_the_nearest_scrapes_counts(void **state)
{
    (void)state;
    begin();
    scrape(900, 5, 0, 0, 1); /* of another point */
    scrape(990, 10, 0, 0, 2);
    scrape(1050, 20, 5, 1, 5);
    scrape(1110, 40, 10, 0 + 2, 10); /* 30, 10 and 2 in 8 s */
    scrape(1200, 100, 100, 100, 500);
    assert_true(fabs(filled(TC_SERVING_QUEUE_MEAN) - 1000 * 8.0 / 42) < 1e-9);
    assert_true(fabs(filled(TC_SERVING_QUEUE_P50) - 1000 * 0.1 * 21 / 30) < 1e-9);
    /* Beyond the last bound it is that bound. */
    assert_true(fabs(filled(TC_SERVING_QUEUE_P99) - 1000) < 1e-9);
    end();
}

/* At least half of the point, at most twice its length: on both sides of both. */
static void scrapes_that_cover_too_little_or_too_much_do_not(void **state)
{
    (void)state;
    static const struct {
        double first;
        double last;
        bool counts;
    } cases[] = {
        {1025, 1075, true},  {1025, 1074, false}, {950, 1150, true},
        {950, 1151, false},  {1000, 1100, true},  {900, 1000, false},
        {1100, 1200, false}, {1050, 1150, true},  {1051, 1151, false},
    };
    for (size_t n = 0; n < TC_COUNT(cases); n++) {
        begin();
        scrape(cases[n].first, 0, 0, 0, 0);
        scrape(cases[n].last, 10, 0, 0, 0.5);
        if ((filled(TC_SERVING_QUEUE_MEAN) >= 0) != cases[n].counts) {
            fail_msg("from %g to %g", cases[n].first, cases[n].last);
        }
        end();
    }
}

static void one_scrape_says_nothing(void **state)
{
    (void)state;
    begin();
    scrape(1050, 10, 0, 0, 1);
    assert_true(filled(TC_SERVING_QUEUE_MEAN) < 0);
    end();
}

static void a_restart_counts_from_zero(void **state)
{
    (void)state;
    begin();
    scrape(1000, 100, 0, 0, 50);
    scrape(1050, 110, 0, 0, 51);
    scrape(1100, 10, 0, 0, 3);
    assert_true(fabs(filled(TC_SERVING_QUEUE_MEAN) - 1000 * 4.0 / 20) < 1e-9);
    end();
}

static void the_tools_own_value_stays(void **state)
{
    (void)state;
    begin();
    tc_rows_real(rows, TC_SERVING_QUEUE_P99, 7);
    scrape(1000, 0, 0, 0, 0);
    scrape(1100, 10, 0, 0, 1);
    assert_true(filled(TC_SERVING_QUEUE_MEAN) < 0);
    end();
}

static void tritons_counters_give_a_mean(void **state)
{
    (void)state;
    begin();
    sample("nv_inference_queue_duration_us", NULL, 1000, 1000);
    sample("nv_inference_request_success", NULL, 1000, 1);
    sample("nv_inference_queue_duration_us", NULL, 1100, 9000);
    sample("nv_inference_request_success", NULL, 1100, 5);
    assert_true(fabs(filled(TC_SERVING_QUEUE_MEAN) - 2) < 1e-9);
    assert_true(filled(TC_SERVING_QUEUE_P50) < 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_rose_between_the_nearest_scrapes_counts),
        cmocka_unit_test(scrapes_that_cover_too_little_or_too_much_do_not),
        cmocka_unit_test(one_scrape_says_nothing),
        cmocka_unit_test(a_restart_counts_from_zero),
        cmocka_unit_test(the_tools_own_value_stays),
        cmocka_unit_test(tritons_counters_give_a_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
