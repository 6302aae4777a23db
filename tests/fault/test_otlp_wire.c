/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of OTLP requests takes its memory when it is made, or is not made; after that, checking
 * and reading ask for none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/otlp/wire.h"
#include "support/faulty.h"
#include "support/otlp_writer.h"

#include <stdlib.h>

#define ARENA_BYTES ((size_t)1 << 20)
#define TRIES_MAX 64

/* A kernel line, one of our own events in attributes, training, and an odd value. */
static const char LOGS[] =
    "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"k8s.node.name\",\"value\":{"
    "\"stringValue\":\"gpu-01\"}}]},\"scopeLogs\":[{\"logRecords\":["
    "{\"timeUnixNano\":\"1772359501000000000\",\"body\":{\"stringValue\":"
    "\"NVRM: Xid (PCI:0000:3b:00): 79, pid=1, a\"}},"
    "{\"timeUnixNano\":\"1772359502000000000\",\"body\":{\"stringValue\":"
    "\"kernel: nfs: server 10.0.0.9 not responding, still trying\"}},"
    "{\"timeUnixNano\":\"1772359503000000000\",\"attributes\":[{\"key\":\"tracecore.kind\","
    "\"value\":{\"stringValue\":\"train_step\"}},{\"key\":\"step\",\"value\":{\"intValue\":\"5\"}},"
    "{\"key\":\"rank\",\"value\":{\"intValue\":\"3\"}}]},"
    "{\"timeUnixNano\":\"1772359504000000000\",\"body\":{\"stringValue\":\"step: 20  loss: 1\"}}"
    "]}]}]}";

static tc_status on_event(void *context, const struct tc_event *ev)
{
    (void)ev;
    ++*(size_t *)context;
    return TC_OK;
}

static size_t read_once(struct tc_otlp_reader *r, enum tc_otlp_form form, struct tc_slice body)
{
    static char blocks[2][ARENA_BYTES];
    struct tc_arena arena;
    struct tc_arena scratch;
    struct tc_error err = {0};
    struct tc_otlp_tape tape;
    size_t events = 0;
    struct tc_codec_out out = {
        .event = on_event, .context = &events, .arena = &arena, .scratch = &scratch};
    struct tc_codec_input in = {.bytes = body, .boot_ns = TC_TIME_NONE, .now_ns = TC_TIME_NONE};
    tc_arena_init(&arena, "arena", blocks[0], ARENA_BYTES);
    tc_arena_init(&scratch, "scratch", blocks[1], ARENA_BYTES);
    assert_int_equal(tc_otlp_check(r, TC_OTLP_LOGS, form, body, &tape, &err), TC_OK);
    assert_int_equal(tape.counts.records, 4);
    assert_int_equal(tc_otlp_events(r, &tape, &in, &out, &err), TC_OK);
    tc_arena_fini(&arena);
    tc_arena_fini(&scratch);
    return events;
}

static void a_reader_is_made_or_not(void **state)
{
    (void)state;
    struct tc_otlp_reader *r = NULL;
    long tries = 0;
    for (; r == NULL && tries < TRIES_MAX; tries++) {
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .fail_at = tries};
        r = tc_otlp_reader_create(&TC_OTLP_LIMITS_DEFAULT, 4096);
        assert_true((r == NULL) == tc_faulty_plan->hit);
    }
    tc_faulty_plan->fault = FAULT_NONE;
    assert_true(tries > 3 && r != NULL);
    tc_otlp_reader_destroy(r);
}

static void reading_asks_for_no_memory(void **state)
{
    (void)state;
    char *bytes = NULL;
    size_t length = 0;
    struct tc_slice json = tc_slice_make(LOGS, sizeof LOGS - 1);
    assert_true(tc_otlp_write(json, false, &bytes, &length));
    struct tc_otlp_reader *r = tc_otlp_reader_create(&TC_OTLP_LIMITS_DEFAULT, 4096);
    assert_non_null(r);
    *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC};
    size_t from_json = read_once(r, TC_OTLP_JSON, json);
    size_t from_protobuf = read_once(r, TC_OTLP_PROTOBUF, tc_slice_make(bytes, length));
    tc_faulty_plan->fault = FAULT_NONE;
    assert_int_equal(tc_faulty_plan->calls, 0);
    assert_true(from_json >= 4);
    assert_int_equal(from_json, from_protobuf);
    tc_otlp_reader_destroy(r);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_is_made_or_not),
        cmocka_unit_test(reading_asks_for_no_memory),
    };
    return tc_faulty_init() != 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
