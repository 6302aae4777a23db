/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two streams of Kubernetes as the Collector's file exporter writes them: one
 * request a line, a few records each. On the way records are late, doubled, out of
 * order or lost, and a Collector that starts again sends the last minutes once more.
 */
#include "sim/feed_priv.h"

#include <stdlib.h>

#define LOST_PPM 1000
#define TWICE_PPM 5000
#define LATE_PPM 20000
#define BATCH 8

static int by_arrival(const void *a, const void *b)
{
    const struct sim_arrival *x = a;
    const struct sim_arrival *y = b;
    if (x->at_ns != y->at_ns) {
        return x->at_ns < y->at_ns ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

/* When a record arrives, and when again; 0 for never. */
static void deliver(const struct tc_sim *s, enum sim_stream stream, const struct sim_line *line,
                    uint32_t number, int64_t *out_first, int64_t *out_again)
{
    uint64_t d = sim_draw(s->options.seed, SIM_FOR_DELIVERY, stream, number);
    uint32_t noise = s->noise_percent;
    *out_first = line->at_ns + sim_between(d, 50, 900) * SIM_MS;
    *out_again = 0;
    if (sim_chance(d, LATE_PPM / 100 * noise)) {
        *out_first += sim_between(sim_mix(d), 1000, 25000) * SIM_MS;
    }
    if (sim_chance(sim_mix(d + 1), TWICE_PPM / 100 * noise)) {
        *out_again = *out_first + sim_between(d, 500, 30000) * SIM_MS;
    }
    if (sim_chance(sim_mix(d + 2), LOST_PPM / 100 * noise)) {
        *out_first = 0;
        *out_again = 0;
    }
    int64_t restart =
        s->options.start_ns +
        tc__sim_duration(s) / 1000 *
            sim_between(sim_draw(s->options.seed, SIM_FOR_DELIVERY, stream, UINT64_C(1) << 40), 300,
                        900);
    if (noise > 0 && *out_again == 0 && *out_first > restart - 3 * SIM_MINUTE &&
        *out_first < restart) {
        *out_again = restart + sim_between(d, 2000, 4000) * SIM_MS;
    }
}

static void write_batches(const struct sim_arrival *arrivals, size_t count, struct sim_out *out)
{
    for (size_t i = 0; i < count && tc__sim_drain(out);) {
        tc_buf_lit(&out->b, "{\"resourceLogs\":[");
        int64_t first = arrivals[i].at_ns;
        for (size_t n = 0; n < BATCH && i < count && arrivals[i].at_ns < first + 2 * TC_SECOND;
             n++, i++) {
            if (n > 0) {
                tc_buf_char(&out->b, ',');
            }
            tc_buf_str(&out->b, arrivals[i].line->text);
        }
        tc_buf_lit(&out->b, "]}\n");
    }
}

tc_status tc__sim_arrivals(const struct tc_sim *s, enum sim_stream stream, struct sim_arrivals *out)
{
    struct sim_lines lines = tc__sim_lines(s, stream, 0);
    size_t planned = (size_t)(lines.end - lines.at);
    *out = (struct sim_arrivals){0};
    if (planned == 0) {
        return TC_OK;
    }
    out->list = calloc(2 * planned, sizeof *out->list);
    if (out->list == NULL) {
        return TC_E_NOMEM;
    }
    for (size_t i = 0; i < planned; i++) {
        int64_t at[2];
        deliver(s, stream, &lines.at[i], (uint32_t)i, &at[0], &at[1]);
        for (size_t k = 0; k < 2; k++) {
            if (at[k] != 0) {
                out->list[out->count] =
                    (struct sim_arrival){at[k], (uint32_t)out->count, &lines.at[i]};
                out->count++;
            }
        }
    }
    qsort(out->list, out->count, sizeof *out->list, by_arrival);
    return TC_OK;
}

void tc__sim_write_stream(const struct tc_sim *s, enum sim_stream stream, struct sim_out *out)
{
    struct sim_arrivals arrivals;
    if (tc__sim_arrivals(s, stream, &arrivals) != TC_OK) {
        out->status = TC_E_NOMEM;
        return;
    }
    write_batches(arrivals.list, arrivals.count, out);
    free(arrivals.list);
}
