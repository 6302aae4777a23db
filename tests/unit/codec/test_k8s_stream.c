/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kubernetes codec: streams of JSON documents, whole and torn. Fixtures are
 * invented.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/codec/k8s_testing.h"

static void watch_streams_of_all_shapes_are_read_with_exact_bytes(void **state)
{
    (void)state;
    static const char stream[] = "\xef\xbb\xbf"
                                 "{\n \"type\": \"ADDED\",\n \"object\": " EVICTED "\n}\n"
                                 "{\"type\":\"DELETED\",\"object\":" EVICTED "}" EVICTED
                                 "\r\n\n[" EVICTED " , " EVICTED "]\n";
    assert_int_equal(decode(stream), TC_OK);
    assert_int_equal(t.count, 5);
    assert_true(tc_slice_starts(raw_of(0), TC_LIT("{\n \"type\"")));
    assert_true(tc_slice_ends(raw_of(0), TC_LIT("\n}")));
    SAME(raw_of(1), "{\"type\":\"DELETED\",\"object\":" EVICTED "}");
    for (size_t i = 2; i < 5; i++) {
        SAME(raw_of(i), EVICTED);
    }
    assert_int_equal(t.cursor.offset, sizeof stream - 1);
}

static void pause_stops_between_documents_and_loses_nothing(void **state)
{
    (void)state;
    t.pause_after_each = true;
    assert_int_equal(decode(EVICTED "\n" EVICTED "\n" EVICTED), TC_OK);
    assert_int_equal(t.count, 3);
    /* The fourth finds the end. */
    assert_int_equal(t.calls, 4);
}

static void empty_input_has_no_events(void **state)
{
    (void)state;
    static const char *const empty[] = {
        "",      " \n\t",        "[]", "{\"items\":[]}", "{\"items\":null}", "# only a comment\n",
        "---\n", "---\n---\n~\n"};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        assert_int_equal(decode(empty[i]), TC_OK);
        assert_int_equal(t.count, 0);
        assert_int_equal(t.unknown, 0);
    }
}

static void torn_list_gives_all_whole_items_wherever_it_is_cut(void **state)
{
    (void)state;
    static const char list[] =
        "{\"apiVersion\":\"v1\",\"items\":[" EVICTED "," EVICTED "],\"kind\":\"List\"}";
    size_t first = (size_t)(strstr(list, "[") - list) + 1;
    size_t one = strlen(EVICTED);
    for (size_t cut = 1; cut < sizeof list - 1; cut++) {
        assert_int_equal(decode_bytes(list, cut), TC_E_MALFORMED);
        size_t whole = cut < first + one ? 0 : cut < first + 2 * one + 1 ? 1 : 2;
        assert_int_equal(t.count, whole);
        assert_int_equal(t.err.status, TC_E_MALFORMED);
        assert_true(t.err.offset <= cut);
        assert_true(strstr(t.err.message, "cut off") != NULL);
        assert_false(t.cursor.done);
    }
    assert_int_equal(decode_bytes(list, first + one + 5), TC_E_MALFORMED);
    assert_string_equal(t.err.message, "items[1] is cut off or is not JSON");
    assert_int_equal(t.err.offset, first + one + 1);
}

static void broken_json_is_an_error_with_its_offset(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t count;
        size_t offset;
    } cases[] = {
        {EVICTED "\n{\"kind\": nonsense}", 1, sizeof EVICTED},
        {EVICTED "\n}", 1, sizeof EVICTED},
        {EVICTED "\n\"text\"", 1, sizeof EVICTED},
        {"{\"kind\"}", 0, 0},
        {"{kind:1}", 0, 0},
        {"{\"a\":1 \"b\":2}", 0, 0},
        {"{\"items\":[1 2]}", 0, 12},
        {"{\"items\":[1,]}", 0, 12},
        {"[{]}", 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].text), TC_E_MALFORMED);
        assert_int_equal(t.count, cases[i].count);
        if (t.err.offset != cases[i].offset) {
            print_error("case %zu: %s\n", i, t.err.message);
        }
        assert_int_equal(t.err.offset, cases[i].offset);
        assert_true(strlen(t.err.message) > 0);
    }
}

#define BAD_BEFORE "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"reason\":"

static void a_bad_item_is_skipped_and_told_at_the_end(void **state)
{
    (void)state;
    static const char *const bad[] = {
        BAD_BEFORE "\"\xff\"}", BAD_BEFORE "\"\\ud800\"}", BAD_BEFORE "\"\x01\"}",
        BAD_BEFORE "01}",       BAD_BEFORE "{]}",          BAD_BEFORE "nonsense}",
    };
    static const struct {
        const char *before;
        const char *between;
        const char *after;
    } shapes[] = {
        {"{\"items\":[" EVICTED ",", "," EVICTED "," EVICTED, "]}"},
        {"[" EVICTED ",", "," EVICTED "," EVICTED, "]"},
        {EVICTED "\n", "\n" EVICTED "\n" EVICTED, "\n"},
        {EVICTED, EVICTED EVICTED, ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        for (size_t j = 0; j < sizeof shapes / sizeof shapes[0]; j++) {
            char text[4096];
            (void)snprintf(text, sizeof text, "%s%s%s%s", shapes[j].before, bad[i],
                           shapes[j].between, shapes[j].after);
            assert_int_equal(decode(text), TC_E_MALFORMED);
            assert_int_equal(t.count, 3);
            assert_int_equal(t.err.status, TC_E_MALFORMED);
            assert_int_equal(t.err.offset, strlen(shapes[j].before));
            assert_true(strlen(t.err.message) > 0);
            assert_true(t.cursor.done);
            t.pause_after_each = true;
            assert_int_equal(decode(text), TC_E_MALFORMED);
            assert_int_equal(t.count, 3);
            assert_int_equal(t.err.offset, strlen(shapes[j].before));
            t.pause_after_each = false;
        }
    }
}

static void the_first_of_several_bad_things_is_told(void **state)
{
    (void)state;
    assert_int_equal(decode("{\"items\":[{\"a\":x}," EVICTED ",{\"b\":y}]}\n{\"c\"}\n" EVICTED),
                     TC_E_MALFORMED);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.err.offset, 10);
    /* A torn tail still ends the walk. */
    assert_int_equal(decode("{\"items\":[{\"a\":x}," EVICTED ",{\"b\":"), TC_E_MALFORMED);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.err.offset, 10);
    assert_false(t.cursor.done);
    /* A document that cannot be walked, but whose end is known. */
    assert_int_equal(decode(EVICTED "{\"kind\"}{\"items\":[1 2]}" EVICTED), TC_E_MALFORMED);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.err.offset, strlen(EVICTED));
    /* What the sink says comes before what the input says. */
    t.refuse = TC_E_IO;
    assert_int_equal(decode("[{\"a\":x}," EVICTED "]"), TC_E_IO);
}

static void nesting_beyond_the_limit_is_refused(void **state)
{
    (void)state;
    char text[512] = "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"reason\":\"R\",\"x\":";
    size_t len = strlen(text);
    for (size_t levels = 50; levels < 90; levels += 20) {
        memset(text + len, '[', levels);
        memset(text + len + levels, ']', levels);
        text[len + 2 * levels] = '}';
        assert_int_equal(decode_bytes(text, len + 2 * levels + 1),
                         levels < TC_JSON_DEPTH_MAX - 2 ? TC_OK : TC_E_LIMIT);
        assert_int_equal(t.count, levels < TC_JSON_DEPTH_MAX - 2 ? 1 : 0);
    }
}

static void full_arena_and_refusing_sink_stop_the_decoding(void **state)
{
    (void)state;
    t.arena_bytes = 64;
    assert_int_equal(decode(EVICTED), TC_E_NOMEM);
    assert_int_equal(t.count, 0);
    t.arena_bytes = ARENA_BYTES;
    t.refuse = TC_E_IO;
    assert_int_equal(decode(EVICTED EVICTED), TC_E_IO);
    assert_int_equal(t.count, 1);
    t.refuse = TC_OK;
    t.scratch_bytes = 8;
    assert_int_equal(decode("{\"kind\":\"Node\",\"metadata\":{\"name\":\"a-long-node-name\"},"
                            "\"status\":{\"conditions\":[{\"type\":\"Ready\"}]}}"),
                     TC_E_NOMEM);
}

static void unknown_is_counted_even_when_nobody_asks(void **state)
{
    (void)state;
    assert_int_equal(decode("{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\"}"), TC_OK);
    struct tc_codec_input in = {.bytes = t.text};
    t.cursor = (struct tc_codec_cursor){0};
    t.unknown = 0;
    assert_int_equal(tc_codec_k8s.decode(&in, &t.cursor, &t.out, NULL), TC_OK);
    assert_int_equal(t.unknown, 0);
    assert_int_equal(t.cursor.unknown, 1);
    t.out.unknown = NULL;
    in.want_unknown = true;
    t.cursor = (struct tc_codec_cursor){0};
    assert_int_equal(tc_codec_k8s.decode(&in, &t.cursor, &t.out, NULL), TC_OK);
    assert_int_equal(t.cursor.unknown, 1);
}

static void typed_lists_are_known_by_the_shape_of_their_items(void **state)
{
    (void)state;
    assert_int_equal(
        decode("{\"kind\":\"List\",\"items\":[{\"involvedObject\":{\"name\":\"a\"}},"
               "{\"regarding\":{\"name\":\"b\"}},"
               "{\"spec\":{\"containers\":[]},\"status\":{\"reason\":\"Evicted\"}},"
               "{\"metadata\":{\"name\":\"n\"},\"status\":{\"nodeInfo\":{},\"conditions\":"
               "[{\"type\":\"Ready\"}]}}]}"),
        TC_OK);
    assert_int_equal(t.count, 4);
    assert_int_equal(t.events[0].kind, TC_EVENT_K8S_EVENT);
    assert_int_equal(t.events[1].kind, TC_EVENT_K8S_EVENT);
    SAME(t.events[1].k8s.object_name, "b");
    assert_int_equal(t.events[2].kind, TC_EVENT_POD_STATE);
    assert_int_equal(t.events[3].kind, TC_EVENT_NODE_CONDITION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(watch_streams_of_all_shapes_are_read_with_exact_bytes, setup),
        cmocka_unit_test_setup(pause_stops_between_documents_and_loses_nothing, setup),
        cmocka_unit_test_setup(empty_input_has_no_events, setup),
        cmocka_unit_test_setup(torn_list_gives_all_whole_items_wherever_it_is_cut, setup),
        cmocka_unit_test_setup(broken_json_is_an_error_with_its_offset, setup),
        cmocka_unit_test_setup(a_bad_item_is_skipped_and_told_at_the_end, setup),
        cmocka_unit_test_setup(the_first_of_several_bad_things_is_told, setup),
        cmocka_unit_test_setup(nesting_beyond_the_limit_is_refused, setup),
        cmocka_unit_test_setup(full_arena_and_refusing_sink_stop_the_decoding, setup),
        cmocka_unit_test_setup(unknown_is_counted_even_when_nobody_asks, setup),
        cmocka_unit_test_setup(typed_lists_are_known_by_the_shape_of_their_items, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
