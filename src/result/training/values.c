/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/time.h"
#include "result/lines_priv.h"
#include "result/training/priv.h"

#include <stdio.h>
#include <string.h>

#define S(literal) TC_LIT(literal)
/* More ranks, and larger batches, than anyone has. */
#define WORLD_MAX 1e8
#define BATCH_MAX 1e12

bool tc__train_number(struct tc_slice text, double *out, struct tc_slice *out_rest)
{
    char digits[64];
    struct tc_buf b = tc_buf_make(digits, sizeof digits);
    size_t at = 0;
    while (at < text.len && text.ptr[at] == ' ') {
        at++;
    }
    for (; at < text.len; at++) {
        char c = text.ptr[at];
        bool exponent = (c == 'e' || c == 'E') && b.len > 0 && at + 1 < text.len &&
                        (text.ptr[at + 1] == '-' || text.ptr[at + 1] == '+');
        if ((c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || exponent) {
            tc_buf_char(&b, c);
        } else if (c != ',' || at + 1 == text.len || !tc_is_digit(text.ptr[at + 1])) {
            break;
        }
    }
    *out_rest = tc_slice_from(text, at);
    return !b.overflowed && tc_map_parse_number(tc_buf_slice(&b), out);
}

/* As Python prints a loss that diverged. */
static bool is_not_finite(struct tc_slice text)
{
    struct tc_slice word = tc__word_next(&text);
    if (word.len > 0 && (word.ptr[0] == '-' || word.ptr[0] == '+')) {
        word = tc_slice_from(word, 1);
    }
    word = tc_slice_head(word, 3);
    return tc_slice_eq_nocase(word, S("nan")) || tc_slice_eq_nocase(word, S("inf"));
}

static bool find_name(struct tc_slice text, const char *name, bool inside, struct tc_slice *out)
{
    struct tc_slice rest = text;
    while (tc__text_after(rest, tc_slice_cstr(name), &rest)) {
        const char *start = rest.ptr - strlen(name);
        if (inside || start == text.ptr || strchr(" \t|,[", start[-1]) != NULL) {
            *out = rest;
            return true;
        }
    }
    return false;
}

bool tc__train_after(struct tc_slice text, const char *name, struct tc_slice *out)
{
    return find_name(text, name, false, out);
}

bool tc__train_number_after(struct tc_slice text, const char *name, double *out)
{
    struct tc_slice rest;
    struct tc_slice tail;
    return tc__train_after(text, name, &rest) && tc__train_number(rest, out, &tail);
}

void tc__train_values(const struct tc__train_program *program, struct tc_slice text,
                      struct tc__train_line *out)
{
    for (size_t i = 0; i < program->value_count; i++) {
        const struct tc__train_value *v = &program->values[i];
        for (size_t n = 0; n < TC__TRAIN_NAMES_MAX && v->names[n] != NULL && !out->known[i]; n++) {
            struct tc_slice rest;
            struct tc_slice tail;
            if (!find_name(text, v->names[n], v->inside, &rest)) {
                continue;
            }
            out->known[i] = tc__train_number(rest, &out->values[i], &tail);
            out->not_finite[i] = !out->known[i] && is_not_finite(rest);
            out->values[i] *= v->factor == 0 ? 1 : v->factor;
        }
    }
}

/* A zone stands behind the time of day: "2025-10-17T11:32:59+08:00". */
static bool has_zone(struct tc_slice time)
{
    struct tc_slice day_time = tc_slice_from(time, 11);
    return tc_slice_find_byte(day_time, 'Z') != TC_NPOS ||
           tc_slice_find_byte(day_time, '+') != TC_NPOS ||
           tc_slice_find_byte(day_time, '-') != TC_NPOS;
}

int64_t tc__train_time(struct tc_slice text, bool *out_zone)
{
    int64_t ns = TC_TIME_NONE;
    for (size_t at = 0; at + 10 < text.len; at++) {
        bool digit = text.ptr[at] >= '1' && text.ptr[at] <= '2';
        bool begins = at == 0 || text.ptr[at - 1] == ' ' || text.ptr[at - 1] == '[' ||
                      text.ptr[at - 1] == ':';
        size_t len = digit && begins ? tc_time_parse(tc_slice_from(text, at), 0, &ns) : 0;
        if (len > 0) {
            *out_zone = has_zone(tc_slice_make(text.ptr + at, len));
            return ns;
        }
    }
    return TC_TIME_NONE;
}

void tc__train_batch(struct tc__train_log *l, double batch)
{
    if (batch > 0 && batch < BATCH_MAX) {
        char data[64];
        (void)snprintf(data, sizeof data, "global_batch_size=%.0f", batch);
        tc_result_fact_text(l->r, TC_TABLE_WORKLOAD, TC_WORKLOAD_BATCHING_POLICY,
                            tc_slice_cstr(data));
    }
}

void tc__train_world(struct tc__train_log *l, double ranks)
{
    if (ranks >= 1 && ranks < WORLD_MAX) {
        l->gpus = (int64_t)ranks;
        tc_result_fact_int(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, l->gpus);
    }
}
