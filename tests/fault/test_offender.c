/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of offenders with every allocation failing in turn: what fails is said, the book stays
 * whole, and the same call succeeds afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "offender/offender.h"
#include "support/faulty.h"

#include <stdio.h>

#define T0 (INT64_C(1772600000) * TC_SECOND)
#define DAY (86400 * TC_SECOND)
#define FAILURES 40 /* the tables grow twice */
#define CALLS_MAX 200

/* Notes a failure a day; how many calls failed. Each is made again until it succeeds. */
static unsigned run(struct tc_offenders *book, struct tc_arena *arena, int64_t *out_count)
{
    unsigned failed = 0;
    char id[TC_INCIDENT_ID_LEN + 1];
    struct tc_finding f = {.pattern_id = TC_LIT("13"), .scope = TC_SCOPE_NONE};
    f.scope.node = TC_LIT("gpu-07");
    f.scope.gpu_uuid = TC_LIT("GPU-1");
    for (unsigned i = 0; i < FAILURES; i++) {
        (void)snprintf(id, sizeof id, "%032x", i);
        f.last_ns = T0 + (int64_t)i * DAY;
        struct tc_verdict v = {.finding = &f,
                               .incident_id = tc_slice_make(id, TC_INCIDENT_ID_LEN),
                               .first_ns = f.last_ns};
        struct tc_offence offence = tc_offence_of(&v);
        struct tc_judgement judged;
        while (tc_offenders_note(book, v.incident_id, f.pattern_id, v.first_ns, false, &offence) !=
               TC_OK) {
            failed++;
        }
        tc_arena_reset(arena);
        while (tc_offenders_judge(book, &v, arena, &judged) != TC_OK) {
            failed++;
        }
        *out_count = judged.recurrence == NULL ? 0 : judged.recurrence->count;
    }
    return failed;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static char block[16384];
    bool hit = true;
    for (long n = 0; hit; n++) {
        struct tc_arena arena;
        int64_t count = 0;
        assert_true(n < CALLS_MAX);
        tc_arena_init(&arena, "test", block, sizeof block);
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .fail_at = n};
        struct tc_offenders *book = tc_offenders_create();
        unsigned failed = book == NULL ? 1 : run(book, &arena, &count);
        hit = tc_faulty_plan->hit;
        tc_faulty_plan->fault = FAULT_NONE;
        assert_int_equal(failed, hit ? 1 : 0);
        assert_true(book == NULL || count == 8);
        tc_offenders_destroy(book);
        tc_arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return tc_faulty_init() != 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
