/* SPDX-License-Identifier: Apache-2.0 */
/* All names, times and digests here are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json/json.h"
#include "base/time.h"
#include "verdict/render.h"

#include <string.h>

#define T0 INT64_C(1794711845123000000) /* 2026-11-15T03:04:05.123Z */

static unsigned view_calls;

/* Of the source; empty: it is no archive. */
static struct tc_slice member;

static bool view(void *context, uint32_t index, struct tc_source_view *out)
{
    (void)context;
    view_calls++;
    *out = (struct tc_source_view){
        .name = TC_LIT("a.log"), .digest = TC_LIT("sha256:abc"), .member = member};
    return index < 2;
}

static const struct tc_sources SOURCES = {view, NULL};

static struct tc_finding finding(void)
{
    struct tc_finding f = {
        .pattern_id = TC_LIT("8"),
        .pattern_name = TC_LIT("pod_evicted"),
        .severity = TC_SEVERITY_WARNING,
        .confidence = TC_CONFIDENCE_PARTIAL,
        .discriminator = TC_LIT("memory"),
        .headline = TC_LIT("a \"quoted\" headline"),
        .remediation = TC_LIT("look"),
        .first_ns = T0,
        .last_ns = T0 + TC_SECOND,
    };
    f.scope = TC_SCOPE_NONE;
    return f;
}

static char text[65536];

static const char *render(const struct tc_verdict *v, const struct tc_sources *sources)
{
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    tc_verdict_render_json(&b, v, sources);
    assert_false(b.overflowed);
    text[b.len] = '\0';
    return text;
}

static struct tc_verdict verdict(const struct tc_finding *f)
{
    return (struct tc_verdict){.finding = f,
                               .incident_id = TC_LIT("0123"),
                               .status = TC_VERDICT_UPDATED,
                               .first_ns = T0 - TC_SECOND,
                               .detected_ns = T0 + 2 * TC_SECOND};
}

static void an_undated_verdict_says_so_and_has_no_times(void **state)
{
    (void)state;
    struct tc_evidence e = {.kind = TC_LIT("k8s_event"),
                            .uid = TC_LIT("u"),
                            .time_ns = TC_TIME_UNDATED_MIN + 5,
                            .description = TC_LIT("d")};
    struct tc_finding f = finding();
    f.first_ns = f.last_ns = TC_TIME_UNDATED_MIN;
    f.evidence = &e;
    f.evidence_count = 1;
    struct tc_verdict v = verdict(&f);
    v.first_ns = v.detected_ns = TC_TIME_UNDATED_MIN;
    for (int plain = 0; plain < 2; plain++) {
        f.plain = plain != 0;
        const char *json = render(&v, &SOURCES);
        assert_non_null(strstr(json, "\"undated\":true"));
        assert_null(strstr(json, "_seen"));
        assert_null(strstr(json, "detected_at"));
        assert_null(strstr(json, "\"time\""));
    }
}

static void a_member_of_an_archive_is_named(void **state)
{
    (void)state;
    struct tc_evidence e = {.kind = TC_LIT("k8s_event"),
                            .uid = TC_LIT("u"),
                            .time_ns = T0,
                            .description = TC_LIT("d"),
                            .raw = {.source = 0, .offset = 7, .length = 9}};
    struct tc_finding f = finding();
    f.evidence = &e;
    f.evidence_count = 1;
    struct tc_verdict v = verdict(&f);
    member = TC_LIT("logs/\"x\".txt");
    for (int plain = 0; plain < 2; plain++) {
        f.plain = plain != 0;
        assert_non_null(strstr(render(&v, &SOURCES),
                               "\"raw\":{\"digest\":\"sha256:abc\",\"member\":\"logs/"
                               "\\\"x\\\".txt\",\"offset\":7,\"length\":9}"));
    }
    member = TC_EMPTY;
}

static void the_envelope_comes_in_the_order_of_the_schema(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    struct tc_verdict v = verdict(&f);
    assert_string_equal(
        render(&v, &SOURCES),
        "{\"pattern.id\":\"8\",\"pattern.name\":\"pod_evicted\",\"incident_id\":\"0123\","
        "\"status\":\"updated\",\"severity\":\"warning\",\"confidence\":\"partial\","
        "\"discriminator\":\"memory\",\"headline\":\"a \\\"quoted\\\" headline\","
        "\"remediation\":\"look\",\"first_seen\":\"2026-11-15T03:04:04.123Z\","
        "\"last_seen\":\"2026-11-15T03:04:06.123Z\","
        "\"detected_at\":\"2026-11-15T03:04:07.123Z\",\"evidence_trail\":[]}");
}

static void what_was_told_at_the_end_has_no_time_of_detection(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    struct tc_verdict v = verdict(&f);
    v.detected_ns = TC_TIME_NONE;
    assert_null(strstr(render(&v, &SOURCES), "detected_at"));
}

static void flags_and_causes_are_written_when_they_apply(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    f.root = true;
    f.incomplete = true;
    struct tc_verdict v = verdict(&f);
    const struct tc_verdict_cause causes[] = {{TC_LIT("aa"), TC_LIT("why")},
                                              {TC_EMPTY, TC_LIT("gone")}};
    v.causes = causes;
    v.cause_count = 2;
    assert_non_null(strstr(render(&v, &SOURCES),
                           ",\"incomplete\":true,\"root\":true,\"caused_by\":[{\"incident_id\":"
                           "\"aa\",\"why\":\"why\"},{\"incident_id\":\"\",\"why\":\"gone\"}],"));
}

static void the_scope_leaves_out_what_is_not_known(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    struct tc_verdict v = verdict(&f);
    assert_null(strstr(render(&v, &SOURCES), "\"rank\""));
    assert_null(strstr(text, "k8s."));
    f.scope.node = TC_LIT("gpu-07");
    f.scope.rank = 0;
    f.scope.pid = 0;
    f.scope.pci = (struct tc_bdf){0, 0xb3, 0, 0, true};
    assert_non_null(strstr(render(&v, &SOURCES), ",\"k8s.node.name\":\"gpu-07\",\"pci.bdf\":"
                                                 "\"0000:b3:00.0\",\"rank\":0,\"process.pid\":0,"));
}

static void attributes_keep_their_types(void **state)
{
    (void)state;
    static const int32_t ints[] = {3, -1};
    static const struct tc_slice strings[] = {{"a", 1}, {"\n", 1}};
    struct tc_scope scopes[] = {TC_SCOPE_NONE, TC_SCOPE_NONE};
    scopes[0].rank = 12;
    scopes[0].node = TC_LIT("n");
    const struct tc_attr attrs[] = {
        {.key = TC_LIT("s"), .type = TC_ATTR_STRING, {.string = TC_LIT("x")}},
        {.key = TC_LIT("i"), .type = TC_ATTR_INT, {.integer = INT64_MIN}},
        {.key = TC_LIT("b"), .type = TC_ATTR_BOOL, {.boolean = false}},
        {.key = TC_LIT("is"), .type = TC_ATTR_INTS, {.ints = ints}, .count = 2},
        {.key = TC_LIT("ss"), .type = TC_ATTR_STRINGS, {.strings = strings}, .count = 2},
        {.key = TC_LIT("none"), .type = TC_ATTR_INTS, {.ints = NULL}, .count = 0},
        {.key = TC_LIT("at"), .type = TC_ATTR_SCOPES, {.scopes = scopes}, .count = 2},
    };
    struct tc_finding f = finding();
    f.attrs = attrs;
    f.attr_count = 7;
    struct tc_verdict v = verdict(&f);
    assert_non_null(strstr(render(&v, &SOURCES),
                           ",\"s\":\"x\",\"i\":-9223372036854775808,\"b\":false,\"is\":[3,-1],"
                           "\"ss\":[\"a\",\"\\n\"],\"none\":[],"
                           "\"at\":[{\"k8s.node.name\":\"n\",\"rank\":12},{}],"));
}

static void evidence_names_its_bytes_where_they_are_known(void **state)
{
    (void)state;
    const struct tc_evidence e[] = {
        {TC_LIT("k"), TC_LIT("u"), TC_LIT("d"), T0, {0, 7, 5000000000ULL}},
        {TC_LIT("k"), TC_EMPTY, TC_LIT("same source"), TC_TIME_NONE, {0, 1, 2}},
        {TC_LIT("k"), TC_EMPTY, TC_LIT("unknown source"), T0, {9, 1, 2}},
        {TC_LIT("k"), TC_EMPTY, TC_LIT("no source"), T0, {TC_SOURCE_NONE, 0, 0}},
    };
    struct tc_finding f = finding();
    f.evidence = e;
    f.evidence_count = 4;
    struct tc_verdict v = verdict(&f);
    view_calls = 0;
    assert_non_null(strstr(
        render(&v, &SOURCES),
        "\"evidence_trail\":[{\"kind\":\"k\",\"uid\":\"u\",\"time\":\"2026-11-15T03:04:05.123Z\","
        "\"description\":\"d\",\"raw\":{\"digest\":\"sha256:abc\",\"offset\":5000000000,"
        "\"length\":7}},{\"kind\":\"k\",\"uid\":\"\",\"description\":\"same source\",\"raw\":{"));
    assert_non_null(strstr(text, "\"description\":\"unknown source\"},"));
    assert_non_null(strstr(text, "\"description\":\"no source\"}]}"));
    assert_int_equal(view_calls, 2); /* neighbours from one source share its view */
    assert_null(strstr(render(&v, NULL), "digest"));
}

static void hostile_strings_still_give_json(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    char bytes[256];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)i;
    }
    f.headline = tc_slice_make(bytes, sizeof bytes);
    f.scope.pod = tc_slice_make(bytes, sizeof bytes);
    struct tc_verdict v = verdict(&f);
    render(&v, &SOURCES);
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json root;
    struct tc_error err;
    assert_non_null(parser);
    assert_int_equal(tc_json_parse(parser, tc_slice_cstr(text), &root, &err), TC_OK);
    tc_json_parser_destroy(parser);
}

static void a_buffer_that_is_too_small_is_reported_at_every_size(void **state)
{
    (void)state;
    struct tc_finding f = finding();
    struct tc_verdict v = verdict(&f);
    size_t full = strlen(render(&v, &SOURCES));
    for (size_t size = 0; size < full; size++) {
        struct tc_buf b = tc_buf_make(text, size);
        tc_verdict_render_json(&b, &v, &SOURCES);
        assert_true(b.overflowed);
    }
    /* The renderer may ask for more room than it needs, but never leaves part out in silence. */
    for (size_t size = full; size < full + 1000; size++) {
        struct tc_buf b = tc_buf_make(text, size);
        tc_verdict_render_json(&b, &v, &SOURCES);
        assert_true(b.overflowed || b.len == full);
    }
    struct tc_buf b = tc_buf_make(text, full + 1000);
    tc_verdict_render_json(&b, &v, &SOURCES);
    assert_false(b.overflowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_envelope_comes_in_the_order_of_the_schema),
        cmocka_unit_test(an_undated_verdict_says_so_and_has_no_times),
        cmocka_unit_test(a_member_of_an_archive_is_named),
        cmocka_unit_test(what_was_told_at_the_end_has_no_time_of_detection),
        cmocka_unit_test(flags_and_causes_are_written_when_they_apply),
        cmocka_unit_test(the_scope_leaves_out_what_is_not_known),
        cmocka_unit_test(attributes_keep_their_types),
        cmocka_unit_test(evidence_names_its_bytes_where_they_are_known),
        cmocka_unit_test(hostile_strings_still_give_json),
        cmocka_unit_test(a_buffer_that_is_too_small_is_reported_at_every_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
