/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Disks, file systems, NFS, network ports, stuck and crashed processes: messages
 * that become one fault event with a device.
 */
#include "codec/kmsg/kmsg_priv.h"

#define PID_MAX 4194304 /* PID_MAX_LIMIT of 64-bit kernels */
#define COMM_MAX 15     /* TASK_COMM_LEN: more is not a task's name but text around it */

static enum tc__kmsg_verdict storage(struct tc__kmsg_context *c, struct tc_event *ev,
                                     struct tc_slice fault, struct tc_slice device)
{
    tc__kmsg_fault(c, ev, TC_EVENT_STORAGE_ERROR, fault, device);
    return TC__KMSG_EVENT;
}

/* The first word of s, which ends at a space, a comma or a full stop behind it. */
static struct tc_slice device_of(struct tc_slice s)
{
    size_t len = 0;
    while (len < s.len && s.ptr[len] != ' ' && s.ptr[len] != ',') {
        len++;
    }
    s = tc_slice_head(s, len);
    return tc_slice_ends(s, TC_LIT(".")) ? tc_slice_head(s, s.len - 1) : s;
}

/* "EXT4-fs (dm-0): ", "BTRFS: ", "XFS (sda1): " at the start of *io_s. */
static bool take_filesystem(struct tc_slice *io_s, struct tc_slice *out_device)
{
    static const struct tc_slice names[] = {
        {"EXT4-fs", 7}, {"EXT3-fs", 7}, {"EXT2-fs", 7}, {"XFS", 3},  {"BTRFS", 5},
        {"F2FS-fs", 7}, {"FAT-fs", 6},  {"JBD2", 4},    {"GFS2", 4},
    };
    struct tc_slice s = *io_s;
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        if (!tc__kmsg_take(&s, names[i])) {
            continue;
        }
        struct tc_slice device = TC_EMPTY;
        if (tc__kmsg_take(&s, TC_LIT(" ("))) {
            device = tc_slice_cut(s, ')', &s);
        }
        if (!tc__kmsg_take(&s, TC_LIT(": "))) {
            return false;
        }
        *out_device = device;
        *io_s = s;
        return true;
    }
    return false;
}

/* "EXT4-fs error (device sda1): func:83: comm python: ...", "Aborting journal on device sda1-8." */
static bool take_fs_error(struct tc_slice s, struct tc_slice *out_device)
{
    if (tc__kmsg_take(&s, TC_LIT("Aborting journal on device "))) {
        *out_device = device_of(s);
        return true;
    }
    if (!tc__kmsg_take(&s, TC_LIT("EXT4-fs error (device ")) &&
        !tc__kmsg_take(&s, TC_LIT("EXT3-fs error (device "))) {
        return false;
    }
    *out_device = tc_slice_cut(s, ')', &s);
    return true;
}

/* "BTRFS error (device nvme1n1 state EA): bdev /dev/nvme1n1 errs: wr 12, rd 0, ...". At mount it is
 * "BTRFS info", of errors long ago. */
static bool take_btrfs_error(struct tc_slice s, struct tc_slice *out_device)
{
    if (!tc__kmsg_take(&s, TC_LIT("BTRFS error (device "))) {
        return false;
    }
    *out_device = device_of(tc_slice_cut(s, ')', &s));
    return tc_slice_starts(s, TC_LIT(": bdev ")) && tc_slice_contains(s, TC_LIT(" errs: wr "));
}

/* "JBD2: Detected IO errors while flushing file data on sda1-8", newer kernels with a number. */
static bool take_journal_error(struct tc_slice s, struct tc_slice *out_device)
{
    struct tc_slice head;
    return tc__kmsg_take(&s, TC_LIT("JBD2: Detected IO errors ")) &&
           tc__kmsg_split(s, TC_LIT("while flushing file data on "), &head, out_device);
}

static enum tc__kmsg_verdict rule_filesystem(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    struct tc_slice device = TC_EMPTY;
    if (take_fs_error(s, &device) || take_btrfs_error(s, &device)) {
        return storage(c, ev, TC_LIT("fs_error"), device);
    }
    if (take_journal_error(s, &device)) {
        return storage(c, ev, TC_LIT("io_error"), device);
    }
    bool named = take_filesystem(&s, &device);
    if (tc_slice_starts(s, TC_LIT("Remounting filesystem read-only"))) {
        return storage(c, ev, TC_LIT("fs_readonly"), device);
    }
    if (tc_slice_starts(s, TC_LIT("I/O error while ")) ||
        (named && tc_slice_contains(s, TC_LIT("I/O error")))) {
        return storage(c, ev, TC_LIT("io_error"), device);
    }
    if (named && tc_slice_contains(s, TC_LIT("Shutting down filesystem"))) {
        return storage(c, ev, TC_LIT("fs_shutdown"), device);
    }
    return TC__KMSG_NOT_MINE;
}

/* Block layer: "Buffer I/O error on dev dm-0, ...", "blk_update_request: I/O error, dev sda, ..."
 */
static enum tc__kmsg_verdict rule_block(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    struct tc_slice process;
    struct tc_slice rest;
    if (tc__kmsg_take(&s, TC_LIT("Buffer I/O error on dev"))) {
        (void)tc__kmsg_take(&s, TC_LIT("ice"));
        return storage(c, ev, TC_LIT("io_error"), device_of(tc__kmsg_skip_spaces(s)));
    }
    if (tc__kmsg_take(&s, TC_LIT("block "))) {
        struct tc_slice device = tc_slice_cut(s, ':', &s);
        return tc_slice_eq(s, TC_LIT(" no available path - failing I/O"))
                   ? storage(c, ev, TC_LIT("path_lost"), device)
                   : TC__KMSG_NOT_MINE;
    }
    (void)(tc__kmsg_take(&s, TC_LIT("blk_update_request: ")) ||
           tc__kmsg_take(&s, TC_LIT("print_req_error: ")));
    if (tc__kmsg_take(&s, TC_LIT("I/O error, dev ")) ||
        tc__kmsg_take(&s, TC_LIT("critical medium error, dev "))) {
        return storage(c, ev, TC_LIT("io_error"), device_of(s));
    }
    if (tc_slice_eq(s, TC_LIT("attempt to access beyond end of device"))) {
        return storage(c, ev, TC_LIT("beyond_end"), TC_EMPTY);
    }
    if (tc__kmsg_split(s, TC_LIT(": attempt to access beyond end of device"), &process, &rest) &&
        rest.len == 0 && process.len <= COMM_MAX) {
        (void)storage(c, ev, TC_LIT("beyond_end"), TC_EMPTY);
        ev->fault.process = process;
        return TC__KMSG_EVENT;
    }
    return TC__KMSG_NOT_MINE;
}

/*
 * "nvme nvme4: I/O tag 22 (2016) opcode 0x2 (Admin Cmd) QID 0 timeout, reset controller".
 * "completion polled" is a lost interrupt, not a lost command.
 */
static enum tc__kmsg_verdict rule_nvme(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    if (!tc__kmsg_take(&s, TC_LIT("nvme "))) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice device = tc_slice_cut(s, ':', &s);
    if (tc_slice_starts(s, TC_LIT(" I/O ")) && tc_slice_contains(s, TC_LIT(" QID ")) &&
        tc_slice_contains(s, TC_LIT(" timeout, ")) &&
        !tc_slice_contains(s, TC_LIT("completion polled"))) {
        return storage(c, ev, TC_LIT("nvme_timeout"), device);
    }
    if (tc_slice_starts(s, TC_LIT(" controller is down; will reset: "))) {
        return storage(c, ev, TC_LIT("nvme_down"), device);
    }
    if (tc_slice_starts(s, TC_LIT(" Disabling device after reset failure"))) {
        return storage(c, ev, TC_LIT("nvme_disabled"), device);
    }
    return TC__KMSG_NOT_MINE;
}

/* "md/raid1:md1: Disk failure on sda1, disabling device." */
static enum tc__kmsg_verdict rule_raid(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    struct tc_slice array;
    if (!tc_slice_starts(s, TC_LIT("md/raid")) ||
        !tc__kmsg_split(s, TC_LIT(": Disk failure on "), &array, &s)) {
        return TC__KMSG_NOT_MINE;
    }
    return storage(c, ev, TC_LIT("raid_failure"), device_of(s));
}

enum tc__kmsg_verdict tc__kmsg_rule_storage(struct tc__kmsg_context *c, struct tc_event *ev)
{
    static const tc__kmsg_rule rules[] = {rule_filesystem, rule_block, rule_nvme, rule_raid};
    for (size_t i = 0; i < TC_COUNT(rules); i++) {
        enum tc__kmsg_verdict verdict = rules[i](c, ev);
        if (verdict != TC__KMSG_NOT_MINE) {
            return verdict;
        }
    }
    return TC__KMSG_NOT_MINE;
}

/* "nfs: server 10.0.0.5 not responding, timed out", "... OK"; a server that came back is news too.
 */
enum tc__kmsg_verdict tc__kmsg_rule_nfs(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    if (tc__kmsg_take(&s, TC_LIT("nfs: server "))) {
        struct tc_slice server = tc_slice_cut(s, ' ', &s);
        if (tc_slice_starts(s, TC_LIT("not responding"))) {
            return storage(c, ev, TC_LIT("nfs_not_responding"), server);
        }
        return tc_slice_eq(s, TC_LIT("OK")) ? storage(c, ev, TC_LIT("nfs_ok"), server)
                                            : TC__KMSG_NOT_MINE;
    }
    (void)tc__kmsg_take(&s, TC_LIT("NFS: "));
    if (tc_slice_starts(s, TC_LIT("nfs4_reclaim_open_state: Lock reclaim failed"))) {
        return storage(c, ev, TC_LIT("nfs_reclaim_failed"), TC_EMPTY);
    }
    return TC__KMSG_NOT_MINE;
}

/* The name of a Mellanox function, its line and pid: "mlx5_pcie_event:299:(pid 268269): ". */
static void take_function(struct tc_slice *io_s)
{
    size_t end = tc_slice_find(*io_s, TC_LIT(": "));
    if (end != TC_NPOS && tc_slice_starts(*io_s, TC_LIT("mlx5_"))) {
        *io_s = tc_slice_from(*io_s, end + 2);
    }
}

/* "(27W)" anywhere in s */
static bool has_watts(struct tc_slice s)
{
    uint64_t watts = 0;
    struct tc_slice head;
    if (!tc__kmsg_split(s, TC_LIT("("), &head, &s)) {
        return false;
    }
    size_t used = tc_slice_u64(s, &watts);
    return used > 0 && tc_slice_starts(tc_slice_from(s, used), TC_LIT("W)"));
}

/* What is wrong with a Mellanox adapter, by the text behind its address; empty when nothing. */
static struct tc_slice mlx5_fault(struct tc_slice s)
{
    struct tc_slice text = s;
    take_function(&text);
    if (tc__kmsg_take(&text, TC_LIT("Port module event"))) {
        if (tc_slice_contains(text, TC_LIT("High Temperature"))) {
            return TC_LIT("port_module_high_temperature");
        }
        if (tc_slice_starts(text, TC_LIT("[error]"))) {
            return TC_LIT("port_module_error");
        }
        return tc_slice_ends(text, TC_LIT("Cable unplugged")) ? TC_LIT("cable_unplugged")
                                                              : TC_EMPTY;
    }
    if (tc__kmsg_take(&text, TC_LIT("Detected insufficient power on the PCIe slot")) &&
        has_watts(text)) {
        return TC_LIT("insufficient_power");
    }
    if ((tc_slice_starts(s, TC_LIT("mlx5_cmd_out_err")) ||
         tc_slice_starts(s, TC_LIT("mlx5_cmd_check"))) &&
        tc_slice_starts(text, TC_LIT("ACCESS_REG")) && tc_slice_contains(text, TC_LIT(" failed"))) {
        return TC_LIT("access_reg_failed");
    }
    return tc_slice_contains(text, TC_LIT("health compromised")) ? TC_LIT("device_health")
                                                                 : TC_EMPTY;
}

/* "mlx5_core 0000:5c:00.0 ens1f0np0: Link down", "mlx5_core 0000:5c:00.0: mlx5_pcie_event:..." */
static enum tc__kmsg_verdict rule_mlx5(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    struct tc_slice device = TC_EMPTY;
    struct tc_slice fault = TC_EMPTY;
    struct tc_bdf pci = {0};
    if (tc__kmsg_take(&s, TC_LIT("mlx5_core"))) {
        (void)tc__kmsg_take(&s, TC_LIT(" "));
        size_t used = tc_bdf_parse(s, &pci);
        device = tc_slice_head(s, used);
        s = tc_slice_from(s, used);
        struct tc_slice port = tc_slice_trim(tc_slice_cut(s, ':', &s));
        s = tc__kmsg_skip_spaces(s);
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
    if (fault.len == 0) {
        return TC__KMSG_NOT_MINE;
    }
    tc__kmsg_fault(c, ev, TC_EVENT_NETWORK_FAULT, fault, device);
    ev->scope.pci = pci;
    return TC__KMSG_EVENT;
}

static enum tc__kmsg_verdict link_event(struct tc__kmsg_context *c, struct tc_event *ev,
                                        struct tc_slice fault, struct tc_slice device,
                                        struct tc_bdf pci)
{
    tc__kmsg_fault(c, ev, TC_EVENT_NETWORK_FAULT, fault, device);
    ev->scope.pci = pci;
    return TC__KMSG_EVENT;
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

/* "mlx4_en: eth2: Link Up" */
static enum tc__kmsg_verdict rule_mlx4(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    if (!tc__kmsg_take(&s, TC_LIT("mlx4_en: "))) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice device = tc_slice_cut(s, ':', &s);
    bool up = tc_slice_eq(s, TC_LIT(" Link Up"));
    if (device.len == 0 || tc_slice_find_byte(device, ' ') != TC_NPOS ||
        (!up && !tc_slice_eq(s, TC_LIT(" Link Down")))) {
        return TC__KMSG_NOT_MINE;
    }
    return link_event(c, ev, up ? TC_LIT("link_up") : TC_LIT("link_down"), device,
                      (struct tc_bdf){0});
}

/*
 * "mlx5_core 0000:08:00.0 mlx5_0: Port: 1 Link DOWN", of ib_core from Linux 6.13 on, any driver.
 * A second port is "mlx4_0/2", the first is called like the device.
 */
static enum tc__kmsg_verdict rule_ib(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice head;
    struct tc_slice s;
    struct tc_slice name;
    struct tc_bdf pci = {0};
    uint64_t port = 0;
    if (!tc__kmsg_split(c->line->message, TC_LIT(": Port: "), &head, &s)) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice number = tc_slice_cut(s, ' ', &s);
    bool up = tc_slice_eq(s, TC_LIT("Link ACTIVE"));
    (void)tc_slice_cut(head, ' ', &name);
    size_t used = tc_bdf_parse(name, &pci);
    name = tc__kmsg_skip_spaces(tc_slice_from(name, used));
    if (used == 0 || name.len == 0 || tc_slice_find_byte(name, ' ') != TC_NPOS ||
        !tc_slice_is_u64(number, &port) || (!up && !tc_slice_eq(s, TC_LIT("Link DOWN")))) {
        return TC__KMSG_NOT_MINE;
    }
    if (port > 1) {
        struct tc_buf b = tc_buf_make(tc_new(c->arena, char, name.len + TC_PUT_U64_MAX + 1),
                                      name.len + TC_PUT_U64_MAX + 1);
        if (b.data == NULL) {
            return TC__KMSG_NOMEM;
        }
        tc_buf_str(&b, name);
        tc_buf_char(&b, '/');
        tc_buf_u64(&b, port);
        name = tc_buf_slice(&b);
    }
    return link_event(c, ev, up ? TC_LIT("ib_link_up") : TC_LIT("ib_link_down"), name, pci);
}

/*
 * "bond0: (slave eth1): link status definitely down, disabling slave", and before Linux 5.3
 * "bond0: link status definitely down for interface eth1, disabling it".
 */
static enum tc__kmsg_verdict rule_bond(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    struct tc_slice device = TC_EMPTY;
    (void)tc__kmsg_take(&s, TC_LIT("bonding: "));
    struct tc_slice bond = tc_slice_cut(s, ':', &s);
    if (bond.len == 0 || tc_slice_find_byte(bond, ' ') != TC_NPOS) {
        return TC__KMSG_NOT_MINE;
    }
    if (tc__kmsg_take(&s, TC_LIT(" (slave "))) {
        device = tc_slice_cut(s, ')', &s);
        (void)tc__kmsg_take(&s, TC_LIT(":"));
    }
    if (!tc__kmsg_take(&s, TC_LIT(" link status definitely "))) {
        return TC__KMSG_NOT_MINE;
    }
    bool up = starts_with_word(s, TC_LIT("up"));
    bool down = starts_with_word(s, TC_LIT("down"));
    s = tc_slice_from(s, up ? 2 : 4);
    if (device.len == 0 && tc__kmsg_take(&s, TC_LIT(" for interface "))) {
        device = device_of(s);
    }
    if (device.len == 0 || (!up && !down)) {
        return TC__KMSG_NOT_MINE;
    }
    return link_event(c, ev, up ? TC_LIT("bond_link_up") : TC_LIT("bond_link_down"), device,
                      (struct tc_bdf){0});
}

enum tc__kmsg_verdict tc__kmsg_rule_network(struct tc__kmsg_context *c, struct tc_event *ev)
{
    static const tc__kmsg_rule rules[] = {rule_ib, rule_mlx5, rule_nic, rule_mlx4, rule_bond};
    enum tc__kmsg_verdict verdict = TC__KMSG_NOT_MINE;
    for (size_t i = 0; i < TC_COUNT(rules) && verdict == TC__KMSG_NOT_MINE; i++) {
        verdict = rules[i](c, ev);
    }
    return verdict;
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
    struct tc_slice s = c->line->message;
    struct tc_slice task;
    struct tc_slice name;
    int64_t pid = 0;
    uint64_t seconds = 0;
    (void)tc__kmsg_take(&s, TC_LIT("INFO: "));
    if (!tc__kmsg_take(&s, TC_LIT("task ")) ||
        !tc__kmsg_split(s, TC_LIT(" blocked for more than "), &task, &s)) {
        return TC__KMSG_NOT_MINE;
    }
    size_t used = tc_slice_u64(s, &seconds);
    if (!split_task(task, &name, &pid) || used == 0 || seconds > INT32_MAX ||
        !tc_slice_starts(tc_slice_from(s, used), TC_LIT(" seconds"))) {
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
    struct tc_slice s = c->line->message;
    uint64_t seconds = 0;
    (void)tc__kmsg_take(&s, TC_LIT("watchdog: "));
    if (!tc__kmsg_take(&s, TC_LIT("BUG: soft lockup - "))) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice cpu = tc_slice_cut(s, ' ', &s);
    if (!tc__kmsg_take(&s, TC_LIT("stuck for ")) || tc_slice_u64(s, &seconds) == 0 ||
        seconds > INT32_MAX) {
        c->why = "soft lockup without its time";
        return TC__KMSG_BROKEN;
    }
    tc__kmsg_fault(c, ev, TC_EVENT_STUCK_TASK, TC_LIT("soft_lockup"), cpu);
    ev->fault.seconds = (int64_t)seconds;
    struct tc_slice head;
    if (tc__kmsg_split(s, TC_LIT(" ["), &head, &s) && tc_slice_ends(s, TC_LIT("]"))) {
        (void)split_task(tc_slice_head(s, s.len - 1), &ev->fault.process, &ev->scope.pid);
    }
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

enum tc__kmsg_verdict tc__kmsg_rule_task(struct tc__kmsg_context *c, struct tc_event *ev)
{
    enum tc__kmsg_verdict verdict = rule_hung(c, ev);
    if (verdict == TC__KMSG_NOT_MINE) {
        verdict = rule_lockup(c, ev);
    }
    return verdict == TC__KMSG_NOT_MINE ? rule_segfault(c, ev) : verdict;
}
