/* SPDX-License-Identifier: Apache-2.0 */
/* Every line here is invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "codec/codec.h"

#include <stdlib.h>
#include <string.h>

#define AT(seconds) ((INT64_C(1772600760) + (seconds)) * TC_SECOND) /* 2026-03-04T05:06:00Z */

static int64_t last_of(const char *codec, struct tc_slice text)
{
    struct tc_codec_input in = {
        .bytes = text, .boot_ns = TC_TIME_NONE, .now_ns = AT(86400), .taken_ns = TC_TIME_NONE};
    return tc_codec_by_name(tc_slice_cstr(codec))->last_time(&in);
}

static void lines_that_are_no_events_have_times(void **state)
{
    (void)state;
    static const struct {
        const char *codec;
        const char *text;
        int64_t seconds;
    } cases[] = {
        {"kmsg", "2026-03-04T05:06:00+00:00 n kernel: a\n2026-03-04T05:26:00+00:00 n cron[1]: b\n",
         1200},
        {"kmsg", "Mar  4 05:06:00 n kernel: a\nMar  4 05:07:00 n kernel: b\n# end\n\n", 60},
        {"kmsg", "[Wed Mar  4 05:06:00 2026] a\n[Wed Mar  4 05:06:07 2026] b", 7},
        {"kmsg",
         "{\"__REALTIME_TIMESTAMP\":\"1772600760000000\",\"MESSAGE\":\"a\"}\n"
         "{\"__REALTIME_TIMESTAMP\":\"1772600769000000\",\"MESSAGE\":\"b\"}\n",
         9},
        {"kmsg",
         "__REALTIME_TIMESTAMP=1772600760000000\nMESSAGE=a\n\n"
         "__REALTIME_TIMESTAMP=1772600764000000\nMESSAGE=b\n\n",
         4},
        {"train_log",
         "[rank0]: 2026-03-04 05:06:00,000 step: 1\n2026-03-04 05:07:30,000 waiting\n  File x\n",
         90},
        {"fabric_manager",
         "[Mar 04 2026 05:06:00] [INFO] [tid 1] a\n[Mar 04 2026 05:06:05] [INFO] [tid 1] b\n", 5},
        {"otlp",
         "{\"resourceLogs\":[{\"timeUnixNano\":\"1772600760000000000\"}]}\n"
         "{\"resourceLogs\":[{\"startTimeUnixNano\":\"1\",\"timeUnixNano\": "
         "1772600761000000000}]}\n",
         1},
        {"otlp",
         "{\"observedTimeUnixNano\":\"1772600760000000000\",\"timeUnixNano\":\"0\"}\n"
         "{\"observedTimeUnixNano\":\"1772600762000000000\"}\n",
         2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(last_of(cases[i].codec, tc_slice_cstr(cases[i].text)),
                         AT(cases[i].seconds));
    }
}

static void one_date_proves_nothing(void **state)
{
    (void)state;
    assert_int_equal(last_of("train_log", TC_LIT("2026-03-04 05:06:00 step 1\n")), TC_TIME_NONE);
    assert_int_equal(last_of("train_log", TC_LIT("")), TC_TIME_NONE);
    assert_int_equal(last_of("kmsg", TC_LIT("[   12.000000] a\n[   13.000000] b\n")), TC_TIME_NONE);
    /* The license expires in 2099: the log does not reach that far. */
    assert_int_equal(last_of("train_log", TC_LIT("2026-03-04 05:06:00 step 1\n"
                                                 "2026-03-04 05:06:10 step 2\n"
                                                 "valid until 2099-01-01 00:00:00\n")),
                     AT(10));
    /* Of two that are out of order the later. */
    assert_int_equal(last_of("train_log", TC_LIT("2026-03-04 05:06:10 b\n2026-03-04 05:06:09 a\n")),
                     AT(10));
}

static void only_the_end_is_looked_at(void **state)
{
    (void)state;
    size_t size = (size_t)1 << 20;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, 'x', size);
    static const char head[] = "2026-03-04 05:06:00 a\n2026-03-04 05:06:01 b\n";
    memcpy(text, head, sizeof head - 1);
    assert_int_equal(last_of("train_log", tc_slice_make(text, size)), TC_TIME_NONE);
    memset(text, '\n', size);
    memcpy(text, head, sizeof head - 1);
    assert_int_equal(last_of("kmsg", tc_slice_make(text, size)), TC_TIME_NONE);
    memcpy(text + size - sizeof head + 1, head, sizeof head - 1);
    assert_int_equal(last_of("train_log", tc_slice_make(text, size)), AT(1));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_are_no_events_have_times),
        cmocka_unit_test(one_date_proves_nothing),
        cmocka_unit_test(only_the_end_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
