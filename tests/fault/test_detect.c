/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore detect` and `decode` with every allocation and every write failing
 * in turn: no crash, no leak, no half verdict, and an exit status that says so.
 * The linker puts __wrap_* in front of our own calls (tests/extra.cmake).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/command.h"
#include "cli/say.h"

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

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
ssize_t __real_write(int fd, const void *bytes, size_t len);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t len);

enum fault { FAULT_NONE, FAULT_ALLOC, FAULT_WRITE };

/* Shared with the child: how many calls there were, and which one fails. */
struct plan {
    enum fault fault;
    long fail_at;
    long calls;
    bool hit;
};

static struct plan *plan;

static bool fails(enum fault fault)
{
    if (plan == NULL || plan->fault != fault) {
        return false;
    }
    bool hit = plan->calls++ == plan->fail_at;
    plan->hit |= hit;
    return hit;
}

void *__wrap_malloc(size_t size)
{
    return fails(FAULT_ALLOC) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails(FAULT_ALLOC) ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails(FAULT_ALLOC) ? NULL : __real_realloc(p, size);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t len)
{
    if (fd == STDOUT_FILENO && fails(FAULT_WRITE)) {
        errno = ENOSPC;
        return -1;
    }
    return __real_write(fd, bytes, len);
}

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
        plan->fault = FAULT_NONE;
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
    *plan = (struct plan){.fault = FAULT_NONE};
    assert_int_equal(run_and_keep(command, option, &whole), good);
    for (long n = 0; n < CALLS_MAX; n++) {
        *plan = (struct plan){.fault = fault, .fail_at = n};
        int status = run_and_keep(command, option, &now);
        bool same =
            status == good && now.len == whole.len && memcmp(now.text, whole.text, now.len) == 0;
        if (!plan->hit) {
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
    void *shared =
        mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    plan = shared == MAP_FAILED ? NULL : shared;
    return plan == NULL ? -1 : 0;
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
