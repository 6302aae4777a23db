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
#define L(literal)                     \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }
/* Lines that decide what an input is, and those in a row that a block survives. */
#define SNIFF_LINES 2
#define MISSES_MAX 3

static const struct tc_slice LITERALS[] = {
    L("in health system"),
    L("is lost"),
    L("Health Monitor Report"),
    L("| Overall Health"),
    L("Successfully ran diagnostic"),
    L("| Diagnostic "),
    L("-----  Deployment"),
    L("-----  Integration"),
    L("-----  Hardware"),
    L("-----  Stress"),
    L("NvLink Link Status"),
    L("NVLINK Error Counts"),
    L("#Entity"),
    L("GPU ID | Device Information"),
    L("\"DCGM GPU Diagnostic\""),
    L("\"DCGM Diagnostic\""),
    L("\"body\""),
    L("Host engine connection"),
    L("Health watches not enabled"),
    L("s/dcgm"),
};

struct tc_slice tc__dcgm_system(struct tc_slice text, struct tc_slice fallback)
{
    static const struct {
        const char *word;
        struct tc_slice system;
    } rows[] = {
        {"thermal", L("thermal")},     {"nvlink", L("nvlink")},
        {"nvswitch", L("nvlink")},     {"pcie", L("pcie")},
        {"ecc error", L("memory")},    {"row remap", L("memory")},
        {"page retire", L("memory")},  {"retired page", L("memory")},
        {"memory error", L("memory")}, {"memory system", L("memory")},
        {"gpu memory", L("memory")},   {"power", L("power")},
        {"nvbandwidth", L("pcie")},    {"driver", L("driver")},
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

static struct tc__line_reader reader(struct dcgm *st)
{
    st->gpu = -1;
    return (struct tc__line_reader){.of_node = true,
                                    .literals = LITERALS,
                                    .literal_count = TC_COUNT(LITERALS),
                                    .read = read_line,
                                    .context = st,
                                    .end = end_input};
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    struct dcgm st = {0};
    struct tc__line_reader r = reader(&st);
    return tc__lines_decode(&r, in, cursor, out, err);
}

static int sniff(struct tc_slice head, bool at_end, struct tc_slice name)
{
    struct dcgm st = {0};
    struct tc__line_reader r = reader(&st);
    (void)at_end;
    (void)name;
    return tc__lines_sniff(&r, head, SNIFF_LINES);
}

const struct tc_codec tc_codec_dcgm = {
    .name = "dcgm",
    .summary = "DCGM: dcgmi diag, health, nvlink and dmon, nv-hostengine.log",
    .known_by = "the tables' titles, \"DCGM Diagnostic\" in JSON, \"in health system\" in the log",
    .gives = "gpu_health, metric, gpu_inventory",
    .example = "ERROR [42:44] [[Health]] Detected a WARNING in health system Thermal: '...'",
    .picks_lines = true,
    .sniff = sniff,
    .decode = decode,
};
