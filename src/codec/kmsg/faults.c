/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Disks, file systems, network storage, network ports, stuck and crashed processes: messages
 * that become one fault event with a device. Most are rows of a table (codec/match_priv.h).
 */
#include "codec/decode_priv.h"
#include "codec/kmsg/kmsg_priv.h"
#include "codec/match_priv.h"

#define PID_MAX 4194304 /* PID_MAX_LIMIT of 64-bit kernels */
#define COMM_MAX 15     /* TASK_COMM_LEN: more is not a task's name but text around it */

/* What a row remembers. */
enum { DEVICE, PCI };

/* "EXT4-fs (dm-0): ", "BTRFS: ", "XFS (sda1): " */
#define FILESYSTEM "<EXT4-fs|EXT3-fs|EXT2-fs|XFS|BTRFS|F2FS-fs|FAT-fs|JBD2|GFS2>< ({0*})|>: "
#define REQUEST "<blk_update_request: |print_req_error: |>"
/* With the message's number: "LustreError: 11-0: " */
#define LUSTRE "<LustreError: <%d-%n: |>|Lustre: >"
/* With the id of the cluster: "ceph: [fsid 1]: " */
#define CEPH "<ceph|libceph>: <[*: |(*: |>"
#define MULTIPATH "device-mapper: multipath: <%d*: |>"
#define SCSI "sd *: [{0*}]*FAILED Result: hostbyte=DID_"

/* The first row that fits. Faults that end in "_ok" take others back; NULL is no fault. */
static const struct {
    enum tc_event_kind kind;
    const char *fault;
    const char *says;
    const char *first; /* bytes that such a line may begin with; NULL: the pattern's own */
} ROWS[] = {
    {TC_EVENT_STORAGE_ERROR, "fs_error", "Aborting journal on device {0%w}", NULL},
    {TC_EVENT_STORAGE_ERROR, "fs_error", "<EXT4|EXT3>-fs error (device {0%w}", "E"},
    /* At mount it is "BTRFS info", of errors long ago. */
    {TC_EVENT_STORAGE_ERROR, "fs_error", "BTRFS error (device {0%w}*: bdev * errs: wr ", NULL},
    {TC_EVENT_STORAGE_ERROR, "io_error",
     "JBD2: Detected IO errors *while flushing file data on {0*}", NULL},
    {TC_EVENT_STORAGE_ERROR, "fs_readonly", "<" FILESYSTEM "|>Remounting filesystem read-only",
     "EXBFJGR"},
    {TC_EVENT_STORAGE_ERROR, "io_error", "I/O error while ", NULL},
    {TC_EVENT_STORAGE_ERROR, "io_error", FILESYSTEM "*I/O error", "EXBFJG"},
    {TC_EVENT_STORAGE_ERROR, "fs_shutdown", FILESYSTEM "*Shutting down filesystem", "EXBFJG"},

    {TC_EVENT_STORAGE_ERROR, "io_error", "Buffer I/O error on dev<ice|>%s{0%w}", NULL},
    {TC_EVENT_STORAGE_ERROR, "io_error", REQUEST "<I/O|critical medium> error, dev {0%w}", "bpIc"},
    {TC_EVENT_STORAGE_ERROR, "path_lost", "block {0*}: no available path - failing I/O$", NULL},
    {TC_EVENT_STORAGE_ERROR, "beyond_end", REQUEST "attempt to access beyond end of device$",
     "bpa"},
    {TC_EVENT_STORAGE_ERROR, "raid_failure", "md/raid*: Disk failure on {0%w}", NULL},

    /* A lost interrupt, not a lost command. */
    {TC_EVENT_STORAGE_ERROR, NULL, "nvme {0*}: I/O *completion polled", NULL},
    {TC_EVENT_STORAGE_ERROR, "nvme_timeout", "nvme {0*}: I/O * QID * timeout, ", NULL},
    {TC_EVENT_STORAGE_ERROR, "nvme_down", "nvme {0*}: controller is down; will reset: ", NULL},
    {TC_EVENT_STORAGE_ERROR, "nvme_disabled", "nvme {0*}: Disabling device after reset failure",
     NULL},

    {TC_EVENT_STORAGE_ERROR, "nfs_not_responding", "nfs: server {0*} not responding", NULL},
    {TC_EVENT_STORAGE_ERROR, "nfs_ok", "nfs: server {0*} OK$", NULL},
    {TC_EVENT_STORAGE_ERROR, "nfs_reclaim_failed",
     "<NFS: |>nfs4_reclaim_open_state: Lock reclaim failed", "Nn"},

    /* What the management server does touches no file. */
    {TC_EVENT_STORAGE_ERROR, NULL, LUSTRE "MGC", "L"},
    {TC_EVENT_STORAGE_ERROR, "lustre_lost",
     LUSTRE "{0%n}: Connection to * was lost; in progress operations", "L"},
    {TC_EVENT_STORAGE_ERROR, "lustre_ok", LUSTRE "{0%n}: Connection restored to ", "L"},
    {TC_EVENT_STORAGE_ERROR, "lustre_error", LUSTRE "{0%n}: operation * failed: rc = ", "L"},
    {TC_EVENT_STORAGE_ERROR, "client_evicted", LUSTRE "{0%n}: This client was evicted by ", "L"},
    /* That a socket was closed is no trouble: the servers close those that are idle. */
    {TC_EVENT_STORAGE_ERROR, "ceph_hung", CEPH "{0mds%n}%shung$", "cl"},
    {TC_EVENT_STORAGE_ERROR, "ceph_stale", CEPH "{0mds%n}%scaps stale$", "cl"},
    {TC_EVENT_STORAGE_ERROR, "ceph_ok",
     CEPH "{0mds%n}%s<came back|caps renewed|reconnect success>$", "cl"},
    {TC_EVENT_STORAGE_ERROR, "ceph_down", CEPH "{0osd%n}%sdown$", "cl"},
    {TC_EVENT_STORAGE_ERROR, "ceph_ok", CEPH "{0osd%n}%sup$", "cl"},
    {TC_EVENT_STORAGE_ERROR, "path_failed", MULTIPATH "Failing path {0%w}", NULL},
    {TC_EVENT_STORAGE_ERROR, "path_ok", MULTIPATH "Reinstating path {0%w}", NULL},
    /* The command was lost on its way. DID_OK is the answer of a disk, which the block layer
     * judges. */
    {TC_EVENT_STORAGE_ERROR, NULL, SCSI "OK<$| >", NULL},
    {TC_EVENT_STORAGE_ERROR, "scsi_failed", SCSI, NULL},
    {TC_EVENT_STORAGE_ERROR, "iscsi_error", "%s{0connection%n:%n}: detected conn error (", NULL},
    {TC_EVENT_STORAGE_ERROR, "smb_not_responding",
     "CIFS<:|> VFS: <Server |><\\\\|>{0*} has not responded in ", NULL},

    {TC_EVENT_MEMORY_ERROR, "mce", "<mce: |>[Hardware Error]: Machine check events logged", "m["},
    {TC_EVENT_MEMORY_ERROR, "mce", "<mce: |>[Hardware Error]: {0CPU *}: Machine Check", "m["},

    {TC_EVENT_DRIVER_FAULT, "peermem_invalid_context",
     "nvidia-peermem *ERROR detected invalid context", NULL},
    {TC_EVENT_DRIVER_FAULT, "gpu_no_power",
     "NVRM: GPU {1%b}*: GPU does not have the necessary power cables connected", NULL},
    {TC_EVENT_DRIVER_FAULT, "gpu_unreachable",
     "<nvidia|amdgpu> {1%b}: <Unable to|can't> change power state from * inaccessible", "na"},
    {TC_EVENT_DRIVER_FAULT, "driver_load_ok", "NVRM: loading NVIDIA UNIX", NULL},
    {TC_EVENT_DRIVER_FAULT, "driver_load_ok", "[drm] amdgpu kernel modesetting enabled", NULL},
    {TC_EVENT_DRIVER_FAULT, "gpu_init_ok",
     "[drm] Initialized <nvidia-drm|amdgpu> * for {1%b} on minor", NULL},
    {TC_EVENT_DRIVER_FAULT, "gpu_released_ok", "vfio-pci {1%b}: ", NULL},

    {TC_EVENT_NETWORK_FAULT, "link_up", "mlx4_en: {0%n}: Link Up$", NULL},
    {TC_EVENT_NETWORK_FAULT, "link_down", "mlx4_en: {0%n}: Link Down$", NULL},
};

static enum tc__kmsg_verdict rule_row(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice s = c->line->message;
    for (size_t i = 0; i < TC_COUNT(ROWS) && s.len > 0; i++) {
        bool may = ROWS[i].first == NULL || strchr(ROWS[i].first, s.ptr[0]) != NULL;
        if (!may || !tc__text_match(s, ROWS[i].says, got)) {
            continue;
        }
        if (ROWS[i].fault == NULL) {
            break;
        }
        tc__kmsg_fault(c, ev, ROWS[i].kind, tc_slice_cstr(ROWS[i].fault), got[DEVICE]);
        (void)tc_bdf_parse(got[PCI], &ev->scope.pci);
        return TC__KMSG_EVENT;
    }
    return TC__KMSG_NOT_MINE;
}

/* "python3: attempt to access beyond end of device" */
static enum tc__kmsg_verdict rule_beyond_end(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    if (!tc__text_match(c->line->message, REQUEST "{0*}: attempt to access beyond end of device$",
                        got) ||
        got[0].len > COMM_MAX) {
        return TC__KMSG_NOT_MINE;
    }
    tc__kmsg_fault(c, ev, TC_EVENT_STORAGE_ERROR, TC_LIT("beyond_end"), TC_EMPTY);
    ev->fault.process = got[0];
    return TC__KMSG_EVENT;
}

/* What is wrong with a Mellanox adapter, by the text behind its address; empty when nothing. A
 * function with its line and pid may come first: "mlx5_pcie_event:299:(pid 268269): ". */
static struct tc_slice mlx5_fault(struct tc_slice s)
{
    static const struct {
        const char *says;
        const char *fault;
    } rows[] = {
        {"<mlx5_*: |>Port module event*High Temperature", "port_module_high_temperature"},
        {"<mlx5_*: |>Port module event[error]", "port_module_error"},
        {"<mlx5_*: |>Port module event*Cable unplugged$", "cable_unplugged"},
        {"<mlx5_*: |>Port module event", ""},
        {"<mlx5_*: |>Detected insufficient power on the PCIe slot*(%dW)", "insufficient_power"},
        {"<mlx5_cmd_out_err|mlx5_cmd_check>*: ACCESS_REG* failed", "access_reg_failed"},
        {"*health compromised", "device_health"},
    };
    struct tc_slice got[TC__TEXT_SLOTS];
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        if (tc__text_match(s, rows[i].says, got)) {
            return tc_slice_cstr(rows[i].fault);
        }
    }
    return TC_EMPTY;
}

static enum tc__kmsg_verdict link_event(struct tc__kmsg_context *c, struct tc_event *ev,
                                        struct tc_slice fault, struct tc_slice device,
                                        struct tc_bdf pci)
{
    tc__kmsg_fault(c, ev, TC_EVENT_NETWORK_FAULT, fault, device);
    ev->scope.pci = pci;
    return TC__KMSG_EVENT;
}

/* "mlx5_core 0000:5c:00.0 ens1f0np0: Link down", "mlx5_core 0000:5c:00.0: mlx5_pcie_event:..." */
static enum tc__kmsg_verdict rule_mlx5(struct tc__kmsg_context *c, struct tc_event *ev)
{
    enum { ADDRESS, PORT, TEXT };
    struct tc_slice s = c->line->message;
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice device = TC_EMPTY;
    struct tc_slice fault = TC_EMPTY;
    struct tc_bdf pci = {0};
    if (tc__text_match(s, "mlx5_core< |><{0%b}|>{1*}:%s{2*}", got)) {
        (void)tc_bdf_parse(got[ADDRESS], &pci);
        device = got[ADDRESS];
        s = got[TEXT];
        struct tc_slice port = tc_slice_trim(got[PORT]);
        bool up = tc_slice_eq(s, TC_LIT("Link up"));
        if (port.len > 0 && (up || tc_slice_eq(s, TC_LIT("Link down")))) {
            device = port;
            fault = up ? TC_LIT("link_up") : TC_LIT("link_down");
        }
    } else if (!tc_slice_starts(s, TC_LIT("mlx5_")) &&
               !tc_slice_starts(s, TC_LIT("Port module event"))) {
        return TC__KMSG_NOT_MINE;
    }
    if (fault.len == 0) {
        fault = mlx5_fault(s);
    }
    return fault.len == 0 ? TC__KMSG_NOT_MINE : link_event(c, ev, fault, device, pci);
}

/* The word at the start of s is `word`, whatever the case of its letters. */
static bool starts_with_word(struct tc_slice s, struct tc_slice word)
{
    struct tc_slice rest = tc_slice_from(s, word.len);
    return tc_slice_eq_nocase(tc_slice_head(s, word.len), word) &&
           (rest.len == 0 || !tc__kmsg_is_alnum(rest.ptr[0]));
}

static bool drop_end(struct tc_slice *io_s, struct tc_slice end)
{
    bool has = tc_slice_ends(*io_s, end);
    *io_s = has ? tc_slice_head(*io_s, io_s->len - end.len) : *io_s;
    return has;
}

/*
 * "ixgbe 0000:01:00.0 eth0: NIC Link is Down", "e1000e: eth0 NIC Link is Up 1000 Mbps ...",
 * "bnx2 0000:01:00.0: eth0: NIC Copper Link is Down", "tg3 0000:01:00.0 eth0: Link is up at ...".
 * The text may stand anywhere, so what is before it must be a driver with its
 * address, or with the interface alone.
 */
static enum tc__kmsg_verdict rule_nic(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice head;
    struct tc_slice s;
    struct tc_slice rest;
    struct tc_bdf pci = {0};
    if (!tc__kmsg_split(c->line->message, TC_LIT(" Link is "), &head, &s)) {
        return TC__KMSG_NOT_MINE;
    }
    bool up = starts_with_word(s, TC_LIT("Up"));
    (void)(drop_end(&head, TC_LIT(" Copper")) || drop_end(&head, TC_LIT(" SerDes")));
    bool nic = drop_end(&head, TC_LIT(" NIC"));
    struct tc_slice driver = tc_slice_cut(head, ' ', &rest);
    bool anchored = tc_bdf_parse(rest, &pci) > 0 || (nic && tc_slice_ends(driver, TC_LIT(":")) &&
                                                     tc_slice_find_byte(rest, ' ') == TC_NPOS);
    const char *space = rest.len == 0 ? NULL : memrchr(rest.ptr, ' ', rest.len);
    /* An address alone names no interface. */
    if (!anchored || (pci.known && space == NULL) ||
        (!up && !starts_with_word(s, TC_LIT("Down")))) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice device =
        space == NULL ? rest : tc_slice_from(rest, (size_t)(space - rest.ptr) + 1);
    (void)drop_end(&device, TC_LIT(":"));
    return link_event(c, ev, up ? TC_LIT("link_up") : TC_LIT("link_down"), device, pci);
}

/*
 * "mlx5_core 0000:08:00.0 mlx5_0: Port: 1 Link DOWN", of ib_core from Linux 6.13 on, any driver.
 * A second port is "mlx4_0/2", the first is called like the device.
 */
static enum tc__kmsg_verdict rule_ib(struct tc__kmsg_context *c, struct tc_event *ev)
{
    enum { NAME, ADDRESS, PORT, STATE };
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_bdf pci = {0};
    uint64_t port = 0;
    if (!tc__text_match(c->line->message, "%n {1%b}%s{0%n}: Port: {2%d} Link {3*}", got) ||
        !tc_slice_is_u64(got[PORT], &port)) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice name = got[NAME];
    bool up = tc_slice_eq(got[STATE], TC_LIT("ACTIVE"));
    if (!up && !tc_slice_eq(got[STATE], TC_LIT("DOWN"))) {
        return TC__KMSG_NOT_MINE;
    }
    if (port > 1) {
        name = tc__join(c->arena, name, TC_LIT("/"), got[PORT]);
        if (name.len == 0) {
            return TC__KMSG_NOMEM;
        }
    }
    (void)tc_bdf_parse(got[ADDRESS], &pci);
    return link_event(c, ev, up ? TC_LIT("ib_link_up") : TC_LIT("ib_link_down"), name, pci);
}

/*
 * "bond0: (slave eth1): link status definitely down, disabling slave", and before Linux 5.3
 * "bond0: link status definitely down for interface eth1, disabling it".
 */
static enum tc__kmsg_verdict rule_bond(struct tc__kmsg_context *c, struct tc_event *ev)
{
    enum { STATE = DEVICE + 1 };
    struct tc_slice s = c->line->message;
    struct tc_slice got[TC__TEXT_SLOTS];
    if ((!tc__text_match(s, "<bonding: |>%n: (slave {0*})<:|> link status definitely {1%w}", got) &&
         !tc__text_match(s, "<bonding: |>%n: link status definitely {1%w} for interface {0%w}",
                         got)) ||
        got[DEVICE].len == 0) {
        return TC__KMSG_NOT_MINE;
    }
    bool up = tc_slice_eq_nocase(got[STATE], TC_LIT("up"));
    if (!up && !tc_slice_eq_nocase(got[STATE], TC_LIT("down"))) {
        return TC__KMSG_NOT_MINE;
    }
    return link_event(c, ev, up ? TC_LIT("bond_link_up") : TC_LIT("bond_link_down"), got[DEVICE],
                      (struct tc_bdf){0});
}

/* "name:123": a name may hold colons (kworker/u8:2), so the pid is behind the last one. */
static bool split_task(struct tc_slice s, struct tc_slice *out_name, int64_t *out_pid)
{
    const char *colon = s.len == 0 ? NULL : memrchr(s.ptr, ':', s.len);
    uint64_t pid = 0;
    if (colon == NULL || colon == s.ptr ||
        !tc_slice_is_u64(tc_slice_from(s, (size_t)(colon - s.ptr) + 1), &pid) || pid > PID_MAX) {
        return false;
    }
    *out_name = tc_slice_head(s, (size_t)(colon - s.ptr));
    *out_pid = (int64_t)pid;
    return true;
}

/* "INFO: task jfsmount:136986 blocked for more than 120 seconds." */
static enum tc__kmsg_verdict rule_hung(struct tc__kmsg_context *c, struct tc_event *ev)
{
    enum { TASK, SECONDS };
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice name;
    int64_t pid = 0;
    uint64_t seconds = 0;
    if (!tc__text_match(c->line->message,
                        "<INFO: |>task {0*} blocked for more than <{1%d} seconds|>", got)) {
        return TC__KMSG_NOT_MINE;
    }
    if (!split_task(got[TASK], &name, &pid) || !tc_slice_is_u64(got[SECONDS], &seconds) ||
        seconds > INT32_MAX) {
        c->why = "hung task without its process id or time";
        return TC__KMSG_BROKEN;
    }
    tc__kmsg_fault(c, ev, TC_EVENT_STUCK_TASK, TC_LIT("hung_task"), TC_EMPTY);
    ev->fault.process = name;
    ev->fault.seconds = (int64_t)seconds;
    ev->scope.pid = pid;
    return TC__KMSG_EVENT;
}

/* "watchdog: BUG: soft lockup - CPU#18 stuck for 27s! [python3:2254956]" */
static enum tc__kmsg_verdict rule_lockup(struct tc__kmsg_context *c, struct tc_event *ev)
{
    enum { CPU, SECONDS, TASK };
    struct tc_slice got[TC__TEXT_SLOTS];
    uint64_t seconds = 0;
    if (!tc__text_match(c->line->message,
                        "<watchdog: |>BUG: soft lockup - <{0*} stuck for {1%d}<* [{2*}]$|>|>",
                        got)) {
        return TC__KMSG_NOT_MINE;
    }
    if (!tc_slice_is_u64(got[SECONDS], &seconds) || seconds > INT32_MAX) {
        c->why = "soft lockup without its time";
        return TC__KMSG_BROKEN;
    }
    tc__kmsg_fault(c, ev, TC_EVENT_STUCK_TASK, TC_LIT("soft_lockup"), got[CPU]);
    ev->fault.seconds = (int64_t)seconds;
    (void)split_task(got[TASK], &ev->fault.process, &ev->scope.pid);
    return TC__KMSG_EVENT;
}

/* "pt_main_thread[2536443]: segfault at 7f79 ip 7f7c sp 7f7c error 4 in libnccl.so.2[7f7c+d3]" */
static enum tc__kmsg_verdict rule_segfault(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    struct tc_slice who = TC_EMPTY;
    struct tc_slice head;
    uint64_t address = 0;
    uint64_t pid = 0;
    if (!tc__kmsg_take(&s, TC_LIT("segfault at ")) &&
        !tc__kmsg_split(s, TC_LIT("]: segfault at "), &who, &s)) {
        return TC__KMSG_NOT_MINE;
    }
    size_t used = tc_slice_hex(s, &address);
    const char *open = who.len == 0 ? NULL : memrchr(who.ptr, '[', who.len);
    if (used == 0 || !tc_slice_starts(tc_slice_from(s, used), TC_LIT(" ip ")) ||
        (open == NULL) != (who.len == 0)) {
        return TC__KMSG_NOT_MINE;
    }
    if (open != NULL) {
        size_t at = (size_t)(open - who.ptr);
        if (!tc_slice_is_u64(tc_slice_from(who, at + 1), &pid) || pid > PID_MAX) {
            return TC__KMSG_NOT_MINE;
        }
        who = tc_slice_head(who, at);
    }
    if (who.len > COMM_MAX) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice library = TC_EMPTY;
    if (tc__kmsg_split(s, TC_LIT(" in "), &head, &library)) {
        library = tc_slice_cut(tc_slice_cut(library, ' ', &head), '[', &head);
    }
    tc__kmsg_fault(c, ev, TC_EVENT_PROCESS_FAULT, TC_LIT("segfault"), library);
    ev->fault.process = who;
    ev->scope.pid = open == NULL ? -1 : (int64_t)pid;
    return TC__KMSG_EVENT;
}

const tc__kmsg_rule tc__kmsg_fault_rules[] = {
    rule_row,  rule_beyond_end, rule_ib,       rule_mlx5,         rule_nic, rule_bond,
    rule_hung, rule_lockup,     rule_segfault, tc__kmsg_rule_amd, NULL,
};
