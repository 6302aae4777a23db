/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore run add` with allocations and writes of ours failing in turn: no crash, no leak, an
 * exit status that says so; and the run is whole or not there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/command.h"
#include "cli/output/say.h"
#include "support/faulty.h"
#include "support/temp_folder.h"
#include "support/warehouse_room.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS_MAX 4000
#define ARGS_MAX 16
/* Runs that write to the database are slow: of their calls some are tried. */
#define STORE_POINTS 8

static char folder[96];
static char result_path[128];
static char contract_path[128];
static char telemetry_path[128];
static char data_dir[128];

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
}

/* In a child of its own: a failing call may leave the C library's state as it is. */
static int run(const char *const *words)
{
    char *argv[ARGS_MAX + 1] = {0};
    int argc = 0;
    for (; words[argc] != NULL; argc++) {
        argv[argc] = strdup(words[argc]);
    }
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
        int status = tc_command_run.run(argc, argv);
        tc_faulty_plan->fault = FAULT_NONE;
        _exit(status);
    }
    for (int n = 0; n < argc; n++) {
        free(argv[n]);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int add(bool dry)
{
    const char *words[] = {"run",
                           "add",
                           "--json",
                           "--data-dir",
                           data_dir,
                           "--result",
                           result_path,
                           "--contract",
                           contract_path,
                           "--telemetry",
                           telemetry_path,
                           "--artifact",
                           contract_path,
                           dry ? "--dry-run" : NULL,
                           NULL};
    return run(words);
}

static long calls_of(enum fault fault, bool dry)
{
    *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = -1, .fail_at = -1};
    assert_int_equal(add(dry), TC_EXIT_OK);
    return tc_faulty_plan->calls;
}

static void forget_data(void)
{
    char command[256];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", data_dir);
    assert_int_equal(system(command), 0);
}

static void it_survives_every_failing_allocation_while_it_reads(void **state)
{
    (void)state;
    long calls = calls_of(FAULT_ALLOC, true);
    assert_in_range(calls, 10, CALLS_MAX);
    for (long n = 0; n < calls; n++) {
        if (!tc_faulty_is_chosen(n)) {
            continue;
        }
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = n};
        int status = add(true);
        /* A failure that makes no difference is none. */
        if (status != TC_EXIT_BAD && status != TC_EXIT_OK && status != TC_EXIT_FOUND) {
            fail_msg("allocation %ld failed, exit status %d", n, status);
        }
    }
}

/* After a failure the import succeeds, whatever had been written. */
static void fail_some(enum fault fault)
{
    forget_data();
    long calls = calls_of(fault, false);
    long step = calls / STORE_POINTS + 1;
    for (long n = step / 2; n < calls; n += step) {
        forget_data();
        *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = -1, .fail_at = n};
        int status = add(false);
        if (status < 0 || status > TC_EXIT_BAD) {
            fail_msg("call %ld failed, exit status %d", n, status);
        }
        *tc_faulty_plan = (struct plan){.fault = FAULT_NONE};
        if (add(false) != TC_EXIT_OK) {
            fail_msg("after call %ld had failed, it cannot be added", n);
        }
    }
}

static void it_survives_failing_allocations_while_it_stores(void **state)
{
    (void)state;
    fail_some(FAULT_ALLOC);
}

static void it_survives_failing_writes(void **state)
{
    (void)state;
    fail_some(FAULT_WRITE);
}

static void it_tells_what_it_cannot_show(void **state)
{
    (void)state;
    const char *show[] = {"run", "show", "--data-dir", data_dir, "run-", NULL};
    forget_data();
    *tc_faulty_plan = (struct plan){.fault = FAULT_NONE};
    assert_int_equal(add(false), TC_EXIT_OK);
    *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = -1};
    assert_int_equal(run(show), TC_EXIT_OK);
    long calls = tc_faulty_plan->calls;
    long step = calls / STORE_POINTS + 1;
    for (long n = 0; n < calls; n += step) {
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = n};
        int status = run(show);
        if (status != TC_EXIT_BAD && status != TC_EXIT_OK) {
            fail_msg("allocation %ld failed, exit status %d", n, status);
        }
    }
}

/* A contract as `contract init` writes it. */
static void write_contract(void)
{
    char *argv[] = {
        strdup("contract"),        strdup("init"),      strdup("-o"), strdup(contract_path),
        strdup("--workload-type"), strdup("inference"), NULL};
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        _exit(tc_command_contract.run(6, argv));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (int n = 0; n < 6; n++) {
        free(argv[n]);
    }
}

static int setup(void **state)
{
    (void)state;
    if (!tc_temp_folder(folder, sizeof folder, "tc_fault_run") || tc_faulty_init() != 0) {
        return -1;
    }
    wh_load_for_children();
    (void)snprintf(result_path, sizeof result_path, "%s/result.json", folder);
    (void)snprintf(contract_path, sizeof contract_path, "%s/run.yaml", folder);
    (void)snprintf(telemetry_path, sizeof telemetry_path, "%s/metrics.prom", folder);
    (void)snprintf(data_dir, sizeof data_dir, "%s/data", folder);
    write_file(result_path,
               "{\"backend\":\"vllm\",\"date\":\"20260213-141321\",\"model_id\":\"m\","
               "\"num_prompts\":2,\"completed\":2,\"failed\":0,\"duration\":1.5,"
               "\"max_concurrency\":1,\"total_input_tokens\":10,\"total_output_tokens\":10,"
               "\"request_throughput\":1.33,\"output_throughput\":6.7,\"mean_ttft_ms\":3,"
               "\"median_ttft_ms\":3,\"p99_ttft_ms\":4,\"ttfts\":[0.002,0.004]}");
    write_file(telemetry_path, "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"n1\"} 61 "
                               "1771000000000\n");
    write_contract();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[256];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_survives_every_failing_allocation_while_it_reads),
        cmocka_unit_test(it_survives_failing_allocations_while_it_stores),
        cmocka_unit_test(it_survives_failing_writes),
        cmocka_unit_test(it_tells_what_it_cannot_show),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
