/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL 2.4 to 2.28, RCCL and the network plugins write with NCCL_DEBUG=WARN or INFO:
 *
 *   gpu07:984:1257 [4] NCCL INFO comm 0x557f rank 36 nranks 64 cudaDev 4 nvmlDev 4 busId 9b000
 *   commId 0x5ae7 - Init COMPLETE
 *   gpu07:984:1357 [4] transport/net_ib.cc:1476 NCCL WARN NET/IB : Got completion from peer
 *   10.0.0.9<44206> with status=12 opcode=129 len=65536 vendor err 129 (Recv)
 *
 * The host is what the process takes for its own name: in a pod, that of the pod.
 */
#include "codec/nccl_log/priv.h"

#include "base/limits.h"

#include <string.h>

#define S(literal) TC_LIT(literal)

#define MESSAGE_MAX 1024
/* Communicators with more ranks are not looked at. */
#define WORLD_MAX 65536

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_byte(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_';
}

/* Cuts ":123" off the end. */
static bool cut_number(struct tc_slice *io)
{
    size_t len = io->len;
    while (len > 0 && is_digit(io->ptr[len - 1])) {
        len--;
    }
    if (len == io->len || len < 2 || io->ptr[len - 1] != ':') {
        return false;
    }
    io->len = len - 1;
    return true;
}

/* The host of "host:pid:tid [device] " in front of "NCCL INFO" or "file.cc:12 NCCL WARN". */
static struct tc_slice host_in(struct tc_slice before, bool *out_pids)
{
    size_t level = tc_slice_find_last(before, S("NCCL "));
    struct tc_slice head = tc_slice_head(before, level);
    size_t at = level == TC_NPOS ? TC_NPOS : tc_slice_find_last(head, S(" ["));
    struct tc_slice got[TC__TEXT_SLOTS];
    *out_pids = false;
    if (at == TC_NPOS || !tc__text_match(tc_slice_from(head, at), " [{0%d}] ", got)) {
        return TC_EMPTY;
    }
    head = tc_slice_head(head, at);
    *out_pids = cut_number(&head) && cut_number(&head);
    size_t from = head.len;
    while (from > 0 && is_name_byte(head.ptr[from - 1])) {
        from--;
    }
    struct tc_slice host = tc_slice_from(head, from);
    return host.len <= TC_SCOPE_TEXT_MAX && !tc_slice_starts(host, S(".")) ? host : TC_EMPTY;
}

bool tc__nccl_is_head(struct tc_slice before)
{
    bool pids = false;
    return host_in(before, &pids).len > 0 && pids;
}

static bool has_letter(struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] > '9') {
            return true;
        }
    }
    return false;
}

/* The node, unless the things around the line name it, or a pod of that name. */
static void set_node(const struct tc__nccl_hit *hit, struct tc_event *ev)
{
    bool pids = false;
    struct tc_slice host = host_in(hit->before, &pids);
    const struct tc_scope *around = &hit->line->scope;
    bool told = around->node.len > 0 && has_letter(around->node);
    if (host.len > 0 && !told && !tc_slice_eq(host, around->pod)) {
        ev->scope.node = host;
    }
}

static bool is_warning(const struct tc__nccl_hit *hit)
{
    return tc_slice_contains(hit->before, S("NCCL WARN "));
}

/* busId counts as one number: domain, then eight bits of bus, eight of device, four of function. */
static struct tc_bdf bdf_of(struct tc_slice hex)
{
    uint64_t id = 0;
    size_t used = tc_slice_hex(hex, &id);
    struct tc_bdf pci = {.known = used > 0 && used == hex.len && id >> 36 == 0};
    if (pci.known) {
        pci.domain = (uint16_t)(id >> 20);
        pci.bus = (uint8_t)(id >> 12);
        pci.device = (uint8_t)(id >> 4);
        pci.function = (uint8_t)(id & 15);
    }
    return pci;
}

/* One line that tells of a communicator's member. */
struct member {
    uint64_t rank;
    uint64_t ranks;
    struct tc_slice nvml; /* digits, or nothing */
    struct tc_slice bus;
};

/* `before` ends in "rank 36"; `after` begins behind " nranks ". */
static bool read_member(struct tc_slice before, struct tc_slice after, struct member *out)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t at = tc_slice_find_last(before, S(" rank "));
    if (at == TC_NPOS || !tc_slice_contains(before, S("comm 0x")) ||
        tc_slice_contains(before, S("ncclCommSplit")) ||
        !tc_slice_is_u64(tc_slice_from(before, at + S(" rank ").len), &out->rank) ||
        !tc__text_match(after, "{0%d} cudaDev %d<%snvmlDev {1%d}|><%sbusId {2%x}|>", got) ||
        !tc_slice_is_u64(got[0], &out->ranks)) {
        return false;
    }
    out->nvml = got[1];
    out->bus = got[2];
    return out->rank < out->ranks && out->ranks <= WORLD_MAX;
}

/* What tells processes apart, from the line: host, and the GPU where it is told. */
static uint32_t place_hash(struct tc_slice before, const struct member *m)
{
    bool pids = false;
    uint64_t hash = tc_slice_hash(m->bus, tc_slice_hash(host_in(before, &pids), 1));
    return (uint32_t)(hash >> 32 ^ hash) | 1;
}

/*
 * The ranks of the largest communicator are the job's, if no other of that size numbers them
 * differently. Looks through the input once; the result is kept in the cursor.
 */
static uint64_t find_world(const struct tc__lines *w)
{
    struct tc_slice bytes = w->in->bytes;
    struct tc_arena *scratch = w->out->scratch;
    tc_arena_mark mark = scratch == NULL ? 0 : tc_arena_snapshot(scratch);
    uint32_t *places = scratch == NULL ? NULL : tc_new(scratch, uint32_t, WORLD_MAX);
    uint64_t world = 0;
    bool torn = false;
    for (size_t at = 0; at < bytes.len;) {
        size_t step = tc_slice_find(tc_slice_from(bytes, at), S(" nranks "));
        if (step == TC_NPOS) {
            break;
        }
        at += step;
        size_t back = at < MESSAGE_MAX ? at : MESSAGE_MAX;
        struct tc_slice before = tc_slice_make(bytes.ptr + at - back, back);
        size_t newline = tc_slice_find_last(before, S("\n"));
        before = newline == TC_NPOS ? before : tc_slice_from(before, newline + 1);
        at += S(" nranks ").len;
        struct tc_slice after = tc_slice_head(tc_slice_from(bytes, at), MESSAGE_MAX);
        struct member m;
        if (!read_member(before, after, &m) || m.ranks < world) {
            continue;
        }
        if (m.ranks > world) {
            world = m.ranks;
            torn = false;
            if (places != NULL) {
                memset(places, 0, WORLD_MAX * sizeof *places);
            }
        }
        uint32_t hash = place_hash(before, &m);
        if (places != NULL) {
            torn = torn || (places[m.rank] != 0 && places[m.rank] != hash);
            places[m.rank] = hash;
        }
    }
    if (scratch != NULL && tc_arena_ok(scratch)) {
        tc_arena_rewind(scratch, mark);
    }
    return torn ? 1 : world + 2;
}

tc_status tc__nccl_on_place(const struct tc__nccl_hit *hit, bool *out_ours)
{
    struct tc__lines *w = hit->w;
    uint64_t *world = &w->cursor->own[TC__NCCL_OWN_WORLD];
    struct member m;
    uint64_t index = 0;
    struct tc_event ev;
    *out_ours = read_member(hit->before, hit->after, &m);
    if (!*out_ours || tc_slice_contains(hit->after, S("Destroy")) ||
        tc_slice_contains(hit->after, S("Abort"))) {
        return TC_OK;
    }
    *world = *world == 0 ? find_world(w) : *world;
    int32_t told = hit->line->scope.rank;
    if (told < 0 && m.ranks + 2 != *world) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_RANK_PLACE);
    set_node(hit, &ev);
    ev.scope.rank = told >= 0 ? told : (int32_t)m.rank;
    ev.scope.pci = bdf_of(m.bus);
    if (tc_slice_is_u64(m.nvml, &index) && index < 1024) {
        ev.scope.gpu_index = (int32_t)index;
    }
    ev.place.origin = S("nccl_log");
    ev.place.world_size = m.ranks + 2 == *world ? (int64_t)m.ranks : -1;
    return tc__lines_deliver(w, hit->line, &ev);
}

/* nccl-tests: "#  Rank  3 Group  0 Pid 127799 on  gpu07 device  3 [0000:18:00] NVIDIA H100". */
tc_status tc__nccl_on_test_place(const struct tc__nccl_hit *hit, bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_event ev;
    uint64_t rank = 0;
    size_t at = tc_slice_find(hit->before, S("Rank "));
    if (at == TC_NPOS || !tc__text_match(tc_slice_from(hit->before, at), "Rank %s{0%d}", got) ||
        !tc_slice_is_u64(got[0], &rank) || rank > TC_FR_RANK_MAX) {
        return TC_OK;
    }
    *out_ours = true;
    tc_event_init(&ev, TC_EVENT_RANK_PLACE);
    ev.scope.rank = (int32_t)rank;
    ev.scope.node = tc_slice_head(hit->got[0], TC_SCOPE_TEXT_MAX);
    (void)tc_bdf_parse(hit->got[1], &ev.scope.pci);
    ev.place.origin = S("nccl_log");
    return tc__lines_deliver(hit->w, hit->line, &ev);
}

/* "10.0.0.9<44206>", "[10.0.0.9](http://10.0.0.9/)<44206>" as mail programs make of it. */
static struct tc_slice address_of(struct tc_slice peer)
{
    struct tc_slice rest;
    struct tc_slice address = tc_slice_cut(peer, '<', &rest);
    if (tc_slice_starts(address, S("["))) {
        address = tc_slice_cut(tc_slice_from(address, 1), ']', &rest);
    }
    return tc_slice_head(address, TC_SCOPE_TEXT_MAX);
}

static tc_status deliver_fault(const struct tc__nccl_hit *hit, enum tc_event_kind kind,
                               struct tc_slice fault, struct tc_slice device, int64_t status)
{
    struct tc_event ev;
    tc_event_init(&ev, kind);
    set_node(hit, &ev);
    size_t level = tc_slice_find_last(hit->before, S("NCCL WARN "));
    ev.fault.fault = fault;
    ev.fault.device = device;
    ev.fault.status = status;
    ev.fault.message =
        tc_slice_head(tc_slice_from(hit->line->text, level + S("NCCL WARN ").len), MESSAGE_MAX);
    return tc__lines_deliver(hit->w, hit->line, &ev);
}

/* got: the peer, the status of the completion. */
tc_status tc__nccl_on_completion(const struct tc__nccl_hit *hit, bool *out_ours)
{
    uint64_t status = 0;
    *out_ours = is_warning(hit) && tc_slice_is_u64(hit->got[1], &status) && status < 256;
    return *out_ours ? deliver_fault(hit, TC_EVENT_NETWORK_FAULT, S("ib_completion_error"),
                                     address_of(hit->got[0]), (int64_t)status)
                     : TC_OK;
}

/* got: what the device says of itself. Most of what it can say is no fault. */
tc_status tc__nccl_on_async(const struct tc__nccl_hit *hit, bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice says = hit->got[0];
    *out_ours = is_warning(hit);
    bool bad = hit->word != NULL || tc_slice_contains(says, S("error")) ||
               tc_slice_contains(says, S("fatal"));
    size_t at = tc_slice_find_last(hit->before, S("NET/IB"));
    struct tc_slice device = TC_EMPTY;
    if (at != TC_NPOS && tc__text_match(tc_slice_from(hit->before, at), "NET/IB%s:%s{0%n}:", got)) {
        device = got[0];
    }
    return *out_ours && bad ? deliver_fault(hit, TC_EVENT_NETWORK_FAULT, S("ib_async_event"),
                                            tc_slice_head(device, TC_SCOPE_TEXT_MAX), 0)
                            : TC_OK;
}

/* The last word in front of the wording is the peer. A peer that refuses or closes is there. */
tc_status tc__nccl_on_socket(const struct tc__nccl_hit *hit, bool *out_ours)
{
    static const char *const causes[] = {"No route to host", "Connection timed out",
                                         "Network is unreachable", "Host is down",
                                         "Network is down"};
    *out_ours = is_warning(hit);
    for (size_t i = 0; *out_ours && i < TC_COUNT(causes); i++) {
        if (tc_slice_starts(hit->after, tc_slice_cstr(causes[i]))) {
            size_t blank = tc_slice_find_last(hit->before, S(" "));
            struct tc_slice peer = tc_slice_from(hit->before, blank == TC_NPOS ? 0 : blank + 1);
            return deliver_fault(hit, TC_EVENT_NETWORK_FAULT, S("socket_error"), address_of(peer),
                                 0);
        }
    }
    return TC_OK;
}

/* Faults that are told by their wording alone; got[0]: the peer, where there is one. */
tc_status tc__nccl_on_fault(const struct tc__nccl_hit *hit, bool *out_ours)
{
    struct tc_slice fault = tc_slice_cstr(hit->word);
    bool gpu = tc_slice_eq(fault, S("cuda_error"));
    struct tc_slice peer = hit->got[0];
    size_t at = tc_slice_find_last(hit->before, S(" peer "));
    if (peer.len == 0 && at != TC_NPOS) {
        struct tc_slice rest;
        peer = tc_slice_cut(tc_slice_from(hit->before, at + S(" peer ").len), ' ', &rest);
    }
    *out_ours = is_warning(hit);
    return *out_ours ? deliver_fault(hit, gpu ? TC_EVENT_DRIVER_FAULT : TC_EVENT_NETWORK_FAULT,
                                     fault, gpu ? TC_EMPTY : address_of(peer), 0)
                     : TC_OK;
}
