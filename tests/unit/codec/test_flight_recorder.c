/* SPDX-License-Identifier: Apache-2.0 */
/* What the Flight Recorder codec makes of dumps. All dumps here are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/fr_probe.h"
#include "support/pickle_writer.h"

#include <stdio.h>
#include <string.h>

#define CONFIG                                                                                  \
    "\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"default_pg\",\"ranks\":\"[0, 1, 2, 3]\"}," \
    "\"7\":{\"name\":\"7\",\"desc\":\"PIPE\",\"ranks\":\"[1, 3]\"}},"
#define STATUS                                                                              \
    "\"pg_status\":{\"4\":{\"last_enqueued_collective\":12,\"last_started_collective\":-1," \
    "\"last_completed_collective\":11},\"9\":{\"last_enqueued_collective\":\"3\","          \
    "\"last_started_collective\":\"-1\",\"last_completed_collective\":\"2\"}},"
#define HEAD "{\"version\":\"2.10\"," CONFIG "\"nccl_version\":\"2.27.3\"," STATUS
#define COLLECTIVE                                                                           \
    "{\"record_id\":90,\"pg_id\":4,\"process_group\":[\"0\",\"default_pg\"],"                \
    "\"thread_name\":\"python3\",\"collective_seq_id\":12,\"p2p_seq_id\":0,\"op_id\":12,"    \
    "\"profiling_name\":\"nccl:all_reduce\",\"time_created_ns\":1700000000000000005,"        \
    "\"duration_ms\":1.5,\"input_sizes\":[[4096,1,5120],[]],\"input_dtypes\":[\"BFloat16\"," \
    "\"Int\"],\"output_sizes\":[[8]],\"output_dtypes\":[\"Float\"],\"state\":\"started\","   \
    "\"time_discovered_started_ns\":1700000000000000007,"                                    \
    "\"time_discovered_completed_ns\":null,\"retired\":true,\"timeout_ms\":600000,"          \
    "\"is_p2p\":false,\"frames\":[{\"name\":\"f\",\"filename\":\"a.py\",\"line\":3}]}"
#define SEND                                                                                    \
    "{\"record_id\":91,\"pg_id\":5,\"process_group\":[\"7\",\"PIPE\"],\"collective_seq_id\":2," \
    "\"p2p_seq_id\":44,\"profiling_name\":\"nccl:send 0->1\","                                  \
    "\"time_created_ns\":1700000000000000002,\"state\":\"scheduled\","                          \
    "\"time_discovered_started_ns\":0,\"time_discovered_completed_ns\":0,\"is_p2p\":true}"
#define DUMP(entries) HEAD "\"entries\":[" entries "]}"
#define NAME "/tmp/nccl_trace_rank_1"

static struct tc_fr_probe probe;
static struct tc_fr_probe other;

static void expect_slice(struct tc_slice got, struct tc_slice wanted, int line)
{
    if (!tc_slice_eq(got, wanted)) {
        fail_msg("line %d: '%.*s' is not '%.*s'", line, TC_FMT(got), TC_FMT(wanted));
    }
}

#define assert_slice(slice, text) expect_slice((slice), TC_LIT(text), __LINE__)

static const struct tc_event *event(enum tc_event_kind kind, size_t n)
{
    const struct tc_event *ev = tc_fr_probe_event(&probe, kind, n);
    assert_non_null(ev);
    return ev;
}

static void run_json(const char *text)
{
    tc_fr_probe_run(&probe, tc_slice_cstr(text), NAME);
}

static void run_pickle(struct tc_pickle *w, const char *text)
{
    tc_pickle_fini(w);
    tc_pickle_json(w, text);
    tc_fr_probe_run(&probe, tc_pickle_slice(w), NAME);
}

/* A failed run: one event, about this rank, that says what the error says. */
static void assert_unreadable(int32_t rank, const char *part)
{
    assert_int_not_equal(probe.status, TC_OK);
    assert_int_equal(probe.count, 1);
    assert_int_equal(probe.events[0].kind, TC_EVENT_NCCL_DUMP);
    assert_int_equal(probe.events[0].scope.rank, rank);
    assert_int_equal(probe.events[0].dump.entries, -1);
    assert_int_equal(probe.events[0].time_ns, TC_TIME_NONE);
    assert_true(tc_slice_eq(probe.events[0].dump.error, tc_slice_cstr(probe.err.message)));
    if (strstr(probe.err.message, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, probe.err.message);
    }
}

static void dump_comes_first_then_groups_states_and_records(void **state)
{
    (void)state;
    struct tc_pickle w = {0};
    run_pickle(&w, DUMP(COLLECTIVE "," SEND));
    assert_int_equal(probe.status, TC_OK);
    assert_int_equal(probe.count, 7);
    static const enum tc_event_kind order[] = {
        TC_EVENT_NCCL_DUMP,   TC_EVENT_NCCL_GROUP,  TC_EVENT_NCCL_GROUP, TC_EVENT_NCCL_STATUS,
        TC_EVENT_NCCL_STATUS, TC_EVENT_NCCL_RECORD, TC_EVENT_NCCL_RECORD};
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(probe.events[i].kind, order[i]);
        assert_int_equal(probe.events[i].scope.rank, 1);
        assert_slice(probe.events[i].scope.job, "job-1");
        assert_int_equal(probe.events[i].raw.source, 7);
    }
    assert_int_equal(probe.cursor.events, 7);
    assert_int_equal(probe.cursor.offset, w.len);
    const struct tc_event *dump = event(TC_EVENT_NCCL_DUMP, 0);
    assert_slice(dump->dump.version, "2.10");
    assert_slice(dump->dump.library, "2.27.3");
    assert_slice(dump->dump.error, "");
    assert_int_equal(dump->dump.entries, 2);
    assert_int_equal(dump->time_ns, 1700000000000000005);
    assert_int_equal(dump->raw.offset, 0);
    assert_int_equal(dump->raw.length, w.len);
    tc_pickle_fini(&w);
}

static void groups_and_states_carry_their_numbers(void **state)
{
    (void)state;
    run_json(DUMP(COLLECTIVE "," SEND));
    const struct tc_event *pipe = event(TC_EVENT_NCCL_GROUP, 1);
    assert_slice(pipe->group.group, "7");
    assert_slice(pipe->group.group_desc, "PIPE");
    assert_slice(pipe->group.ranks, "[1, 3]");
    assert_int_equal(pipe->group.group_key,
                     tc_nccl_group_key(TC_LIT("job-1"), TC_LIT("7"), TC_LIT("[1, 3]")));
    const struct tc_event *linked = event(TC_EVENT_NCCL_STATUS, 0);
    assert_int_equal(linked->status.pg_id, 4);
    assert_int_equal(linked->status.enqueued, 12);
    assert_int_equal(linked->status.started, -1);
    assert_int_equal(linked->status.completed, 11);
    assert_slice(linked->status.group, "0");
    assert_int_equal(linked->status.group_key, event(TC_EVENT_NCCL_GROUP, 0)->group.group_key);
    /* No entry says which group number 9 is. */
    const struct tc_event *loose = event(TC_EVENT_NCCL_STATUS, 1);
    assert_int_equal(loose->status.pg_id, 9);
    assert_int_equal(loose->status.enqueued, 3);
    assert_int_equal(loose->status.completed, 2);
    assert_slice(loose->status.group, "");
    assert_int_equal(loose->status.group_key, 0);
}

static void record_carries_every_field(void **state)
{
    (void)state;
    struct tc_pickle w = {0};
    run_pickle(&w, DUMP(COLLECTIVE "," SEND));
    const struct tc_event *ev = event(TC_EVENT_NCCL_RECORD, 0);
    assert_int_equal(ev->time_ns, 1700000000000000005);
    assert_slice(ev->nccl.group, "0");
    assert_slice(ev->nccl.group_desc, "default_pg");
    assert_int_equal(ev->nccl.group_key, event(TC_EVENT_NCCL_GROUP, 0)->group.group_key);
    assert_slice(ev->nccl.op, "all_reduce");
    assert_slice(ev->nccl.sizes_in, "[[4096, 1, 5120], []]");
    assert_slice(ev->nccl.dtypes_in, "[BFloat16, Int]");
    assert_slice(ev->nccl.sizes_out, "[[8]]");
    assert_slice(ev->nccl.dtypes_out, "[Float]");
    assert_int_equal(ev->nccl.seq, 12);
    assert_int_equal(ev->nccl.record_id, 90);
    assert_int_equal(ev->nccl.pg_id, 4);
    assert_int_equal(ev->nccl.state, TC_NCCL_STARTED);
    assert_int_equal(ev->nccl.started_ns, 1700000000000000007);
    assert_int_equal(ev->nccl.completed_ns, TC_TIME_NONE);
    assert_int_equal(ev->nccl.timeout_ms, 600000);
    assert_true(ev->nccl.retired && ev->nccl.from_dump);
    assert_false(ev->nccl.is_p2p || ev->nccl.is_send);
    assert_int_equal(ev->nccl.peer, -1);
    tc_pickle_fini(&w);
}

static void point_to_point_names_the_global_rank_of_its_other_end(void **state)
{
    (void)state;
    run_json(DUMP(SEND));
    const struct tc_ev_nccl *send = &event(TC_EVENT_NCCL_RECORD, 0)->nccl;
    assert_true(send->is_p2p && send->is_send);
    assert_slice(send->op, "send 0->1");
    assert_int_equal(send->peer, 3);
    assert_int_equal(send->seq, 44);
    assert_int_equal(send->started_ns, TC_TIME_NONE);
    assert_int_equal(send->completed_ns, TC_TIME_NONE);
    assert_slice(send->sizes_in, "");
}

static void peer_is_read_from_the_operation_or_unknown(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        const char *group;
        const char *out_op;
        int peer;
        bool is_p2p;
        bool is_send;
    } cases[] = {
        {"nccl:recv 1<-0", "7", "recv 1<-0", 1, true, false},
        {"gloo:send 0->3", "0", "send 0->3", 3, true, true},
        {"send 2->0", "0", "send 2->0", 0, true, true},
        {"nccl2:send 0->2", "7", "send 0->2", -1, true, true}, /* the group has two members */
        {"ncclx:send 0->1", "unheard", "send 0->1", -1, true, true},
        {"xccl:send 0->99999999999999999999", "0", "send 0->99999999999999999999", -1, false,
         false},
        {"nccl:send 0<-1", "0", "send 0<-1", -1, false, false},
        {"nccl:recv 0->1", "0", "recv 0->1", -1, false, false},
        {"nccl:send ->1", "0", "send ->1", -1, false, false},
        {"nccl:send 0->1x", "0", "send 0->1x", -1, false, false},
        {"nccl:coalesced", "0", "coalesced", -1, false, false},
        {"nccl:", "0", "", -1, false, false},
        {"a:b:c", "0", "b:c", -1, false, false},
        {"", "0", "", -1, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048];
        (void)snprintf(text, sizeof text,
                       HEAD "\"entries\":[{\"process_group\":[\"%s\",\"\"],"
                            "\"profiling_name\":\"%s\"}]}",
                       cases[i].group, cases[i].op);
        run_json(text);
        assert_int_equal(probe.status, TC_OK);
        const struct tc_ev_nccl *ev = &event(TC_EVENT_NCCL_RECORD, 0)->nccl;
        assert_true(tc_slice_eq(ev->op, tc_slice_cstr(cases[i].out_op)));
        assert_int_equal(ev->peer, cases[i].peer);
        assert_int_equal(ev->is_p2p, cases[i].is_p2p);
        assert_int_equal(ev->is_send, cases[i].is_send);
    }
}

#define PART(op, seq)                                                                     \
    "{\"process_group\":[\"7\",\"\"],\"profiling_name\":\"nccl:" op "\",\"is_p2p\":true," \
    "\"collective_seq_id\":29,\"p2p_seq_id\":" seq ",\"state\":\"scheduled\"},"
#define CLOSING(p2p, seq, state)                                                              \
    "{\"process_group\":[\"7\",\"\"],\"profiling_name\":\"nccl:coalesced\",\"is_p2p\":" p2p   \
    ",\"collective_seq_id\":29,\"p2p_seq_id\":" seq ",\"state\":\"" state                     \
    "\",\"time_discovered_started_ns\":1700000000000000005,\"time_discovered_completed_ns\":" \
    "1700000000000000009}"

static void batch_of_transfers_ends_with_the_record_that_closes_it(void **state)
{
    (void)state;
    static const char *const texts[] = {
        DUMP(PART("recv 0<-1", "4") CLOSING("true", "4", "completed") "," PART("send 0->1", "5")
                 PART("recv 0<-1", "5") CLOSING("true", "5", "started")),
        DUMP(PART("recv 0<-1", "4") CLOSING("false", "4", "completed") "," PART("send 0->1", "5")
                 PART("recv 0<-1", "5") CLOSING("false", "5", "started")),
    };
    for (size_t i = 0; i < 2; i++) {
        run_json(texts[i]);
        assert_int_equal(probe.status, TC_OK);
        const struct tc_ev_nccl *part = &event(TC_EVENT_NCCL_RECORD, 0)->nccl;
        assert_int_equal(part->state, TC_NCCL_COMPLETED);
        assert_int_equal(part->started_ns, 1700000000000000005);
        assert_int_equal(part->completed_ns, 1700000000000000009);
        const struct tc_ev_nccl *end = &event(TC_EVENT_NCCL_RECORD, 1)->nccl;
        assert_true(end->is_p2p);
        assert_int_equal(end->seq, 4);
        /* One that has not ended: its parts are as the dump says. */
        assert_int_equal(event(TC_EVENT_NCCL_RECORD, 2)->nccl.state, TC_NCCL_SCHEDULED);
        assert_int_equal(event(TC_EVENT_NCCL_RECORD, 3)->nccl.state, TC_NCCL_SCHEDULED);
        end = &event(TC_EVENT_NCCL_RECORD, 4)->nccl;
        assert_true(end->is_p2p);
        assert_int_equal(end->seq, 5);
        assert_int_equal(end->state, TC_NCCL_STARTED);
    }
}

static void record_that_closes_no_transfers_is_a_collective(void **state)
{
    (void)state;
    run_json(DUMP(PART("recv 0<-1", "3") CLOSING("false", "4", "completed")));
    assert_int_equal(event(TC_EVENT_NCCL_RECORD, 0)->nccl.state, TC_NCCL_SCHEDULED);
    const struct tc_ev_nccl *end = &event(TC_EVENT_NCCL_RECORD, 1)->nccl;
    assert_false(end->is_p2p);
    assert_int_equal(end->seq, 29);
}

#define PLAIN(seq, state)                                                                 \
    "{\"process_group\":[\"7\",\"\"],\"pg_id\":4,\"profiling_name\":\"xccl:all_gather\"," \
    "\"is_p2p\":false,\"collective_seq_id\":" seq ",\"state\":\"" state "\"}"

static void status_ends_the_collectives_it_counts(void **state)
{
    (void)state;
    static const struct {
        const char *entries;
        int completed; /* the status' last */
        int states[3];
    } cases[] = {
        {PLAIN("8", "scheduled") "," PLAIN("9", "scheduled") "," PLAIN("10", "scheduled"),
         9,
         {TC_NCCL_COMPLETED, TC_NCCL_COMPLETED, TC_NCCL_SCHEDULED}},
        /* It tells of something that the dump does not hold: of transfers, perhaps. */
        {PLAIN("8", "scheduled") "," PLAIN("9", "scheduled") "," PLAIN("10", "scheduled"),
         40,
         {TC_NCCL_SCHEDULED, TC_NCCL_SCHEDULED, TC_NCCL_SCHEDULED}},
        {PLAIN("8", "started") "," PLAIN("9", "scheduled") "," PLAIN("10", "scheduled"),
         10,
         {TC_NCCL_STARTED, TC_NCCL_COMPLETED, TC_NCCL_COMPLETED}},
        /* A group with transfers counts those. */
        {PLAIN("8", "scheduled") ",{\"process_group\":[\"7\",\"\"],\"pg_id\":4,"
                                 "\"profiling_name\":\"nccl:send 0->1\",\"p2p_seq_id\":9}," PLAIN(
                                     "9", "scheduled"),
         9,
         {TC_NCCL_SCHEDULED, TC_NCCL_SCHEDULED, TC_NCCL_SCHEDULED}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048];
        (void)snprintf(text, sizeof text,
                       "{\"version\":\"2.9\",\"pg_config\":{\"7\":{\"ranks\":\"[0, 1]\"}},"
                       "\"pg_status\":{\"4\":{\"last_completed_collective\":%d}},"
                       "\"entries\":[%s]}",
                       cases[i].completed, cases[i].entries);
        run_json(text);
        assert_int_equal(probe.status, TC_OK);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(event(TC_EVENT_NCCL_RECORD, k)->nccl.state, cases[i].states[k]);
        }
    }
}

static void json_and_pickle_of_one_dump_give_equal_events(void **state)
{
    (void)state;
    const char *text = DUMP(COLLECTIVE "," SEND "," COLLECTIVE);
    struct tc_pickle w = {0};
    tc_pickle_json(&w, text);
    tc_fr_probe_run(&other, tc_pickle_slice(&w), NAME);
    run_json(text);
    assert_int_equal(probe.status, TC_OK);
    assert_int_equal(other.status, TC_OK);
    assert_int_equal(probe.count, 8);
    assert_int_equal(probe.count, other.count);
    for (size_t i = 0; i < probe.count; i++) {
        assert_int_equal(tc_event_cmp(&probe.events[i], &other.events[i]), 0);
    }
    tc_pickle_fini(&w);
}

static void equal_lists_of_one_dump_share_their_text(void **state)
{
    (void)state;
    run_json(DUMP(COLLECTIVE "," SEND "," COLLECTIVE));
    const struct tc_ev_nccl *a = &event(TC_EVENT_NCCL_RECORD, 0)->nccl;
    const struct tc_ev_nccl *b = &event(TC_EVENT_NCCL_RECORD, 2)->nccl;
    assert_ptr_equal(a->sizes_in.ptr, b->sizes_in.ptr);
    assert_ptr_equal(a->dtypes_in.ptr, b->dtypes_in.ptr);
}

static void raw_is_exactly_the_bytes_of_the_record(void **state)
{
    (void)state;
    const char *text = DUMP(COLLECTIVE "," SEND);
    run_json(text);
    const struct tc_raw *raw = &event(TC_EVENT_NCCL_RECORD, 1)->raw;
    assert_slice(tc_slice_make(text + raw->offset, raw->length), SEND);
    raw = &event(TC_EVENT_NCCL_GROUP, 1)->raw;
    assert_slice(tc_slice_make(text + raw->offset, raw->length),
                 "{\"name\":\"7\",\"desc\":\"PIPE\",\"ranks\":\"[1, 3]\"}");

    struct tc_pickle w = {0};
    run_pickle(&w, text);
    const struct tc_raw *first = &event(TC_EVENT_NCCL_RECORD, 0)->raw;
    const struct tc_raw *second = &event(TC_EVENT_NCCL_RECORD, 1)->raw;
    assert_memory_equal(w.data + first->offset, "}(", 2);
    assert_memory_equal(w.data + first->offset + first->length - 1, "u}(", 3);
    assert_int_equal(first->offset + first->length, second->offset);
    /* Behind the last record: the list's APPENDS, the root's SETITEMS. */
    assert_memory_equal(w.data + second->offset + second->length - 1, "ueu", 3);
    tc_pickle_fini(&w);
}

static void dump_without_entries_has_no_time(void **state)
{
    (void)state;
    static const char *const texts[] = {
        HEAD "\"entries\":[]}",
        "{\"version\":\"2.9\",\"pg_config\":{}}",
        "{\"pg_status\":{},\"entries\":null}",
    };
    struct tc_pickle w = {0};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        run_json(texts[i]);
        assert_int_equal(probe.status, TC_OK);
        assert_int_equal(probe.events[0].dump.entries, 0);
        assert_int_equal(probe.events[0].time_ns, TC_TIME_NONE);
        run_pickle(&w, texts[i]);
        assert_int_equal(probe.status, TC_OK);
        assert_int_equal(probe.events[0].dump.entries, 0);
    }
    tc_pickle_fini(&w);
}

static void missing_fields_are_not_known(void **state)
{
    (void)state;
    run_json("{\"entries\":[{}],\"comm_lib_version\":\"2.31\"}");
    assert_int_equal(probe.status, TC_OK);
    assert_slice(probe.events[0].dump.library, "2.31");
    assert_slice(probe.events[0].dump.version, "");
    const struct tc_event *ev = event(TC_EVENT_NCCL_RECORD, 0);
    struct tc_event blank;
    tc_event_init(&blank, TC_EVENT_NCCL_RECORD);
    blank.scope.rank = 1;
    blank.scope.job = TC_LIT("job-1");
    blank.nccl.from_dump = true;
    blank.nccl.group_key = tc_nccl_group_key(TC_LIT("job-1"), TC_EMPTY, TC_EMPTY);
    assert_int_equal(tc_event_cmp(ev, &blank), 0);
}

static void record_without_pg_id_links_no_state(void **state)
{
    (void)state;
    run_json("{\"pg_status\":{\"-1\":{}},\"entries\":[{\"process_group\":\"g\"}]}");
    assert_int_equal(probe.status, TC_OK);
    assert_slice(event(TC_EVENT_NCCL_RECORD, 0)->nccl.group, "g");
    assert_int_equal(event(TC_EVENT_NCCL_STATUS, 0)->status.group_key, 0);
}

static void group_that_is_not_configured_is_known_by_its_name(void **state)
{
    (void)state;
    run_json(HEAD "\"entries\":[{\"process_group\":[\"8\",\"d\"]}]}");
    assert_int_equal(event(TC_EVENT_NCCL_RECORD, 0)->nccl.group_key,
                     tc_nccl_group_key(TC_LIT("job-1"), TC_LIT("8"), TC_EMPTY));
}

static void last_of_two_equal_keys_counts(void **state)
{
    (void)state;
    const char *text =
        "{\"version\":7,\"version\":\"2.9\",\"pg_config\":{\"0\":{\"ranks\":\"[0]\",\"desc\":\"a\"}"
        ","
        "\"0\":{\"ranks\":\"[1]\",\"ranks\":\"[2]\",\"desc\":\"b\"}},\"pg_status\":{\"1\":{},"
        "\"01\":{\"last_started_collective\":5}},\"entries\":[{\"record_id\":1,\"record_id\":2}]}";
    struct tc_pickle w = {0};
    for (int pass = 0; pass < 2; pass++) {
        pass == 0 ? run_json(text) : run_pickle(&w, text);
        assert_int_equal(probe.status, TC_OK);
        assert_slice(probe.events[0].dump.version, "2.9");
        assert_int_equal(tc_fr_probe_count(&probe, TC_EVENT_NCCL_GROUP), 1);
        assert_slice(event(TC_EVENT_NCCL_GROUP, 0)->group.ranks, "[2]");
        assert_slice(event(TC_EVENT_NCCL_GROUP, 0)->group.group_desc, "b");
        assert_int_equal(tc_fr_probe_count(&probe, TC_EVENT_NCCL_STATUS), 1);
        assert_int_equal(event(TC_EVENT_NCCL_STATUS, 0)->status.started, 5);
        assert_int_equal(event(TC_EVENT_NCCL_RECORD, 0)->nccl.record_id, 2);
    }
    tc_pickle_fini(&w);
}

static void escaped_json_reads_as_what_it_means(void **state)
{
    (void)state;
    run_json(
        "{\"ver\\u0073ion\":\"2\\u002e9\",\"pg_config\":{\"a\\\"b\":{\"ranks\":\"[\\u0030]\"}},"
        "\"entries\":[{\"process_group\":[\"a\\\"b\",\"\\u00e9\"],\"input_dtypes\":"
        "[\"F\\u006coat\"],\"state\":\"start\\u0065d\"}]}");
    assert_int_equal(probe.status, TC_OK);
    assert_slice(probe.events[0].dump.version, "2.9");
    assert_slice(event(TC_EVENT_NCCL_GROUP, 0)->group.group, "a\"b");
    assert_slice(event(TC_EVENT_NCCL_GROUP, 0)->group.ranks, "[0]");
    const struct tc_ev_nccl *ev = &event(TC_EVENT_NCCL_RECORD, 0)->nccl;
    assert_slice(ev->group_desc, "\xc3\xa9");
    assert_slice(ev->dtypes_in, "[Float]");
    assert_int_equal(ev->state, TC_NCCL_STARTED);
    assert_int_equal(ev->group_key, event(TC_EVENT_NCCL_GROUP, 0)->group.group_key);
}

static void state_of_a_newer_format_is_read_from_its_times(void **state)
{
    (void)state;
    static const struct {
        const char *version;
        const char *times;
        int state; /* -1: an error */
    } cases[] = {
        {"2.9", "", -1},
        {"2.10", "", -1},
        {"2.11", "", TC_NCCL_SCHEDULED},
        {"3.0", ",\"time_discovered_started_ns\":5", TC_NCCL_STARTED},
        {"10.0", ",\"time_discovered_started_ns\":5,\"time_discovered_completed_ns\":6",
         TC_NCCL_COMPLETED},
        {"1.5", "", -1},
        {"two", "", TC_NCCL_SCHEDULED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{\"version\":\"%s\",\"entries\":[{\"state\":\"paused\"%s}]}",
                       cases[i].version, cases[i].times);
        run_json(text);
        if (cases[i].state < 0) {
            assert_unreadable(1, "state at byte");
        } else {
            assert_int_equal(probe.status, TC_OK);
            assert_int_equal(event(TC_EVENT_NCCL_RECORD, 0)->nccl.state, cases[i].state);
        }
    }
    run_json("{\"version\":\"2.9\",\"entries\":[{\"time_discovered_completed_ns\":5}]}");
    assert_int_equal(event(TC_EVENT_NCCL_RECORD, 0)->nccl.state, TC_NCCL_COMPLETED);
}

static void wrong_type_is_an_error_that_names_the_field(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"{\"entries\":{}}", "entries at byte"},
        {"{\"entries\":[3]}", "an entry at byte"},
        {"{\"entries\":[[]]}", "an entry at byte"},
        {"{\"pg_config\":[]}", "pg_config at byte"},
        {"{\"pg_config\":{\"0\":\"x\"}}", "a group of pg_config at byte"},
        {"{\"pg_config\":{\"0\":{\"desc\":1}}}", "pg_config desc at byte"},
        {"{\"pg_config\":{\"0\":{\"ranks\":[0]}}}", "pg_config ranks at byte"},
        {"{\"pg_config\":{\"0\":{\"ranks\":\"[0, x]\"}}}", "pg_config ranks at byte"},
        {"{\"pg_config\":{\"0\":{\"ranks\":\"[-1]\"}}}", "pg_config ranks at byte"},
        {"{\"pg_config\":{\"0\":{\"ranks\":\"[0] [1]\"}}}", "pg_config ranks at byte"},
        {"{\"pg_config\":{\"0\":{\"ranks\":\"[1048576]\"}}}", "pg_config ranks at byte"},
        {"{\"pg_status\":7}", "pg_status at byte"},
        {"{\"pg_status\":{\"x\":{}}}", "a key of pg_status at byte"},
        {"{\"pg_status\":{\"0\":[]}}", "a status of pg_status at byte"},
        {"{\"pg_status\":{\"0\":{\"last_started_collective\":\"x\"}}}", "last_started_collective"},
        {"{\"pg_status\":{\"0\":{\"last_enqueued_collective\":1.5}}}", "last_enqueued_collective"},
        {"{\"version\":2,\"entries\":[]}", "version at byte"},
        {"{\"nccl_version\":2,\"entries\":[]}", "nccl_version at byte"},
        {"{\"comm_lib_version\":2,\"entries\":[]}", "comm_lib_version at byte"},
        {"{\"rank\":\"2\",\"entries\":[]}", "rank at byte"},
        {"{\"rank\":-1,\"entries\":[]}", "rank at byte"},
        {"{\"rank\":1048576,\"entries\":[]}", "rank at byte"},
        {"{\"entries\":[{\"record_id\":\"1\"}]}", "record_id at byte"},
        {"{\"entries\":[{\"pg_id\":true}]}", "pg_id at byte"},
        {"{\"entries\":[{\"collective_seq_id\":\"12\"}]}", "collective_seq_id at byte"},
        {"{\"entries\":[{\"is_p2p\":true,\"p2p_seq_id\":[]}]}", "p2p_seq_id at byte"},
        {"{\"entries\":[{\"is_p2p\":1}]}", "is_p2p at byte"},
        {"{\"entries\":[{\"retired\":\"no\"}]}", "retired at byte"},
        {"{\"entries\":[{\"timeout_ms\":1e400}]}", "JSON"},
        {"{\"entries\":[{\"timeout_ms\":18446744073709551615}]}", "timeout_ms at byte"},
        {"{\"entries\":[{\"time_created_ns\":-5}]}", "time_created_ns at byte"},
        {"{\"entries\":[{\"time_created_ns\":1.5}]}", "time_created_ns at byte"},
        {"{\"entries\":[{\"time_discovered_started_ns\":\"x\"}]}", "time_discovered_started_ns"},
        {"{\"entries\":[{\"time_discovered_completed_ns\":-1}]}", "time_discovered_completed_ns"},
        {"{\"entries\":[{\"profiling_name\":3}]}", "profiling_name at byte"},
        {"{\"entries\":[{\"process_group\":3}]}", "process_group at byte"},
        {"{\"entries\":[{\"process_group\":[3]}]}", "process_group at byte"},
        {"{\"entries\":[{\"process_group\":[\"a\",3]}]}", "process_group at byte"},
        {"{\"entries\":[{\"input_sizes\":\"[[1]]\"}]}", "input_sizes at byte"},
        {"{\"entries\":[{\"input_sizes\":[1]}]}", "input_sizes at byte"},
        {"{\"entries\":[{\"output_sizes\":[[\"1\"]]}]}", "output_sizes at byte"},
        {"{\"entries\":[{\"input_dtypes\":[1]}]}", "input_dtypes at byte"},
        {"{\"entries\":[{\"output_dtypes\":{}}]}", "output_dtypes at byte"},
        {"{\"entries\":[{\"state\":\"waiting\"}]}", "state at byte"},
        {"{\"entries\":[{\"state\":5}]}", "state at byte"},
        {"{\"model\":[],\"version\":\"2.9\"}", "not a Flight Recorder dump"},
    };
    struct tc_pickle w = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run_json(cases[i].text);
        assert_unreadable(1, cases[i].part);
        assert_int_equal(probe.status, TC_E_MALFORMED);
        if (strcmp(cases[i].part, "JSON") != 0) {
            run_pickle(&w, cases[i].text);
            assert_unreadable(1, cases[i].part);
            assert_int_equal(probe.err.offset, probe.cursor.offset);
        }
    }
    tc_pickle_fini(&w);
}

static void empty_list_texts_and_member_lists_are_fine(void **state)
{
    (void)state;
    run_json("{\"pg_config\":{\"a\":{\"ranks\":\"[]\"},\"b\":{\"ranks\":\"\"},\"c\":{\"ranks\":"
             "\"0,1 \"}},\"entries\":[{\"input_sizes\":[],\"input_dtypes\":[],\"process_group\":"
             "[],\"output_sizes\":[[-1,9223372036854775807,-9223372036854775808]]}]}");
    assert_int_equal(probe.status, TC_OK);
    const struct tc_ev_nccl *ev = &event(TC_EVENT_NCCL_RECORD, 0)->nccl;
    assert_slice(ev->sizes_in, "[]");
    assert_slice(ev->dtypes_in, "[]");
    assert_slice(ev->sizes_out, "[[-1, 9223372036854775807, -9223372036854775808]]");
    assert_slice(event(TC_EVENT_NCCL_GROUP, 2)->group.ranks, "0,1 ");
}

static void types_and_sizes_of_equal_bytes_are_told_apart(void **state)
{
    (void)state;
    /* The same list: right as sizes, wrong as types. */
    run_json("{\"entries\":[{\"input_sizes\":[[1]],\"input_dtypes\":[[1]]}]}");
    assert_unreadable(1, "input_dtypes at byte");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dump_comes_first_then_groups_states_and_records),
        cmocka_unit_test(groups_and_states_carry_their_numbers),
        cmocka_unit_test(record_carries_every_field),
        cmocka_unit_test(point_to_point_names_the_global_rank_of_its_other_end),
        cmocka_unit_test(peer_is_read_from_the_operation_or_unknown),
        cmocka_unit_test(batch_of_transfers_ends_with_the_record_that_closes_it),
        cmocka_unit_test(record_that_closes_no_transfers_is_a_collective),
        cmocka_unit_test(status_ends_the_collectives_it_counts),
        cmocka_unit_test(json_and_pickle_of_one_dump_give_equal_events),
        cmocka_unit_test(equal_lists_of_one_dump_share_their_text),
        cmocka_unit_test(raw_is_exactly_the_bytes_of_the_record),
        cmocka_unit_test(dump_without_entries_has_no_time),
        cmocka_unit_test(missing_fields_are_not_known),
        cmocka_unit_test(record_without_pg_id_links_no_state),
        cmocka_unit_test(group_that_is_not_configured_is_known_by_its_name),
        cmocka_unit_test(last_of_two_equal_keys_counts),
        cmocka_unit_test(escaped_json_reads_as_what_it_means),
        cmocka_unit_test(state_of_a_newer_format_is_read_from_its_times),
        cmocka_unit_test(wrong_type_is_an_error_that_names_the_field),
        cmocka_unit_test(empty_list_texts_and_member_lists_are_fine),
        cmocka_unit_test(types_and_sizes_of_equal_bytes_are_told_apart),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tc_fr_probe_fini(&probe);
    tc_fr_probe_fini(&other);
    return failed;
}
