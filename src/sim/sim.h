/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A labelled fleet: what a cluster with known faults would have left behind, in the
 * formats that real programs write. First everything that happens is planned, in
 * memory; that grows with the faults and the noise, not with the telemetry. Then
 * each file is written by itself, in one pass, from the plan alone: in any order, by
 * several threads, in bounded memory.
 *
 * All is made from the seed with integers only, so the bytes are the same on every
 * machine. Nothing here is known to codecs or detectors, and nothing of theirs here.
 */
#ifndef TC_SIM_SIM_H
#define TC_SIM_SIM_H

#include "base/buf.h"
#include "base/slice.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define TC_SIM_NODES_MAX 20000
#define TC_SIM_GPUS_MAX 16
/* Faults need time to show, and dumps are written ten minutes after a hang. */
#define TC_SIM_MINUTES_MIN 30
#define TC_SIM_MINUTES_MAX (7 * 24 * 60)
/* 2026-03-02T00:00:00Z, a Monday. */
#define TC_SIM_START (INT64_C(1772409600) * 1000000000)

/* What is wrong with the telemetry itself, and nobody's fault. */
enum tc_sim_trouble {
    TC_SIM_NAMES,   /* kernel logs call a node by its full name, everybody else by its short one */
    TC_SIM_CLOCKS,  /* every other node's clock is off by half a minute to two minutes */
    TC_SIM_TORN,    /* two ranks of a hung job leave a dump that is cut off */
    TC_SIM_MISSING, /* one in ten nodes without a fault has no kernel log and no scrapes */
    TC_SIM_TROUBLES,
};
/* Bits of a list such as "names,torn"; "all" are all of them. The error lists what exists. */
TC_CHECKED tc_status tc_sim_trouble_parse(struct tc_slice list, uint32_t *out,
                                          struct tc_error *err);

struct tc_sim_options {
    uint32_t nodes;
    uint32_t gpus_per_node;
    uint32_t minutes;
    uint64_t seed;
    int64_t start_ns;
    uint32_t trouble;       /* bits of enum tc_sim_trouble */
    struct tc_slice faults; /* the SPEC; borrowed until tc_sim_create returns */
    struct tc_slice label;  /* how the truth names it; borrowed likewise */
};

struct tc_sim;

/* Plans everything. The error names the item of the SPEC and lists what exists. */
TC_CHECKED tc_status tc_sim_create(const struct tc_sim_options *options, struct tc_sim **out_sim,
                                   struct tc_error *err);
void tc_sim_destroy(struct tc_sim *s);

struct tc_sim_counts {
    uint32_t jobs;
    uint32_t ranks;
    uint32_t faults;
    uint32_t noise;    /* labelled pieces of it */
    uint32_t left_out; /* faults of a built-in SPEC that found no place */
};

void tc_sim_counts(const struct tc_sim *s, struct tc_sim_counts *out);

/* The files of the fleet, by number. */
size_t tc_sim_file_count(const struct tc_sim *s);
/* Its path below the output directory. */
void tc_sim_file_path(const struct tc_sim *s, size_t file, struct tc_buf *out);

typedef tc_status (*tc_sim_write_fn)(void *context, struct tc_slice bytes);

/*
 * Writes one file, in pieces. Threads may write different files at once. Stops at
 * the first failure of write and returns it.
 */
TC_CHECKED tc_status tc_sim_file_write(const struct tc_sim *s, size_t file, tc_sim_write_fn write,
                                       void *context);

/* ---- the same in the order of time --------------------------------------------------------- */

/* What the text of an item is. */
enum tc_sim_form {
    TC_SIM_AS_OTLP,  /* an element of "resourceLogs" or "resourceMetrics" of OTLP's JSON */
    TC_SIM_AS_FILES, /* what its file has next */
};

enum tc_sim_signal {
    TC_SIM_LOGS,
    TC_SIM_METRICS,
    TC_SIM_DUMP, /* a file that comes whole, without text: tc_sim_file_write has it */
};

/* What happens at one moment at one place. Borrowed until the callback returns. */
struct tc_sim_item {
    enum tc_sim_signal signal;
    int64_t at_ns; /* when it is sent; never before that of the item before */
    struct tc_slice text;
    uint32_t records; /* log records or data points in it */
    size_t file;
};

typedef tc_status (*tc_sim_item_fn)(void *context, const struct tc_sim_item *item);

/* Everything that the files hold but the truth, in the order of time. */
struct tc_sim_feed;

/* Borrows the sim. NULL: out of memory. */
struct tc_sim_feed *tc_sim_feed_create(const struct tc_sim *s, enum tc_sim_form form);
void tc_sim_feed_destroy(struct tc_sim_feed *f);
/* When the next item is sent; TC_TIME_MAX at the end. */
int64_t tc_sim_feed_time(const struct tc_sim_feed *f);
/* Hands over what comes next from one source: some items of one time. Stops at the first failure
 * of take and returns it. */
TC_CHECKED tc_status tc_sim_feed_next(struct tc_sim_feed *f, tc_sim_item_fn take, void *context);

struct tc_json_parser;
/*
 * An element of OTLP's JSON as a field of the request in protobuf: resource_logs or
 * resource_metrics, with its tag. Appends to out, which overflows when it does not fit.
 * TC_E_MALFORMED for what is no OTLP that this program writes.
 */
TC_CHECKED tc_status tc_sim_protobuf(struct tc_buf *out, struct tc_json_parser *parser,
                                     enum tc_sim_signal signal, struct tc_slice json,
                                     struct tc_error *err);

/* The built-in SPECs and what can be injected, as text for people. */
void tc_sim_describe(struct tc_buf *out);

#endif
