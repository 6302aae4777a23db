/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/words_priv.h"

#include "detect/health_priv.h"

#include "base/time.h"

#include <string.h>

uint8_t tc__text_keep(char *to, size_t size, struct tc_slice from)
{
    from = tc__text_clip(from, size < UINT8_MAX ? size : UINT8_MAX);
    if (from.len > 0) {
        memcpy(to, from.ptr, from.len);
    }
    return (uint8_t)from.len;
}

bool tc__text_fill(struct tc_slice *io, struct tc_slice news)
{
    bool learned = io->len == 0 && news.len > 0;
    *io = learned ? news : *io;
    return learned;
}

struct tc_scope tc__gpu_scope(struct tc_slice node, struct tc_slice uuid, struct tc_bdf pci,
                              int32_t index)
{
    struct tc_scope scope = TC_SCOPE_NONE;
    scope.node = node;
    scope.gpu_uuid = uuid;
    scope.pci = pci;
    scope.gpu_index = index;
    return scope;
}

uint64_t tc__pci_number(struct tc_bdf pci)
{
    return (uint64_t)pci.domain << 24 | (uint64_t)pci.bus << 16 | (uint64_t)pci.device << 8 |
           pci.function;
}

static void write_node(struct tc_buf *b, const struct tc_arg *arg)
{
    struct tc_slice node = tc_slice_make(arg->object, arg->count);
    bool named = node.len > 0 && !tc_slice_eq(node, TC__NO_NODE);
    tc_format(b, "{}", named ? tc_when(true, "node {}", node) : TC_ARG("a node that is not named"));
}

struct tc_arg tc__as_node(struct tc_slice node)
{
    return (struct tc_arg){.write = write_node, .object = node.ptr, .count = node.len};
}

static void write_length(struct tc_buf *b, const struct tc_arg *arg)
{
    if (arg->integer < TC_SECOND) {
        tc_format(b, "less than 1 s");
    } else {
        tc_format(b, "{}", tc_as_duration(arg->integer));
    }
}

struct tc_arg tc__as_length(int64_t ns)
{
    return (struct tc_arg){.write = write_length, .integer = ns};
}

bool tc__lasted(int64_t first_ns, int64_t last_ns)
{
    return tc_time_is_date(first_ns) && last_ns - first_ns >= TC_SECOND;
}

static void write_fault(struct tc_buf *b, const struct tc_arg *arg)
{
    static const struct {
        const char *fault;
        const char *words;
    } known[] = {
        {"io_error", "I/O error"},
        {"fs_readonly", "read-only file system"},
        {"fs_error", "file system error"},
        {"fs_corrupted", "corrupted file system"},
        {"fs_shutdown", "shutdown of the file system"},
        {"raid_failure", "RAID failure"},
    };
    struct tc_slice fault = tc_slice_make(arg->object, arg->count);
    for (size_t i = 0; i < TC_COUNT(known); i++) {
        if (tc_slice_eq(fault, tc_slice_cstr(known[i].fault))) {
            tc_format(b, "{}", known[i].words);
            return;
        }
    }
    for (struct tc_slice rest = fault; rest.len > 0;) {
        struct tc_slice after = TC_EMPTY;
        tc_format(b, "{}{}", tc_slice_cut(rest, '_', &after), after.len > 0 ? " " : "");
        rest = after;
    }
}

struct tc_arg tc__as_fault(struct tc_slice fault)
{
    return (struct tc_arg){.write = write_fault, .object = fault.ptr, .count = fault.len};
}

void tc__draft_piece(struct tc_draft *d, struct tc_slice kind, int64_t time_ns, struct tc_raw raw,
                     struct tc_slice uid, struct tc_slice description)
{
    struct tc_evidence *e = tc__draft_next_evidence(d);
    if (e != NULL) {
        *e = (struct tc_evidence){kind, uid, description, time_ns, raw};
    }
}

bool tc__mount_is_config(struct tc_slice message)
{
    static const char *const wordings[] = {
        "secret \"",       "secrets \"",   "configmap \"", "configmaps \"",        "not registered",
        "configmap cache", "secret cache", "config key",   "failed to fetch token"};
    for (size_t i = 0; i < TC_COUNT(wordings); i++) {
        if (tc_slice_contains(message, tc_slice_cstr(wordings[i]))) {
            return true;
        }
    }
    return false;
}
