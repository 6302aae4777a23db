/* SPDX-License-Identifier: Apache-2.0 */
/* Capturing: tools that hang, fail or never end, and a machine that is a tree of files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/probe/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tc_captures captures;
static struct tc_probe probe;

static void assert_run(const char *script, int seconds, const char *error)
{
    struct tc_capture c = {.bytes = NULL};
    const char *const argv[] = {"sh", "-c", script, NULL};
    tc_probe_run(&c, argv, seconds);
    assert_string_equal(c.error, error);
    assert_int_equal(c.bytes == NULL, error[0] != '\0');
    free(c.bytes);
}

static void tools_may_do_anything(void **state)
{
    (void)state;
    assert_run("echo hello", 60, "");
    assert_run("exit 3", 60, "ended with status 3");
    assert_run("echo half; exit 3", 60, "ended with status 3");
    assert_run("kill -9 $$", 60, "ended with status 137");
    assert_run(":", 60, "said nothing");
    assert_run("exec sleep 600", 1, "took longer than 1 s");
    /* Its output ends, and it does not. */
    assert_run("exec >&-; exec sleep 600", 1, "took longer than 1 s");
    struct tc_capture c = {.bytes = NULL};
    const char *const missing[] = {"tracecore-no-such-tool", NULL};
    tc_probe_run(&c, missing, 60);
    assert_string_equal(c.error, "not installed");
    const char *const endless[] = {"cat", "/dev/zero", NULL};
    c = (struct tc_capture){.bytes = NULL};
    tc_probe_run(&c, endless, 60);
    assert_true(c.bytes == NULL || c.len == TC_PROBE_BYTES_MAX);
    free(c.bytes);
}

static char root[64];

/* A file of the tree, with its directories. */
static void put(const char *path, const char *text)
{
    char full[512];
    (void)snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(full, 0777);
        *at = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void put_link(const char *path, const char *to)
{
    char full[512];
    (void)snprintf(full, sizeof full, "%s%s", root, path);
    assert_int_equal(symlink(to, full), 0);
}

static void a_tree_is_a_machine(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/tc_probe_XXXXXX");
    assert_non_null(mkdtemp(root));
    put("/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.1  Sat\n");
    put("/usr/local/cuda/version.json",
        "{\"cuda\":{\"name\":\"CUDA SDK\",\"version\":\"12.8.1\"}}");
    put("/etc/os-release", "PRETTY_NAME=\"Tree OS\"\n");
    put("/proc/cpuinfo", "processor : 0\nmodel name : Oak\n\nprocessor : 1\nmodel name : Elm\n");
    put("/proc/self/mounts", "a / ext4 rw 0 0\nserver:/secret /data lustre rw 0 0\n");
    put("/sys/bus/pci/devices/0000:1b:00.0/class", "0x030200\n");
    put("/sys/bus/pci/devices/0000:1b:00.0/vendor", "0x10de\n");
    put("/sys/bus/pci/devices/0000:1b:00.0/max_link_speed", "32.0 GT/s PCIe\n");
    put("/sys/bus/pci/devices/0000:1b:00.0/max_link_width", "16\n");
    put("/sys/devices/system/node/node0/cpulist", "0-3\n");
    put("/sys/devices/system/node/node1/cpulist", "4-7\n");
    put("/sys/devices/system/node/online", "0-1\n");
    put("/sys/class/infiniband/mlx5_0/hca_type", "MT4129\n");
    put("/sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
    put("/sys/class/net/eth0/speed", "100000\n");
    put_link("/sys/class/net/eth0/device", "../../devices/0000:2a:00.0");
    put("/sys/class/net/lo/mtu", "65536\n");
    put("/usr/lib/x86_64-linux-gnu/libnccl.so.2.26.2", "");
    put("/opt/conda/lib/python3.12/site-packages/torch-2.7.0.dist-info/METADATA", "");
    captures.count = 0;
    tc_probe_capture(&captures, root);
    tc_probe_init(&probe);
    for (size_t i = 0; i < captures.count; i++) {
        const struct tc_capture *c = &captures.items[i];
        assert_true((c->bytes == NULL) == (c->error[0] != '\0'));
        if (c->bytes != NULL) {
            assert_non_null(tc_probe_take(&probe, tc_slice_make(c->bytes, c->len)));
            assert_false(tc_slice_contains(tc_slice_make(c->bytes, c->len), TC_LIT("secret")));
        }
    }
    assert_string_equal(probe.facts[TC_PROBE_DRIVER], "570.1");
    assert_string_equal(probe.facts[TC_PROBE_CUDA], "12.8.1");
    assert_string_equal(probe.facts[TC_PROBE_OS], "Tree OS");
    assert_string_equal(probe.facts[TC_PROBE_CPU], "Oak");
    assert_string_equal(probe.facts[TC_PROBE_PCIE], "1 x gen5 x16");
    assert_string_equal(probe.facts[TC_PROBE_NODES], "2 nodes; cpus 0-3 | 4-7");
    assert_string_equal(probe.facts[TC_PROBE_FABRIC], "1 x MT4129 400 Gb/sec (4X NDR)");
    assert_string_equal(probe.facts[TC_PROBE_ETHERNET], "1 x 100000 Mb/s");
    assert_string_equal(probe.facts[TC_PROBE_NCCL], "2.26.2");
    assert_string_equal(probe.facts[TC_PROBE_FRAMEWORK], "pytorch");
    assert_string_equal(probe.facts[TC_PROBE_FRAMEWORK_VERSION], "2.7.0");
    assert_string_equal(probe.facts[TC_PROBE_STORAGE], "1 x lustre");
    tc_captures_free(&captures);
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0); /* NOLINT: a directory of ours */
}

static void a_directory_has_a_limit(void **state)
{
    (void)state;
    struct tc_error err;
    (void)snprintf(root, sizeof root, "/tmp/tc_probe_XXXXXX");
    assert_non_null(mkdtemp(root));
    for (int i = 0; i < TC_CAPTURES_MAX; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "/%d.txt", i);
        put(name, "hello\n");
    }
    captures.count = 0;
    assert_int_equal(tc_probe_load(&captures, root, &err), TC_OK);
    tc_captures_free(&captures);
    put("/one-more.txt", "hello\n");
    assert_int_equal(tc_probe_load(&captures, root, &err), TC_E_LIMIT);
    tc_captures_free(&captures);
    assert_int_equal(tc_probe_load(&captures, "/nowhere/at/all", &err), TC_E_IO);
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0); /* NOLINT: a directory of ours */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_may_do_anything),
        cmocka_unit_test(a_tree_is_a_machine),
        cmocka_unit_test(a_directory_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
