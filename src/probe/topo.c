/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia-smi topo: a matrix of GPUs and NICs. The head is underlined with escape sequences whether
 * or not it goes to a terminal, cells are set apart by tabs (some of them twice) or, once copied by
 * people, by blanks. A row with cells that are none, as of a wrapped copy, makes it unusable.
 */
#include "base/format.h"
#include "probe/probe_priv.h"

#define S(literal) TC_LIT(literal)
#define LINE_CELLS_MAX (TC_PROBE_COLUMNS_MAX + 8)
#define PAIRS_SHOWN 64

struct line {
    struct tc_slice cells[LINE_CELLS_MAX];
    size_t count;
};

/* The next line, its escape sequences as blanks. Cells by tabs when it has some, else by blanks. */
static void split_line(struct tc_slice text, char *copy, size_t cap, struct line *out)
{
    size_t n = 0;
    bool has_tabs = false;
    for (size_t i = 0; i < text.len && n < cap; i++) {
        if (text.ptr[i] == '\033') {
            while (i < text.len && text.ptr[i] != 'm') {
                i++;
            }
            continue;
        }
        has_tabs = has_tabs || text.ptr[i] == '\t';
        copy[n++] = text.ptr[i] == '\r' ? ' ' : text.ptr[i];
    }
    out->count = 0;
    struct tc_slice rest = tc_slice_make(copy, n);
    while (rest.len > 0 && out->count < LINE_CELLS_MAX) {
        struct tc_slice cell = tc_slice_cut(rest, has_tabs ? '\t' : ' ', &rest);
        cell = tc_slice_trim(cell);
        if (cell.len > 0 || has_tabs) {
            out->cells[out->count++] = cell;
        }
    }
}

static bool is_numbered(struct tc_slice s, struct tc_slice prefix)
{
    uint64_t number = 0;
    struct tc_slice rest = tc_slice_from(s, prefix.len);
    return tc_slice_starts(s, prefix) && rest.len > 0 && tc_slice_u64(rest, &number) == rest.len;
}

static bool is_cell(struct tc_slice s)
{
    return tc_slice_is_any(s, "X", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC", "PSB", "OK", "CNS",
                           "GNS", "TNS", "NS", "U", "DR", "C2C") ||
           is_numbered(s, S("NV"));
}

/* GPU0 GPU1 ... NIC0 ..., up to "CPU Affinity". */
static bool take_head(struct tc_probe *p, const struct line *line)
{
    size_t gpus = 0;
    p->column_count = 0;
    for (size_t i = 0; i < line->count; i++) {
        struct tc_slice cell = line->cells[i];
        if (cell.len == 0) {
            continue;
        }
        if (tc_slice_starts(cell, S("CPU")) || tc_slice_starts(cell, S("NUMA"))) {
            break;
        }
        bool is_gpu = is_numbered(cell, S("GPU"));
        if ((p->column_count == 0 && !is_gpu) || p->column_count == TC_PROBE_COLUMNS_MAX) {
            return false;
        }
        gpus += is_gpu && gpus == p->column_count ? 1 : 0;
        tc__probe_copy(p->columns[p->column_count], sizeof p->columns[0], cell);
        p->column_count++;
    }
    p->matrix_gpus = gpus <= TC_PROBE_GPUS_MAX ? gpus : 0;
    return p->matrix_gpus > 0;
}

/* What follows the cells: CPUs, then the node. One of them may be empty. */
static void take_numa(struct tc_probe *p, size_t gpu, const struct line *line, size_t at)
{
    struct tc_slice left[4];
    size_t count = 0;
    uint64_t number = 0;
    bool no_cpus = at < line->count && line->cells[at].len == 0;
    for (size_t i = at; i < line->count && count < 4; i++) {
        if (line->cells[i].len > 0) {
            left[count++] = line->cells[i];
        }
    }
    struct tc_slice node = no_cpus && count > 0 ? left[0] : count > 1 ? left[1] : TC_EMPTY;
    if (node.len > 0 && tc_slice_u64(node, &number) == node.len && number < 10000) {
        tc__probe_copy(p->numa[gpu], sizeof p->numa[0], node);
    }
}

static bool take_row(struct tc_probe *p, size_t gpu, const struct line *line)
{
    size_t at = 0;
    while (at < line->count && line->cells[at].len == 0) {
        at++;
    }
    at++; /* its own name */
    for (size_t i = 0; i < p->column_count; i++, at++) {
        if (at >= line->count || !is_cell(line->cells[at])) {
            return false;
        }
        tc__probe_copy(p->cells[gpu][i], sizeof p->cells[gpu][i], line->cells[at]);
        p->is_p2p = p->is_p2p || tc_slice_eq(line->cells[at], S("OK")) ||
                    tc_slice_eq(line->cells[at], S("NS"));
    }
    take_numa(p, gpu, line, at);
    return true;
}

/* "  NIC0: mlx5_0" of the legend names a column. */
static void take_legend(struct tc_probe *p, struct tc_slice text)
{
    struct tc_slice value = TC_EMPTY;
    struct tc_slice name = tc_slice_trim(tc_slice_cut(text, ':', &value));
    value = tc_slice_trim(value);
    for (size_t i = p->matrix_gpus; i < p->column_count && value.len > 0; i++) {
        if (is_numbered(name, S("NIC")) && tc_slice_eq(name, tc_slice_cstr(p->columns[i]))) {
            tc__probe_copy(p->columns[i], sizeof p->columns[i], value);
            return;
        }
    }
}

bool tc__probe_topo(struct tc_probe *p, struct tc_slice bytes)
{
    char copy[4096];
    struct line line;
    size_t rows = 0;
    bool usable = true;
    if (p->matrix_gpus > 0 && !p->is_p2p) {
        return false; /* one is enough */
    }
    struct tc_slice text = tc_slice_cut(bytes, '\n', &bytes);
    split_line(text, copy, sizeof copy, &line);
    if (!take_head(p, &line)) {
        p->column_count = 0;
        p->matrix_gpus = 0;
        return false;
    }
    p->is_p2p = false;
    while (bytes.len > 0) {
        text = tc_slice_cut(bytes, '\n', &bytes);
        split_line(text, copy, sizeof copy, &line);
        size_t at = 0;
        while (at < line.count && line.cells[at].len == 0) {
            at++;
        }
        struct tc_slice first = at < line.count ? line.cells[at] : TC_EMPTY;
        if (rows < p->matrix_gpus && tc_slice_eq(first, tc_slice_cstr(p->columns[rows]))) {
            usable = take_row(p, rows, &line) && usable;
            rows++;
        } else {
            take_legend(p, tc_slice_trim(text));
        }
    }
    if (!usable || rows != p->matrix_gpus) {
        p->matrix_gpus = 0;
        p->column_count = 0;
        return true; /* it is one, and says nothing that can be trusted */
    }
    for (size_t i = 0; i < p->matrix_gpus; i++) {
        (void)tc__probe_gpu(p, i);
    }
    return true;
}

/* "NV18: all pairs" or "NV4: 0-1 2-3; SYS: 0-2 0-3 1-2 1-3". */
static void put_matrix(const struct tc_probe *p, struct tc_buf *out)
{
    size_t count = p->matrix_gpus;
    size_t kinds = 0;
    tc_buf_str(out, p->is_p2p ? S("p2p ") : S(""));
    for (size_t first = 0; first < count * count; first++) {
        const char *kind = p->cells[first / count][first % count];
        bool is_new = first / count < first % count;
        for (size_t i = 0; i < first && is_new; i++) {
            is_new = i / count >= i % count || strcmp(p->cells[i / count][i % count], kind) != 0;
        }
        if (!is_new) {
            continue;
        }
        (void)tc_format(out, "{}{}:", kinds++ > 0 ? "; " : "", kind);
        size_t pairs = 0;
        size_t others = 0;
        for (size_t i = 0; i < count * count; i++) {
            if (i / count < i % count) {
                bool same = strcmp(p->cells[i / count][i % count], kind) == 0;
                pairs += same ? 1 : 0;
                others += same ? 0 : 1;
            }
        }
        if (others == 0) {
            tc_buf_lit(out, " all pairs");
            return;
        }
        if (pairs > PAIRS_SHOWN) {
            (void)tc_format(out, " {} pairs", pairs);
            continue;
        }
        for (size_t i = 0; i < count * count; i++) {
            if (i / count < i % count && strcmp(p->cells[i / count][i % count], kind) == 0) {
                (void)tc_format(out, " {}-{}", i / count, i % count);
            }
        }
    }
}

/* "8 GPUs x 12 links x 25 GB/s"; GPU by GPU when they differ. */
static void put_links(const struct tc_probe *p, struct tc_buf *out)
{
    bool same = true;
    for (size_t i = 0; i < p->gpu_count; i++) {
        same = same && p->gpus[i].links == p->gpus[0].links &&
               p->gpus[i].link_mbs == p->gpus[0].link_mbs;
    }
    for (size_t i = 0; i < (same ? 1 : p->gpu_count); i++) {
        const struct tc_probe_gpu *g = &p->gpus[i];
        (void)tc_format(out, "{}{}{} links{}", tc_when(same, "{} GPUs x ", p->gpu_count),
                        tc_when(!same, "{}GPU{} ", i == 0 ? "" : ", ", i), g->links,
                        tc_when(g->links > 0, " x {} GB/s", (double)g->link_mbs / 1000));
    }
}

void tc__probe_nvlink(const struct tc_probe *p, struct tc_buf *out)
{
    bool has_links = p->gpu_count > 0;
    for (size_t i = 0; i < p->gpu_count; i++) {
        has_links = has_links && p->gpus[i].has_links;
    }
    if (p->matrix_gpus > 1) {
        put_matrix(p, out);
    }
    if (has_links) {
        tc_buf_str(out, p->matrix_gpus > 1 ? S("; ") : S(""));
        put_links(p, out);
    }
}

/* How near a NIC is: less is nearer. */
static size_t distance(const char *cell)
{
    static const char *const order[] = {"PIX", "PXB", "PHB", "NODE", "SYS", "SOC"};
    size_t i = 0;
    while (i < TC_COUNT(order) && strcmp(cell, order[i]) != 0) {
        i++;
    }
    return i;
}

/* "GPU0 mlx5_0 PIX, GPU1 mlx5_1 PIX": the nearest of each. */
void tc__probe_affinity(const struct tc_probe *p, struct tc_buf *out)
{
    for (size_t g = 0; g < p->matrix_gpus && p->column_count > p->matrix_gpus; g++) {
        size_t nearest = p->matrix_gpus;
        for (size_t i = p->matrix_gpus; i < p->column_count; i++) {
            nearest = distance(p->cells[g][i]) < distance(p->cells[g][nearest]) ? i : nearest;
        }
        (void)tc_format(out, "{}GPU{} {} {}", g == 0 ? "" : ", ", g, p->columns[nearest],
                        p->cells[g][nearest]);
    }
}
