/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of two columns, in which an empty left cell goes on with the right one above:
 *
 *   | GPU Memory                | Pass - GPUs: 0, 1, 3                           |   diag, DCGM 3
 *   |                           | Fail - GPU: 2                                  |
 *   | Warning                   | GPU 2 Detected 1 volatile double-bit ECC error |
 *   | memory                    | Fail                                           |   diag, DCGM 4
 *   |                           | GPU3: Fail                                     |
 *   | -> 3                      | Failure                                        |   health
 *   |       -> NVLINK system    | Failure                                        |
 *   | GPU ID: 0        | Warning                                                 |   health, DCGM 1
 *   |                  | PCIe system: Warning - Detected more than 8 PCIe        |
 *
 * Messages are wrapped in the middle of words by diag and between them by health: cells are joined
 * as they are, and runs of blanks count as one.
 */
#include "codec/dcgm/priv.h"
#include "codec/match_priv.h"

#define S(literal) TC_LIT(literal)
#define FAILURE S("failure")
#define WARNING S("warning")

struct cells {
    struct tc_slice left;
    struct tc_slice right; /* empty when there is one cell */
    struct tc_slice wide;  /* the right one with its blanks */
    size_t count;
};

static bool cut_cells(struct tc_slice text, struct cells *out)
{
    size_t bar = tc_slice_find_byte(text, '|');
    struct tc_slice row = tc_slice_from(text, bar == TC_NPOS ? text.len : bar + 1);
    size_t end = tc_slice_find_last(row, S("|"));
    *out = (struct cells){0};
    if (bar == TC_NPOS || end == TC_NPOS) {
        return false;
    }
    row = tc_slice_head(row, end);
    size_t middle = tc_slice_find_byte(row, '|');
    out->count = middle == TC_NPOS ? 1 : 2;
    out->left = tc_slice_trim(tc_slice_head(row, middle));
    out->wide = tc_slice_from(row, middle == TC_NPOS ? row.len : middle + 1);
    out->right = tc_slice_trim(out->wide);
    return true;
}

/* ---- findings ---- */

static void add_text(struct dcgm_finding *f, struct tc_slice text)
{
    for (size_t i = 0; i < text.len && f->length < DCGM_MESSAGE_MAX; i++) {
        bool blank = text.ptr[i] == ' ';
        if (!blank || (f->length > 0 && f->message[f->length - 1] != ' ')) {
            f->message[f->length++] = text.ptr[i];
        }
    }
}

/* The cell without the blank that the frame of the table puts at each end. */
static struct tc_slice inside(struct tc_slice wide)
{
    struct tc_slice s = tc_slice_starts(wide, S(" ")) ? tc_slice_from(wide, 1) : wide;
    return tc_slice_ends(s, S(" ")) ? tc_slice_head(s, s.len - 1) : s;
}

static void open_finding(struct dcgm_finding *f, const struct tc__line *line, int32_t gpu,
                         struct tc_slice system, struct tc_slice severity)
{
    f->open = true;
    f->line = *line;
    f->gpu = gpu;
    f->system = system;
    f->severity = severity;
    f->length = 0;
}

/* The message, which must outlive the call. */
static struct tc_slice message_of(struct tc__lines *w, const struct dcgm_finding *f)
{
    struct tc_slice text = tc_slice_trim(tc_slice_make(f->message, f->length));
    char *to =
        w->out->arena == NULL || text.len == 0 ? NULL : tc_new(w->out->arena, char, text.len);
    if (to == NULL) {
        return TC_EMPTY;
    }
    memcpy(to, text.ptr, text.len);
    return tc_slice_make(to, text.len);
}

static tc_status close_finding(struct tc__lines *w, struct dcgm *st)
{
    struct dcgm_finding *f = &st->finding;
    if (!f->open) {
        return TC_OK;
    }
    f->open = false;
    struct tc_slice message = message_of(w, f);
    if (st->block != DCGM_DIAG) {
        return tc__dcgm_health(w, &f->line, f->gpu, f->system, f->severity, message);
    }
    int32_t gpu = f->gpu >= 0 ? f->gpu : tc__dcgm_gpu(message);
    bool known = gpu >= 0 && gpu < DCGM_GPUS_MAX;
    bool failed =
        st->test_failed && (st->failed == 0 || (known && (st->failed >> (unsigned)gpu & 1) != 0));
    struct tc_slice system = tc__dcgm_system(message, tc__dcgm_system(st->test, S("other")));
    /* A remark on a test that was passed, about no part of a GPU: settings and processes. */
    if (!failed && tc_slice_eq(system, S("other"))) {
        return TC_OK;
    }
    st->told_any = true;
    st->told |= known ? UINT64_C(1) << (unsigned)gpu : 0;
    return tc__dcgm_health(w, &f->line, gpu, system, failed ? FAILURE : WARNING, message);
}

/* ---- diag ---- */

/* "Fail - GPUs: 4, 6", "Fail - All", "Fail", "GPU3: Fail" */
static void read_result(struct dcgm *st, struct tc_slice result)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    uint64_t gpu = 0;
    if (tc__text_match(result, "GPU{0%d}: Fail", got)) {
        if (tc_slice_is_u64(got[0], &gpu) && gpu < DCGM_GPUS_MAX) {
            st->failed |= UINT64_C(1) << gpu;
        }
        st->test_failed = true;
        return;
    }
    if (!tc_slice_starts(result, S("Fail"))) {
        return;
    }
    st->test_failed = true;
    size_t at = tc_slice_find_byte(result, ':');
    struct tc_slice list = tc_slice_from(result, at == TC_NPOS ? result.len : at + 1);
    for (unsigned i = 0; i < DCGM_GPUS_MAX; i++) {
        list = tc_slice_trim(list);
        size_t used = tc_slice_u64(list, &gpu);
        if (used == 0) {
            break;
        }
        st->failed |= gpu < DCGM_GPUS_MAX ? UINT64_C(1) << gpu : 0;
        list = tc_slice_trim(tc_slice_from(list, used));
        list = tc_slice_starts(list, S(",")) ? tc_slice_from(list, 1) : TC_EMPTY;
    }
}

/* Who failed without a word about why. */
static tc_status close_test(struct tc__lines *w, struct dcgm *st)
{
    TC_TRY(close_finding(w, st));
    struct tc_slice system = tc__dcgm_system(st->test, S("other"));
    for (unsigned i = 0; st->test_failed && i < DCGM_GPUS_MAX; i++) {
        if ((st->failed & ~st->told) >> i & 1) {
            TC_TRY(tc__dcgm_health(w, &st->test_line, (int32_t)i, system, FAILURE, st->test));
        }
    }
    if (st->test_failed && st->failed == 0 && !st->told_any) {
        TC_TRY(tc__dcgm_health(w, &st->test_line, -1, system, FAILURE, st->test));
    }
    st->test = TC_EMPTY;
    st->test_failed = st->told_any = false;
    st->failed = st->told = 0;
    return TC_OK;
}

static tc_status step_diag(struct tc__lines *w, struct dcgm *st, const struct tc__line *line,
                           const struct cells *c)
{
    bool remark = tc_slice_starts(c->left, S("Warning")) || tc_slice_starts(c->left, S("Error"));
    if (c->left.len == 0) {
        if (st->finding.open) {
            add_text(&st->finding, inside(c->wide));
        } else {
            read_result(st, c->right);
        }
        return TC_OK;
    }
    TC_TRY(close_finding(w, st));
    if (remark) {
        open_finding(&st->finding, line, tc__dcgm_gpu(c->left), TC_EMPTY, TC_EMPTY);
        add_text(&st->finding, inside(c->wide));
        return TC_OK;
    }
    if (tc_slice_starts(c->left, S("Info"))) {
        return TC_OK;
    }
    TC_TRY(close_test(w, st));
    st->test = c->left;
    st->test_line = *line;
    read_result(st, c->right);
    return TC_OK;
}

/* ---- health ---- */

static struct tc_slice severity_of(struct tc_slice word)
{
    return tc_slice_starts(word, S("Fail"))   ? FAILURE
           : tc_slice_starts(word, S("Warn")) ? WARNING
                                              : TC_EMPTY;
}

static tc_status step_health(struct tc__lines *w, struct dcgm *st, const struct tc__line *line,
                             const struct cells *c)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    uint64_t id = 0;
    if (c->left.len == 0) {
        if (tc__text_match(c->right, "{0*} system: {1<Warning|Failure|Fail|Warn>} - {2*}", got)) {
            TC_TRY(close_finding(w, st));
            open_finding(&st->finding, line, st->gpu, tc__dcgm_system(got[0], S("other")),
                         severity_of(got[1]));
            add_text(&st->finding, got[2]);
            add_text(&st->finding, S(" "));
        } else if (st->finding.open) {
            add_text(&st->finding, inside(c->wide));
            add_text(&st->finding, S(" "));
        }
        return TC_OK;
    }
    TC_TRY(close_finding(w, st));
    if (tc__text_match(c->left, "<-%> |GPU ID: >{0%d}$", got)) {
        st->other_entity = st->other_entity && !tc_slice_starts(c->left, S("GPU"));
        bool fits = tc_slice_is_u64(got[0], &id) && id < 4096 && !st->other_entity;
        st->gpu = fits ? (int32_t)id : -1;
        return TC_OK;
    }
    if (!tc_slice_starts(c->left, S("->"))) {
        st->other_entity = !tc_slice_starts(c->left, S("GPU"));
        st->gpu = -1;
        return TC_OK;
    }
    struct tc_slice severity = severity_of(c->right);
    if (severity.len > 0) {
        struct tc_slice name = tc_slice_trim(tc_slice_from(c->left, 2));
        open_finding(&st->finding, line, st->gpu, tc__dcgm_system(name, S("other")), severity);
    }
    return TC_OK;
}

/* ---- nvlink, discovery, dmon ---- */

static tc_status step_link_errors(struct tc__lines *w, struct dcgm *st, const struct tc__line *line,
                                  const struct cells *c)
{
    static const struct {
        const char *name;
        enum tc_metric metric;
    } rows[] = {
        {"-> CRC FLIT Error", TC_METRIC_NVLINK_CRC_FLIT},
        {"-> CRC Data Error", TC_METRIC_NVLINK_CRC_DATA},
        {"-> Replay Error", TC_METRIC_NVLINK_REPLAYS},
        {"-> Recovery Error", TC_METRIC_NVLINK_RECOVERIES},
    };
    struct tc_slice got[TC__TEXT_SLOTS];
    uint64_t count = 0;
    if (c->count == 1) {
        st->gpu = tc__dcgm_gpu(c->left);
        st->link = TC_EMPTY;
        return TC_OK;
    }
    if (tc__text_match(c->left, "Link {0%d}$", got)) {
        st->link = got[0];
        return TC_OK;
    }
    for (size_t i = 0; i < TC_COUNT(rows) && st->link.len > 0; i++) {
        if (tc_slice_eq_nocase(c->left, tc_slice_cstr(rows[i].name)) &&
            tc_slice_is_u64(c->right, &count)) {
            return tc__dcgm_metric(w, line, st->gpu, rows[i].metric, (double)count, st->link);
        }
    }
    return TC_OK;
}

/* "U U D X _": states of the links of a GPU, in order. */
static tc_status read_states(struct tc__lines *w, struct dcgm *st, const struct tc__line *line,
                             struct tc_slice t, bool *out_ours)
{
    static const char numbers[] =
        "00010203040506070809101112131415161718192021222324252627282930313"
        "23334353637383940414243444546474849505152535455565758596061"
        "6263";
    *out_ours = t.len > 0 && t.len < 2 * DCGM_GPUS_MAX;
    for (size_t i = 0; *out_ours && i < t.len; i++) {
        *out_ours = i % 2 == 1 ? t.ptr[i] == ' ' : memchr("UDX_", t.ptr[i], 4) != NULL;
    }
    for (size_t i = 0; *out_ours && i < t.len && st->gpu >= 0; i += 2) {
        double state = t.ptr[i] == 'U' ? 3 : t.ptr[i] == 'D' ? 2 : t.ptr[i] == 'X' ? 1 : 0;
        struct tc_slice link = tc_slice_make(numbers + i, 2);
        link = link.ptr[0] == '0' ? tc_slice_from(link, 1) : link;
        TC_TRY(tc__dcgm_metric(w, line, st->gpu, TC_METRIC_NVLINK_STATE, state, link));
    }
    return TC_OK;
}

static tc_status step_link_states(struct tc__lines *w, struct dcgm *st, const struct tc__line *line,
                                  bool *out_ours)
{
    struct tc_slice t = tc_slice_trim(line->text);
    *out_ours = true;
    if (tc_slice_starts(t, S("gpuId ")) || tc_slice_starts(t, S("physicalId "))) {
        st->gpu = tc__dcgm_gpu(t);
        return TC_OK;
    }
    if (tc_slice_starts(t, S("GPUs:")) || tc_slice_starts(t, S("NvSwitches:")) ||
        tc_slice_starts(t, S("+-")) || tc_slice_starts(t, S("|  NvLink"))) {
        return TC_OK;
    }
    return read_states(w, st, line, t, out_ours);
}

static tc_status step_discovery(struct tc__lines *w, struct dcgm *st, const struct tc__line *line,
                                const struct cells *c)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    uint64_t id = 0;
    struct tc_event ev;
    if (tc_slice_is_u64(c->left, &id) && id < 4096) {
        st->gpu = (int32_t)id;
        st->pci = (struct tc_bdf){0};
    }
    if (tc__text_match(c->right, "PCI Bus ID: {0%b}", got)) {
        (void)tc_bdf_parse(got[0], &st->pci);
    }
    if (!tc__text_match(c->right, "Device UUID: {0GPU-%w}", got) || !st->pci.known) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_GPU_INVENTORY);
    ev.scope.gpu_index = st->gpu;
    ev.scope.gpu_uuid = got[0];
    ev.scope.pci = st->pci;
    st->pci = (struct tc_bdf){0};
    return tc__lines_deliver(w, line, &ev);
}

static bool next_word(struct tc_slice *io, struct tc_slice *out)
{
    *io = tc_slice_trim(*io);
    size_t end = 0;
    while (end < io->len && io->ptr[end] != ' ' && io->ptr[end] != '\t') {
        end++;
    }
    *out = tc_slice_head(*io, end);
    *io = tc_slice_from(*io, end);
    return out->len > 0;
}

/* The short names that dcgmi dmon has for its columns (dcgm_fields.h). */
static void read_columns(struct dcgm *st, struct tc_slice t)
{
    static const struct {
        const char *name;
        enum tc_metric metric;
    } rows[] = {
        {"TMPTR", TC_METRIC_GPU_TEMP},        {"MMTMP", TC_METRIC_GPU_MEM_TEMP},
        {"POWER", TC_METRIC_GPU_POWER},       {"GPUTL", TC_METRIC_GPU_UTIL},
        {"SMCLK", TC_METRIC_GPU_SM_CLOCK},    {"DVCCTR", TC_METRIC_GPU_THROTTLE},
        {"XIDER", TC_METRIC_GPU_XID_LAST},    {"ESVTL", TC_METRIC_GPU_ECC_SBE},
        {"EDVTL", TC_METRIC_GPU_ECC_DBE},     {"ESATL", TC_METRIC_GPU_ECC_SBE_AGG},
        {"EDATL", TC_METRIC_GPU_ECC_DBE_AGG}, {"PCIRC", TC_METRIC_GPU_PCIE_REPLAYS},
    };
    struct tc_slice word;
    (void)next_word(&t, &word); /* "#Entity" */
    for (st->columns = 0; st->columns < DCGM_COLUMNS_MAX && next_word(&t, &word); st->columns++) {
        size_t i = tc_slice_row(word, rows, name);
        st->metrics[st->columns] =
            (uint16_t)(i < TC_COUNT(rows) ? rows[i].metric : TC_METRIC_COUNT);
    }
}

static tc_status step_dmon(struct tc__lines *w, struct dcgm *st, const struct tc__line *line,
                           bool *out_ours)
{
    struct tc_slice t = tc_slice_trim(line->text);
    struct tc_slice word;
    *out_ours = true;
    if (tc_slice_starts(t, S("#Entity"))) {
        read_columns(st, t);
        return TC_OK;
    }
    if (tc_slice_starts(t, S("ID"))) {
        return TC_OK;
    }
    int32_t gpu = tc__dcgm_gpu(t);
    *out_ours =
        tc_slice_starts(t, S("GPU ")) && gpu >= 0 && next_word(&t, &word) && next_word(&t, &word);
    for (size_t i = 0; *out_ours && i < st->columns && next_word(&t, &word); i++) {
        double value = 0;
        if (st->metrics[i] != TC_METRIC_COUNT && tc__text_number(word, &value) == word.len &&
            value >= 0) {
            TC_TRY(tc__dcgm_metric(w, line, gpu, (enum tc_metric)st->metrics[i], value, TC_EMPTY));
        }
    }
    return TC_OK;
}

tc_status tc__dcgm_step(struct tc__lines *w, struct dcgm *st, const struct tc__line *line,
                        bool *out_ours)
{
    struct tc_slice t = tc_slice_trim(line->text);
    struct cells c;
    if (st->block == DCGM_DMON) {
        return step_dmon(w, st, line, out_ours);
    }
    if (st->block == DCGM_LINK_STATES) {
        return step_link_states(w, st, line, out_ours);
    }
    *out_ours = true;
    if (tc_slice_starts(t, S("+-")) || tc_slice_starts(t, S("+=")) ||
        tc_slice_starts(t, S("|--")) || tc_slice_starts(t, S("|=="))) {
        return st->block == DCGM_DIAG ? close_test(w, st) : close_finding(w, st);
    }
    *out_ours = cut_cells(t, &c);
    if (!*out_ours) {
        return TC_OK;
    }
    switch (st->block) {
    case DCGM_DIAG:
        return step_diag(w, st, line, &c);
    case DCGM_HEALTH:
        return step_health(w, st, line, &c);
    case DCGM_LINK_ERRORS:
        return step_link_errors(w, st, line, &c);
    case DCGM_DISCOVERY:
        return step_discovery(w, st, line, &c);
    default:
        return TC_OK;
    }
}

tc_status tc__dcgm_finish(struct tc__lines *w, struct dcgm *st)
{
    return st->block == DCGM_DIAG ? close_test(w, st) : close_finding(w, st);
}
