/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every sample of a metrics text, known to detectors or not: Prometheus text, OpenMetrics, OTLP
 * metrics in JSON (one request, or one a line) and protobuf. For telemetry slices, which keep what
 * an exporter says under its own name. The events for detectors are made by codec.h.
 */
#ifndef TC_CODEC_SAMPLES_H
#define TC_CODEC_SAMPLES_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_SAMPLE_LABELS_MAX 64

enum tc_sample_type {
    TC_SAMPLE_UNTYPED,
    TC_SAMPLE_GAUGE,
    TC_SAMPLE_COUNTER, /* also _sum, _count and _bucket of histograms and summaries */
};

struct tc_sample_label {
    struct tc_slice key;
    struct tc_slice value;
};

/* Strings are of the input or of the arena until the next sample. */
struct tc_sample {
    struct tc_slice name;
    struct tc_slice unit; /* where the text says one */
    enum tc_sample_type type;
    int64_t time_ns;                      /* TC_TIME_NONE: not said */
    double value;                         /* may be NaN */
    const struct tc_sample_label *labels; /* resource and scope attributes of OTLP among them */
    size_t label_count;
};

struct tc_samples_out {
    tc_status (*take)(void *context, const struct tc_sample *sample);
    void (*bad)(void *context, uint64_t offset, const char *why); /* a line left out; may be NULL */
    void *context;
};

/* Whether the bytes are something that tc_samples_read reads. */
bool tc_samples_sniff(struct tc_slice bytes);
/* Arena: for strings that had to be made, rewound between samples. */
TC_CHECKED tc_status tc_samples_read(struct tc_slice bytes, struct tc_arena *arena,
                                     const struct tc_samples_out *out, struct tc_error *err);

#endif
