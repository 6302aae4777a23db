/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans that are requests (codec/requests.h) as rows of serving_request_fact: the same for files of
 * a run and for the daemon.
 */
#ifndef TC_TELEMETRY_REQUESTS_H
#define TC_TELEMETRY_REQUESTS_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/requests.h"
#include "warehouse/rows.h"

#include <stdbool.h>
#include <stdint.h>

/* Where spans come from. */
struct tc_request_source {
    struct tc_slice run_id;  /* the run they were given with; empty: none */
    struct tc_slice job_uid; /* where they do not say; may be empty */
    struct tc_slice digest;  /* SHA-256 of the bytes that their offsets are in, as text */
    int64_t batch;           /* number of the evidence they came in; -1: of a file of a run */
};

/* Whether it names another run than the one it was given with. */
bool tc_request_is_of_other_run(const struct tc_request_span *span,
                                const struct tc_request_source *source);

/* Adds a row. TC_E_LIMIT: there is no room, and nothing was added; TC_E_NOMEM. */
TC_CHECKED tc_status tc_request_row(struct tc_rows *rows, const struct tc_request_span *span,
                                    const struct tc_request_source *source);

#endif
