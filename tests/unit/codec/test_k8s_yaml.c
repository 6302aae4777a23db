/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kubernetes codec: YAML, and telling our formats from others. Fixtures
 * are invented.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/codec/k8s_testing.h"

static const char yaml_list[] = "# invented\n"
                                "apiVersion: v1\n"
                                "items:\n"
                                "- apiVersion: v1\n"
                                "  count: 2\n"
                                "  involvedObject: {kind: Pod, name: \"w-0\", uid: 'u'}\n"
                                "  kind: Event\n"
                                "  lastTimestamp: \"2026-03-01T10:00:00Z\"\n"
                                "  message: >-\n"
                                "    Attempting to\n"
                                "    reclaim memory\n"
                                "  reason: \"Evicted\"\n"
                                "\n"
                                "# between\n"
                                "- kind: Pod\n"
                                "  apiVersion: v1\n"
                                "  metadata: {name: ~}\n"
                                "  spec:\n"
                                "    nodeName: gpu-01\n"
                                "  status:\n"
                                "    reason: Evicted\n"
                                "    message:\n"
                                "kind: List\n"
                                "metadata: {}\n";

static void yaml_list_is_read_item_by_item_with_its_bytes(void **state)
{
    (void)state;
    assert_int_equal(sniff(yaml_list), TC_SNIFF_LIKELY);
    assert_int_equal(decode(yaml_list), TC_OK);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.unknown, 0);
    const struct tc_event *ev = &t.events[0];
    assert_int_equal(ev->kind, TC_EVENT_K8S_EVENT);
    assert_true(ev->time_ns == at("2026-03-01T10:00:00Z"));
    assert_int_equal(ev->k8s.count, 2);
    SAME(ev->k8s.message, "Attempting to reclaim memory");
    SAME(ev->scope.pod, "w-0");
    SAME(ev->scope.pod_uid, "u");
    assert_true(tc_slice_starts(raw_of(0), TC_LIT("apiVersion: v1\n  count: 2\n")));
    assert_true(tc_slice_ends(raw_of(0), TC_LIT("  reason: \"Evicted\"")));
    SAME(t.events[1].pod.reason, "Evicted");
    SAME(t.events[1].pod.message, "");
    SAME(t.events[1].scope.node, "gpu-01");
    SAME(t.events[1].scope.pod, "");
    assert_true(tc_slice_starts(raw_of(1), TC_LIT("kind: Pod\n")));
    assert_true(tc_slice_ends(raw_of(1), TC_LIT("    message:")));
    assert_true(t.cursor.done);
    assert_int_equal(t.cursor.offset, t.text.len);
}

static void yaml_documents_sequences_and_watches_are_read(void **state)
{
    (void)state;
    assert_int_equal(decode("---\nkind: Event\nreason: A\n---\n---\n- kind: Event\n  reason: 'B'\n"
                            "- 7\n- [x]\n...\n---\ntype: ADDED\nobject: {kind: Event, reason: C}\n"
                            "---\nkind: Namespace\n"),
                     TC_OK);
    assert_int_equal(t.count, 3);
    SAME(t.events[0].k8s.reason, "A");
    SAME(raw_of(0), "kind: Event\nreason: A");
    SAME(t.events[1].k8s.reason, "B");
    SAME(raw_of(1), "kind: Event\n  reason: 'B'");
    SAME(t.events[2].k8s.reason, "C");
    SAME(raw_of(2), "type: ADDED\nobject: {kind: Event, reason: C}");
    assert_int_equal(t.unknown, 3);
}

static void yaml_strings_keep_every_byte(void **state)
{
    (void)state;
    assert_int_equal(
        decode("kind: Event\nreason: 1234\nmessage: \"tab\\t quote\\\" \\u00e9 \xc3\xa9\"\n"
               "type: 'null'\ncount: 0x10\n"),
        TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].k8s.reason, "1234");
    SAME(t.events[0].k8s.message, "tab\t quote\" \xc3\xa9 \xc3\xa9");
    SAME(t.events[0].k8s.type, "null");
    assert_int_equal(t.events[0].k8s.count, 1);
}

static void yaml_logs_are_read_record_by_record(void **state)
{
    (void)state;
    assert_int_equal(decode("resourceLogs:\n"
                            "- resource:\n"
                            "    attributes:\n"
                            "    - {key: k8s.node.name, value: {stringValue: gpu-02}}\n"
                            "    - {key: k8s.object.kind, value: {stringValue: Pod}}\n"
                            "    - {key: k8s.object.name, value: {stringValue: w-1}}\n"
                            "  scopeLogs:\n"
                            "  - scope: {name: s}\n"
                            "    logRecords:\n"
                            "    - timeUnixNano: \"7\"\n"
                            "      attributes: [{key: k8s.event.reason, value: {stringValue: A}}]\n"
                            "    - attributes: [{key: k8s.event.reason, value: {stringValue: B}},\n"
                            "                   {key: k8s.event.count, value: {intValue: 4}}]\n"
                            "- scopeLogs: [{logRecords: [{attributes: [\n"
                            "    {key: k8s.event.reason, value: {stringValue: C}}]}]}]\n"),
                     TC_OK);
    assert_int_equal(t.count, 3);
    SAME(t.events[0].k8s.reason, "A");
    SAME(t.events[0].scope.pod, "w-1");
    assert_true(t.events[0].time_ns == 7);
    assert_true(tc_slice_starts(raw_of(0), TC_LIT("timeUnixNano")));
    assert_true(tc_slice_ends(raw_of(0), TC_LIT("stringValue: A}}]")));
    SAME(t.events[1].k8s.reason, "B");
    SAME(t.events[1].scope.node, "gpu-02");
    assert_int_equal(t.events[1].k8s.count, 4);
    SAME(t.events[2].k8s.reason, "C");
    SAME(t.events[2].scope.node, "");
    assert_true(tc_slice_starts(raw_of(2), TC_LIT("{attributes:")));
    assert_true(tc_slice_ends(raw_of(2), TC_LIT("C}}]}")));
}

static void yaml_lists_of_wrong_shape_are_not_walked_into(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "items: {kind: Event, reason: A}\n",
        "resourceLogs: [[{scopeLogs: []}]]\n",
        "resourceLogs: [{scopeLogs: {logRecords: [{body: 1}]}}]\n",
        "resourceLogs: [{resource: ~, scopeLogs: ~}, 7]\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(decode(texts[i]), TC_OK);
        assert_int_equal(t.count, 0);
    }
}

static void yaml_aliases_are_refused_after_what_came_before(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "kind: Event\nreason: A\n---\na: &x [1]\nb: *x\n",
        "kind: Event\nreason: A\n---\na: &x {b: 1}\n",
        "kind: Event\nreason: A\n---\na: &x text\n",
        "kind: Event\nreason: A\n---\n- *x\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tc_status status = decode(texts[i]);
        /* An alias without an anchor may already be an error of the parser. */
        assert_true(status == TC_E_UNSUPPORTED || (i == 3 && status == TC_E_MALFORMED));
        assert_int_equal(t.count, 1);
        assert_true(t.err.offset > 20);
        assert_false(t.cursor.done);
    }
}

static void broken_yaml_is_an_error_with_its_place(void **state)
{
    (void)state;
    assert_int_equal(decode("items:\n- {kind: Event, reason: A}\n- {kind: Event, reason: [\n"),
                     TC_E_MALFORMED);
    assert_int_equal(t.count, 1);
    assert_true(strstr(t.err.message, "YAML") != NULL);
    assert_true(strstr(t.err.message, "memory-@") == NULL);
    assert_true(t.err.offset > 30 && t.err.offset <= t.text.len);
    static const char *const texts[] = {"just some text\n", "a: 1\n b: 2\n", "{a: 1}: 2\nb",
                                        "? [a]\n: b\n",     "\xff\xfe{\n",   "a: \"\xff\"\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(decode(texts[i]), TC_E_MALFORMED);
        assert_int_equal(t.count, 0);
    }
}

static void yaml_that_the_parser_must_not_see_is_cut_away(void **state)
{
    (void)state;
    static const struct {
        const char *tail;
        size_t tail_len;
        tc_status want;
    } cases[] = {
        {"%YAML 1.2\n", 10, TC_E_UNSUPPORTED},
        {"\r%\n", 3, TC_E_UNSUPPORTED},
        {"# \xff", 3, TC_E_MALFORMED},
        {"# \xc3(", 4, TC_E_MALFORMED},
        {"# \xc3", 3, TC_E_MALFORMED},
        {"# \xc1\x81", 4, TC_E_MALFORMED},
        {"# \xe0\x81\x81", 5, TC_E_MALFORMED},
        {"# \xed\xa0\x80", 5, TC_E_MALFORMED},
        {"# \xf0\x81\x81\x81", 6, TC_E_MALFORMED},
        {"# \xf4\x90\x80\x80", 6, TC_E_MALFORMED},
        {"# \xf5\x80\x80\x80", 6, TC_E_MALFORMED},
        {"# \x80", 3, TC_E_MALFORMED},
        {"# a\0b", 5, TC_E_MALFORMED},
        {"# \x1b[2J", 6, TC_E_MALFORMED},
        {"# \x7f", 3, TC_E_MALFORMED},
        {"# \xc3\xa9 \xe2\x82\xac %\n", 9, TC_OK},
        {"# \xf0\x9f\x98\x80\n", 7, TC_OK},
        {"# \xf4\x8f\xbf\xbf\t\r\n", 9, TC_OK},
    };
    static const char head[] = "- {kind: Event, reason: A}\n- kind: Event\n  reason: B\n"
                               "- kind: Event\n  reason: C\n";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        memcpy(text, head, sizeof head - 1);
        memcpy(text + sizeof head - 1, cases[i].tail, cases[i].tail_len);
        if (decode_bytes(text, sizeof head - 1 + cases[i].tail_len) != cases[i].want) {
            print_error("case %zu: %s\n", i, t.err.message);
            fail();
        }
        /* The item that the cut touches may not be whole. */
        assert_int_equal(t.count, cases[i].want == TC_OK ? 3 : 2);
        if (cases[i].want != TC_OK) {
            assert_true(t.err.offset >= sizeof head - 1 && t.err.offset < t.text.len);
        }
    }
    assert_int_equal(decode_bytes("%", 1), TC_E_UNSUPPORTED);
    assert_int_equal(decode_bytes("\xef\xbb\xbf%", 4), TC_E_UNSUPPORTED);
    assert_int_equal(decode_bytes("\0", 1), TC_E_MALFORMED);
}

static void yaml_beyond_a_limit_is_refused(void **state)
{
    (void)state;
    char text[1200] = "a: ";
    memset(text + 3, '[', 63);
    memset(text + 66, ']', 63);
    assert_int_equal(decode_bytes(text, 129), TC_OK);
    memset(text + 3, '[', 64);
    memset(text + 67, ']', 64);
    assert_int_equal(decode_bytes(text, 131), TC_E_LIMIT);
    t.scratch_bytes = 512;
    memset(text, 'x', sizeof text);
    text[1] = ':';
    text[2] = ' ';
    assert_int_equal(decode_bytes(text, 200), TC_OK);
    assert_int_equal(decode_bytes(text, sizeof text), TC_E_LIMIT);
    assert_true(strstr(t.err.message, "too large") != NULL);
    /* The limit is one item's: a list has no length. */
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = "- 7\n"[i % 4];
    }
    assert_int_equal(decode_bytes(text, sizeof text), TC_OK);
    assert_int_equal(t.unknown, sizeof text / 4);
}

/* Text of `count` times `part` between the two; the caller frees it. */
static char *repeat(const char *before, const char *part, size_t count, const char *after)
{
    size_t part_len = strlen(part);
    char *text = malloc(strlen(before) + part_len * count + strlen(after) + 1);
    assert_non_null(text);
    char *end = stpcpy(text, before);
    for (size_t i = 0; i < count; i++, end += part_len) {
        memcpy(end, part, part_len);
    }
    (void)stpcpy(end, after);
    return text;
}

static void yaml_that_the_parser_would_keep_whole_is_refused(void **state)
{
    (void)state;
    static const char head[] = "- kind: Event\n  reason: A\n- kind: Event\n  reason: B\n  x: y\n";
    static const struct {
        const char *opens;
        const char *part;
    } cases[] = {
        {"  s: ", "["},
        {"  s: ", "{"},
        {"  s: ", "[ #c\n    "},
        {"  s: ", "[\n    "},
        {"  s: ", "[\n    - "},
        {"  s: ", "[\r    "},
        {"  s: ", "[\n\t\t"},
        {"  s: [[", "a, "},
        {"  s: ", "[\"]\", "},
        {"  s: [[", "a\n- ,"},
        {"  s: [[", "\n- k: v,"},
        {"  s: [[", "\n- [\n"},
        {"  s: [[", "\n]]#\n[,"},
        {"  s: [[", "a,\xe2\x80\xa8 k: v\n"},
        {"  s: it's\n  [", "k: [\n"},
        {"  s: ", "!t "},
        {"  s: ", "&a "},
        {"--- ", "["},
        {"--- [\n", "---\n["},
        {"? ", "["},
        {"  s: |\n", "    [\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        /* Something else that is wrong behind it does not hide it. */
        char *tail = repeat(cases[i].opens, cases[i].part, 40000, i % 2 == 0 ? "\n" : "\x01");
        char *text = repeat(head, tail, 1, "");
        tc_status status = decode(text);
        if (status != TC_E_LIMIT) {
            print_error("case %zu: %s\n", i, t.err.message);
        }
        assert_int_equal(status, TC_E_LIMIT);
        assert_true(t.count >= 1);
        SAME(t.events[0].k8s.reason, "A");
        assert_true(strstr(t.err.message, "brackets") != NULL);
        free(tail);
        free(text);
    }
}

static void yaml_of_many_small_entries_has_no_limit(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "- kind: E\n  a: [x, y, z]\n  b: {}\n",
        "- kind: E\n  a: it's\n  b: \"[{\"\n",
        "- kind: E\n  b: 1\n  a: 'it''s [,,'\n",
        "- kind: E\n  b: 1\n  a: |\n    [,\n    {,\n",
        "- kind: E\n  a: 'x [\n    y,,'\n  b:\n  - [u, v]\n  - \"w,\\\"\"\n  c: d\n",
        "- kind: E\n  f:a,b:\n    k:{\"c\",\"d\"}:\n      .: {}\n      f:e,: {}\n",
        "-\n  kind: E\n  'a,': [[b],\n    c]\n  \"d,\": e\n",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *text = repeat("items:\n", parts[i], 20000, "kind: List\n");
        if (decode(text) != TC_OK) {
            print_error("case %zu: %s\n", i, t.err.message);
            fail();
        }
        assert_int_equal(t.unknown, 20000);
        free(text);
    }
    char *text = repeat("---\n", "kind: E\na: [x, y,\n  z]\n---\n", 20000, "");
    assert_int_equal(decode(text), TC_OK);
    free(text);
}

static void yaml_entry_is_refused_from_its_length_on(void **state)
{
    (void)state;
    size_t most = (size_t)1 << 20;
    static const char head[] = "kind: Event\nreason: A\n---\n";
    for (size_t more = 0; more < 2; more++) {
        /* "a: '" and "'" are the entry too. */
        char *text =
            repeat("kind: Event\nreason: A\n---\na: '", "xx", (most - 6) / 2 + more, "'\n");
        assert_int_equal(decode(text), TC_E_LIMIT);
        assert_int_equal(t.count, 1);
        /* The first is too large for the test's arena, the second is not looked at. */
        assert_int_equal(strstr(t.err.message, "an entry is too long") != NULL, more);
        assert_true(more == 0 || t.err.offset == sizeof head - 1);
        free(text);
    }
}

static void our_formats_are_recognised_by_content(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int want;
    } cases[] = {
        {EVICTED, TC_SNIFF_SURE},
        {"\n [" EVICTED, TC_SNIFF_SURE},
        {"\xef\xbb\xbf{\"items\": [{\"apiVersion\": \"v1\", \"kind\" : \"Pod\", \"metadata\"",
         TC_SNIFF_SURE},
        {"{\"type\":\"ADDED\",\"object\":{\"kind\":\"Event\",\"apiVersion\":\"v1\"}}",
         TC_SNIFF_SURE},
        {"{\"metadata\":{},\"involvedObject\":{}}", TC_SNIFF_LIKELY},
        {"{\"metadata\":{},\"regarding\":{}}", TC_SNIFF_LIKELY},
        {"apiVersion: v1\r\nkind: Pod\r\n", TC_SNIFF_LIKELY},
        {"---\n# c\n\nkind: List\n", TC_SNIFF_LIKELY},
        {"- apiVersion: v1\n", TC_SNIFF_LIKELY},
        {"metadata:\n  name: a\nkind: Event\n", TC_SNIFF_LIKELY},
        {"resourceLogs:\n- resource: {}\n", TC_SNIFF_LIKELY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (sniff(cases[i].text) != cases[i].want) {
            print_error("case %zu\n", i);
        }
        assert_int_equal(sniff(cases[i].text), cases[i].want);
    }
}

static void foreign_formats_are_not_ours(void **state)
{
    (void)state;
    static const char *const foreign[] = {
        "",
        "\n",
        "{",
        "{}",
        "[",
        "[[]]",
        "{7}",
        "{\"x\"",
        "{\"x\":[",
        "{\"kind\":\"xid\",\"time\":\"2026-03-01T10:00:00Z\",\"xid\":79}\n",
        "{\"kind\":\"nccl_record\",\"nccl.op\":\"all_reduce\"}\n",
        ("{\"kind\":\"k8s_event\",\"object.kind\":\"Pod\",\"message\":\"{\\\"kind\\\":\\\"Pod\\\","
         "\\\"apiVersion\\\":\\\"v1\\\"}\"}\n"),
        "{\"kind\":\"k8s_event\",\"apiVersion\":\"x\"}",
        "{\"kind\":\"7\",\"apiVersion\":\"x\"}",
        "{\"version\":\"2.4\",\"pg_config\":{\"0\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}}}",
        "{\"date\":\"20260301\",\"manifest\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\"},\"t\":1}",
        "{\"resourceLogs\":[]}",
        "{\"resourceLogs\":[{\"resource\":{}, \"x\": \"k8s.event.reason\" ",
        "{\"resourceMetrics\":[]}",
        "# HELP DCGM_FI_DEV_GPU_TEMP t\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 4\n",
        "[  12.3] NVRM: Xid (PCI:0000:b3:00): 79\n",
        "NVRM: Xid (PCI:0000:b3:00): 79\nkind of bad\n",
        "6,1,2,-;apiVersion: v1\n",
        "# Title\n\nSome prose about pods.\n\n```yaml\napiVersion: v1\nkind: Pod\n```\n",
        "- a list\n- of things\n",
        "kind: xid\n",
        "version: '0.1'\nscenario: {}\n",
        ":::MLLOG {\"kind\":\"Pod\",\"apiVersion\":\"v1\"}\n",
    };
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        if (sniff(foreign[i]) != TC_SNIFF_NO) {
            print_error("case %zu\n", i);
        }
        assert_int_equal(sniff(foreign[i]), TC_SNIFF_NO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(yaml_list_is_read_item_by_item_with_its_bytes, setup),
        cmocka_unit_test_setup(yaml_documents_sequences_and_watches_are_read, setup),
        cmocka_unit_test_setup(yaml_strings_keep_every_byte, setup),
        cmocka_unit_test_setup(yaml_logs_are_read_record_by_record, setup),
        cmocka_unit_test_setup(yaml_lists_of_wrong_shape_are_not_walked_into, setup),
        cmocka_unit_test_setup(yaml_aliases_are_refused_after_what_came_before, setup),
        cmocka_unit_test_setup(broken_yaml_is_an_error_with_its_place, setup),
        cmocka_unit_test_setup(yaml_that_the_parser_must_not_see_is_cut_away, setup),
        cmocka_unit_test_setup(yaml_beyond_a_limit_is_refused, setup),
        cmocka_unit_test_setup(yaml_that_the_parser_would_keep_whole_is_refused, setup),
        cmocka_unit_test_setup(yaml_of_many_small_entries_has_no_limit, setup),
        cmocka_unit_test_setup(yaml_entry_is_refused_from_its_length_on, setup),
        cmocka_unit_test_setup(our_formats_are_recognised_by_content, setup),
        cmocka_unit_test_setup(foreign_formats_are_not_ours, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
