/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dcgmi prints and what nv-hostengine writes to its log. Tables are in tables.c, JSON in
 * json.c; the log has one line for each finding of the health monitor:
 *
 *   ERROR [42:44] [[Health]] Detected a WARNING in health system Thermal: 'Detected clocks event
 *   due to thermal violation in GPU 2. ...
 *
 * (on one line). All of it may stand anywhere in a text.
 */
#include "codec/codec.h"
#include "codec/dcgm/priv.h"
#include "codec/match_priv.h"

#define S(literal) TC_LIT(literal)
/* Other lines in a row that a block survives. */
#define MISSES_MAX 3

static const struct tc_slice LITERALS[] = {
    TC__LITERAL("in health system"),
    TC__LITERAL("is lost"),
    TC__LITERAL("Health Monitor Report"),
    TC__LITERAL("| Overall Health"),
    TC__LITERAL("Successfully ran diagnostic"),
    TC__LITERAL("| Diagnostic "),
    TC__LITERAL("-----  Deployment"),
    TC__LITERAL("-----  Integration"),
    TC__LITERAL("-----  Hardware"),
    TC__LITERAL("-----  Stress"),
    TC__LITERAL("NvLink Link Status"),
    TC__LITERAL("NVLINK Error Counts"),
    TC__LITERAL("#Entity"),
    TC__LITERAL("GPU ID | Device Information"),
    TC__LITERAL("\"DCGM GPU Diagnostic\""),
    TC__LITERAL("\"DCGM Diagnostic\""),
    TC__LITERAL("\"body\""),
    TC__LITERAL("Host engine connection"),
    TC__LITERAL("Health watches not enabled"),
    TC__LITERAL("s/dcgm"),
};

struct tc_slice tc__dcgm_system(struct tc_slice text, struct tc_slice fallback)
{
    static const struct {
        const char *word;
        struct tc_slice system;
    } rows[] = {
        {"thermal", TC__LITERAL("thermal")},     {"nvlink", TC__LITERAL("nvlink")},
        {"nvswitch", TC__LITERAL("nvlink")},     {"pcie", TC__LITERAL("pcie")},
        {"ecc error", TC__LITERAL("memory")},    {"row remap", TC__LITERAL("memory")},
        {"page retire", TC__LITERAL("memory")},  {"retired page", TC__LITERAL("memory")},
        {"memory error", TC__LITERAL("memory")}, {"memory system", TC__LITERAL("memory")},
        {"gpu memory", TC__LITERAL("memory")},   {"power", TC__LITERAL("power")},
        {"nvbandwidth", TC__LITERAL("pcie")},    {"driver", TC__LITERAL("driver")},
    };
    if (tc_slice_eq_nocase(text, S("memory"))) {
        return S("memory");
    }
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        if (tc_slice_find_nocase(text, tc_slice_cstr(rows[i].word)) != TC_NPOS) {
            return rows[i].system;
        }
    }
    return fallback;
}

int32_t tc__dcgm_gpu(struct tc_slice text)
{
    static const char *const before[] = {"gpuId ", "GPU ", "GPU"};
    for (size_t i = 0; i < TC_COUNT(before); i++) {
        struct tc_slice word = tc_slice_cstr(before[i]);
        struct tc_slice rest = text;
        for (size_t at = tc_slice_find(rest, word); at != TC_NPOS; at = tc_slice_find(rest, word)) {
            uint64_t gpu = 0;
            rest = tc_slice_from(rest, at + word.len);
            if (tc_slice_u64(rest, &gpu) > 0 && gpu < 4096) {
                return (int32_t)gpu;
            }
        }
    }
    return -1;
}

tc_status tc__dcgm_health(struct tc__lines *w, const struct tc__line *line, int32_t gpu,
                          struct tc_slice system, struct tc_slice severity, struct tc_slice message)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_GPU_HEALTH);
    ev.scope.gpu_index = gpu;
    ev.health.system = system;
    ev.health.severity = severity;
    ev.health.message = message;
    return tc__lines_deliver(w, line, &ev);
}

tc_status tc__dcgm_metric(struct tc__lines *w, const struct tc__line *line, int32_t gpu,
                          enum tc_metric metric, double value, struct tc_slice device)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.scope.gpu_index = gpu;
    ev.metric.metric = (uint16_t)metric;
    ev.metric.value = value;
    ev.metric.device = device;
    return tc__lines_deliver(w, line, &ev);
}

/* A line of nv-hostengine.log. */
static tc_status read_log_line(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice t = line->text;
    *out_ours = true;
    if (tc__text_match(
            t, "*Detected a {0<WARNING|FAILURE|ERROR>} in health system {1%n}:%s<'|>{2*}", got)) {
        size_t end = tc_slice_find_byte(got[2], '\'');
        /* "GPU 3's NvLink": the quote that ends it is the last. */
        size_t last = tc_slice_find_last(got[2], S("'"));
        end = last == TC_NPOS ? end : last;
        struct tc_slice message = tc_slice_trim(tc_slice_head(got[2], end));
        return tc__dcgm_health(w, line, tc__dcgm_gpu(message), tc__dcgm_system(got[1], S("other")),
                               got[0].ptr[0] == 'W' ? S("warning") : S("failure"), message);
    }
    if (tc_slice_contains(t, S("is lost")) && tc_slice_contains(t, S("gpuId ")) &&
        tc_slice_contains(t, S("ERROR"))) {
        return tc__dcgm_health(w, line, tc__dcgm_gpu(t), S("driver"), S("failure"), t);
    }
    /* Known, and no fault of a GPU. */
    *out_ours = (tc_slice_contains(t, S("s/dcgm")) && tc_slice_contains(t, S(".cpp:"))) ||
                tc_slice_contains(t, S("Host engine connection invalid")) ||
                tc_slice_contains(t, S("Health watches not enabled")) ||
                tc_slice_contains(t, S("Successfully ran diagnostic for"));
    return TC_OK;
}

/* The block that a line begins. */
static enum dcgm_block begins(struct tc_slice t)
{
    static const struct {
        const char *pattern;
        enum dcgm_block block;
    } rows[] = {
        {"Health Monitor Report", DCGM_HEALTH},
        {"%| Health Monitor Report", DCGM_HEALTH},
        {"%| Overall Health", DCGM_HEALTH},
        {"%| Diagnostic %s%| Result", DCGM_DIAG},
        {"<%||+>-----  <Metadata|Deployment|Integration|Hardware|Stress>  -", DCGM_DIAG},
        {"%|  NvLink Link Status", DCGM_LINK_STATES},
        {"%| NVLINK Error Counts", DCGM_LINK_ERRORS},
        {"%| GPU ID %| Device Information", DCGM_DISCOVERY},
        {"#Entity ", DCGM_DMON},
    };
    struct tc_slice got[TC__TEXT_SLOTS];
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        if (tc__text_match(t, rows[i].pattern, got)) {
            return rows[i].block;
        }
    }
    return DCGM_NONE;
}

static tc_status leave(struct tc__lines *w, struct dcgm *st)
{
    tc_status status = tc__dcgm_finish(w, st);
    st->block = DCGM_NONE;
    w->every = false;
    return status;
}

static tc_status read_line(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct dcgm *st = w->context;
    enum dcgm_block next = begins(tc_slice_trim(line->text));
    if (next != DCGM_NONE && next != st->block) {
        TC_TRY(leave(w, st));
        st->block = next;
        st->gpu = -1;
        st->other_entity = false;
        w->every = true;
    }
    if (st->block != DCGM_NONE) {
        TC_TRY(tc__dcgm_step(w, st, line, out_ours));
        st->misses = *out_ours ? 0 : st->misses + 1;
        if (*out_ours) {
            return TC_OK;
        }
        if (st->misses > MISSES_MAX) {
            TC_TRY(leave(w, st));
        }
    }
    TC_TRY(tc__dcgm_json(w, st, line, out_ours));
    return *out_ours ? TC_OK : read_log_line(w, line, out_ours);
}

static tc_status end_input(struct tc__lines *w)
{
    return leave(w, w->context);
}

static const struct tc__line_reader READER = {.literals = LITERALS,
                                              .literal_count = TC_COUNT(LITERALS),
                                              .read = read_line,
                                              .state = &(const struct dcgm){.gpu = -1},
                                              .state_bytes = sizeof(struct dcgm),
                                              .end = end_input};

const struct tc_codec tc_codec_dcgm = {
    .name = "dcgm",
    .summary = "DCGM: dcgmi diag, health, nvlink and dmon, nv-hostengine.log",
    .known_by = "the tables' titles, \"DCGM Diagnostic\" in JSON, \"in health system\" in the log",
    .gives = "gpu_health, metric, gpu_inventory",
    .example = "ERROR [42:44] [[Health]] Detected a WARNING in health system Thermal: '...'",
    .picks_lines = true,
    .lines = &READER,
};
