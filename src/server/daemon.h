/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon as a whole: made from a configuration, run until it is told to end.
 * docs/internals/daemon.md says how its parts work together.
 */
#ifndef TC_SERVER_DAEMON_H
#define TC_SERVER_DAEMON_H

#include "base/status.h"
#include "config/config.h"

struct tc_daemon;

struct tc_daemon_options {
    const char *config_path; /* read again on SIGHUP; NULL: none */
    char *const *environ_list;
    const char *data_dir; /* where it is, decided by the caller */
    /* Told once everything listens; addresses are empty for what is turned off. */
    void (*listening)(void *context, const char *http, const char *grpc, const char *api);
    void *context;
};

/*
 * Opens the data, replays, listens. The error says what to do. Copies config; borrows options until
 * it is destroyed.
 */
TC_CHECKED tc_status tc_daemon_create(const struct tc_config *config,
                                      const struct tc_daemon_options *options,
                                      struct tc_daemon **out_daemon, struct tc_error *err);
/* Serves until SIGTERM or SIGINT, then drains. */
TC_CHECKED tc_status tc_daemon_run(struct tc_daemon *d, struct tc_error *err);
/*
 * False: all is closed and written, but threads go on that cannot be ended (a query within one long
 * function). The process ends by _exit() then.
 */
TC_CHECKED bool tc_daemon_destroy(struct tc_daemon *d);

#endif
