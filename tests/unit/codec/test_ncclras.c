/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports in the shape that src/ras/client_support.cc of NCCL 2.28.7 to 2.29 prints, and in that
 * of 2.28.9, which leaves out a comma. Addresses, hashes and counts are invented.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/time.h"
#include "codec/codec.h"

#include <stdio.h>
#include <stdlib.h>

#define EVENTS_MAX 64
#define BLOCK_BYTES ((size_t)256 << 10)
#define NOON (INT64_C(1772625600) * TC_SECOND) /* 2026-03-04T12:00:00Z */

#define assert_text(slice, literal) assert_true(tc_slice_eq((slice), TC_LIT(literal)))

static struct {
    struct tc_event events[EVENTS_MAX];
    size_t count;
    size_t unknown;
    size_t input_bytes;
    tc_status refuse;
    struct tc_codec_cursor cursor;
    struct tc_error err;
    size_t scratch_bytes;
    int32_t utc_offset_s;
    char *copy;
    char arena_block[BLOCK_BYTES];
    char scratch_block[BLOCK_BYTES];
} t;

static tc_status on_event(void *context, const struct tc_event *ev)
{
    (void)context;
    assert_true(t.count < EVENTS_MAX);
    assert_true(ev->raw.offset + ev->raw.length <= t.input_bytes);
    assert_true(strchr("{RT0123456789", t.copy[ev->raw.offset]) != NULL);
    t.events[t.count++] = *ev;
    return t.refuse;
}

static tc_status on_unknown(void *context, uint64_t offset, size_t length, const char *why)
{
    (void)context;
    assert_true(offset + length <= t.input_bytes && length > 0);
    assert_non_null(why);
    t.unknown++;
    return TC_OK;
}

static int set_up(void **state)
{
    (void)state;
    t.refuse = TC_OK;
    t.scratch_bytes = BLOCK_BYTES;
    t.utc_offset_s = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(t.copy);
    t.copy = NULL;
    return 0;
}

static tc_status decode(const char *text)
{
    struct tc_arena arena;
    struct tc_arena scratch;
    free(t.copy);
    t.input_bytes = strlen(text);
    t.copy = malloc(t.input_bytes + 1); /* ends where its block ends */
    assert_non_null(t.copy);
    memcpy(t.copy, text, t.input_bytes);
    t.count = 0;
    t.unknown = 0;
    t.cursor = (struct tc_codec_cursor){0};
    t.err = (struct tc_error){0};
    tc_arena_init(&arena, "arena", t.arena_block, BLOCK_BYTES);
    tc_arena_init(&scratch, "scratch", t.scratch_block, t.scratch_bytes);
    struct tc_codec_input in = {.bytes = tc_slice_make(t.copy, t.input_bytes),
                                .source = 7,
                                .boot_ns = TC_TIME_NONE,
                                .now_ns = NOON,
                                .utc_offset_s = t.utc_offset_s,
                                .want_unknown = true};
    struct tc_codec_out out = {
        .event = on_event, .unknown = on_unknown, .arena = &arena, .scratch = &scratch};
    tc_status status = tc_codec_ncclras.decode(&in, &t.cursor, &out, &t.err);
    assert_true(t.cursor.done || status != TC_OK);
    tc_arena_fini(&arena);
    tc_arena_fini(&scratch);
    return status;
}

#define RANK(rank, host, pid, dev, status, counts)                                            \
    "        {\n          \"rank\": " #rank ",\n          \"host\": \"" host "\",\n"          \
    "          \"pid\": " #pid ",\n          \"cuda_dev\": 0,\n          \"nvml_dev\": " #dev \
    ",\n          \"status\": {\n" status "          },\n"                                    \
    "          \"collective_counts\": {\n" counts "          }\n        }"
#define FINE                                                                          \
    "            \"init_state\": 0,\n            \"async_error\": 0,\n"               \
    "            \"finalize_called\": false,\n            \"destroy_flag\": false,\n" \
    "            \"abort_flag\": false\n"
#define COUNTS(n)                                                 \
    "            \"Broadcast\": 1,\n            \"Reduce\": 0,\n" \
    "            \"AllReduce\": " #n "\n"
#define MISSING(rank, host, pid, dev, comma, unresponsive, dead)                     \
    "        {\n          \"rank\": " #rank ",\n          \"host\": \"" host "\",\n" \
    "          \"pid\": " #pid                                                       \
    ",\n          \"cuda_dev\": 0,\n          \"nvml_dev\": " #dev comma             \
    "\n          \"status\": {\n            \"unresponsive\": " unresponsive ",\n"   \
    "            \"considered_dead\": " dead "\n          }\n        }"
#define COMM(hash, size, ranks, missing)                                                         \
    "    {\n      \"hash\": \"" hash "\",\n      \"secondary_hash\": \"0x1:0x2\",\n"             \
    "      \"size\": " #size ",\n      \"ranks_count\": 1,\n      \"missing_ranks_count\": 0,\n" \
    "      \"ranks\": [\n" ranks "\n      ],\n      \"missing_ranks\": [\n" missing              \
    "\n      ]\n    }"
#define REPORT(time, comms)                                                    \
    "{\n  \"nccl_version\": \"2.28.9\",\n  \"cuda_runtime_version\": 12090,\n" \
    "  \"cuda_driver_version\": 13000,\n  \"timestamp\": \"" time "\",\n"      \
    "  \"communicators_count\": 1,\n  \"communicators\": [\n" comms "\n  ],\n" \
    "  \"ras\": {\n    \"collection_time_sec\": 0.002,\n    \"timeouts_count\": 0\n  }\n}\n"

#define TWO_RANKS                                 \
    RANK(0, "10.0.0.5", 811, 3, FINE, COUNTS(41)) \
    ",\n" RANK(1, "10.0.0.6", 812, 4, FINE, COUNTS(40))

static void a_report_gives_its_ranks_and_where_they_run(void **state)
{
    (void)state;
    assert_int_equal(decode(REPORT("2026-03-04 05:06:07", COMM("0xa7", 2, TWO_RANKS, ""))), TC_OK);
    assert_int_equal(t.count, 4);
    const struct tc_event *ev = &t.events[2];
    assert_int_equal(ev->kind, TC_EVENT_NCCL_RAS);
    assert_int_equal(ev->time_ns, INT64_C(1772600767) * TC_SECOND);
    assert_text(ev->ras.comm, "0xa7");
    assert_text(ev->ras.status, "running");
    assert_int_equal(ev->ras.comm_rank, 1);
    assert_int_equal(ev->ras.comm_size, 2);
    assert_int_equal(ev->ras.ops, 41);
    assert_int_equal(ev->scope.rank, 1);
    assert_text(ev->scope.node, "10.0.0.6");
    assert_int_equal(ev->scope.pid, 812);
    assert_int_equal(ev->scope.gpu_index, 4); /* as NVML counts */
    assert_int_equal(ev->raw.source, 7);
    ev = &t.events[3];
    assert_int_equal(ev->kind, TC_EVENT_RANK_PLACE);
    assert_text(ev->place.origin, "ncclras");
    assert_int_equal(ev->place.world_size, 2);
    assert_int_equal(ev->scope.rank, 1);
}

static void the_zone_of_the_time_is_the_inputs(void **state)
{
    (void)state;
    t.utc_offset_s = 3600;
    assert_int_equal(decode(REPORT("2026-03-04 05:06:07", COMM("0xa7", 2, TWO_RANKS, ""))), TC_OK);
    assert_int_equal(t.events[0].time_ns, INT64_C(1772597167) * TC_SECOND);
    assert_int_equal(decode(REPORT("yesterday", COMM("0xa7", 2, TWO_RANKS, ""))), TC_OK);
    assert_int_equal(t.events[0].time_ns, NOON); /* of the file */
}

static void missing_ranks_are_missing_dead_or_elsewhere(void **state)
{
    (void)state;
    assert_int_equal(
        decode(REPORT("2026-03-04 05:06:07",
                      COMM("0xa7", 4, RANK(0, "10.0.0.5", 811, 3, FINE, COUNTS(41)),
                           MISSING(1, "10.0.0.6", 812, 1, ",", "true", "false") ",\n" MISSING(
                               2, "10.0.0.6", 813, 2, ",", "true",
                               "true") ",\n" MISSING(3, "unknown", -1, 3, ",", "false", "false")))),
        TC_OK);
    assert_int_equal(t.count, 7); /* the last has no host: no place */
    assert_text(t.events[2].ras.status, "missing");
    assert_int_equal(t.events[2].ras.ops, -1);
    assert_text(t.events[4].ras.status, "dead");
    assert_text(t.events[6].ras.status, "no_comm");
    assert_int_equal(t.events[6].scope.node.len, 0);
    assert_int_equal(t.events[6].scope.pid, -1);
}

static void the_comma_that_2_28_9_leaves_out_is_not_needed(void **state)
{
    (void)state;
    assert_int_equal(decode(REPORT("2026-03-04 05:06:07",
                                   COMM("0xa7", 2, RANK(0, "10.0.0.5", 811, 3, FINE, COUNTS(41)),
                                        MISSING(1, "10.0.0.6", 812, 4, "", "true", "true")))),
                     TC_OK);
    assert_int_equal(t.count, 4);
    assert_text(t.events[2].ras.status, "dead");
    assert_int_equal(t.events[2].scope.gpu_index, 4);
    assert_int_equal(
        decode("{\"communicators\":[{\"hash\":\"0x1\",\"size\":1,\"ranks\":[{\"rank\":0,},],},],}"),
        TC_OK);
    assert_int_equal(t.count, 1);
}

static void statuses_are_normalised(void **state)
{
    static const struct {
        const char *flags;
        const char *status;
    } cases[] = {
        {"\"init_state\":0,\"async_error\":0", "running"},
        {"\"init_state\":7,\"async_error\":0", "init"},
        {"\"init_state\":0,\"async_error\":7", "running"},
        {"\"init_state\":0,\"async_error\":6", "error"},
        {"\"init_state\":3", "error"},
        {"\"init_state\":0,\"finalize_called\":true", "finalizing"},
        {"\"init_state\":0,\"destroy_flag\":true", "finalizing"},
        {"\"init_state\":0,\"destroy_flag\":true,\"abort_flag\":true", "aborted"},
        {"", "running"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{\"communicators\":[{\"hash\":\"0x1\",\"size\":2,\"ranks\":[{\"rank\":0,"
                       "\"status\":{%s}}]}]}",
                       cases[i].flags);
        assert_int_equal(decode(text), TC_OK);
        assert_int_equal(t.count, 1);
        assert_true(tc_slice_eq(t.events[0].ras.status, tc_slice_cstr(cases[i].status)));
    }
}

static void ranks_of_smaller_communicators_are_found_in_the_largest(void **state)
{
    (void)state;
    assert_int_equal(decode(REPORT("2026-03-04 05:06:07",
                                   COMM("0xb1", 1, RANK(0, "10.0.0.6", 812, 4, FINE, COUNTS(9)),
                                        "") ",\n" COMM("0xa7", 2, TWO_RANKS, ""))),
                     TC_OK);
    assert_int_equal(t.count, 5);
    assert_text(t.events[0].ras.comm, "0xb1");
    assert_int_equal(t.events[0].ras.comm_rank, 0);
    assert_int_equal(t.events[0].scope.rank, 1);
}

static void without_one_communicator_of_all_no_global_rank_is_claimed(void **state)
{
    (void)state;
    /* Two of the same size with other processes. */
    assert_int_equal(
        decode(REPORT("2026-03-04 05:06:07",
                      COMM("0xb1", 1, RANK(0, "10.0.0.6", 812, 4, FINE, COUNTS(9)), "") ",\n" COMM(
                          "0xb2", 1, RANK(0, "10.0.0.5", 811, 3, FINE, COUNTS(9)), ""))),
        TC_OK);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.events[0].scope.rank, -1);
    assert_int_equal(t.events[1].scope.rank, -1);
    /* Two of all processes that number them differently. */
    assert_int_equal(decode(REPORT("2026-03-04 05:06:07",
                                   COMM("0xa7", 2, TWO_RANKS, "") ",\n" COMM(
                                       "0xa8", 2,
                                       RANK(1, "10.0.0.5", 811, 3, FINE, COUNTS(41)) ",\n" RANK(
                                           0, "10.0.0.6", 812, 4, FINE, COUNTS(40)),
                                       ""))),
                     TC_OK);
    assert_int_equal(t.count, 4);
    for (size_t i = 0; i < t.count; i++) {
        assert_int_equal(t.events[i].kind, TC_EVENT_NCCL_RAS);
        assert_int_equal(t.events[i].scope.rank, -1);
    }
}

static void several_reports_and_text_around_them_are_read(void **state)
{
    (void)state;
    assert_int_equal(
        decode("RCCL version 2.28.9\n" REPORT(
            "2026-03-04 05:06:07",
            COMM("0xa7", 2, TWO_RANKS, "")) "\n" REPORT("2026-03-04 05:16:07",
                                                        COMM("0xa7", 2, TWO_RANKS, ""))),
        TC_OK);
    assert_int_equal(t.count, 8);
    assert_int_equal(t.unknown, 1);
    assert_int_equal(t.events[4].time_ns - t.events[0].time_ns, 600 * TC_SECOND);
    /* What its monitor mode prints is no snapshot. */
    assert_int_equal(decode("{\"timestamp\":\"2026-03-04 05:06:07\",\"group\":\"LIFECYCLE\"}"),
                     TC_OK);
    assert_int_equal(t.count, 0);
    assert_int_equal(t.unknown, 1);
}

static void a_bad_report_is_told_and_the_others_are_read(void **state)
{
    static const char *const bad[] = {
        "{\"communicators\":[{\"size\":2,\"ranks\":[]}]}",
        "{\"communicators\":[{\"hash\":\"0x1\",\"ranks\":[]}]}",
        "{\"communicators\":[{\"hash\":\"0x1\",\"size\":-1,\"ranks\":[]}]}",
        "{\"communicators\":[{\"hash\":\"0x1\",\"size\":2,\"ranks\":[{\"rank\":2}]}]}",
        "{\"communicators\":[{\"hash\":\"0x1\",\"size\":2,\"ranks\":[{\"pid\":2}]}]}",
        "{\"communicators\":[{\"hash\":\"0x1\",\"size\":2,\"ranks\":[7]}]}",
        "{\"communicators\":[{\"hash\":\"0x1\",\"size\":2,\"ranks\":[{\"rank\" 1}]}]}",
        "{\"communicators\":[{\"hash\":\"0x1\",\"size\":2,\"ranks\":[{\"rank\":1,\"status\":{x}}]}]"
        "}",
        "{\"communicators\":[{\"hash\":\"0x1\",\"size\":2,\"ranks\":[{\"rank\":1,"
        "\"collective_counts\":{\"a\"}}]}]}",
        "{\"communicators\":[[]]}",
        "{\"communicators\":[}]}",
        "{communicators}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[8192];
        (void)snprintf(text, sizeof text, "%s\n%s", bad[i],
                       REPORT("2026-03-04 05:06:07", COMM("0xa7", 2, TWO_RANKS, "")));
        assert_int_equal(decode(text), TC_E_MALFORMED);
        assert_int_equal(t.count, 4);
        assert_true(t.err.offset < strlen(bad[i]));
        assert_true(t.err.message[0] != '\0');
    }
}

static void a_torn_report_gives_nothing(void **state)
{
    static const char whole[] = REPORT("2026-03-04 05:06:07", COMM("0xa7", 2, TWO_RANKS, ""));
    (void)state;
    for (size_t len = 1; len < sizeof whole - 2; len++) {
        char text[sizeof whole];
        memcpy(text, whole, len);
        text[len] = '\0';
        assert_int_equal(decode(text), TC_E_MALFORMED);
        assert_int_equal(t.count, 0);
        assert_int_equal(t.err.offset, 0);
    }
    assert_int_equal(decode(""), TC_OK);
    assert_int_equal(t.count, 0);
}

static void counts_that_do_not_fit_are_unknown(void **state)
{
    (void)state;
    assert_int_equal(
        decode("{\"communicators\":[{\"hash\":\"0x1\",\"size\":2,\"ranks\":[{\"rank\":0,"
               "\"collective_counts\":{\"a\":9223372036854775807,\"b\":1,\"c\":1}},{\"rank\":1,"
               "\"collective_counts\":{\"a\":\"many\"}}]}]}"),
        TC_OK);
    assert_int_equal(t.events[0].ras.ops, -1);
    assert_int_equal(t.events[1].ras.ops, -1);
}

static void memory_and_the_sink_may_fail(void **state)
{
    (void)state;
    t.scratch_bytes = 64;
    assert_int_equal(decode(REPORT("2026-03-04 05:06:07", COMM("0xa7", 2, TWO_RANKS, ""))),
                     TC_E_NOMEM);
    assert_int_equal(t.count, 0);
    t.scratch_bytes = BLOCK_BYTES;
    t.refuse = TC_E_IO;
    assert_int_equal(decode(REPORT("2026-03-04 05:06:07", COMM("0xa7", 2, TWO_RANKS, ""))),
                     TC_E_IO);
    assert_int_equal(t.count, 1);
}

static void it_is_recognised_among_the_others(void **state)
{
    static const char report[] = REPORT("2026-03-04 05:06:07", COMM("0xa7", 2, TWO_RANKS, ""));
    (void)state;
    assert_ptr_equal(tc_codec_recognise(TC_LIT(report), TC_LIT("ras.json")), &tc_codec_ncclras);
    assert_ptr_equal(tc_codec_recognise(TC_LIT("NCCL version 2.28.9\n{\"communicators_count\": 0,"
                                               "\"communicators\": [\n\n]}"),
                                        TC_LIT("x")),
                     &tc_codec_ncclras);
    assert_int_equal(
        tc_codec_sniff(&tc_codec_ncclras, TC_LIT("{\"communicators\": 4}"), true, TC_EMPTY),
        TC_SNIFF_NO);
}

#define TEXT(status, below)                                                       \
    "NCCL version 2.24.3 compiled with CUDA 12.6\n\nJob summary\n===========\n\n" \
    "  Nodes  Processes         GPUs  Processes     GPUs\n"                       \
    "(total)   per node  per process    (total)  (total)\n"                       \
    "      2          2            1          4        4\n\n"                     \
    "Communicators... (0.00s)\n=============\n\n"                                 \
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n" \
    "    #  in group  per comm  per node  per comm  in group\n"                   \
    "    0         1         2       1-2         4         4  " status "\n\n" below
#define BEHIND(line)                                 \
    "Warnings\n========\n\n#0-0 (27a079) MISMATCH\n" \
    "  Communicator ranks have different collective operation counts\n" line

static void the_form_for_people_names_who_is_behind(void **state)
{
    static const char *const texts[] = {
        TEXT("RUNNING  MISMATCH",
             BEHIND("  3 ranks have launched up to operation 64\n"
                    "  Rank 2 has launched up to operation 60 -- GPU 1 managed by process 871 on "
                    "node 10.0.0.6\n")),
        TEXT("RUNNING  MISMATCH", BEHIND("  2 ranks have launched up to operation 64\n"
                                         "  2 ranks have launched up to operation 60\n"
                                         "  Rank 2 -- GPU 1 managed by process 871 on node "
                                         "10.0.0.6\n"
                                         "  Rank 3 -- GPU 2 managed by process 872 on node "
                                         "10.0.0.6\n\n")),
    };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(decode(texts[i]), TC_OK);
        assert_int_equal(t.count, 4);
        const struct tc_event *ev = &t.events[0];
        assert_int_equal(ev->kind, TC_EVENT_NCCL_RAS);
        assert_int_equal(ev->time_ns, NOON);
        assert_text(ev->ras.comm, "27a079");
        assert_text(ev->ras.status, "running");
        assert_int_equal(ev->ras.comm_rank, 2);
        assert_int_equal(ev->ras.comm_size, 4);
        assert_int_equal(ev->ras.ops, 60);
        assert_int_equal(ev->scope.rank, 2);
        assert_int_equal(ev->scope.pid, 871);
        assert_int_equal(ev->scope.gpu_index, 1);
        assert_text(ev->scope.node, "10.0.0.6");
        /* The others: by no name, with the count that names nobody. */
        assert_int_equal(t.events[3].ras.ops, 64);
        assert_int_equal(t.events[3].scope.rank, i == 0 ? 3 : 1);
        assert_int_equal(t.events[3].scope.pid, -1);
    }
}

static void the_form_for_people_names_who_is_missing(void **state)
{
    (void)state;
    assert_int_equal(
        decode(TEXT("RUNNING  INCOMPLETE",
                    "Errors\n======\n\nINCOMPLETE\n  Missing communicator data from 2 job "
                    "processes\n  Process 871 on node 10.0.0.6 managing GPU 1\n\n"
                    "#0-0 (27a079) INCOMPLETE\n  Missing communicator data from 2 ranks\n"
                    "  The missing ranks: 1, 3\n  Rank 2 -- GPU 1 managed by process 871 on node "
                    "10.0.0.6\n")),
        TC_OK);
    assert_int_equal(t.count, 3);
    for (size_t i = 0; i < 3; i++) {
        static const int64_t ranks[] = {1, 3, 2};
        assert_text(t.events[i].ras.status, "missing");
        assert_int_equal(t.events[i].ras.comm_rank, ranks[i]);
        assert_int_equal(t.events[i].ras.ops, -1);
    }
}

static void the_form_for_people_may_say_nothing(void **state)
{
    static const struct {
        const char *text;
        size_t events;
    } cases[] = {
        {TEXT("RUNNING      OK", ""), 0},
        /* Being torn down. */
        {TEXT("FINALIZE  INCOMPLETE",
              "#0-0 (27a079) INCOMPLETE\n  Missing communicator data from 1 rank\n"
              "  The missing rank: 1\n"),
         0},
        /* They differ in something else. */
        {TEXT("RUNNING  MISMATCH",
              "#0-0 (27a079) MISMATCH\n  Communicator ranks have different status\n"
              "  3 ranks have status RUNNING\n"
              "  Rank 1 has status FINALIZE -- GPU 1 managed by process 8 on node a\n"),
         0},
        /* Nobody is named, or who the others are is not clear. */
        {TEXT("RUNNING  MISMATCH", BEHIND("  2 ranks have launched up to operation 64\n"
                                          "  2 ranks have launched up to operation 60\n")),
         0},
        {TEXT("RUNNING  MISMATCH", BEHIND("  2 ranks have launched up to operation 64\n"
                                          "  Rank 2 has not launched any operations\n")),
         1},
        /* Numbers without end, and a communicator of no group. */
        {TEXT("RUNNING  MISMATCH",
              BEHIND("  Rank 99999999999999999999 -- GPU 1\n  Rank 70000 has launched up to "
                     "operation 1\n#9-0 (1) INCOMPLETE\n  The missing rank: 1\n#9-0\n#\n#1")),
         0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(decode(cases[i].text), TC_OK);
        if (t.count != cases[i].events) {
            print_error("case %zu: %zu\n", i, t.count);
        }
        assert_int_equal(t.count, cases[i].events);
    }
    assert_ptr_equal(tc_codec_recognise(tc_slice_cstr(cases[0].text), TC_LIT("ras.txt")),
                     &tc_codec_ncclras);
    t.scratch_bytes = 64;
    assert_int_equal(decode(cases[0].text), TC_E_NOMEM);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_report_gives_its_ranks_and_where_they_run),
        TEST(the_zone_of_the_time_is_the_inputs),
        TEST(missing_ranks_are_missing_dead_or_elsewhere),
        TEST(the_comma_that_2_28_9_leaves_out_is_not_needed),
        TEST(statuses_are_normalised),
        TEST(ranks_of_smaller_communicators_are_found_in_the_largest),
        TEST(without_one_communicator_of_all_no_global_rank_is_claimed),
        TEST(several_reports_and_text_around_them_are_read),
        TEST(a_bad_report_is_told_and_the_others_are_read),
        TEST(a_torn_report_gives_nothing),
        TEST(counts_that_do_not_fit_are_unknown),
        TEST(memory_and_the_sink_may_fail),
        TEST(the_form_for_people_names_who_is_behind),
        TEST(the_form_for_people_names_who_is_missing),
        TEST(the_form_for_people_may_say_nothing),
        TEST(it_is_recognised_among_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
