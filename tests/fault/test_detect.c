/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore detect` and `decode` with every allocation and every write failing
 * in turn: no crash, no leak, no half verdict, and an exit status that says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/command.h"
#include "cli/output/say.h"
#include "support/faulty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS_MAX 5000
#define PATHS 3

/* Runs a command in a child; its exit status, or -1 when it was killed. */
static int run(const struct tc_command *command, const char *option, int out_fd)
{
    static const char *const names[PATHS] = {"llama-pretrain", "dmesg-gpu-07.txt", "pods.json"};
    char paths[PATHS][512];
    const char *root = getenv("TC_SOURCE_DIR");
    char *argv[PATHS + 3] = {strdup(command->name), strdup(option)};
    for (int i = 0; i < PATHS; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s/examples/incident/%s",
                       root == NULL ? "." : root, names[i]);
        argv[i + 2] = paths[i];
    }
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        (void)dup2(out_fd, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
        int status = command->run(PATHS + 2, argv);
        tc_faulty_plan->fault = FAULT_NONE;
        free(argv[0]);
        free(argv[1]);
        _exit(status);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    free(argv[0]);
    free(argv[1]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct output {
    int fd;
    size_t len;
    char text[1 << 18];
};

/* Runs it and keeps what it printed. */
static int run_and_keep(const struct tc_command *command, const char *option, struct output *o)
{
    assert_int_equal(ftruncate(o->fd, 0), 0);
    assert_int_equal(lseek(o->fd, 0, SEEK_SET), 0);
    int status = run(command, option, o->fd);
    ssize_t len = pread(o->fd, o->text, sizeof o->text, 0);
    assert_true(len >= 0 && (size_t)len < sizeof o->text);
    o->len = (size_t)len;
    return status;
}

/*
 * Fails the n-th call for every n. Each run says that it failed, or did without and
 * says the very same as the run in which nothing failed.
 */
static void fail_each(const struct tc_command *command, const char *option, enum fault fault,
                      int good)
{
    static struct output whole;
    static struct output now;
    whole.fd = memfd_create("whole", 0);
    now.fd = memfd_create("now", 0);
    assert_true(whole.fd >= 0 && now.fd >= 0);
    *tc_faulty_plan = (struct plan){.fault = FAULT_NONE, .write_fd = STDOUT_FILENO};
    assert_int_equal(run_and_keep(command, option, &whole), good);
    for (long n = 0; n < CALLS_MAX; n++) {
        *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = STDOUT_FILENO, .fail_at = n};
        int status = run_and_keep(command, option, &now);
        bool same =
            status == good && now.len == whole.len && memcmp(now.text, whole.text, now.len) == 0;
        if (!tc_faulty_plan->hit) {
            assert_true(same && n > 0);
            (void)close(whole.fd);
            (void)close(now.fd);
            return;
        }
        if (status != TC_EXIT_BAD && !same) {
            fail_msg("%s %s: call %ld failed, exit status %d", command->name, option, n, status);
        }
    }
    fail_msg("more than %d calls", CALLS_MAX);
}

static void detect_survives_every_failing_allocation(void **state)
{
    (void)state;
    fail_each(&tc_command_detect, "--json", FAULT_ALLOC, TC_EXIT_FOUND);
}

static void detect_as_text_survives_every_failing_allocation(void **state)
{
    (void)state;
    fail_each(&tc_command_detect, "--color=never", FAULT_ALLOC, TC_EXIT_FOUND);
}

static void decode_survives_every_failing_allocation(void **state)
{
    (void)state;
    fail_each(&tc_command_decode, "--unknown", FAULT_ALLOC, TC_EXIT_OK);
}

static void detect_reports_every_failing_write(void **state)
{
    (void)state;
    fail_each(&tc_command_detect, "--json", FAULT_WRITE, TC_EXIT_FOUND);
}

static int setup(void **state)
{
    (void)state;
    return tc_faulty_init();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detect_survives_every_failing_allocation),
        cmocka_unit_test(detect_as_text_survives_every_failing_allocation),
        cmocka_unit_test(decode_survives_every_failing_allocation),
        cmocka_unit_test(detect_reports_every_failing_write),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
