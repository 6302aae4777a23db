/* SPDX-License-Identifier: Apache-2.0 */
/* What an incident counts against: the thing of its pattern, by all the names that it has. */
#include "base/digest.h"
#include "base/time.h"
#include "offender/offender_priv.h"

#include <string.h>

#define ATTR_DEVICE TC_LIT(".device")
#define ATTR_DEVICE_TYPE TC_LIT(".device_type")
#define ATTR_SWITCH TC_LIT(".switch")
#define ATTR_VOLUME TC_LIT(".volume")

/*
 * Heat is not here: it comes back until the cooling is repaired, whichever board is put in. Nor are
 * patterns about jobs and pods, which are explained by these.
 */
static const struct {
    const char *id;
    const char *name;
} PATTERNS[] = {
    {"3", "hbm_ecc"},           {"5", "pcie_aer"},
    {"9", "nvlink_degraded"},   {"10", "network_link_fault"},
    {"11", "checkpoint_stall"}, {"13", "gpu_fault"},
};

const char *tc__offender_pattern(struct tc_slice pattern_id)
{
    for (size_t i = 0; i < TC_COUNT(PATTERNS); i++) {
        if (tc_slice_eq(pattern_id, tc_slice_cstr(PATTERNS[i].id))) {
            return PATTERNS[i].name;
        }
    }
    return NULL;
}

/* Digests: senders choose names, and none may pass for another's. */
static struct tc_lru_key digest_of(struct tc_slice sort, struct tc_slice where,
                                   struct tc_slice what)
{
    const struct tc_slice parts[] = {sort, where, what};
    struct tc_sha256 sha;
    struct tc_digest digest;
    struct tc_lru_key out;
    tc_sha256_init(&sha);
    for (size_t i = 0; i < TC_COUNT(parts); i++) {
        tc_sha256_update(&sha, parts[i]);
        tc_sha256_update(&sha, tc_slice_make("", 1));
    }
    tc_sha256_final(&sha, &digest);
    memcpy(&out, digest.bytes, sizeof out);
    return out;
}

/* The name of a node without its domain. An address has none. */
static struct tc_slice short_name(struct tc_slice node)
{
    bool has_letter = false;
    for (size_t i = 0; i < node.len; i++) {
        char c = node.ptr[i];
        if (c == '.') {
            return has_letter ? tc_slice_head(node, i) : node;
        }
        has_letter = has_letter || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }
    return node;
}

static struct tc_slice text_attr(const struct tc_finding *f, struct tc_slice suffix)
{
    const struct tc_attr *a = tc_finding_attr(f, TC_ATTR_STRING, suffix);
    return a == NULL ? TC_EMPTY : a->string;
}

static struct tc_slice write_address(struct tc_bdf pci, char text[16])
{
    struct tc_buf b = tc_buf_make(text, 16);
    tc_buf_bdf(&b, pci);
    return tc_buf_slice(&b);
}

static void name_address(struct tc_offence *o, const struct tc_scope *s)
{
    char text[16];
    if (s->pci.known && s->node.len > 0) {
        o->names[TC_THING_ADDRESS] =
            digest_of(TC_LIT("pci"), short_name(s->node), write_address(s->pci, text));
    }
}

static void name_place(struct tc_offence *o, const struct tc_scope *s, struct tc_slice name)
{
    if (name.len > 0 && s->node.len > 0) {
        o->names[TC_THING_PLACE] = digest_of(TC_LIT("name"), short_name(s->node), name);
    }
}

static void name_gpu(struct tc_offence *o, const struct tc_scope *s)
{
    char text[24];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    o->kind = TC_THING_GPU;
    if (s->gpu_uuid.len > 0) {
        o->names[TC_THING_OWN] = digest_of(TC_LIT("gpu"), TC_EMPTY, s->gpu_uuid);
    }
    name_address(o, s);
    if (s->gpu_index >= 0) {
        tc_buf_lit(&b, "gpu ");
        tc_buf_i64(&b, s->gpu_index);
        name_place(o, s, tc_buf_slice(&b));
    }
}

/* What sits at the address of an AER message. */
static void name_pcie(struct tc_offence *o, const struct tc_finding *f)
{
    struct tc_slice type = text_attr(f, ATTR_DEVICE_TYPE);
    if (tc_slice_eq(type, TC_LIT("gpu"))) {
        name_gpu(o, &f->scope);
        return;
    }
    o->kind = tc_slice_eq(type, TC_LIT("nic")) ? TC_THING_PORT : TC_THING_DEVICE;
    name_address(o, &f->scope);
    name_place(o, &f->scope, text_attr(f, ATTR_DEVICE));
}

/* Transfers that are retried and probes that are lost tell of a way, not of a port on it. */
static void name_port(struct tc_offence *o, const struct tc_finding *f)
{
    bool is_way = tc_slice_eq(f->discriminator, TC_LIT("ib_retry_exceeded")) ||
                  (tc_slice_eq(f->discriminator, TC_LIT("packet_loss")) &&
                   f->confidence == TC_CONFIDENCE_PARTIAL);
    if (!is_way) {
        o->kind = TC_THING_PORT;
        name_address(o, &f->scope);
        name_place(o, &f->scope, text_attr(f, ATTR_DEVICE));
    }
}

static void name_links(struct tc_offence *o, const struct tc_finding *f)
{
    if (!tc_slice_eq(text_attr(f, ATTR_DEVICE_TYPE), TC_LIT("nvswitch"))) {
        name_gpu(o, &f->scope);
        return;
    }
    o->kind = TC_THING_SWITCH;
    name_address(o, &f->scope);
    name_place(o, &f->scope, text_attr(f, ATTR_SWITCH));
}

/* A volume is one wherever it is mounted; a disk belongs to its node. */
static void name_volume(struct tc_offence *o, const struct tc_finding *f)
{
    struct tc_slice volume = text_attr(f, ATTR_VOLUME);
    o->kind = TC_THING_VOLUME;
    if (volume.len > 0) {
        o->names[TC_THING_OWN] = digest_of(TC_LIT("volume"), f->scope.ns, volume);
    }
    name_place(o, &f->scope, text_attr(f, ATTR_DEVICE));
}

static void name_thing(struct tc_offence *o, const struct tc_finding *f)
{
    static const struct {
        const char *pattern;
        void (*name)(struct tc_offence *o, const struct tc_finding *f);
    } rows[] = {
        {"pcie_aer", name_pcie},
        {"network_link_fault", name_port},
        {"nvlink_degraded", name_links},
        {"checkpoint_stall", name_volume},
    };
    const char *pattern = tc__offender_pattern(f->pattern_id);
    for (size_t i = 0; pattern != NULL && i < TC_COUNT(rows); i++) {
        if (strcmp(rows[i].pattern, pattern) == 0) {
            rows[i].name(o, f);
            return;
        }
    }
    /* What is only suspected has not failed. */
    if (pattern != NULL && !tc_slice_eq(f->discriminator, TC_LIT("suspect"))) {
        name_gpu(o, &f->scope);
    }
}

bool tc__offender_is_known(const struct tc_lru_key *name)
{
    return (name->words[0] | name->words[1]) != 0;
}

struct tc_offence tc_offence_of(const struct tc_verdict *v)
{
    const struct tc_finding *f = v->finding;
    struct tc_offence o = {.kind = TC_THING_NONE, .last_ns = f->last_ns};
    if (!tc_time_is_date(v->first_ns) || !tc_time_is_date(f->last_ns)) {
        return o;
    }
    name_thing(&o, f);
    bool is_named = false;
    for (size_t i = 0; i < TC_THING_NAMES; i++) {
        is_named = is_named || tc__offender_is_known(&o.names[i]);
    }
    if (o.kind == TC_THING_NONE || !is_named) {
        return (struct tc_offence){.kind = TC_THING_NONE};
    }
    struct tc_slice node = short_name(f->scope.node);
    if (node.len > 0) {
        struct tc_slice domain = tc_slice_from(f->scope.node, node.len);
        o.node = digest_of(TC_LIT("node"), node, TC_EMPTY);
        o.domain = domain.len > 0 ? tc_slice_hash(domain, 1) | 1 : 0;
    }
    return o;
}

static bool is_equal(const struct tc_lru_key *a, const struct tc_lru_key *b)
{
    return a->words[0] == b->words[0] && a->words[1] == b->words[1];
}

static bool is_same_domain(const struct tc_offence *a, const struct tc_offence *b)
{
    return a->domain == 0 || b->domain == 0 || a->domain == b->domain;
}

/* A board that was replaced sits where the old one did, and has another UUID. */
bool tc__offender_is_same(const struct tc_offence *a, const struct tc_offence *b)
{
    for (size_t i = 0; i < TC_THING_NAMES; i++) {
        if (tc__offender_is_known(&a->names[i]) && tc__offender_is_known(&b->names[i])) {
            return is_equal(&a->names[i], &b->names[i]) &&
                   (i == TC_THING_OWN || is_same_domain(a, b));
        }
    }
    return false;
}

bool tc__offender_is_same_node(const struct tc_offence *a, const struct tc_offence *b)
{
    return tc__offender_is_known(&a->node) && is_equal(&a->node, &b->node) && is_same_domain(a, b);
}
