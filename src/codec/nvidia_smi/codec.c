/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nvidia-smi prints, and nvidia-bug-report.sh, which holds it: `-q` as text and as XML, the
 * table, `--query-gpu` as CSV, `dmon`, `-L`, `nvlink -s` and `-e`, what it says when a GPU or the
 * driver does not answer, and lspci's lines of a GPU. All of it may stand anywhere in a text.
 *
 * A line with a literal begins a block of one form; inside it every line is looked at, until too
 * many in a row are not of that form.
 */
#include "codec/codec.h"
#include "base/time.h"
#include "codec/match_priv.h"
#include "codec/nvidia_smi/priv.h"

#define S(literal) TC_LIT(literal)

enum block { BLOCK_NONE, BLOCK_QUERY, BLOCK_ROWS, BLOCK_TABLE, BLOCK_LINKS, BLOCK_LSPCI, BLOCKS };

/* Lines in a row that are not of the block, and still do not end it: -q lists processes, -l prints
 * for hours what others write into, lspci has many capabilities. */
static const unsigned MISSES_MAX[BLOCKS] = {
    [BLOCK_QUERY] = 200, [BLOCK_ROWS] = 16, [BLOCK_LINKS] = 4, [BLOCK_LSPCI] = 80};

struct smi {
    enum block block;
    unsigned misses;
    struct tc_slice section; /* the heading of -q that counts */
    int64_t log_ns;          /* when the log of -q or the XML was taken; TC_TIME_NONE */
    struct tc_slice node;    /* of the lines, where prefixes name one */
    double width_max;        /* of lspci's LnkCap */
    struct smi_columns columns;
    struct smi_gpu gpu;
};

static const struct tc_slice LITERALS[] = {
    TC__LITERAL("NVSMI LOG"),
    TC__LITERAL("GPU 0000"),
    TC__LITERAL("Remapped Rows"),
    TC__LITERAL("Retired Pages"),
    TC__LITERAL("ECC Errors"),
    TC__LITERAL("Clocks Throttle Reasons"),
    TC__LITERAL("Clocks Event Reasons"),
    TC__LITERAL("GPU Current Temp"),
    TC__LITERAL("GPU UUID:"),
    TC__LITERAL("<nvidia_smi_log"),
    TC__LITERAL("<gpu id=\""),
    TC__LITERAL(" Off |"),
    TC__LITERAL(" On |"),
    TC__LITERAL("| NVIDIA-SMI"),
    TC__LITERAL("device handle for"),
    TC__LITERAL("initialize NVML"),
    TC__LITERAL("NVIDIA-SMI has failed"),
    TC__LITERAL("(UUID: GPU-"),
    TC__LITERAL("all links are inActive"),
    TC__LITERAL("was successfully reset"),
    TC__LITERAL("CPU Affinity"),
    TC__LITERAL("# gpu "),
    TC__LITERAL("#Date "),
    TC__LITERAL("--query-gpu="),
    TC__LITERAL("--query-remapped-rows="),
    TC__LITERAL("used_gpu_memory"),
    TC__LITERAL("temperature.gpu"),
    TC__LITERAL("pci.bus_id"),
    TC__LITERAL("gpu_bus_id"),
    TC__LITERAL("ecc.errors."),
    TC__LITERAL("remapped_rows."),
    TC__LITERAL("clocks_throttle_reasons."),
    TC__LITERAL("clocks_event_reasons."),
    TC__LITERAL("pcie.link."),
    TC__LITERAL("utilization.gpu"),
    TC__LITERAL("power.draw"),
    TC__LITERAL("NVIDIA Corporation"),
};

static tc_status leave(struct tc__lines *w, struct smi *st)
{
    st->block = BLOCK_NONE;
    st->section = TC_EMPTY;
    st->columns.count = 0;
    w->every = false;
    return tc__smi_flush(w, &st->gpu);
}

static tc_status enter(struct tc__lines *w, struct smi *st, enum block block)
{
    TC_TRY(leave(w, st));
    st->block = block;
    st->misses = 0;
    w->every = true;
    return TC_OK;
}

/* ---- what it says when something does not answer ---- */

/* "GPU 0000:02:00.0: GPU is lost", "GPU5: 0000:CB:00.0: Unknown Error", without blanks too. */
static tc_status on_no_handle(struct tc__lines *w, struct smi *st, const struct tc__line *line,
                              struct tc_slice rest)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    uint64_t index = 0;
    TC_TRY(tc__smi_flush(w, &st->gpu));
    struct smi_gpu gpu;
    tc__smi_begin(w, &gpu, line);
    if (tc__text_match(rest, " <GPU|gpu>%s{0%d}: {1%b}", got)) {
        (void)tc_bdf_parse(got[1], &gpu.pci);
        gpu.index = tc_slice_is_u64(got[0], &index) && index < 4096 ? (int32_t)index : -1;
    } else if (tc__text_match(rest, " <GPU|gpu>%s{1%b}", got)) {
        (void)tc_bdf_parse(got[1], &gpu.pci);
    }
    return tc__smi_health(w, &gpu, line, S("driver"), true, line->text);
}

static tc_status on_driver_fault(struct tc__lines *w, const struct tc__line *line)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_DRIVER_FAULT);
    ev.fault.fault = S("nvml_failed");
    ev.fault.message = line->text;
    return tc__lines_deliver(w, line, &ev);
}

/* Sentences that need no block. */
static tc_status read_sentence(struct tc__lines *w, struct smi *st, const struct tc__line *line,
                               bool *out_ours)
{
    struct tc_slice t = line->text;
    size_t handle = tc_slice_find(t, S("Unable to determine the device handle for"));
    *out_ours = true;
    if (handle != TC_NPOS) {
        size_t from = handle + sizeof "Unable to determine the device handle for" - 1;
        return on_no_handle(w, st, line, tc_slice_from(t, from));
    }
    if (tc_slice_contains(t, S("Failed to initialize NVML")) ||
        tc_slice_contains(t, S("NVIDIA-SMI has failed because"))) {
        return on_driver_fault(w, line);
    }
    /* Known, and no fault. */
    *out_ours = tc_slice_contains(t, S("was successfully reset")) ||
                tc_slice_contains(t, S("| NVIDIA-SMI ")) ||
                (tc_slice_contains(t, S("GPU0\t")) && tc_slice_contains(t, S("CPU Affinity"))) ||
                (tc_slice_contains(t, S("used_gpu_memory")) && tc_slice_contains(t, S("pid")));
    return TC_OK;
}

/* ---- -q as text ---- */

/* "GPU 00000000:1B:00.0" alone on a line; what is in place of the address may be blacked out. */
static bool is_gpu_heading(struct tc_slice t, struct tc_bdf *out)
{
    struct tc_slice id = tc_slice_from(t, 4);
    if (!tc_slice_starts(t, S("GPU 0000")) || id.len > 16 || id.len < 12 ||
        tc_slice_find_byte(id, ' ') != TC_NPOS || id.ptr[id.len - 2] != '.') {
        return false;
    }
    if (tc_bdf_parse(id, out) != id.len) {
        *out = (struct tc_bdf){0};
    }
    return true;
}

/* Headings that a piece of -q can begin with, when its beginning was cut off. */
static bool is_heading(struct tc_slice t)
{
    return tc_slice_is_any(t, "Remapped Rows", "Retired Pages", "ECC Errors",
                           "Clocks Throttle Reasons", "Clocks Event Reasons", "Temperature");
}

static void begin_gpu(struct tc__lines *w, struct smi *st, const struct tc__line *line)
{
    tc__smi_begin(w, &st->gpu, line);
    st->gpu.time_ns = st->log_ns == TC_TIME_NONE ? st->gpu.time_ns : st->log_ns;
}

static void on_heading(struct smi *st, struct tc_slice t)
{
    st->section = t;
    if (tc_slice_eq(t, S("Volatile")) || tc_slice_eq(t, S("Aggregate"))) {
        st->gpu.aggregate = t.ptr[0] == 'A';
    }
    if (tc_slice_eq_nocase(t, S("ECC Mode"))) {
        /* What came before was of MIG devices, and counts again in what follows. */
        for (size_t i = TC_METRIC_GPU_ECC_SBE; i <= TC_METRIC_GPU_ECC_DBE_AGG; i++) {
            st->gpu.metrics[i].known = false;
        }
    }
}

static bool split(struct tc_slice t, struct tc_slice *out_key, struct tc_slice *out_value)
{
    size_t at = tc_slice_find_byte(t, ':');
    if (at == TC_NPOS) {
        return false;
    }
    *out_key = tc_slice_trim(tc_slice_head(t, at));
    *out_value = tc_slice_trim(tc_slice_from(t, at + 1));
    return true;
}

static tc_status step_query(struct tc__lines *w, struct smi *st, const struct tc__line *line,
                            bool *out_ours)
{
    struct tc_slice t = tc_slice_trim(line->text);
    struct tc_slice key;
    struct tc_slice value;
    struct tc_bdf pci = {0};
    *out_ours = true;
    if (tc_slice_contains(t, S("NVSMI LOG"))) {
        st->log_ns = TC_TIME_NONE;
        st->section = TC_EMPTY;
        return tc__smi_flush(w, &st->gpu);
    }
    if (is_gpu_heading(t, &pci)) {
        TC_TRY(tc__smi_flush(w, &st->gpu));
        begin_gpu(w, st, line);
        st->gpu.pci = pci;
        st->section = TC_EMPTY;
        return TC_OK;
    }
    if (!split(t, &key, &value)) {
        on_heading(st, t);
        *out_ours = false; /* a word that others use, too */
        return TC_OK;
    }
    const struct smi_name *name = tc__smi_name(SMI_TEXT, st->section, key);
    *out_ours = name != NULL;
    if (name == NULL) {
        return TC_OK;
    }
    if (name->field == SMI_TIME) {
        st->log_ns = tc__line_date(w->in, value);
        return TC_OK;
    }
    /* /proc/driver/nvidia/gpus/: one file after the other, with no heading that counts. */
    if (name->field == SMI_UUID && st->gpu.uuid.len > 0) {
        TC_TRY(tc__smi_flush(w, &st->gpu));
    }
    if (!st->gpu.begun) {
        begin_gpu(w, st, line);
    }
    tc__smi_set(w->in, &st->gpu, name, value, line->raw);
    return TC_OK;
}

/* ---- nvlink -s, nvlink -e, -L ---- */

static bool read_gpu_line(struct tc_slice t, int32_t *out_index, struct tc_slice *out_uuid)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    uint64_t index = 0;
    if (!tc__text_match(t, "GPU {0%d}: *(UUID: {1%w})", got) || !tc_slice_is_u64(got[0], &index) ||
        index >= 4096) {
        return false;
    }
    *out_index = (int32_t)index;
    *out_uuid = got[1];
    return true;
}

static tc_status put_link_counter(struct tc__lines *w, struct smi *st, const struct tc__line *line,
                                  struct tc_slice link, struct tc_slice says)
{
    static const struct {
        const char *pattern;
        enum tc_metric metric;
    } rows[] = {
        {"Replay Errors: {0%d}", TC_METRIC_NVLINK_REPLAYS},
        {"Recovery Errors: {0%d}", TC_METRIC_NVLINK_RECOVERIES},
        {"CRC Errors: {0%d}", TC_METRIC_NVLINK_CRC_FLIT},
        {"CRC Flit Errors: {0%d}", TC_METRIC_NVLINK_CRC_FLIT},
        {"CRC Data Errors: {0%d}", TC_METRIC_NVLINK_CRC_DATA},
    };
    struct tc_slice got[TC__TEXT_SLOTS];
    uint64_t count = 0;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        if (tc__text_match(says, rows[i].pattern, got) && tc_slice_is_u64(got[0], &count)) {
            struct tc_event ev;
            tc_event_init(&ev, TC_EVENT_METRIC);
            ev.metric.metric = (uint16_t)rows[i].metric;
            ev.metric.value = (double)count;
            ev.metric.device = link;
            ev.scope.gpu_index = st->gpu.index;
            ev.scope.gpu_uuid = st->gpu.uuid;
            return tc__lines_deliver(w, line, &ev);
        }
    }
    return TC_OK;
}

static tc_status step_links(struct tc__lines *w, struct smi *st, const struct tc__line *line,
                            bool *out_ours)
{
    struct tc_slice t = tc_slice_trim(line->text);
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice uuid;
    int32_t index = -1;
    uint64_t link = 0;
    double rate = 0;
    *out_ours = true;
    if (read_gpu_line(t, &index, &uuid)) {
        TC_TRY(tc__smi_flush(w, &st->gpu));
        tc__smi_begin(w, &st->gpu, line);
        st->gpu.index = index;
        st->gpu.uuid = uuid;
        return TC_OK;
    }
    if (!st->gpu.begun) {
        *out_ours = false;
        return TC_OK;
    }
    if (tc_slice_contains(t, S("all links are inActive"))) {
        return tc__smi_health(w, &st->gpu, line, S("nvlink"), true, t);
    }
    *out_ours = tc__text_match(t, "Link {0%d}<:|,>%s{1*}", got) && tc_slice_is_u64(got[0], &link) &&
                link < SMI_LINKS_MAX;
    if (!*out_ours) {
        return TC_OK;
    }
    bool inactive = tc_slice_eq_nocase(got[1], S("<inactive>"));
    bool active = !inactive && tc__text_number(got[1], &rate) > 0 &&
                  tc_slice_ends(got[1], S("GB/s")) && rate > 0;
    if (active || inactive) {
        st->gpu.links[link] = (struct smi_value){.value = active, .raw = line->raw, .known = true};
        return TC_OK;
    }
    return put_link_counter(w, st, line, got[0], got[1]);
}

/* ---- lspci ---- */

/* "9d:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)" */
static bool is_lspci_gpu(struct tc_slice t, struct tc_bdf *out)
{
    size_t used = tc_bdf_parse(t, out);
    return used > 0 && (tc_slice_contains(t, S(" controller: NVIDIA Corporation")) ||
                        tc_slice_contains(t, S("]: NVIDIA Corporation")));
}

static tc_status step_lspci(struct tc__lines *w, struct smi *st, const struct tc__line *line,
                            bool *out_ours)
{
    struct tc_slice t = tc_slice_trim(line->text);
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_bdf pci;
    double width = 0;
    *out_ours = true;
    if (is_lspci_gpu(t, &pci)) {
        tc__smi_begin(w, &st->gpu, line);
        st->gpu.pci = pci;
        st->width_max = 0;
        /* All bits of its registers are set: nothing answers there. */
        return tc_slice_contains(t, S("(rev ff)"))
                   ? tc__smi_health(w, &st->gpu, line, S("pcie"), true, t)
                   : TC_OK;
    }
    if (tc__text_match(t, "LnkCap:*Width x{0%d}", got)) {
        (void)tc__text_number(got[0], &st->width_max);
        return TC_OK;
    }
    if (tc__text_match(t, "LnkSta:*Width x{0%d}", got) && tc__text_number(got[0], &width) > 0) {
        /* The speed falls to save power, too; the width does not. */
        tc__smi_set_metric(&st->gpu, TC_METRIC_GPU_PCIE_WIDTH, width, line->raw);
        tc__smi_set_metric(&st->gpu, TC_METRIC_GPU_PCIE_WIDTH_MAX, st->width_max, line->raw);
        return leave(w, st);
    }
    *out_ours = false;
    /* Another device. */
    return tc_bdf_parse(t, &pci) > 0 ? leave(w, st) : TC_OK;
}

/* ---- all of it ---- */

/* Whether the line begins a block, and which. */
static enum block begins(struct smi *st, struct tc_slice t)
{
    struct tc_bdf pci;
    struct tc_slice uuid;
    int32_t index = -1;
    if (tc_slice_contains(t, S("NVSMI LOG")) || is_gpu_heading(t, &pci) || is_heading(t) ||
        tc_slice_starts(t, S("GPU Current Temp")) || tc_slice_starts(t, S("GPU UUID:"))) {
        return BLOCK_QUERY;
    }
    if (read_gpu_line(t, &index, &uuid)) {
        return BLOCK_LINKS;
    }
    if (is_lspci_gpu(t, &pci)) {
        return BLOCK_LSPCI;
    }
    return tc__smi_columns(t, &st->columns) ? BLOCK_ROWS : BLOCK_NONE;
}

static tc_status step_block(struct tc__lines *w, struct smi *st, const struct tc__line *line,
                            bool *out_ours)
{
    switch (st->block) {
    case BLOCK_QUERY:
        return step_query(w, st, line, out_ours);
    case BLOCK_LINKS:
        return step_links(w, st, line, out_ours);
    case BLOCK_LSPCI:
        return step_lspci(w, st, line, out_ours);
    case BLOCK_ROWS:
        *out_ours = tc__smi_row(w, line, &st->columns, &st->gpu);
        return tc__smi_flush(w, &st->gpu);
    case BLOCK_TABLE:
        tc__smi_table_second(line, &st->gpu);
        *out_ours = true;
        return leave(w, st);
    case BLOCK_NONE:
    case BLOCKS:
        break;
    }
    return TC_OK;
}

static tc_status read_line(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct smi *st = w->context;
    struct tc_slice t = tc_slice_trim(line->text);
    if (st->block != BLOCK_NONE) {
        if (!tc_slice_eq(line->scope.node, st->node) && st->block != BLOCK_TABLE) {
            TC_TRY(tc__smi_flush(w, &st->gpu)); /* the next node's lines */
            st->node = line->scope.node;
        }
        TC_TRY(step_block(w, st, line, out_ours));
        st->misses = *out_ours ? 0 : st->misses + 1;
        if (*out_ours) {
            return TC_OK;
        }
    }
    if (tc_slice_contains(t, S("<nvidia_smi_log")) || tc_slice_contains(t, S("<gpu id=\""))) {
        return tc__smi_xml(w, line, &st->gpu, &st->log_ns, out_ours);
    }
    TC_TRY(read_sentence(w, st, line, out_ours));
    if (*out_ours) {
        return TC_OK;
    }
    if (st->block != BLOCK_QUERY && tc_slice_contains(t, S("|"))) {
        TC_TRY(tc__smi_flush(w, &st->gpu));
        if (tc__smi_table_first(w, line, &st->gpu)) {
            st->block = BLOCK_TABLE;
            w->every = *out_ours = true;
            return TC_OK;
        }
    }
    struct smi_columns columns = st->columns;
    enum block next = begins(st, t);
    if (next != BLOCK_NONE && next != st->block) {
        struct smi_columns found = st->columns;
        TC_TRY(enter(w, st, next));
        st->columns = found;
        st->node = line->scope.node;
        /* Names of columns alone may be those of a script. */
        return next == BLOCK_ROWS ? TC_OK : step_block(w, st, line, out_ours);
    }
    st->columns = next == BLOCK_ROWS ? st->columns : columns;
    return st->block != BLOCK_NONE && st->misses > MISSES_MAX[st->block] ? leave(w, st) : TC_OK;
}

static tc_status end_input(struct tc__lines *w)
{
    struct smi *st = w->context;
    return leave(w, st);
}

static const struct tc__line_reader READER = {.literals = LITERALS,
                                              .literal_count = TC_COUNT(LITERALS),
                                              .read = read_line,
                                              .state = &(const struct smi){.log_ns = TC_TIME_NONE},
                                              .state_bytes = sizeof(struct smi),
                                              .end = end_input};

static int sniff(struct tc_codec_head head)
{
    if (tc_slice_contains(tc_slice_head(head.bytes, 4096), S("<nvidia_smi_log"))) {
        return TC_SNIFF_SURE;
    }
    return tc__lines_sniff(&READER, head.bytes);
}

const struct tc_codec tc_codec_nvidia_smi = {
    .name = "nvidia_smi",
    .summary = "nvidia-smi: -q as text and XML, table, CSV, dmon, nvlink, nvidia-bug-report.log",
    .known_by = "\"NVSMI LOG\", <nvidia_smi_log>, the table's rows, names of --query-gpu's columns",
    .gives = "metric, gpu_inventory, gpu_health, pcie_link, driver_fault",
    .example = "| N/A   31C    P0    70W / 400W |      1MiB / 81920MiB |      0%      Default |",
    .picks_lines = true,
    .sniff = sniff,
    .lines = &READER,
};
