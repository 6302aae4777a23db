/* SPDX-License-Identifier: Apache-2.0 */
/* Events and conditions for a Kubernetes API server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alert/kubernetes.h"
#include "alert/template.h"
#include "base/time.h"

#include <string.h>

#define T0 (1772600000 * TC_SECOND + 5)

static char text[8192];

static const char *event(const struct tc_alert *a)
{
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    struct tc_json_out j = tc_json_out_make(&b);
    tc_kubernetes_event(&j, a, T0);
    assert_true(tc_json_done(&j));
    text[b.len] = '\0';
    return text;
}

static const char *condition(const struct tc_alert *a)
{
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    struct tc_json_out j = tc_json_out_make(&b);
    tc_kubernetes_condition(&j, a, "TracecoreIncident", T0);
    assert_true(tc_json_done(&j));
    text[b.len] = '\0';
    return text;
}

static void a_name_that_is_no_nodes_never_becomes_a_path(void **state)
{
    (void)state;
    static const char *const GOOD[] = {"gpu-07", "ip-10-0-0-1.ec2.internal", "0"};
    static const char *const BAD[] = {"",   "GPU", "a/b", "..",   "a?x",
                                      "-a", "a-",  "a b", "a%2f", "a\n"};
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        assert_true(tc_kubernetes_is_node(tc_slice_cstr(GOOD[i])));
    }
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        assert_false(tc_kubernetes_is_node(tc_slice_cstr(BAD[i])));
    }
    char longest[254];
    memset(longest, 'a', sizeof longest);
    assert_true(tc_kubernetes_is_node(tc_slice_make(longest, 253)));
    assert_false(tc_kubernetes_is_node(tc_slice_make(longest, 254)));
    char path[TC_KUBERNETES_PATH_MAX];
    tc_kubernetes_condition_path(path, tc_slice_make(longest, 253));
    assert_non_null(strstr(path, "a/status"));
}

static void an_event_is_named_by_the_story(void **state)
{
    (void)state;
    struct tc_alert a;
    tc_alert_sample(&a, true, T0);
    a.link = TC_EMPTY;
    assert_string_equal(
        event(&a),
        "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":"
        "\"tracecore.7465737400000000000000000000test.firing\",\"namespace\":\"default\"},"
        "\"involvedObject\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"no-node\",\"uid\":"
        "\"no-node\"},\"reason\":\"alert_test\",\"message\":\"This is a test of tracecore's "
        "alerts: nothing is wrong\",\"type\":\"Warning\",\"source\":{\"component\":\"tracecore\"},"
        "\"firstTimestamp\":\"2026-03-04T04:53:20Z\",\"lastTimestamp\":\"2026-03-04T04:53:20Z\","
        "\"count\":1}");
    a.severity = TC_SEVERITY_INFO;
    assert_non_null(strstr(event(&a), "\"type\":\"Normal\""));
    a.is_firing = false;
    a.part_count = 3;
    a.link = TC_LIT("https://t");
    assert_non_null(strstr(event(&a), "test.resolved\""));
    assert_non_null(strstr(text, "nothing is wrong (3 incidents) https://t\""));
    char longest[2000];
    memset(longest, 'x', sizeof longest);
    a.headline = tc_slice_make(longest, 1000);
    a.link = tc_slice_make(longest, 100);
    assert_null(strstr(event(&a), "incidents")); /* 1,024 bytes are all there is room for */
}

static void a_condition_says_what_is_open(void **state)
{
    (void)state;
    struct tc_alert a;
    tc_alert_sample(&a, true, T0);
    assert_non_null(strstr(condition(&a), "{\"status\":{\"conditions\":[{\"type\":"
                                          "\"TracecoreIncident\",\"status\":\"True\",\"reason\":"
                                          "\"alert_test\",\"message\":\"This is a test"));
    a.is_firing = false;
    assert_non_null(strstr(condition(&a), "\"status\":\"False\",\"reason\":\"NoIncident\","));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_is_no_nodes_never_becomes_a_path),
        cmocka_unit_test(an_event_is_named_by_the_story),
        cmocka_unit_test(a_condition_says_what_is_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
