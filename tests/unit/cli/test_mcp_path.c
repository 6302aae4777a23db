/* SPDX-License-Identifier: Apache-2.0 */
/* The path and query with which `tracecore mcp` asks a daemon. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/mcp/priv.h"
#include "support/assert_text.h"

#include <string.h>

static const struct tc_param PARAMS[] = {
    {.name = "id", .help = "Which.", .flags = TC_PARAM_NEEDED | TC_PARAM_IN_PATH},
    {.name = "limit", .help = "How many.", .kind = TC_PARAM_COUNT, .least = 1, .most = 100},
    {.name = "open", .help = "Only open ones.", .kind = TC_PARAM_FLAG},
    {.name = "node", .help = "Where.", .flags = TC_PARAM_MANY},
};
static const struct tc_question ONE = {.name = "one",
                                       .path = "/api/v1/things/{id}/view",
                                       .params = PARAMS,
                                       .param_count = TC_COUNT(PARAMS)};
static const struct tc_question POSTED = {.name = "posted", .path = "/api/v1/sql", .posts = true};

struct said {
    const char *name;
    const char *value;
};

/* The path, or "" when there is none. */
static const char *path_of(const struct said *said, size_t count, size_t room)
{
    static char text[256];
    struct tc_buf b = tc_buf_make(text, room);
    struct tc_asked asked;
    struct tc_error err;
    tc_asked_init(&asked, &ONE, 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(
            tc_asked_add(&asked, tc_slice_cstr(said[i].name), tc_slice_cstr(said[i].value), &err),
            TC_OK);
    }
    return tc_mcp_path(&asked, &b) ? text : "";
}
#define PATH(...)                               \
    path_of((const struct said[]){__VA_ARGS__}, \
            sizeof((const struct said[]){__VA_ARGS__}) / sizeof(struct said), 256)

static void what_was_given_is_in_the_path_and_the_query(void **state)
{
    (void)state;
    assert_string_equal(PATH({"id", "a-1"}), "/api/v1/things/a-1/view");
    assert_string_equal(PATH({"id", "a"}, {"limit", "7"}, {"open", "true"}),
                        "/api/v1/things/a/view?limit=7&open=true");
    assert_string_equal(PATH({"id", "a"}, {"node", "x y"}, {"node", "z"}),
                        "/api/v1/things/a/view?node=x%20y&node=z");
}

static void what_is_no_part_of_a_path_cannot_leave_it(void **state)
{
    (void)state;
    assert_string_equal(PATH({"id", "../x"}), "/api/v1/things/..%2Fx/view");
    assert_string_equal(PATH({"id", "a?b#c&d"}), "/api/v1/things/a%3Fb%23c%26d/view");
    assert_string_equal(PATH({"id", ".."}), "");
    assert_string_equal(PATH({"id", "."}), "");
    assert_string_equal(PATH({"limit", "7"}), "");
}

static void what_does_not_fit_is_refused(void **state)
{
    struct said said = {"id", "0123456789"};
    size_t needed = strlen("/api/v1/things/0123456789/view") + 1;
    (void)state;
    assert_string_not_equal(path_of(&said, 1, needed), "");
    assert_string_equal(path_of(&said, 1, needed - 1), "");
}

static void what_is_posted_has_no_path(void **state)
{
    char text[64];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_asked asked;
    (void)state;
    tc_asked_init(&asked, &POSTED, 0);
    assert_false(tc_mcp_path(&asked, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_given_is_in_the_path_and_the_query),
        cmocka_unit_test(what_is_no_part_of_a_path_cannot_leave_it),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(what_is_posted_has_no_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
