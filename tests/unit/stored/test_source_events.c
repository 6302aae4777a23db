/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/format.h"
#include "base/time.h"
#include "stored/batch_events.h"
#include "stored/batch_name.h"

#include <string.h>

#define XID "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"

static struct tc_batch_arenas arenas;
static struct tc_error err;
static char text[1024];
static struct tc_buf seen;

static int setup(void **state)
{
    (void)state;
    return tc_batch_arenas_init(&arenas, &err) == TC_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    tc_batch_arenas_fini(&arenas);
    return 0;
}

static tc_status take(void *context, const struct tc_event *ev)
{
    (void)context;
    (void)tc_format(&seen, "{} {} {} {};", (int64_t)ev->kind, ev->scope.node,
                    tc_as_time(ev->time_ns), (uint64_t)ev->raw.source);
    return TC_OK;
}

static tc_status read_batch(const char *name, const char *body)
{
    struct tc_batch batch = {.number = 5,
                             .arrival_ns = 1763424000 * TC_SECOND,
                             .kind = TC_BATCH_SOURCE,
                             .name = tc_slice_cstr(name),
                             .body = tc_slice_cstr(body)};
    struct tc_batch_taker taker = {.event = take};
    seen = tc_buf_make(text, sizeof text - 1);
    memset(text, 0, sizeof text);
    assert_false(tc_batch_is_file(&batch)); /* it is about now */
    return tc_batch_events(NULL, &batch, NULL, &arenas, &taker, &err);
}

static void a_recognised_log_has_events(void **state)
{
    (void)state;
    assert_int_equal(read_batch("/var/log/syslog\nnode=gpu-07\ntz=+02:00\nsource=files\nstream=1\n"
                                "position=2\nsender=source:files",
                                "2025-11-18T02:00:00 gpu-09 kernel: " XID),
                     TC_OK);
    assert_non_null(strstr(text, " gpu-09 2025-11-18T00:00:00Z 5;"));
}

static void hints_tell_what_lines_do_not(void **state)
{
    (void)state;
    assert_int_equal(
        read_batch("/dev/kmsg\nformat=kmsg\nnode=gpu-07\nboot_time=2025-11-18T00:00:00Z"
                   "\nsource=kmsg\nsender=source:kmsg",
                   "3,17,60000000,-;" XID),
        TC_OK);
    assert_non_null(strstr(text, " gpu-07 2025-11-18T00:01:00Z 5;"));
}

/* What another daemon forwarded is dated by when that one read it. */
static void what_was_forwarded_has_its_time(void **state)
{
    (void)state;
    static const char FORWARDED[] = "/a\nnode=gpu-07\ntaken=2025-11-17T01:02:03.000000004Z"
                                    "\nsource=forward\nstream=1\nposition=2\nsender=a@1.2.3.4";
    assert_int_equal(read_batch(FORWARDED, XID), TC_OK);
    assert_non_null(strstr(text, " gpu-07 2025-11-17T01:02:03.000000004Z 5;"));
    assert_int_equal(read_batch(FORWARDED, "2025-11-18T02:00:00Z gpu-09 kernel: " XID), TC_OK);
    assert_non_null(strstr(text, " gpu-09 2025-11-18T02:00:00Z 5;"));
    struct tc_batch batch = {.arrival_ns = 7, .name = TC_LIT("/a\ntaken=noon\nsender=s")};
    assert_int_equal(tc_batch_taken(&batch), 7);
    batch.name = TC_LIT("/a\nsender=s");
    assert_int_equal(tc_batch_taken(&batch), 7);
    batch.name = TC_LIT("\ntaken=1970-01-01T00:00:01Z");
    assert_int_equal(tc_batch_taken(&batch), TC_SECOND);
}

static void what_nobody_reads_has_none(void **state)
{
    (void)state;
    assert_int_equal(read_batch("/a\nsource=files\nsender=s", "nothing of interest\n"), TC_OK);
    assert_string_equal(text, "");
    assert_int_equal(read_batch("/a\nformat=nosuch\nsource=files\nsender=s", XID), TC_OK);
    assert_string_equal(text, "");
    assert_int_equal(read_batch("/a\nsource=files\nsender=s", ""), TC_OK);
}

static void wrong_names_are_refused(void **state)
{
    (void)state;
    assert_int_equal(read_batch("/a\nfrmat=kmsg", XID), TC_E_USAGE);
    assert_int_equal(read_batch("/a\ntz=noon", XID), TC_E_USAGE);
    assert_int_equal(read_batch("/a\nboot_time=noon", XID), TC_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recognised_log_has_events),
        cmocka_unit_test(hints_tell_what_lines_do_not),
        cmocka_unit_test(what_was_forwarded_has_its_time),
        cmocka_unit_test(what_nobody_reads_has_none),
        cmocka_unit_test(wrong_names_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
