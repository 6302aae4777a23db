/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void tc_assert_failed(const char *expression, const char *file, int line)
{
    (void)fprintf(stderr, "tracecore: internal error: %s:%d: %s does not hold\n", file, line,
                  expression);
    abort();
}
