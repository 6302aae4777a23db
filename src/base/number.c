/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Digits with a comma every three, up to the point. */
static void put_grouped(struct tc_buf *b, const char *digits)
{
    size_t whole = strcspn(digits, ".");
    size_t start = digits[0] == '-' ? 1 : 0;
    for (size_t n = 0; digits[n] != '\0'; n++) {
        if (n > start && n < whole && (whole - n) % 3 == 0) {
            tc_buf_char(b, ',');
        }
        tc_buf_char(b, digits[n]);
    }
}

void tc_buf_number(struct tc_buf *b, double value)
{
    char digits[400];
    double size = fabs(value);
    if (isnan(value)) {
        tc_buf_char(b, '-');
        return;
    }
    if (size != 0 && (size < 1e-4 || size >= 1e15)) {
        (void)snprintf(digits, sizeof digits, "%.3e", value);
        tc_buf_str(b, tc_slice_cstr(digits));
        return;
    }
    int decimals = 0;
    for (double limit = 1000; size != 0 && size < limit; limit /= 10) {
        decimals++;
    }
    (void)snprintf(digits, sizeof digits, "%.*f", decimals, value);
    if (strchr(digits, '.') != NULL) { /* 4.000 is 4 */
        size_t len = strlen(digits);
        while (digits[len - 1] == '0') {
            digits[--len] = '\0';
        }
        digits[len - 1] = digits[len - 1] == '.' ? '\0' : digits[len - 1];
    }
    put_grouped(b, digits);
}

void tc_buf_grouped(struct tc_buf *b, int64_t value)
{
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%lld", (long long)value);
    put_grouped(b, digits);
}

static void write_number(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_buf_number(b, arg->real);
}

struct tc_arg tc_as_number(double value)
{
    return (struct tc_arg){.write = write_number, .real = value};
}

struct tc_arg tc_as_ratio(double x, double y)
{
    return tc_as_number(x != 0 ? y / x : (double)NAN);
}
