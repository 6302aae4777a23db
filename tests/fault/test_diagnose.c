/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore diagnose` and `run show --slower-than` with allocations of ours failing in turn: no
 * crash, no leak, and an exit status that says so.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 16
/* Each start opens the database: of the calls some are tried. */
#define POINTS 8

static char folder[96];
static char data_dir[128];

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

static void fail_some(const struct tc_command *command, const char *const *words, int good)
{
    *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = -1};
    assert_int_equal(run(command, words), good);
    long calls = tc_faulty_plan->calls;
    long step = calls / POINTS + 1;
    assert_true(calls > POINTS);
    for (long n = 0; n < calls; n += step) {
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .write_fd = -1, .fail_at = n};
        int status = run(command, words);
        /* A failure that makes no difference is none. */
        if (status != TC_EXIT_BAD && status != good) {
            fail_msg("allocation %ld failed, exit status %d", n, status);
        }
    }
}

static void diagnose_survives_failing_allocations(void **state)
{
    (void)state;
    const char *text[] = {"diagnose", "--data-dir", data_dir, "slow", "--against", "base", NULL};
    const char *json[] = {"diagnose", "--data-dir", data_dir, "slow", "--json", NULL};
    fail_some(&tc_command_diagnose, text, TC_EXIT_FOUND);
    fail_some(&tc_command_diagnose, json, TC_EXIT_FOUND);
}

static void the_pivot_survives_failing_allocations(void **state)
{
    (void)state;
    const char *points[] = {"run",  "show",          "--data-dir", data_dir,
                            "slow", "--slower-than", "base",       NULL};
    const char *node[] = {"run",  "show",    "--data-dir", data_dir, "slow", "--slower-than",
                          "base", "--point", "1",          "--node", "n1",   NULL};
    fail_some(&tc_command_run, points, TC_EXIT_OK);
    fail_some(&tc_command_run, node, TC_EXIT_OK);
}

static void add(const char *id, int p99, int64_t at_ms)
{
    char result[160];
    char telemetry[160];
    (void)snprintf(result, sizeof result, "%s/%s.json", folder, id);
    (void)snprintf(telemetry, sizeof telemetry, "%s/%s.prom", folder, id);
    FILE *file = fopen(result, "we");
    assert_non_null(file);
    (void)fprintf(file,
                  "{\"backend\":\"vllm\",\"date\":\"20260213-141321\",\"model_id\":\"m\","
                  "\"num_prompts\":2,\"completed\":2,\"failed\":0,\"duration\":60,"
                  "\"max_concurrency\":1,\"total_input_tokens\":10,\"total_output_tokens\":10,"
                  "\"request_throughput\":1.33,\"output_throughput\":6.7,\"mean_ttft_ms\":3,"
                  "\"median_ttft_ms\":3,\"p99_ttft_ms\":%d}",
                  p99);
    assert_int_equal(fclose(file), 0);
    file = fopen(telemetry, "we");
    assert_non_null(file);
    for (int n = 0; n < 6; n++) {
        (void)fprintf(file,
                      "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\",UUID=\"GPU-%d\",Hostname=\"n%d\"} %d %lld\n",
                      n, n, n == 1 ? 1200 : 1980, (long long)at_ms);
    }
    assert_int_equal(fclose(file), 0);
    const char *words[] = {"run", "add",      "-q",   "--data-dir",  data_dir,  "--run-id",
                           id,    "--result", result, "--telemetry", telemetry, NULL};
    assert_int_equal(run(&tc_command_run, words), TC_EXIT_OK);
}

static int setup(void **state)
{
    (void)state;
    if (!tc_temp_folder(folder, sizeof folder, "tc_fault_diagnose") || tc_faulty_init() != 0) {
        return -1;
    }
    wh_load_for_children();
    *tc_faulty_plan = (struct plan){.fault = FAULT_NONE};
    (void)snprintf(data_dir, sizeof data_dir, "%s/data", folder);
    add("base", 4, INT64_C(1770991980000));
    add("slow", 9, INT64_C(1770991980000));
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
        cmocka_unit_test(diagnose_survives_failing_allocations),
        cmocka_unit_test(the_pivot_survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
