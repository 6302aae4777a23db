/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/canonical.h"

#include "base/assert.h"
#include "base/json/canonical_priv.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Digits that tell any double from its neighbours. */
#define DIGITS_MAX 17
/* Digits that every normal double keeps: fewer need not be tried, zeros at the end are cut. */
#define DIGITS_SAFE 15
#define INTEGER_SAFE 9007199254740992.0 /* 2^53 */

/* d.ddd x 10^exponent */
struct decimal {
    char digits[DIGITS_MAX];
    int count;
    int exponent;
};

static bool reads_back(const struct decimal *d, double value)
{
    char text[DIGITS_MAX + 16];
    int len =
        snprintf(text, sizeof text, "%.*se%d", d->count, d->digits, d->exponent + 1 - d->count);
    TC_ASSERT(len > 0 && (size_t)len < sizeof text);
    return strtod(text, NULL) == value;
}

/* The nearest number of `count` digits. */
static void nearest(double value, int count, struct decimal *out)
{
    char text[DIGITS_MAX + 16];
    int len = snprintf(text, sizeof text, "%.*e", count - 1, value);
    TC_ASSERT(len > 0 && (size_t)len < sizeof text);
    const char *e = memchr(text, 'e', (size_t)len);
    TC_ASSERT(e != NULL);
    out->exponent = (int)strtol(e + 1, NULL, 10);
    out->count = 0;
    for (const char *p = text; p < e; p++) {
        if (*p >= '0' && *p <= '9') {
            out->digits[out->count++] = *p;
        }
    }
}

/* The next larger number of as many digits: they are not all 9, as no power of two is. */
static void raise_last(struct decimal *d)
{
    int i = d->count - 1;
    for (; i > 0 && d->digits[i] == '9'; i--) {
        d->digits[i] = '0';
    }
    TC_ASSERT(d->digits[i] < '9');
    d->digits[i]++;
}

/* The fewest digits that read back as the same value, and of those the nearest to it. */
static void shortest(double value, struct decimal *out)
{
    int exponent = 0;
    /* The gap above a power of two is twice the one below: the second nearest may be the one. */
    bool lopsided = value > DBL_MIN && frexp(value, &exponent) == 0.5;
    /* Subnormal numbers have fewer digits to keep. */
    int count = value < DBL_MIN ? 1 : DIGITS_SAFE;
    for (bool found = false; !found; count++) {
        nearest(value, count, out);
        found = count == DIGITS_MAX || reads_back(out, value);
        if (!found && lopsided) {
            raise_last(out);
            found = reads_back(out, value);
        }
    }
    while (out->count > 1 && out->digits[out->count - 1] == '0') {
        out->count--;
    }
}

static void zeros(struct tc_buf *b, int count)
{
    static const char text[] = "00000000000000000000000";
    TC_ASSERT(count >= 0 && (size_t)count < sizeof text);
    tc_buf_put(b, text, (size_t)count);
}

/* ECMA-262, Number::toString for radix 10: k digits, the point behind the n-th of them. */
static void lay_out(struct tc_buf *b, const struct decimal *d)
{
    int k = d->count;
    int n = d->exponent + 1;
    TC_ASSERT(k > 0 && k <= DIGITS_MAX);
    if (n > 21 || n <= -6) {
        tc_buf_char(b, d->digits[0]);
        if (k > 1) {
            tc_buf_char(b, '.');
            tc_buf_put(b, d->digits + 1, (size_t)(k - 1));
        }
        tc_buf_put(b, n > 0 ? "e+" : "e", n > 0 ? 2 : 1);
        tc_buf_i64(b, n - 1);
    } else if (n >= k) {
        tc_buf_put(b, d->digits, (size_t)k);
        zeros(b, n - k);
    } else if (n > 0) {
        tc_buf_put(b, d->digits, (size_t)n);
        tc_buf_char(b, '.');
        tc_buf_put(b, d->digits + n, (size_t)(k - n));
    } else {
        tc_buf_lit(b, "0.");
        zeros(b, -n);
        tc_buf_put(b, d->digits, (size_t)k);
    }
}

void tc_buf_ecma(struct tc_buf *b, double value)
{
    TC_ASSERT(isfinite(value));
    if (fabs(value) <= INTEGER_SAFE && floor(value) == value) {
        tc_buf_i64(b, (int64_t)value); /* and -0 is 0 */
        return;
    }
    if (value < 0) {
        tc_buf_char(b, '-');
        value = -value;
    }
    struct decimal d;
    shortest(value, &d);
    lay_out(b, &d);
}

bool tc__integer_is_double(struct tc_slice digits, double value)
{
    char spelt[TC_ECMA_MAX];
    char exact[DBL_MAX_10_EXP + 16];
    struct tc_buf b = tc_buf_make(spelt, sizeof spelt);
    tc_buf_ecma(&b, value);
    if (tc_slice_eq(tc_buf_slice(&b), digits)) {
        return true;
    }
    int len = snprintf(exact, sizeof exact, "%.0f", value);
    TC_ASSERT(len > 0 && (size_t)len < sizeof exact);
    return tc_slice_eq(tc_slice_make(exact, (size_t)len), digits);
}
