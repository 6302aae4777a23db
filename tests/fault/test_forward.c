/* SPDX-License-Identifier: Apache-2.0 */
/* Forwarding with every allocation and every write of ours failing in turn: it does not start
 * halfway, leaks nothing, and leaves how far it was as it was or as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "config/config.h"
#include "evidence/store.h"
#include "server/committer.h"
#include "server/forward/forward.h"
#include "server/forward/place.h"
#include "server/ingest/forwarded.h"
#include "server/sources/positions.h"
#include "support/faulty.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALLS_MAX 200

static char dir[64];
static char evidence[80];
static struct tc_error err;

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/tc_forward_XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(evidence, sizeof evidence, "%s/evidence", dir);
    return mkdir(evidence, 0700);
}

static int teardown(void **state)
{
    char command[128];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -r '%s'", dir);
    return system(command); /* NOLINT(cert-env33-c): a directory of our own */
}

static void starts_whole_or_not_at_all(void **state)
{
    (void)state;
    static struct tc_config config;
    struct tc_store_config store_config = {.segment_bytes = 1 << 20, .segment_ns = TC_SECOND};
    struct tc_store *store = NULL;
    struct tc_committer *committer = NULL;
    struct event_base *base = event_base_new();
    (void)snprintf(config.forward_endpoints, sizeof config.forward_endpoints,
                   "http://127.0.0.1:1\nhttp://127.0.0.1:2\n");
    config.forward_timeout = TC_SECOND;
    assert_int_equal(tc_store_open(evidence, &store_config, NULL, NULL, &store, &err), TC_OK);
    assert_int_equal(tc_committer_create(store, base, &committer, &err), TC_OK);
    struct tc_forward_parts parts = {&config, store, committer, dir, evidence};
    for (int fault = FAULT_ALLOC; fault <= FAULT_WRITE; fault++) {
        long at = 0;
        for (bool hit = true; hit && at < CALLS_MAX; at++) {
            struct tc_forward *f = NULL;
            *tc_faulty_plan =
                (struct plan){.fault = (enum fault)fault, .write_fd = -1, .fail_at = at};
            tc_status status = tc_forward_create(&parts, &f, &err);
            hit = tc_faulty_plan->hit;
            *tc_faulty_plan = (struct plan){0};
            assert_true(hit ? status != TC_OK : status == TC_OK);
            tc_forward_destroy(f);
        }
        assert_true(at > 1 && at < CALLS_MAX);
    }
    tc_committer_destroy(committer);
    tc_store_close(store);
    event_base_free(base);
}

static void the_place_is_old_or_new(void **state)
{
    (void)state;
    struct tc_forward_place before = {.count = 1, .endpoints = {{"http://a", 1}}};
    struct tc_forward_place after = {.count = 1, .endpoints = {{"http://a", 2}}};
    struct tc_forward_place there;
    assert_int_equal(tc_forward_place_renew(&before, &err), TC_OK);
    memcpy(after.agent, before.agent, sizeof before.agent);
    assert_int_equal(tc_forward_place_write(dir, &before, &err), TC_OK);
    *tc_faulty_plan = (struct plan){.fault = FAULT_WRITE, .write_fd = -1, .fail_at = 0};
    assert_int_equal(tc_forward_place_write(dir, &after, &err), TC_E_IO);
    *tc_faulty_plan = (struct plan){0};
    assert_int_equal(tc_forward_place_read(dir, &there, &err), TC_OK);
    assert_int_equal(there.endpoints[0].position, 1);
    assert_int_equal(tc_forward_place_write(dir, &after, &err), TC_OK);
    assert_int_equal(tc_forward_place_read(dir, &there, &err), TC_OK);
    assert_int_equal(there.endpoints[0].position, 2);
}

/* A position that there is no memory for is known for as long as the process lives. */
static void agents_without_memory(void **state)
{
    (void)state;
    struct tc_positions *positions = tc_positions_create(dir);
    *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = 0};
    assert_null(tc_forwarded_create(positions));
    *tc_faulty_plan = (struct plan){0};
    struct tc_forwarded *f = tc_forwarded_create(positions);
    struct tc_forwarded_batch b = {.agent = {1, 2}, .number = 3, .taken_ns = 1};
    uint64_t last = 0;
    assert_int_equal(tc_forwarded_claim(f, &b, &last), TC_FORWARDED_NEW);
    *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = 0};
    tc_forwarded_end(f, &b, true);
    assert_true(tc_faulty_plan->hit);
    *tc_faulty_plan = (struct plan){0};
    assert_int_equal(tc_forwarded_claim(f, &b, &last), TC_FORWARDED_KNOWN);
    assert_int_equal(last, 3);
    tc_forwarded_destroy(f);
    tc_positions_destroy(positions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(starts_whole_or_not_at_all, setup, teardown),
        cmocka_unit_test_setup_teardown(the_place_is_old_or_new, setup, teardown),
        cmocka_unit_test_setup_teardown(agents_without_memory, setup, teardown),
    };
    return tc_faulty_init() != 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
