/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/probe.h"

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

static void put_text(struct tc_buf *b, const char *name, struct tc_slice value)
{
    tc_buf_json(b, tc_slice_cstr(name));
    tc_buf_char(b, ':');
    if (value.len == 0) {
        tc_buf_lit(b, "null");
    } else {
        tc_buf_json(b, value);
    }
}

static void put_fact(const struct tc_probe *p, struct tc_buf *b, const char *name,
                     enum tc_probe_fact fact)
{
    put_text(b, name, tc_slice_cstr(p->facts[fact]));
}

static void put_int(struct tc_buf *b, const char *name, int64_t value)
{
    tc_buf_json(b, tc_slice_cstr(name));
    tc_buf_char(b, ':');
    if (value <= 0) {
        tc_buf_lit(b, "null");
    } else {
        tc_buf_i64(b, value);
    }
}

static void put_software(const struct tc_probe *p, struct tc_buf *b)
{
    bool has_toolkit = p->facts[TC_PROBE_CUDA][0] != '\0';
    tc_buf_lit(b, "{");
    put_fact(p, b, "image_digest", TC_PROBE_IMAGE);
    tc_buf_char(b, ',');
    put_fact(p, b, "driver_version", TC_PROBE_DRIVER);
    tc_buf_char(b, ',');
    put_fact(p, b, "cuda_version", has_toolkit ? TC_PROBE_CUDA : TC_PROBE_CUDA_DRIVER);
    tc_buf_char(b, ',');
    put_fact(p, b, "nccl_version", TC_PROBE_NCCL);
    tc_buf_char(b, ',');
    put_fact(p, b, "framework", TC_PROBE_FRAMEWORK);
    tc_buf_char(b, ',');
    put_fact(p, b, "framework_version", TC_PROBE_FRAMEWORK_VERSION);
    tc_buf_char(b, ',');
    put_fact(p, b, "runtime", TC_PROBE_RUNTIME);
    tc_buf_char(b, ',');
    put_fact(p, b, "runtime_version", TC_PROBE_RUNTIME_VERSION);
    tc_buf_char(b, ',');
    put_fact(p, b, "server", TC_PROBE_SERVER);
    tc_buf_char(b, ',');
    put_fact(p, b, "server_version", TC_PROBE_SERVER_VERSION);
    tc_buf_char(b, ',');
    put_fact(p, b, "kernel", TC_PROBE_KERNEL);
    tc_buf_char(b, ',');
    put_fact(p, b, "os", TC_PROBE_OS);
    tc_buf_char(b, '}');
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
            tc_buf_str(b, b->len == 0 ? S("") : S(", "));
            tc_buf_u64(b, count);
            tc_buf_lit(b, " x ");
            tc_buf_str(b, tc_slice_cstr(p->gpus[i].name));
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
    tc_buf_u64(b, p->gpu_count);
    tc_buf_lit(b, " x gen");
    tc_buf_i64(b, p->gpus[0].pcie_gen);
    tc_buf_lit(b, " x");
    tc_buf_i64(b, p->gpus[0].pcie_width);
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
            tc_buf_char(b, ' ');
            tc_buf_str(b, tc_slice_cstr(p->numa[i]));
        }
    }
}

static void put_nics(const struct tc_probe *p, struct tc_buf *b)
{
    bool fabric = p->facts[TC_PROBE_FABRIC][0] != '\0';
    tc_buf_str(b, tc_slice_cstr(p->facts[TC_PROBE_FABRIC]));
    if (p->facts[TC_PROBE_ETHERNET][0] != '\0') {
        tc_buf_str(b, fabric ? S(", ") : S(""));
        tc_buf_str(b, tc_slice_cstr(p->facts[TC_PROBE_ETHERNET]));
    }
}

static void put_hardware(const struct tc_probe *p, struct tc_buf *b)
{
    static const struct {
        const char *name;
        void (*put)(const struct tc_probe *p, struct tc_buf *b);
    } columns[] = {{"nic", put_nics},
                   {"pcie_layout", put_pcie},
                   {"nvlink_topology", tc__probe_nvlink},
                   {"gpu_nic_affinity", tc__probe_affinity},
                   {"numa", put_numa}};
    char text[4 * TC_PROBE_TEXT_MAX];
    struct tc_buf t = tc_buf_make(text, sizeof text);
    int64_t memory = p->gpu_count > 0 ? p->gpus[0].memory_mib : 0;
    for (size_t i = 0; i < p->gpu_count; i++) {
        memory = p->gpus[i].memory_mib == memory ? memory : 0;
    }
    put_models(p, &t);
    tc_buf_lit(b, "{");
    put_text(b, "gpu_model", tc_buf_slice(&t));
    tc_buf_char(b, ',');
    put_int(b, "gpu_count", (int64_t)p->gpu_count);
    tc_buf_char(b, ',');
    put_int(b, "node_count", 1);
    tc_buf_char(b, ',');
    put_int(b, "gpu_memory_mib", memory);
    for (size_t i = 0; i < TC_COUNT(columns); i++) {
        tc_buf_reset(&t);
        columns[i].put(p, &t);
        tc_buf_char(b, ',');
        put_text(b, columns[i].name, tc_buf_slice(&t));
    }
    tc_buf_char(b, ',');
    put_fact(p, b, "storage_fabric", TC_PROBE_STORAGE);
    tc_buf_char(b, ',');
    put_fact(p, b, "cpu_model", TC_PROBE_CPU);
    tc_buf_char(b, '}');
}

static void put_gpus(const struct tc_probe *p, struct tc_buf *b)
{
    tc_buf_lit(b, "[");
    for (size_t i = 0; i < p->gpu_count; i++) {
        const struct tc_probe_gpu *g = &p->gpus[i];
        tc_buf_str(b, i == 0 ? S("\n    {") : S(",\n    {"));
        tc_buf_lit(b, "\"index\":");
        tc_buf_u64(b, i);
        tc_buf_char(b, ',');
        put_text(b, "name", tc_slice_cstr(g->name));
        tc_buf_char(b, ',');
        put_text(b, "uuid", tc_slice_cstr(g->uuid));
        tc_buf_char(b, ',');
        put_text(b, "pci_bus_id", tc_slice_cstr(g->pci));
        tc_buf_char(b, ',');
        put_int(b, "memory_mib", g->memory_mib);
        tc_buf_char(b, '}');
    }
    tc_buf_char(b, ']');
}

static void put_sources(const struct tc_probe_source *sources, size_t count, struct tc_buf *b)
{
    tc_buf_lit(b, "[");
    for (size_t i = 0; i < count; i++) {
        tc_buf_str(b, i == 0 ? S("\n    {") : S(",\n    {"));
        put_text(b, "name", tc_slice_cstr(sources[i].name));
        tc_buf_char(b, ',');
        put_text(b, "what", tc_slice_cstr(sources[i].what));
        tc_buf_char(b, ',');
        put_int(b, "bytes", (int64_t)sources[i].bytes);
        tc_buf_char(b, ',');
        put_text(b, "error", tc_slice_cstr(sources[i].error));
        tc_buf_char(b, '}');
    }
    tc_buf_char(b, ']');
}

void tc_probe_json(const struct tc_probe *p, const struct tc_probe_source *sources, size_t count,
                   int64_t captured_ns, struct tc_buf *out)
{
    tc_buf_lit(out, "{\n  " VERSION_KEY " 1,\n  \"captured_at\": ");
    if (captured_ns == TC_TIME_NONE) {
        tc_buf_lit(out, "null");
    } else {
        tc_buf_char(out, '"');
        tc_buf_time(out, captured_ns);
        tc_buf_char(out, '"');
    }
    tc_buf_lit(out, ",\n  ");
    put_fact(p, out, "node", TC_PROBE_HOST);
    tc_buf_lit(out, ",\n  \"software\": ");
    put_software(p, out);
    tc_buf_lit(out, ",\n  \"hardware\": ");
    put_hardware(p, out);
    tc_buf_lit(out, ",\n  \"gpus\": ");
    put_gpus(p, out);
    tc_buf_lit(out, ",\n  \"sources\": ");
    put_sources(sources, count, out);
    tc_buf_lit(out, "\n}\n");
}

bool tc_probe_is_json(struct tc_slice bytes)
{
    struct tc_slice head = tc_slice_head(bytes, 256);
    return tc_slice_starts(tc_slice_trim(head), S("{")) && tc_slice_contains(head, S(VERSION_KEY));
}
