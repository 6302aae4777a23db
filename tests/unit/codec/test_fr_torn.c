/* SPDX-License-Identifier: Apache-2.0 */
/* Flight Recorder dumps that are torn, too large, badly named or something else altogether, and
 * receivers that run out of room. All dumps here are invented. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/fr_probe.h"
#include "support/pickle_writer.h"

#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DUMP                                                                                \
    "{\"version\":\"2.9\",\"pg_config\":{\"0\":{\"name\":\"0\",\"desc\":\"d\",\"ranks\":"   \
    "\"[0, 1]\"}},\"pg_status\":{\"0\":{\"last_enqueued_collective\":70000}},\"entries\":[" \
    "{\"record_id\":1,\"pg_id\":0,\"process_group\":[\"0\",\"d\"],\"profiling_name\":"      \
    "\"nccl:send 0->1\",\"time_created_ns\":1700000000000000000,\"input_sizes\":[[4,300]]," \
    "\"input_dtypes\":[\"Float\"],\"is_p2p\":true,\"duration_ms\":0.5},"                    \
    "{\"record_id\":2,\"process_group\":[\"0\",\"\\u00e9\"]}]}"

static struct tc_fr_probe probe;

/* Bytes in a block of their own, so that a read behind the end is seen. */
static char *exact_copy(struct tc_slice s)
{
    char *copy = malloc(s.len == 0 ? 1 : s.len);
    assert_non_null(copy);
    if (s.len > 0) {
        memcpy(copy, s.ptr, s.len);
    }
    return copy;
}

static void assert_one_failed_dump(int32_t rank)
{
    assert_int_not_equal(probe.status, TC_OK);
    assert_int_equal(probe.err.status, probe.status);
    assert_true(probe.err.message[0] != '\0');
    assert_int_equal(probe.count, 1);
    assert_int_equal(probe.cursor.events, 1);
    assert_int_equal(probe.events[0].kind, TC_EVENT_NCCL_DUMP);
    assert_int_equal(probe.events[0].scope.rank, rank);
    assert_true(probe.events[0].dump.error.len > 0);
}

static void dump_cut_anywhere_is_reported_for_that_rank(void **state)
{
    (void)state;
    struct tc_pickle w = {0};
    tc_pickle_json(&w, DUMP);
    const struct tc_slice wholes[] = {tc_pickle_slice(&w), TC_LIT(DUMP)};
    for (size_t form = 0; form < 2; form++) {
        tc_fr_probe_run(&probe, wholes[form], "_dump_12");
        assert_int_equal(probe.status, TC_OK);
        for (size_t len = 0; len < wholes[form].len; len++) {
            char *cut = exact_copy(tc_slice_head(wholes[form], len));
            tc_fr_probe_run(&probe, tc_slice_make(cut, len), "dir/_dump_12");
            assert_one_failed_dump(12);
            assert_int_equal(probe.status, TC_E_MALFORMED);
            assert_int_equal(probe.events[0].raw.length, len);
            assert_true(probe.err.offset <= len);
            free(cut);
        }
    }
    tc_pickle_fini(&w);
}

static void any_byte_changed_never_gives_half_a_dump(void **state)
{
    (void)state;
    struct tc_pickle w = {0};
    tc_pickle_json(&w, DUMP);
    for (size_t i = 0; i < w.len; i++) {
        for (int flip = 1; flip < 256; flip <<= 1) {
            char *bytes = exact_copy(tc_pickle_slice(&w));
            bytes[i] = (char)(bytes[i] ^ flip);
            tc_fr_probe_run(&probe, tc_slice_make(bytes, w.len), "_dump_12");
            if (probe.status != TC_OK) {
                assert_one_failed_dump(12);
            } else {
                assert_int_equal(probe.events[0].dump.entries,
                                 tc_fr_probe_count(&probe, TC_EVENT_NCCL_RECORD));
            }
            free(bytes);
        }
    }
    tc_pickle_fini(&w);
}

static void rank_is_the_number_at_the_end_of_the_name(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int32_t rank;
    } cases[] = {
        {"_dump_12", 12},
        {"/tmp/nccl_trace_rank_3", 3},
        {"a_1/comm_lib_trace_rank_7.json", 7},
        {"trace_rank_7.pkl", 7},
        {"trace_rank_7.pickle", 7},
        {"prefixhost_5", 5},
        {"gpu-node-0013_0", 0},
        {"dump007", 7},
        {"1048575", 1048575},
        {"rank_1048576", -1},
        {"rank_99999999999999999999999", -1},
        {"dump_3.txt", -1},
        {"dir_3/dump", -1},
        {"dir_3/", -1},
        {"", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tc_fr_probe_run(&probe, TC_LIT(DUMP), cases[i].name);
        if (cases[i].rank >= 0) {
            assert_int_equal(probe.status, TC_OK);
            assert_int_equal(probe.events[0].scope.rank, cases[i].rank);
        } else {
            assert_one_failed_dump(-1);
        }
    }
}

static void dump_without_a_rank_in_its_name_says_so_or_carries_it(void **state)
{
    (void)state;
    tc_fr_probe_run(&probe, TC_LIT(DUMP), "a/my\ndump.json");
    assert_one_failed_dump(-1);
    assert_non_null(strstr(probe.err.message, "'my\\x0adump' does not end in a rank"));
    tc_fr_probe_run(&probe, TC_LIT("{\"rank\":6,\"entries\":[]}"), "my_dump");
    assert_int_equal(probe.status, TC_OK);
    assert_int_equal(probe.events[0].scope.rank, 6);
    tc_fr_probe_run(&probe, TC_LIT("{\"rank\":6,\"entries\":[]}"), "my_dump_2");
    assert_int_equal(probe.events[0].scope.rank, 2);
}

static void other_files_are_not_taken_for_dumps(void **state)
{
    (void)state;
    static const struct {
        struct tc_slice bytes;
        const char *part;
    } cases[] = {
        {{"PK\3\4", 4}, "not a Flight Recorder dump"},
        {{"hello\n", 6}, "not a Flight Recorder dump"},
        {{"  ", 2}, "not a Flight Recorder dump"},
        {{"[]", 2}, "not a Flight Recorder dump"},
        {{"{}", 2}, "not a Flight Recorder dump"},
        {{"", 0}, "the dump is empty"},
        {{"{\"entries\":[]} x", 16}, "JSON"},
        {{"{\"entries\":[\"\xff\"]}", 17}, "JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tc_fr_probe_run(&probe, cases[i].bytes, "_dump_0");
        assert_one_failed_dump(0);
        if (strstr(probe.err.message, cases[i].part) == NULL) {
            fail_msg("'%s' is not in '%s'", cases[i].part, probe.err.message);
        }
    }
}

static void dumps_are_recognised_and_other_files_are_not(void **state)
{
    (void)state;
#define FILE_OF(literal, name, at_end, score)               \
    {                                                       \
        {literal, sizeof(literal) - 1}, name, at_end, score \
    }
    static const struct {
        struct tc_slice head;
        const char *name;
        bool at_end;
        int score;
    } cases[] = {
        FILE_OF("\x80\2}(X\7\0\0\0version", "x", false, TC_SNIFF_SURE),
        FILE_OF("\x80\2}q\1(X\x09\0\0\0pg_config", "x", false, TC_SNIFF_SURE),
        FILE_OF("\x80\4\x95\1\0\0\0\0\0\0\0}\x94(\x8c\7entries", "x", true, TC_SNIFF_SURE),
        FILE_OF("\x80\5}(\x8c\5model", "x", false, TC_SNIFF_MAYBE),
        FILE_OF("\x80\5}(\x8c\5model", "a_dump_1", false, TC_SNIFF_LIKELY),
        FILE_OF("\x80\2\x8a\x0al\xfc\x9c\x46\xf9 version", "x", false, TC_SNIFF_NO),
        FILE_OF("\x80\2ccollections\nOrderedDict\nversion", "x", false, TC_SNIFF_NO),
        FILE_OF("\x80\1}(version", "x", false, TC_SNIFF_NO),
        FILE_OF("\x80\6}(version", "x", false, TC_SNIFF_NO),
        FILE_OF("\x80\2", "x", true, TC_SNIFF_NO),
        FILE_OF("\x80\4\x95\1\0\0", "x", true, TC_SNIFF_NO),
        FILE_OF("\x80", "nccl_trace_rank_0", true, TC_SNIFF_LIKELY),
        FILE_OF("\x80 anything", "nccl_trace_rank_0", false, TC_SNIFF_LIKELY),
        FILE_OF("", "_dump_4", true, TC_SNIFF_LIKELY),
        FILE_OF("", "comm_lib_trace_rank_4.json", true, TC_SNIFF_LIKELY),
        FILE_OF("", "dump_4", true, TC_SNIFF_NO),
        FILE_OF("", "_dump_x", true, TC_SNIFF_NO),
        FILE_OF("", "trace_rank_", true, TC_SNIFF_NO),
        FILE_OF("PK\3\4", "_dump_4", true, TC_SNIFF_LIKELY),
        FILE_OF("PK\3\4", "_dump_4", false, TC_SNIFF_NO),
        FILE_OF("PK\3\4", "model_4", true, TC_SNIFF_NO),
        FILE_OF("Fault ranks: [12, 14]\n", "fault_injection.log", true, TC_SNIFF_NO),
        FILE_OF(" \n{\"comm_lib_version\":\"2\",\"entries\":[", "x", false, TC_SNIFF_SURE),
        FILE_OF("{\"entries\":[],\"pg_status\":{}", "x", false, TC_SNIFF_SURE),
        FILE_OF("{\"entries\":[],\"nccl_version\":1", "x", false, TC_SNIFF_SURE),
        FILE_OF("{\"pg_config\":{},\"version\":\"2.9\"}", "x", true, TC_SNIFF_SURE),
        FILE_OF("{\"pg_config\":{}}", "x", true, TC_SNIFF_NO),
        FILE_OF("{\"entries\":[],\"version\":\"2.9\"}", "x", true, TC_SNIFF_NO),
        FILE_OF("{\"kind\":\"nccl_record\"}", "events.json", true, TC_SNIFF_NO),
        FILE_OF("[{\"entries\":[],\"pg_config\":{}}]", "x", true, TC_SNIFF_NO),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int score = tc_codec_sniff(&tc_codec_flight_recorder, cases[i].head, cases[i].at_end,
                                   tc_slice_cstr(cases[i].name));
        if (score != cases[i].score) {
            fail_msg("case %zu: %d, not %d", i, score, cases[i].score);
        }
    }
}

static void name_alone_claims_only_short_files(void **state)
{
    (void)state;
    static char text[201];
    memset(text, 'x', sizeof text);
    struct tc_slice name = TC_LIT("_dump_4");
    const struct tc_codec *codec = &tc_codec_flight_recorder;
    assert_int_equal(tc_codec_sniff(codec, tc_slice_make(text, 200), true, name), TC_SNIFF_LIKELY);
    assert_int_equal(tc_codec_sniff(codec, tc_slice_make(text, 201), true, name), TC_SNIFF_NO);
}

/* Every size of working memory from none to enough: an error each time until it suffices. */
static void too_little_memory_is_an_error_and_never_half_a_dump(void **state)
{
    (void)state;
    struct tc_pickle w = {0};
    tc_pickle_json(&w, DUMP);
    const struct tc_slice forms[] = {tc_pickle_slice(&w), TC_LIT(DUMP)};
    for (size_t form = 0; form < 2; form++) {
        bool sufficed = false;
        for (size_t size = 1; !sufficed; size += 61) {
            assert_true(size < 200000);
            probe.scratch_bytes = size;
            tc_fr_probe_run(&probe, forms[form], "_dump_12");
            sufficed = probe.status == TC_OK;
            if (!sufficed) {
                assert_one_failed_dump(12);
                assert_int_equal(probe.status, TC_E_LIMIT);
                assert_non_null(strstr(probe.err.message, "of working memory"));
            }
        }
        assert_int_equal(probe.count, 5);
        probe.scratch_bytes = 0;
        sufficed = false;
        for (size_t size = 1; !sufficed; size++) {
            assert_true(size < 1000);
            probe.arena_bytes = size;
            tc_fr_probe_run(&probe, forms[form], "_dump_12");
            sufficed = probe.status == TC_OK;
            if (!sufficed) {
                assert_int_equal(probe.status, TC_E_NOMEM);
                assert_one_failed_dump(12);
            }
        }
        assert_int_equal(probe.count, 5);
        probe.arena_bytes = 0;
    }
    tc_pickle_fini(&w);
}

static void failed_dump_gives_back_the_strings_it_made(void **state)
{
    (void)state;
    tc_fr_probe_run(&probe,
                    TC_LIT("{\"entries\":[{\"input_sizes\":[[1111111111,2222222222,3333333333],"
                           "[4444444444,5555555555,6666666666,7777777777,8888888888,9999999999]],"
                           "\"input_dtypes\":[\"Float\"]},7]}"),
                    "_dump_12");
    assert_one_failed_dump(12);
    /* The sanitizer's arena leaves a gap of a few bytes behind each object. */
    assert_true(probe.arena.peak > strlen(probe.err.message) + 60);
    assert_true(probe.arena.used <= strlen(probe.err.message) + 8);
}

static void pause_does_not_stop_a_dump(void **state)
{
    (void)state;
    probe.pause = true;
    tc_fr_probe_run(&probe, TC_LIT(DUMP), "_dump_12");
    probe.pause = false;
    assert_int_equal(probe.status, TC_OK);
    assert_int_equal(probe.count, 5);
    assert_false(tc_codec_flight_recorder.ordered);
}

static void receiver_that_fails_ends_the_dump(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 5; n++) {
        probe.fail_at = n;
        tc_fr_probe_run(&probe, TC_LIT(DUMP), "_dump_12");
        assert_int_equal(probe.status, TC_E_IO);
        assert_int_equal(probe.count, n - 1);
        assert_int_equal(probe.cursor.events, n - 1);
    }
    /* Of a dump that cannot be read, its own failure is the one to report. */
    probe.fail_at = 1;
    tc_fr_probe_run(&probe, TC_LIT("{"), "_dump_12");
    assert_int_equal(probe.status, TC_E_MALFORMED);
    assert_int_equal(probe.count, 0);
    probe.fail_at = 0;
}

static void decoding_again_after_the_end_gives_nothing(void **state)
{
    (void)state;
    tc_fr_probe_run(&probe, TC_LIT(DUMP), "_dump_12");
    struct tc_codec_input in = {.bytes = TC_LIT(DUMP), .name = TC_LIT("_dump_12")};
    struct tc_codec_out out = {.arena = &probe.arena, .scratch = &probe.scratch};
    assert_int_equal(tc_codec_flight_recorder.decode(&in, &probe.cursor, &out, NULL), TC_OK);
    assert_int_equal(probe.cursor.events, 5);
}

static tc_status count_event(void *context, const struct tc_event *ev)
{
    (void)ev;
    *(size_t *)context += 1;
    return TC_OK;
}

static void caller_may_not_want_the_error(void **state)
{
    (void)state;
    size_t count = 0;
    tc_fr_probe_run(&probe, TC_LIT(DUMP), "_dump_12");
    struct tc_codec_cursor cursor = {0};
    struct tc_codec_input in = {.bytes = TC_LIT("{"), .name = TC_LIT("_dump_12")};
    struct tc_codec_out out = {
        .event = count_event, .context = &count, .arena = &probe.arena, .scratch = &probe.scratch};
    assert_int_equal(tc_codec_flight_recorder.decode(&in, &cursor, &out, NULL), TC_E_MALFORMED);
    assert_int_equal(count, 1);
}

/* {"<key>": <open> item ... <close>} with so many items, as a pickle. */
static void run_many(const char *head, size_t head_len, const char *item, size_t item_len,
                     size_t count, const char *tail)
{
    struct tc_pickle w = {0};
    tc_pickle_begin(&w);
    tc_pickle_raw(&w, head, head_len);
    for (size_t i = 0; i < count; i++) {
        tc_pickle_raw(&w, item, item_len);
    }
    tc_pickle_raw(&w, tail, strlen(tail));
    probe.scratch_bytes = (size_t)128 << 20;
    tc_fr_probe_run(&probe, tc_pickle_slice(&w), "_dump_12");
    probe.scratch_bytes = 0;
    tc_pickle_fini(&w);
}

static void more_entries_than_the_limit_are_refused(void **state)
{
    (void)state;
    static const char head[] = "}X\7\0\0\0entries](";
    run_many(head, sizeof head - 1, "N", 1, TC_FR_ENTRIES_MAX + 1, "es.");
    assert_one_failed_dump(12);
    assert_int_equal(probe.status, TC_E_LIMIT);
    assert_non_null(strstr(probe.err.message, "1000001 entries; the limit is 1000000"));
    /* One fewer passes the count, and then asks for the memory. */
    run_many(head, sizeof head - 1, "N", 1, TC_FR_ENTRIES_MAX, "es.");
    assert_int_equal(probe.status, TC_E_LIMIT);
    assert_non_null(strstr(probe.err.message, "of working memory"));
}

static void more_groups_than_the_limit_are_refused(void **state)
{
    (void)state;
    static const char config[] = "}X\x09\0\0\0pg_config}(";
    static const char pair[] = "X\1\0\0\0aN";
    run_many(config, sizeof config - 1, pair, sizeof pair - 1, TC_FR_GROUPS_MAX + 1, "us.");
    assert_int_equal(probe.status, TC_E_LIMIT);
    assert_non_null(strstr(probe.err.message, "pg_config has 65537 groups"));
    /* One fewer passes the count, and then a group must be a dictionary. */
    run_many(config, sizeof config - 1, pair, sizeof pair - 1, TC_FR_GROUPS_MAX, "us.");
    assert_int_equal(probe.status, TC_E_MALFORMED);
    assert_non_null(strstr(probe.err.message, "a group of pg_config"));
}

static void values_that_wait_for_their_list_are_bounded(void **state)
{
    (void)state;
    run_many("}(", 2, "N", 1, (size_t)2 * TC_FR_ENTRIES_MAX - 1, ".");
    assert_int_equal(probe.status, TC_E_LIMIT);
    assert_non_null(strstr(probe.err.message, "wait in open lists"));
    run_many("}(", 2, "N", 1, (size_t)2 * TC_FR_ENTRIES_MAX - 2, ".");
    assert_int_equal(probe.status, TC_E_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dump_cut_anywhere_is_reported_for_that_rank),
        cmocka_unit_test(any_byte_changed_never_gives_half_a_dump),
        cmocka_unit_test(rank_is_the_number_at_the_end_of_the_name),
        cmocka_unit_test(dump_without_a_rank_in_its_name_says_so_or_carries_it),
        cmocka_unit_test(other_files_are_not_taken_for_dumps),
        cmocka_unit_test(dumps_are_recognised_and_other_files_are_not),
        cmocka_unit_test(name_alone_claims_only_short_files),
        cmocka_unit_test(too_little_memory_is_an_error_and_never_half_a_dump),
        cmocka_unit_test(failed_dump_gives_back_the_strings_it_made),
        cmocka_unit_test(pause_does_not_stop_a_dump),
        cmocka_unit_test(receiver_that_fails_ends_the_dump),
        cmocka_unit_test(decoding_again_after_the_end_gives_nothing),
        cmocka_unit_test(caller_may_not_want_the_error),
        cmocka_unit_test(more_entries_than_the_limit_are_refused),
        cmocka_unit_test(more_groups_than_the_limit_are_refused),
        cmocka_unit_test(values_that_wait_for_their_list_are_bounded),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tc_fr_probe_fini(&probe);
    return failed;
}
