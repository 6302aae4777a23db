/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's dcgm-exporter, scraped every 30 seconds and written down with the times of
 * the samples, one scrape after the other. Load follows the job; what the plan changes
 * comes on top. Scrapes are missed now and then, and for a minute or two when the
 * exporter starts again.
 */
#include "sim/feed_priv.h"

#define INTERVAL (30 * TC_SECOND)
#define MISSED_PPM 4000
#define RESTART_PPM 15000 /* a node in an hour */
/* What DCGM says when it cannot read a field. */
#define NOT_SUPPORTED INT64_C(9223372036854775794)

void tc__sim_gpu_labels(const struct tc_sim *s, uint32_t node, uint32_t gpu, struct sim_labels *out)
{
    static const char HEX[] = "0123456789ABCDEF";
    struct tc_buf b = tc_buf_make(out->text, sizeof out->text);
    uint32_t bus = tc__sim_bus(gpu);
    const char digits[] = {HEX[bus >> 4], HEX[bus & 15], '\0'};
    tc_format(&b, "gpu=\"{}\",UUID=\"GPU-{}\"{},device=\"nvidia{}\",", gpu,
              tc__sim_gpu_uuid(s, node, gpu),
              tc_when(s->nodes[node].pci_label, ",pci_bus_id=\"00000000:{}:00.0\"", digits), gpu);
    tc_format(&b, "modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"{}\",rack=\"{}\"",
              tc__sim_node(node), tc__sim_rack(node));
    out->len = b.len;
}

void tc__sim_pod_labels(const struct tc_sim *s, uint32_t node, struct sim_labels *out)
{
    uint32_t job = s->nodes[node].job;
    struct tc_buf b = tc_buf_make(out->text, sizeof out->text);
    if (job != SIM_NONE) {
        struct sim_pod pod = tc__sim_job_pod(s, job, node - tc__sim_job(s, job)->first_node);
        tc_format(&b, ",container=\"trainer\",namespace=\"train\",pod=\"{}\"",
                  tc__sim_pod_name(&pod));
    }
    out->len = b.len;
}

static void find_changes(const struct tc_sim *s, uint32_t number, struct sim_exporter_gpu *g)
{
    size_t low = 0;
    size_t high = s->changes.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (SIM_AT(s->changes, struct sim_change, middle)->gpu < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    g->at = SIM_AT(s->changes, struct sim_change, low);
    while (low < s->changes.count && SIM_AT(s->changes, struct sim_change, low)->gpu == number) {
        low++;
    }
    g->end = SIM_AT(s->changes, struct sim_change, low);
}

static void set_up(struct sim_exporter *e, const struct tc_sim *s, uint32_t node)
{
    const struct sim_node *n = &s->nodes[node];
    *e = (struct sim_exporter){.sim = s, .node = node};
    for (uint32_t gpu = 0; gpu < s->options.gpus_per_node; gpu++) {
        struct sim_exporter_gpu *g = &e->gpus[gpu];
        find_changes(s, node * s->options.gpus_per_node + gpu, g);
        uint64_t d = sim_draw(s->options.seed, SIM_FOR_GAUGE, node, gpu);
        g->base_sbe = sim_chance(d, 200000) ? sim_between(d, 1, 400) : 0;
        g->gauges[SIM_CLOCK] = 100;
        g->gauges[SIM_WIDTH] = 16;
        g->gauges[SIM_REPLAYS] = sim_between(tc_random_mix(d), 0, 3);
        g->gauges[SIM_ROWS_UNCORRECTABLE] = sim_chance(tc_random_mix(d + 1), 10000);
    }
    if (n->job != SIM_NONE) {
        e->clock = tc__sim_clock(s, tc__sim_job(s, n->job));
        e->has_beat = tc__sim_clock_next(&e->clock, &e->beat);
    }
}

/* What the node's job does at a time; whether its pods are there. */
static bool follow_job(struct sim_exporter *e, int64_t at_ns)
{
    const struct sim_node *n = &e->sim->nodes[e->node];
    if (n->job == SIM_NONE) {
        return false;
    }
    const struct sim_job *j = tc__sim_job(e->sim, n->job);
    while (e->has_beat && e->beat.end_ns <= at_ns) {
        e->has_beat = tc__sim_clock_next(&e->clock, &e->beat);
    }
    bool there = at_ns >= j->begin_ns && at_ns < j->end_ns;
    bool stopped =
        j->stop != SIM_GOES_ON && !j->live_dump && at_ns >= j->stop_ns && at_ns < j->resume_ns;
    e->waits = there && stopped && j->stop == SIM_STOP_HANG;
    e->busy = there && !stopped && e->has_beat && e->beat.kind != SIM_BEAT_CHECKPOINT;
    return there;
}

static void apply_changes(struct sim_exporter_gpu *g, int64_t at_ns)
{
    for (; g->at < g->end && g->at->at_ns <= at_ns; g->at++) {
        int64_t *gauge = &g->gauges[g->at->gauge];
        *gauge = g->at->adds ? *gauge + g->at->value : g->at->value;
    }
}

/* What is said of one GPU in one scrape. */
enum field {
    F_SM_CLOCK,
    F_MEMORY_TEMP,
    F_GPU_TEMP,
    F_POWER,
    F_UTIL,
    F_FB_USED,
    F_XID,
    F_REPLAY,
    F_SBE,
    F_DBE,
    F_ROWS,
    F_PENDING,
    F_FAILURE,
    F_REASONS,
    F_GEN,
    F_WIDTH,
    F_MAX_GEN,
    F_MAX_WIDTH,
    F_NVLINK_CRC,
    F_COUNT,
};

_Static_assert(F_COUNT == SIM_DCGM_FIELDS, "every field has a row");

const struct sim_dcgm_field tc__sim_dcgm_fields[SIM_DCGM_FIELDS] = {
#define FIELD(f, name, counter) [f] = {{name, sizeof(name) - 1}, counter}
    FIELD(F_SM_CLOCK, "DCGM_FI_DEV_SM_CLOCK", false),
    FIELD(F_MEMORY_TEMP, "DCGM_FI_DEV_MEMORY_TEMP", false),
    FIELD(F_GPU_TEMP, "DCGM_FI_DEV_GPU_TEMP", false),
    FIELD(F_POWER, "DCGM_FI_DEV_POWER_USAGE", false),
    FIELD(F_UTIL, "DCGM_FI_DEV_GPU_UTIL", false),
    FIELD(F_FB_USED, "DCGM_FI_DEV_FB_USED", false),
    FIELD(F_XID, "DCGM_FI_DEV_XID_ERRORS", false),
    FIELD(F_REPLAY, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", true),
    FIELD(F_SBE, "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", true),
    FIELD(F_DBE, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", true),
    FIELD(F_ROWS, "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", true),
    FIELD(F_PENDING, "DCGM_FI_DEV_ROW_REMAP_PENDING", false),
    FIELD(F_FAILURE, "DCGM_FI_DEV_ROW_REMAP_FAILURE", false),
    FIELD(F_REASONS, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", false),
    FIELD(F_GEN, "DCGM_FI_DEV_PCIE_LINK_GEN", false),
    FIELD(F_WIDTH, "DCGM_FI_DEV_PCIE_LINK_WIDTH", false),
    FIELD(F_MAX_GEN, "DCGM_FI_DEV_PCIE_MAX_LINK_GEN", false),
    FIELD(F_MAX_WIDTH, "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", false),
    FIELD(F_NVLINK_CRC, "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", true),
#undef FIELD
};

/* People's GPUs are used half of the time, in stretches. */
static bool dev_is_busy(const struct sim_exporter *e, uint32_t gpu, int64_t at_ns)
{
    uint64_t stretch = (uint64_t)((at_ns - e->sim->options.start_ns) / (7 * SIM_MINUTE));
    return e->sim->nodes[e->node].use == SIM_DEV &&
           sim_chance(sim_draw(e->sim->options.seed, SIM_FOR_GAUGE,
                               (uint64_t)e->node << 8 | gpu | UINT64_C(1) << 62, stretch),
                      500000);
}

static void look(const struct sim_exporter *e, uint32_t gpu, int64_t at_ns, int64_t *out)
{
    const struct sim_exporter_gpu *g = &e->gpus[gpu];
    uint64_t d =
        sim_draw(e->sim->options.seed, SIM_FOR_GAUGE, (uint64_t)e->node << 8 | gpu, e->turn + 1);
    bool busy = e->busy || dev_is_busy(e, gpu, at_ns);
    bool loaded = busy || e->waits;
    /* A tenth of the time at the power cap: that is what it is for. */
    int64_t reasons = !loaded ? 1 : busy && sim_chance(d, 100000) ? 4 : 0;
    int64_t jitter = sim_between(d, 0, 3);
    out[F_SM_CLOCK] = loaded ? 1980 * g->gauges[SIM_CLOCK] / 100 - 15 * jitter : 345;
    out[F_GPU_TEMP] = (busy ? 58 : e->waits ? 48 : 31) + jitter + gpu % 3 + g->gauges[SIM_HEAT];
    out[F_MEMORY_TEMP] = e->sim->nodes[e->node].no_mem_temp ? NOT_SUPPORTED : out[F_GPU_TEMP] + 9;
    out[F_POWER] = (busy ? 640 : e->waits ? 310 : 71) + 4 * jitter;
    out[F_UTIL] = busy ? 96 + jitter : e->waits ? 100 : 0;
    out[F_FB_USED] = loaded ? 71000 + 100 * jitter : 4;
    out[F_XID] = g->gauges[SIM_XID];
    out[F_REPLAY] = g->gauges[SIM_REPLAYS];
    out[F_SBE] = g->base_sbe + g->gauges[SIM_SBE];
    out[F_DBE] = g->gauges[SIM_DBE];
    out[F_ROWS] = g->gauges[SIM_ROWS_UNCORRECTABLE];
    out[F_PENDING] = g->gauges[SIM_REMAP_PENDING];
    out[F_FAILURE] = g->gauges[SIM_REMAP_FAILURE];
    out[F_REASONS] = reasons | g->gauges[SIM_REASONS];
    out[F_GEN] = loaded ? 5 : 1;
    out[F_WIDTH] = g->gauges[SIM_WIDTH];
    out[F_MAX_GEN] = 5;
    out[F_MAX_WIDTH] = 16;
    out[F_NVLINK_CRC] = g->gauges[SIM_NVLINK_CRC];
}

/* The scrape that it stands on: data points of all GPUs that are there. */
static uint32_t put_scrape(const struct sim_exporter *e, struct tc_buf *b)
{
    struct sim_labels labels[TC_SIM_GPUS_MAX];
    struct sim_labels pod;
    sim_dcgm_values values;
    uint32_t points = 0;
    tc__sim_pod_labels(e->sim, e->node, &pod);
    for (uint32_t gpu = 0; gpu < e->sim->options.gpus_per_node; gpu++) {
        tc__sim_gpu_labels(e->sim, e->node, gpu, &labels[gpu]);
    }
    tc__sim_exporter_look(e, values);
    struct tc_slice of_pod = e->with_pod ? tc_slice_make(pod.text, pod.len) : TC_EMPTY;
    for (int f = 0; f < F_COUNT; f++) {
        const struct sim_dcgm_field *field = &tc__sim_dcgm_fields[f];
        tc_format(b, "# TYPE {} {}\n", field->name, field->counter ? "counter" : "gauge");
        for (uint32_t gpu = 0; gpu < e->sim->options.gpus_per_node; gpu++) {
            if (e->gpus[gpu].gauges[SIM_LOST] == 0) {
                tc_format(b, "{}{{}{}} {} {}\n", field->name,
                          tc_slice_make(labels[gpu].text, labels[gpu].len), of_pod, values[gpu][f],
                          e->at_ns / SIM_MS);
                points++;
            }
        }
    }
    return points;
}

/* Whether this scrape did not happen. */
static bool is_missed(const struct sim_exporter *e, int64_t at_ns)
{
    const struct tc_sim *s = e->sim;
    uint64_t d = sim_draw(s->options.seed, SIM_FOR_SCRAPE, e->node, e->turn);
    if (sim_chance(d, MISSED_PPM / 100 * s->noise_percent)) {
        return true;
    }
    int64_t since = at_ns - s->options.start_ns;
    uint64_t hour = (uint64_t)(since / (60 * SIM_MINUTE));
    uint64_t r = sim_draw(s->options.seed, SIM_FOR_SCRAPE, e->node, (UINT64_C(1) << 40) + hour);
    int64_t begin = (int64_t)hour * 60 * SIM_MINUTE + sim_between(r, 0, 3400) * TC_SECOND;
    return sim_chance(tc_random_mix(r), RESTART_PPM / 100 * s->noise_percent) && since >= begin &&
           since < begin + sim_between(r, 40, 110) * TC_SECOND;
}

/* What happened until this scrape; false when it did not take place. */
static bool arrive(struct sim_exporter *e)
{
    e->with_pod = follow_job(e, e->at_ns);
    for (uint32_t gpu = 0; gpu < e->sim->options.gpus_per_node; gpu++) {
        apply_changes(&e->gpus[gpu], e->at_ns);
    }
    return !is_missed(e, e->at_ns);
}

static void find_scrape(struct sim_exporter *e)
{
    while (e->at_ns < e->sim->end_ns && !arrive(e)) {
        e->at_ns += INTERVAL;
        e->turn++;
    }
    e->at_ns = e->at_ns < e->sim->end_ns ? e->at_ns : TC_TIME_MAX;
}

static bool begin(void *source, const struct tc_sim *s, uint32_t node)
{
    struct sim_exporter *e = source;
    set_up(e, s, node);
    e->at_ns =
        s->options.start_ns +
        sim_between(sim_draw(s->options.seed, SIM_FOR_SCRAPE, node, UINT64_C(1) << 50), 0, 29999) *
            SIM_MS;
    find_scrape(e);
    return true;
}

void tc__sim_exporter_look(const struct sim_exporter *e, sim_dcgm_values out)
{
    for (uint32_t gpu = 0; gpu < e->sim->options.gpus_per_node; gpu++) {
        look(e, gpu, e->at_ns, out[gpu]);
    }
}

void tc__sim_exporter_next(struct sim_exporter *e)
{
    e->at_ns += INTERVAL;
    e->turn++;
    find_scrape(e);
}

void tc__sim_write_dcgm(const struct tc_sim *s, const struct sim_file *f, struct sim_out *out)
{
    struct sim_exporter e;
    for ((void)begin(&e, s, f->which); e.at_ns != TC_TIME_MAX; tc__sim_exporter_next(&e)) {
        if (!tc__sim_drain(out)) {
            return;
        }
        (void)put_scrape(&e, &out->b);
    }
}

static void step_file(void *source, const struct sim_sink *sink)
{
    struct sim_exporter *e = source;
    struct tc_buf *b = sink->begin(sink->context);
    if (b != NULL) {
        sink->end(sink->context, put_scrape(e, b));
    }
    tc__sim_exporter_next(e);
}

const struct sim_source_type tc__sim_exporter_source = {
    .size = sizeof(struct sim_exporter),
    .signal = TC_SIM_METRICS,
    .begin = begin,
    .step = tc__sim_exporter_step,
    .step_file = step_file,
};
