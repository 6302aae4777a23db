/* SPDX-License-Identifier: Apache-2.0 */
#include "hot/remote.h"

#include "base/pb.h"
#include "codec/samples.h"

#include <string.h>

/* Labels of one series: those of a hot metric, the name, job and instance. */
#define LABELS_MAX 24
/* One series as a message: its labels are bounded by hot_priv.h, the rest is ours. */
#define SERIES_MAX 4096

/* Fields of prometheus.WriteRequest, TimeSeries, Label and Sample. */
enum { REQUEST_TIMESERIES = 1 };
enum { TIMESERIES_LABELS = 1, TIMESERIES_SAMPLES = 2 };
enum { LABEL_NAME = 1, LABEL_VALUE = 2 };
enum { SAMPLE_VALUE = 1, SAMPLE_TIMESTAMP = 2 };

/* A literal of two bytes of length, which has 1 to 65,536 bytes. */
#define LITERAL_TAG ((char)(61 << 2))
#define LITERAL_MAX ((size_t)65536)
#define LITERAL_HEAD 3
#define LENGTH_MAX 10

struct encoding {
    const struct tc_remote_page *page;
    struct tc_buf *out;
    size_t first;
    size_t at;
    size_t count;
};

static void put_label(struct tc_buf *b, const struct tc_sample_label *label)
{
    char text[SERIES_MAX];
    struct tc_buf message = tc_buf_make(text, sizeof text);
    tc_pb_put_bytes(&message, LABEL_NAME, label->key);
    tc_pb_put_bytes(&message, LABEL_VALUE, label->value);
    b->overflowed = b->overflowed || message.overflowed;
    tc_pb_put_bytes(b, TIMESERIES_LABELS, tc_buf_slice(&message));
}

/* The receiver wants labels in the order of their names. There are few: insertion. */
static size_t sort_labels(const struct tc_sample *sample, struct tc_slice instance,
                          struct tc_sample_label *labels)
{
    const struct tc_sample_label own[] = {{TC_LIT("__name__"), sample->name},
                                          {TC_LIT("instance"), instance},
                                          {TC_LIT("job"), TC_LIT("tracecore")}};
    size_t count = 0;
    size_t all = TC_COUNT(own) + sample->label_count;
    for (size_t i = 0; i < all && count < LABELS_MAX; i++) {
        struct tc_sample_label x = i < TC_COUNT(own) ? own[i] : sample->labels[i - TC_COUNT(own)];
        size_t j = count++;
        for (; j > 0 && tc_slice_cmp(labels[j - 1].key, x.key) > 0; j--) {
            labels[j] = labels[j - 1];
        }
        labels[j] = x;
    }
    return count;
}

static void put_series(struct tc_buf *b, const struct tc_sample *sample,
                       const struct tc_remote_page *page)
{
    struct tc_sample_label labels[LABELS_MAX];
    char text[64];
    struct tc_buf message = tc_buf_make(text, sizeof text);
    uint64_t bits = 0;
    size_t count = sort_labels(sample, page->instance, labels);
    for (size_t i = 0; i < count; i++) {
        put_label(b, &labels[i]);
    }
    memcpy(&bits, &sample->value, sizeof bits);
    tc_pb_put_fixed64(&message, SAMPLE_VALUE, bits);
    tc_pb_put_number(&message, SAMPLE_TIMESTAMP, (uint64_t)page->time_ms);
    tc_pb_put_bytes(b, TIMESERIES_SAMPLES, tc_buf_slice(&message));
}

static tc_status take(void *context, const struct tc_sample *sample)
{
    struct encoding *e = context;
    char text[SERIES_MAX];
    if (e->at++ < e->first) {
        return TC_OK;
    }
    struct tc_buf series = tc_buf_make(text, sizeof text);
    struct tc_buf before = *e->out;
    put_series(&series, sample, e->page);
    e->out->overflowed = e->out->overflowed || series.overflowed;
    tc_pb_put_bytes(e->out, REQUEST_TIMESERIES, tc_buf_slice(&series));
    if (e->out->overflowed) {
        *e->out = before;
        return TC_E_LIMIT;
    }
    e->count++;
    return TC_OK;
}

tc_status tc_remote_encode(const struct tc_remote_page *page, size_t first, struct tc_arena *arena,
                           struct tc_buf *out, size_t *out_count, struct tc_error *err)
{
    struct encoding e = {.page = page, .out = out, .first = first};
    struct tc_samples_input in = {.bytes = page->text};
    struct tc_samples_out samples = {.take = take, .context = &e};
    tc_status status =
        page->text.len == 0 ? TC_OK : tc_samples_read(&in, arena, &samples, NULL, err);
    if (status == TC_OK || (status == TC_E_LIMIT && e.count > 0)) {
        *out_count = e.count;
        return TC_OK;
    }
    return status;
}

size_t tc_remote_packed_max(size_t len)
{
    return len + LENGTH_MAX + (len / LITERAL_MAX + 1) * LITERAL_HEAD;
}

void tc_remote_pack(struct tc_slice bytes, struct tc_buf *out)
{
    tc_pb_put_varint(out, bytes.len);
    while (bytes.len > 0) {
        size_t len = bytes.len < LITERAL_MAX ? bytes.len : LITERAL_MAX;
        tc_buf_char(out, LITERAL_TAG);
        tc_buf_char(out, (char)((len - 1) & 0xff));
        tc_buf_char(out, (char)((len - 1) >> 8));
        tc_buf_put(out, bytes.ptr, len);
        bytes = tc_slice_from(bytes, len);
    }
}
