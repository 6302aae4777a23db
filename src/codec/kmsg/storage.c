/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storage that is reached through a network or several paths, and SCSI: Lustre,
 * Ceph, SMB, iSCSI, multipath. Faults that end in "_ok" take others back.
 */
#include "codec/kmsg/kmsg_priv.h"

static enum tc__kmsg_verdict storage(struct tc__kmsg_context *c, struct tc_event *ev,
                                     struct tc_slice fault, struct tc_slice device)
{
    tc__kmsg_fault(c, ev, TC_EVENT_STORAGE_ERROR, fault, device);
    return TC__KMSG_EVENT;
}

/*
 * "Lustre: fs-OST0018-osc-ffff8a: Connection to fs-OST0018 (at 10.0.0.9@o2ib) was lost; in progress
 * operations ...", "LustreError: 11-0: fs-OST0018-osc-ffff8a: operation ost_write to node
 * 10.0.0.9@o2ib failed: rc = -107". What the management server does touches no file.
 */
static enum tc__kmsg_verdict rule_lustre(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    if (tc__kmsg_take(&s, TC_LIT("LustreError: "))) {
        size_t code = 0; /* "11-0: ", "167-0: ": the message's number */
        while (code < s.len && (tc__kmsg_is_alnum(s.ptr[code]) || s.ptr[code] == '-')) {
            code++;
        }
        bool numbered = s.len > 0 && tc__kmsg_is_digit(s.ptr[0]) &&
                        tc_slice_contains(tc_slice_head(s, code), TC_LIT("-")) &&
                        tc_slice_starts(tc_slice_from(s, code), TC_LIT(": "));
        s = numbered ? tc_slice_from(s, code + 2) : s;
    } else if (!tc__kmsg_take(&s, TC_LIT("Lustre: "))) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice name = tc_slice_cut(s, ':', &s);
    if (name.len == 0 || tc_slice_contains(name, TC_LIT(" ")) ||
        tc_slice_starts(name, TC_LIT("MGC"))) {
        return TC__KMSG_NOT_MINE;
    }
    if (tc_slice_starts(s, TC_LIT(" Connection to ")) &&
        tc_slice_contains(s, TC_LIT(" was lost; in progress operations"))) {
        return storage(c, ev, TC_LIT("lustre_lost"), name);
    }
    if (tc_slice_starts(s, TC_LIT(" Connection restored to "))) {
        return storage(c, ev, TC_LIT("lustre_ok"), name);
    }
    if (tc_slice_starts(s, TC_LIT(" operation ")) &&
        tc_slice_contains(s, TC_LIT(" failed: rc = "))) {
        return storage(c, ev, TC_LIT("lustre_error"), name);
    }
    return tc_slice_starts(s, TC_LIT(" This client was evicted by "))
               ? storage(c, ev, TC_LIT("client_evicted"), name)
               : TC__KMSG_NOT_MINE;
}

/*
 * "ceph: mds0 hung", "ceph: [fsid 1]: mds0 caps stale", "libceph: osd12 down". That a socket was
 * closed is no trouble: the servers close those that are idle.
 */
static enum tc__kmsg_verdict rule_ceph(struct tc__kmsg_context *c, struct tc_event *ev)
{
    static const struct {
        struct tc_slice who;
        struct tc_slice says;
        struct tc_slice fault;
    } words[] = {
        {{"mds", 3}, {"hung", 4}, {"ceph_hung", 9}},
        {{"mds", 3}, {"caps stale", 10}, {"ceph_stale", 10}},
        {{"mds", 3}, {"came back", 9}, {"ceph_ok", 7}},
        {{"mds", 3}, {"caps renewed", 12}, {"ceph_ok", 7}},
        {{"mds", 3}, {"reconnect success", 17}, {"ceph_ok", 7}},
        {{"osd", 3}, {"down", 4}, {"ceph_down", 9}},
        {{"osd", 3}, {"up", 2}, {"ceph_ok", 7}},
    };
    struct tc_slice s = c->line->message;
    if (!tc__kmsg_take(&s, TC_LIT("ceph: ")) && !tc__kmsg_take(&s, TC_LIT("libceph: "))) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice id;
    if (tc_slice_starts(s, TC_LIT("[")) || tc_slice_starts(s, TC_LIT("("))) {
        (void)tc__kmsg_split(s, TC_LIT(": "), &id, &s);
    }
    struct tc_slice device = tc_slice_cut(s, ' ', &s);
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        if (tc_slice_starts(device, words[i].who) && tc_slice_eq(tc_slice_trim(s), words[i].says)) {
            return storage(c, ev, words[i].fault, device);
        }
    }
    return TC__KMSG_NOT_MINE;
}

/* "device-mapper: multipath: 253:3: Failing path 8:16.", older kernels without the map's number. */
static enum tc__kmsg_verdict rule_multipath(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    struct tc_slice map;
    if (!tc__kmsg_take(&s, TC_LIT("device-mapper: multipath: "))) {
        return TC__KMSG_NOT_MINE;
    }
    if (s.len > 0 && tc__kmsg_is_digit(s.ptr[0])) {
        (void)tc__kmsg_split(s, TC_LIT(": "), &map, &s);
    }
    bool failed = tc__kmsg_take(&s, TC_LIT("Failing path "));
    if (!failed && !tc__kmsg_take(&s, TC_LIT("Reinstating path "))) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice path = tc_slice_ends(s, TC_LIT(".")) ? tc_slice_head(s, s.len - 1) : s;
    return storage(c, ev, failed ? TC_LIT("path_failed") : TC_LIT("path_ok"), path);
}

/*
 * "sd 0:0:0:0: [sdb] tag#5 FAILED Result: hostbyte=DID_TIME_OUT driverbyte=DRIVER_OK cmd_age=30s":
 * the command was lost on its way. DID_OK is the answer of a disk, which the block layer judges.
 */
static enum tc__kmsg_verdict rule_scsi(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    struct tc_slice head;
    if (!tc__kmsg_take(&s, TC_LIT("sd ")) || !tc__kmsg_split(s, TC_LIT(": ["), &head, &s)) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice device = tc_slice_cut(s, ']', &s);
    if (device.len == 0 || !tc__kmsg_split(s, TC_LIT("FAILED Result: hostbyte=DID_"), &head, &s) ||
        tc_slice_eq(tc_slice_cut(s, ' ', &s), TC_LIT("OK"))) {
        return TC__KMSG_NOT_MINE;
    }
    return storage(c, ev, TC_LIT("scsi_failed"), device);
}

/* "connection1:0: detected conn error (1022)" */
static enum tc__kmsg_verdict rule_iscsi(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = tc__kmsg_skip_spaces(c->line->message);
    struct tc_slice connection;
    if (!tc_slice_starts(s, TC_LIT("connection")) ||
        !tc__kmsg_split(s, TC_LIT(": detected conn error ("), &connection, &s) ||
        tc_slice_contains(connection, TC_LIT(" "))) {
        return TC__KMSG_NOT_MINE;
    }
    return storage(c, ev, TC_LIT("iscsi_error"), connection);
}

/* "CIFS: VFS: \\server has not responded in 180 seconds. Reconnecting...", "CIFS VFS: Server ..."
 */
static enum tc__kmsg_verdict rule_smb(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    struct tc_slice server;
    if ((!tc__kmsg_take(&s, TC_LIT("CIFS: VFS: ")) && !tc__kmsg_take(&s, TC_LIT("CIFS VFS: "))) ||
        !tc__kmsg_split(s, TC_LIT(" has not responded in "), &server, &s)) {
        return TC__KMSG_NOT_MINE;
    }
    (void)tc__kmsg_take(&server, TC_LIT("Server "));
    while (tc__kmsg_take(&server, TC_LIT("\\"))) {
    }
    return storage(c, ev, TC_LIT("smb_not_responding"), server);
}

enum tc__kmsg_verdict tc__kmsg_rule_remote(struct tc__kmsg_context *c, struct tc_event *ev)
{
    static const tc__kmsg_rule rules[] = {rule_lustre, rule_ceph,  rule_multipath,
                                          rule_scsi,   rule_iscsi, rule_smb};
    for (size_t i = 0; i < TC_COUNT(rules); i++) {
        enum tc__kmsg_verdict verdict = rules[i](c, ev);
        if (verdict != TC__KMSG_NOT_MINE) {
            return verdict;
        }
    }
    return TC__KMSG_NOT_MINE;
}
