/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracecore-bench: the benchmarks, with the allocation counter that the shipped program goes
 * without. `tracecore-bench serve` is the daemon with its allocations counted.
 */
#include "bench/alloc_count.h"
#include "bench/bench.h"
#include "cli/command.h"
#include "cli/output/say.h"
#include "observe/metrics.h"

#include <string.h>
#include <unistd.h>

#define BENCHES_MAX 64
#define WINDOWS_MAX 1000000

/* The detectors' benchmarks first, in the order of their names. */
static size_t list_benches(struct tc_bench *out)
{
    static const struct tc_bench others[] = {
        {.name = "scale",
         .summary = "time per event from 1 k to 10 M events, and over window lengths",
         .run = tc_bench_scale},
        {.name = "otlp_protobuf",
         .summary = "a request of 1,024 log records: check, events, detection",
         .run = tc_bench_otlp},
        {.name = "otlp_json", .summary = "the same in JSON", .run = tc_bench_otlp},
        {.name = "slices",
         .summary = "samples of 8,192 series into windows, and the rows of these",
         .run = tc_bench_slices},
        {.name = "changes",
         .summary = "change points of 10,000 values with 0 to 200 steps",
         .run = tc_bench_changes},
        {.name = "startup",
         .summary = "tracecore --version, start to exit",
         .run = tc_bench_startup},
        {.name = "evidence",
         .summary = "batches made durable in the raw store, beside plain writes",
         .run = tc_bench_evidence},
    };
    size_t count = 0;
    size_t pattern_count = 0;
    const struct tc_bench_pattern *patterns = tc_bench_patterns(&pattern_count);
    for (size_t i = 0; i < pattern_count; i++) {
        out[count++] = (struct tc_bench){.name = patterns[i].name,
                                         .summary = "decoded events to rendered verdicts",
                                         .run = tc_bench_detector,
                                         .pattern = &patterns[i]};
    }
    for (size_t i = 0; i < TC_COUNT(others); i++) {
        out[count++] = others[i];
    }
    return count;
}

static int show_list(void *args, const struct tc_option *option, const char *value)
{
    (void)args;
    (void)option;
    (void)value;
    struct tc_bench benches[BENCHES_MAX];
    struct tc_output out;
    size_t count = list_benches(benches);
    tc_output_init(&out, STDOUT_FILENO);
    for (size_t i = 0; i < count; i++) {
        char line[160];
        int len = snprintf(line, sizeof line, "%-18s %s\n", benches[i].name, benches[i].summary);
        (void)tc_output_put(&out, tc_slice_make(line, (size_t)len));
    }
    return tc_output_end(&out, "tracecore-bench", TC_EXIT_OK);
}

static const struct tc_bench *find_bench(const struct tc_bench *benches, size_t count,
                                         const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (tc_slice_eq(tc_slice_cstr(name), tc_slice_cstr(benches[i].name))) {
            return &benches[i];
        }
    }
    tc_say("tracecore-bench", "there is no benchmark \"%s\"; 'tracecore-bench --list' names them",
           name);
    return NULL;
}

struct asked {
    struct tc_bench_options options;
    bool json;
};

static int take_count(void *args, const struct tc_option *option, const char *value)
{
    uint64_t count = 0;
    if (!tc_slice_is_u64(tc_slice_cstr(value), &count) || count == 0 || count > WINDOWS_MAX) {
        tc_say("tracecore-bench", "--%s=%s: give a whole number from 1 to %d", option->name, value,
               WINDOWS_MAX);
        return TC_EXIT_BAD;
    }
    memcpy((char *)args + option->at, &count, sizeof count);
    return TC_GO_ON;
}

static const struct tc_option OPTIONS[] = {
    TC_FLAG("json", struct asked, json,
            "One JSON object a line. This is the only form; the option is there because every "
            "command has it."),
    TC_TAKEN("list", NULL, show_list, "Names the benchmarks and what each measures."),
    TC_FLAG("no-render", struct asked, options.no_json,
            "Detector benchmarks stop at the verdict with all its strings, before it is rendered "
            "as JSON."),
    TC_FLAG("no-incidents", struct asked, options.no_incidents,
            "They stop at the finding with all its strings, before it is numbered as an incident: "
            "what other detectors report."),
    TC_TAKEN("windows", "N", take_count,
             "Windows of 1,024 events a detector benchmark runs over (default 2000).",
             TC_OPTION_AT(struct asked, options.windows, uint64_t)),
};

static const struct tc_command BENCH = {
    .name = "tracecore-bench",
    .summary = "measure the detectors and the program",
    .usage = "usage: tracecore-bench [OPTIONS] [NAME...]\n"
             "       tracecore-bench serve [OPTIONS]\n"
             "\n"
             "Measures on this machine and prints one JSON object a line. Without names: every\n"
             "detector, from decoded events to rendered verdicts in memory, in the steady\n"
             "state.\n"
             "allocs_per_event and bytes_per_event are counted in front of the C library's\n"
             "allocator; instructions_per_event is there where the machine counts them.\n"
             "serve runs the daemon as 'tracecore serve' does, and counts its allocations in\n"
             "tracecore_allocations_total of /metrics.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .notes = "Exit status: 0 measured, 2 wrong usage or something could not be measured.\n"
             "\n"
             "Examples:\n"
             "  tracecore-bench nccl_hang\n"
             "  tracecore-bench scale startup\n",
};

static int run_benches(int argc, char **argv)
{
    struct asked a = {.options = {.windows = 2000}};
    struct tc_bench benches[BENCHES_MAX];
    struct tc_output out;
    int status = tc_options_read(&BENCH, argc, argv, &a);
    if (status != TC_GO_ON) {
        return status;
    }
    status = TC_EXIT_OK;
    size_t count = list_benches(benches);
    for (int i = optind; i < argc; i++) {
        if (find_bench(benches, count, argv[i]) == NULL) {
            return TC_EXIT_BAD;
        }
    }
    tc_output_init(&out, STDOUT_FILENO);
    for (size_t i = 0; optind == argc && i < count; i++) {
        if (benches[i].pattern != NULL && !benches[i].run(&benches[i], &a.options, &out)) {
            status = TC_EXIT_BAD;
        }
    }
    for (int i = optind; i < argc; i++) {
        const struct tc_bench *b = find_bench(benches, count, argv[i]);
        if (!b->run(b, &a.options, &out)) {
            status = TC_EXIT_BAD;
        }
        (void)tc_output_flush(&out);
    }
    return tc_output_end(&out, "tracecore-bench", status);
}

static void count_allocations(void)
{
    tc_counter_set(TC_COUNT_ALLOCATIONS, tc_alloc_count_now().calls);
}

int main(int argc, char **argv)
{
    if (argc > 1 && tc_slice_eq(tc_slice_cstr(argv[1]), TC_LIT("serve"))) {
        tc_metrics_source(count_allocations);
        return tc_command_serve.run(argc - 1, argv + 1);
    }
    return run_benches(argc, argv);
}
