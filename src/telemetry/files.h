/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A telemetry file of a run into rows of telemetry_slice_fact: Prometheus text, OpenMetrics, OTLP
 * metrics (JSON or protobuf), Kubernetes events, and tracecore's own event lines; and OTLP traces,
 * alone or beside metrics in one file of JSON, into rows of serving_request_fact. What it is is
 * recognised from content. Memory follows the size of the file.
 */
#ifndef TC_TELEMETRY_FILES_H
#define TC_TELEMETRY_FILES_H

#include "base/slice.h"
#include "base/status.h"
#include "warehouse/rows.h"

#include <stdbool.h>
#include <stdint.h>

#define TC_TELEMETRY_BYTES_MAX ((size_t)512 << 20)

struct tc_sample;

struct tc_telemetry_input {
    struct tc_slice name; /* as given, for messages */
    struct tc_slice bytes;
    /* When the last scrape in it was taken, for files without times: the run's end, or when the
     * file was written; 0 or TC_TIME_NONE: not known, and such a file is an error. */
    int64_t taken_ns;
    int64_t interval_ns; /* between scrapes without times; 0: TC_SCRAPE_INTERVAL */
    int64_t window_ns;   /* a second to 31 days; 0: a minute */
    /* The run it was given with. Rows whose labels name it are joined by `identity`, those that
     * name no run by `given`; rows of another run are left out and counted. Empty: no run. */
    struct tc_slice run_id;
    /* Where its labels do not say. */
    struct tc_slice scheduler_run_id;
    struct tc_slice job_uid;
    struct tc_slice source_digest; /* SHA-256 of the bytes, for the rows */
};

struct tc_telemetry_counts {
    uint64_t samples;     /* read */
    uint64_t requests;    /* that spans tell of, but for those of another run */
    uint64_t rows;        /* given to take and take_requests */
    uint64_t series;      /* in it */
    uint64_t undated;     /* samples whose time was assumed from taken_ns */
    uint64_t not_finite;  /* samples without a value */
    uint64_t bad;         /* lines or records that could not be read */
    uint64_t duplicates;  /* samples that were there twice */
    uint64_t other_run;   /* samples and requests that name another run */
    uint64_t labels_left; /* samples that lost labels of one request */
    const char *form;     /* "prometheus", "otlp-json", "otlp-protobuf", "kubernetes", "events" */
};

/* A metric as its producer names it, and what it is here: a row of metric_definition_dim. Strings
 * live until the call returns. */
struct tc_telemetry_definition {
    struct tc_slice family;      /* `tool` */
    struct tc_slice field;       /* the producer's name */
    struct tc_slice metric;      /* `measures`: our name of it */
    struct tc_slice source_unit; /* empty: not known */
    struct tc_slice unit;        /* as stored */
    const char *note;            /* how it is stored; a literal */
};

/* What the import must record about the file. `where` may be empty. */
struct tc_telemetry_out {
    tc_status (*take)(void *context, const struct tc_rows *rows); /* of telemetry_slice_fact */
    tc_status (*take_requests)(void *context,
                               const struct tc_rows *rows); /* serving_request_fact */
    void (*note)(void *context, struct tc_slice where, struct tc_slice field, struct tc_slice text);
    void *context;
    /* Each metric that has another name here than its producer gave it, once, before its rows; may
     * be NULL. */
    void (*define)(void *context, const struct tc_telemetry_definition *definition);
    /* Each sample as its exporter gave it (not those of files of events); may be NULL. */
    void (*sample)(void *context, const struct tc_sample *sample);
};

/* Whether the bytes are such a file. */
bool tc_telemetry_sniff(struct tc_slice bytes, struct tc_slice name);

/*
 * TC_E_UNSUPPORTED: of no known form. TC_E_MALFORMED: nothing in it can be read, it is empty, or
 * it has no times and none is known, or all of it is of another run. Nothing was taken when it
 * fails, unless `take` failed.
 */
TC_CHECKED tc_status tc_telemetry_read(const struct tc_telemetry_input *in,
                                       const struct tc_telemetry_out *out,
                                       struct tc_telemetry_counts *out_counts,
                                       struct tc_error *err);

#endif
