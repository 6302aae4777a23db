/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TC_ASSERT is for promises between our own functions: it stays on in release
 * builds and aborts. Bytes from outside are never asserted on; they are a
 * tc_status.
 */
#ifndef TC_BASE_ASSERT_H
#define TC_BASE_ASSERT_H

_Noreturn void tc_assert_failed(const char *expression, const char *file, int line);

#define TC_ASSERT(expr)                                  \
    do {                                                 \
        if (__builtin_expect(!(expr), 0)) {              \
            tc_assert_failed(#expr, __FILE__, __LINE__); \
        }                                                \
    } while (0)

#endif
