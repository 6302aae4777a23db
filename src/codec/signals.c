/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/signals_priv.h"

/* Exit codes and signals that a process can have. */
#define EXIT_CODE_MAX 65535
#define SIGNAL_MAX 64

static const struct {
    int64_t signal;
    const char *name;
    const char *says; /* strsignal(3) */
} SIGNALS[] = {
    {1, "SIGHUP", "Hangup"},
    {2, "SIGINT", "Interrupt"},
    {3, "SIGQUIT", "Quit"},
    {4, "SIGILL", "Illegal instruction"},
    {5, "SIGTRAP", "Trace/breakpoint trap"},
    {6, "SIGABRT", "Aborted"},
    {7, "SIGBUS", "Bus error"},
    {8, "SIGFPE", "Floating point exception"},
    {9, "SIGKILL", "Killed"},
    {10, "SIGUSR1", "User defined signal 1"},
    {11, "SIGSEGV", "Segmentation fault"},
    {12, "SIGUSR2", "User defined signal 2"},
    {13, "SIGPIPE", "Broken pipe"},
    {14, "SIGALRM", "Alarm clock"},
    {15, "SIGTERM", "Terminated"},
};

int64_t tc__signal_of(struct tc_slice text)
{
    for (size_t i = 0; i < TC_COUNT(SIGNALS); i++) {
        if (tc_slice_starts(text, tc_slice_cstr(SIGNALS[i].name)) ||
            tc_slice_starts(text, tc_slice_cstr(SIGNALS[i].says))) {
            return SIGNALS[i].signal;
        }
    }
    return 0;
}

bool tc__exit_status(struct tc_slice number, struct tc_ev_exit *io)
{
    int64_t value = 0;
    if (tc_slice_i64(number, &value) == 0 || value == 0 || value < -SIGNAL_MAX ||
        value > EXIT_CODE_MAX) {
        return false;
    }
    if (value < 0) {
        io->signal = -value;
    } else {
        io->exit_code = value;
    }
    return true;
}
