/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/api/http.h"
#include "server/api/problem.h"
#include "server/api/routes.h"

#include <string.h>

static void tags_match_whole_and_weak_ones_too(void **state)
{
    (void)state;
    struct tc_slice tag = TC_LIT("\"abc\"");
    assert_true(tc_http_has_tag(TC_LIT("\"abc\""), tag));
    assert_true(tc_http_has_tag(TC_LIT("W/\"abc\""), tag));
    assert_true(tc_http_has_tag(TC_LIT("\"x\", W/\"y\" ,\"abc\""), tag));
    assert_true(tc_http_has_tag(TC_LIT("*"), tag));
    assert_false(tc_http_has_tag(TC_LIT(""), tag));
    assert_false(tc_http_has_tag(TC_LIT("abc"), tag));
    assert_false(tc_http_has_tag(TC_LIT("\"ab\""), tag));
}

static void gzip_is_taken_unless_it_is_refused(void **state)
{
    (void)state;
    assert_true(tc_http_takes_gzip(TC_LIT("gzip, deflate, br")));
    assert_true(tc_http_takes_gzip(TC_LIT("br;q=1, GZIP;q=0.5")));
    assert_true(tc_http_takes_gzip(TC_LIT("*")));
    assert_false(tc_http_takes_gzip(TC_LIT("")));
    assert_false(tc_http_takes_gzip(TC_LIT("identity")));
    assert_false(tc_http_takes_gzip(TC_LIT("gzip;q=0")));
    assert_false(tc_http_takes_gzip(TC_LIT("gzipped")));
}

static void ranges_are_read_or_ignored(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum tc_http_range kind;
        uint64_t first;
        uint64_t length;
    } cases[] = {
        {"bytes=0-99", TC_HTTP_RANGE_FROM, 0, 100},
        {"bytes=100-", TC_HTTP_RANGE_FROM, 100, UINT64_MAX},
        {"bytes=-100", TC_HTTP_RANGE_LAST, 0, 100},
        {"bytes=-0", TC_HTTP_RANGE_BAD, 0, 0},
        {"bytes=5-4", TC_HTTP_RANGE_NONE, 0, 0},
        {"bytes=0-1,3-4", TC_HTTP_RANGE_NONE, 0, 0},
        {"bytes=", TC_HTTP_RANGE_NONE, 0, 0},
        {"bytes=-", TC_HTTP_RANGE_NONE, 0, 0},
        {"bytes=x-1", TC_HTTP_RANGE_NONE, 0, 0},
        {"bytes=1-x", TC_HTTP_RANGE_NONE, 0, 0},
        {"bytes=0-18446744073709551615", TC_HTTP_RANGE_FROM, 0, UINT64_MAX},
        {"bytes=0-18446744073709551616", TC_HTTP_RANGE_NONE, 0, 0},
        {"lines=0-1", TC_HTTP_RANGE_NONE, 0, 0},
        {"", TC_HTTP_RANGE_NONE, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t first = 0;
        uint64_t length = 0;
        enum tc_http_range kind = tc_http_range_of(tc_slice_cstr(cases[i].text), &first, &length);
        assert_int_equal(kind, cases[i].kind);
        if (kind == TC_HTTP_RANGE_FROM) {
            assert_int_equal(first, cases[i].first);
        }
        if (kind == TC_HTTP_RANGE_FROM || kind == TC_HTTP_RANGE_LAST) {
            assert_int_equal(length, cases[i].length);
        }
    }
}

static bool matches(const char *pattern, const char *path, struct tc_route *out)
{
    return tc_route_matches(tc_slice_cstr(pattern), tc_slice_cstr(path), out);
}

static void parts_of_a_path_are_parameters(void **state)
{
    (void)state;
    struct tc_route r;
    assert_true(matches("/api/v1/runs/{run}", "/api/v1/runs/r1", &r));
    assert_int_equal(r.part_count, 1);
    assert_true(tc_slice_eq(r.parts[0].name, TC_LIT("run")));
    assert_true(tc_slice_eq(r.parts[0].value, TC_LIT("r1")));
    assert_true(matches("/a/{x}/b/{y}", "/a/1/b/2", &r));
    assert_int_equal(r.part_count, 2);
    assert_false(matches("/api/v1/runs/{run}", "/api/v1/runs", &r));
    assert_false(matches("/api/v1/runs/{run}", "/api/v1/runs/", &r));
    assert_false(matches("/api/v1/runs/{run}", "/api/v1/runs//", &r));
    assert_false(matches("/api/v1/runs/{run}", "/api/v1/runs/r1/x", &r));
    assert_false(matches("/api/v1/runs", "/api/v1/runs/r1", &r));
    assert_false(matches("/api/v1/runs", "/api/v1/runsx", &r));
    assert_true(matches("/api/v1/runs/{run}", "/api/v1/runs/..", &r));
    assert_true(tc_slice_eq(r.parts[0].value, TC_LIT(".."))); /* a name like any other */
}

static void questions_are_found_by_path_and_method(void **state)
{
    (void)state;
    struct tc_route r;
    tc_route_find(TC_LIT("/api/v1/runs"), TC_METHOD_HEAD, &r);
    assert_non_null(r.question);
    assert_string_equal(r.question->name, "runs");
    tc_route_find(TC_LIT("/api/v1/runs/"), TC_METHOD_GET, &r);
    assert_false(r.is_path);
    tc_route_find(TC_LIT("/api/v1/runs"), TC_METHOD_POST, &r);
    assert_null(r.question);
    assert_true(r.is_path);
    assert_true(tc_slice_eq(tc_route_allow(&r), TC_LIT("GET, HEAD")));
    tc_route_find(TC_LIT("/api/v1/fleet/health"), TC_METHOD_GET, &r);
    assert_string_equal(r.question->name, "fleet_health");
    tc_route_find(TC_LIT("/api/v2/runs"), TC_METHOD_GET, &r);
    assert_false(r.is_path);
    tc_route_find(TC_LIT(""), TC_METHOD_GET, &r);
    assert_false(r.is_path);
}

static void problems_are_one_line_of_json(void **state)
{
    (void)state;
    char text[TC_PROBLEM_BYTES_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_problem_put(&b, TC_ANSWER_BAD, TC_LIT("a \"b\"\n<script>"), TC_LIT("q"));
    text[b.len] = '\0';
    assert_string_equal(
        text, "{\"type\":\"about:blank\",\"title\":\"The request is wrong\","
              "\"status\":400,\"detail\":\"a \\\"b\\\"\\n<script>\",\"parameter\":\"q\"}\n");
    assert_int_equal(tc_problem_answer(TC_E_NOTFOUND), TC_ANSWER_NOT_FOUND);
    assert_int_equal(tc_problem_answer(TC_E_USAGE), TC_ANSWER_BAD);
    assert_int_equal(tc_problem_answer(TC_E_LIMIT), TC_ANSWER_UNPROCESSABLE);
    assert_int_equal(tc_problem_answer(TC_E_UNSUPPORTED), TC_ANSWER_CONFLICT);
    assert_int_equal(tc_problem_answer(TC_E_IO), TC_ANSWER_BUSY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_match_whole_and_weak_ones_too),
        cmocka_unit_test(gzip_is_taken_unless_it_is_refused),
        cmocka_unit_test(ranges_are_read_or_ignored),
        cmocka_unit_test(parts_of_a_path_are_parameters),
        cmocka_unit_test(questions_are_found_by_path_and_method),
        cmocka_unit_test(problems_are_one_line_of_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
