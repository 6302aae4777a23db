/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorded dumps of TC_SAMPLES/fr, read in place: two 16-rank runs with injected faults. Totals
 * and a few records are pinned; every record is held against what Python's own pickle module says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/fr_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 16

static struct tc_fr_probe probe;
static char *content;

static void sample_path(char *path, size_t size, const char *name)
{
    const char *samples = getenv("TC_SAMPLES");
    const char *source = getenv("TC_SOURCE_DIR");
    if (samples != NULL && samples[0] != '\0') {
        (void)snprintf(path, size, "%s/fr/%s", samples, name);
    } else {
        (void)snprintf(path, size, "%s/../shared/samples/fr/%s", source == NULL ? "." : source,
                       name);
    }
}

static void keep_content(const char *bytes, size_t len)
{
    free(content);
    content = malloc(len == 0 ? 1 : len);
    assert_non_null(content);
    memcpy(content, bytes, len);
}

/* Skips the test when there are no samples. */
static struct tc_slice read_sample(const char *name)
{
    char path[4096];
    sample_path(path, sizeof path, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        print_message("no sample %s: set TC_SAMPLES\n", path);
        skip();
    }
    static char buffer[1 << 20];
    size_t len = fread(buffer, 1, sizeof buffer, file);
    (void)fclose(file);
    keep_content(buffer, len);
    return tc_slice_make(content, len);
}

static void read_dump(const char *run, int rank)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s/_dump_%d", run, rank);
    struct tc_slice bytes = read_sample(name);
    assert_int_equal(tc_codec_sniff(&tc_codec_flight_recorder, bytes, true, tc_slice_cstr("x")),
                     TC_SNIFF_SURE);
    tc_fr_probe_run(&probe, bytes, name);
    if (probe.status != TC_OK) {
        fail_msg("%s: %s", name, probe.err.message);
    }
    assert_int_equal(probe.events[0].scope.rank, rank);
    assert_true(tc_slice_eq(probe.events[0].dump.version, TC_LIT("2.9")));
    assert_true(tc_slice_eq(probe.events[0].dump.library, TC_LIT("2.27.3")));
}

static void check_totals(const char *run, const int *entries, const int *groups)
{
    for (int rank = 0; rank < RANKS; rank++) {
        read_dump(run, rank);
        assert_int_equal(probe.events[0].dump.entries, entries[rank]);
        assert_int_equal(tc_fr_probe_count(&probe, TC_EVENT_NCCL_RECORD), entries[rank]);
        assert_int_equal(tc_fr_probe_count(&probe, TC_EVENT_NCCL_GROUP), groups[rank]);
        assert_int_equal(tc_fr_probe_count(&probe, TC_EVENT_NCCL_STATUS), groups[rank]);
        assert_int_equal(tc_fr_probe_count(&probe, TC_EVENT_NCCL_DUMP), 1);
    }
}

static void gpu_error_run_has_its_records(void **state)
{
    (void)state;
    static const int entries[RANKS] = {20, 20, 20, 20, 8, 8, 8, 8, 19, 19, 19, 19, 27, 16, 43, 15};
    static const int groups[RANKS] = {13, 13, 13, 13, 12, 12, 12, 12,
                                      12, 12, 12, 12, 13, 13, 13, 13};
    check_totals("gpu_error_1st", entries, groups);
}

static void locked_interpreter_run_has_its_records(void **state)
{
    (void)state;
    static const int entries[RANKS] = {11, 11, 11, 11, 11, 11, 11, 11, 9, 0, 9, 9, 9, 9, 0, 9};
    static const int groups[RANKS] = {13, 13, 13, 13, 13, 13, 13, 13,
                                      13, 13, 13, 13, 13, 13, 13, 13};
    check_totals("lock_gil_1st", entries, groups);
}

static void first_send_of_rank_0_goes_to_rank_12(void **state)
{
    (void)state;
    read_dump("gpu_error_1st", 0);
    const struct tc_event *ev = tc_fr_probe_event(&probe, TC_EVENT_NCCL_RECORD, 0);
    assert_int_equal(ev->time_ns, 1758610505592849034);
    assert_int_equal(ev->nccl.record_id, 86676);
    assert_int_equal(ev->nccl.pg_id, 6);
    assert_true(tc_slice_eq(ev->nccl.group, TC_LIT("43")));
    assert_true(tc_slice_eq(ev->nccl.group_desc, TC_LIT("PIPELINE_MODEL_PARALLEL_GROUP")));
    assert_true(tc_slice_eq(ev->nccl.op, TC_LIT("send 0->3")));
    assert_true(ev->nccl.is_p2p && ev->nccl.is_send && !ev->nccl.retired);
    assert_int_equal(ev->nccl.peer, 12); /* of [0, 4, 8, 12] */
    assert_int_equal(ev->nccl.seq, 11981);
    assert_int_equal(ev->nccl.state, TC_NCCL_SCHEDULED);
    assert_int_equal(ev->nccl.started_ns, TC_TIME_NONE);
    assert_int_equal(ev->nccl.completed_ns, TC_TIME_NONE);
    assert_int_equal(ev->nccl.timeout_ms, 180000);
    assert_true(tc_slice_eq(ev->nccl.sizes_in, TC_LIT("[[4096, 1, 5120]]")));
    assert_true(tc_slice_eq(ev->nccl.dtypes_out, TC_LIT("[BFloat16]")));

    const struct tc_event *gather = tc_fr_probe_event(&probe, TC_EVENT_NCCL_RECORD, 2);
    assert_true(tc_slice_eq(gather->nccl.op, TC_LIT("_all_gather_base")));
    assert_int_equal(gather->nccl.seq, 39407);
    assert_int_equal(gather->nccl.peer, -1);
    assert_true(tc_slice_eq(gather->nccl.sizes_out, TC_LIT("[[8192, 1, 5120]]")));
}

static void rank_without_entries_still_tells_how_far_it_got(void **state)
{
    (void)state;
    read_dump("lock_gil_1st", 9);
    assert_int_equal(probe.events[0].time_ns, TC_TIME_NONE);
    const struct tc_event *status = tc_fr_probe_event(&probe, TC_EVENT_NCCL_STATUS, 0);
    assert_true(status->status.pg_id >= 0);
    assert_true(status->status.enqueued >= 0);
    assert_int_equal(status->status.group_key, 0);
}

static void log_beside_the_dumps_is_not_a_dump(void **state)
{
    (void)state;
    static const char *const names[] = {"gpu_error_1st/fault_injection.log",
                                        "lock_gil_1st/fault_injection.log"};
    for (size_t i = 0; i < 2; i++) {
        struct tc_slice bytes = read_sample(names[i]);
        assert_int_equal(
            tc_codec_sniff(&tc_codec_flight_recorder, bytes, true, tc_slice_cstr(names[i])),
            TC_SNIFF_NO);
    }
}

/* One line per record: what the script below prints too. */
static void print_records(char *text, size_t size)
{
    static const char *const states[] = {"scheduled", "started", "completed"};
    size_t len = 0;
    const struct tc_event *ev = NULL;
    text[0] = '\0';
    for (size_t n = 0; (ev = tc_fr_probe_event(&probe, TC_EVENT_NCCL_RECORD, n)) != NULL; n++) {
        const struct tc_ev_nccl *r = &ev->nccl;
        int used = snprintf(
            text + len, size - len, "%.*s|%.*s|%.*s|%lld|%s|%lld|%d|%d|%lld|%.*s|%.*s|%d|%lld\n",
            TC_FMT(r->group), TC_FMT(r->group_desc), TC_FMT(r->op), (long long)r->seq,
            states[r->state], (long long)ev->time_ns, r->peer, r->is_p2p, (long long)r->record_id,
            TC_FMT(r->sizes_in), TC_FMT(r->dtypes_out), r->retired, (long long)r->pg_id);
        assert_true(used > 0 && (size_t)used < size - len);
        len += (size_t)used;
    }
}

static const char SCRIPT[] =
    "import pickle, re, sys\n"
    "d = pickle.load(open(sys.argv[1], 'rb'))\n"
    "members = {k: [int(n) for n in re.findall('[0-9]+', v['ranks'])]\n"
    "           for k, v in d['pg_config'].items()}\n"
    "for e in d['entries']:\n"
    "    name, desc = e['process_group']\n"
    "    op = e['profiling_name'].split(':', 1)[1]\n"
    "    p2p = re.fullmatch('(?:send [0-9]+->|recv [0-9]+<-)([0-9]+)', op)\n"
    "    peer = members[name][int(p2p[1])] if p2p else -1\n"
    "    seq = e['p2p_seq_id'] if e['is_p2p'] else e['collective_seq_id']\n"
    "    print(name, desc, op, seq, e['state'], e['time_created_ns'], peer, int(e['is_p2p']),\n"
    "          e['record_id'], e['input_sizes'], '[' + ', '.join(e['output_dtypes']) + ']',\n"
    "          int(e['retired']), e['pg_id'], sep='|')\n";

static void need_python(void)
{
    if (system("python3 -c pass >/dev/null 2>&1") != 0) {
        print_message("no python3\n");
        skip();
    }
}

/* What python3 prints when it runs the script on a sample; the number of bytes. */
static size_t run_python(const char *script, const char *sample, int argument, char *out,
                         size_t size)
{
    char path[4096];
    char command[8192];
    sample_path(path, sizeof path, sample);
    (void)snprintf(command, sizeof command, "python3 -c \"%s\" '%s' %d", script, path, argument);
    FILE *python = popen(command, "r");
    assert_non_null(python);
    size_t len = fread(out, 1, size - 1, python);
    out[len] = '\0';
    assert_int_equal(pclose(python), 0);
    return len;
}

static void every_record_agrees_with_pythons_pickle(void **state)
{
    (void)state;
    static const char *const runs[] = {"gpu_error_1st", "lock_gil_1st"};
    static char ours[1 << 16];
    static char theirs[1 << 16];
    need_python();
    for (size_t i = 0; i < 2 * RANKS; i++) {
        char name[64];
        int rank = (int)(i % RANKS);
        read_dump(runs[i / RANKS], rank);
        print_records(ours, sizeof ours);
        (void)snprintf(name, sizeof name, "%s/_dump_%d", runs[i / RANKS], rank);
        (void)run_python(SCRIPT, name, 0, theirs, sizeof theirs);
        assert_string_equal(ours, theirs);
    }
}

/* Python memoises every object and, from protocol 4 on, cuts a long pickle into frames: the names
 * make it long enough for two. */
static const char REPICKLE[] =
    "import copy, pickle, sys\n"
    "d = pickle.load(open(sys.argv[1], 'rb'))\n"
    "entries = d['entries'] * 10\n"
    "d['entries'] = [dict(copy.deepcopy(e), frames=[{'name': str(n) + 'f' * 200}])\n"
    "                for n, e in enumerate(entries)]\n"
    "sys.stdout.buffer.write(pickle.dumps(d, int(sys.argv[2])))\n";

static void dump_pickled_again_by_python_reads_the_same(void **state)
{
    (void)state;
    static char once[1 << 16];
    static char again[1 << 18];
    static char bytes[1 << 20];
    const char *sample = "gpu_error_1st/_dump_14";
    need_python();
    read_dump("gpu_error_1st", 14);
    print_records(once, sizeof once);
    for (int protocol = 2; protocol <= 5; protocol++) {
        size_t len = run_python(REPICKLE, sample, protocol, bytes, sizeof bytes);
        assert_true(len > 70000);
        keep_content(bytes, len);
        tc_fr_probe_run(&probe, tc_slice_make(content, len), sample);
        assert_int_equal(probe.status, TC_OK);
        assert_int_equal(probe.events[0].dump.entries, 430);
        print_records(again, sizeof again);
        for (size_t n = 0; n < 10; n++) {
            assert_memory_equal(again + n * strlen(once), once, strlen(once));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_error_run_has_its_records),
        cmocka_unit_test(locked_interpreter_run_has_its_records),
        cmocka_unit_test(first_send_of_rank_0_goes_to_rank_12),
        cmocka_unit_test(rank_without_entries_still_tells_how_far_it_got),
        cmocka_unit_test(log_beside_the_dumps_is_not_a_dump),
        cmocka_unit_test(every_record_agrees_with_pythons_pickle),
        cmocka_unit_test(dump_pickled_again_by_python_reads_the_same),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tc_fr_probe_fini(&probe);
    free(content);
    return failed;
}
