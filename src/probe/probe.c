/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/probe.h"

#include "base/format.h"
#include "base/json/out.h"
#include "base/time.h"
#include "probe/probe_priv.h"

#define S(literal) TC_LIT(literal)
#define VERSION_KEY "\"tracecore_probe\":"

void tc_probe_init(struct tc_probe *p)
{
    memset(p, 0, sizeof *p);
}

void tc__probe_copy(char *to, size_t cap, struct tc_slice value)
{
    size_t n = 0;
    for (size_t i = 0; i < value.len && n + 1 < cap; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        to[n++] = (char)(c < 0x20 || c == 0x7f ? ' ' : c);
    }
    to[n] = '\0';
}

void tc__probe_set(struct tc_probe *p, enum tc_probe_fact fact, struct tc_slice value)
{
    value = tc_slice_trim(value);
    if (p->facts[fact][0] == '\0' && value.len > 0) {
        tc__probe_copy(p->facts[fact], sizeof p->facts[fact], value);
    }
}

struct tc_probe_gpu *tc__probe_gpu(struct tc_probe *p, uint64_t index)
{
    if (index >= TC_PROBE_GPUS_MAX) {
        return NULL;
    }
    p->gpu_count = index >= p->gpu_count ? (size_t)index + 1 : p->gpu_count;
    return &p->gpus[index];
}

void tc__probe_name(struct tc_probe_gpu *g, struct tc_slice name)
{
    bool is_cut = tc_slice_ends(name, S("..."));
    if (name.len > 0 && (g->name[0] == '\0' || (g->is_cut && !is_cut))) {
        tc__probe_copy(g->name, sizeof g->name, name);
        g->is_cut = is_cut;
    }
}

const char *tc_probe_take(struct tc_probe *p, struct tc_slice bytes)
{
    static const struct {
        bool (*take)(struct tc_probe *p, struct tc_slice bytes);
        const char *what;
    } kinds[] = {
        {tc__probe_driver, "/proc/driver/nvidia/version"},
        {tc__probe_smi_log, "nvidia-smi -q"},
        {tc__probe_smi, "nvidia-smi"},
        {tc__probe_smi_list, "nvidia-smi -L or nvlink --status"},
        {tc__probe_topo, "nvidia-smi topo"},
        {tc__probe_smi_query, "nvidia-smi --query-gpu"},
        {tc__probe_cuda, "CUDA version"},
        {tc__probe_os, "os-release"},
        {tc__probe_uname, "uname"},
        {tc__probe_cpu, "CPU"},
    };
    bytes = tc_slice_head(bytes, TC_PROBE_BYTES_MAX);
    if (tc_slice_starts(bytes, S("\xef\xbb\xbf"))) {
        bytes = tc_slice_from(bytes, 3);
    }
    const char *own = tc__probe_own(p, bytes);
    if (own != NULL) {
        return own;
    }
    for (size_t i = 0; i < TC_COUNT(kinds); i++) {
        if (kinds[i].take(p, bytes)) {
            return kinds[i].what;
        }
    }
    return NULL;
}

static void put_text(struct tc_json_out *j, const char *name, const char *value)
{
    tc_json_key_plain(j, tc_slice_cstr(name));
    tc_json_add_str_or_null(j, tc_slice_cstr(value));
}

static void put_int(struct tc_json_out *j, const char *name, int64_t value)
{
    tc_json_key_plain(j, tc_slice_cstr(name));
    if (value <= 0) {
        tc_json_add_null(j);
    } else {
        tc_json_add_i64(j, value);
    }
}

static void put_software(const struct tc_probe *p, struct tc_buf *b)
{
    static const struct {
        const char *name;
        enum tc_probe_fact fact;
    } columns[] = {
        {"image_digest", TC_PROBE_IMAGE},  {"driver_version", TC_PROBE_DRIVER},
        {"cuda_version", TC_PROBE_CUDA},   {"nccl_version", TC_PROBE_NCCL},
        {"framework", TC_PROBE_FRAMEWORK}, {"framework_version", TC_PROBE_FRAMEWORK_VERSION},
        {"runtime", TC_PROBE_RUNTIME},     {"runtime_version", TC_PROBE_RUNTIME_VERSION},
        {"server", TC_PROBE_SERVER},       {"server_version", TC_PROBE_SERVER_VERSION},
        {"kernel", TC_PROBE_KERNEL},       {"os", TC_PROBE_OS},
    };
    struct tc_json_out j = tc_json_out_make(b);
    bool has_toolkit = p->facts[TC_PROBE_CUDA][0] != '\0';
    tc_json_add_object(&j);
    for (size_t i = 0; i < TC_COUNT(columns); i++) {
        bool of_driver = columns[i].fact == TC_PROBE_CUDA && !has_toolkit;
        put_text(&j, columns[i].name, p->facts[of_driver ? TC_PROBE_CUDA_DRIVER : columns[i].fact]);
    }
    tc_json_end_object(&j);
}

/* Models in order, each once, with its count when there are several. */
static void put_models(const struct tc_probe *p, struct tc_buf *b)
{
    bool same = true;
    for (size_t i = 0; i < p->gpu_count; i++) {
        same = same && strcmp(p->gpus[i].name, p->gpus[0].name) == 0;
    }
    if (p->gpu_count > 0 && same) {
        tc_buf_str(b, tc_slice_cstr(p->gpus[0].name));
    }
    for (size_t i = 0; !same && i < p->gpu_count; i++) {
        size_t count = 0;
        bool is_first = true;
        for (size_t j = 0; j < p->gpu_count; j++) {
            bool equal = strcmp(p->gpus[i].name, p->gpus[j].name) == 0;
            count += equal ? 1 : 0;
            is_first = is_first && !(equal && j < i);
        }
        if (is_first && p->gpus[i].name[0] != '\0') {
            (void)tc_format(b, "{}{} x {}", b->len == 0 ? "" : ", ", count, p->gpus[i].name);
        }
    }
}

/* "8 x gen5 x16" of what nvidia-smi says, else of /sys. */
static void put_pcie(const struct tc_probe *p, struct tc_buf *b)
{
    bool same = p->gpu_count > 0 && p->gpus[0].pcie_gen > 0 && p->gpus[0].pcie_width > 0;
    for (size_t i = 0; i < p->gpu_count; i++) {
        same = same && p->gpus[i].pcie_gen == p->gpus[0].pcie_gen &&
               p->gpus[i].pcie_width == p->gpus[0].pcie_width;
    }
    if (!same) {
        tc_buf_str(b, tc_slice_cstr(p->facts[TC_PROBE_PCIE]));
        return;
    }
    (void)tc_format(b, "{} x gen{} x{}", p->gpu_count, p->gpus[0].pcie_gen, p->gpus[0].pcie_width);
}

/* "2 nodes; cpus 0-47 | 48-95; GPUs 0 0 1 1". */
static void put_numa(const struct tc_probe *p, struct tc_buf *b)
{
    bool known = p->matrix_gpus > 0;
    for (size_t i = 0; i < p->matrix_gpus; i++) {
        known = known && p->numa[i][0] != '\0';
    }
    tc_buf_str(b, tc_slice_cstr(p->facts[TC_PROBE_NODES]));
    if (known) {
        tc_buf_str(b, b->len == 0 ? S("GPUs") : S("; GPUs"));
        for (size_t i = 0; i < p->matrix_gpus; i++) {
            (void)tc_format(b, " {}", p->numa[i]);
        }
    }
}

static void put_nics(const struct tc_probe *p, struct tc_buf *b)
{
    const char *fabric = p->facts[TC_PROBE_FABRIC];
    const char *ethernet = p->facts[TC_PROBE_ETHERNET];
    bool both = fabric[0] != '\0' && ethernet[0] != '\0';
    (void)tc_format(b, "{}{}{}", fabric, both ? ", " : "", ethernet);
}

/* A text that is made of several things. */
static void put_made(struct tc_json_out *j, const char *name, const struct tc_probe *p,
                     void (*write)(const struct tc_probe *p, struct tc_buf *b))
{
    char text[4 * TC_PROBE_TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    write(p, &b);
    tc_json_key_plain(j, tc_slice_cstr(name));
    tc_json_add_str_or_null(j, tc_buf_slice(&b));
}

static void put_hardware(const struct tc_probe *p, struct tc_buf *b)
{
    struct tc_json_out j = tc_json_out_make(b);
    int64_t memory = p->gpu_count > 0 ? p->gpus[0].memory_mib : 0;
    for (size_t i = 0; i < p->gpu_count; i++) {
        memory = p->gpus[i].memory_mib == memory ? memory : 0;
    }
    tc_json_add_object(&j);
    put_made(&j, "gpu_model", p, put_models);
    put_int(&j, "gpu_count", (int64_t)p->gpu_count);
    put_int(&j, "node_count", 1);
    put_int(&j, "gpu_memory_mib", memory);
    put_made(&j, "nic", p, put_nics);
    put_made(&j, "pcie_layout", p, put_pcie);
    put_made(&j, "nvlink_topology", p, tc__probe_nvlink);
    put_made(&j, "gpu_nic_affinity", p, tc__probe_affinity);
    put_made(&j, "numa", p, put_numa);
    put_text(&j, "storage_fabric", p->facts[TC_PROBE_STORAGE]);
    put_text(&j, "cpu_model", p->facts[TC_PROBE_CPU]);
    tc_json_end_object(&j);
}

static void put_gpu(size_t index, const struct tc_probe_gpu *g, struct tc_buf *b)
{
    struct tc_json_out j = tc_json_object_make(b);
    tc_json_put_u64(&j, "index", index);
    put_text(&j, "name", g->name);
    put_text(&j, "uuid", g->uuid);
    put_text(&j, "pci_bus_id", g->pci);
    put_int(&j, "memory_mib", g->memory_mib);
    tc_json_end_object(&j);
}

static void put_source(const struct tc_probe_source *source, struct tc_buf *b)
{
    struct tc_json_out j = tc_json_object_make(b);
    put_text(&j, "name", source->name);
    put_text(&j, "what", source->what);
    put_int(&j, "bytes", (int64_t)source->bytes);
    put_text(&j, "error", source->error);
    tc_json_end_object(&j);
}

/* One object per line of the lists, for people. */
static struct tc_slice line_break(size_t i)
{
    return i == 0 ? S("\n    ") : S(",\n    ");
}

void tc_probe_json(const struct tc_probe *p, const struct tc_probe_source *sources, size_t count,
                   int64_t captured_ns, struct tc_buf *out)
{
    struct tc_json_out j = tc_json_out_make(out);
    tc_buf_lit(out, "{\n  " VERSION_KEY " 1,\n  \"captured_at\": ");
    if (captured_ns == TC_TIME_NONE) {
        tc_json_add_null(&j);
    } else {
        tc_json_add_time(&j, captured_ns);
    }
    tc_buf_lit(out, ",\n  \"node\":");
    j = tc_json_out_make(out);
    tc_json_add_str_or_null(&j, tc_slice_cstr(p->facts[TC_PROBE_HOST]));
    tc_buf_lit(out, ",\n  \"software\": ");
    put_software(p, out);
    tc_buf_lit(out, ",\n  \"hardware\": ");
    put_hardware(p, out);
    tc_buf_lit(out, ",\n  \"gpus\": [");
    for (size_t i = 0; i < p->gpu_count; i++) {
        tc_buf_str(out, line_break(i));
        put_gpu(i, &p->gpus[i], out);
    }
    tc_buf_lit(out, "],\n  \"sources\": [");
    for (size_t i = 0; i < count; i++) {
        tc_buf_str(out, line_break(i));
        put_source(&sources[i], out);
    }
    tc_buf_lit(out, "]\n}\n");
}
