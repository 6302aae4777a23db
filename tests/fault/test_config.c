/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore config` with every allocation and every write of ours failing in turn: no crash, no
 * leak, and an exit status that says so. The log with writes that fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/command.h"
#include "cli/output/say.h"
#include "observe/log.h"
#include "support/faulty.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS_MAX 200

/* Runs the command in a child; its exit status, or -1 when it was killed. */
static int run(const char *what, const char *option, int out_fd)
{
    char command[] = "config";
    char first[32];
    char second[32];
    char *argv[] = {command, first, second, NULL};
    (void)snprintf(first, sizeof first, "%s", what);
    (void)snprintf(second, sizeof second, "%s", option);
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(out_fd, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
        int status = tc_command_config.run(3, argv);
        tc_faulty_plan->fault = FAULT_NONE;
        _exit(status);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void each_fails_in_turn(enum fault fault, const char *what, const char *option)
{
    int null = open("/dev/null", O_WRONLY);
    assert_true(null >= 0);
    long at = 0;
    for (; at < CALLS_MAX; at++) {
        *tc_faulty_plan = (struct plan){.fault = fault, .write_fd = -1, .fail_at = at};
        int status = run(what, option, null);
        if (!tc_faulty_plan->hit) {
            assert_int_equal(status, TC_EXIT_OK);
            break;
        }
        assert_int_equal(status, TC_EXIT_BAD);
    }
    assert_true(at > 0 && at < CALLS_MAX);
    *tc_faulty_plan = (struct plan){0};
    assert_int_equal(close(null), 0);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    each_fails_in_turn(FAULT_ALLOC, "check", "-");
    each_fails_in_turn(FAULT_ALLOC, "check", "--json");
    each_fails_in_turn(FAULT_ALLOC, "print-default", "--markdown");
}

static void every_write_may_fail(void **state)
{
    (void)state;
    each_fails_in_turn(FAULT_WRITE, "check", "-v");
    each_fails_in_turn(FAULT_WRITE, "print-default", "--markdown");
}

static void a_log_line_that_is_not_written_is_lost_alone(void **state)
{
    (void)state;
    int fds[2];
    char text[512] = {0};
    assert_int_equal(pipe(fds), 0);
    tc_log_redirect(fds[1], NULL);
    *tc_faulty_plan = (struct plan){.fault = FAULT_WRITE, .write_fd = fds[1], .fail_at = 0};
    tc_log(TC_LOG_INFO, "first", NULL, 0);
    tc_log(TC_LOG_INFO, "second", NULL, 0);
    assert_true(tc_faulty_plan->hit);
    *tc_faulty_plan = (struct plan){0};
    tc_log_redirect(STDERR_FILENO, NULL);
    assert_true(read(fds[0], text, sizeof text - 1) > 0);
    assert_null(strstr(text, "first"));
    assert_non_null(strstr(text, "msg=\"second\"\n"));
    assert_int_equal(close(fds[0]) | close(fds[1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_write_may_fail),
        cmocka_unit_test(a_log_line_that_is_not_written_is_lost_alone),
    };
    if (tc_faulty_init() != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
