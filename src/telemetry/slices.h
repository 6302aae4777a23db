/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples into slices: per series and time window the count, extremes, mean, percentiles and last
 * value, as rows of telemetry_slice_fact. The same for files of a run and for the daemon. Memory is
 * bounded: series and samples beyond it are counted, not kept.
 *
 * Gauges are taken as they are. A counter becomes its rise per second between two samples (a fall
 * is a restart, not a rise), `last` is its value. Windows that are not given out yet keep up to
 * exact_max samples of a series as they are, so that neither late ones nor the order in which they
 * come change anything; percentiles are exact then, the nearest rank. Of more samples the oldest
 * are folded: count, extremes, mean and last stay what they are, percentiles are those of a sketch
 * (docs/telemetry.md says how far they may be off). No sample of a known series is left out.
 */
#ifndef TC_TELEMETRY_SLICES_H
#define TC_TELEMETRY_SLICES_H

#include "base/slice.h"
#include "base/status.h"
#include "base/time.h"
#include "codec/samples.h"
#include "event/event.h"
#include "warehouse/rows.h"

#include <stddef.h>
#include <stdint.h>

struct tc_slices_config {
    int64_t window_ns; /* windows begin at multiples of it */
    size_t series_max;
    size_t memory_bytes; /* in all */
    size_t cells_max;    /* series x windows that wait; 0: as the others allow */
    size_t exact_max;    /* samples of a series and window that are kept as they are */
    /* SHA-256 of the file that the samples are of, for the rows; empty: of none. Copied. */
    struct tc_slice source_digest;
};

#define TC_SLICES_CONFIG_DEFAULT                                 \
    ((struct tc_slices_config){.window_ns = 60 * TC_SECOND,      \
                               .series_max = 65536,              \
                               .memory_bytes = (size_t)64 << 20, \
                               .exact_max = 256})

/* Who a series belongs to; empty where not known. */
struct tc_series_scope {
    struct tc_slice run_id;
    struct tc_slice run_join; /* "identity", "given", "time"; with run_id */
    struct tc_slice scheduler_run_id;
    struct tc_slice job_uid;
    struct tc_slice pod_uid;
    struct tc_slice node;
    struct tc_slice gpu_uuid;
    struct tc_slice request_class;
    int64_t rank; /* -1: none */
};

#define TC_SERIES_SCOPE_NONE ((struct tc_series_scope){.rank = -1})

struct tc_slices_counts {
    uint64_t samples;       /* that came */
    uint64_t not_finite;    /* NaN, infinities, and DCGM's "not supported" */
    uint64_t undated;       /* without a time */
    uint64_t ahead;         /* more than a day after tc_slices_now */
    uint64_t other_run;     /* of another run than the one they were given with */
    uint64_t late;          /* for a window that was given out already */
    uint64_t duplicates;    /* same series, time and value as another */
    uint64_t series_full;   /* samples of series that found no room */
    uint64_t samples_full;  /* samples of a series that has too many windows open */
    uint64_t labels_left;   /* samples with labels of one request (request_id, trace_id ...), which
                               are not kept */
    uint64_t counters_left; /* of them counters, which mean nothing without: left out */
    uint64_t windows;       /* rows given out */
    uint64_t folded;        /* of them those with percentiles of a sketch, or none */
    uint64_t unranked;      /* of these those without: memory was short */
    uint64_t series;        /* now */
    uint64_t waiting;       /* samples whose window was not given out yet */
    uint64_t cells;         /* series x windows that they are of */
    uint64_t series_gone;   /* forgotten because nothing came any more */
};

struct tc_slices;

TC_CHECKED tc_status tc_slices_create(const struct tc_slices_config *config,
                                      struct tc_slices **out_slices, struct tc_error *err);
void tc_slices_destroy(struct tc_slices *s);

/*
 * What time it is, for a slicer that runs for long: samples that are more than a day ahead are left
 * out, since they would wait for a window that does not come. Never told: all are taken.
 */
void tc_slices_now(struct tc_slices *s, int64_t now_ns);

/*
 * One sample with labels as its exporter gave them: the family, our metric name, unit and the
 * scope are found from them (families.def, codec's tables of names and labels). Copies what it
 * keeps. Allocates nothing.
 */
void tc_slices_add(struct tc_slices *s, const struct tc_sample *sample, int64_t time_ns,
                   const struct tc_series_scope *known);
/* The same for a metric event (other kinds do nothing): what its scope and device say. */
void tc_slices_add_event(struct tc_slices *s, const struct tc_event *ev,
                         const struct tc_series_scope *known);
/* Gives out windows that ended at or before `until_ns` (INT64_MAX: all), in order of time, then
 * series. Rows of telemetry_slice_fact; `take` gets batches. When it fails, that is returned, and
 * what was due and not taken yet is lost. May allocate. */
TC_CHECKED tc_status tc_slices_flush(struct tc_slices *s, int64_t until_ns,
                                     tc_status (*take)(void *context, const struct tc_rows *rows),
                                     void *context, struct tc_error *err);
void tc_slices_counts(const struct tc_slices *s, struct tc_slices_counts *out);

/* The first run that other_run counted; empty: none. */
struct tc_slice tc_slices_other_run(const struct tc_slices *s);

#endif
