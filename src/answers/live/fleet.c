/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/live/fleet.h"

#include "base/time.h"
#include "live/live.h"

#include <stdlib.h>

/* More than the directory has, and what verdicts name beyond it. */
#define NODES_MAX ((size_t)1 << 17)
#define GPUS_MAX ((size_t)1 << 17)

const char *tc_fleet_state_name(enum tc_fleet_state state)
{
    static const char *const names[] = {
        [TC_FLEET_OK] = "ok", [TC_FLEET_WARNING] = "warning", [TC_FLEET_CRITICAL] = "critical"};
    return names[state];
}

void tc_fleet_fini(struct tc_fleet *f)
{
    tc_live_list_fini(&f->incidents);
    free(f->nodes);
    free(f->gpus);
    tc_hash_index_fini(&f->node_index);
    tc_hash_index_fini(&f->gpu_index);
    *f = (struct tc_fleet){0};
}

/* ---- nodes ---- */

static uint32_t find_named(const struct tc_fleet *f, struct tc_slice name)
{
    uint64_t hash = tc_slice_hash(name, 0);
    size_t at = 0;
    uint32_t node = tc_hash_index_next(&f->node_index, hash, &at);
    while (node != TC_HASH_INDEX_NONE && !tc_slice_eq(f->nodes[node].name, name)) {
        node = tc_hash_index_next(&f->node_index, hash, &at);
    }
    return node;
}

/* The node of that name, made when it is new; NULL without a name or memory. */
static struct tc_fleet_node *node_of(struct tc_fleet *f, struct tc_slice name)
{
    if (name.len == 0 || f->failed) {
        return NULL;
    }
    if (f->last < f->node_count && tc_slice_eq(f->nodes[f->last].name, name)) {
        return &f->nodes[f->last];
    }
    uint32_t found = find_named(f, name);
    if (found == TC_HASH_INDEX_NONE) {
        if (tc_grow_items(f->nodes, f->node_cap, f->node_count + 1, NODES_MAX) != TC_OK ||
            tc_hash_index_add(&f->node_index, tc_slice_hash(name, 0), NODES_MAX) != TC_OK) {
            f->failed = true;
            return NULL;
        }
        found = (uint32_t)f->node_count++;
        f->nodes[found] = (struct tc_fleet_node){.name = name, .last_ns = TC_TIME_NONE};
    }
    f->last = found;
    return &f->nodes[found];
}

static void add_node(void *context, const struct tc_node *known)
{
    struct tc_fleet_node *node = node_of(context, known->name);
    if (node != NULL) {
        node->rack = known->rack;
        node->zone = known->zone;
    }
}

static void add_statement(void *context, const struct tc_statement *said)
{
    struct tc_fleet_node *node = node_of(context, said->scope.node);
    if (node != NULL && said->last_ns > node->last_ns) {
        node->last_ns = said->last_ns;
    }
}

uint32_t tc_fleet_find_node(const struct tc_fleet *f, struct tc_slice name)
{
    uint32_t found = name.len == 0 ? TC_HASH_INDEX_NONE : find_named(f, name);
    for (size_t i = 0; i < f->node_count && found == TC_HASH_INDEX_NONE && name.len > 0; i++) {
        found = tc_directory_is_same_host(f->nodes[i].name, name) ? (uint32_t)i : found;
    }
    return found == TC_HASH_INDEX_NONE ? TC_FLEET_NONE : found;
}

/* ---- GPUs ---- */

static void add_gpu(void *context, const struct tc_gpu *gpu)
{
    struct tc_fleet *f = context;
    (void)node_of(f, gpu->node);
    if (tc_grow_items(f->gpus, f->gpu_cap, f->gpu_count + 1, GPUS_MAX) != TC_OK) {
        f->failed = true;
        return;
    }
    f->gpus[f->gpu_count++] = (struct tc_fleet_gpu){.gpu = gpu, .node = TC_FLEET_NONE};
}

static uint64_t hash_gpu(const struct tc_gpu *gpu)
{
    return tc_hash_mix(gpu->id, 1);
}

uint32_t tc_fleet_find_gpu(const struct tc_fleet *f, const struct tc_gpu *gpu)
{
    size_t at = 0;
    uint32_t found =
        gpu == NULL ? TC_HASH_INDEX_NONE : tc_hash_index_next(&f->gpu_index, hash_gpu(gpu), &at);
    while (found != TC_HASH_INDEX_NONE && f->gpus[found].gpu->id != gpu->id) {
        found = tc_hash_index_next(&f->gpu_index, hash_gpu(gpu), &at);
    }
    return found == TC_HASH_INDEX_NONE ? TC_FLEET_NONE : found;
}

/* ---- order ---- */

static int by_name(const void *a, const void *b)
{
    return tc_slice_cmp(((const struct tc_fleet_node *)a)->name,
                        ((const struct tc_fleet_node *)b)->name);
}

static int by_place(const void *a, const void *b)
{
    const struct tc_fleet_gpu *x = a;
    const struct tc_fleet_gpu *y = b;
    if (x->node != y->node) {
        return x->node < y->node ? -1 : 1;
    }
    if (x->gpu->index != y->gpu->index) {
        return x->gpu->index < y->gpu->index ? -1 : 1;
    }
    return tc_slice_cmp(x->gpu->uuid, y->gpu->uuid);
}

static bool arrange(struct tc_fleet *f)
{
    if (f->node_count > 0) {
        qsort(f->nodes, f->node_count, sizeof f->nodes[0], by_name);
        tc_hash_index_clear(&f->node_index);
    }
    for (size_t i = 0; i < f->node_count; i++) {
        if (tc_hash_index_add(&f->node_index, tc_slice_hash(f->nodes[i].name, 0), NODES_MAX) !=
            TC_OK) {
            return false;
        }
    }
    for (size_t i = 0; i < f->gpu_count; i++) {
        const struct tc_fleet_node *node = node_of(f, f->gpus[i].gpu->node);
        f->gpus[i].node = node == NULL ? TC_FLEET_NONE : (uint32_t)(node - f->nodes);
    }
    if (f->gpu_count > 0) {
        qsort(f->gpus, f->gpu_count, sizeof f->gpus[0], by_place);
    }
    for (size_t i = f->gpu_count; i-- > 0;) {
        if (f->gpus[i].node != TC_FLEET_NONE) {
            struct tc_fleet_node *node = &f->nodes[f->gpus[i].node];
            node->first_gpu = (uint32_t)i;
            node->gpu_count++;
        }
    }
    for (size_t i = 0; i < f->gpu_count; i++) {
        if (tc_hash_index_add(&f->gpu_index, hash_gpu(f->gpus[i].gpu), GPUS_MAX) != TC_OK) {
            return false;
        }
    }
    return true;
}

/* ---- states ---- */

static enum tc_fleet_state state_of(const struct tc_verdict *v)
{
    return v->finding->severity == TC_SEVERITY_CRITICAL  ? TC_FLEET_CRITICAL
           : v->finding->severity == TC_SEVERITY_WARNING ? TC_FLEET_WARNING
                                                         : TC_FLEET_OK;
}

static void mark_scope(struct tc_fleet *f, const struct tc_directory *d,
                       const struct tc_scope *scope, enum tc_fleet_state state)
{
    uint32_t gpu = tc_fleet_find_gpu(f, tc_directory_gpu(d, scope));
    struct tc_slice name = scope->node;
    if (gpu != TC_FLEET_NONE) {
        f->gpus[gpu].state = state > f->gpus[gpu].state ? state : f->gpus[gpu].state;
        f->gpus[gpu].open++;
        name = name.len == 0 ? f->gpus[gpu].gpu->node : name;
    }
    uint32_t node = name.len == 0 ? TC_HASH_INDEX_NONE : find_named(f, name);
    if (node != TC_HASH_INDEX_NONE) {
        struct tc_fleet_node *n = &f->nodes[node];
        n->state = state > n->state ? state : n->state;
        n->open++;
    }
}

static void mark(struct tc_fleet *f, const struct tc_directory *d, const struct tc_verdict *v)
{
    const struct tc_finding *finding = v->finding;
    enum tc_fleet_state state = state_of(v);
    mark_scope(f, d, &finding->scope, state);
    for (size_t i = 0; i < finding->attr_count; i++) {
        const struct tc_attr *a = &finding->attrs[i];
        for (size_t n = 0; a->type == TC_ATTR_SCOPES && n < a->count; n++) {
            mark_scope(f, d, &a->scopes[n], state);
        }
    }
}

tc_status tc_fleet_read(const struct tc_asked *asked, struct tc_fleet *out, struct tc_error *err)
{
    const struct tc_directory *d = tc_engine_directory(tc_live_engine(asked->live));
    *out = (struct tc_fleet){0};
    if (tc_directory_makes_room(d)) {
        return tc_fail(err, TC_E_IO, 0, "the directory is being tidied up; try again");
    }
    TC_TRY(tc_live_list_read(asked, &out->incidents, err));
    tc_directory_each_node(d, add_node, out);
    tc_directory_each_gpu(d, add_gpu, out);
    tc_directory_each_statement(d, add_statement, out);
    for (size_t i = 0; i < out->incidents.count; i++) {
        (void)node_of(out, out->incidents.items[i]->finding->scope.node);
    }
    if (out->failed || !arrange(out)) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the fleet");
    }
    for (size_t i = 0; i < out->incidents.count; i++) {
        if (tc_live_is_open(out->incidents.items[i])) {
            mark(out, d, out->incidents.items[i]);
        }
    }
    return TC_OK;
}
