/* SPDX-License-Identifier: Apache-2.0 */
/* What nobody said about the run, and what to give so that it is known. */
#include "run/import_priv.h"

#include <math.h>

#define PROBE "attach the output of tracecore probe"
#define PODS "attach kubectl get pods,nodes -o json, or scontrol show job"

/* Whether a table has rows, and none has a value there. */
static bool is_unknown(const struct tc__import *i, enum tc_table table, size_t column)
{
    const struct tc__batches *b = &i->batches[table];
    for (size_t n = 0; n < b->count; n++) {
        for (size_t row = 0; row < b->items[n]->count; row++) {
            if (!tc_rows_is_null(b->items[n], column, row)) {
                return false;
            }
        }
    }
    return b->rows > 0;
}

static void tell(const struct tc__import *i, bool is_so, const char *what, const char *how)
{
    if (is_so) {
        i->sink->unknown(i->sink->context, what, how);
    }
}

void tc__import_tell_unknown(const struct tc__import *i)
{
    static const struct {
        enum tc_table table;
        size_t column;
        const char *what;
        const char *how;
    } facts[] = {
        {TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MODEL, "GPU model", PROBE},
        {TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, "number of GPUs", PROBE},
        {TC_TABLE_SOFTWARE, TC_SOFTWARE_DRIVER, "driver version", PROBE},
        {TC_TABLE_SOFTWARE, TC_SOFTWARE_CUDA, "CUDA version", PROBE},
        {TC_TABLE_SOFTWARE, TC_SOFTWARE_NCCL, "NCCL version", PROBE},
        {TC_TABLE_SOFTWARE, TC_SOFTWARE_IMAGE, "image digest", "attach kubectl get pods -o json"},
        {TC_TABLE_CLUSTER, TC_CLUSTER_CLUSTER, "cluster", PODS},
        {TC_TABLE_CLUSTER, TC_CLUSTER_ZONE, "zone", PODS},
        {TC_TABLE_CLUSTER, TC_CLUSTER_QUEUE, "queue", PODS},
    };
    bool no_price = isnan(i->gpu_hour_usd);
    if (i->sink->unknown == NULL) {
        return;
    }
    tell(i, is_unknown(i, TC_TABLE_SERVING, TC_SERVING_COST_PER_TOKEN), "cost per token",
         no_price ? "--gpu-hour-usd N" : PROBE);
    tell(i, is_unknown(i, TC_TABLE_SERVING, TC_SERVING_QUEUE_MEAN), "queueing delay",
         "scrape the server's /metrics during the run, --telemetry FILE");
    tell(i, is_unknown(i, TC_TABLE_TRAINING, TC_TRAINING_RELIABILITY), "training reliability",
         "give a log whose lines have times");
    tell(i, is_unknown(i, TC_TABLE_TRAINING, TC_TRAINING_SCALING), "scaling efficiency",
         "add a run of the same case on another number of GPUs");
    for (size_t n = 0; n < TC_COUNT(facts); n++) {
        tell(i, tc__fact_of(i, facts[n].table, facts[n].column) == NULL, facts[n].what,
             facts[n].how);
    }
}
