/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of a machine: nvidia-smi, files of /proc and /etc, and texts made of /sys and of
 * the names in a few directories. Of the environment only named variables are kept.
 */
#include "base/buf.h"
#include "base/format.h"
#include "cli/probe/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#define S(literal) TC_LIT(literal)
#define PATH_BYTES 1024
#define NAMES_MAX 4096
/* nvidia-smi takes some seconds when the driver has to wake every GPU of a machine. */
#define TOOL_SECONDS 20
/* A text of ours: 4,096 PCI devices of 200 bytes fit. */
#define TEXT_BYTES ((size_t)1 << 20)

static struct tc_capture *capture_add(struct tc_captures *c, const char *name)
{
    if (c->count == TC_CAPTURES_MAX) {
        return NULL;
    }
    struct tc_capture *to = &c->items[c->count++];
    *to = (struct tc_capture){.bytes = NULL};
    (void)snprintf(to->name, sizeof to->name, "%s", name);
    return to;
}

void tc_captures_free(struct tc_captures *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->items[i].bytes);
    }
    c->count = 0;
}

/* ---- texts of ours ---- */

struct text {
    struct tc_captures *to;
    const char *root;
    const char *name;
    struct tc_buf b;
    size_t head;
};

/* False without memory. */
static bool begin(struct text *t, struct tc_captures *to, const char *root, const char *kind)
{
    char *bytes = malloc(TEXT_BYTES);
    *t = (struct text){.to = to, .root = root, .name = kind};
    t->b = tc_buf_make(bytes, bytes == NULL ? 0 : TEXT_BYTES);
    tc_buf_lit(&t->b, TC_PROBE_HEAD);
    (void)tc_format(&t->b, "{}\n", kind);
    t->head = t->b.len;
    return bytes != NULL;
}

/* Into the list; a text with nothing in it is named as missing. */
static void end(struct text *t, const char *missing)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s.txt", t->name);
    struct tc_capture *to = capture_add(t->to, name);
    if (to == NULL || t->b.len == t->head) {
        free(t->b.data);
        if (to != NULL) {
            (void)snprintf(to->error, sizeof to->error, "%s", missing);
        }
        return;
    }
    to->bytes = t->b.data;
    to->len = t->b.len;
}

/* The first line of a small file; empty when there is none. */
static struct tc_slice small_file(const char *path, char *buffer, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, buffer, cap);
    struct tc_slice rest = TC_EMPTY;
    if (fd >= 0) {
        (void)close(fd);
    }
    return n <= 0 ? TC_EMPTY
                  : tc_slice_trim(tc_slice_cut(tc_slice_make(buffer, (size_t)n), '\n', &rest));
}

static void put_attribute(struct text *t, const char *key, struct tc_slice value)
{
    if (value.len > 0) {
        (void)tc_format(&t->b, "\t{}={}", key, tc_as_printable(tc_slice_head(value, 256)));
    }
}

static void put_file(struct text *t, const char *dir, const char *file, const char *key)
{
    char path[PATH_BYTES];
    char value[256];
    (void)snprintf(path, sizeof path, "%s/%s", dir, file);
    put_attribute(t, key, small_file(path, value, sizeof value));
}

/* The last part of where a link leads. */
static struct tc_slice link_name(const char *dir, const char *link, char *buffer, size_t cap)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", dir, link);
    ssize_t n = readlink(path, buffer, cap);
    if (n <= 0) {
        return TC_EMPTY;
    }
    struct tc_slice s = tc_slice_make(buffer, (size_t)n);
    for (size_t at; (at = tc_slice_find_byte(s, '/')) != TC_NPOS;) {
        s = tc_slice_from(s, at + 1);
    }
    return s;
}

/* Each name in a directory, sorted; how many there were. */
static size_t each_name(const char *root, const char *dir, void *context,
                        void (*on_name)(void *context, const char *path, const char *name))
{
    char path[PATH_BYTES];
    struct dirent **names = NULL;
    (void)snprintf(path, sizeof path, "%s%s", root, dir);
    int count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        if (names[i]->d_name[0] != '.' && i < NAMES_MAX) {
            char full[PATH_BYTES];
            if (snprintf(full, sizeof full, "%s/%s", path, names[i]->d_name) < (int)sizeof full) {
                on_name(context, full, names[i]->d_name);
            }
        }
        free(names[i]);
    }
    free(names);
    return count > 0 ? (size_t)count : 0;
}

static void on_pci(void *context, const char *path, const char *name)
{
    struct text *t = context;
    char link[256];
    tc_buf_str(&t->b, tc_slice_cstr(name));
    put_file(t, path, "class", "class");
    put_file(t, path, "vendor", "vendor");
    put_file(t, path, "device", "device");
    put_file(t, path, "current_link_speed", "speed");
    put_file(t, path, "current_link_width", "width");
    put_file(t, path, "max_link_speed", "max_speed");
    put_file(t, path, "max_link_width", "max_width");
    put_file(t, path, "numa_node", "numa");
    put_attribute(t, "driver", link_name(path, "driver", link, sizeof link));
    tc_buf_char(&t->b, '\n');
}

static void on_numa(void *context, const char *path, const char *name)
{
    struct text *t = context;
    uint64_t number = 0;
    struct tc_slice rest = tc_slice_from(tc_slice_cstr(name), 4);
    if (strncmp(name, "node", 4) != 0 || rest.len == 0 || tc_slice_u64(rest, &number) != rest.len) {
        return;
    }
    tc_buf_str(&t->b, tc_slice_cstr(name));
    put_file(t, path, "cpulist", "cpus");
    put_file(t, path, "distance", "distance");
    tc_buf_char(&t->b, '\n');
}

/* Adapters that are devices; not lo, bridges and the ends of containers. */
static void on_net(void *context, const char *path, const char *name)
{
    struct text *t = context;
    char link[256];
    char driver_dir[PATH_BYTES];
    char value[64];
    char speed_path[PATH_BYTES];
    if (link_name(path, "device", link, sizeof link).len == 0) {
        return;
    }
    tc_buf_str(&t->b, tc_slice_cstr(name));
    put_attribute(t, "device", link_name(path, "device", link, sizeof link));
    (void)snprintf(driver_dir, sizeof driver_dir, "%s/device", path);
    put_attribute(t, "driver", link_name(driver_dir, "driver", link, sizeof link));
    (void)snprintf(speed_path, sizeof speed_path, "%s/speed", path);
    struct tc_slice speed = small_file(speed_path, value, sizeof value);
    uint64_t mbits = 0;
    if (tc_slice_u64(speed, &mbits) > 0 && mbits > 0) {
        char text[32];
        int n = snprintf(text, sizeof text, "%llu Mb/s", (unsigned long long)mbits);
        put_attribute(t, "speed", tc_slice_make(text, n > 0 ? (size_t)n : 0));
    }
    put_file(t, path, "mtu", "mtu");
    tc_buf_char(&t->b, '\n');
}

static void on_infiniband(void *context, const char *path, const char *name)
{
    struct text *t = context;
    tc_buf_str(&t->b, tc_slice_cstr(name));
    put_file(t, path, "hca_type", "hca");
    put_file(t, path, "fw_ver", "firmware");
    put_file(t, path, "board_id", "board");
    put_file(t, path, "ports/1/rate", "rate");
    put_file(t, path, "ports/1/link_layer", "link_layer");
    put_file(t, path, "ports/1/state", "state");
    tc_buf_char(&t->b, '\n');
}

static void on_library(void *context, const char *path, const char *name)
{
    struct text *t = context;
    if (strncmp(name, "libnccl.so.", 11) == 0 || strncmp(name, "libcudart.so.", 13) == 0 ||
        strncmp(name, "librccl.so.", 11) == 0) {
        (void)tc_format(&t->b, "{}\n", path + strlen(t->root));
    }
}

static void on_package(void *context, const char *path, const char *name)
{
    (void)path;
    struct text *t = context;
    if (tc_slice_ends(tc_slice_cstr(name), S(".dist-info"))) {
        (void)tc_format(&t->b, "{}\n", tc_as_printable(tc_slice_head(tc_slice_cstr(name), 256)));
    }
}

/* python3.11 below a lib directory: both of its places for packages. */
static void on_python(void *context, const char *path, const char *name)
{
    struct text *t = context;
    char dir[PATH_BYTES];
    if (strncmp(name, "python3", 7) != 0) {
        return;
    }
    (void)snprintf(dir, sizeof dir, "%s/site-packages", path + strlen(t->root));
    (void)each_name(t->root, dir, t, on_package);
    (void)snprintf(dir, sizeof dir, "%s/dist-packages", path + strlen(t->root));
    (void)each_name(t->root, dir, t, on_package);
}

static void capture_packages(struct tc_captures *c, const char *root)
{
    static const char *const places[] = {"/usr/local/lib", "/opt/conda/lib", "/opt/venv/lib",
                                         "/usr/lib"};
    struct text t;
    if (!begin(&t, c, root, "packages")) {
        return;
    }
    const char *venv = getenv("VIRTUAL_ENV");
    if (venv != NULL && root[0] == '\0') {
        char dir[PATH_BYTES];
        (void)snprintf(dir, sizeof dir, "%s/lib", venv);
        (void)each_name(root, dir, &t, on_python);
    }
    for (size_t i = 0; i < TC_COUNT(places); i++) {
        (void)each_name(root, places[i], &t, on_python);
    }
    end(&t, "no Python packages found");
}

static void capture_libraries(struct tc_captures *c, const char *root)
{
    static const char *const places[] = {"/usr/lib/x86_64-linux-gnu",
                                         "/usr/lib/aarch64-linux-gnu",
                                         "/usr/lib64",
                                         "/usr/local/lib",
                                         "/usr/local/cuda/lib64",
                                         "/opt/rocm/lib"};
    struct text t;
    if (!begin(&t, c, root, "libraries")) {
        return;
    }
    for (size_t i = 0; i < TC_COUNT(places); i++) {
        (void)each_name(root, places[i], &t, on_library);
    }
    end(&t, "neither NCCL nor CUDA found");
}

/* File systems of a network, by type; names of servers and paths are nobody's business. */
static void capture_storage(struct tc_captures *c, const char *root)
{
    struct tc_capture mounts = {.bytes = NULL};
    char path[PATH_BYTES];
    struct text t;
    (void)snprintf(path, sizeof path, "%s/proc/self/mounts", root);
    tc_probe_read(&mounts, path);
    if (!begin(&t, c, root, "storage")) {
        free(mounts.bytes);
        return;
    }
    struct tc_slice rest = tc_slice_make(mounts.bytes, mounts.len);
    while (rest.len > 0) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        (void)tc_slice_cut(line, ' ', &line);
        (void)tc_slice_cut(line, ' ', &line);
        struct tc_slice type = tc_slice_cut(line, ' ', &line);
        if (tc_slice_is_any(type, "nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "wekafs",
                            "cifs", "fuse.juicefs", "glusterfs")) {
            tc_buf_lit(&t.b, "mount");
            put_attribute(&t, "type", type);
            tc_buf_char(&t.b, '\n');
        }
    }
    free(mounts.bytes);
    end(&t, "no file system of a network is mounted");
}

static void capture_container(struct tc_captures *c)
{
    static const char *const variables[] = {"TRACECORE_IMAGE_DIGEST", "IMAGE_DIGEST",
                                            "CONTAINER_IMAGE_DIGEST", "CONTAINER_IMAGE",
                                            "CUDA_VERSION",           "NCCL_VERSION",
                                            "PYTORCH_VERSION",        "NVIDIA_PYTORCH_VERSION",
                                            "TRITON_SERVER_VERSION",  "KUBERNETES_SERVICE_HOST"};
    struct text t;
    if (!begin(&t, c, "", "container")) {
        return;
    }
    for (size_t i = 0; i < TC_COUNT(variables); i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && value[0] != '\0') {
            (void)tc_format(&t.b, "{}={}\n", variables[i],
                            tc_as_printable(tc_slice_head(tc_slice_cstr(value), 256)));
        }
    }
    end(&t, "no variable names an image; TRACECORE_IMAGE_DIGEST=sha256:... does");
}

static void capture_system(struct tc_captures *c)
{
    struct utsname u;
    struct tc_capture *to = capture_add(c, "uname.txt");
    char *text = malloc(sizeof u + 8);
    if (to == NULL || text == NULL || uname(&u) != 0) {
        free(text);
        return;
    }
    int n = snprintf(text, sizeof u + 8, "%s %s %s %s %s\n", u.sysname, u.nodename, u.release,
                     u.version, u.machine);
    to->bytes = text;
    to->len = n > 0 ? (size_t)n : 0;
}

static void capture_file(struct tc_captures *c, const char *root, const char *path,
                         const char *name)
{
    char full[PATH_BYTES];
    struct tc_capture *to = capture_add(c, name);
    (void)snprintf(full, sizeof full, "%s%s", root, path);
    if (to != NULL) {
        tc_probe_read(to, full);
    }
}

/* Of the first processor: a machine of 256 repeats it as often. */
static void cut_cpuinfo(struct tc_capture *to)
{
    size_t at = tc_slice_find(tc_slice_make(to->bytes, to->len), S("\n\n"));
    to->len = at == TC_NPOS ? to->len : at + 1;
}

static void capture_tools(struct tc_captures *c)
{
    static const struct {
        const char *file;
        const char *argv[5];
    } tools[] = {
        {"nvidia-smi.txt", {"nvidia-smi", NULL}},
        {"nvidia-smi-L.txt", {"nvidia-smi", "-L", NULL}},
        {"nvidia-smi-query-gpu.csv",
         {"nvidia-smi",
          "--query-gpu=index,name,uuid,pci.bus_id,memory.total,driver_version,pcie.link.gen.max,"
          "pcie.link.width.max,vbios_version,ecc.mode.current,mig.mode.current,power.limit,"
          "clocks.max.sm",
          "--format=csv", NULL}},
        {"nvidia-smi-topo-m.txt", {"nvidia-smi", "topo", "-m", NULL}},
        {"nvidia-smi-nvlink-status.txt", {"nvidia-smi", "nvlink", "--status", NULL}},
    };
    /* One that is not there, or hangs over a dead driver, is not asked again. */
    const char *given_up = NULL;
    for (size_t i = 0; i < TC_COUNT(tools); i++) {
        struct tc_capture *to = capture_add(c, tools[i].file);
        if (to == NULL) {
            return;
        }
        if (given_up != NULL) {
            (void)snprintf(to->error, sizeof to->error, "%s", given_up);
            continue;
        }
        tc_probe_run(to, tools[i].argv, TOOL_SECONDS);
        given_up = strcmp(to->error, "not installed") == 0      ? "not installed"
                   : strncmp(to->error, "took longer", 11) == 0 ? "not asked: it did not answer"
                                                                : NULL;
    }
}

static void capture_sys(struct tc_captures *c, const char *root)
{
    static const struct {
        const char *kind;
        const char *dir;
        void (*on_name)(void *context, const char *path, const char *name);
        const char *missing;
    } kinds[] = {
        {"pci", "/sys/bus/pci/devices", on_pci, "no PCI devices"},
        {"numa", "/sys/devices/system/node", on_numa, "no NUMA nodes"},
        {"infiniband", "/sys/class/infiniband", on_infiniband, "no InfiniBand devices"},
        {"net", "/sys/class/net", on_net, "no network devices"},
    };
    for (size_t i = 0; i < TC_COUNT(kinds); i++) {
        struct text t;
        if (begin(&t, c, root, kinds[i].kind)) {
            (void)each_name(root, kinds[i].dir, &t, kinds[i].on_name);
            end(&t, kinds[i].missing);
        }
    }
}

void tc_probe_capture(struct tc_captures *c, const char *root)
{
    capture_tools(c);
    capture_file(c, root, "/proc/driver/nvidia/version", "proc-driver-nvidia-version.txt");
    capture_file(c, root, "/usr/local/cuda/version.json", "cuda-version.json");
    capture_file(c, root, "/etc/os-release", "os-release.txt");
    capture_file(c, root, "/proc/cpuinfo", "cpuinfo.txt");
    cut_cpuinfo(&c->items[c->count - 1]);
    capture_system(c);
    capture_sys(c, root);
    capture_libraries(c, root);
    capture_packages(c, root);
    capture_storage(c, root);
    capture_container(c);
}

static int is_text_file(const struct dirent *d)
{
    return d->d_name[0] != '.' && strcmp(d->d_name, "probe.json") != 0;
}

tc_status tc_probe_load(struct tc_captures *c, const char *dir, struct tc_error *err)
{
    struct dirent **names = NULL;
    int count = scandir(dir, &names, is_text_file, alphasort);
    if (count < 0) {
        return tc_fail(err, TC_E_IO, 0, "%s", strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        char path[PATH_BYTES];
        struct tc_capture *to = capture_add(c, names[i]->d_name);
        if (to != NULL &&
            snprintf(path, sizeof path, "%s/%s", dir, names[i]->d_name) < (int)sizeof path) {
            tc_probe_read(to, path);
        }
        free(names[i]);
    }
    free(names);
    return count > TC_CAPTURES_MAX ? tc_fail(err, TC_E_LIMIT, 0, "%d files; at most %d are read",
                                             count, TC_CAPTURES_MAX)
                                   : TC_OK;
}
