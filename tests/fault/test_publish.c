/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore publish`, `lineage` and `publish export` with allocations and writes of ours failing
 * in turn: no crash, no leak; what was claimed is claimed once and whole, or not at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/os/tree.h"
#include "cli/command.h"
#include "cli/output/say.h"
#include "publish/numbers.h"
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
/* Each makes a database: of the calls some are tried. */
#define POINTS 3

static char folder[96];
static char data_dir[128];
static char packet[128];
static int published; /* so many numbers so far: each has a name of its own */

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

/* Under a row of its own, so that it is another number each time. */
static int publish(int number)
{
    char row[32];
    (void)snprintf(row, sizeof row, "row %d", number);
    const char *words[] = {"publish", "r1",           "--metric", "ttft_p99_ms", "--unstable",
                           "a test",  "--report-row", row,        "--data-dir",  data_dir,
                           NULL};
    return run(&tc_command_publish, words);
}

static int lineage(void)
{
    const char *words[] = {"lineage", "--all", "--data-dir", data_dir, NULL};
    return run(&tc_command_lineage, words);
}

/* How many numbers the log has; it is whole. */
static size_t numbers(char out_first[TC_NUMBER_ID_BYTES])
{
    struct tc_numbers n;
    struct tc_error err = {0};
    assert_int_equal(tc_numbers_read(data_dir, &n, &err), TC_OK);
    assert_int_equal(n.chain.broken_at, 0);
    size_t count = n.count;
    if (out_first != NULL && count > 0) {
        (void)snprintf(out_first, TC_NUMBER_ID_BYTES, "%s", n.items[0].id);
    }
    tc_numbers_fini(&n);
    return count;
}

static int export_first(void)
{
    char id[TC_NUMBER_ID_BYTES] = "";
    struct tc_error err;
    (void)numbers(id);
    assert_int_equal(tc_tree_remove(packet, &err), TC_OK);
    const char *words[] = {"publish", "export",     id,       "--output",
                           packet,    "--data-dir", data_dir, NULL};
    return run(&tc_command_publish, words);
}

static int verify(void)
{
    const char *words[] = {"verify", packet, NULL};
    return run(&tc_command_verify, words);
}

static int publish_next(void)
{
    return publish(published);
}

/* After each failure: tried again it succeeds, and is there once. */
static void check_published(int status, long n)
{
    size_t before = numbers(NULL);
    *tc_faulty_plan = (struct plan){.fault = FAULT_NONE};
    assert_in_range(before, status == TC_EXIT_OK ? published + 1 : published, published + 1);
    if (publish(published) != TC_EXIT_OK) {
        fail_msg("after call %ld had failed, nothing is published any more", n);
    }
    published++;
    assert_int_equal(numbers(NULL), published);
}

static void check_exported(int status, long n)
{
    *tc_faulty_plan = (struct plan){.fault = FAULT_NONE};
    if (access(packet, F_OK) == 0 && (status != TC_EXIT_OK || verify() != TC_EXIT_OK)) {
        fail_msg("after call %ld had failed, half a packet is left", n);
    }
}

static void check_nothing(int status, long n)
{
    (void)status;
    (void)n;
}

static void fail_some(enum fault fault, int (*act)(void), void (*check)(int status, long n))
{
    *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = -1, .fail_at = -1};
    assert_int_equal(act(), TC_EXIT_OK);
    long calls = tc_faulty_plan->calls;
    long step = calls / POINTS + 1;
    assert_true(calls > 0);
    check(TC_EXIT_OK, -1);
    for (long n = step / 2; n < calls; n += step) {
        *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = -1, .fail_at = n};
        int status = act();
        if (status < 0 || status > TC_EXIT_BAD) {
            fail_msg("call %ld of %ld failed, exit status %d", n, calls, status);
        }
        check(status, n);
    }
    *tc_faulty_plan = (struct plan){.fault = FAULT_NONE};
    assert_int_equal(lineage(), TC_EXIT_OK);
}

static void publishing_survives_failing_allocations(void **state)
{
    (void)state;
    fail_some(FAULT_ALLOC, publish_next, check_published);
}

static void publishing_survives_failing_writes(void **state)
{
    (void)state;
    fail_some(FAULT_WRITE, publish_next, check_published);
}

static void lineage_survives_failing_allocations(void **state)
{
    (void)state;
    fail_some(FAULT_ALLOC, lineage, check_nothing);
}

static void a_packet_is_whole_or_not_there(void **state)
{
    (void)state;
    fail_some(FAULT_WRITE, export_first, check_exported);
}

static int setup(void **state)
{
    (void)state;
    char result[128];
    if (!tc_temp_folder(folder, sizeof folder, "tc_fault_publish") || tc_faulty_init() != 0) {
        return -1;
    }
    wh_load_for_children();
    (void)setenv("TMPDIR", folder, 1);
    (void)snprintf(result, sizeof result, "%s/result.json", folder);
    (void)snprintf(data_dir, sizeof data_dir, "%s/data", folder);
    (void)snprintf(packet, sizeof packet, "%s/packet", folder);
    FILE *file = fopen(result, "we");
    assert_non_null(file);
    assert_true(fputs("{\"backend\":\"vllm\",\"date\":\"20260213-141321\",\"model_id\":\"m\","
                      "\"num_prompts\":2,\"completed\":2,\"failed\":0,\"duration\":1.5,"
                      "\"max_concurrency\":1,\"total_input_tokens\":10,\"total_output_tokens\":10,"
                      "\"request_throughput\":1.33,\"output_throughput\":6.7,\"mean_ttft_ms\":3,"
                      "\"median_ttft_ms\":3,\"p99_ttft_ms\":4}",
                      file) >= 0);
    assert_int_equal(fclose(file), 0);
    const char *add[] = {"run", "add",      "--data-dir", data_dir, "--run-id",
                         "r1",  "--result", result,       NULL};
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
        cmocka_unit_test(publishing_survives_failing_allocations),
        cmocka_unit_test(publishing_survives_failing_writes),
        cmocka_unit_test(lineage_survives_failing_allocations),
        cmocka_unit_test(a_packet_is_whole_or_not_there),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
