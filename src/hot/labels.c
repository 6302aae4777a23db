/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of the labels of a sample: the allowed ones, in one order. */
#include "hot/hot_priv.h"

#include "base/assert.h"
#include "telemetry/names.h"

/* The widest bucket of concurrency_bucket; beyond it is "more". */
#define CONCURRENCY_MAX UINT64_C(4096)

enum allowed {
#define ALLOWED(id, name) ALLOWED_##id,
#define FROM(key, id)
#include "hot/labels.def"
#undef ALLOWED
    ALLOWED_COUNT
};

static const char *const NAMES[ALLOWED_COUNT] = {
#define ALLOWED(id, name) [ALLOWED_##id] = (name),
#include "hot/labels.def"
#undef ALLOWED
#undef FROM
};

static const struct {
    const char *key;
    enum allowed label;
} KEYS[] = {
#define ALLOWED(id, name)
#define FROM(key, id) {(key), ALLOWED_##id},
#include "hot/labels.def"
#undef ALLOWED
#undef FROM
};

static enum allowed allowed_of(struct tc_slice key)
{
    char text[TC_PLAIN_NAME_MAX];
    struct tc_slice plain = tc_plain_name(key, false, text);
    size_t at = tc_slice_row(plain, KEYS, key);
    return at < TC_COUNT(KEYS) ? KEYS[at].label : ALLOWED_COUNT;
}

/* Why a label that is not allowed goes. */
static enum tc_hot_count reason_of(struct tc_slice key, bool names_something)
{
    switch (tc_label_meaning(key)) {
    case TC_LABEL_REQUEST:
        return TC_HOT_LABELS_REQUEST;
    case TC_LABEL_RUN:
    case TC_LABEL_SCHEDULER:
    case TC_LABEL_CLASS:
    case TC_LABEL_JOB:
        return TC_HOT_LABELS_IDENTITY;
    case TC_LABEL_ABOUT:
    case TC_LABEL_OTHER:
        break;
    }
    return names_something ? TC_HOT_LABELS_IDENTITY : TC_HOT_LABELS_TAG;
}

/* A number of requests at once becomes the next power of two. */
static struct tc_slice bucket_of(struct tc_slice value, char *text, size_t size)
{
    uint64_t number = 0;
    if (!tc_slice_is_u64(value, &number)) {
        return value;
    }
    if (number > CONCURRENCY_MAX) {
        return TC_LIT("more");
    }
    uint64_t bucket = 1;
    while (bucket < number) {
        bucket *= 2;
    }
    struct tc_buf b = tc_buf_make(text, size);
    tc_buf_u64(&b, bucket);
    return tc_buf_slice(&b);
}

/* As Prometheus wants it between quotes, with nothing in it that a terminal would obey. */
static void put_value(struct tc_buf *b, struct tc_slice value)
{
    char text[TC__HOT_VALUE_MAX * 4 + 8];
    struct tc_buf printable = tc_buf_make(text, sizeof text);
    tc_buf_printable(&printable, value);
    b->overflowed = b->overflowed || printable.overflowed;
    struct tc_slice shown = tc_buf_slice(&printable);
    for (size_t i = 0; i < shown.len; i++) {
        if (shown.ptr[i] == '"' || shown.ptr[i] == '\\') {
            tc_buf_char(b, '\\');
        }
        tc_buf_char(b, shown.ptr[i]);
    }
}

/* False, and nothing is written, when there is no room for it. */
static bool put_label(struct tc_buf *b, enum allowed label, struct tc_slice value)
{
    char text[24];
    struct tc_buf before = *b;
    if (value.len > TC__HOT_VALUE_MAX) {
        return false;
    }
    if (b->len > 0) {
        tc_buf_char(b, ',');
    }
    tc_buf_str(b, tc_slice_cstr(NAMES[label]));
    tc_buf_lit(b, "=\"");
    put_value(b, label == ALLOWED_CONCURRENCY ? bucket_of(value, text, sizeof text) : value);
    tc_buf_char(b, '"');
    if (b->overflowed) {
        *b = before;
        return false;
    }
    return true;
}

void tc__hot_labels_of(const struct tc_sample *sample, const struct tc_series_meaning *meaning,
                       struct tc__hot_labels *out, uint64_t *counts)
{
    struct tc_slice values[ALLOWED_COUNT] = {{0}};
    out->lost_request = false;
    for (size_t i = 0; i < sample->label_count && i < TC_SAMPLE_LABELS_MAX; i++) {
        const struct tc_sample_label *label = &sample->labels[i];
        enum allowed which = allowed_of(label->key);
        if (which < ALLOWED_COUNT) {
            values[which] = tc_slice_or(values[which], label->value);
            continue;
        }
        enum tc_hot_count why = reason_of(label->key, (meaning->used >> i & 1) != 0);
        counts[why]++;
        out->lost_request = out->lost_request || why == TC_HOT_LABELS_REQUEST;
    }
    struct tc_buf b = tc_buf_make(out->text, sizeof out->text);
    for (size_t i = 0; i < ALLOWED_COUNT; i++) {
        if (values[i].len > 0 && !put_label(&b, (enum allowed)i, values[i])) {
            counts[TC_HOT_LABELS_UNFIT]++;
        }
    }
    out->len = b.len;
}
