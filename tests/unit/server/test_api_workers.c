/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/api/workers.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static struct event_base *base;
static struct tc_warehouse_hub *no_hub;
static struct tc_api_workers *workers;

/* A job that ends when the test says so. */
struct probe {
    struct tc_api_job job;
    atomic_bool may_end;
    atomic_bool runs;
    bool was_run;
    bool is_done;
    tc_status status;
    struct tc_error err;
};

static void run_probe(struct tc_api_job *job, struct tc_api_worker *w)
{
    struct probe *p = (struct probe *)(void *)job;
    struct tc_warehouse *none = NULL;
    p->status = tc_api_worker_warehouse(w, &none, &p->err);
    atomic_store(&p->runs, true);
    while (!atomic_load(&p->may_end)) {
        (void)usleep(1000);
    }
}

static void done_probe(struct tc_api_job *job, bool was_run)
{
    struct probe *p = (struct probe *)(void *)job;
    p->is_done = true;
    p->was_run = was_run;
}

static struct probe make_probe(bool may_end)
{
    struct probe p = {.job = {.run = run_probe, .done = done_probe}};
    atomic_init(&p.may_end, may_end);
    return p;
}

static int setup(void **state)
{
    (void)state;
    struct tc_error err = {0};
    base = event_base_new();
    struct tc_api_workers_config config = {.base = base, .count = 1, .hub = &no_hub};
    assert_int_equal(tc_api_workers_create(&config, &workers, &err), TC_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_true(tc_api_workers_stop(workers, 10 * TC_SECOND));
    event_base_free(base);
    return 0;
}

static void wait_done(const struct probe *p)
{
    while (!p->is_done) {
        (void)event_base_loop(base, EVLOOP_ONCE);
    }
}

static void wait_runs(struct probe *p)
{
    while (!atomic_load(&p->runs)) {
        (void)usleep(1000);
    }
}

static void what_is_done_comes_back_to_the_loop(void **state)
{
    (void)state;
    struct probe p = make_probe(true);
    assert_true(tc_api_workers_put(workers, &p.job, 1));
    wait_done(&p);
    assert_true(p.was_run);
    assert_int_equal(p.status, TC_E_UNSUPPORTED);
    assert_non_null(strstr(p.err.message, "warehouse.enabled"));
}

static void a_full_queue_takes_no_more(void **state)
{
    (void)state;
    struct probe first = make_probe(false);
    struct probe second = make_probe(true);
    struct probe third = make_probe(true);
    assert_true(tc_api_workers_put(workers, &first.job, 1));
    wait_runs(&first);
    assert_true(tc_api_workers_put(workers, &second.job, 1));
    assert_false(tc_api_workers_put(workers, &third.job, 1));
    assert_true(tc_api_workers_put(workers, &third.job, 2));
    atomic_store(&first.may_end, true);
    wait_done(&first);
    wait_done(&second);
    wait_done(&third);
}

static void what_nobody_waits_for_is_not_run(void **state)
{
    (void)state;
    struct probe first = make_probe(false);
    struct probe second = make_probe(true);
    assert_true(tc_api_workers_put(workers, &first.job, 8));
    wait_runs(&first);
    assert_true(tc_api_workers_put(workers, &second.job, 8));
    tc_api_workers_cancel(workers, &second.job);
    atomic_store(&first.may_end, true);
    wait_done(&first);
    wait_done(&second);
    assert_false(atomic_load(&second.runs));
}

static void the_end_answers_what_waits(void **state)
{
    (void)state;
    static struct probe first; /* it ends in the teardown */
    struct probe second = make_probe(true);
    first = make_probe(false);
    assert_true(tc_api_workers_put(workers, &first.job, 8));
    wait_runs(&first);
    assert_true(tc_api_workers_put(workers, &second.job, 8));
    assert_false(tc_api_workers_stop(workers, TC_SECOND / 10)); /* one does not end */
    assert_true(second.is_done);
    assert_false(second.was_run);
    assert_false(first.is_done);
    struct probe third = make_probe(true);
    assert_false(tc_api_workers_put(workers, &third.job, 8));
    atomic_store(&first.may_end, true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_done_comes_back_to_the_loop),
        TEST(a_full_queue_takes_no_more),
        TEST(what_nobody_waits_for_is_not_run),
        TEST(the_end_answers_what_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
