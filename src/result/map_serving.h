/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the readers of serving benchmarks share: the point of a row, what all rows of a file have in
 * common, and values that tools write where they measured nothing.
 */
#ifndef TC_RESULT_MAP_SERVING_H
#define TC_RESULT_MAP_SERVING_H

#include "result/map.h"

/* vLLM's and InferenceX's; "p50" and "median" are the same number where both are there. */
extern const struct tc_map_style tc_style_vllm;

/* How the clients of vLLM's kind measure. */
#define TC_NOTE_TPOT "per request: (end-to-end latency - TTFT) / (output tokens - 1)"
#define TC_NOTE_ITL "per gap between two received chunks, over all requests"

/* A length or a size that every request had; 0: not known, or not the same for all. */
struct tc_serving_point {
    double input_tokens;
    double output_tokens;
    struct tc_slice dataset;
    struct tc_slice more; /* "key=value" pairs; may be empty */
};

/* "in=1024 out=128 dataset=random" into the row's workload_point and into memory of the result. */
struct tc_slice tc_serving_set_point(struct tc_result_row *row,
                                     const struct tc_serving_point *point);

/* Facts that hold for a run only if they hold for all of its rows. Start with {0}. */
struct tc_serving_common {
    size_t rows;
    double input_tokens;
    double output_tokens;
    char dataset[128];
    bool several; /* the file is a list or lines: what differs must be in the point */
    bool input_differs;
    bool output_differs;
    bool dataset_differs;
};
void tc_serving_common_add(struct tc_serving_common *c, const struct tc_serving_point *point);
/* Into the facts of the workload. */
void tc_serving_common_tell(struct tc_result *r, const struct tc_serving_common *c);

/* Concurrency and request rate of a row from a tool's members; "inf" is NULL. Tells how load was
 * made: closed_loop, open_loop, or burst when neither is limited. */
void tc_serving_load(struct tc_result_row *row, struct tc_json object, const char *concurrency,
                     const char *rate);

/* Both where they are above 0, and how load was made. */
void tc_serving_asked(struct tc_result_row *row, double concurrency, double rate);

/* Started, ended: of the row and of the run. TC_TIME_NONE: not known. */
void tc_serving_times(struct tc_result_row *row, int64_t started_ns, int64_t ended_ns);

/* For tools that write 0 for a mean over nothing: a whole group of columns from a mean on becomes
 * NULL when the mean is 0, or less than a clock tells apart. */
void tc_serving_drop_zeros(struct tc_result_row *row, const struct tc_map_dist *dists,
                           size_t count);

/* Whether a value of the row was made from that field. */
bool tc_serving_uses(const struct tc_result_row *row, struct tc_slice field);
/*
 * Every number of a flat object that no cell of the row was made from: statistics ("p99.9_ttft_ms",
 * by their first word and by `suffix`, in `unit`) and the facts that are slices become slices.
 */
void tc_serving_rest(const struct tc_result_row *row, struct tc_slice point, struct tc_json object,
                     const char *suffix, const char *unit, const struct tc_fact *facts);

/* What the lists of single requests add (vLLM's --save-detailed, SGLang's --output-details):
 * statistics that the row lacks yet, and the failures. */
TC_CHECKED tc_status tc_serving_details(struct tc_result_row *row, struct tc_json object,
                                        struct tc_error *err);

/* total / count when it is the same whole number for all requests, else 0. */
double tc_serving_each(struct tc_json object, const char *total, const char *count);

/* Times of a row from `date` ("20260213-075258": when the file was written, in a zone that it does
 * not name) and `duration`, with a note. */
void tc_serving_date(struct tc_result_row *row, struct tc_json object);
/* An ISO 8601 time; one without a zone is taken as UTC, with a note. TC_TIME_NONE when it is none.
 */
int64_t tc_serving_iso_time(struct tc_result *r, struct tc_slice where, const char *field,
                            struct tc_slice text);

/* All runs of a file, by the reader's read_run. */
TC_CHECKED tc_status tc_serving_read(const struct tc_result_input *in, struct tc_result *r,
                                     struct tc_error *err);

/* TC_E_MALFORMED that names the field unless the row says how many requests succeeded. A run in
 * which none did is recorded as failed (result/check.c). */
TC_CHECKED tc_status tc_serving_completed(const struct tc_result_row *row, const char *field,
                                          struct tc_error *err);

#endif
