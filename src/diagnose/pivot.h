/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second and third step of the pivot: which nodes, GPUs, ranks, pods and requests stand out in
 * the time of a workload point, and all that is known of one node. A series is judged by a robust z
 * against its peers: series of the same metric and kind of scope in the same time; with fewer than
 * four of them, against those of the base. One query reads the telemetry of a run, one row per
 * series; docs/runs.md shows the commands.
 */
#ifndef TC_DIAGNOSE_PIVOT_H
#define TC_DIAGNOSE_PIVOT_H

#include "base/json/out.h"
#include "base/slice.h"
#include "base/status.h"
#include "compare/groups.h"
#include "diagnose/points.h"
#include "warehouse/answer.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What of the run is looked at. */
struct tc_pivot_want {
    struct tc_slice run_id;
    const struct tc_group *base;       /* may be NULL */
    const struct tc_slow_point *point; /* NULL: the whole run */
    struct tc_slice node; /* all of this node, odd or not; empty: what is odd anywhere */
};

enum tc_peers { TC_PEERS_NONE, TC_PEERS_RUN, TC_PEERS_BASE };

struct tc_pivot_series {
    struct tc_slice family;
    struct tc_slice metric;
    struct tc_slice unit;
    struct tc_slice node;
    struct tc_slice gpu;
    struct tc_slice pod_uid;
    struct tc_slice point;
    struct tc_slice digest;
    int64_t rank;  /* -1: none */
    bool is_fuzzy; /* tied to the run by node and time only */
    double value;  /* mean over the time */
    double median; /* of the peers */
    double z;      /* at most TC_PIVOT_Z_MAX either way */
    size_t peer_count;
    enum tc_peers peers;
};
#define TC_PIVOT_Z_MAX 1000.0

/* Columns of the requests. */
enum {
    TC_PIVOT_REQUEST_ID,
    TC_PIVOT_REQUEST_TRACE,
    TC_PIVOT_REQUEST_NODE,
    TC_PIVOT_REQUEST_POD,
    TC_PIVOT_REQUEST_STARTED,
    TC_PIVOT_REQUEST_QUEUE,
    TC_PIVOT_REQUEST_TTFT,
    TC_PIVOT_REQUEST_E2E,
    TC_PIVOT_REQUEST_DIGEST,
    TC_PIVOT_REQUEST_POINTER,
};
/* Columns of the incidents. */
enum {
    TC_PIVOT_INCIDENT_ID,
    TC_PIVOT_INCIDENT_PATTERN,
    TC_PIVOT_INCIDENT_HEADLINE,
    TC_PIVOT_INCIDENT_NODE,
    TC_PIVOT_INCIDENT_SEEN,
    TC_PIVOT_INCIDENT_JOIN,
};

struct tc_pivot {
    struct tc_pivot_series *series; /* odd ones (of a node: all), the farthest first */
    size_t series_count;
    size_t read;               /* series that were read */
    size_t unjudged;           /* with too few peers */
    struct tc_answer requests; /* the slowest of the point */
    struct tc_answer incidents;
    struct tc__pivot_memory *memory;
};

/* The caller owns *out. */
TC_CHECKED tc_status tc_pivot_read(struct tc_warehouse *w, const struct tc_pivot_want *want,
                                   struct tc_pivot *out, struct tc_error *err);
void tc_pivot_fini(struct tc_pivot *p);

/* Objects of --json and of the HTTP API: step one; steps two and three. */
void tc_points_json(struct tc_json_out *j, struct tc_slice run_id, const struct tc_group *base,
                    const struct tc_points *p);
void tc_pivot_json(struct tc_json_out *j, const struct tc_pivot_want *want,
                   const struct tc_pivot *p);

#endif
