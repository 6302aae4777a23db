/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel logs that others published, read in place (TC_SAMPLES): how many events of
 * which kind each file gives, and for every line that gives none, why that is right.
 * Some of the files are the cases of another project's tests, among them
 * lines that nothing may be made of. Skipped where the samples are not there.
 */
#include "unit/codec/kmsg_harness.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_MAX 65536
#define KINDS_MAX 4
#define ANY_LINE 0

struct sample {
    const char *file;
    int sniff;
    size_t undated;
    struct {
        enum tc_event_kind kind;
        size_t count;
    } kinds[KINDS_MAX];
};

static const struct sample SAMPLES[] = {
    {"aer_real.txt",
     TC_SNIFF_LIKELY,
     14,
     {{TC_EVENT_AER, 11}, {TC_EVENT_XID, 1}, {TC_EVENT_GPU_INVENTORY, 1}, {TC_EVENT_PCIE_LINK, 1}}},
    {"gpud_accelerator_nvidia_infiniband.txt", TC_SNIFF_LIKELY, 3, {{TC_EVENT_NETWORK_FAULT, 29}}},
    {"gpud_accelerator_nvidia_nccl.txt", TC_SNIFF_LIKELY, 1, {{TC_EVENT_PROCESS_FAULT, 6}}},
    {"gpud_accelerator_nvidia_nvlink.txt", TC_SNIFF_LIKELY, 3, {{TC_EVENT_DRIVER_FAULT, 3}}},
    {"gpud_accelerator_nvidia_peermem.txt", TC_SNIFF_LIKELY, 0, {{TC_EVENT_DRIVER_FAULT, 5}}},
    {"gpud_accelerator_nvidia_sxid.txt", TC_SNIFF_LIKELY, 7, {{TC_EVENT_SXID, 7}}},
    {"gpud_cpu.txt", TC_SNIFF_LIKELY, 2, {{TC_EVENT_STUCK_TASK, 7}}},
    {"gpud_disk.txt", TC_SNIFF_LIKELY, 18, {{TC_EVENT_STORAGE_ERROR, 45}}},
    {"gpud_memory.txt", TC_SNIFF_LIKELY, 31, {{TC_EVENT_OOM_KILL, 31}}},
    {"gpud_nfs.txt", TC_SNIFF_MAYBE, 7, {{TC_EVENT_STORAGE_ERROR, 7}}},
    {"gpud_os.txt", TC_SNIFF_MAYBE, 0, {{0}}},
    {"gpud_xid_lines.txt", TC_SNIFF_LIKELY, 92, {{TC_EVENT_XID, 92}}},
    {"oom_edac_ghes_real.txt",
     TC_SNIFF_LIKELY,
     2,
     {{TC_EVENT_OOM_KILL, 4}, {TC_EVENT_MEMORY_ERROR, 4}}},
    /* No kernel log: it is not recognised, and when told to read it we find nothing. */
    {"testdata/components_accelerator_nvidia_fabric-manager_testdata_fabricmanager.log",
     TC_SNIFF_NO,
     0,
     {{0}}},
    {"testdata/components_accelerator_nvidia_nccl_testdata_dmesg.decode.iso.log",
     TC_SNIFF_LIKELY,
     0,
     {{TC_EVENT_PROCESS_FAULT, 2}}},
    {"testdata/components_memory_testdata_dmesg.decode.iso.log",
     TC_SNIFF_LIKELY,
     0,
     {{TC_EVENT_XID, 17}, {TC_EVENT_OOM_KILL, 4}}},
    {"testdata/pkg_kmsg_testdata_kmsg.1.log", TC_SNIFF_SURE, 0, {{0}}},
};

/* Lines that rightly give no event; comment lines need no entry. */
static const struct {
    const char *file;
    size_t line;
    const char *why;
} NOT_OURS[] = {
    {"aer_real.txt", 10, "recovery under way, after the report"},
    {"aer_real.txt", 11, "recovery under way, after the report"},
    {"aer_real.txt", 13, "serial number, no fault"},
    {"aer_real.txt", 17, "why the report above has no details"},
    {"aer_real.txt", 40, "outcome of a recovery, no error of its own"},
    {"aer_real.txt", 41, "outcome of a recovery, no error of its own"},
    {"aer_real.txt", 47, "outcome of a recovery, no error of its own"},
    {"gpud_accelerator_nvidia_infiniband.txt", 1, "not the adapter's message"},
    {"gpud_accelerator_nvidia_infiniband.txt", 4, "says that all is well"},
    {"gpud_accelerator_nvidia_infiniband.txt", 20, "another command failed; not known to matter"},
    {"gpud_accelerator_nvidia_infiniband.txt", 22, "says that all is well"},
    {"gpud_accelerator_nvidia_infiniband.txt", 25, "watts the driver never prints so"},
    {"gpud_accelerator_nvidia_infiniband.txt", 26, "watts the driver never prints so"},
    {"gpud_accelerator_nvidia_infiniband.txt", 28, "no watts"},
    {"gpud_accelerator_nvidia_infiniband.txt", 37, "says nothing"},
    {"gpud_accelerator_nvidia_infiniband.txt", 38, "says nothing"},
    {"gpud_accelerator_nvidia_infiniband.txt", 39, "quoted inside other text"},
    {"gpud_accelerator_nvidia_nccl.txt", 7, "no segfault"},
    {"gpud_accelerator_nvidia_nvlink.txt", 1, "says that all is well"},
    {"gpud_accelerator_nvidia_peermem.txt", 4, "no error in it"},
    {"gpud_accelerator_nvidia_peermem.txt", 6, "another error; not known to matter"},
    {"gpud_accelerator_nvidia_peermem.txt", 7, "another error; not known to matter"},
    {"gpud_accelerator_nvidia_sxid.txt", 1, "says nothing"},
    {"gpud_accelerator_nvidia_sxid.txt", 2, "says nothing"},
    {"gpud_accelerator_nvidia_sxid.txt", 9, "code is no number"},
    {"gpud_accelerator_nvidia_sxid.txt", 10, "no address and no code"},
    {"gpud_cpu.txt", 3, "says that all is well"},
    {"gpud_cpu.txt", 4, "task without a process id"},
    {"gpud_cpu.txt", 9, "says that all is well"},
    {"gpud_cpu.txt", 11, "says that all is well"},
    {"gpud_disk.txt", 1, "says nothing"},
    {"gpud_disk.txt", 11, "advice at mount time"},
    {"gpud_disk.txt", 15, "says that all is well"},
    {"gpud_disk.txt", 16, "read-write is good news"},
    {"gpud_disk.txt", 17, "not the kernel's words"},
    {"gpud_disk.txt", 31, "not beyond the end"},
    {"gpud_disk.txt", 32, "does not say that I/O failed"},
    {"gpud_disk.txt", 37, "says that all is well"},
    {"gpud_disk.txt", 45, "no disk named"},
    {"gpud_disk.txt", 51, "module loaded"},
    {"gpud_disk.txt", 52, "not after a failed reset"},
    {"gpud_disk.txt", 55, "not the driver's words"},
    {"gpud_disk.txt", 56, "device found"},
    {"gpud_memory.txt", 9, "process id is no number"},
    {"gpud_memory.txt", 30, "boot message"},
    {"gpud_memory.txt", 31, "who asked for memory, not who was killed"},
    {"gpud_memory.txt", 34, "process id is no number"},
    {"gpud_memory.txt", 36, "who asked for memory, not who was killed"},
    {"gpud_memory.txt", 37, "says nothing"},
    {"gpud_memory.txt", 38, "says nothing"},
    {"gpud_nfs.txt", 1, "frame of a stack, without the reason for it"},
    {"gpud_nfs.txt", 2, "frame of a stack, without the reason for it"},
    {"gpud_nfs.txt", 3, "frame of a stack, without the reason for it"},
    {"gpud_nfs.txt", 4, "frame of a stack, without the reason for it"},
    {"gpud_nfs.txt", 5, "frame of a stack, without the reason for it"},
    {"gpud_nfs.txt", 6, "module loaded"},
    {"gpud_nfs.txt", 7, "frame of a stack, without the reason for it"},
    {"gpud_nfs.txt", 13, "neither lost nor back"},
    {"gpud_nfs.txt", 16, "frame of a stack, without the reason for it"},
    {"gpud_nfs.txt", 17, "says nothing"},
    {"gpud_os.txt", ANY_LINE, "headers of stacks, and a limit that no detector reads"},
    {"oom_edac_ghes_real.txt", 2, "announces a kill; the kill is the next line"},
    {"oom_edac_ghes_real.txt", 6, "clears up after a kill"},
    {"oom_edac_ghes_real.txt", 7, "who asked for memory, not who was killed"},
    {"oom_edac_ghes_real.txt", 14, "announces the error of the next line"},
    {"oom_edac_ghes_real.txt", 18, "start of a firmware report; its section is the event"},
    {"oom_edac_ghes_real.txt", 19, "part of a firmware report; its section is the event"},
    {"oom_edac_ghes_real.txt", 20, "part of a firmware report; its section is the event"},
    {"testdata/components_accelerator_nvidia_fabric-manager_testdata_fabricmanager.log", ANY_LINE,
     "another program's log"},
    {"testdata/components_memory_testdata_dmesg.decode.iso.log", 18, "clears up after a kill"},
    {"testdata/components_memory_testdata_dmesg.decode.iso.log", 21, "announces a kill"},
    {"testdata/components_memory_testdata_dmesg.decode.iso.log", 24,
     "no constraint of the kernel's"},
    {"testdata/pkg_kmsg_testdata_kmsg.1.log", ANY_LINE, "an uneventful boot"},
};

static char samples_path[2048];

static bool find_samples(void)
{
    const char *samples = getenv("TC_SAMPLES");
    const char *source = getenv("TC_SOURCE_DIR");
    int len = 0;
    if (samples != NULL && samples[0] != '\0') {
        len = snprintf(samples_path, sizeof samples_path, "%s/kmsg", samples);
    } else if (source != NULL) {
        len = snprintf(samples_path, sizeof samples_path, "%s/../shared/samples/kmsg", source);
    }
    if (len <= 0 || (size_t)len >= sizeof samples_path) {
        return false;
    }
    DIR *dir = opendir(samples_path);
    if (dir == NULL) {
        return false;
    }
    (void)closedir(dir);
    return true;
}

static struct tc_slice read_sample(const char *name)
{
    static char bytes[FILE_MAX];
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", samples_path, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("%s: %s", path, strerror(errno));
    }
    size_t len = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    assert_true(len < sizeof bytes);
    return tc_slice_make(bytes, len);
}

static size_t line_of(struct tc_slice bytes, uint64_t offset)
{
    size_t line = 1;
    for (size_t i = 0; i < offset; i++) {
        line += bytes.ptr[i] == '\n';
    }
    return line;
}

static void each_sample_gives_its_events_by_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof SAMPLES / sizeof SAMPLES[0]; i++) {
        const struct sample *sample = &SAMPLES[i];
        struct tc_slice bytes = read_sample(sample->file);
        const struct result *r = decode_input(harness_input(bytes));
        size_t expected[TC_EVENT_KIND_COUNT] = {0};
        size_t found[TC_EVENT_KIND_COUNT] = {0};
        for (size_t j = 0; j < KINDS_MAX; j++) {
            expected[sample->kinds[j].kind] += sample->kinds[j].count;
        }
        for (size_t j = 0; j < r->count; j++) {
            found[r->events[j].kind]++;
        }
        for (unsigned kind = 0; kind < TC_EVENT_KIND_COUNT; kind++) {
            if (found[kind] != expected[kind]) {
                fail_msg("%s: %zu events of %.*s, expected %zu", sample->file, found[kind],
                         TC_FMT(tc_event_kind_name((enum tc_event_kind)kind)), expected[kind]);
            }
        }
        assert_int_equal(tc_codec_sniff(&tc_codec_kmsg, bytes, true, TC_EMPTY), sample->sniff);
        /* Of lines with a time since boot we know no date, nor of those without any date above. */
        assert_int_equal(r->cursor.undated, sample->undated);
    }
}

static bool is_not_ours(const char *file, size_t line)
{
    for (size_t i = 0; i < sizeof NOT_OURS / sizeof NOT_OURS[0]; i++) {
        if (strcmp(NOT_OURS[i].file, file) == 0 &&
            (NOT_OURS[i].line == line || NOT_OURS[i].line == ANY_LINE)) {
            return true;
        }
    }
    return false;
}

static void every_line_without_an_event_is_accounted_for(void **state)
{
    (void)state;
    size_t accounted = 0;
    for (size_t i = 0; i < sizeof SAMPLES / sizeof SAMPLES[0]; i++) {
        const char *file = SAMPLES[i].file;
        struct tc_slice bytes = read_sample(file);
        const struct result *r = decode_input(harness_input(bytes));
        for (size_t j = 0; j < r->unknown_count; j++) {
            size_t line = line_of(bytes, r->unknown[j].offset);
            if (strcmp(r->unknown[j].why, "comment") == 0) {
                continue;
            }
            if (!is_not_ours(file, line)) {
                fail_msg("%s:%zu gave no event: %s", file, line, r->unknown[j].why);
            }
            accounted++;
        }
        for (size_t j = 0; j < r->count; j++) {
            size_t line = line_of(bytes, r->events[j].raw.offset);
            if (is_not_ours(file, line)) {
                fail_msg("%s:%zu gave an event", file, line);
            }
        }
    }
    assert_true(accounted >= sizeof NOT_OURS / sizeof NOT_OURS[0]);
}

/* Every file of `folder` ("" or "testdata/") that ends so is in the table above. */
static void check_folder(const char *folder, const char *suffix)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", samples_path, folder);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    size_t files = 0;
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char name[512];
        bool known = false;
        (void)snprintf(name, sizeof name, "%s%s", folder, entry->d_name);
        if (!tc_slice_ends(tc_slice_cstr(name), tc_slice_cstr(suffix))) {
            continue;
        }
        for (size_t i = 0; i < sizeof SAMPLES / sizeof SAMPLES[0]; i++) {
            known = known || strcmp(SAMPLES[i].file, name) == 0;
        }
        if (!known) {
            fail_msg("%s is a sample that no test reads", name);
        }
        files++;
    }
    (void)closedir(dir);
    assert_true(files > 0);
}

static void no_sample_is_left_out(void **state)
{
    (void)state;
    check_folder("", ".txt");
    check_folder("testdata/", ".log");
}

static void the_fatal_error_before_a_lost_gpu_is_read_in_full(void **state)
{
    (void)state;
    const struct result *r = decode_input(harness_input(read_sample("aer_real.txt")));
    const struct tc_event *ev = &r->events[1];
    assert_int_equal(ev->kind, TC_EVENT_AER);
    assert_slice(ev->aer.severity, "fatal");
    assert_slice(ev->aer.layer, "transaction");
    assert_slice(ev->aer.errors, "SDES");
    assert_bdf(ev->scope.pci, "0000:00:02.0");
    assert_int_equal(r->events[3].xid.code, 79);
    assert_bdf(r->events[3].scope.pci, "0000:02:00.0");
    assert_int_equal(r->events[3].uptime_ns - ev->uptime_ns, INT64_C(102013000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sample_gives_its_events_by_kind),
        cmocka_unit_test(every_line_without_an_event_is_accounted_for),
        cmocka_unit_test(no_sample_is_left_out),
        cmocka_unit_test(the_fatal_error_before_a_lost_gpu_is_read_in_full),
    };
    if (!find_samples()) {
        (void)fprintf(stderr, "skipped: no kernel log samples (set TC_SAMPLES)\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
