/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every sample of a metrics text, known to detectors or not: Prometheus text, OpenMetrics, OTLP
 * metrics in JSON (one request, or one per line) and protobuf. For telemetry slices, which keep
 * what an exporter says under its own name. The events for detectors are made by codec.h.
 */
#ifndef TC_CODEC_SAMPLES_H
#define TC_CODEC_SAMPLES_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/status.h"
#include "codec/otlp/wire.h"
#include "event/event.h"
#include "event/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_SAMPLE_LABELS_MAX 64

enum tc_sample_type {
    TC_SAMPLE_UNTYPED,
    TC_SAMPLE_GAUGE,
    TC_SAMPLE_COUNTER, /* also _sum, _count and _bucket of histograms and summaries */
    TC_SAMPLE_DELTA,   /* OTLP: how much it rose between start_ns and time_ns */
};

struct tc_sample_label {
    struct tc_slice key;
    struct tc_slice value;
};

/* Strings are of the input or of the arena until the next sample. */
struct tc_sample {
    struct tc_slice name;
    struct tc_slice unit; /* where the text says one */
    /* Name and labels as they stand in a text: equal bytes are an equal series. May be empty. */
    struct tc_slice identity;
    enum tc_sample_type type;
    int64_t time_ns;                      /* TC_TIME_NONE: not said */
    int64_t start_ns;                     /* DELTA; TC_TIME_NONE */
    double value;                         /* may be NaN */
    const struct tc_sample_label *labels; /* resource attributes of OTLP among them, at the end */
    size_t label_count;
};

/* What is read, and what is known about it from outside. */
struct tc_samples_input {
    struct tc_slice bytes;
    int64_t taken_ns;     /* when the last scrape in it was taken, for samples without a time; 0 or
                             TC_TIME_NONE: not known, they come without a time */
    int64_t interval_ns;  /* between scrapes without a time; 0: TC_SCRAPE_INTERVAL */
    int32_t utc_offset_s; /* zone of dates without one */
    /* For OTLP, of requests up to what it was made for; NULL: one is made for this call, which
     * costs more than a small request does. */
    struct tc_otlp_reader *reader;
};

struct tc_samples_out {
    tc_status (*take)(void *context, const struct tc_sample *sample);
    void (*bad)(void *context, uint64_t offset, const char *why); /* a line left out; may be NULL */
    void *context;
};

struct tc_samples_counts {
    uint64_t samples;
    uint64_t undated; /* of them with a time that was assumed from taken_ns, or with none */
    uint64_t bad;     /* lines, data points or documents left out */
    uint64_t scrapes; /* without times; 1 at least */
};

enum tc_samples_form {
    TC_SAMPLES_NONE, /* not something that tc_samples_read reads */
    TC_SAMPLES_TEXT, /* Prometheus text, OpenMetrics */
    TC_SAMPLES_OTLP_JSON,
    TC_SAMPLES_OTLP_PROTOBUF, /* one request, or many with four bytes of length before each */
};

/* Whether the bytes are something that tc_samples_read reads. */
enum tc_samples_form tc_samples_form(struct tc_slice bytes);
/* Of a text that is none of these: the first line that is no sample of Prometheus text, from 1, and
 * why; 0 when it is no text, JSON, or has no such line. */
size_t tc_samples_bad_line(struct tc_slice bytes, const char **out_why);
static inline bool tc_samples_sniff(struct tc_slice bytes)
{
    return tc_samples_form(bytes) != TC_SAMPLES_NONE;
}

/*
 * Arena: for strings that had to be made, rewound between samples. A bad line of text, or a bad
 * request of many, is left out and told; TC_E_MALFORMED when nothing of it can be read.
 * out_counts may be NULL.
 */
TC_CHECKED tc_status tc_samples_read(const struct tc_samples_input *in, struct tc_arena *arena,
                                     const struct tc_samples_out *out,
                                     struct tc_samples_counts *out_counts, struct tc_error *err);

/* The same for a request of metrics that passed tc_otlp_check. */
TC_CHECKED tc_status tc_otlp_samples(const struct tc_otlp_tape *tape, struct tc_arena *arena,
                                     const struct tc_samples_out *out,
                                     struct tc_samples_counts *out_counts, struct tc_error *err);

/*
 * What a series is in our terms, by the tables of names and labels that the codecs use. For each
 * new series, not for each sample.
 */
struct tc_series_meaning {
    enum tc_metric metric; /* TC_METRIC_NONE: no detector reads it */
    uint8_t how;           /* for tc_series_value */
    double scale;
    struct tc_slice device; /* of metric */
    struct tc_slice rack;
    struct tc_scope scope;
    uint64_t used; /* bit i: label i said something of the above */
};

/* Strings are of the sample, of the arena or literals. False when the arena is full. */
bool tc_series_read(const struct tc_sample *sample, struct tc_arena *arena,
                    struct tc_series_meaning *out);
/* A sample's value in the metric's unit; false when it is none. */
bool tc_series_value(uint8_t how, double scale, double *io_value);

#endif
