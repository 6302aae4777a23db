/* SPDX-License-Identifier: Apache-2.0 */
/* What nvlink_degraded says. */
#include "detect/health_priv.h"
#include "detect/nvlink_degraded/priv.h"
#include "detect/words_priv.h"
#include "event/format.h"
#include "event/sxid.h"
#include "event/xid.h"

#define KEY(name) TC_LIT("tracecore.alert.nvlink_degraded." name)

/* Links that a headline names; the attribute has them all. */
#define LINKS_TOLD 6
/* Bits of registers that the attribute has, the gravest first. */
#define BITS_TOLD 32

static const char *const REASONS[] = {
    [NVLINK_NOTHING] = "",
    [NVLINK_ERROR_STORM] = "error_storm",
    [NVLINK_XID] = "nvlink_xid",
    [NVLINK_LINK_DOWN] = "link_down",
    [NVLINK_FATAL_SXID] = "fatal_sxid",
};

static const char *const CLASSES[NVLINK_CLASSES] = {
    [NVLINK_CRC] = "CRC errors",
    [NVLINK_REPLAY] = "replays",
    [NVLINK_RECOVERY] = "recoveries",
};

/* A finding being written, with what its parts need. */
struct telling {
    struct tc_draft draft;
    const struct nvlink_device *d;
    const struct nvlink_state *st;
    struct tc_scope scope;
    enum nvlink_reason reason;
    int32_t links[NVLINK_LINKS_MAX];
    size_t link_count;
    struct tc_slice registers[TC_NVLINK_REGISTERS]; /* of an Xid 74 */
    struct tc_slice bits[BITS_TOLD];
    size_t bit_count;
};

static struct tc_arg node_name(const struct telling *t)
{
    bool none = tc_slice_eq(t->d->node, TC__NO_NODE);
    return tc_as_known(none ? TC_EMPTY : t->d->node, "(unknown)");
}

/* "GPU 3 (0000:b3:00.0)", "NVSwitch 0000:c1:00.0", "NVSwitch nvswitch1" */
static void write_device(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct telling *t = arg->object;
    const struct tc_scope *s = &t->scope;
    if (t->d->role == NVLINK_SWITCH) {
        tc_format(b, "NVSwitch {}", s->pci.known ? tc_as_pci(s->pci) : TC_ARG(t->d->name));
    } else if (s->gpu_index < 0 && !s->pci.known) {
        tc_format(b, "GPU {}", s->gpu_uuid);
    } else {
        tc_format(b, "{}", tc_as_gpu(s));
    }
}

static struct tc_arg device(const struct telling *t)
{
    return tc_as_written(write_device, t);
}

/* "s 28, 30", to be written after "link" */
static void write_links(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct telling *t = arg->object;
    const char *before = t->link_count > 1 ? "s " : " ";
    for (size_t i = 0; i < t->link_count && i < LINKS_TOLD; i++) {
        tc_format(b, "{}{}", i == 0 ? before : ", ", t->links[i]);
    }
    if (t->link_count > LINKS_TOLD) {
        tc_format(b, " and {} more", t->link_count - LINKS_TOLD);
    }
}

static struct tc_slice code_name(bool sxid, int64_t code)
{
    const struct tc_sxid *s = sxid ? tc_sxid_find(code) : NULL;
    const struct tc_xid *x = sxid ? NULL : tc_xid_find(code);
    return tc_slice_cstr(s != NULL ? s->name : x != NULL ? x->name : "");
}

/* "SXid 20034 (...)" */
static void write_code(struct tc_buf *b, const struct tc_arg *arg)
{
    bool sxid = arg->limit != 0;
    struct tc_slice name = code_name(sxid, arg->integer);
    tc_format(b, "{} {}{}", sxid ? "SXid" : "Xid", arg->integer,
              tc_when(name.len > 0, " ({})", name));
}

static struct tc_arg code(bool sxid, int64_t number)
{
    return (struct tc_arg){.write = write_code, .integer = number, .limit = sxid};
}

/* "12000 NVLink CRC errors and 40 NVLink replays in 210 s" */
static void write_storm(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct telling *t = arg->object;
    bool more = false;
    for (unsigned i = 0; i < NVLINK_CLASSES; i++) {
        if (t->d->totals[i] >= t->st->limits[i]) {
            tc_format(b, "{}{} NVLink {}", more ? " and " : "", t->d->totals[i], CLASSES[i]);
            more = true;
        }
    }
    tc_format(b, "{} in {}", more ? "" : "NVLink errors",
              tc__as_length(t->d->storm.last.time_ns - t->d->storm.first.time_ns));
}

static struct tc_slice what_happened(struct telling *t)
{
    const struct nvlink_device *d = t->d;
    bool some = t->link_count > 0;
    bool fatal = t->reason == NVLINK_FATAL_SXID;
    struct tc_arg links = tc_as_written(write_links, t);
    if (fatal || t->reason == NVLINK_XID) {
        return tc__draft_format(&t->draft, "{}{}{}", fatal ? "fatal " : "",
                                code(d->role == NVLINK_SWITCH, d->fatal.code),
                                tc_when(some, " on link{}", links));
    }
    if (t->reason == NVLINK_LINK_DOWN) {
        return tc__draft_format(&t->draft, "{} went down{}", tc_when(some, "NVLink{}", links),
                                t->draft.finding.resolved ? ", up again" : "");
    }
    return tc__draft_format(
        &t->draft, "{}{}{}", tc_as_written(write_storm, t), tc_when(some, " on link{}", links),
        tc_when(t->draft.finding.resolved, "; none for {}", tc_as_duration(t->st->window_ns)));
}

static struct tc_slice headline(struct telling *t)
{
    int64_t gpus = t->d->gpu_count;
    return tc__draft_format(&t->draft, "{} on node {}: {}{}", device(t), node_name(t),
                            what_happened(t),
                            tc_when(gpus > 0, "; {} lost links with it", tc_as_count(gpus, "GPU")));
}

/* The gravest sort of bit that is set; the count of sorts when there is none. */
static size_t gravest_bits(const struct nvlink_device *d, size_t count)
{
    for (size_t sort = 0; d->has_registers && sort < count; sort++) {
        for (size_t i = 0; i < TC_NVLINK_REGISTERS; i++) {
            if (tc_nvlink_bits(sort, i, d->registers[i]) != 0) {
                return sort;
            }
        }
    }
    return count;
}

/* "register 1 bit 16: possibly hardware: check and reseat ..." */
static void put_registers(struct telling *t)
{
    const struct nvlink_device *d = t->d;
    size_t sort_count = 0;
    const struct tc_nvlink_sort *sorts = tc_nvlink_sorts(&sort_count);
    if (!d->has_registers) {
        return;
    }
    for (size_t i = 0; i < TC_NVLINK_REGISTERS; i++) {
        t->registers[i] = tc__draft_format(&t->draft, "0x{}", tc_as_hex(d->registers[i], 8));
    }
    for (size_t sort = 0; sort < sort_count; sort++) {
        for (size_t at = 0; at < (size_t)TC_NVLINK_REGISTERS * 32; at++) {
            uint32_t set = tc_nvlink_bits(sort, at / 32, d->registers[at / 32]);
            if ((set >> at % 32 & 1) != 0 && t->bit_count < BITS_TOLD) {
                t->bits[t->bit_count++] =
                    tc__draft_format(&t->draft, "register {} bit {}: {}: {}", at / 32 + 1, at % 32,
                                     sorts[sort].meaning, sorts[sort].action);
            }
        }
    }
    tc__draft_attr_list(&t->draft, KEY("registers"), t->registers, TC_NVLINK_REGISTERS);
    if (t->bit_count > 0) {
        tc__draft_attr_list(&t->draft, KEY("register_bits"), t->bits, t->bit_count);
    }
}

static struct tc_slice remediation(struct telling *t)
{
    size_t sort_count = 0;
    const struct tc_nvlink_sort *sorts = tc_nvlink_sorts(&sort_count);
    size_t gravest = gravest_bits(t->d, sort_count);
    const struct tc_nvlink_sort *said = gravest < sort_count ? &sorts[gravest] : NULL;
    const struct tc_sxid *x =
        t->reason == NVLINK_FATAL_SXID ? tc_sxid_find(t->d->fatal.code) : NULL;
    const char *advice =
        t->reason == NVLINK_ERROR_STORM
            ? "At the next drain of node {}: reset {}, run the NVLink test of dcgmi diag; reseat "
              "the board or its far end if the errors come back, then replace it."
        : x != NULL && x->reach == TC_SXID_FABRIC
            ? "Drain node {} and reboot it: the whole fabric is lost until GPUs and NVSwitches "
              "are reset together. Replace the baseboard of {} if it comes back."
        : t->d->role == NVLINK_SWITCH
            ? "Drain node {}; reset the GPUs behind the links of {} and restart the fabric "
              "manager, or reboot. If it comes back, check the connectors of these links, then "
              "replace GPU or switch."
            : "Drain node {}; reset {} (with all GPUs and the fabric manager on NVSwitch "
              "systems). If it comes back, check the far end and reseat the board, then replace "
              "it.";
    struct tc_slice own = tc__draft_format(&t->draft, advice, node_name(t), device(t));
    return said == NULL ? own
                        : tc__draft_format(&t->draft, "{} The registers of the Xid say: {}; {}.",
                                           own, said->meaning, said->action);
}

/* `which` tells pieces of one kind and time apart. */
static void put_evidence(struct telling *t, struct tc_slice kind, const struct tc_mark *mark,
                         struct tc_slice description, const char *which)
{
    struct tc_slice name = t->d->name.len > 0 ? t->d->name : t->scope.gpu_uuid;
    struct tc_slice uid =
        tc__draft_format(&t->draft, "{}:{}:{}:{}{}", kind, t->d->node,
                         t->scope.pci.known ? tc_as_pci(t->scope.pci) : TC_ARG(name),
                         tc_as_time(mark->time_ns), which);
    tc__draft_piece(&t->draft, kind, mark->time_ns, mark->raw, tc__mark_uid(mark, uid),
                    description);
}

/* "First: SXid 20034 (...) on link 30" */
static struct tc_slice fault_text(struct telling *t, const char *before, bool sxid,
                                  const struct nvlink_sign *s)
{
    return tc__draft_format(&t->draft, "{}: {}{}", before, code(sxid, s->code),
                            tc_when(s->link >= 0, " on link {}", s->link));
}

static void put_sign(struct telling *t, struct tc_slice kind, const struct nvlink_sign *s,
                     struct tc_slice first, struct tc_slice last)
{
    bool instant = s->first.time_ns == s->last.time_ns;
    put_evidence(t, kind, &s->first, first, "");
    if (!tc__mark_same(&s->first, &s->last)) {
        put_evidence(t, kind, &s->last, last, instant ? ":last" : "");
    }
}

static void put_trail(struct telling *t, const struct nvlink_device *node,
                      const struct tc_mark *relief)
{
    const struct nvlink_device *d = t->d;
    bool sxid = d->role == NVLINK_SWITCH;
    struct tc_slice kind = sxid ? TC_LIT("sxid") : TC_LIT("xid");
    if (d->fatal.first.known) {
        put_sign(t, kind, &d->fatal, fault_text(t, "First", sxid, &d->fatal),
                 sxid ? TC_LIT("Last fatal SXid of the switch")
                      : TC_LIT("Last NVLink Xid of the GPU"));
    }
    if (d->down.first.known) {
        if (d->up.known) {
            put_evidence(t, TC_LIT("link_state"), &d->up, TC_LIT("Last sample with the link up"),
                         "");
        }
        put_sign(t, TC_LIT("link_state"), &d->down, TC_LIT("First sample with a link down"),
                 TC_LIT("Sample with the last link that went down"));
    }
    if (d->storm.first.known) {
        put_sign(t, TC_LIT("nvlink_counter"), &d->storm, TC_LIT("First errors of the storm"),
                 tc__draft_format(&t->draft, "{}", tc_as_written(write_storm, t)));
    }
    if (d->joined.first.known) {
        struct tc_slice joined_kind = d->joined.code >= 0 ? TC_LIT("xid") : TC_LIT("link_state");
        put_sign(t, joined_kind, &d->joined, TC_LIT("First GPU that lost links with the switch"),
                 TC_LIT("Last GPU that lost links with the switch"));
    }
    int64_t apart_ns = d->minor.last.time_ns - d->since_ns;
    bool near = apart_ns >= -t->st->window_ns && apart_ns <= t->st->window_ns;
    if (d->minor.last.known && near) {
        put_evidence(t, kind, &d->minor.last, fault_text(t, "Not fatal", sxid, &d->minor),
                     ":minor");
    }
    if (node != NULL) {
        put_evidence(t, TC_LIT("driver_fault"), &node->minor.last,
                     TC_LIT("The driver could not find out which links are up"), "");
    }
    if (relief != NULL) {
        put_evidence(t, TC_LIT("link_state"), relief, TC_LIT("The links are up again"), "");
    }
}

static void put_attrs(struct telling *t)
{
    const struct nvlink_device *d = t->d;
    struct tc_draft *draft = &t->draft;
    bool sxid = d->role == NVLINK_SWITCH;
    tc__draft_attr_text(draft, KEY("device_type"), sxid ? TC_LIT("nvswitch") : TC_LIT("gpu"));
    tc__draft_attr_text(draft, KEY("switch"), d->name);
    if (d->fatal.first.known) {
        tc__draft_attr_int(draft, sxid ? KEY("sxid") : KEY("xid"), d->fatal.code);
        tc__draft_attr_text(draft, KEY("name"), code_name(sxid, d->fatal.code));
        tc__draft_attr_text(draft, KEY("unit"), tc_slice_make(d->unit, d->unit_len));
        put_registers(t);
    }
    if (t->link_count > 0) {
        tc__draft_attr_ints(draft, KEY("links"), t->links, t->link_count);
    }
    tc__draft_attr_some(draft, KEY("gpu_count"), d->gpu_count);
    if (d->storm.first.known) {
        tc__draft_attr_int(draft, KEY("crc_errors"), d->totals[NVLINK_CRC]);
        tc__draft_attr_int(draft, KEY("replay_errors"), d->totals[NVLINK_REPLAY]);
        tc__draft_attr_int(draft, KEY("recovery_errors"), d->totals[NVLINK_RECOVERY]);
    }
}

/* Where it is, the key that follows from that, and the links. */
static void read_place(struct telling *t)
{
    const struct nvlink_device *d = t->d;
    t->scope = tc__gpu_scope(d->node, d->uuid, d->pci, d->index);
    /* By what was known of the device when it was first heard of. */
    t->draft.finding.key = tc__draft_format(
        &t->draft, "{}|{}|{}", d->node, d->name.len > 0 ? TC_ARG(d->name) : tc_as_gpu_id(&t->scope),
        tc_as_time(d->since_ns));
    if (d->role == NVLINK_GPU) {
        (void)tc_directory_complete(t->st->directory, &t->scope);
    }
    t->scope.node = tc_slice_eq(t->scope.node, TC__NO_NODE) ? TC_EMPTY : t->scope.node;
    for (int32_t i = 0; i < NVLINK_LINKS_MAX; i++) {
        if ((d->links[i / 64] >> i % 64 & 1) != 0) {
            t->links[t->link_count++] = i;
        }
    }
}

tc_status tc__nvlink_report(const struct nvlink_device *d, const struct nvlink_state *st,
                            const struct nvlink_device *node, bool resolved,
                            const struct tc_mark *relief, const struct tc_sink *out)
{
    struct telling t = {.d = d, .st = st, .reason = tc__nvlink_reason(d)};
    tc__draft_open(&t.draft, &tc_detector_nvlink_degraded, st->base.scratch);
    read_place(&t);
    struct tc_finding *f = &t.draft.finding;
    f->resolved = resolved;
    f->incomplete = st->devices.lost_ns >= d->since_ns || st->meters.lost_ns >= d->since_ns ||
                    st->switches.lost_ns >= d->since_ns;
    f->severity = t.reason == NVLINK_ERROR_STORM ? TC_SEVERITY_WARNING : TC_SEVERITY_CRITICAL;
    f->confidence =
        t.reason == NVLINK_FATAL_SXID && !d->said ? TC_CONFIDENCE_PARTIAL : TC_CONFIDENCE_FULL;
    f->discriminator = tc_slice_cstr(REASONS[t.reason]);
    f->headline = headline(&t);
    f->remediation = remediation(&t);
    f->first_ns = d->since_ns;
    f->last_ns = d->since_ns;
    const struct nvlink_sign *const signs[] = {&d->fatal, &d->down, &d->storm, &d->joined};
    for (size_t i = 0; i < TC_COUNT(signs); i++) {
        if (signs[i]->first.known) {
            int64_t first_ns = signs[i]->first.time_ns;
            int64_t last_ns = signs[i]->last.time_ns;
            f->first_ns = first_ns < f->first_ns ? first_ns : f->first_ns;
            f->last_ns = last_ns > f->last_ns ? last_ns : f->last_ns;
        }
    }
    f->last_ns = relief != NULL && relief->time_ns > f->last_ns ? relief->time_ns : f->last_ns;
    f->scope = t.scope;
    put_attrs(&t);
    put_trail(&t, node, relief);
    tc__draft_sort(&t.draft);
    return tc__draft_emit(&t.draft, out);
}
