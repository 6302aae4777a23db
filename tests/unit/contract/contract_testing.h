/* SPDX-License-Identifier: Apache-2.0 */
/* Contracts for tests: the template with a line changed, and what a check tells of it. */
#ifndef TC_CONTRACT_TESTING_H
#define TC_CONTRACT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "contract/contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLD_MAX ((size_t)1 << 20)

static struct tc_error err;
static char contract_text[TC_CONTRACT_TEXT_MAX];
static char told_text[TOLD_MAX];

/* The template of a class and type, NUL at the end. */
static inline char *template_of(const char *class, const char *type)
{
    struct tc_contract_values values;
    struct tc_buf b = tc_buf_make(contract_text, sizeof contract_text - 1);
    tc_contract_values_init(&values);
    assert_int_equal(tc_contract_value_set(&values, TC_FIELD_CLASS, tc_slice_cstr(class), &err),
                     TC_OK);
    assert_int_equal(tc_contract_value_set(&values, TC_FIELD_TYPE, tc_slice_cstr(type), &err),
                     TC_OK);
    tc_contract_template(&values, &b);
    assert_false(b.overflowed);
    contract_text[b.len] = '\0';
    return contract_text;
}

/* The template with the first `old` replaced. */
static inline char *changed(const char *old, const char *new)
{
    char *text = template_of("publication_grade", "mixed");
    char *at = strstr(text, old);
    if (at == NULL) {
        fail_msg("the template has no %s", old);
    }
    size_t rest = strlen(at + strlen(old)) + 1;
    assert_true((size_t)(at - text) + strlen(new) + rest <= sizeof contract_text);
    memmove(at + strlen(new), at + strlen(old), rest);
    memcpy(at, new, strlen(new));
    return text;
}

static inline struct tc_contract *parsed_n(const char *text, size_t len)
{
    struct tc_contract *c = NULL;
    memset(&err, 0, sizeof err);
    if (tc_contract_parse(tc_slice_make(text, len), &c, &err) != TC_OK) {
        fail_msg("%.200s: %s", text, err.message);
    }
    assert_non_null(c);
    return c;
}

static inline struct tc_contract *parsed(const char *text)
{
    return parsed_n(text, strlen(text));
}

static inline void on_told(void *context, const struct tc_violation *v)
{
    size_t *len = context;
    int n = snprintf(told_text + *len, sizeof told_text - *len, "%u:%u: %s: %s%s\n", v->line,
                     v->column, v->path, v->message, v->strict ? " (strict)" : "");
    assert_true(n > 0 && (size_t)n < sizeof told_text - *len);
    *len += (size_t)n;
}

/* All that is told of a text, line by line. */
static inline const char *told(const char *text, bool strict)
{
    struct tc_contract *c = parsed(text);
    size_t len = 0;
    told_text[0] = '\0';
    size_t count = tc_contract_check(c, strict, on_told, &len);
    assert_int_equal(count, tc_contract_check(c, strict, NULL, NULL));
    tc_contract_destroy(c);
    return told_text;
}

/* It is no contract that can be read, and why. */
static inline void assert_refused_n(const char *text, size_t len, const char *why)
{
    struct tc_contract *c = NULL;
    memset(&err, 0, sizeof err);
    assert_int_equal(tc_contract_parse(tc_slice_make(text, len), &c, &err), TC_E_MALFORMED);
    assert_null(c);
    if (strstr(err.message, why) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, why);
    }
}

static inline void assert_refused(const char *text, const char *why)
{
    assert_refused_n(text, strlen(text), why);
}

#endif
