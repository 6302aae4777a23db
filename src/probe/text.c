/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the system, and the texts that `tracecore probe` makes of /sys and of directories: a
 * head that names the kind, then one line per thing, a name and tab-separated key=value behind it.
 */
#include "base/format.h"
#include "base/json/json.h"
#include "probe/probe_priv.h"

#define S(literal) TC_LIT(literal)
#define GROUPS_MAX 16

/* The first word that is a version: digits with a point in them. */
static struct tc_slice version_in(struct tc_slice line)
{
    while (line.len > 0) {
        struct tc_slice word = tc_slice_cut(line, ' ', &line);
        if (word.len > 2 && tc_is_digit(word.ptr[0]) && tc_slice_find_byte(word, '.') != TC_NPOS &&
            tc_slice_find_byte(word, ':') == TC_NPOS) {
            return word;
        }
    }
    return TC_EMPTY;
}

bool tc__probe_driver(struct tc_probe *p, struct tc_slice bytes)
{
    if (!tc_slice_starts(bytes, S("NVRM version:"))) {
        return false;
    }
    tc__probe_set(p, TC_PROBE_DRIVER, version_in(tc_slice_cut(bytes, '\n', &bytes)));
    return true;
}

bool tc__probe_cuda(struct tc_probe *p, struct tc_slice bytes)
{
    if (tc_slice_starts(bytes, S("CUDA Version "))) {
        tc__probe_set(p, TC_PROBE_CUDA, version_in(tc_slice_cut(bytes, '\n', &bytes)));
        return true;
    }
    if (!tc_slice_starts(tc_slice_trim(bytes), S("{")) ||
        !tc_slice_contains(bytes, S("CUDA SDK"))) {
        return false;
    }
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json root;
    struct tc_json cuda;
    bool found = parser != NULL && tc_json_parse(parser, bytes, &root, NULL) == TC_OK &&
                 tc_json_get(root, S("cuda"), &cuda);
    if (found) {
        tc__probe_set(p, TC_PROBE_CUDA, tc_json_get_string(cuda, S("version")));
    }
    tc_json_parser_destroy(parser);
    return found;
}

/* The value of a line "KEY=value" or "key : value", without quotes. */
static bool value_of(struct tc_slice bytes, struct tc_slice key, char between, struct tc_slice *out)
{
    while (bytes.len > 0) {
        struct tc_slice value = TC_EMPTY;
        struct tc_slice line = tc_slice_cut(bytes, '\n', &bytes);
        struct tc_slice name = tc_slice_trim(tc_slice_cut(line, between, &value));
        if (tc_slice_eq_nocase(name, key) && value.len > 0) {
            value = tc_slice_trim(value);
            if (value.len > 1 && (value.ptr[0] == '"' || value.ptr[0] == '\'')) {
                value = tc_slice_head(tc_slice_from(value, 1), value.len - 2);
            }
            *out = value;
            return true;
        }
    }
    return false;
}

/* A fact that one line of a file says. */
static bool set_value_of(struct tc_probe *p, enum tc_probe_fact fact, struct tc_slice bytes,
                         struct tc_slice key, char between)
{
    struct tc_slice value = TC_EMPTY;
    bool found = value_of(bytes, key, between, &value);
    tc__probe_set(p, fact, value);
    return found;
}

bool tc__probe_os(struct tc_probe *p, struct tc_slice bytes)
{
    return set_value_of(p, TC_PROBE_OS, bytes, S("PRETTY_NAME"), '=');
}

bool tc__probe_uname(struct tc_probe *p, struct tc_slice bytes)
{
    if (!tc_slice_starts(bytes, S("Linux "))) {
        return false;
    }
    struct tc_slice line = tc_slice_from(tc_slice_cut(bytes, '\n', &bytes), 6);
    struct tc_slice host = tc_slice_cut(line, ' ', &line);
    struct tc_slice kernel = tc_slice_cut(line, ' ', &line);
    if (kernel.len == 0 || kernel.ptr[0] < '0' || kernel.ptr[0] > '9') {
        return false;
    }
    tc__probe_set(p, TC_PROBE_HOST, host);
    tc__probe_set(p, TC_PROBE_KERNEL, kernel);
    return true;
}

bool tc__probe_cpu(struct tc_probe *p, struct tc_slice bytes)
{
    return set_value_of(p, TC_PROBE_CPU, bytes, S("model name"), ':');
}

/* ---- our own texts ---- */

/* A line: its name, and the value of a key; empty when it has none. */
static struct tc_slice attribute(struct tc_slice line, struct tc_slice key)
{
    while (line.len > 0) {
        struct tc_slice value = TC_EMPTY;
        struct tc_slice part = tc_slice_cut(line, '\t', &line);
        struct tc_slice name = tc_slice_cut(part, '=', &value);
        if (name.len < part.len && tc_slice_eq(name, key)) {
            return tc_slice_trim(value);
        }
    }
    return TC_EMPTY;
}

/* Things that are alike, counted, in the order in which they came. */
struct groups {
    char texts[GROUPS_MAX][96];
    size_t counts[GROUPS_MAX];
    size_t count;
};

static void add_group(struct groups *g, struct tc_slice text)
{
    text = tc_slice_trim(text);
    for (size_t i = 0; i < g->count; i++) {
        if (tc_slice_eq(text, tc_slice_cstr(g->texts[i]))) {
            g->counts[i]++;
            return;
        }
    }
    if (g->count < GROUPS_MAX && text.len > 0) {
        tc__probe_copy(g->texts[g->count], sizeof g->texts[0], text);
        g->counts[g->count++] = 1;
    }
}

/* "8 x MT4129 400 Gb/sec, 1 x mlx5_core". */
static void set_groups(struct tc_probe *p, enum tc_probe_fact fact, const struct groups *g)
{
    char text[TC_PROBE_TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    for (size_t i = 0; i < g->count; i++) {
        (void)tc_format(&b, "{}{} x {}", i == 0 ? "" : ", ", g->counts[i], g->texts[i]);
    }
    tc__probe_set(p, fact, tc_buf_slice(&b));
}

static void put_word(struct tc_buf *b, struct tc_slice word)
{
    if (word.len > 0) {
        tc_buf_str(b, b->len > 0 ? S(" ") : S(""));
        tc_buf_str(b, word);
    }
}

/* "32.0 GT/s PCIe" as 5. */
static int generation(struct tc_slice speed)
{
    static const struct {
        const char *speed;
        int generation;
    } known[] = {{"2.5", 1}, {"5", 2},    {"5.0", 2},  {"8", 3},
                 {"8.0", 3}, {"16.0", 4}, {"32.0", 5}, {"64.0", 6}};
    struct tc_slice rest = TC_EMPTY;
    struct tc_slice number = tc_slice_cut(speed, ' ', &rest);
    size_t i = tc_slice_row(number, known, speed);
    return i < TC_COUNT(known) ? known[i].generation : 0;
}

/* Display and 3D controllers and accelerators of those who make GPUs for this. */
static bool is_gpu(struct tc_slice line)
{
    struct tc_slice class = attribute(line, S("class"));
    struct tc_slice vendor = attribute(line, S("vendor"));
    return (tc_slice_starts(class, S("0x0300")) || tc_slice_starts(class, S("0x0302")) ||
            tc_slice_starts(class, S("0x1200"))) &&
           (tc_slice_eq(vendor, S("0x10de")) || tc_slice_eq(vendor, S("0x1002")));
}

static void take_pci(struct tc_probe *p, struct tc_slice rest)
{
    struct groups g = {.count = 0};
    while (rest.len > 0) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        int gen = generation(attribute(line, S("max_speed")));
        struct tc_slice width = attribute(line, S("max_width"));
        if (is_gpu(line) && gen > 0 && width.len > 0) {
            char text[32];
            struct tc_buf b = tc_buf_make(text, sizeof text);
            add_group(&g, tc_format(&b, "gen{} x{}", gen, width));
        }
    }
    set_groups(p, TC_PROBE_PCIE, &g);
}

/* The values of these keys (up to a NULL) of each line, grouped. */
static void take_groups(struct tc_probe *p, enum tc_probe_fact fact, struct tc_slice rest,
                        const char *const *keys)
{
    struct groups g = {.count = 0};
    while (rest.len > 0) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        char text[128];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        for (size_t i = 0; keys[i] != NULL; i++) {
            put_word(&b, attribute(line, tc_slice_cstr(keys[i])));
        }
        add_group(&g, tc_buf_slice(&b));
    }
    set_groups(p, fact, &g);
}

static void take_infiniband(struct tc_probe *p, struct tc_slice rest)
{
    static const char *const keys[] = {"hca", "rate", "link_layer", NULL};
    take_groups(p, TC_PROBE_FABRIC, rest, keys);
}

static void take_net(struct tc_probe *p, struct tc_slice rest)
{
    static const char *const keys[] = {"driver", "speed", NULL};
    take_groups(p, TC_PROBE_ETHERNET, rest, keys);
}

static void take_storage(struct tc_probe *p, struct tc_slice rest)
{
    static const char *const keys[] = {"type", NULL};
    take_groups(p, TC_PROBE_STORAGE, rest, keys);
}

static void take_numa(struct tc_probe *p, struct tc_slice rest)
{
    char text[TC_PROBE_TEXT_MAX];
    char head[TC_PROBE_TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_buf h = tc_buf_make(head, sizeof head);
    size_t nodes = 0;
    while (rest.len > 0) {
        struct tc_slice cpus = attribute(tc_slice_cut(rest, '\n', &rest), S("cpus"));
        if (cpus.len > 0) {
            (void)tc_format(&b, "{}{}", nodes++ == 0 ? "" : " | ", cpus);
        }
    }
    if (nodes > 0) {
        struct tc_slice all = tc_buf_slice(&b);
        tc__probe_set(p, TC_PROBE_NODES,
                      tc_format(&h, "{}; cpus {}", tc_as_count((int64_t)nodes, "node"), all));
    }
}

/* "torch-2.3.0+cu121.dist-info" of a package: its version; empty when it is another. */
static struct tc_slice package_version(struct tc_slice line, const char *package)
{
    struct tc_slice name = tc_slice_cstr(package);
    struct tc_slice rest = tc_slice_from(line, name.len);
    if (!tc_slice_starts(line, name) || rest.len < 2 || rest.ptr[0] != '-' ||
        !tc_slice_ends(line, S(".dist-info"))) {
        return TC_EMPTY;
    }
    return tc_slice_head(tc_slice_from(rest, 1), rest.len - 1 - 10);
}

static void take_packages(struct tc_probe *p, struct tc_slice rest)
{
    static const struct {
        const char *package;
        const char *name;
        enum tc_probe_fact fact; /* its version is the next one */
    } known[] = {
        {"torch", "pytorch", TC_PROBE_FRAMEWORK},
        {"jax", "jax", TC_PROBE_FRAMEWORK},
        {"tensorflow", "tensorflow", TC_PROBE_FRAMEWORK},
        {"vllm", "vllm", TC_PROBE_SERVER},
        {"sglang", "sglang", TC_PROBE_SERVER},
        {"tensorrt_llm", "tensorrt_llm", TC_PROBE_SERVER},
        {"tensorrt", "tensorrt", TC_PROBE_RUNTIME},
        {"onnxruntime_gpu", "onnxruntime", TC_PROBE_RUNTIME},
    };
    struct tc_slice all = rest;
    for (size_t i = 0; i < TC_COUNT(known); i++) {
        for (rest = all; rest.len > 0 && p->facts[known[i].fact][0] == '\0';) {
            struct tc_slice line = tc_slice_trim(tc_slice_cut(rest, '\n', &rest));
            struct tc_slice version = package_version(line, known[i].package);
            if (version.len > 0) {
                tc__probe_set(p, known[i].fact, tc_slice_cstr(known[i].name));
                tc__probe_set(p, known[i].fact + 1, version);
            }
        }
    }
    for (rest = all; rest.len > 0;) {
        struct tc_slice line = tc_slice_trim(tc_slice_cut(rest, '\n', &rest));
        static const char *const nccl[] = {"nvidia_nccl_cu11", "nvidia_nccl_cu12",
                                           "nvidia_nccl_cu13"};
        for (size_t i = 0; i < 3; i++) {
            tc__probe_set(p, TC_PROBE_NCCL, package_version(line, nccl[i]));
        }
    }
}

/* "libnccl.so.2.21.5": the version, unless it is only the first part of one. */
static void take_libraries(struct tc_probe *p, struct tc_slice rest)
{
    while (rest.len > 0) {
        struct tc_slice line = tc_slice_trim(tc_slice_cut(rest, '\n', &rest));
        size_t at = tc_slice_find(line, S("libnccl.so."));
        struct tc_slice version = at == TC_NPOS ? TC_EMPTY : tc_slice_from(line, at + 11);
        if (tc_slice_find_byte(version, '.') != TC_NPOS) {
            tc__probe_set(p, TC_PROBE_NCCL, version);
        }
    }
}

static void take_container(struct tc_probe *p, struct tc_slice rest)
{
    struct tc_slice value = TC_EMPTY;
    static const struct {
        const char *variable;
        enum tc_probe_fact fact;
    } known[] = {
        {"TRACECORE_IMAGE_DIGEST", TC_PROBE_IMAGE},
        {"IMAGE_DIGEST", TC_PROBE_IMAGE},
        {"CONTAINER_IMAGE_DIGEST", TC_PROBE_IMAGE},
        {"CUDA_VERSION", TC_PROBE_CUDA},
        {"NCCL_VERSION", TC_PROBE_NCCL},
    };
    for (size_t i = 0; i < TC_COUNT(known); i++) {
        if (value_of(rest, tc_slice_cstr(known[i].variable), '=', &value) &&
            (known[i].fact != TC_PROBE_IMAGE || tc_slice_contains(value, S("sha256:")))) {
            tc__probe_set(p, known[i].fact, value);
        }
    }
    if (value_of(rest, S("TRITON_SERVER_VERSION"), '=', &value)) {
        tc__probe_set(p, TC_PROBE_SERVER, S("triton"));
        tc__probe_set(p, TC_PROBE_SERVER_VERSION, value);
    }
}

const char *tc__probe_own(struct tc_probe *p, struct tc_slice bytes)
{
    static const struct {
        const char *head;
        void (*take)(struct tc_probe *p, struct tc_slice rest);
        const char *what;
    } kinds[] = {
        {TC_PROBE_HEAD "pci", take_pci, "PCI devices"},
        {TC_PROBE_HEAD "numa", take_numa, "NUMA nodes"},
        {TC_PROBE_HEAD "infiniband", take_infiniband, "InfiniBand devices"},
        {TC_PROBE_HEAD "net", take_net, "network devices"},
        {TC_PROBE_HEAD "packages", take_packages, "Python packages"},
        {TC_PROBE_HEAD "libraries", take_libraries, "libraries"},
        {TC_PROBE_HEAD "container", take_container, "container"},
        {TC_PROBE_HEAD "storage", take_storage, "network file systems"},
    };
    struct tc_slice rest = TC_EMPTY;
    struct tc_slice head = tc_slice_trim(tc_slice_cut(bytes, '\n', &rest));
    size_t i = tc_slice_row(head, kinds, head);
    if (i == TC_COUNT(kinds)) {
        return NULL;
    }
    kinds[i].take(p, rest);
    return kinds[i].what;
}
