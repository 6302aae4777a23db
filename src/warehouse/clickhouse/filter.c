/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/clickhouse/filter_priv.h"

#include "base/time.h"

struct reading {
    struct tc_slice rest;
    struct tc__filter *out;
};

static bool skip(struct reading *r, struct tc_slice what)
{
    bool is = tc_slice_starts(r->rest, what);
    r->rest = is ? tc_slice_from(r->rest, what.len) : r->rest;
    return is;
}

/* 'text', a quote in it doubled. */
static bool read_text(struct reading *r, struct tc_slice *out)
{
    if (!skip(r, TC_LIT("'"))) {
        return false;
    }
    for (size_t i = 0; i < r->rest.len; i++) {
        if (r->rest.ptr[i] != '\'') {
            continue;
        }
        if (i + 1 < r->rest.len && r->rest.ptr[i + 1] == '\'') {
            i++;
            continue;
        }
        *out = tc_slice_head(r->rest, i);
        r->rest = tc_slice_from(r->rest, i + 1);
        return true;
    }
    return false;
}

static bool add_value(struct reading *r, struct tc__filter_term *t, struct tc_slice text)
{
    if (r->out->value_count == TC__FILTER_VALUES_MAX) {
        return false;
    }
    t->count++;
    r->out->values[r->out->value_count++] = text;
    return true;
}

static bool read_list(struct reading *r, struct tc__filter_term *t)
{
    struct tc_slice text;
    do {
        if (!read_text(r, &text) || !add_value(r, t, text)) {
            return false;
        }
    } while (skip(r, TC_LIT(", ")));
    return skip(r, TC_LIT(")"));
}

/* 2026-01-02 03:04:05.678901 */
static bool read_time(struct tc_slice text, int64_t *out_us)
{
    int64_t ns = 0;
    bool ok = text.len > 0 && tc_time_parse(text, 0, &ns) == text.len;
    *out_us = ns / 1000;
    return ok;
}

static bool read_comparison(struct reading *r, struct tc__filter_term *t)
{
    static const struct {
        const char *sign;
        enum tc__filter_sign means;
    } signs[] = {{">=", TC__FILTER_FROM},
                 {">", TC__FILTER_AFTER},
                 {"<=", TC__FILTER_UNTIL},
                 {"<", TC__FILTER_BEFORE},
                 {"=", TC__FILTER_AT}};
    struct tc_slice text;
    size_t i = 0;
    while (i < TC_COUNT(signs) && !skip(r, tc_slice_cstr(signs[i].sign))) {
        i++;
    }
    if (i == TC_COUNT(signs) || !read_text(r, &text)) {
        return false;
    }
    t->sign = signs[i].means;
    if (skip(r, TC_LIT("::TIMESTAMP"))) {
        return read_time(text, &t->time_us);
    }
    t->sign = TC__FILTER_IN;
    return signs[i].means == TC__FILTER_AT && add_value(r, t, text);
}

static bool read_term(struct reading *r)
{
    size_t len = 0;
    if (r->out->term_count == TC__FILTER_TERMS_MAX) {
        return false;
    }
    struct tc__filter_term *t = &r->out->terms[r->out->term_count++];
    (void)skip(r, TC_LIT("optional: "));
    while (len < r->rest.len && tc_is_word(r->rest.ptr[len])) {
        len++;
    }
    *t = (struct tc__filter_term){.column = tc_slice_head(r->rest, len),
                                  .first = r->out->value_count};
    r->rest = tc_slice_from(r->rest, len);
    if (skip(r, TC_LIT(" IN ("))) {
        t->sign = TC__FILTER_IN;
        return len > 0 && read_list(r, t);
    }
    return len > 0 && read_comparison(r, t);
}

bool tc__filter_parse(struct tc_slice text, struct tc__filter *out)
{
    struct reading r = {text, out};
    out->term_count = 0;
    out->value_count = 0;
    bool ok = true;
    do {
        ok = read_term(&r);
    } while (ok && skip(&r, TC_LIT(" AND ")));
    ok = ok && r.rest.len == 0;
    out->term_count = ok ? out->term_count : 0;
    return ok;
}
