/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alerts with every allocation failing in turn: a template that is read and rendered, and a book
 * that is filled and asked. An error that says so, no crash, no leak; and after it the book goes
 * on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alert/book.h"
#include "alert/template.h"
#include "base/time.h"
#include "support/faulty.h"

#include <stdio.h>
#include <string.h>

#define CALLS_MAX 200

static const char TEMPLATE[] =
    "{\"a\":\"{{#firing}}{{headline}}{{/firing}}\",\"p\":[{{#parts}}\"{{id}}\"{{^last}},{{/last}}"
    "{{/parts}}]}";

/* Fails at the nth allocation; whether there was one. */
static void begin_fault(long at)
{
    *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = at};
}

static bool end_fault(void)
{
    bool hit = tc_faulty_plan->hit;
    tc_faulty_plan->fault = FAULT_NONE;
    return hit;
}

static void a_template_without_memory_says_so(void **state)
{
    (void)state;
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_alert alert;
    tc_alert_sample(&alert, true, 0);
    bool hit = true;
    for (long at = 0; hit && at < CALLS_MAX; at++) {
        struct tc_template *t = NULL;
        struct tc_grow out = {0};
        struct tc_error err = {0};
        begin_fault(at);
        tc_status status = tc_template_read(tc_slice_cstr(TEMPLATE), parser, &t, &err);
        status = status == TC_OK ? tc_template_render(t, &alert, &out) : status;
        hit = end_fault();
        assert_true(status == (hit ? TC_E_NOMEM : TC_OK));
        tc_template_destroy(t);
        tc_grow_fini(&out);
    }
    assert_false(hit);
    tc_json_parser_destroy(parser);
}

static tc_status fill(struct tc_alert_book *b, struct tc_json_parser *parser, uint64_t number)
{
    char line[256];
    struct tc_error err = {0};
    /* Each moves to the story of the next: parts are added, replaced and moved. */
    int len = snprintf(line, sizeof line,
                       "{\"incident_id\":\"%032x\",\"incident_group\":\"%032x\",\"severity\":"
                       "\"critical\",\"status\":\"open\",\"headline\":\"h\"}",
                       (unsigned)number % 5, (unsigned)(number / 5));
    return tc_alert_book_take(b, parser, number, TC_SECOND, tc_slice_make(line, (size_t)len), &err);
}

static void a_book_without_memory_is_as_it_was(void **state)
{
    (void)state;
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_alert_due due[64];
    int64_t next_ns = 0;
    bool hit = true;
    for (long at = 0; hit && at < CALLS_MAX; at++) {
        begin_fault(at);
        struct tc_alert_book *b = tc_alert_book_create();
        bool failed = b == NULL;
        if (b != NULL) {
            tc_alert_book_join(b, 0, 1, false);
        }
        for (uint64_t number = 1; b != NULL && number <= 20; number++) {
            tc_status status = fill(b, parser, number);
            if (status == TC_E_NOMEM) {
                failed = true;
                hit = end_fault();
                status = fill(b, parser, number); /* it comes again */
            }
            assert_int_equal(status, TC_OK);
        }
        hit = end_fault() || failed;
        if (b != NULL) {
            struct tc_alert_policy policy = {0};
            size_t count = tc_alert_book_due(b, 0, &policy, 2000 * TC_SECOND, due, 64, &next_ns);
            assert_int_equal(count, 2); /* 16 to 19, and 20 */
        }
        tc_alert_book_destroy(b);
    }
    assert_false(hit);
    tc_json_parser_destroy(parser);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_template_without_memory_says_so),
        cmocka_unit_test(a_book_without_memory_is_as_it_was),
    };
    return tc_faulty_init() != 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
