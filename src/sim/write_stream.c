/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two streams of Kubernetes as the Collector's file exporter writes them: one
 * request a line, a few records each. On the way records are late, doubled, out of
 * order or lost, and a Collector that starts again sends the last minutes once more.
 */
#include "base/table/sort.h"
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
    int order = TC_ORDER(x->at_ns, y->at_ns);
    return order != 0 ? order : TC_ORDER(x->number, y->number);
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
        *out_first += sim_between(tc_random_mix(d), 1000, 25000) * SIM_MS;
    }
    if (sim_chance(tc_random_mix(d + 1), TWICE_PPM / 100 * noise)) {
        *out_again = *out_first + sim_between(d, 500, 30000) * SIM_MS;
    }
    if (sim_chance(tc_random_mix(d + 2), LOST_PPM / 100 * noise)) {
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

static bool begin(void *source, const struct tc_sim *s, uint32_t stream)
{
    struct sim_arrivals *a = source;
    struct sim_lines lines = tc__sim_lines(s, (enum sim_stream)stream, 0);
    size_t planned = (size_t)(lines.end - lines.at);
    *a = (struct sim_arrivals){.at_ns = TC_TIME_MAX};
    if (planned == 0) {
        return true;
    }
    a->list = calloc(2 * planned, sizeof *a->list);
    if (a->list == NULL) {
        return false;
    }
    for (size_t i = 0; i < planned; i++) {
        int64_t at[2];
        deliver(s, (enum sim_stream)stream, &lines.at[i], (uint32_t)i, &at[0], &at[1]);
        for (size_t k = 0; k < 2; k++) {
            if (at[k] != 0) {
                a->list[a->count] = (struct sim_arrival){at[k], (uint32_t)a->count, &lines.at[i]};
                a->count++;
            }
        }
    }
    qsort(a->list, a->count, sizeof *a->list, by_arrival);
    a->at_ns = a->count > 0 ? a->list[0].at_ns : TC_TIME_MAX;
    return true;
}

static void step(void *source, const struct sim_sink *sink)
{
    struct sim_arrivals *a = source;
    struct tc_buf *b = sink->begin(sink->context);
    if (b != NULL) {
        tc_buf_str(b, a->list[a->at].line->text);
        sink->end(sink->context, 1);
    }
    a->at++;
    a->at_ns = a->at < a->count ? a->list[a->at].at_ns : TC_TIME_MAX;
}

static void end(void *source)
{
    free(((struct sim_arrivals *)source)->list);
}

const struct sim_source_type tc__sim_stream_source = {.size = sizeof(struct sim_arrivals),
                                                      .signal = TC_SIM_LOGS,
                                                      .begin = begin,
                                                      .step = step,
                                                      .end = end};

void tc__sim_write_stream(const struct tc_sim *s, const struct sim_file *f, struct sim_out *out)
{
    struct sim_arrivals a;
    if (!begin(&a, s, f->which)) {
        out->status = TC_E_NOMEM;
        return;
    }
    for (size_t i = 0; i < a.count && tc__sim_drain(out);) {
        tc_buf_lit(&out->b, SIM_REQUEST_BEGIN);
        int64_t first = a.list[i].at_ns;
        for (size_t n = 0; n < BATCH && i < a.count && a.list[i].at_ns < first + 2 * TC_SECOND;
             n++, i++) {
            tc_buf_str(&out->b, n > 0 ? TC_LIT(",") : TC_EMPTY);
            tc_buf_str(&out->b, a.list[i].line->text);
        }
        tc_buf_lit(&out->b, SIM_REQUEST_END);
    }
    end(&a);
}
