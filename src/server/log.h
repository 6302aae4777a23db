/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's log: one line an event on standard error, logfmt or JSON, with time, level and
 * fields. What comes from outside is escaped, so a line is always one line. Any thread. Lines of
 * one kind (same message) are limited to some a second; what was left out is said with the next
 * one.
 */
#ifndef TC_SERVER_LOG_H
#define TC_SERVER_LOG_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum tc_log_level { TC_LOG_DEBUG, TC_LOG_INFO, TC_LOG_WARN, TC_LOG_ERROR };

struct tc_log_field {
    const char *key;
    struct tc_slice text; /* when is_number is false */
    int64_t number;
    bool is_number;
};

#define TC_LOG_TEXT(k, s) ((struct tc_log_field){.key = (k), .text = (s)})
#define TC_LOG_CSTR(k, s) ((struct tc_log_field){.key = (k), .text = tc_slice_cstr(s)})
#define TC_LOG_NUMBER(k, n) ((struct tc_log_field){.key = (k), .number = (n), .is_number = true})

void tc_log_configure(enum tc_log_level level, bool json);
/* message is a literal: it is also what lines are limited by. */
void tc_log(enum tc_log_level level, const char *message, const struct tc_log_field *fields,
            size_t count);
#define tc_log_fields(level, message, ...)                           \
    tc_log((level), (message), (struct tc_log_field[]){__VA_ARGS__}, \
           sizeof((struct tc_log_field[]){__VA_ARGS__}) / sizeof(struct tc_log_field))

#endif
