/* SPDX-License-Identifier: Apache-2.0 */
/* What each kernel message becomes. The texts are made up after the shapes that kernels print. */
#include "unit/codec/kmsg_harness.h"

#include <stdio.h>

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void xid_has_code_address_process_and_message(void **state)
{
    (void)state;
    const struct tc_event *ev = one_event(
        "NVRM: Xid (PCI:0000:b3:00): 43, pid=1234, name=python, Ch 00000008, more", TC_EVENT_XID);
    assert_int_equal(ev->xid.code, 43);
    assert_bdf(ev->scope.pci, "0000:b3:00.0");
    assert_int_equal(ev->scope.pid, 1234);
    assert_slice(ev->xid.process, "python");
    assert_slice(ev->xid.message, "Ch 00000008, more");
    assert_int_equal(ev->xid.link, -1);
    assert_int_equal(ev->xid.subcode, -1);
}

static void xid_variants_of_older_and_newer_drivers_are_read(void **state)
{
    (void)state;
    const struct tc_event *ev = one_event("NVRM: Xid (0000:03:00): 14, Channel 1", TC_EVENT_XID);
    assert_bdf(ev->scope.pci, "0000:03:00.0");
    ev = one_event("NVRM: Xid (PCI:0009:b3:1f.7): 31 Ch 1", TC_EVENT_XID);
    assert_bdf(ev->scope.pci, "0009:b3:1f.7");
    assert_slice(ev->xid.message, "Ch 1");
    ev = one_event("NVRM: Xid (PCI:0000:07:00 GPU-I:05): 94, pid=7, Contained", TC_EVENT_XID);
    assert_int_equal(ev->xid.code, 94);
    assert_slice(ev->xid.message, "Contained");
    ev = one_event("NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU lost.",
                   TC_EVENT_XID);
    assert_int_equal(ev->scope.pid, -1);
    assert_slice(ev->xid.process, "");
    assert_slice(ev->xid.message, "GPU lost.");
    ev = one_event("NVRM: Xid (PCI:0000:05:00): 45, pid=99999999999, name=a", TC_EVENT_XID);
    assert_int_equal(ev->scope.pid, -1);
    assert_int_equal(one_event("NVRM: Xid (PCI:0000:05:00): 31", TC_EVENT_XID)->xid.code, 31);
}

static void xid_without_a_number_is_unknown(void **state)
{
    (void)state;
    assert_unknown("NVRM: Xid (PCI:0000:05:00): xyz, foo", "Xid or SXid without a code");
    assert_unknown("NVRM: Xid (PCI:0000:05:00): 100001, foo", "Xid or SXid without a code");
    assert_int_equal(one_event("NVRM: Xid (PCI:0000:05:00): 100000,", TC_EVENT_XID)->xid.code,
                     100000);
    assert_unknown("NVRM: Xid (PCI:0000:05:00", "Xid or SXid without a code");
    assert_unknown("NVRM: Xid (invalid): 79, foo", "Xid or SXid without a PCI address");
    assert_unknown("log: NVRM: Xid (PCI:0000:05:00): 79, foo", "no rule for this message");
}

static void nvlink5_xids_have_unit_severity_link_and_registers(void **state)
{
    (void)state;
    const struct tc_event *ev =
        one_event("NVRM: Xid (PCI:0008:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 "
                  "(0x004505c6 0x00000000)",
                  TC_EVENT_XID);
    assert_slice(ev->xid.unit, "NETIR_LINK_EVT");
    assert_slice(ev->xid.severity, "fatal");
    assert_int_equal(ev->xid.link, 8);
    assert_int_equal(ev->xid.intrinfo, 0x004505c6);
    assert_int_equal(ev->xid.subcode, 4);
    ev = one_event("NVRM: Xid (PCI:0008:01:00): 144, pid=3, name=x, TLW_RX/TLW_RX_PIPE0 Nonfatal "
                   "XC1 i0 Link 0 (0x025001c6 0x1)",
                   TC_EVENT_XID);
    assert_slice(ev->xid.unit, "TLW_RX/TLW_RX_PIPE0");
    assert_slice(ev->xid.severity, "nonfatal");
    assert_int_equal(ev->xid.link, 0);
    assert_int_equal(ev->xid.subcode, 0x25);
    /* 143 and 151 are other Xids. */
    ev =
        one_event("NVRM: Xid (PCI:0008:01:00): 151, X Fatal XC0 i0 Link 1 (0x1 0x2)", TC_EVENT_XID);
    assert_slice(ev->xid.unit, "");
    ev =
        one_event("NVRM: Xid (PCI:0008:01:00): 143, X Fatal XC0 i0 Link 1 (0x1 0x2)", TC_EVENT_XID);
    assert_slice(ev->xid.unit, "");
}

static void torn_nvlink5_lines_give_what_is_left(void **state)
{
    (void)state;
    const struct tc_event *ev = one_event(
        "NVRM: Xid (PCI:0018:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406", TC_EVENT_XID);
    assert_int_equal(ev->xid.link, -1);
    assert_int_equal(ev->xid.intrinfo, 0x000fe406);
    ev = one_event("NVRM: Xid (PCI:0018:01:00): 150, NETIR Fatal XC0 i0 Link 1 (0x000fe4",
                   TC_EVENT_XID);
    assert_int_equal(ev->xid.link, 1);
    assert_int_equal(ev->xid.intrinfo, -1);
    assert_int_equal(ev->xid.subcode, -1);
    ev = one_event("NVRM: Xid (PCI:0018:01:00): 145, RLW_CTRL", TC_EVENT_XID);
    assert_slice(ev->xid.unit, "");
    ev = one_event("NVRM: Xid (PCI:0018:01:00): 145, X Fatal Link 1 (0xfffffffff 0x1)",
                   TC_EVENT_XID);
    assert_int_equal(ev->xid.intrinfo, -1);
}

static void xid_74_names_its_link(void **state)
{
    (void)state;
    const struct tc_event *ev = one_event("NVRM: Xid (PCI:0000:b3:00): 74, pid=1, name=a, NVLink: "
                                          "fatal error detected on link 14(0x0, 0x0)",
                                          TC_EVENT_XID);
    assert_int_equal(ev->xid.link, 14);
    ev = one_event("NVRM: Xid (PCI:0000:b3:00): 73, link 14(0x0)", TC_EVENT_XID);
    assert_int_equal(ev->xid.link, -1);
}

static void fallen_off_the_bus_is_xid_79_without_an_xid(void **state)
{
    (void)state;
    const struct tc_event *ev =
        one_event("NVRM: GPU 0000:b3:00.0: GPU has fallen off the bus.", TC_EVENT_XID);
    assert_int_equal(ev->xid.code, 79);
    assert_bdf(ev->scope.pci, "0000:b3:00.0");
    ev = one_event("NVRM: The NVIDIA GPU 0000:b4:00.0 (PCI ID: 10de:2330) installed in this "
                   "system has fallen off the bus and is not responding to commands.",
                   TC_EVENT_XID);
    assert_bdf(ev->scope.pci, "0000:b4:00.0");
    ev = one_event("[ 1.1] NVRM: The NVIDIA GPU 0000:b5:00.0\n[ 1.1] NVRM: (PCI ID: 10de:2330)\n"
                   "[ 1.1] NVRM: installed in this system has\n"
                   "[ 1.1] NVRM: fallen off the bus and is not responding to commands.\n",
                   TC_EVENT_XID);
    assert_bdf(ev->scope.pci, "0000:b5:00.0");
    assert_unknown("NVRM: fallen off the bus and is not responding",
                   "a GPU fell off the bus, without its PCI address");
    assert_int_equal(decode_text("NVRM: The NVIDIA GPU 0000:b5:00.0\na\nb\nc\n"
                                 "NVRM: fallen off the bus and\n")
                         ->count,
                     1);
    assert_int_equal(decode_text("NVRM: The NVIDIA GPU 0000:b5:00.0\na\nb\nc\nd\n"
                                 "NVRM: fallen off the bus and\n")
                         ->count,
                     0);
    /* The address of another host's GPU is not this one's. */
    assert_int_equal(decode_text("h1 kernel: NVRM: The NVIDIA GPU 0000:b5:00.0\n"
                                 "h2 kernel: NVRM: fallen off the bus and\n")
                         ->count,
                     0);
}

static void inventory_ties_a_uuid_to_an_address(void **state)
{
    (void)state;
    const struct tc_event *ev =
        one_event("NVRM: GPU at PCI:0000:9b:00: GPU-11111111-2222-3333-4444-555555555555",
                  TC_EVENT_GPU_INVENTORY);
    assert_bdf(ev->scope.pci, "0000:9b:00.0");
    assert_slice(ev->scope.gpu_uuid, "GPU-11111111-2222-3333-4444-555555555555");
    const char *why = "GPU inventory without an address or a UUID";
    assert_unknown("NVRM: GPU at PCI:0000:9b:00: GPU-11111111-2222-3333-4444-5555555555", why);
    assert_unknown("NVRM: GPU at PCI:0000:9b:00: GPU-1111111x-2222-3333-4444-555555555555", why);
    assert_unknown("NVRM: GPU at PCI:zz: GPU-11111111-2222-3333-4444-555555555555", why);
}

static void sxid_severity_and_link_may_be_absent(void **state)
{
    (void)state;
    const struct tc_event *ev =
        one_event("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress",
                  TC_EVENT_SXID);
    assert_int_equal(ev->xid.code, 12028);
    assert_slice(ev->xid.severity, "nonfatal");
    assert_int_equal(ev->xid.link, 32);
    assert_slice(ev->xid.message, "Non-fatal, Link 32 egress");
    ev = one_event("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM",
                   TC_EVENT_SXID);
    assert_slice(ev->xid.severity, "fatal");
    ev = one_event("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Data {0x1}", TC_EVENT_SXID);
    assert_slice(ev->xid.severity, "");
    assert_int_equal(ev->xid.link, -1);
    assert_unknown("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): xyz, Fatal",
                   "Xid or SXid without a code");
    assert_unknown("nvidia-nvswitch0: open (major=510)", "no rule for this message");
}

static void driver_faults_are_named(void **state)
{
    (void)state;
    const enum tc_event_kind kind = TC_EVENT_DRIVER_FAULT;
    assert_slice(one_event("nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid "
                           "context, skipping further processing",
                           kind)
                     ->fault.fault,
                 "peermem_invalid_context");
    assert_slice(one_event("NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer0's "
                           "postRxDetLinkMask failed!",
                           kind)
                     ->fault.fault,
                 "nvlink_discovery_failed");
    const struct tc_event *ev =
        one_event("NVRM: GPU 0000:9b:00.0: RmInitAdapter failed! (0x62:0xffff:2351)", kind);
    assert_slice(ev->fault.fault, "gpu_init_failed");
    assert_bdf(ev->scope.pci, "0000:9b:00.0");
    assert_unknown("NVRM: knvlinkCoreAddLink: added link 1", "no rule for this message");
    assert_unknown("nvidia-peermem foo: invalid context", "no rule for this message");
}

static void gpus_that_do_not_answer_are_named(void **state)
{
    static const struct {
        const char *text;
        const char *fault;
    } rows[] = {
        {"nvidia: probe of 0000:9b:00.0 failed with error -1", "gpu_probe_failed"},
        {"nvidia 0000:9b:00.0: probe with driver nvidia failed with error -1", "gpu_probe_failed"},
        {"NVRM: installed in this system is supported through the\n"
         "NVRM: NVIDIA 470.xx Legacy drivers. Please visit\n"
         "nvidia: probe of 0000:9b:00.0 failed with error -1",
         "gpu_not_supported"},
        {"nvidia 0000:9b:00.0: Direct firmware load for nvidia/550.54.15/gsp_ga10x.bin failed with "
         "error -2\nNVRM: GPU 0000:9b:00.0: RmInitAdapter failed! (0x61:0x56:1594)",
         "gpu_firmware_missing"},
        {"nvidia 0000:9b:00.0: Unable to change power state from D3cold to D0, device inaccessible",
         "gpu_unreachable"},
        {"nvidia 0000:9b:00.0: can't change power state from D3cold to D0 (config space "
         "inaccessible)",
         "gpu_unreachable"},
        {"pcieport 0000:9a:01.0: pciehp: Slot(5): Link Down\n"
         "NVRM: Attempting to remove device 0000:9b:00.0 with non-zero usage count!",
         "gpu_unreachable"},
        {"NVRM: GPU 0000:9b:00.0: GPU does not have the necessary power cables connected.",
         "gpu_no_power"},
        {"[drm] Initialized nvidia-drm 0.0.0 20160202 for 0000:9b:00.0 on minor 1", "gpu_init_ok"},
        {"amdgpu 0000:9b:00.0: amdgpu: GPU reset(3) failed", "gpu_reset_failed"},
        {"amdgpu 0000:9b:00.0: amdgpu: GPU reset end with ret = -62", "gpu_reset_failed"},
        {"amdgpu 0000:9b:00.0: amdgpu: GPU Recovery Failed: -110", "gpu_reset_failed"},
        {"amdgpu 0000:9b:00.0: amdgpu: ASIC reset failed with error, -110 for drm dev, 0000:9b",
         "gpu_reset_failed"},
        {"amdgpu 0000:9b:00.0: [drm:amdgpu_x [amdgpu]] *ERROR* GPU mode1 reset failed",
         "gpu_reset_failed"},
        {"amdgpu 0000:9b:00.0: amdgpu: GPU reset(1) succeeded!", "gpu_reset_ok"},
        {"amdgpu 0000:9b:00.0: amdgpu: GPU reset end with ret = 0", "gpu_reset_ok"},
        {"amdgpu 0000:9b:00.0: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) "
         "detected!",
         "gpu_ras_fatal"},
        {"amdgpu 0000:9b:00.0: amdgpu: device lost from bus!", "gpu_unreachable"},
        {"amdgpu 0000:9b:00.0: amdgpu: Fatal error during GPU init", "gpu_init_failed"},
        {"amdgpu 0000:9b:00.0: Direct firmware load for amdgpu/psp_13_0_6_sos.bin failed with "
         "error -2\namdgpu 0000:9b:00.0: amdgpu: Fatal error during GPU init",
         "gpu_firmware_missing"},
        {"[drm] Initialized amdgpu 3.57.0 20150101 for 0000:9b:00.0 on minor 1", "gpu_init_ok"},
        {"vfio-pci 0000:9b:00.0: enabling device (0000 -> 0002)", "gpu_released_ok"},
    };
    (void)state;
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        const struct tc_event *ev = one_event(rows[i].text, TC_EVENT_DRIVER_FAULT);
        assert_true(tc_slice_eq(ev->fault.fault, tc_slice_cstr(rows[i].fault)));
        assert_bdf(ev->scope.pci, "0000:9b:00.0");
    }
    assert_slice(one_event("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15",
                           TC_EVENT_DRIVER_FAULT)
                     ->fault.fault,
                 "driver_load_ok");
    assert_slice(
        one_event("[drm] amdgpu kernel modesetting enabled.", TC_EVENT_DRIVER_FAULT)->fault.fault,
        "driver_load_ok");
    /* Nothing is decided yet. */
    assert_unknown("amdgpu 0000:9b:00.0: amdgpu: GPU reset begin!", "no rule for this message");
    assert_unknown("amdgpu 0000:9b:00.0: amdgpu: ring gfx timeout, signaled seq=1, emitted seq=3",
                   "no rule for this message");
    /* Another driver's device, and one that an administrator removes. */
    assert_unknown("nouveau: probe of 0000:9b:00.0 failed with error -12",
                   "no rule for this message");
    assert_unknown("NVRM: Attempting to remove device 0000:9b:00.0 with non-zero usage count!",
                   "no rule for this message");
}

static void oom_constraint_names_pod_container_and_process(void **state)
{
    (void)state;
    const struct tc_event *ev =
        one_event("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,"
                  "oom_memcg=/a,task_memcg=/kubepods.slice/kubepods-burstable.slice/"
                  "kubepods-burstable-pod00000000_1111_2222_3333_444444444444.slice/"
                  "cri-containerd-" HEX64 ".scope,task=py,pid=1,x,pid=461754,uid=0",
                  TC_EVENT_OOM_KILL);
    assert_slice(ev->scope.pod_uid, "00000000-1111-2222-3333-444444444444");
    assert_slice(ev->oom.container_id, HEX64);
    assert_slice(ev->oom.constraint, "CONSTRAINT_MEMCG");
    /* The task chose that name; the pid is the kernel's. */
    assert_slice(ev->oom.process, "py,pid=1,x");
    assert_int_equal(ev->scope.pid, 461754);
    ev = one_event("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),global_oom,task_memcg="
                   "/kubepods/besteffort/podaaaaaaaa-1111-2222-3333-444444444444/" HEX64
                   ",task=java,pid=7134,uid=1000",
                   TC_EVENT_OOM_KILL);
    assert_slice(ev->scope.pod_uid, "aaaaaaaa-1111-2222-3333-444444444444");
    assert_slice(ev->oom.container_id, HEX64);
    assert_slice(ev->oom.process, "java");
    /* Inside a cgroup namespace the task's own path is short: the limit's group names the pod. */
    ev = one_event("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
                   "oom_memcg=/kubepods/podbbbbbbbb-1111-2222-3333-444444444444,task_memcg=/,"
                   "task=py,pid=7,uid=0",
                   TC_EVENT_OOM_KILL);
    assert_slice(ev->scope.pod_uid, "bbbbbbbb-1111-2222-3333-444444444444");
    assert_slice(ev->oom.cgroup, "/");
}

static struct tc_event oom_of(const char *memcg)
{
    static char text[512];
    (void)snprintf(
        text, sizeof text,
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=0,task_memcg=%s,task=a,pid=1,uid=0", memcg);
    return *one_event(text, TC_EVENT_OOM_KILL);
}

static void cgroups_that_are_no_pods_or_containers_name_none(void **state)
{
    (void)state;
    assert_slice(oom_of("/docker/abc123").oom.container_id, "abc123");
    assert_slice(oom_of("/system.slice/docker-" HEX64 ".scope").oom.container_id, HEX64);
    assert_slice(oom_of("/user.slice/session-4.scope").oom.container_id, "");
    assert_slice(oom_of("/x/" HEX64).oom.container_id, HEX64);
    assert_slice(oom_of("/x/abc").oom.container_id, "");
    assert_slice(oom_of("/x/x123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
                     .oom.container_id,
                 "");
    assert_slice(oom_of("/test").oom.container_id, "");
    assert_slice(oom_of("/").oom.container_id, "");
    assert_slice(oom_of("nothing").oom.container_id, "");
    assert_slice(oom_of("/kubepods/pod0123456789abcdef0123456789abcdef/x").scope.pod_uid,
                 "0123456789abcdef0123456789abcdef");
    assert_slice(oom_of("/kubepods/pod0123456789abcdef0123456789abcdef0/x").scope.pod_uid, "");
    assert_slice(oom_of("/xpod0123456789abcdef0123456789abcdef/x").scope.pod_uid, "");
    assert_slice(oom_of("/podman/pods").scope.pod_uid, "");
}

#define OOMD_PATH "/kubepods.slice/kubepods-podaaaaaaaa_1111_2222_3333_444444444444.slice/"
#define OOMD_KILL                                                                            \
    "Killed " OOMD_PATH "cri-containerd-" HEX64                                              \
    ".scope due to memory pressure for /kubepods.slice being 71.23% > 60.00% for > 30s with" \
    " reclaim activity"

static void systemd_oomd_kills_cgroups(void **state)
{
    (void)state;
    const enum tc_event_kind kind = TC_EVENT_OOM_KILL;
    static const char *const lines[] = {
        "2026-03-04T05:06:00+00:00 gpu-07 systemd-oomd[812]: " OOMD_KILL,
        "2026-03-04T05:06:00+00:00 gpu-07 systemd-oomd: " OOMD_KILL,
        "Wed 2026-03-04 05:06:00 UTC gpu-07 systemd-oomd[812]: " OOMD_KILL,
        "1772600760.000000 gpu-07 systemd-oomd[812]: " OOMD_KILL,
        "<30>1 2026-03-04T05:06:00Z gpu-07 systemd-oomd 812 - - " OOMD_KILL,
        "{\"__REALTIME_TIMESTAMP\":\"1772600760000000\",\"_TRANSPORT\":\"journal\","
        "\"SYSLOG_IDENTIFIER\":\"systemd-oomd\",\"_HOSTNAME\":\"gpu-07\","
        "\"MESSAGE\":\"" OOMD_KILL "\"}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const struct tc_event *ev = one_event(lines[i], kind);
        assert_slice(ev->scope.pod_uid, "aaaaaaaa-1111-2222-3333-444444444444");
        assert_slice(ev->scope.node, "gpu-07");
        assert_int_equal(ev->scope.pid, -1);
        assert_int_equal(ev->time_ns, INT64_C(1772600760) * TC_SECOND);
        assert_slice(ev->oom.container_id, HEX64);
        assert_slice(ev->oom.constraint, "OOMD_PRESSURE");
    }
    const struct tc_event *ev =
        one_event("Mar  4 05:06:00 gpu-07 systemd-oomd[812]: Killed /user.slice/x due to memory "
                  "used (9) / total (9) and swap used (9) / total (9) being more than 90.00%",
                  kind);
    assert_slice(ev->oom.constraint, "OOMD_SWAP");
    assert_slice(ev->scope.pod_uid, "");
    /* Others say it too, and the kernel says it otherwise. */
    assert_unknown("Mar  4 05:06:00 gpu-07 myapp[812]: " OOMD_KILL, "not a kernel line");
    assert_unknown("Mar  4 05:06:00 gpu-07 kernel: " OOMD_KILL, "no rule for this message");
    assert_unknown("Mar  4 05:06:00 gpu-07 systemd-oomd[812]: Killed /x for fun",
                   "no rule for this message");
    assert_unknown("Mar  4 05:06:00 gpu-07 systemd-oomd[812]: NVRM: Xid (PCI:0000:b3:00): 79",
                   "no rule for this message");
}

static void torn_oom_lines_prove_the_kill_and_wrong_ones_do_not(void **state)
{
    (void)state;
    const struct tc_event *ev =
        one_event("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),", TC_EVENT_OOM_KILL);
    assert_int_equal(ev->scope.pid, -1);
    ev = one_event("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=0,task=b,pid=12",
                   TC_EVENT_OOM_KILL);
    assert_slice(ev->oom.process, "b");
    assert_int_equal(ev->scope.pid, 12);
    ev = one_event("oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/docker/x", TC_EVENT_OOM_KILL);
    assert_slice(ev->oom.cgroup, "/docker/x");
    assert_unknown("oom-kill:constraint=CONSTRAINT_MEMCG,task=test,pid=invalid,uid=1000",
                   "oom-kill without a process id");
    assert_unknown("oom-kill:constraint=OTHER",
                   "oom-kill with a constraint that the kernel does not have");
}

static void killed_processes_have_a_name_and_a_size(void **state)
{
    (void)state;
    const enum tc_event_kind kind = TC_EVENT_OOM_KILL;
    const struct tc_event *ev =
        one_event("Memory cgroup out of memory: Killed process 63214 (a (b) c) total-vm:3149468kB, "
                  "anon-rss:164992kB, file-rss:52176kB, UID:0 (x)",
                  kind);
    assert_int_equal(ev->scope.pid, 63214);
    assert_slice(ev->oom.process, "a (b) c");
    assert_slice(ev->oom.constraint, "CONSTRAINT_MEMCG");
    assert_int_equal(ev->oom.anon_rss_kb, 164992);
    ev = one_event("Out of memory: Killed process 123, UID 48, (httpd).", kind);
    assert_slice(ev->oom.process, "httpd");
    assert_slice(ev->oom.constraint, "");
    assert_int_equal(ev->oom.anon_rss_kb, -1);
    ev = one_event("Killed process 9 (x) total-vm:1kB, anon-rss:2kB, file-rss:3kB", kind);
    assert_int_equal(ev->oom.anon_rss_kb, 2);
    assert_slice(
        one_event("Out of memory (oom_kill_allocating_task): Killed process 9", kind)->oom.process,
        "");
    ev = one_event("System OOM encountered, victim process: Plex Media Server, pid: 1234", kind);
    assert_slice(ev->oom.process, "Plex Media Server");
    assert_int_equal(ev->scope.pid, 1234);
    assert_unknown("Killed process invalid (test)", "killed process without a process id");
    assert_slice(one_event("Killed process 9 )x(", kind)->oom.process, "");
    assert_slice(one_event("Killed process 9 (x", kind)->oom.process, "");
    assert_int_equal(one_event("Killed process 4194304 ()", kind)->scope.pid, 4194304);
    assert_unknown("Killed process 4194305 (test)", "killed process without a process id");
    assert_unknown("OOM encountered, victim process: x, pid: y", "OOM victim without a process id");
    assert_unknown("Out of memory: Kill process 456 (python) score 50 or sacrifice child",
                   "no rule for this message");
}

static void old_kernels_name_the_cgroup_above_the_kill(void **state)
{
    (void)state;
#define OLD_POD "/kubepods/burstable/podaaaaaaaa-1111-2222-3333-444444444444"
#define OLD_TASK "Task in " OLD_POD "/" HEX64 " killed as a result of limit of " OLD_POD
    const struct result *r = decode_text(
        OLD_TASK "\nmemory: usage 4kB, limit 4kB, failcnt 9\n"
                 "[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name\n"
                 "Memory cgroup out of memory: Kill process 24572 (java) score 0 or "
                 "sacrifice child\n"
                 "Killed process 28438 (java) total-vm:20kB, anon-rss:4kB, file-rss:1kB\n");
    assert_int_equal(r->count, 2);
    assert_int_equal(r->events[0].kind, TC_EVENT_OOM_KILL);
    assert_int_equal(r->events[0].scope.pid, 28438);
    assert_slice(r->events[0].scope.pod_uid, "aaaaaaaa-1111-2222-3333-444444444444");
    assert_slice(r->events[0].oom.container_id, HEX64);
    assert_slice(r->events[0].oom.constraint, "CONSTRAINT_MEMCG");
    assert_int_equal(r->events[1].scope.pid, 28438);
    assert_slice(r->events[1].oom.constraint, "CONSTRAINT_MEMCG");
    /* The kill of another report is not its own, and without one it is still a kill. */
    r = decode_text(OLD_TASK "\nTask in /a killed as a result of limit of /a\n"
                             "Killed process 7 (x) total-vm:20kB, anon-rss:4kB, file-rss:1kB\n");
    assert_int_equal(r->count, 3);
    assert_int_equal(r->events[0].scope.pid, -1);
    assert_int_equal(r->events[1].scope.pid, 7);
    assert_slice(r->events[1].scope.pod_uid, "");
    assert_unknown("Task in limbo", "no rule for this message");
#undef OLD_TASK
#undef OLD_POD
}

static void old_kernels_say_whose_memory_ran_out_above_the_kill(void **state)
{
    (void)state;
#define KILLED "Killed process 7 (x) total-vm:20kB, anon-rss:4kB, file-rss:1kB\n"
#define ABOVE "Kill process 7 (x) score 9 or sacrifice child\n"
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        {"Out of memory: " ABOVE KILLED, "CONSTRAINT_NONE"},
        {"Out of memory: " ABOVE "x\n" KILLED, "CONSTRAINT_NONE"},
        {"Memory cgroup out of memory: " ABOVE KILLED, "CONSTRAINT_MEMCG"},
        {"Out of memory: " ABOVE "1\n2\n3\n4\n" KILLED, ""},
        {"Memory cgroup out of memory: " ABOVE KILLED "1\n" KILLED, ""},
        {"someone: Out of memory: " ABOVE KILLED, ""},
        {KILLED, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct result *r = decode_text(cases[i].text);
        assert_true(r->count > 0);
        assert_slice(r->events[r->count - 1].oom.constraint, cases[i].want);
    }
#undef ABOVE
#undef KILLED
}

static void memory_errors_have_a_dimm_and_a_count(void **state)
{
    (void)state;
    const enum tc_event_kind kind = TC_EVENT_MEMORY_ERROR;
    const struct tc_event *ev =
        one_event("EDAC MC1: 262 CE memory read error on CPU#0_DIMM#0 (channel:1 slot:0)", kind);
    assert_slice(ev->fault.fault, "edac_ce");
    assert_slice(ev->fault.device, "CPU#0_DIMM#0");
    assert_int_equal(ev->fault.count, 262);
    ev = one_event("EDAC MC0: UE memory read error on unknown memory (page:0x0)", kind);
    assert_slice(ev->fault.fault, "edac_ue");
    assert_slice(ev->fault.device, "unknown memory");
    assert_int_equal(ev->fault.count, 1);
    ev = one_event("kernel: message repeated 3 times: [EDAC MC0: 2 CE x on DIMM_A (page:0)]", kind);
    assert_int_equal(ev->fault.count, 6);
    assert_unknown("EDAC MC1: 9999999999 CE x on y (z)", "EDAC with a count that cannot be");
    assert_unknown("EDAC MC1: Giving out device to module x", "no rule for this message");
    assert_slice(one_event("mce: [Hardware Error]: Machine check events logged", kind)->fault.fault,
                 "mce");
    ev =
        one_event("mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: 8c00004000010090", kind);
    assert_slice(ev->fault.device, "CPU 12");
    assert_unknown("mce: [Hardware Error]: CPU 12: fine", "no rule for this message");
    assert_unknown("mce: [Hardware Error]: TSC 0 ADDR 1 MISC 2", "no rule for this message");
}

static void firmware_memory_errors_are_one_event_for_each_section(void **state)
{
    (void)state;
    const struct result *r = decode_text(
        "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4\n"
        "{1}[Hardware Error]: event severity: recoverable\n"
        "{1}[Hardware Error]:   section_type: memory error\n"
        "{2}[Hardware Error]:   DIMM location: not this one\n"
        "{1}[Hardware Error]:   DIMM location: P1 DIMMA1\n"
        "{1}[Hardware Error]:   section_type: memory error\n"
        "{1}[Hardware Error]:   section_type: PCIe error\n"
        "{1}[Hardware Error]:   DIMM location: not of this section\n");
    assert_int_equal(r->count, 2);
    assert_slice(r->events[0].fault.fault, "ghes");
    assert_slice(r->events[0].fault.device, "P1 DIMMA1");
    assert_slice(r->events[1].fault.device, "");
}

/* message -> fault and device, one kind per table */
struct fault_case {
    const char *message;
    const char *fault; /* NULL: no event */
    const char *device;
};

static void check_faults(const struct fault_case *cases, size_t count, enum tc_event_kind kind)
{
    for (size_t i = 0; i < count; i++) {
        if (cases[i].fault == NULL) {
            assert_unknown(cases[i].message, "no rule for this message");
            continue;
        }
        const struct tc_event *ev = one_event(cases[i].message, kind);
        assert_slice(ev->fault.fault, cases[i].fault);
        assert_slice(ev->fault.device, cases[i].device);
        assert_slice(ev->fault.message, cases[i].message);
        assert_int_equal(ev->fault.count, 1);
    }
}

#define CHECK_FAULTS(cases, kind) check_faults((cases), sizeof(cases) / sizeof(cases)[0], (kind))

static void storage_errors_name_their_device(void **state)
{
    (void)state;
    static const struct fault_case cases[] = {
        {"Buffer I/O error on dev dm-0, logical block 0, lost sync page write", "io_error", "dm-0"},
        {"Buffer I/O error on device sda1, logical block 7", "io_error", "sda1"},
        {"blk_update_request: I/O error, dev sda, sector 17 op 0x0", "io_error", "sda"},
        {"print_req_error: I/O error, dev sdb, sector 17", "io_error", "sdb"},
        {"I/O error, dev nvme0n1, sector 17 op 0x1", "io_error", "nvme0n1"},
        {"blk_update_request: critical medium error, dev sdc, sector 1", "io_error", "sdc"},
        {"EXT4-fs (dm-0): I/O error while writing superblock", "io_error", "dm-0"},
        {"XFS (dm-1): metadata I/O error in \"xfs_buf\" at daddr 0x1", "io_error", "dm-1"},
        {"XFS (dm-1): Log error. Shutting down filesystem", "fs_shutdown", "dm-1"},
        {"EXT4-fs (md0): Remounting filesystem read-only", "fs_readonly", "md0"},
        {"EXT4-fs error (device nvme0n1p1): ext4_journal_check_start:83: comm python: Detected "
         "aborted journal",
         "fs_error", "nvme0n1p1"},
        {"EXT4-fs error (device dm-2) in ext4_reserve_inode_write:5748: IO failure", "fs_error",
         "dm-2"},
        {"Aborting journal on device nvme0n1p1-8.", "fs_error", "nvme0n1p1-8"},
        {"Remounting filesystem read-only", "fs_readonly", ""},
        {"nvme nvme4: I/O tag 22 (2016) opcode 0x2 QID 0 timeout, reset controller", "nvme_timeout",
         "nvme4"},
        {"nvme nvme0: I/O 12 QID 3 timeout, aborting", "nvme_timeout", "nvme0"},
        {"nvme nvme0: I/O 12 QID 3 timeout, completion polled", NULL, NULL},
        {"nvme nvme4: Disabling device after reset failure: -19", "nvme_disabled", "nvme4"},
        {"md/raid1:md1: Disk failure on sda1, disabling device.", "raid_failure", "sda1"},
        {"md/raid1:md1: Disk failure on sdb1.", "raid_failure", "sdb1"},
        {"block nvme0n1: no available path - failing I/O", "path_lost", "nvme0n1"},
        {"block nvme0n1: no usable path - requeuing I/O", NULL, NULL},
        {"attempt to access beyond end of device", "beyond_end", ""},
        {"a much too long name for a task: attempt to access beyond end of device", NULL, NULL},
        {"General I/O error detected", NULL, NULL},
        {"EXT4-fs: Remounting filesystem read-write", NULL, NULL},
        {"EXT4-fs (unclosed I/O error", NULL, NULL},
        {"nfs: server 10.0.0.5 not responding, timed out", "nfs_not_responding", "10.0.0.5"},
        {"nfs: server n.example not responding, still trying", "nfs_not_responding", "n.example"},
        {"nfs: server n.example OK", "nfs_ok", "n.example"},
        {"nfs: server n.example starting", NULL, NULL},
        {"NFS: nfs4_reclaim_open_state: Lock reclaim failed!", "nfs_reclaim_failed", ""},
        {"nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
         "nvme_down", "nvme1"},
        {"BTRFS error (device nvme1n1 state EA): bdev /dev/nvme1n1 errs: wr 12, rd 0, flush 0, "
         "corrupt 0, gen 0",
         "fs_error", "nvme1n1"},
        {"BTRFS info (device nvme1n1): bdev /dev/nvme1n1 errs: wr 12, rd 0, flush 0, corrupt 0, "
         "gen 0",
         NULL, NULL},
        {"JBD2: Detected IO errors while flushing file data on sda1-8", "io_error", "sda1-8"},
        {"JBD2: Detected IO errors -5 while flushing file data on sda1-8", "io_error", "sda1-8"},
    };
    CHECK_FAULTS(cases, TC_EVENT_STORAGE_ERROR);
    assert_slice(
        one_event("kworker/u203:1: attempt to access beyond end of device", TC_EVENT_STORAGE_ERROR)
            ->fault.process,
        "kworker/u203:1");
}

static void storage_behind_a_network_names_its_server(void **state)
{
    (void)state;
    static const struct fault_case cases[] = {
        {"Lustre: fs-OST0018-osc-ffff8a: Connection to fs-OST0018 (at 10.0.0.9@o2ib) was lost; in "
         "progress operations using this service will wait for recovery to complete",
         "lustre_lost", "fs-OST0018-osc-ffff8a"},
        {"Lustre: fs-OST0018-osc-ffff8a: Connection restored to  (at 10.0.0.9@o2ib)", "lustre_ok",
         "fs-OST0018-osc-ffff8a"},
        {"LustreError: 11-0: fs-OST0018-osc-ffff8a: operation ost_write to node 10.0.0.9@o2ib "
         "failed: rc = -107",
         "lustre_error", "fs-OST0018-osc-ffff8a"},
        {"LustreError: 167-0: fs-MDT0000-mdc-ffff8a: This client was evicted by fs-MDT0000; in "
         "progress operations using this service will fail.",
         "client_evicted", "fs-MDT0000-mdc-ffff8a"},
        {"LustreError: 166-1: MGC10.0.0.1@o2ib: Connection to MGS (at 10.0.0.1@o2ib) was lost; in "
         "progress operations using this service will fail",
         NULL, NULL},
        {"LustreError: 12345:0:(osc_request.c:1234:osc_build_rpc()) rc = -5", NULL, NULL},
        {"LustreError: Skipped 3 previous similar messages", NULL, NULL},
        {"Lustre: Mounted fs-client", NULL, NULL},
        {"ceph: mds0 hung", "ceph_hung", "mds0"},
        {"ceph: [2c3f 4711]: mds0 caps stale", "ceph_stale", "mds0"},
        {"ceph: mds0 came back", "ceph_ok", "mds0"},
        {"libceph: osd12 down", "ceph_down", "osd12"},
        {"libceph: (2c3f e99): osd12 down", "ceph_down", "osd12"},
        {"libceph: osd12 up", "ceph_ok", "osd12"},
        {"libceph: osd12 (1)10.0.0.9:6801 socket closed (con state OPEN)", NULL, NULL},
        {"device-mapper: multipath: Failing path 8:32.", "path_failed", "8:32"},
        {"device-mapper: multipath: 253:3: Failing path 8:16.", "path_failed", "8:16"},
        {"device-mapper: multipath: 253:3: Reinstating path 8:16.", "path_ok", "8:16"},
        {"device-mapper: multipath: version 1.14.0 loaded", NULL, NULL},
        {"sd 0:0:0:0: [sdb] tag#5 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK "
         "cmd_age=30s",
         "scsi_failed", "sdb"},
        {"sd 0:0:0:0: [sdb] tag#5 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_SENSE", NULL,
         NULL},
        {"connection1:0: detected conn error (1022)", "iscsi_error", "connection1:0"},
        {"CIFS: VFS: \\\\nas.example has not responded in 180 seconds. Reconnecting...",
         "smb_not_responding", "nas.example"},
        {"CIFS VFS: Server nas has not responded in 120 seconds. Reconnecting...",
         "smb_not_responding", "nas"},
        {"The client has not responded in 3 seconds", NULL, NULL},
    };
    CHECK_FAULTS(cases, TC_EVENT_STORAGE_ERROR);
}

static void network_faults_name_their_port(void **state)
{
    (void)state;
    static const struct fault_case cases[] = {
        {"mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, High "
         "Temperature",
         "port_module_high_temperature", "0000:5c:00.0"},
        {"mlx5_port_module_event:1131:(pid 0): Port module event[error]: module 0, Cable error, "
         "High Temperature",
         "port_module_high_temperature", ""},
        {"mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, Bus stuck",
         "port_module_error", "0000:5c:00.0"},
        {"mlx5_core 0000:5c:00.0: Port module event: module 1, Cable unplugged", "cable_unplugged",
         "0000:5c:00.0"},
        {"mlx5_core 0000:5c:00.0: Port module event: module 1, Cable plugged", NULL, NULL},
        {"mlx5_core 0000:5c:00.0: mlx5_pcie_event:299:(pid 1): Detected insufficient power on the "
         "PCIe slot (27W).",
         "insufficient_power", "0000:5c:00.0"},
        {"mlx5_core: Detected insufficient power on the PCIe slot (27 W).", NULL, NULL},
        {"mlx5_core: Detected insufficient power on the PCIe slot", NULL, NULL},
        {"mlx5_core 0000:d2:00.0: mlx5_cmd_out_err:838:(pid 2): ACCESS_REG(0x805) op_mod(0x1) "
         "failed",
         "access_reg_failed", "0000:d2:00.0"},
        {"mlx5_cmd_out_err:838:(pid 1): OTHER_CMD(0x123) failed", NULL, NULL},
        {"mlx5_core: ACCESS_REG successful", NULL, NULL},
        {"mlx5_core 0000:d2:00.0: poll_health:800:(pid 0): device's health compromised - reached "
         "miss count",
         "device_health", "0000:d2:00.0"},
        {"mlx5_core 0000:5c:00.0 ens1f0np0: Link down", "link_down", "ens1f0np0"},
        {"mlx5_core 0000:5c:00.0 ens1f0np0: Link up", "link_up", "ens1f0np0"},
        {"ixgbe 0000:01:00.0 eth0: NIC Link is Down", "link_down", "eth0"},
        {"e1000e: eth1 NIC Link is Up 1000 Mbps Full Duplex", "link_up", "eth1"},
        {"igb 0000:01:00.0 eth2: igb: eth2 NIC Link is Down", "link_down", "eth2"},
        {"ice 0000:4b:00.0 ens2f0: NIC Link is up 100 Gbps Full Duplex, Requested FEC: RS-FEC",
         "link_up", "ens2f0"},
        {"bnxt_en 0000:01:00.0 enp1s0f0np0: NIC Link is Up, 100000 Mbps full duplex, Flow control: "
         "none",
         "link_up", "enp1s0f0np0"},
        {"i40e 0000:d8:00.1 eth1: NIC Link is Down", "link_down", "eth1"},
        {"bnx2 0000:03:00.0: eth0: NIC Copper Link is Down", "link_down", "eth0"},
        {"bnx2: eth0 NIC SerDes Link is Up, 1000 Mbps full duplex", "link_up", "eth0"},
        {"tg3 0000:01:00.0 eth3: Link is down", "link_down", "eth3"},
        {"r8169 0000:02:00.0 enp2s0: Link is Up - 1Gbps/Full - flow control off", "link_up",
         "enp2s0"},
        {"tg3: eth3: Link is down", NULL, NULL},
        {"tg3 0000:01:00.0: Link is down", NULL, NULL},
        {"tg3 0000:01:00.0 eth3: Link is downloading", NULL, NULL},
        {"mlx4_en: eth2: Link Up", "link_up", "eth2"},
        {"mlx4_en: eth2: Link Down", "link_down", "eth2"},
        {"mlx4_en: the eth2: Link Down", NULL, NULL},
        {"mlx4_en: eth2: Link Downwards", NULL, NULL},
        {"mlx5_core 0000:08:00.0 mlx5_0: Port: 1 Link DOWN", "ib_link_down", "mlx5_0"},
        {"bnxt_en 0000:08:00.0 rocep8s0: Port: 1 Link ACTIVE", "ib_link_up", "rocep8s0"},
        {"mlx4_core 0000:08:00.0 mlx4_0: Port: 2 Link ACTIVE", "ib_link_up", "mlx4_0/2"},
        {"mlx5_core 0000:08:00.0 mlx5_0: Port: 1 Link INIT", NULL, NULL},
        {"mlx5_core 0000:08:00.0 mlx5_0: Port: x Link DOWN", NULL, NULL},
        {"mlx5_core 0000:08:00.0: Port: 1 Link DOWN", NULL, NULL},
        {"someone wrote: Port: 1 Link DOWN", NULL, NULL},
        {"bond0: (slave enp83s0f0np0): link status definitely down, disabling slave",
         "bond_link_down", "enp83s0f0np0"},
        {"bond0: (slave eth1): link status definitely up, 40000 Mbps full duplex", "bond_link_up",
         "eth1"},
        {"bonding: bond0: link status definitely down for interface eth8, disabling it",
         "bond_link_down", "eth8"},
        {"bond1: link status definitely up for interface eth0, 1000 Mbps full duplex",
         "bond_link_up", "eth0"},
        {"bond1: link status definitely up, 1000 Mbps full duplex", NULL, NULL},
        {"bond1: link status definitely lost for interface eth0", NULL, NULL},
        {"the bond0: link status definitely up for interface eth0", NULL, NULL},
        {"a user says that the NIC Link is Down", NULL, NULL},
        {"note: now the NIC Link is Down", NULL, NULL},
        {"mlx5_core 0000:5c:00.0: Link down", NULL, NULL},
        {"mlx5_core 0000:5c:00.0 ens1f0np0: Link down again", NULL, NULL},
        {"ixgbe 0000:01:00.0 eth0: NIC Link is Sideways", NULL, NULL},
        {"NIC Link is Down", NULL, NULL},
        {"IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready", NULL, NULL},
    };
    CHECK_FAULTS(cases, TC_EVENT_NETWORK_FAULT);
    assert_bdf(
        one_event("ixgbe 0000:01:00.0 eth0: NIC Link is Down", TC_EVENT_NETWORK_FAULT)->scope.pci,
        "0000:01:00.0");
}

static void stuck_tasks_have_a_process_and_a_time(void **state)
{
    (void)state;
    const struct tc_event *ev = one_event(
        "INFO: task kworker/u8:2:1177 blocked for more than 120 seconds.", TC_EVENT_STUCK_TASK);
    assert_slice(ev->fault.fault, "hung_task");
    assert_slice(ev->fault.process, "kworker/u8:2");
    assert_int_equal(ev->scope.pid, 1177);
    assert_int_equal(ev->fault.seconds, 120);
    ev = one_event("watchdog: BUG: soft lockup - CPU#18 stuck for 27s! [python3:2254956]",
                   TC_EVENT_STUCK_TASK);
    assert_slice(ev->fault.fault, "soft_lockup");
    assert_slice(ev->fault.device, "CPU#18");
    assert_slice(ev->fault.process, "python3");
    assert_int_equal(ev->scope.pid, 2254956);
    assert_int_equal(ev->fault.seconds, 27);
    ev = one_event("BUG: soft lockup - CPU#1 stuck for 22s! [torn", TC_EVENT_STUCK_TASK);
    assert_int_equal(ev->scope.pid, -1);
    const char *why = "hung task without its process id or time";
    assert_unknown("INFO: task xyz blocked for more than 60 seconds.", why);
    assert_unknown("INFO: task xyz:1 blocked for more than many seconds.", why);
    assert_unknown("INFO: task xyz:1 blocked for more than 60 hours.", why);
    assert_unknown("INFO: task :1 blocked for more than 60 seconds.", why);
    assert_unknown("INFO: task xyz:4194305 blocked for more than 60 seconds.", why);
    assert_unknown("INFO: task xyz:1 blocked for more than 9999999999 seconds.", why);
    assert_unknown("BUG: soft lockup - CPU#1", "soft lockup without its time");
}

static void segfaults_name_process_and_library(void **state)
{
    (void)state;
    const enum tc_event_kind kind = TC_EVENT_PROCESS_FAULT;
    const struct tc_event *ev =
        one_event("Web Content[77]: segfault at 7f79 ip 7f7c sp 7f7c error 4 "
                  "in libnccl.so.2[7f7c+d3d3000] likely on CPU 1 (core 1)",
                  kind);
    assert_slice(ev->fault.fault, "segfault");
    assert_slice(ev->fault.process, "Web Content");
    assert_int_equal(ev->scope.pid, 77);
    assert_slice(ev->fault.device, "libnccl.so.2");
    ev = one_event("segfault at 0 ip 0 sp 0 error 4", kind);
    assert_int_equal(ev->scope.pid, -1);
    assert_slice(ev->fault.device, "");
    assert_unknown("app[x]: segfault at 0 ip 0 sp 0", "no rule for this message");
    assert_unknown("app[1]: segfault at 0 sp 0", "no rule for this message");
    assert_unknown("app[4194305]: segfault at 0 ip 0", "no rule for this message");
    assert_unknown("app]: segfault at 0 ip 0 sp 0", "no rule for this message");
    assert_unknown("app[1]: segfault at zero ip 0", "no rule for this message");
    assert_unknown("sixteen-letters-[1]: segfault at 0 ip 0 sp 0", "no rule for this message");
    assert_int_equal(decode_text("fifteen-letters[1]: segfault at 0 ip 0 sp 0")->count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xid_has_code_address_process_and_message),
        cmocka_unit_test(xid_variants_of_older_and_newer_drivers_are_read),
        cmocka_unit_test(xid_without_a_number_is_unknown),
        cmocka_unit_test(nvlink5_xids_have_unit_severity_link_and_registers),
        cmocka_unit_test(torn_nvlink5_lines_give_what_is_left),
        cmocka_unit_test(xid_74_names_its_link),
        cmocka_unit_test(fallen_off_the_bus_is_xid_79_without_an_xid),
        cmocka_unit_test(inventory_ties_a_uuid_to_an_address),
        cmocka_unit_test(sxid_severity_and_link_may_be_absent),
        cmocka_unit_test(driver_faults_are_named),
        cmocka_unit_test(gpus_that_do_not_answer_are_named),
        cmocka_unit_test(oom_constraint_names_pod_container_and_process),
        cmocka_unit_test(cgroups_that_are_no_pods_or_containers_name_none),
        cmocka_unit_test(systemd_oomd_kills_cgroups),
        cmocka_unit_test(torn_oom_lines_prove_the_kill_and_wrong_ones_do_not),
        cmocka_unit_test(killed_processes_have_a_name_and_a_size),
        cmocka_unit_test(old_kernels_say_whose_memory_ran_out_above_the_kill),
        cmocka_unit_test(old_kernels_name_the_cgroup_above_the_kill),
        cmocka_unit_test(memory_errors_have_a_dimm_and_a_count),
        cmocka_unit_test(firmware_memory_errors_are_one_event_for_each_section),
        cmocka_unit_test(storage_errors_name_their_device),
        cmocka_unit_test(storage_behind_a_network_names_its_server),
        cmocka_unit_test(network_faults_name_their_port),
        cmocka_unit_test(stuck_tasks_have_a_process_and_a_time),
        cmocka_unit_test(segfaults_name_process_and_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
