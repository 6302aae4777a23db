/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tests rely on sanitizers that end the program at the first fault. This is the proof that they
 * do, in a program that is built as the others are: each fault is made in a child.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__

static volatile int one = 1;
static volatile int sink;

static void signed_overflow(void)
{
    sink = INT_MAX;
    sink = sink + one;
}

static void negation_overflow(void)
{
    sink = INT_MIN;
    sink = -sink;
}

static void shift_too_far(void)
{
    sink = one << (one + 31);
}

static void division_by_zero(void)
{
    sink = one / (one - 1);
}

static void index_past_the_end(void)
{
    int numbers[4] = {0};
    sink = numbers[one + 3];
}

static void null_member(void)
{
    struct pair {
        int a;
        int b;
    } *volatile nobody = NULL;
    sink = nobody->b;
}

static void misaligned_load(void)
{
    static uint32_t words[2];
    char *volatile at = (char *)words + 1;
    sink = (int)*(uint32_t *)(void *)at;
}

static void bool_of_two(void)
{
    union {
        unsigned char byte;
        bool is;
    } volatile u = {.byte = 2};
    sink = u.is;
}

static void pointer_overflow(void)
{
    char *volatile at = (char *)(UINTPTR_MAX - 7);
    char *volatile behind = at + one * 16;
    sink = behind == at;
}

static void what_cannot_be_reached(void)
{
    if (one == 1) {
        __builtin_unreachable();
    }
}

static void heap_past_the_end(void)
{
    char *volatile bytes = calloc((size_t)one + 7, 1);
    sink = bytes[one + 7];
    free(bytes);
}

static void use_after_free(void)
{
    char *volatile bytes = malloc(8);
    free(bytes);
    sink = bytes[0];
}

static int *volatile gone;

static void leave_a_pointer(void)
{
    int here = one;
    int *volatile at = &here;
    gone = at;
}

static void use_after_return(void)
{
    leave_a_pointer();
    sink = *gone;
}

static bool ends(void (*fault)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(null, STDERR_FILENO);
        (void)signal(SIGILL, SIG_DFL); /* a trap; without the report, which takes its time */
        fault();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status != 0;
}

static void every_fault_ends_the_program(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*fault)(void);
    } faults[] = {
        {"signed overflow", signed_overflow},
        {"overflow of a negation", negation_overflow},
        {"shift too far", shift_too_far},
        {"division by zero", division_by_zero},
        {"index past the end", index_past_the_end},
        {"member of nothing", null_member},
        {"misaligned load", misaligned_load},
        {"bool of two", bool_of_two},
        {"pointer overflow", pointer_overflow},
        {"what cannot be reached", what_cannot_be_reached},
        {"heap past the end", heap_past_the_end},
        {"use after free", use_after_free},
        {"use after return", use_after_return},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (!ends(faults[i].fault)) {
            fail_msg("not noticed: %s", faults[i].name);
        }
    }
}

#else

static void every_fault_ends_the_program(void **state)
{
    (void)state;
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_ends_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
