/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's log: one line per event on standard error, logfmt or JSON, with time, level and
 * fields. What comes from outside is escaped, so a line is always one line. Any thread. Lines of
 * one kind (same message) are limited to some a second; what was left out is said with the next
 * one.
 */
#ifndef TC_OBSERVE_LOG_H
#define TC_OBSERVE_LOG_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum tc_log_level { TC_LOG_DEBUG, TC_LOG_INFO, TC_LOG_WARN, TC_LOG_ERROR };

/* Lines of one message within one second. */
#define TC_LOG_PER_SECOND_MAX 10
/* Bytes of one line; a field that does not fit is left out, and cut=true says so. */
#define TC_LOG_LINE_MAX 8192
/* Bytes of one field's text; the rest is cut off. */
#define TC_LOG_TEXT_MAX 1024

struct tc_log_field {
    const char *key;
    struct tc_slice text; /* when is_number is false */
    int64_t number;
    bool is_number;
};

#define TC_LOG_TEXT(k, s) ((struct tc_log_field){.key = (k), .text = (s)})
#define TC_LOG_CSTR(k, s) ((struct tc_log_field){.key = (k), .text = tc_slice_cstr(s)})
#define TC_LOG_NUMBER(k, n) ((struct tc_log_field){.key = (k), .number = (n), .is_number = true})

/* Until then: info and above as logfmt. */
void tc_log_configure(enum tc_log_level level, bool json);
/* Where lines go and what time it is: for tests. NULL: the wall clock. */
void tc_log_redirect(int fd, int64_t (*clock)(void));
bool tc_log_wants(enum tc_log_level level);

/* message is a literal: it is also what lines are limited by. */
void tc_log(enum tc_log_level level, const char *message, const struct tc_log_field *fields,
            size_t count);
#define tc_log_fields(level, message, ...)                           \
    tc_log((level), (message), (struct tc_log_field[]){__VA_ARGS__}, \
           sizeof((struct tc_log_field[]){__VA_ARGS__}) / sizeof(struct tc_log_field))

#endif
