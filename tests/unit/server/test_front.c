/* SPDX-License-Identifier: Apache-2.0 */
#include "server/front.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct tc_config config;

static int setup(void **state)
{
    (void)state;
    memset(&config, 0, sizeof config);
    (void)snprintf(config.api_listen, sizeof config.api_listen, "mon.example:4320");
    (void)snprintf(config.receivers_otlp_http_listen, sizeof config.receivers_otlp_http_listen,
                   "[::1]:4318");
    (void)snprintf(config.server_allowed_hosts, sizeof config.server_allowed_hosts,
                   "tracecore.monitoring.svc\n*.corp.example\n");
    return 0;
}

static enum tc_answer of_host(const char *host)
{
    struct tc_request r = {.host = tc_slice_cstr(host)};
    struct tc_response out = {0};
    enum tc_answer answer = tc_front_check_host(&config, &r, &out);
    assert_int_equal(out.message.len > 0, answer != TC_ANSWER_OK);
    return answer;
}

static void known_hosts_are_served(void **state)
{
    (void)state;
    char machine[256] = "";
    static const char *const cases[] = {
        "localhost",
        "LocalHost:4320",
        "localhost.:4320",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]:4320",
        "[fe80::1%25eth0]:4320",
        "10.1.2.3:4320", /* a kubelet's probe, a NodePort */
        "mon.example",
        "MON.example:4320",
        "tracecore.monitoring.svc:4320",
        "a.corp.example",
        "a.b.CORP.example:80",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(of_host(cases[i]), TC_ANSWER_OK);
    }
    assert_int_equal(gethostname(machine, sizeof machine - 1), 0);
    assert_int_equal(of_host(machine), TC_ANSWER_OK);
    /* HTTP/1.0 without one. */
    struct tc_request r = {.host = {NULL, 0}};
    struct tc_response out = {0};
    assert_int_equal(tc_front_check_host(&config, &r, &out), TC_ANSWER_OK);
}

static void other_hosts_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        ":4320",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "1.2.3",
        "evilcorp.example",
        "corp.example",
        ".corp.example.evil",
        "tracecore.monitoring.svc.evil",
        "example",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (of_host(cases[i]) != TC_ANSWER_FORBIDDEN) {
            print_error("served: \"%s\"\n", cases[i]);
            fail();
        }
    }
    (void)snprintf(config.server_allowed_hosts, sizeof config.server_allowed_hosts, "*\n");
    assert_int_equal(of_host("evil.example"), TC_ANSWER_OK);
}

static enum tc_answer of_page(const char *host, const char *origin, const char *site)
{
    struct tc_request r = {.host = tc_slice_cstr(host),
                           .origin = tc_slice_cstr(origin),
                           .fetch_site = tc_slice_cstr(site)};
    struct tc_response out = {0};
    enum tc_answer answer = tc_front_check_page(&config, &r, &out);
    assert_int_equal(out.message.len > 0, answer != TC_ANSWER_OK);
    return answer;
}

static void pages_of_other_origins_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        const char *origin;
        const char *site;
        enum tc_answer answer;
    } cases[] = {
        {"tracecore.any.name:4318", "", "", TC_ANSWER_OK}, /* an exporter */
        {"localhost:4320", "http://localhost:4320", "", TC_ANSWER_OK},
        {"localhost:4320", "http://localhost:4320", "same-origin", TC_ANSWER_OK},
        {"localhost:4320", "", "none", TC_ANSWER_OK},
        {"a.corp.example", "https://a.corp.example", "same-origin", TC_ANSWER_OK},
        {"localhost:4320", "http://localhost:8080", "same-site", TC_ANSWER_FORBIDDEN},
        {"localhost:4320", "http://localhost:8080", "", TC_ANSWER_FORBIDDEN},
        {"localhost:4320", "https://evil.example", "cross-site", TC_ANSWER_FORBIDDEN},
        {"localhost:4320", "https://evil.example", "", TC_ANSWER_FORBIDDEN},
        {"localhost:4320", "", "cross-site", TC_ANSWER_FORBIDDEN},
        {"localhost:4320", "", "SAME-ORIGIN", TC_ANSWER_FORBIDDEN},
        {"localhost:4320", "null", "", TC_ANSWER_FORBIDDEN},
        {"", "null", "", TC_ANSWER_FORBIDDEN},
        {"localhost:4320", "ftp://localhost:4320", "", TC_ANSWER_FORBIDDEN},
        /* after DNS rebinding both say the same */
        {"evil.example:4318", "http://evil.example:4318", "", TC_ANSWER_FORBIDDEN},
        {"evil.example:4318", "http://evil.example:4318", "same-origin", TC_ANSWER_FORBIDDEN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (of_page(cases[i].host, cases[i].origin, cases[i].site) != cases[i].answer) {
            print_error("case %zu: %s %s\n", i, cases[i].origin, cases[i].site);
            fail();
        }
    }
}

static void types_that_a_page_can_send_unasked(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "",
        "text/plain",
        "TEXT/plain;charset=UTF-8",
        " multipart/form-data ; boundary=x",
        "application/x-www-form-urlencoded",
        "text",
        "text/",
        "/plain",
        "text/plain, application/json",
        "application /json",
    };
    static const char *const deliberate[] = {
        "application/octet-stream",
        "application/json; charset=utf-8",
        "text/csv",
        "application/vnd.x+json",
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        assert_true(tc_front_is_form_type(tc_slice_cstr(forms[i])));
    }
    for (size_t i = 0; i < sizeof deliberate / sizeof deliberate[0]; i++) {
        assert_false(tc_front_is_form_type(tc_slice_cstr(deliberate[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(known_hosts_are_served, setup),
        cmocka_unit_test_setup(other_hosts_are_refused, setup),
        cmocka_unit_test_setup(pages_of_other_origins_are_refused, setup),
        cmocka_unit_test_setup(types_that_a_page_can_send_unasked, setup),
    };
    return cmocka_run_group_tests_name("server_front", tests, NULL, NULL);
}
