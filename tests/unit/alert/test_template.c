/* SPDX-License-Identifier: Apache-2.0 */
/* Templates: what they say of an alert, what no text can do to them, and what is no template. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alert/template.h"
#include "base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTILE "\"},{\"x\":\"\\\n\t\x01\xff{{id}}{{/parts}}</script>\xf0\x9f\x94\xa5"

static struct tc_json_parser *parser;

static int make_parser(void **state)
{
    (void)state;
    parser = tc_json_parser_create();
    return parser == NULL ? -1 : 0;
}

static int drop_parser(void **state)
{
    (void)state;
    tc_json_parser_destroy(parser);
    return 0;
}

static struct tc_template *read_template(const char *text)
{
    struct tc_template *t = NULL;
    struct tc_error err = {0};
    if (tc_template_read(tc_slice_cstr(text), parser, &t, &err) != TC_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return t;
}

/* Renders and frees the template; the caller frees the text. */
static char *render(const char *text, const struct tc_alert *alert)
{
    struct tc_grow out = {0};
    struct tc_template *t = read_template(text);
    assert_int_equal(tc_template_render(t, alert, &out), TC_OK);
    char *copy = calloc(1, out.buf.len + 1);
    assert_non_null(copy);
    memcpy(copy, out.buf.data, out.buf.len);
    tc_grow_fini(&out);
    tc_template_destroy(t);
    return copy;
}

static void assert_renders(const char *text, const struct tc_alert *alert, const char *want)
{
    char *got = render(text, alert);
    assert_string_equal(got, want);
    free(got);
}

static void fields_and_sections_say_what_is_so(void **state)
{
    (void)state;
    struct tc_alert a;
    tc_alert_sample(&a, true, 1772600000 * TC_SECOND);
    assert_renders("{\"a\":\"{{ severity }} {{pattern}}\",\"n\":{{part_count}}}", &a,
                   "{\"a\":\"warning alert_test\",\"n\":1}");
    assert_renders("[{{#firing}}1{{/firing}}{{^firing}}2{{/firing}}{{! nothing }}]", &a, "[1]");
    assert_renders("\"{{#gpu}}has{{/gpu}}{{^gpu}}has none{{/gpu}}\"", &a, "\"has none\"");
    assert_renders("\"{{starts_at}}|{{ends_at}}\"", &a, "\"2026-03-04T04:53:20Z|\"");
    tc_alert_sample(&a, false, 1772600000 * TC_SECOND);
    assert_renders("\"{{status}} {{ends_at}}{{#resolved}}!{{/resolved}}\"", &a,
                   "\"resolved 2026-03-04T04:53:20Z!\"");
    assert_renders("{}", &a, "{}");
}

static void parts_are_repeated_and_hide_the_alerts_fields(void **state)
{
    (void)state;
    struct tc_alert a;
    tc_alert_sample(&a, true, 0);
    a.parts[1] = a.parts[0];
    a.parts[1].severity = TC_SEVERITY_CRITICAL;
    a.parts[1].is_open = false;
    a.parts[1].node = TC_EMPTY;
    a.shown_count = 2;
    a.part_count = 7;
    assert_renders("[{{#parts}}\"{{severity}} {{status}}{{#node}} {{node}}{{/node}} {{gpu}}\""
                   "{{^last}},{{/last}}{{/parts}}]",
                   &a, "[\"warning open no-node \",\"critical resolved \"]");
    assert_renders("\"{{severity}}{{#more_count}} and {{more_count}} more{{/more_count}}\"", &a,
                   "\"warning and 5 more\"");
}

/* Every field that comes from outside says the worst; each stays inside of its quotes. */
static void no_text_leaves_its_quotes(void **state)
{
    (void)state;
    struct tc_alert a;
    tc_alert_sample(&a, true, 0);
    struct tc_slice bad = TC_LIT(HOSTILE);
    a.id = a.pattern = a.headline = a.remediation = a.node = a.gpu = a.name_space = bad;
    a.pod = a.job = a.merged_into = a.link = a.token = bad;
    a.parts[0].id = a.parts[0].pattern = a.parts[0].headline = a.parts[0].node = bad;
    static const char *const NAMES[] = {"id",        "pattern",     "headline", "remediation",
                                        "node",      "gpu",         "pod",      "job",
                                        "namespace", "merged_into", "link",     "token"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        char text[128];
        struct tc_json root;
        struct tc_slice said;
        (void)snprintf(text, sizeof text, "{\"a\":\"{{%s}}\",\"b\":[]}", NAMES[i]);
        char *got = render(text, &a);
        assert_int_equal(tc_json_parse(parser, tc_slice_cstr(got), &root, NULL), TC_OK);
        said = tc_json_get_string(root, TC_LIT("a"));
        assert_true(tc_slice_starts(said, TC_LIT("\"},{\"x\":\"\\\n\t\x01")));
        assert_true(tc_slice_contains(said, TC_LIT("{{id}}{{/parts}}"))); /* not read again */
        free(got);
    }
    char *got = render("[{{#parts}}\"{{id}}{{pattern}}{{headline}}{{node}}\"{{^last}},{{/last}}"
                       "{{/parts}}]",
                       &a);
    struct tc_json root;
    assert_int_equal(tc_json_parse(parser, tc_slice_cstr(got), &root, NULL), TC_OK);
    free(got);
}

static void assert_refused(const char *text, const char *why)
{
    struct tc_template *t = NULL;
    struct tc_error err = {0};
    assert_int_equal(tc_template_read(tc_slice_cstr(text), parser, &t, &err), TC_E_MALFORMED);
    assert_null(t);
    if (strstr(err.message, why) == NULL) {
        fail_msg("%s: \"%s\" has no \"%s\"", text, err.message, why);
    }
}

static void what_is_no_template_is_refused_with_its_line(void **state)
{
    (void)state;
    assert_refused("{\n\"a\": \"{{hedline}}\"}",
                   "line 2: there is no field \"hedline\"; did you mean headline?");
    assert_refused("\"{{zzzzzz}}\"", "line 1: there is no field \"zzzzzz\"");
    assert_refused("\"{{}}\"", "there is no field");
    assert_refused("\"{{last}}\"", "is a field of {{#parts}} only: \"last\"");
    assert_refused("\"{{headline\"", "line 1: {{ without }}");
    assert_refused("\n\n\"{{#firing}}\"", "line 3: a section that does not end: \"firing\"");
    assert_refused("\"{{/firing}}\"", "the end of a section that did not begin: \"firing\"");
    assert_refused("\"{{#firing}}{{#node}}{{/firing}}{{/node}}\"", "another section is open");
    assert_refused("[{{#parts}}{{#parts}}{{/parts}}{{/parts}}]", "parts inside of");
    assert_refused("[{{^parts}}{{/parts}}]", "an alert always has parts");
    assert_refused("{{{id}}}", "{{{ is nothing here");
    assert_refused("{{id}}", "is no JSON");
    assert_refused("", "is no JSON");
    assert_refused("{\"a\":1{{#firing}},{{/firing}}}", "of a firing alert");
    assert_refused("{\"a\":1{{#gpu}},{{/gpu}}}", "with all fields");
}

static void limits_hold(void **state)
{
    (void)state;
    struct tc_template *t = NULL;
    struct tc_error err = {0};
    size_t size = TC_TEMPLATE_BYTES_MAX + 2;
    char *text = malloc(size);
    memset(text, ' ', size);
    assert_int_equal(tc_template_read(tc_slice_make(text, size), parser, &t, &err), TC_E_LIMIT);
    text[0] = '1';
    assert_int_equal(tc_template_read(tc_slice_make(text, TC_TEMPLATE_BYTES_MAX), parser, &t, &err),
                     TC_OK);
    tc_template_destroy(t);
    char deep[512] = "1";
    for (int i = 0; i < TC_TEMPLATE_DEPTH_MAX; i++) {
        (void)strncat(deep, "{{#id}}", sizeof deep - strlen(deep) - 1);
    }
    char one_more[1024];
    (void)snprintf(one_more, sizeof one_more, "%s{{#id}}", deep);
    assert_refused(one_more, "too deep");
    for (int i = 0; i < TC_TEMPLATE_DEPTH_MAX; i++) {
        (void)strncat(deep, "{{/id}}", sizeof deep - strlen(deep) - 1);
    }
    t = read_template(deep);
    tc_template_destroy(t);
    /* Fields without end. */
    size_t len = 0;
    text[len++] = '"';
    while (len + 8 < TC_TEMPLATE_BYTES_MAX) {
        memcpy(text + len, "{{id}}", 6);
        len += 6;
    }
    text[len++] = '"';
    assert_int_equal(tc_template_read(tc_slice_make(text, len), parser, &t, &err), TC_E_LIMIT);
    free(text);
}

static void what_it_uses_is_known(void **state)
{
    (void)state;
    struct tc_template *t = read_template("{\"a\":\"{{#link}}{{token}}{{/link}}\"}");
    assert_true(tc_template_uses(t, "token"));
    assert_true(tc_template_uses(t, "link"));
    assert_false(tc_template_uses(t, "node"));
    assert_false(tc_template_uses(t, "no such field"));
    tc_template_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_and_sections_say_what_is_so),
        cmocka_unit_test(parts_are_repeated_and_hide_the_alerts_fields),
        cmocka_unit_test(no_text_leaves_its_quotes),
        cmocka_unit_test(what_is_no_template_is_refused_with_its_line),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(what_it_uses_is_known),
    };
    return cmocka_run_group_tests(tests, make_parser, drop_parser);
}
