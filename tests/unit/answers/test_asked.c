/* SPDX-License-Identifier: Apache-2.0 */
/* Values of parameters, right and wrong, as text and as JSON; schemas. */
#include "answers/question.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW_NS INT64_C(1763164800000000000)

static const struct tc_param PARAMS[] = {
    {.name = "run", .help = "The run.", .kind = TC_PARAM_TEXT, .flags = TC_PARAM_NEEDED},
    {.name = "limit",
     .help = "How many.",
     .kind = TC_PARAM_COUNT,
     .standard = "50",
     .least = 1,
     .most = 1000},
    {.name = "level", .help = "How sure.", .kind = TC_PARAM_REAL, .least = 0.5, .most = 1},
    {.name = "all", .help = "All of it.", .kind = TC_PARAM_FLAG, .standard = "false"},
    {.name = "since", .help = "From when.", .kind = TC_PARAM_TIME},
    {.name = "format",
     .help = "In which form.",
     .kind = TC_PARAM_WORD,
     .words = "markdown html json",
     .standard = "json"},
    {.name = "metric", .help = "Which.", .kind = TC_PARAM_TEXT, .flags = TC_PARAM_MANY},
    {.name = "part",
     .help = "Parts.",
     .kind = TC_PARAM_WORD,
     .words = "a b",
     .flags = TC_PARAM_MANY},
};

static size_t answered;

static tc_status answer(const struct tc_asked *asked, struct tc_reply *out, struct tc_error *err)
{
    answered++;
    if (tc_slice_eq(tc_asked_text(asked, "run"), TC_LIT("none"))) {
        tc_grow_lit(&out->body, "half");
        return tc_fail(err, TC_E_NOTFOUND, 0, "there is no such run");
    }
    if (tc_slice_eq(tc_asked_text(asked, "run"), TC_LIT("long"))) {
        static char block[1 << 20];
        memset(block, ' ', sizeof block);
        for (size_t n = 0; n < 17; n++) {
            tc_grow_str(&out->body, tc_slice_make(block, sizeof block));
        }
    }
    tc_grow_lit(&out->body, "{}\n");
    return TC_OK;
}

static const struct tc_member MEMBERS[] = {
    {.name = "a", .type = "string null", .help = "A."},
    {.name = "b", .type = "array", .help = "B.", .may_lack = true},
};

static const struct tc_question QUESTION = {
    .name = "test",
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .members = MEMBERS,
    .member_count = TC_COUNT(MEMBERS),
    .answer = answer,
};

static struct tc_asked a;
static struct tc_error err;

static int begin(void **state)
{
    (void)state;
    tc_asked_init(&a, &QUESTION, NOW_NS);
    err = (struct tc_error){0};
    return 0;
}

static void takes(const char *name, const char *value)
{
    if (tc_asked_add(&a, tc_slice_cstr(name), tc_slice_cstr(value), &err) != TC_OK) {
        fail_msg("%s=%s: %s", name, value, err.message);
    }
}

static void refuses(const char *name, const char *value, const char *part)
{
    assert_int_equal(tc_asked_add(&a, tc_slice_cstr(name), tc_slice_cstr(value), &err), TC_E_USAGE);
    if (strstr(err.message, part) == NULL || !tc_slice_eq(a.wrong, tc_slice_cstr(name))) {
        fail_msg("%s=%s: \"%s\" of \"%.*s\"", name, value, err.message, TC_FMT(a.wrong));
    }
}

static void values_of_each_kind_are_read(void **state)
{
    (void)state;
    takes("run", "a run; DROP TABLE <script>");
    takes("limit", "1000");
    takes("level", "0.5");
    takes("all", "");
    takes("since", "2h");
    takes("format", "html");
    assert_int_equal(tc_asked_complete(&a, &err), TC_OK);
    assert_true(tc_slice_eq(tc_asked_text(&a, "run"), TC_LIT("a run; DROP TABLE <script>")));
    assert_int_equal(tc_asked_value(&a, "limit")->count, 1000);
    assert_true(tc_asked_value(&a, "level")->real == 0.5);
    assert_true(tc_asked_value(&a, "all")->flag);
    assert_int_equal(tc_asked_value(&a, "since")->count, NOW_NS - INT64_C(7200000000000));
    assert_true(tc_slice_eq(tc_asked_text(&a, "format"), TC_LIT("html")));
}

static void wrong_values_are_refused_in_words(void **state)
{
    (void)state;
    refuses("limit", "0", "\"limit\" takes a whole number from 1 to 1000, not \"0\"");
    refuses("limit", "1001", "from 1 to 1000");
    refuses("limit", "10x", "not \"10x\"");
    refuses("limit", "99999999999999999999", "from 1 to 1000");
    refuses("level", "0.49", "\"level\" takes a number from 0.5 to 1, not \"0.49\"");
    refuses("level", "1.01", "from 0.5 to 1");
    refuses("level", "nan", "from 0.5 to 1");
    refuses("level", " 0.6", "from 0.5 to 1");
    refuses("level", "0.6000000000000000000000000000000000000000000000000001", "from 0.5 to 1");
    refuses("all", "yes", "\"all\" takes true or false, not \"yes\"");
    refuses("since", "2026", "\"since\" takes a time such as");
    refuses("format", "pdf", "\"format\" takes one of markdown html json, not \"pdf\"");
    refuses("format", "mark", "one of");
    takes("limit", "5");
    refuses("limit", "6", "\"limit\" is given twice");
}

static void texts_are_sound_and_bounded(void **state)
{
    (void)state;
    char *text = malloc(TC_PARAM_BYTES_MAX + 1);
    assert_non_null(text);
    memset(text, 'x', TC_PARAM_BYTES_MAX + 1);
    assert_int_equal(
        tc_asked_add(&a, TC_LIT("run"), tc_slice_make(text, TC_PARAM_BYTES_MAX + 1), &err),
        TC_E_USAGE);
    assert_non_null(strstr(err.message, "\"run\" is longer than 65536 bytes"));
    assert_int_equal(tc_asked_add(&a, TC_LIT("run"), TC_LIT("a\0b"), &err), TC_E_USAGE);
    assert_non_null(strstr(err.message, "NUL"));
    assert_int_equal(tc_asked_add(&a, TC_LIT("run"), TC_LIT("\xff"), &err), TC_E_USAGE);
    assert_int_equal(tc_asked_add(&a, TC_LIT("run"), tc_slice_make(text, TC_PARAM_BYTES_MAX), &err),
                     TC_OK);
    free(text);
}

static void unknown_names_get_a_suggestion(void **state)
{
    (void)state;
    refuses("lmit", "5", "there is no parameter \"lmit\"; did you mean \"limit\"?");
    refuses("something", "5", "test takes run, limit, level, all, since, format, metric, part");
}

static void what_is_needed_must_be_there(void **state)
{
    (void)state;
    takes("run", "");
    assert_int_equal(tc_asked_complete(&a, &err), TC_E_USAGE);
    assert_string_equal(err.message, "\"run\" is missing: The run.");
    assert_true(tc_slice_eq(a.wrong, TC_LIT("run")));
    takes("run", "r");
    assert_int_equal(tc_asked_complete(&a, &err), TC_OK);
    assert_int_equal(tc_asked_value(&a, "limit")->count, 50);
    assert_false(tc_asked_value(&a, "limit")->is_given);
    assert_false(tc_asked_value(&a, "all")->flag);
    assert_int_equal(tc_asked_text(&a, "metric").len, 0);
    assert_false(tc_asked_value(&a, "since")->is_given);
}

static void some_may_be_repeated(void **state)
{
    (void)state;
    struct tc_slice out[TC_PARAM_VALUES_MAX];
    takes("metric", "ttft");
    takes("part", "a");
    takes("metric", "tpot");
    takes("metric", "");
    refuses("part", "c", "one of a b");
    assert_int_equal(tc_asked_texts(&a, "metric", out, TC_COUNT(out)), 2);
    assert_true(tc_slice_eq(out[0], TC_LIT("ttft")));
    assert_true(tc_slice_eq(out[1], TC_LIT("tpot")));
    assert_int_equal(tc_asked_texts(&a, "metric", out, 1), 1);
    assert_int_equal(tc_asked_texts(&a, "part", out, TC_COUNT(out)), 1);
    for (size_t n = 3; n < TC_PARAM_VALUES_MAX; n++) {
        takes("metric", "x");
    }
    refuses("metric", "x", "up to 64 values");
}

static tc_status add_json(const char *text)
{
    struct tc_json root;
    struct tc_json_parser *parser = tc_json_parser_create();
    assert_non_null(parser);
    assert_int_equal(tc_json_parse(parser, tc_slice_cstr(text), &root, &err), TC_OK);
    (void)begin(NULL);
    tc_status status = tc_asked_add_json(&a, root, &err);
    if (status == TC_OK) {
        status = tc_asked_complete(&a, &err);
    }
    /* What is read of texts is read here: they lie in what was parsed. */
    if (status == TC_OK && a.values[0].text.len != 1) {
        status = TC_E_MALFORMED;
    }
    tc_json_parser_destroy(parser);
    return status;
}

static void refuses_json(const char *text, const char *part)
{
    assert_int_equal(add_json(text), TC_E_USAGE);
    if (strstr(err.message, part) == NULL) {
        fail_msg("%s: \"%s\"", text, err.message);
    }
}

static void json_is_read_by_its_types(void **state)
{
    (void)state;
    assert_int_equal(add_json("{\"run\":\"r\",\"limit\":7,\"level\":0.75,\"all\":true,\"since\":"
                              "\"15m\",\"metric\":[\"a\",\"b\"],\"part\":\"b\",\"format\":null}"),
                     TC_OK);
    assert_int_equal(a.values[1].count, 7);
    assert_true(a.values[2].real == 0.75);
    assert_true(a.values[3].flag);
    assert_int_equal(a.many_count, 3);
    assert_int_equal(add_json("{\"run\":\"r\",\"level\":1}"), TC_OK);
    refuses_json("[]", "one JSON object");
    refuses_json("{\"run\":5}", "\"run\" must be a string");
    refuses_json("{\"run\":[\"r\"]}", "\"run\" must be a string");
    refuses_json("{\"run\":\"r\",\"limit\":\"7\"}", "\"limit\" must be an integer");
    refuses_json("{\"run\":\"r\",\"limit\":7.5}", "\"limit\" takes a whole number");
    refuses_json("{\"run\":\"r\",\"limit\":18446744073709551615}", "\"limit\" takes a whole");
    refuses_json("{\"run\":\"r\",\"level\":false}", "\"level\" must be a number");
    refuses_json("{\"run\":\"r\",\"all\":1}", "\"all\" must be true or false");
    refuses_json("{\"run\":\"r\",\"metric\":[1]}", "\"metric\" must be a string, or an array");
    refuses_json("{\"run\":\"r\",\"metric\":[[\"a\"]]}", "\"metric\" must be");
    refuses_json("{\"run\":\"r\",\"run\":\"s\"}", "given twice");
    refuses_json("{\"run\":\"a\\u0000b\"}", "NUL");
    refuses_json("{\"runs\":\"r\"}", "did you mean \"run\"?");
    refuses_json("{}", "\"run\" is missing");
}

static void answers_are_bounded_and_whole(void **state)
{
    (void)state;
    struct tc_reply reply = {.range_total = 7};
    answered = 0;
    assert_int_equal(tc_question_answer(&a, &reply, &err), TC_E_USAGE);
    assert_int_equal(answered, 0);
    takes("run", "none");
    assert_int_equal(tc_question_answer(&a, &reply, &err), TC_E_NOTFOUND);
    assert_int_equal(reply.range_total, 7); /* untouched */
    (void)begin(NULL);
    takes("run", "long");
    assert_int_equal(tc_question_answer(&a, &reply, &err), TC_E_LIMIT);
    assert_non_null(strstr(err.message, "16 MiB"));
    (void)begin(NULL);
    takes("run", "r");
    assert_int_equal(tc_question_answer(&a, &reply, &err), TC_OK);
    assert_true(tc_slice_eq(tc_grow_slice(&reply.body), TC_LIT("{}\n")));
    tc_reply_fini(&reply);
    struct tc_question needy = QUESTION;
    needy.needs_warehouse = true;
    tc_asked_init(&a, &needy, NOW_NS);
    takes("run", "r");
    assert_int_equal(tc_question_answer(&a, &reply, &err), TC_E_UNSUPPORTED);
}

static void schemas_say_what_is_taken_and_given(void **state)
{
    (void)state;
    struct tc_grow g = {0};
    struct tc_json_out j = tc_json_out_grow(&g);
    tc_question_schema(&j, &QUESTION);
    assert_true(tc_json_done_line(&j));
    tc_question_result_schema(&j, &QUESTION);
    assert_true(tc_grow_room(&g, 1));
    g.buf.data[g.buf.len] = '\0';
    static const char *const parts[] = {
        "{\"type\":\"object\",\"properties\":{\"run\":{\"type\":\"string\",\"maxLength\":65536,"
        "\"description\":\"The run.\"},",
        "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000,\"default\":50,",
        "\"level\":{\"type\":\"number\",\"minimum\":0.5,\"maximum\":1,",
        "\"all\":{\"type\":\"boolean\",\"default\":false,",
        "\"format\":{\"type\":\"string\",\"enum\":[\"markdown\",\"html\",\"json\"],\"default\":"
        "\"json\",",
        "\"metric\":{\"type\":\"array\",\"maxItems\":64,\"items\":{\"type\":\"string\",",
        "\"required\":[\"run\"],\"additionalProperties\":false}\n",
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":[\"string\",\"null\"],"
        "\"description\":\"A.\"},\"b\":{\"type\":\"array\"",
        "\"required\":[\"a\"]}",
    };
    for (size_t n = 0; n < TC_COUNT(parts); n++) {
        if (strstr(g.buf.data, parts[n]) == NULL) {
            fail_msg("no %s in %s", parts[n], g.buf.data);
        }
    }
    tc_grow_fini(&g);
}

static void the_table_is_sound(void **state)
{
    (void)state;
    size_t count = 0;
    const struct tc_question *const *all = tc_questions(&count);
    assert_true(count > 0);
    for (size_t n = 0; n < count; n++) {
        const struct tc_question *q = all[n];
        for (size_t m = 0; m < n; m++) {
            assert_string_not_equal(all[m]->name, q->name);
            assert_true(all[m]->tool == NULL || q->tool == NULL ||
                        strcmp(all[m]->tool, q->tool) != 0);
        }
        assert_true(tc_slice_starts(tc_slice_cstr(q->path), TC_LIT("/api/")));
        assert_non_null(q->answer);
        assert_true(q->param_count <= TC_PARAMS_MAX);
        for (size_t p = 0; p < q->param_count; p++) {
            char place[64] = "{";
            (void)strncat(place, q->params[p].name, 60);
            (void)strncat(place, "}", 2);
            assert_int_equal(strstr(q->path, place) != NULL,
                             (q->params[p].flags & TC_PARAM_IN_PATH) != 0);
            assert_int_equal(q->params[p].words != NULL, q->params[p].kind == TC_PARAM_WORD);
        }
        /* Standards are read: one that is wrong is an assertion. */
        tc_asked_init(&a, q, NOW_NS);
        (void)!tc_asked_complete(&a, &err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(values_of_each_kind_are_read, begin),
        cmocka_unit_test_setup(wrong_values_are_refused_in_words, begin),
        cmocka_unit_test_setup(texts_are_sound_and_bounded, begin),
        cmocka_unit_test_setup(unknown_names_get_a_suggestion, begin),
        cmocka_unit_test_setup(what_is_needed_must_be_there, begin),
        cmocka_unit_test_setup(some_may_be_repeated, begin),
        cmocka_unit_test_setup(json_is_read_by_its_types, begin),
        cmocka_unit_test_setup(answers_are_bounded_and_whole, begin),
        cmocka_unit_test(schemas_say_what_is_taken_and_given),
        cmocka_unit_test(the_table_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
