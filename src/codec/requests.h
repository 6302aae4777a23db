/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to language models, from the spans that tell of them: those of vLLM, SGLang, Text
 * Generation Inference, and of anything that follows OpenTelemetry's conventions (gen_ai.*). Which
 * attribute says what is in otlp/spans.def. All other spans are counted and left out.
 *
 * One span is one request, as whoever wrote it saw it. A client's span and the server's of the same
 * request are two: `tool` says which is which, trace_id that they belong together. Which of them
 * came with which request of OTLP is chance, so neither can leave the other out.
 */
#ifndef TC_CODEC_REQUESTS_H
#define TC_CODEC_REQUESTS_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/status.h"
#include "codec/otlp/wire.h"

#include <stddef.h>
#include <stdint.h>

/* Strings are of the input, of the arena until the next span, or literals; empty: not said. */
struct tc_request_span {
    /* Who saw it: "otlp:vllm", "otlp:sglang", "otlp:tgi" or "otlp:gen_ai_server", all of them
     * servers, or "otlp:gen_ai_client". */
    const char *tool;
    const char *status;    /* "ok", "error" or "cancelled" */
    struct tc_slice error; /* in the tool's words */
    struct tc_slice request_id;
    struct tc_slice trace_id; /* 32 hex digits, lower case */
    int64_t started_ns;       /* TC_TIME_NONE: not said, or no time between 1970 and 2200 */
    int64_t first_token_ns;   /* the same */
    int64_t ended_ns;         /* the same; not before started_ns */
    double queue_ms;          /* NaN: not said; like the others >= 0 */
    double ttft_ms;           /* request sent to first token */
    double tpot_ms;           /* (end - first token) / (output tokens - 1) */
    double e2e_ms;            /* request sent to last token */
    int64_t input_tokens;     /* -1: not said */
    int64_t output_tokens;    /* -1: not said */
    struct tc_slice run_id;   /* as an attribute names it */
    struct tc_slice job_uid;
    struct tc_slice pod_uid;
    struct tc_slice pod_name;
    struct tc_slice node_name;
    uint64_t offset; /* of the span in the bytes that were read */
    uint64_t length;
};

struct tc_requests_out {
    tc_status (*take)(void *context, const struct tc_request_span *span);
    void *context;
};

struct tc_requests_counts {
    uint64_t requests; /* given to take */
    uint64_t others;   /* spans that tell of no request */
    uint64_t rejected; /* spans over a limit */
    uint64_t bad;      /* requests of OTLP in a file that could not be read */
};

/*
 * Those of a request of traces that passed tc_otlp_check with this reader. The arena is for strings
 * that had to be made, and rewound between spans; TC_E_NOMEM when one span does not fit. Adds to
 * *io_counts.
 */
TC_CHECKED tc_status tc_otlp_requests(struct tc_otlp_reader *r, const struct tc_otlp_tape *tape,
                                      struct tc_arena *arena, const struct tc_requests_out *out,
                                      struct tc_requests_counts *io_counts, struct tc_error *err);

/* Whether a file has OTLP traces: JSON, perhaps beside other signals, or protobuf, one request or
 * many with four bytes of length before each. */
bool tc_requests_sniff(struct tc_slice bytes);
/*
 * The same for such a file; offsets are those in it. reader: of requests up to what it was made
 * for; NULL: one is made for this call. What cannot be read is left out and counted;
 * TC_E_MALFORMED when there is nothing else.
 */
TC_CHECKED tc_status tc_requests_read(struct tc_slice bytes, struct tc_otlp_reader *reader,
                                      struct tc_arena *arena, const struct tc_requests_out *out,
                                      struct tc_requests_counts *out_counts, struct tc_error *err);

#endif
