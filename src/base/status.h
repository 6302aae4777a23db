/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one error vocabulary of tracecore. Everything that can fail returns a
 * tc_status (0 is success, always) and, where a human will read about it,
 * fills a struct tc_error. Statuses below -100 are fatal to the object.
 */
#ifndef TC_BASE_STATUS_H
#define TC_BASE_STATUS_H

#include <stddef.h>

#define TC_STATUS_MAP(X)                             \
    X(OK, 0, "ok")                                   \
    X(E_MALFORMED, -1, "input is malformed")         \
    X(E_LIMIT, -2, "a configured limit was reached") \
    X(E_IO, -3, "i/o failed")                        \
    X(E_UNSUPPORTED, -4, "not supported")            \
    X(E_USAGE, -5, "wrong usage")                    \
    X(E_NOTFOUND, -6, "not found")                   \
    X(E_AGAIN, -7, "not finished: call it again")    \
    X(E_NOMEM, -101, "out of memory")

typedef enum tc_status {
#define TC_STATUS_ENUM(name, value, text) TC_##name = (value),
    TC_STATUS_MAP(TC_STATUS_ENUM)
#undef TC_STATUS_ENUM
} tc_status;

#define TC_ERROR_MESSAGE_MAX 240

struct tc_error {
    tc_status status;
    size_t offset;                      /* byte in the input, for codecs */
    char message[TC_ERROR_MESSAGE_MAX]; /* for a human; never parsed */
};

#define TC_CHECKED __attribute__((warn_unused_result))
/* The seldom part of a function that runs for every event: the often part saves no registers for
 * it. */
#define TC_SELDOM __attribute__((noinline))

/* Forward a failure to the caller. For functions that hold nothing to release. */
#define TC_TRY(expr)                      \
    do {                                  \
        tc_status tc_try_status = (expr); \
        if (tc_try_status != TC_OK) {     \
            return tc_try_status;         \
        }                                 \
    } while (0)

/* The text of a status; "unknown status" for a number that is not ours. */
const char *tc_status_text(tc_status status);

/*
 * Fill err (may be NULL) and return status, so that `return tc_fail(...)` reads
 * as one thought. The message is cut to fit, never overrun.
 */
tc_status tc_fail(struct tc_error *err, tc_status status, size_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#ifdef __clang_analyzer__
/* That the status is what comes back: clang-tidy does not see it from elsewhere. */
#define tc_fail(err, status, ...) ((void)tc_fail((err), (status), __VA_ARGS__), (tc_status)(status))
#endif

#endif
