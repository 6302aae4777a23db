/* SPDX-License-Identifier: Apache-2.0 */
/* alerts.*: the list of receivers, and what is wrong with one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "unit/config/config_testing.h"

#include <stdio.h>

#define HEAD "alerts:\n  outputs:\n"

static void receivers_are_read(void **state)
{
    (void)state;
    static struct tc_alert_settings settings;
    assert_right(
        "alerts:\n"
        "  link: https://t.example\n"
        "  settle: 7s\n"
        "  quiet: {hours: \"Mon-Fri 20:00-07:00\", time_zone: Europe/Berlin}\n"
        "  outputs:\n"
        "    - {name: am-0, type: alertmanager, url: \"http://am:9093\", labels: {cluster: "
        "east, zone: \"a b\"}}\n"
        "    - name: slack\n"
        "      type: webhook\n"
        "      url_file: /run/slack\n"
        "      template: /etc/slack.json\n"
        "      severity: critical\n"
        "      headers: {X-Team: gpu, X-Two: \"2\"}\n"
        "      token_file: /run/token\n"
        "      ca_file: /a\n"
        "      cert_file: /b\n"
        "      key_file: /c\n");
    tc_config_alerts(&config, &settings);
    assert_int_equal(settings.output_count, 2);
    assert_int_equal(settings.settle_ns, 7 * TC_SECOND);
    assert_string_equal(settings.link, "https://t.example");
    assert_string_equal(settings.quiet_hours, "Mon-Fri 20:00-07:00");
    assert_string_equal(settings.quiet_time_zone, "Europe/Berlin");
    const struct tc_alert_output *am = &settings.outputs[0];
    assert_int_equal(am->type, TC_ALERT_ALERTMANAGER);
    assert_string_equal(am->url, "http://am:9093");
    assert_string_equal(am->labels, "cluster=east\nzone=a b\n");
    assert_int_equal(am->severity, TC_SEVERITY_INFO);
    const struct tc_alert_output *slack = &settings.outputs[1];
    assert_int_equal(slack->type, TC_ALERT_WEBHOOK);
    assert_string_equal(slack->url_file, "/run/slack");
    assert_string_equal(slack->template_file, "/etc/slack.json");
    assert_int_equal(slack->severity, TC_SEVERITY_CRITICAL);
    assert_string_equal(slack->headers, "X-Team: gpu\r\nX-Two: 2\r\n");
    assert_string_equal(slack->key_file, "/c");
    static char all[TC_CONFIG_PRINT_MAX];
    struct tc_buf b = tc_buf_make(all, sizeof all - 1);
    tc_config_print_effective(&config, false, &b);
    all[b.len] = '\0';
    assert_non_null(
        strstr(all, "alerts.outputs: [\"am-0 (alertmanager)\", \"slack (webhook)\"]  # file\n"));
    assert_right(HEAD "    - {name: k, type: kubernetes, condition: TracecoreIncident}\n");
    assert_string_equal(config.alerts_outputs[0].condition, "TracecoreIncident");
    assert_right("alerts: {outputs: []}\n");
    assert_int_equal(config.alerts_output_count, 0);
    assert_right("alerts: {outputs: }\n");
}

static void mistakes_are_told_with_their_place(void **state)
{
    (void)state;
    assert_wrong(HEAD "    - {type: webhook}\n",
                 "t.yaml:3:7: alerts.outputs[0]: name is missing\n");
    assert_wrong(HEAD "    - {name: a, url: \"http://h\"}\n",
                 "t.yaml:3:7: alerts.outputs[0]: type is missing\n");
    assert_wrong(HEAD "    - {name: a, type: alertmanager}\n",
                 "t.yaml:3:7: alerts.outputs[0]: needs url or url_file, one of them\n");
    assert_wrong(HEAD "    - {name: a, type: webhook, url: \"http://h\"}\n",
                 "t.yaml:3:7: alerts.outputs[0]: a webhook needs a template\n");
    assert_wrong(HEAD "    - {name: a, type: alertmanager, url: \"http://h\", template: x}\n",
                 "t.yaml:3:7: alerts.outputs[0]: template is for webhooks\n");
    assert_wrong(HEAD "    - {name: a, type: webhook, url: \"http://h\", template: x, "
                      "labels: {a: b}}\n",
                 "t.yaml:3:7: alerts.outputs[0]: labels are for alertmanagers\n");
    assert_wrong(HEAD "    - {name: a, type: alertmanager, url: \"http://h\", key_file: x}\n",
                 "t.yaml:3:7: alerts.outputs[0]: cert_file and key_file come together\n");
    assert_wrong(
        HEAD "    - {name: a b, type: pager, url: ftp://h, severity: bad}\n",
        "t.yaml:3:14: alerts.outputs[0]: name: \"a b\" is made of letters, digits, _, - "
        "and .\n"
        "t.yaml:3:25: alerts.outputs[0]: \"pager\" is none of alertmanager, webhook, kubernetes\n"
        "t.yaml:3:37: alerts.outputs[0]: url: \"ftp://h\" is no http:// or https:// "
        "address\n"
        "t.yaml:3:56: alerts.outputs[0]: \"bad\" is none of info, warning, critical\n");
    assert_wrong(HEAD "    - {name: a, type: alertmanager, url: \"http://h\", labels: {1a: b, "
                      "story: x, ok: y}}\n",
                 "t.yaml:3:67: alerts.outputs[0]: labels: \"1a\" cannot be the name of a label, or "
                 "is one already\n"
                 "t.yaml:3:77: alerts.outputs[0]: labels: \"story\" cannot be the name of a label, "
                 "or is one already\n");
    assert_wrong(HEAD "    - {name: a, type: alertmanager, url: \"http://h\", condition: C}\n",
                 "t.yaml:3:7: alerts.outputs[0]: condition is for kubernetes\n");
    assert_wrong(HEAD "    - {name: a, name: b, type: alertmanager, url: \"http://h\"}\n",
                 "t.yaml:3:17: alerts.outputs[0]: name is there twice\n");
    assert_wrong(HEAD "    - {name: a, type: alertmanager, url: \"http://h\"}\n"
                      "    - {name: a, type: alertmanager, url: \"http://h\"}\n",
                 "t.yaml:4:7: alerts.outputs[1]: another receiver has the name a\n");
    assert_wrong(HEAD "    - {name: [], type: alertmanager, url: \"http://h\", headers: x}\n",
                 "t.yaml:3:14: alerts.outputs[0]: name is text\n"
                 "t.yaml:3:64: alerts.outputs[0]: headers is a map of names and values\n");
    assert_wrong("alerts: {outputs: {a: b}}\n",
                 "t.yaml:1:19: alerts.outputs: is a list of receivers: each begins with \"- \"\n");
    assert_wrong("alerts: {outputs: x}\n",
                 "t.yaml:1:19: alerts.outputs: is a list of receivers, not one value\n");
    assert_wrong("alerts: {outputs: [x]}\n",
                 "t.yaml:1:20: alerts.outputs: is a list of receivers: {name: ..., type: ..., url: "
                 "...}\n");
    assert_wrong("alerts: {quiet: {hours: late}}\n",
                 "t.yaml:1:25: alerts.quiet.hours: \"late\" is no window; write 22:00-06:00, or "
                 "Mon-Fri 22:00-06:00, with ; between two\n");
    assert_wrong(
        "alerts: {quiet: {time_zone: ../x}}\n",
        "t.yaml:1:29: alerts.quiet.time_zone: is no time zone: write UTC, +02:00 or a name "
        "such as Europe/Berlin\n");
    assert_wrong("alerts: {backoff: {min: 2m}}\n",
                 "t.yaml:1:25: alerts.backoff.min: 2m is more than alerts.backoff.max (1m)\n");
}

static void there_is_an_end_to_receivers(void **state)
{
    (void)state;
    static char text[8192];
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    tc_buf_lit(&b, HEAD);
    for (int i = 0; i <= TC_ALERT_RECEIVERS_MAX; i++) {
        char line[96];
        (void)snprintf(line, sizeof line,
                       "    - {name: n%d, type: alertmanager, url: \"http://h\"}\n", i);
        tc_buf_str(&b, tc_slice_cstr(line));
    }
    text[b.len] = '\0';
    assert_wrong(text, "t.yaml:19:7: alerts.outputs[16]: there can be 16 receivers at most\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(receivers_are_read),
        cmocka_unit_test(mistakes_are_told_with_their_place),
        cmocka_unit_test(there_is_an_end_to_receivers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
