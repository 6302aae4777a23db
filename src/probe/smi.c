/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia-smi's outputs: the table, -L, nvlink --status, --query-gpu as CSV, -q. Field names have
 * changed over the years; what is not there is not known.
 */
#include "probe/probe_priv.h"

#include <math.h>
#include <stdlib.h>

#define S(literal) TC_LIT(literal)
#define CSV_FIELDS_MAX 32

/* The value behind a label, up to two blanks or a bar; false when the label is not there. */
static bool labelled(struct tc_slice line, struct tc_slice label, struct tc_slice *out)
{
    size_t at = tc_slice_find(line, label);
    if (at == TC_NPOS) {
        return false;
    }
    struct tc_slice rest = tc_slice_trim(tc_slice_from(line, at + label.len));
    size_t end = tc_slice_find(rest, S("  "));
    struct tc_slice unused = TC_EMPTY;
    rest = tc_slice_trim(tc_slice_cut(tc_slice_head(rest, end), '|', &unused));
    *out = rest;
    return rest.len > 0 && tc_is_digit(rest.ptr[0]);
}

static void take_versions(struct tc_probe *p, struct tc_slice line)
{
    static const struct {
        const char *label;
        enum tc_probe_fact fact;
    } labels[] = {
        {"Driver Version:", TC_PROBE_DRIVER},           {"KMD Version:", TC_PROBE_DRIVER},
        {"CUDA Version:", TC_PROBE_CUDA_DRIVER},        {"CUDA UMD Version:", TC_PROBE_CUDA_DRIVER},
        {"CUDA Driver Version:", TC_PROBE_CUDA_DRIVER},
    };
    struct tc_slice value = TC_EMPTY;
    for (size_t i = 0; i < TC_COUNT(labels); i++) {
        if (labelled(line, tc_slice_cstr(labels[i].label), &value)) {
            tc__probe_set(p, labels[i].fact, value);
        }
    }
}

/* "15MiB / 11439MiB": the second. */
static int64_t memory_of(struct tc_slice line)
{
    uint64_t mib = 0;
    size_t at = tc_slice_find(line, S("MiB / "));
    struct tc_slice rest = at == TC_NPOS ? TC_EMPTY : tc_slice_trim(tc_slice_from(line, at + 6));
    size_t n = tc_slice_u64(rest, &mib);
    return n > 0 && mib <= INT32_MAX && tc_slice_starts(tc_slice_from(rest, n), S("MiB"))
               ? (int64_t)mib
               : 0;
}

/* "|   0  Tesla K80           On   | 0000:00:04.0     Off | ..."; NULL when it is no such line. */
static struct tc_probe_gpu *take_row(struct tc_probe *p, struct tc_slice line)
{
    struct tc_slice rest = TC_EMPTY;
    uint64_t index = 0;
    if (!tc_slice_starts(line, S("|"))) {
        return NULL;
    }
    struct tc_slice left = tc_slice_trim(tc_slice_cut(tc_slice_from(line, 1), '|', &rest));
    struct tc_slice right = tc_slice_trim(rest);
    size_t n = tc_slice_u64(left, &index);
    size_t bus = tc_slice_find(right, S(" "));
    /* Domain, bus, device and function. */
    if (n == 0 || bus == TC_NPOS || bus < 12 || bus > 16 ||
        tc_slice_find_byte(right, ':') == TC_NPOS || tc_slice_find_byte(right, ':') > 8) {
        return NULL;
    }
    struct tc_probe_gpu *g = tc__probe_gpu(p, index);
    if (g == NULL) {
        return NULL;
    }
    /* The last word is persistence mode. */
    struct tc_slice name = tc_slice_trim(tc_slice_from(left, n));
    size_t end = name.len;
    while (end > 0 && name.ptr[end - 1] != ' ') {
        end--;
    }
    tc__probe_name(g, tc_slice_trim(tc_slice_head(name, end)));
    tc__probe_copy(g->pci, sizeof g->pci, tc_slice_head(right, bus));
    return g;
}

bool tc__probe_smi(struct tc_probe *p, struct tc_slice bytes)
{
    struct tc_probe_gpu *last = NULL;
    bool is_table = false;
    while (bytes.len > 0) {
        struct tc_slice line = tc_slice_trim(tc_slice_cut(bytes, '\n', &bytes));
        if (tc_slice_starts(line, S("| NVIDIA-SMI"))) {
            is_table = true;
            take_versions(p, line);
        } else if (is_table && tc_slice_starts(line, S("| Processes"))) {
            break;
        } else if (is_table) {
            struct tc_probe_gpu *g = take_row(p, line);
            if (last != NULL && g == NULL && last->memory_mib == 0) {
                last->memory_mib = memory_of(line);
            }
            last = g != NULL ? g : last;
        }
    }
    return is_table;
}

/* "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)". */
static struct tc_probe_gpu *take_list_line(struct tc_probe *p, struct tc_slice line)
{
    uint64_t index = 0;
    if (!tc_slice_starts(line, S("GPU "))) {
        return NULL;
    }
    struct tc_slice rest = tc_slice_from(line, 4);
    size_t n = tc_slice_u64(rest, &index);
    rest = tc_slice_from(rest, n);
    size_t uuid = tc_slice_find(rest, S(" (UUID: "));
    if (n == 0 || !tc_slice_starts(rest, S(": ")) || uuid == TC_NPOS) {
        return NULL;
    }
    struct tc_probe_gpu *g = tc__probe_gpu(p, index);
    if (g != NULL) {
        struct tc_slice unused = TC_EMPTY;
        tc__probe_name(g, tc_slice_trim(tc_slice_head(tc_slice_from(rest, 2), uuid - 2)));
        tc__probe_copy(g->uuid, sizeof g->uuid,
                       tc_slice_cut(tc_slice_from(rest, uuid + 8), ')', &unused));
    }
    return g;
}

/* "Link 0: 26.562 GB/s", "Link 1: <inactive>". */
static void take_link(struct tc_probe_gpu *g, struct tc_slice line)
{
    char text[32];
    struct tc_slice rest = TC_EMPTY;
    (void)tc_slice_cut(line, ':', &rest);
    rest = tc_slice_trim(rest);
    g->has_links = true;
    size_t end = tc_slice_find(rest, S(" GB/s"));
    if (end == TC_NPOS || end == 0 || end >= sizeof text) {
        return;
    }
    tc__probe_copy(text, sizeof text, tc_slice_head(rest, end));
    double gbs = strtod(text, NULL);
    if (gbs > 0 && gbs < 100000) {
        g->links++;
        g->link_mbs = (unsigned)lround(gbs * 1000);
    }
}

bool tc__probe_smi_list(struct tc_probe *p, struct tc_slice bytes)
{
    struct tc_probe_gpu *g = NULL;
    bool is_list = false;
    while (bytes.len > 0) {
        struct tc_slice line = tc_slice_trim(tc_slice_cut(bytes, '\n', &bytes));
        if (tc_slice_starts(line, S("Link ")) && is_list) {
            if (g != NULL) {
                take_link(g, line);
            }
        } else if (line.len > 0 && !tc_slice_starts(line, S("MIG "))) {
            struct tc_probe_gpu *next = take_list_line(p, line);
            if (next == NULL && !is_list) {
                return false;
            }
            g = next;
            is_list = true;
        }
    }
    return is_list;
}

/* Fields of a line of CSV without quotes: nvidia-smi writes none. */
static size_t split(struct tc_slice line, struct tc_slice *fields)
{
    size_t n = 0;
    while (line.len > 0 && n < CSV_FIELDS_MAX) {
        fields[n++] = tc_slice_trim(tc_slice_cut(line, ',', &line));
    }
    return n;
}

static void take_field(struct tc_probe *p, struct tc_probe_gpu *g, struct tc_slice name,
                       struct tc_slice value)
{
    uint64_t number = 0;
    bool is_number = tc_slice_u64(value, &number) > 0 && number <= INT32_MAX;
    if (tc_slice_starts(value, S("[")) || tc_slice_eq(value, S("N/A"))) {
        return; /* [N/A], [Not Supported] */
    }
    if (tc_slice_eq(name, S("name")) || tc_slice_eq(name, S("gpu_name"))) {
        tc__probe_name(g, value);
    } else if (tc_slice_eq(name, S("uuid")) || tc_slice_eq(name, S("gpu_uuid"))) {
        tc__probe_copy(g->uuid, sizeof g->uuid, value);
    } else if (tc_slice_eq(name, S("pci.bus_id")) || tc_slice_eq(name, S("gpu_bus_id"))) {
        tc__probe_copy(g->pci, sizeof g->pci, value);
    } else if (tc_slice_starts(name, S("memory.total")) && is_number) {
        g->memory_mib = (int64_t)number;
    } else if (tc_slice_eq(name, S("pcie.link.gen.max")) && is_number && number < 32) {
        g->pcie_gen = (int)number;
    } else if (tc_slice_eq(name, S("pcie.link.width.max")) && is_number && number < 64) {
        g->pcie_width = (int)number;
    } else if (tc_slice_eq(name, S("driver_version"))) {
        tc__probe_set(p, TC_PROBE_DRIVER, value);
    }
}

bool tc__probe_smi_query(struct tc_probe *p, struct tc_slice bytes)
{
    struct tc_slice names[CSV_FIELDS_MAX];
    struct tc_slice values[CSV_FIELDS_MAX];
    size_t count = split(tc_slice_cut(bytes, '\n', &bytes), names);
    size_t index_at = count;
    bool is_query = false;
    for (size_t i = 0; i < count; i++) {
        is_query = is_query || tc_slice_eq(names[i], S("uuid")) ||
                   tc_slice_eq(names[i], S("gpu_uuid")) || tc_slice_eq(names[i], S("name")) ||
                   tc_slice_eq(names[i], S("driver_version"));
        index_at = tc_slice_eq(names[i], S("index")) ? i : index_at;
    }
    for (uint64_t row = 0; is_query && bytes.len > 0; row++) {
        size_t n = split(tc_slice_trim(tc_slice_cut(bytes, '\n', &bytes)), values);
        uint64_t index = row;
        if (n != count || (index_at < count && tc_slice_u64(values[index_at], &index) == 0)) {
            continue;
        }
        struct tc_probe_gpu *g = tc__probe_gpu(p, index);
        for (size_t i = 0; g != NULL && i < n; i++) {
            take_field(p, g, names[i], values[i]);
        }
    }
    return is_query;
}

bool tc__probe_smi_log(struct tc_probe *p, struct tc_slice bytes)
{
    struct tc_probe_gpu *g = NULL;
    uint64_t gpus = 0;
    bool in_memory = false;
    if (!tc_slice_contains(tc_slice_head(bytes, 4096), S("NVSMI LOG"))) {
        return false;
    }
    while (bytes.len > 0) {
        struct tc_slice whole = tc_slice_cut(bytes, '\n', &bytes);
        struct tc_slice line = tc_slice_trim(whole);
        size_t colon = tc_slice_find(line, S(" : "));
        if (colon == TC_NPOS) {
            in_memory = tc_slice_eq(line, S("FB Memory Usage"));
            if (tc_slice_starts(whole, S("GPU ")) && tc_slice_contains(line, S(":"))) {
                g = tc__probe_gpu(p, gpus++);
                if (g != NULL) {
                    tc__probe_copy(g->pci, sizeof g->pci, tc_slice_from(line, 4));
                }
            }
            continue;
        }
        struct tc_slice key = tc_slice_trim(tc_slice_head(line, colon));
        struct tc_slice value = tc_slice_trim(tc_slice_from(line, colon + 3));
        if (g == NULL && tc_slice_eq(key, S("Driver Version"))) {
            tc__probe_set(p, TC_PROBE_DRIVER, value);
        } else if (g == NULL && tc_slice_eq(key, S("CUDA Version"))) {
            tc__probe_set(p, TC_PROBE_CUDA_DRIVER, value);
        } else if (g != NULL && tc_slice_eq(key, S("Product Name"))) {
            tc__probe_name(g, value);
        } else if (g != NULL && tc_slice_eq(key, S("GPU UUID"))) {
            tc__probe_copy(g->uuid, sizeof g->uuid, value);
        } else if (g != NULL && in_memory && tc_slice_eq(key, S("Total"))) {
            take_field(p, g, S("memory.total"), value);
        }
    }
    return true;
}
