/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel messages through OpenTelemetry: the journald and filelog receivers. Values are invented.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/event_own.h"
#include "unit/codec/otlp_testing.h"

#define XID "NVRM: Xid (PCI:0000:b3:00): 79, pid=1234, name=python, GPU has fallen off the bus."
#define NODE RESOURCE(KV("host.name", STR("gpu-01")))

static void journal_records_are_the_kernels_by_their_transport(void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        size_t count;
    } cases[] = {
        {KV("_TRANSPORT", STR("kernel")) "," KV("MESSAGE", STR(XID)), 1},
        {KV("_TRANSPORT", STR("kernel")) "," KV("SYSLOG_IDENTIFIER", STR("x")) "," KV("MESSAGE",
                                                                                      STR(XID)),
         1},
        {KV("SYSLOG_IDENTIFIER", STR("kernel")) "," KV("MESSAGE", STR(XID)), 1},
        /* A program that quotes the kernel is not the kernel. */
        {KV("_TRANSPORT", STR("stdout")) "," KV("SYSLOG_IDENTIFIER",
                                                STR("kernel")) "," KV("MESSAGE", STR(XID)),
         0},
        {KV("SYSLOG_IDENTIFIER", STR("logger")) "," KV("MESSAGE", STR(XID)), 0},
        {KV("_TRANSPORT", STR("kernel")) "," KV("MESSAGE", STR("usb 1-2: new device")), 0},
        {KV("_TRANSPORT", STR("kernel")) "," KV("MESSAGE", STR("")), 0},
        {KV("_TRANSPORT", STR("kernel")), 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[2048];
        (void)snprintf(
            text, sizeof text,
            LOGS(NODE, "{" TIME ",\"body\":" KVLIST(KV("_HOSTNAME", STR("gpu-07")) "," //
                                                                                   "%s") "}"),
            cases[i].fields);
        assert_int_equal(decode(text), TC_OK);
        if (t.count != cases[i].count) {
            print_error("case %zu\n", i);
        }
        assert_int_equal(t.count, cases[i].count);
        assert_int_equal(t.unknown, 1 - cases[i].count);
        if (t.count == 1) {
            const struct tc_event *ev = &t.events[0];
            assert_int_equal(ev->kind, TC_EVENT_XID);
            assert_int_equal(ev->xid.code, 79);
            assert_true(ev->scope.pci.known);
            assert_int_equal(ev->scope.pid, 1234);
            SAME(ev->scope.node, "gpu-07");
            assert_true(ev->time_ns == at("2026-03-01T10:05:01Z"));
            assert_true(tc_slice_starts(raw_of(0), TC_LIT("{" TIME)));
            assert_true(tc_slice_ends(raw_of(0), TC_LIT("}")));
        }
    }
}

static void messages_of_the_journal_may_be_bytes(void **state)
{
    (void)state;
    /* "Killed process 7 (a)", in the form of the kernel's line. */
    static const char message[] = "Out of memory: Killed process 7 (py) total-vm:8kB, "
                                  "anon-rss:4kB, file-rss:0kB, shmem-rss:0kB, UID:0";
    char numbers[4096] = "";
    size_t len = 0;
    for (size_t i = 0; message[i] != '\0'; i++) {
        len += (size_t)snprintf(numbers + len, sizeof numbers - len, "%s{\"doubleValue\":%d}",
                                i == 0 ? "" : ",", message[i]);
    }
    char text[8192];
    (void)snprintf(text, sizeof text,
                   LOGS(NODE, "{\"body\":" KVLIST(KV("_TRANSPORT", STR("kernel")) "," KV(
                                  "MESSAGE", LIST("%s"))) "}"),
                   numbers);
    assert_int_equal(decode(text), TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.events[0].kind, TC_EVENT_OOM_KILL);
    SAME(t.events[0].oom.process, "py");
    SAME(t.events[0].scope.node, "gpu-01");
}

static void files_are_the_kernels_by_name_or_by_prefix(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        const char *attrs;
        size_t count;
        const char *node;
    } cases[] = {
        {XID, KV("log.file.name", STR("kern.log")), 1, "gpu-01"},
        {XID, KV("log.file.path", STR("/var/log/kern.log.1")), 1, "gpu-01"},
        {XID, KV("log.file.path", STR("/dev/kmsg")), 1, "gpu-01"},
        {"Mar  1 10:05:01 gpu-09 kernel: [68183.615790] " XID, KV("log.file.name", STR("messages")),
         1, "gpu-09"},
        {"Mar  1 10:05:01 gpu-09 python[12]: " XID, KV("log.file.name", STR("messages")), 0, ""},
        {"Mar  1 10:05:01 gpu-09 python[12]: " XID, KV("log.file.name", STR("kern.log")), 0, ""},
        {"6,3964,206764307,-;" XID, "", 1, "gpu-01"},
        {"[  123.456789] " XID, "", 1, "gpu-01"},
        {"{\\\"MESSAGE\\\":\\\"" XID "\\\",\\\"_TRANSPORT\\\":\\\"kernel\\\",\\\"_HOSTNAME\\\":"
         "\\\"gpu-08\\\"}",
         "", 1, "gpu-08"},
        {XID, "", 1, "gpu-01"},
        {"we saw " XID, "", 0, ""},
        {"{\\\"text\\\":\\\"PCIe Bus Error: severity=Corrected\\\"}", "", 0, ""},
        {XID,
         KV("appname", STR("kernel")) "," KV("message", STR(XID)) "," KV("hostname", STR("gpu-05")),
         1, "gpu-05"},
        {XID, KV("appname", STR("trainer")) "," KV("message", STR(XID)), 0, ""},
        {XID, KV("k8s.node.name", STR("node-1")) "," KV("_HOSTNAME", STR("gpu-05")), 1, "node-1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[4096];
        (void)snprintf(text, sizeof text, LOGS(NODE, "{" TIME "," BODY("%s") "," ATTRS("%s") "}"),
                       cases[i].body, cases[i].attrs);
        assert_int_equal(decode(text), TC_OK);
        if (t.count != cases[i].count) {
            print_error("case %zu\n", i);
        }
        assert_int_equal(t.count, cases[i].count);
        assert_int_equal(t.unknown, 1 - cases[i].count);
        if (t.count == 1) {
            assert_int_equal(t.events[0].xid.code, 79);
            SAME(t.events[0].scope.node, cases[i].node);
            assert_true(t.events[0].time_ns == at("2026-03-01T10:05:01Z"));
        }
    }
}

static void the_lines_own_date_comes_before_the_time_of_reading(void **state)
{
    (void)state;
    assert_int_equal(
        decode(LOGS(
            NODE,
            "{" OBSERVED "," BODY(
                "2026-03-01T09:00:00.5Z gpu-02 kernel: " XID) "}," //
                                                              /* No year: the one in which it
                                                                 was read. */
                                                              "{" OBSERVED "," BODY(
                                                                  "Mar  1 09:30:00 gpu-02 "
                                                                  "kernel: " XID) "}," //
                                                                                  "{" OBSERVED
                                                                                  "," BODY(
                                                                                      "[ "
                                                                                      "12.5]"
                                                                                      " " XID) "}")),
        TC_OK);
    assert_int_equal(t.count, 3);
    assert_true(t.events[0].time_ns == at("2026-03-01T09:00:00.5Z"));
    assert_true(t.events[1].time_ns == at("2026-03-01T09:30:00Z"));
    assert_true(t.events[2].time_ns == at("2026-03-01T11:00:00Z"));
}

static void repeated_messages_keep_their_count(void **state)
{
    (void)state;
    assert_int_equal(
        decode(LOGS(NODE,
                    "{" TIME "," BODY("Mar  1 10:05:01 gpu-09 kernel: message repeated 3 times: "
                                      "[ nfs: server 10.0.0.9 not responding, still trying]") "}")),
        TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.events[0].kind, TC_EVENT_STORAGE_ERROR);
    assert_int_equal(t.events[0].fault.count, 3);
}

#define KERNEL(message) \
    "{" TIME            \
    ",\"body\":" KVLIST(KV("_TRANSPORT", STR("kernel")) "," KV("MESSAGE", STR(message))) "}"
#define AER_HEAD KERNEL("pcieport 0000:16:01.0: AER: Corrected error received: 0000:16:01.0")
#define AER_BODY                                                                               \
    KERNEL("pcieport 0000:16:01.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, " \
           "(Transmitter ID)")
#define AER_STATUS \
    KERNEL("pcieport 0000:16:01.0:   device [8086:347a] error status/mask=00001000/00002000")

static void lines_of_one_report_see_each_other_across_records_and_documents(void **state)
{
    (void)state;
    static const char *const texts[] = {
        LOGS(NODE, AER_HEAD "," AER_BODY "," AER_STATUS),
        LOGS(NODE, AER_HEAD) "\n" LOGS(NODE, AER_BODY) "\n" LOGS(NODE, AER_STATUS) "\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(decode(texts[i]), TC_OK);
        assert_int_equal(t.count, 1);
        assert_int_equal(t.events[0].kind, TC_EVENT_AER);
        SAME(t.events[0].aer.severity, "corrected");
        SAME(t.events[0].aer.layer, "data_link");
        assert_int_equal(t.events[0].aer.status, 0x1000);
        SAME(raw_of(0), AER_STATUS);
    }
}

static void bodies_of_several_lines_are_read_line_by_line(void **state)
{
    (void)state;
    assert_int_equal(
        decode(LOGS(NODE, "{" TIME "," BODY("[ 1.0] " XID "\\n[ 2.0] eth0: x\\n\\n[ 3.0] "
                                            "NVRM: Xid (PCI:0000:b3:00): 31, a") "}")),
        TC_OK);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.events[1].xid.code, 31);
    assert_true(t.events[0].raw.offset == t.events[1].raw.offset);
}

static void many_records_fill_a_block_more_than_once(void **state)
{
    (void)state;
    /* Few lines fit into the block of a small scratch. */
    t.scratch_bytes = 96 << 10;
    static char text[1 << 18];
    size_t len = 0;
    for (size_t i = 0; i < EVENTS_MAX; i++) {
        char node[16];
        (void)snprintf(node, sizeof node, "gpu-%zu", i / 2);
        len += (size_t)snprintf(text + len, sizeof text - len,
                                LOGS(RESOURCE(KV("k8s.node.name", STR("%s"))),
                                     "{" TIME
                                     "," BODY("NVRM: Xid (PCI:0000:b3:00): %zu, %s") "}") "\n",
                                node, i, "a message that goes on for a while, to take some room");
    }
    assert_int_equal(decode_bytes(text, len), TC_OK);
    assert_int_equal(t.count, EVENTS_MAX);
    for (size_t i = 0; i < EVENTS_MAX; i++) {
        char node[16];
        (void)snprintf(node, sizeof node, "gpu-%zu", i / 2);
        assert_int_equal(t.events[i].xid.code, i);
        SAME(t.events[i].scope.node, node);
    }
}

static void events_come_in_the_order_of_their_records(void **state)
{
    (void)state;
#define LOADER "{" ATTRS(KV("dataloader.error_class", STR("timeout"))) "}"
#define OWN "{" BODY("{\\\"kind\\\":\\\"train_step\\\",\\\"step\\\":5}") "}"
#define METRIC                                                                                   \
    "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"name\":\"DCGM_FI_DEV_GPU_TEMP\"," \
    "\"gauge\":{\"dataPoints\":[{\"asInt\":1}]}}]}]}]}"
    assert_int_equal(decode(LOGS(NODE, KERNEL(XID) "," LOADER "," KERNEL(XID) "," OWN "," KERNEL(
                                           XID)) "\n" METRIC "\n" LOGS(NODE, OWN)),
                     TC_OK);
    static const enum tc_event_kind kinds[] = {
        TC_EVENT_XID, TC_EVENT_LOADER_ERROR, TC_EVENT_XID,       TC_EVENT_TRAIN_STEP,
        TC_EVENT_XID, TC_EVENT_METRIC,       TC_EVENT_TRAIN_STEP};
    assert_int_equal(t.count, sizeof kinds / sizeof kinds[0]);
    for (size_t i = 0; i < t.count; i++) {
        assert_int_equal(t.events[i].kind, kinds[i]);
        assert_true(i == 0 || t.events[i].raw.offset > t.events[i - 1].raw.offset);
    }
}

static void odd_names_of_nodes_do_no_harm(void **state)
{
    (void)state;
    static const char *const nodes[] = {"a b", "x:", "-", "n\\nkernel: " XID, "\\u00e9"};
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        char text[2048];
        (void)snprintf(text, sizeof text,
                       LOGS(RESOURCE(KV("k8s.node.name", STR("%s"))), "{" TIME "," BODY(XID) "}"),
                       nodes[i]);
        assert_int_equal(decode(text), TC_OK);
        assert_int_equal(t.count, 1);
        assert_true(t.events[0].scope.node.len > 0);
    }
}

/* The name of a process is anybody's: it makes no step of the driver's line, nor of those that
 * quote one; a program's line beside it is still its own. */
static void an_xid_of_a_process_named_like_a_step_is_an_xid(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum tc_event_kind kind;
    } cases[] = {
        {"NVRM: Xid (PCI:0000:b3:00): 31, pid=9, name=step: 12 loss: 3.5, x", TC_EVENT_XID},
        {"step: 12 loss: 3.5", TC_EVENT_TRAIN_STEP},
        {"NVRM: Xid (PCI:0000:b3:00): 31, pid=9, x\\nstep: 12 loss: 3.5", TC_EVENT_TRAIN_STEP},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, LOGS(NODE, "{" TIME "," BODY("%s") "}"), cases[i].text);
        assert_int_equal(decode(text), TC_OK);
        assert_true(t.count > 0);
        assert_int_equal(t.events[0].kind, cases[i].kind);
    }
}

/* An Xid's line is read at once when nothing waits, else with the lines before it: both ways say
 * the same, to the nanosecond. */
static void an_xid_is_the_same_alone_and_among_other_lines(void **state)
{
    (void)state;
    static const char *const lines[] = {
        XID,
        "  NVRM: Xid (PCI:0000:b3:00): 79, pid='<unknown>', name=<unknown>, x  ",
        "[  12.5] NVRM: Xid (PCI:0000:b3:00): 74, NVLink: fatal error detected on link 6",
        "2026-03-01T10:00:00.5Z gpu-09 kernel: [ 1.5] NVRM: Xid (PCI:0000:b3:00): 31, a",
        "NVRM: Xid (PCI:0000:b3:00): 145, NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x0)",
        "message repeated 3 times: [ NVRM: Xid (PCI:0000:b3:00): 31, a]",
        "NVRM: Xid (PCI:0000:b3:00): , a",
    };
    static const char *const times[] = {
        "\"timeUnixNano\":\"1772359501123456789\"",
        "\"observedTimeUnixNano\":\"1772359501000000001\"",
        "\"severityNumber\":9",
    };
    static const char *const nodes[] = {NODE, "{}", RESOURCE(KV("k8s.node.name", STR("odd name")))};
    size_t events = 0;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0] * 9; i++) {
        char alone[4096];
        char among[4096];
        const char *line = lines[i / 9];
        (void)snprintf(alone, sizeof alone, LOGS("%s", "{%s,\"body\":{\"stringValue\":\"%s\"}}"),
                       nodes[i % 3], times[i / 3 % 3], line);
        (void)snprintf(
            among, sizeof among,
            LOGS("%s",
                 "{" BODY("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null)") "},"
                                                                                 "{%s,\"body\":{"
                                                                                 "\"stringValue\":"
                                                                                 "\"%s\"}}"),
            nodes[i % 3], times[i / 3 % 3], line);
        assert_int_equal(decode(alone), TC_OK);
        size_t count = t.count;
        assert_true(count <= 1);
        static char kept_block[8192];
        struct tc_arena kept_arena;
        tc_arena_init(&kept_arena, "kept", kept_block, sizeof kept_block);
        struct tc_event kept = t.events[0];
        assert_true(count == 0 || event_own(&kept, &kept_arena));
        assert_int_equal(decode(among), TC_OK);
        assert_true(t.count >= count);
        if (count == 1) {
            const struct tc_event *ev = &t.events[t.count - 1];
            assert_int_equal(tc_event_cmp(&kept, ev), 0);
            assert_true(kept.time_ns == ev->time_ns && kept.uptime_ns == ev->uptime_ns);
            assert_int_equal(kept.raw.length, ev->raw.length);
            events++;
        }
        tc_arena_fini(&kept_arena);
    }
    assert_int_equal(events, (sizeof lines / sizeof lines[0] - 1) * 9);
}

/* Neighbours of a report that say nothing by themselves, between records of somebody else. */
static void lines_that_say_nothing_are_looked_at_from_those_that_do(void **state)
{
    (void)state;
    assert_int_equal(
        decode(LOGS(NODE, KERNEL("Task in /kubepods/pod8f0c2a1e-0000-4000-8000-000000000007/c "
                                 "killed as a result of limit of /kubepods") ","                 //
                    KERNEL("usb 1-2: new device") "," KERNEL("memory: usage 8kB, limit 8kB") "," //
                    KERNEL("Killed process 77 (py) total-vm:8kB, anon-rss:4kB"))),
        TC_OK);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.events[0].scope.pid, 77);
    /* The reason stands above, in a line that nothing begins with; another program quotes it. */
    assert_int_equal(
        decode(LOGS(NODE, KERNEL("NVRM: GPU 0000:b3:00.0: RmInitAdapter failed! (0x24:0x65)") "," //
                    KERNEL("nvidia 0000:b4:00.0: Direct firmware load for nvidia/gsp.bin failed") //
                    "," KERNEL("NVRM: GPU 0000:b4:00.0: RmInitAdapter failed! (0x24:0x65)"))),
        TC_OK);
    assert_int_equal(t.count, 2);
    SAME(t.events[0].fault.fault, "gpu_init_failed");
    SAME(t.events[1].fault.fault, "gpu_firmware_missing");
    assert_int_equal(
        decode(LOGS(NODE, "{" TIME
                          "," BODY("Mar 1 10:05:01 gpu-01 app[7]: Direct firmware load for nvidia "
                                   "failed") "}," //
                    KERNEL("NVRM: GPU 0000:b4:00.0: RmInitAdapter failed! (0x24:0x65)"))),
        TC_OK);
    assert_int_equal(t.count, 1);
    SAME(t.events[0].fault.fault, "gpu_init_failed");
}

#define LINES_BYTES ((size_t)4 << 20)

static void put_escaped(char *to, size_t *io_len, struct tc_slice line)
{
    for (size_t i = 0; i < line.len; i++) {
        unsigned char c = (unsigned char)line.ptr[i];
        *io_len += (size_t)snprintf(to + *io_len, LINES_BYTES - *io_len,
                                    c == '"' || c == '\\' ? "\\%c"
                                    : c < 0x20            ? "\\u%04x"
                                                          : "%c",
                                    c);
    }
}

/* Every line of the samples as a record: read at once and when it is asked for, by all rules. */
static void lines_of_the_samples_are_the_same_whenever_they_are_read(void **state)
{
    (void)state;
    static const char *const names[] = {"aer_real.txt",       "oom_edac_ghes_real.txt",
                                        "gpud_memory.txt",    "gpud_disk.txt",
                                        "gpud_xid_lines.txt", "gpud_cpu.txt"};
    static const char *const writers[] = {"kernel", ""};
    const char *samples = getenv("TC_SAMPLES");
    if (samples == NULL) {
        print_message("skipped: TC_SAMPLES does not say where the samples are\n");
        skip();
    }
    char *doc = malloc(LINES_BYTES);
    assert_non_null(doc);
    for (size_t i = 0; i < 2 * sizeof names / sizeof names[0]; i++) {
        char path[4096];
        static char text[1 << 16];
        (void)snprintf(path, sizeof path, "%s/kmsg/%s", samples, names[i / 2]);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        struct tc_slice rest = tc_slice_make(text, fread(text, 1, sizeof text, f));
        (void)fclose(f);
        size_t len = (size_t)snprintf(doc, LINES_BYTES,
                                      "{\"resourceLogs\":[{\"resource\":" NODE
                                      ",\"scopeLogs\":[{\"logRecords\":[");
        while (rest.len > 0) {
            struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
            len += (size_t)snprintf(doc + len, LINES_BYTES - len, "{" TIME ",\"attributes\":[");
            if (writers[i % 2][0] != '\0') {
                len += (size_t)snprintf(doc + len, LINES_BYTES - len, KV("_TRANSPORT", STR("%s")),
                                        writers[i % 2]);
            }
            len += (size_t)snprintf(doc + len, LINES_BYTES - len, "],\"body\":{\"stringValue\":\"");
            put_escaped(doc, &len, line);
            len +=
                (size_t)snprintf(doc + len, LINES_BYTES - len, "\"}}%s", rest.len > 0 ? "," : "");
        }
        len += (size_t)snprintf(doc + len, LINES_BYTES - len, "]}]}]}");
        struct tc_otlp_same seen = {0};
        tc_otlp_same(tc_slice_make(doc, len), &seen);
        assert_int_equal(seen.requests, 1);
        assert_int_equal(seen.protobuf, 1);
        assert_true(seen.events > 0 || i % 2 == 1);
    }
    free(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_xid_of_a_process_named_like_a_step_is_an_xid, setup),
        cmocka_unit_test_setup(an_xid_is_the_same_alone_and_among_other_lines, setup),
        cmocka_unit_test_setup(journal_records_are_the_kernels_by_their_transport, setup),
        cmocka_unit_test_setup(messages_of_the_journal_may_be_bytes, setup),
        cmocka_unit_test_setup(files_are_the_kernels_by_name_or_by_prefix, setup),
        cmocka_unit_test_setup(the_lines_own_date_comes_before_the_time_of_reading, setup),
        cmocka_unit_test_setup(repeated_messages_keep_their_count, setup),
        cmocka_unit_test_setup(lines_of_one_report_see_each_other_across_records_and_documents,
                               setup),
        cmocka_unit_test_setup(bodies_of_several_lines_are_read_line_by_line, setup),
        cmocka_unit_test_setup(many_records_fill_a_block_more_than_once, setup),
        cmocka_unit_test_setup(events_come_in_the_order_of_their_records, setup),
        cmocka_unit_test_setup(odd_names_of_nodes_do_no_harm, setup),
        cmocka_unit_test_setup(lines_that_say_nothing_are_looked_at_from_those_that_do, setup),
        cmocka_unit_test_setup(lines_of_the_samples_are_the_same_whenever_they_are_read, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
