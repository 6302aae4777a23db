/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single requests of a result file. They may be many, so a result does not keep them: a reading
 * that was given a sink hands them over in batches, any other only counts them. The import reads a
 * file once to check it and once more to write its requests.
 */
#ifndef TC_RESULT_REQUESTS_H
#define TC_RESULT_REQUESTS_H

#include "result/result.h"

/* Of the tool's words for an error; the rest is left out. */
#define TC_REQUEST_ERROR_MAX 512
/* Of an id; a longer one is none. */
#define TC_REQUEST_ID_MAX 256
/* No request takes longer: 31 years. What is beyond, or below 0, is left out and noted. */
#define TC_REQUEST_MS_MAX 1e12
#define TC_REQUEST_TOKENS_MAX 1e12

enum tc_request_status { TC_REQUEST_SUCCEEDED, TC_REQUEST_FAILED, TC_REQUEST_CANCELLED };

/* One request. Texts that are empty, times that are TC_TIME_NONE and numbers that are NaN are not
 * known. */
struct tc_request {
    const char *where; /* "line:4", or the pointer without its last part */
    size_t index;      /* that part; SIZE_MAX: none, `where` is all of it */
    struct tc_slice id;
    struct tc_slice trace;
    int64_t started_ns;
    int64_t first_token_ns;
    int64_t ended_ns;
    double queue_ms;
    double ttft_ms;
    double tpot_ms;
    double e2e_ms;
    double input_tokens;
    double output_tokens;
    enum tc_request_status status;
    struct tc_slice error;
};

/* Nothing is known but where it stands. */
struct tc_request tc_request_at(const char *where, size_t index);
/* Seconds since 1970 as ns; TC_TIME_NONE for another clock's, such as the time since the machine
 * started. */
int64_t tc_request_moment(double seconds);
/* One more request, of the serving row that is the `serving`-th of the file, from 0. */
void tc_result_request(struct tc_result *r, size_t serving, const struct tc_request *q);

/* Between which two values every common definition puts a percentile of what the requests say: of
 * TTFT, TPOT, ITL and E2E the 50th, 90th, 95th and 99th. NaN: not known. */
#define TC_BOUNDS_GROUPS 4
#define TC_BOUNDS_PARTS 4
struct tc_result_bounds {
    double low[TC_BOUNDS_GROUPS][TC_BOUNDS_PARTS];
    double high[TC_BOUNDS_GROUPS][TC_BOUNDS_PARTS];
};
/* A percentile of a serving row that is not within them. */
struct tc_bounds_miss {
    size_t column;
    double told;
    double low;
    double high;
};
#define TC_BOUNDS_MISSES_MAX (TC_BOUNDS_GROUPS * TC_BOUNDS_PARTS)
/* How many there are. Rounding by the tool is allowed for: 0.01 ms and a thousandth. */
size_t tc_result_bounds_check(const struct tc_result_bounds *b, const struct tc_rows *serving,
                              size_t at, struct tc_bounds_miss *out);

/* ---- for the import ---- */

uint64_t tc_result_requests(const struct tc_result *r);
/* The batch is the taker's to change, until it returns. */
typedef tc_status (*tc_requests_fn)(void *context, size_t serving, struct tc_rows *rows,
                                    struct tc_error *err);
/* Reads a file that could be read, once more, for its requests. */
TC_CHECKED tc_status tc_result_read_requests(struct tc_slice name, struct tc_slice bytes,
                                             const struct tc_reader *reader, tc_requests_fn take,
                                             void *context, struct tc_error *err);

#endif
