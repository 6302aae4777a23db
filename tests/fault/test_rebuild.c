/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore rebuild` with allocations and writes of ours failing in turn: no crash, no leak, an
 * exit status that says so; the tables are there all the same, and the next one succeeds.
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

#define ARGS_MAX 16
/* Each loads DuckDB and makes a database: of the calls some are tried. */
#define POINTS 4

static char folder[96];
static char result_path[128];
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
static int run(const struct tc_command *command, const char *const *words)
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
        int status = command->run(argc, argv);
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

static int rebuild(bool dry)
{
    const char *words[] = {"rebuild", "--json",          "--drop-old", "--data-dir",
                           data_dir,  dry ? "-n" : NULL, NULL};
    return run(&tc_command_rebuild, words);
}

static void fail_some(enum fault fault)
{
    *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = -1, .fail_at = -1};
    assert_int_equal(rebuild(false), TC_EXIT_OK);
    long calls = tc_faulty_plan->calls;
    long step = calls / POINTS + 1;
    assert_true(calls > 10);
    for (long n = step / 2; n < calls; n += step) {
        *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = -1, .fail_at = n};
        int status = rebuild(false);
        if (status < 0 || status > TC_EXIT_BAD) {
            fail_msg("call %ld of %ld failed, exit status %d", n, calls, status);
        }
        *tc_faulty_plan = (struct plan){.fault = FAULT_NONE};
        status = rebuild(true);
        if (status != TC_EXIT_OK) {
            fail_msg("after call %ld of %ld had failed, the tables are others: %d", n, calls,
                     status);
        }
    }
}

static void it_survives_failing_allocations(void **state)
{
    (void)state;
    fail_some(FAULT_ALLOC);
}

static void it_survives_failing_writes(void **state)
{
    (void)state;
    fail_some(FAULT_WRITE);
}

static int setup(void **state)
{
    (void)state;
    if (!tc_temp_folder(folder, sizeof folder, "tc_fault_rebuild") || tc_faulty_init() != 0) {
        return -1;
    }
    wh_load_for_children();
    (void)snprintf(result_path, sizeof result_path, "%s/result.json", folder);
    (void)snprintf(telemetry_path, sizeof telemetry_path, "%s/metrics.prom", folder);
    (void)snprintf(data_dir, sizeof data_dir, "%s/data", folder);
    write_file(result_path,
               "{\"backend\":\"vllm\",\"date\":\"20260213-141321\",\"model_id\":\"m\","
               "\"num_prompts\":2,\"completed\":2,\"failed\":0,\"duration\":1.5,"
               "\"max_concurrency\":1,\"total_input_tokens\":10,\"total_output_tokens\":10,"
               "\"request_throughput\":1.33,\"output_throughput\":6.7,\"mean_ttft_ms\":3,"
               "\"median_ttft_ms\":3,\"p99_ttft_ms\":4}");
    write_file(telemetry_path, "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-1\",Hostname=\"n1\"} 61 "
                               "1771000000000\n");
    const char *add[] = {"run",       "add",         "--data-dir",   data_dir, "--result",
                         result_path, "--telemetry", telemetry_path, NULL};
    return run(&tc_command_run, add) == TC_EXIT_OK ? 0 : -1;
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
        cmocka_unit_test(it_survives_failing_allocations),
        cmocka_unit_test(it_survives_failing_writes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
