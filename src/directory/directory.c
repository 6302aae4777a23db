/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"
#include "directory/directory_priv.h"

#include <stdalign.h>
#include <stdlib.h>

/* A GPU takes some 300 bytes with its names, a rank or pod some 200. */
#define NODES_MAX 32768
#define NODE_TEXT_BYTES ((size_t)6 << 20)
#define GPUS_MAX 32768
#define GPU_TEXT_BYTES ((size_t)8 << 20)
#define RANKS_MAX 32768
#define PODS_MAX 32768
#define RANK_TEXT_BYTES ((size_t)8 << 20)
#define POD_TEXT_BYTES ((size_t)4 << 20)
/* 10,000 GPUs with their pods and ranks need some 30,000. */
#define STATEMENTS_MAX 131072
#define STATEMENT_TEXT_BYTES ((size_t)24 << 20)
#define ARENA_BYTES ((size_t)192 << 20)

#define PLACE_KINDS (TC_EVENT_BIT(TC_EVENT_RANK_PLACE) | TC_EVENT_BIT(TC_EVENT_ADDRESS))
/* Who names a device by its address says nothing of a GPU, unless it is named otherwise too. */
#define DEVICE_KINDS (TC_EVENT_BIT(TC_EVENT_AER))
#define GPU_KINDS                                                               \
    (TC_EVENT_BIT(TC_EVENT_METRIC) | TC_EVENT_BIT(TC_EVENT_XID) |               \
     TC_EVENT_BIT(TC_EVENT_GPU_INVENTORY) | TC_EVENT_BIT(TC_EVENT_RANK_PLACE) | \
     TC_EVENT_BIT(TC_EVENT_PCIE_LINK) | TC_EVENT_BIT(TC_EVENT_GPU_HEALTH) | DEVICE_KINDS)
/* A PCIe report or a switch's error is about a device that may be no GPU of anybody. */
#define STATEMENT_KINDS \
    (~(TC_EVENT_BIT(TC_EVENT_AER) | TC_EVENT_BIT(TC_EVENT_PCIE_LINK) | TC_EVENT_BIT(TC_EVENT_SXID)))

struct tc_directory *tc_directory_create(enum tc_statements statements, uint32_t scale)
{
    struct tc_directory *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return NULL;
    }
    d->keeps = statements;
    d->scale = scale == 0 ? 1 : scale;
    d->block = tc_block_new(d->scale * ARENA_BYTES);
    if (d->block == NULL) {
        free(d);
        return NULL;
    }
    tc_directory_reset(d);
    return d;
}

void tc_directory_destroy(struct tc_directory *d)
{
    if (d != NULL) {
        tc_arena_fini(&d->arena);
        tc_block_free(d->block);
        free(d);
    }
}

void tc_directory_reset(struct tc_directory *d)
{
    struct tc_arena *a = &d->arena;
    struct tc__tables *by = &d->tables;
    uint32_t scale = d->scale;
    /* Anew: to rewind it would have ASan mark all of it, only to have the tables unmark it. */
    tc_arena_init(a, "directory", d->block->bytes, d->scale * ARENA_BYTES);
    tc__nodes_moved(&d->nodes);
    d->gpus.last_id = 0;
    d->gpus.heard = NULL;
    d->gpu = NULL;
    d->tables = (struct tc__tables){0};
    d->tidy = (struct tc__tidy){0};
    d->statements = (struct tc__statements){.forgets = d->keeps == TC_STATEMENTS_LATEST};
    d->order = tc_arena_alloc_raw(a, (size_t)2 * scale * STATEMENTS_MAX * sizeof *d->order,
                                  alignof(struct tc_sort_pair));
    bool ok = tc__table_init(&d->nodes.table, &tc__node_kind, a, scale * NODES_MAX,
                             scale * NODE_TEXT_BYTES, by) &&
              tc__table_init(&d->gpus.table, &tc__gpu_kind, a, scale * GPUS_MAX,
                             scale * GPU_TEXT_BYTES, by) &&
              tc__table_init(&d->places.ranks, &tc__rank_kind, a, scale * RANKS_MAX,
                             scale * RANK_TEXT_BYTES, by) &&
              tc__table_init(&d->places.pods, &tc__pod_kind, a, scale * PODS_MAX,
                             scale * POD_TEXT_BYTES, by) &&
              tc__table_init(&d->statements.table, &tc__statement_kind, a, scale * STATEMENTS_MAX,
                             scale * STATEMENT_TEXT_BYTES, by);
    TC_ASSERT(ok && d->order != NULL); /* ARENA_BYTES is enough */
}

void tc_directory_sender(struct tc_directory *d, uint32_t sender)
{
    d->tables.sender = sender;
}

/* What is borrowed from tables is let go of: their entries move. */
static void begin_tidy(struct tc_directory *d, struct tc__table *t)
{
    d->tidy = (struct tc__tidy){.table = t, .order = d->order};
    d->gpu = NULL;
    d->gpus.heard = NULL;
    tc__nodes_moved(&d->nodes);
    if (t == &d->statements.table) {
        tc__statements_moved(&d->statements);
    }
}

tc_status tc_directory_keep_room(struct tc_directory *d, const struct tc_turn *turn)
{
    if (!d->tables.has_grown) { /* asked after each event */
        return TC_OK;
    }
    struct tc__table *tables[] = {&d->nodes.table, &d->gpus.table, &d->places.ranks,
                                  &d->places.pods, &d->statements.table};
    size_t count = TC_COUNT(tables) - !d->statements.forgets;
    for (size_t i = 0; i < count && d->tidy.table == NULL; i++) {
        if (tc__table_is_crowded(tables[i])) {
            begin_tidy(d, tables[i]);
        }
    }
    d->tables.has_grown = d->tidy.table != NULL; /* then the others are looked at again */
    while (d->tidy.table != NULL) {
        if (tc__tidy_some(&d->tidy)) {
            d->tidy.table = NULL; /* the next table waits for the next call, in turns or not */
        } else if (tc_turn_is_spent(turn)) {
            return TC_E_AGAIN;
        }
    }
    return TC_OK;
}

uint32_t tc_directory_kinds(const struct tc_directory *d)
{
    return GPU_KINDS | PLACE_KINDS | (d->keeps != TC_STATEMENTS_NONE ? STATEMENT_KINDS : 0);
}

static bool is_of_gpu(const struct tc_event *ev)
{
    uint32_t bit = TC_EVENT_BIT(ev->kind);
    return (bit & GPU_KINDS) != 0 &&
           ((bit & DEVICE_KINDS) == 0 || ev->scope.gpu_uuid.len > 0 || ev->scope.gpu_index >= 0);
}

static bool is_statement(const struct tc_directory *d, const struct tc_event *ev)
{
    return (TC_EVENT_BIT(ev->kind) & STATEMENT_KINDS) != 0 && d->keeps != TC_STATEMENTS_NONE;
}

bool tc_directory_is_known(struct tc_directory *d, const struct tc_event *ev)
{
    d->gpu = is_of_gpu(ev) ? tc__gpus_hear(&d->gpus, &ev->scope, ev->time_ns) : NULL;
    return (d->gpu != NULL || !is_of_gpu(ev)) && (TC_EVENT_BIT(ev->kind) & PLACE_KINDS) == 0 &&
           (!is_statement(d, ev) || tc__statements_hear(&d->statements, ev));
}

void tc_directory_note(struct tc_directory *d, const struct tc_event *ev)
{
    uint32_t bit = TC_EVENT_BIT(ev->kind);
    const struct tc_scope *s = &ev->scope;
    d->gpu = is_of_gpu(ev) ? tc__gpus_learn(&d->gpus, s, ev->time_ns, d->order) : NULL;
    if (ev->kind == TC_EVENT_ADDRESS && s->pod.len == 0 && s->pod_uid.len == 0) {
        tc__nodes_learn_address(&d->nodes, ev->address.address, s->node, d->order);
    }
    if ((bit & PLACE_KINDS) != 0) {
        tc__places_learn(&d->places, ev, d->order);
    }
    if (is_statement(d, ev)) {
        tc__statements_note(&d->statements, ev, d->order);
    }
}

struct tc_slice tc_directory_node(struct tc_directory *d, struct tc_slice name)
{
    return tc__nodes_learn(&d->nodes, name, d->order);
}

void tc_directory_stand(struct tc_directory *d, const struct tc_event *ev)
{
    bool is_metric = ev->kind == TC_EVENT_METRIC;
    if (!is_metric && ev->kind != TC_EVENT_NODE_CONDITION) {
        return;
    }
    struct tc_slice rack = is_metric ? ev->metric.rack : ev->k8s.rack;
    struct tc_slice zone = is_metric ? ev->metric.zone : ev->k8s.zone;
    if (ev->scope.node.len > 0 && (rack.len > 0 || zone.len > 0)) {
        tc__nodes_stand(&d->nodes, ev->scope.node, rack, zone);
    }
}

const struct tc_gpu *tc_directory_event_gpu(const struct tc_directory *d)
{
    return d->gpu;
}

const struct tc_gpu *tc_directory_gpu(const struct tc_directory *d, const struct tc_scope *scope)
{
    return tc__gpus_find(&d->gpus, scope);
}

const struct tc_gpu *tc_directory_complete(const struct tc_directory *d, struct tc_scope *io)
{
    const struct tc_gpu *gpu = tc_directory_gpu(d, io);
    if (gpu != NULL) {
        tc_gpu_complete(gpu, io);
    }
    return gpu;
}

const struct tc_gpu *tc_directory_learn_gpu(struct tc_directory *d, const struct tc_scope *scope,
                                            int64_t time_ns)
{
    TC_ASSERT(d->gpu == NULL); /* it would move */
    return tc__gpus_learn(&d->gpus, scope, time_ns, d->order);
}

const struct tc_gpu *tc_directory_join_gpu(struct tc_directory *d, const struct tc_scope *scope,
                                           int64_t time_ns)
{
    char node[TC_SCOPE_TEXT_MAX];
    char uuid[TC_SCOPE_TEXT_MAX];
    struct tc_scope own = TC_SCOPE_NONE;
    if (d->gpu != NULL) {
        own.node = tc_slice_make(node, d->gpu->node.len);
        own.gpu_uuid = tc_slice_make(uuid, d->gpu->uuid.len);
        own.pci = d->gpu->pci;
        own.gpu_index = d->gpu->index;
        memcpy(node, d->gpu->node.len == 0 ? "" : d->gpu->node.ptr, own.node.len);
        memcpy(uuid, d->gpu->uuid.len == 0 ? "" : d->gpu->uuid.ptr, own.gpu_uuid.len);
    }
    const struct tc_gpu *learned = tc__gpus_learn(&d->gpus, scope, time_ns, d->order);
    d->gpu = d->gpu == NULL ? NULL : tc__gpus_find(&d->gpus, &own);
    return learned;
}

void tc_directory_place(const struct tc_directory *d, struct tc_scope *io)
{
    tc__places_fill(&d->places, io);
}

void tc_directory_place_rank(const struct tc_directory *d, struct tc_scope *io)
{
    tc_directory_place(d, io);
    if (io->gpu_uuid.len == 0 && !io->pci.known && io->gpu_index < 0) {
        tc__places_fill_gpu(&d->places, io);
    }
    (void)tc_directory_complete(d, io);
}

uint64_t tc_directory_version(const struct tc_directory *d)
{
    return d->statements.version;
}

void tc_directory_counts(const struct tc_directory *d, struct tc_directory_counts *out)
{
    *out = (struct tc_directory_counts){
        .nodes_forgotten = d->nodes.table.forgotten,
        .gpus_forgotten = d->gpus.table.forgotten,
        .places_forgotten = d->places.ranks.forgotten + d->places.pods.forgotten,
        .statements = d->statements.table.count,
        .statements_forgotten = d->statements.table.forgotten,
        .statements_dropped = d->statements.dropped,
    };
}
