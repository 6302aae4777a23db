/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracecore simulate --otlp`: sends a simulated fleet to an OTLP receiver, in the order of time
 * and at a multiple of real time. What is not taken is sent again; what is refused is counted.
 */
#ifndef TC_CLI_SIMULATE_OTLP_H
#define TC_CLI_SIMULATE_OTLP_H

#include "sim/sim.h"

#include <stdbool.h>
#include <stdint.h>

/* Log records or data points of one request. */
#define TC_SIMULATE_BATCH_MAX 1024
/* A batch that nobody takes for so long ends it. */
#define TC_SIMULATE_PATIENCE_S 60

struct tc_simulate_otlp {
    const char *url;      /* of the receiver: /v1/logs and /v1/metrics are below it */
    const char *upload;   /* of a tracecore daemon's API, for dumps; NULL: they are left out */
    const char *headers;  /* "Name: value\r\n" lines; "" */
    uint64_t speed_milli; /* thousandths of real time; 0: as fast as it goes */
    bool json;            /* the encoding; else protobuf */
    bool gzip;
    bool quiet;
    bool summary_json; /* on standard output */
};

/* Sends it all. An exit status: 0 sent and taken, 1 not all of it, 2 nobody there. */
int tc_simulate_send(const struct tc_simulate_otlp *how, const struct tc_sim *sim, int64_t start_ns,
                     int64_t end_ns);

struct tc_json_parser;
/*
 * How many records a partial success refused, by the body of a reply, and why. Protobuf, or JSON
 * with a parser. What cannot be read refuses nothing.
 */
uint64_t tc_simulate_rejected(struct tc_slice body, struct tc_json_parser *parser,
                              struct tc_slice *out_why);

#endif
