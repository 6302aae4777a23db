/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore report` with allocations and writes of ours failing in turn: no crash, no leak, an
 * exit status that says so; and the file is the whole report, or what it was before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/command.h"
#include "cli/output/say.h"
#include "cli/whole_file.h"
#include "support/faulty.h"
#include "support/temp_folder.h"
#include "support/warehouse_room.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 16
/* A report asks the database: of its allocations some are tried. */
#define ALLOC_POINTS 16
#define BEFORE "what was there before\n"

static char folder[96];
static char data_dir[128];
static char out_dir[128];
static char output[160];

static void write_text(const char *path, const char *text)
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

static int report(void)
{
    const char *words[] = {"report", "--data-dir", data_dir,    "-o",
                           output,   "base",       "candidate", NULL};
    return run(&tc_command_report, words);
}

/* What the output holds, and that nothing lies beside it. */
static bool is_whole_or_as_before(void)
{
    char text[64] = "";
    FILE *file = fopen(output, "re");
    assert_non_null(file);
    size_t len = fread(text, 1, sizeof text - 1, file);
    assert_int_equal(fseek(file, -8, SEEK_END), 0);
    char end[9] = "";
    assert_int_equal(fread(end, 1, 8, file), 8);
    assert_int_equal(fclose(file), 0);
    text[len] = '\0';
    DIR *dir = opendir(out_dir);
    assert_non_null(dir);
    size_t files = 0;
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        files += e->d_name[0] != '.';
    }
    assert_int_equal(closedir(dir), 0);
    assert_int_equal(files, 1);
    return strcmp(text, BEFORE) == 0 ||
           (strncmp(text, "<!doctype html>", 15) == 0 && strcmp(end, "</html>\n") == 0);
}

static void fail_at(enum fault fault, long n)
{
    write_text(output, BEFORE);
    *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = -1, .fail_at = n};
    int status = report();
    *tc_faulty_plan = (struct plan){.fault = FAULT_NONE};
    /* A failure that makes no difference is none. */
    if (status != TC_EXIT_BAD && status != TC_EXIT_OK) {
        fail_msg("call %ld failed, exit status %d", n, status);
    }
    if (!is_whole_or_as_before()) {
        fail_msg("call %ld failed, and left half a report", n);
    }
}

static long calls_of(enum fault fault)
{
    write_text(output, BEFORE);
    *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = -1, .fail_at = -1};
    assert_int_equal(report(), TC_EXIT_OK);
    return tc_faulty_plan->calls;
}

static void it_survives_failing_allocations(void **state)
{
    (void)state;
    long calls = calls_of(FAULT_ALLOC);
    long step = calls / ALLOC_POINTS + 1;
    assert_true(calls > ALLOC_POINTS);
    for (long n = 0; n < calls; n += step) {
        fail_at(FAULT_ALLOC, n);
    }
}

static void a_failing_write_leaves_no_half_file(void **state)
{
    (void)state;
    long calls = calls_of(FAULT_WRITE);
    assert_true(calls > 0);
    for (long n = 0; n < calls; n++) {
        fail_at(FAULT_WRITE, n);
    }
}

static void a_file_is_written_as_a_whole(void **state)
{
    (void)state;
    struct tc_error err = {0};
    char link[192];
    write_text(output, BEFORE);
    (void)snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink(output, link), 0);
    *tc_faulty_plan = (struct plan){.fault = FAULT_WRITE, .write_fd = -1, .fail_at = 0};
    assert_int_equal(tc_whole_file_write(link, TC_LIT("<!doctype html></html>\n"), &err), TC_E_IO);
    *tc_faulty_plan = (struct plan){.fault = FAULT_NONE};
    assert_true(is_whole_or_as_before());
    assert_int_equal(tc_whole_file_write(link, TC_LIT("<!doctype html></html>\n"), &err), TC_OK);
    assert_true(is_whole_or_as_before());
    char target[192] = "";
    assert_true(readlink(link, target, sizeof target - 1) > 0); /* the link is still one */
    assert_string_equal(target, output);
    assert_int_equal(tc_whole_file_write("/dev/null", TC_LIT("x"), &err), TC_OK);
    struct tc_error full = {0};
    assert_int_equal(tc_whole_file_write("/dev/full", TC_LIT("x"), &full), TC_E_IO);
}

static void add_run(const char *name, int n)
{
    char path[160];
    char text[640];
    (void)snprintf(path, sizeof path, "%s/%s-%d.json", folder, name, n);
    (void)snprintf(text, sizeof text,
                   "{\"backend\":\"vllm\",\"date\":\"20260213-14132%d\",\"model_id\":\"m\","
                   "\"num_prompts\":2,\"completed\":2,\"failed\":0,\"duration\":1.%d,"
                   "\"max_concurrency\":1,\"total_input_tokens\":10,\"total_output_tokens\":10,"
                   "\"request_throughput\":1.3%d,\"output_throughput\":6.%d,\"mean_ttft_ms\":3,"
                   "\"median_ttft_ms\":3.%d,\"p99_ttft_ms\":4.%d}",
                   n, n + 3, n, n, n, n);
    write_text(path, text);
    const char *words[] = {"run",    "add", "-q",       "--data-dir", data_dir,
                           "--name", name,  "--result", path,         NULL};
    assert_int_equal(run(&tc_command_run, words), TC_EXIT_OK);
}

static int setup(void **state)
{
    (void)state;
    if (!tc_temp_folder(folder, sizeof folder, "tc_fault_report") || tc_faulty_init() != 0) {
        return -1;
    }
    wh_load_for_children();
    (void)snprintf(data_dir, sizeof data_dir, "%s/data", folder);
    (void)snprintf(out_dir, sizeof out_dir, "%s/out", folder);
    (void)snprintf(output, sizeof output, "%s/report.html", out_dir);
    char command[256];
    (void)snprintf(command, sizeof command, "mkdir '%s'", out_dir);
    *tc_faulty_plan = (struct plan){.fault = FAULT_NONE};
    for (int n = 1; n <= 2; n++) {
        add_run("base", n);
        add_run("candidate", n + 2);
    }
    return system(command);
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
        cmocka_unit_test(a_failing_write_leaves_no_half_file),
        cmocka_unit_test(a_file_is_written_as_a_whole),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
