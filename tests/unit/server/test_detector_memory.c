/* SPDX-License-Identifier: Apache-2.0 */
/* Who sends, and when a detector's memory is said to be full. */
#include "base/time.h"
#include "evidence/store.h"
#include "observe/metrics.h"
#include "server/detector_memory.h"
#include "server/ingest/sender.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/assert_text.h"

static void a_sender_is_a_token_and_an_address(void **state)
{
    (void)state;
    const struct {
        const char *token;
        struct tc_peer peer;
        const char *name;
    } cases[] = {
        {"", {{10, 0, 0, 7}, false}, "\nsender=10.0.0.7"},
        {"collectors", {{10, 0, 0, 7}, false}, "\nsender=collectors@10.0.0.7"},
        {"", {{0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2}, true}, "\nsender=2001:0db8:0001:0002::/64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[TC_SENDER_MAX];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_sender_put(&b, tc_slice_cstr(cases[i].token), &cases[i].peer);
        assert_slice(tc_buf_slice(&b), cases[i].name);
        assert_slice(tc_batch_sender(tc_buf_slice(&b), NULL), cases[i].name + 8);
    }
}

static void a_name_cannot_pass_for_a_sender(void **state)
{
    (void)state;
    struct tc_slice name;
    assert_slice(tc_batch_sender(TC_LIT("sender=me"), &name), "");
    assert_slice(name, "sender=me");
    assert_slice(tc_batch_sender(TC_LIT("a\nsender=me\nnode=b"), &name), "");
    assert_slice(tc_batch_sender(TC_LIT("a\nnode=b\nsender=c@1.2.3.4"), &name), "c@1.2.3.4");
    assert_slice(name, "a\nnode=b");
    assert_slice(tc_batch_sender(TC_EMPTY, &name), "");
}

static void numbers_are_small_and_the_same_in_every_process(void **state)
{
    (void)state;
    assert_int_equal(tc_sender_number(TC_EMPTY), 0);
    uint32_t number = tc_sender_number(TC_LIT("10.0.0.7"));
    assert_true(number > 0 && number < TC_SENDERS);
    assert_int_equal(number, tc_sender_number(TC_LIT("10.0.0.7")));
    assert_int_not_equal(number, tc_sender_number(TC_LIT("10.0.0.8")));
}

/* ---- saturation ---- */

static tc_status ignore(void *context, const struct tc_verdict *v)
{
    (void)context;
    (void)v;
    return TC_OK;
}

static void invent(struct tc_engine *engine, uint32_t sender, unsigned count)
{
    static unsigned names;
    for (unsigned i = 0; i < count; i++) {
        char node[32];
        struct tc_event ev;
        (void)snprintf(node, sizeof node, "n%u", names++);
        tc_event_init(&ev, TC_EVENT_K8S_EVENT);
        ev.sender = sender;
        ev.time_ns = INT64_C(1772600000) * TC_SECOND;
        ev.scope.node = ev.scope.pod = ev.scope.pod_uid = ev.uid = tc_slice_cstr(node);
        ev.scope.ns = TC_LIT("ml");
        ev.k8s.object_kind = TC_LIT("Pod");
        ev.k8s.object_name = ev.scope.pod;
        ev.k8s.reason = TC_LIT("Evicted");
        ev.k8s.message = TC_LIT("The node was low on resource: memory. ");
        assert_int_equal(tc_engine_feed(engine, &ev), TC_OK);
    }
}

static struct tc_slice describe(const struct tc_detector_memory *s, char *text, size_t size)
{
    struct tc_buf b = tc_buf_make(text, size);
    struct tc_json_out j = tc_json_object_make(&b);
    tc_detector_memory_describe(s, &j);
    (void)tc_json_end_line(&j);
    return tc_buf_slice(&b);
}

static void an_episode_begins_once_and_ends(void **state)
{
    (void)state;
    struct tc_engine_out out = {.verdict = ignore};
    struct tc_engine *engine = NULL;
    struct tc_error err = {0};
    char text[4096];
    size_t pattern = tc_pattern_index(TC_LIT("pod_evicted"));
    struct tc_detector_memory *s = calloc(1, sizeof *s);
    assert_non_null(s);
    assert_int_equal(tc_engine_create(&out, &engine, &err), TC_OK);
    uint32_t noisy = tc_sender_number(TC_LIT("10.0.0.66"));
    tc_detector_memory_note(s, TC_LIT("10.0.0.66"), noisy);
    tc_detector_memory_look(s, engine, 100 * TC_SECOND);
    assert_slice(describe(s, text, sizeof text), "{\"saturated\":[]}\n");
    for (int i = 0; i < 3; i++) {
        invent(engine, noisy, 20000);
        tc_detector_memory_look(s, engine, (101 + i) * TC_SECOND);
    }
    struct tc_slice json = describe(s, text, sizeof text);
    assert_non_null(memmem(json.ptr, json.len, "\"pod_evicted\",\"source\":\"10.0.0.66\"", 34));
    assert_int_equal(tc_pattern_value(pattern, TC_PATTERN_SATURATIONS), 1);
    assert_int_equal(tc_pattern_value(pattern, TC_PATTERN_SATURATED), 1);
    tc_detector_memory_look(s, engine, 162 * TC_SECOND);
    assert_int_equal(tc_pattern_value(pattern, TC_PATTERN_SATURATED), 1);
    tc_detector_memory_look(s, engine, 163 * TC_SECOND);
    assert_int_equal(tc_pattern_value(pattern, TC_PATTERN_SATURATED), 0);
    assert_slice(describe(s, text, sizeof text), "{\"saturated\":[]}\n");
    assert_int_equal(tc_pattern_value(pattern, TC_PATTERN_SATURATIONS), 1);
    tc_engine_destroy(engine);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sender_is_a_token_and_an_address),
        cmocka_unit_test(a_name_cannot_pass_for_a_sender),
        cmocka_unit_test(numbers_are_small_and_the_same_in_every_process),
        cmocka_unit_test(an_episode_begins_once_and_ends),
    };
    return cmocka_run_group_tests_name("server_saturation", tests, NULL, NULL);
}
