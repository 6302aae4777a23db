/* SPDX-License-Identifier: Apache-2.0 */
/* The fleet: all of it in columns, one node, and in a few words. */
#include "answers/live/filter.h"
#include "answers/live/fleet.h"
#include "answers/live/story.h"

#include "base/time.h"
#include "live/live.h"

#include <stdlib.h>

/* Of more, the rest is counted. */
#define INCIDENTS_MAX 1000
#define NODE_INCIDENTS_MAX 200
#define WORST_MAX 20

static void add_pci(struct tc_json_out *j, const struct tc_bdf *pci)
{
    char text[16];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    if (!pci->known) {
        tc_json_add_null(j);
        return;
    }
    tc_buf_bdf(&b, *pci);
    tc_json_add_plain(j, tc_buf_slice(&b));
}

static void add_index(struct tc_json_out *j, int32_t index)
{
    if (index < 0) {
        tc_json_add_null(j);
    } else {
        tc_json_add_i64(j, index);
    }
}

/* ---- all of it ---- */

#define COLUMN(j, key, count, each)            \
    do {                                       \
        tc_json_put_array((j), key);           \
        for (size_t i = 0; i < (count); i++) { \
            each;                              \
        }                                      \
        tc_json_end_array(j);                  \
    } while (0)

static void put_nodes(struct tc_json_out *j, const struct tc_fleet *f)
{
    struct tc_time_cache time = {0};
    tc_json_put_object(j, "nodes");
    COLUMN(j, "name", f->node_count, tc_json_add_str(j, f->nodes[i].name));
    COLUMN(j, "rack", f->node_count, tc_json_add_str_or_null(j, f->nodes[i].rack));
    COLUMN(j, "zone", f->node_count, tc_json_add_str_or_null(j, f->nodes[i].zone));
    COLUMN(j, "state", f->node_count, tc_json_add_i64(j, (int64_t)f->nodes[i].state));
    COLUMN(j, "open", f->node_count, tc_json_add_u64(j, f->nodes[i].open));
    COLUMN(j, "first_gpu", f->node_count, tc_json_add_u64(j, f->nodes[i].first_gpu));
    COLUMN(j, "gpu_count", f->node_count, tc_json_add_u64(j, f->nodes[i].gpu_count));
    tc_json_put_array(j, "last_seen");
    for (size_t i = 0; i < f->node_count; i++) {
        if (tc_time_is_date(f->nodes[i].last_ns)) {
            tc_json_add_time_cached(j, f->nodes[i].last_ns, &time);
        } else {
            tc_json_add_null(j);
        }
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}

static void put_gpus(struct tc_json_out *j, const struct tc_fleet *f)
{
    tc_json_put_object(j, "gpus");
    COLUMN(j, "node", f->gpu_count,
           add_index(j, f->gpus[i].node == TC_FLEET_NONE ? -1 : (int32_t)f->gpus[i].node));
    COLUMN(j, "index", f->gpu_count, add_index(j, f->gpus[i].gpu->index));
    COLUMN(j, "uuid", f->gpu_count, tc_json_add_str_or_null(j, f->gpus[i].gpu->uuid));
    COLUMN(j, "pci", f->gpu_count, add_pci(j, &f->gpus[i].gpu->pci));
    COLUMN(j, "state", f->gpu_count, tc_json_add_i64(j, (int64_t)f->gpus[i].state));
    COLUMN(j, "open", f->gpu_count, tc_json_add_u64(j, f->gpus[i].open));
    tc_json_end_object(j);
}

static void put_summary(struct tc_json_out *j, const struct tc_fleet *f)
{
    size_t nodes[TC_FLEET_CRITICAL + 1] = {0};
    size_t gpus[TC_FLEET_CRITICAL + 1] = {0};
    size_t open = 0;
    for (size_t i = 0; i < f->node_count; i++) {
        nodes[f->nodes[i].state]++;
    }
    for (size_t i = 0; i < f->gpu_count; i++) {
        gpus[f->gpus[i].state]++;
    }
    for (size_t i = 0; i < f->incidents.count; i++) {
        open += tc_live_is_open(f->incidents.items[i]);
    }
    tc_json_put_object(j, "summary");
    tc_json_put_u64(j, "nodes", f->node_count);
    tc_json_put_u64(j, "nodes_warning", nodes[TC_FLEET_WARNING]);
    tc_json_put_u64(j, "nodes_critical", nodes[TC_FLEET_CRITICAL]);
    tc_json_put_u64(j, "gpus", f->gpu_count);
    tc_json_put_u64(j, "gpus_warning", gpus[TC_FLEET_WARNING]);
    tc_json_put_u64(j, "gpus_critical", gpus[TC_FLEET_CRITICAL]);
    tc_json_put_u64(j, "open_incidents", open);
    tc_json_end_object(j);
}

static void put_open(struct tc_json_out *j, const struct tc_fleet *f, const struct tc_directory *d)
{
    size_t count = 0;
    tc_json_put_array(j, "incidents");
    for (size_t i = 0; i < f->incidents.count && count < INCIDENTS_MAX; i++) {
        const struct tc_verdict *v = f->incidents.items[i];
        if (!tc_live_is_open(v)) {
            continue;
        }
        const struct tc_scope *scope = &v->finding->scope;
        uint32_t gpu = tc_fleet_find_gpu(f, tc_directory_gpu(d, scope));
        uint32_t node = scope->node.len > 0    ? tc_fleet_find_node(f, scope->node)
                        : gpu != TC_FLEET_NONE ? f->gpus[gpu].node
                                               : TC_FLEET_NONE;
        count++;
        tc_json_add_object(j);
        tc_json_put_plain(j, "incident_id", v->incident_id);
        tc_json_put_cstr(j, "severity", tc_severity_name(v->finding->severity));
        tc_json_put_plain(j, "pattern", v->finding->pattern_name);
        tc_json_put_str(j, "headline", v->finding->headline);
        tc_json_key(j, "node");
        add_index(j, node == TC_FLEET_NONE ? -1 : (int32_t)node);
        tc_json_key(j, "gpu");
        add_index(j, gpu == TC_FLEET_NONE ? -1 : (int32_t)gpu);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

static const struct tc_directory *directory_of(const struct tc_asked *asked)
{
    return tc_engine_directory(tc_live_engine(asked->live));
}

static tc_status answer_fleet(const struct tc_asked *asked, struct tc_reply *out,
                              struct tc_error *err)
{
    struct tc_fleet f;
    tc_status status = tc_fleet_read(asked, &f, err);
    if (status == TC_OK) {
        struct tc_json_out j = tc_json_object_grow(&out->body);
        tc_json_put_array(&j, "states");
        for (int i = TC_FLEET_OK; i <= TC_FLEET_CRITICAL; i++) {
            tc_json_add_cstr(&j, tc_fleet_state_name((enum tc_fleet_state)i));
        }
        tc_json_end_array(&j);
        put_summary(&j, &f);
        put_nodes(&j, &f);
        put_gpus(&j, &f);
        put_open(&j, &f, directory_of(asked));
        (void)tc_json_end_line(&j);
    }
    tc_fleet_fini(&f);
    return status;
}

static const struct tc_member FLEET_MEMBERS[] = {
    {.name = "states", .type = "array", .help = "What the numbers in the columns `state` mean."},
    {.name = "summary",
     .type = "object",
     .help = "How many nodes and GPUs there are, in which state."},
    {.name = "nodes",
     .type = "object",
     .help = "Columns, by name: name, rack, zone (null: nobody said), state, open (incidents), "
             "first_gpu and gpu_count (its GPUs lie together), last_seen."},
    {.name = "gpus",
     .type = "object",
     .help = "Columns: node (a number of nodes), index, uuid, pci, state, open."},
    {.name = "incidents",
     .type = "array",
     .help = "What is open, newest first, with the numbers of its node and GPU."},
};

const struct tc_question tc_question_fleet = {
    .name = "fleet",
    .path = "/api/v1/fleet",
    .summary = "all nodes and GPUs with their state, in columns",
    .help = "All nodes and GPUs that detection knows of, with the state that open incidents give "
            "them, in columns: short enough for ten thousand GPUs.",
    .place = TC_PLACE_LIVE,
    .keeps = true,
    .members = FLEET_MEMBERS,
    .member_count = TC_COUNT(FLEET_MEMBERS),
    .answer = answer_fleet,
};

/* ---- in a few words ---- */

static int by_gravity(const void *a, const void *b)
{
    const struct tc_fleet_node *x = *(const struct tc_fleet_node *const *)a;
    const struct tc_fleet_node *y = *(const struct tc_fleet_node *const *)b;
    if (x->state != y->state) {
        return x->state > y->state ? -1 : 1;
    }
    if (x->open != y->open) {
        return x->open > y->open ? -1 : 1;
    }
    return tc_slice_cmp(x->name, y->name);
}

/* The root that says most of a node; NULL: what is open there is of another node's story. */
static const struct tc_verdict *lead_of(const struct tc_fleet *f, struct tc_slice node)
{
    const struct tc_verdict *lead = NULL;
    for (size_t i = 0; i < f->incidents.count; i++) {
        const struct tc_verdict *v = f->incidents.items[i];
        if (!tc_live_is_open(v) || !tc_slice_eq(v->finding->scope.node, node)) {
            continue;
        }
        bool is_better = lead == NULL || (v->cause_count == 0) > (lead->cause_count == 0) ||
                         ((v->cause_count == 0) == (lead->cause_count == 0) &&
                          v->finding->severity > lead->finding->severity);
        lead = is_better ? v : lead;
    }
    return lead;
}

static void put_worst(struct tc_json_out *j, const struct tc_fleet *f,
                      const struct tc_fleet_node *const *worst, size_t count)
{
    tc_json_put_array(j, "worst_nodes");
    for (size_t i = 0; i < count && i < WORST_MAX; i++) {
        const struct tc_verdict *lead = lead_of(f, worst[i]->name);
        tc_json_add_object(j);
        tc_json_put_str(j, "node", worst[i]->name);
        tc_json_put_str_or_null(j, "rack", worst[i]->rack);
        tc_json_put_str_or_null(j, "zone", worst[i]->zone);
        tc_json_put_cstr(j, "state", tc_fleet_state_name(worst[i]->state));
        tc_json_put_u64(j, "open", worst[i]->open);
        if (lead != NULL) {
            tc_json_put_plain(j, "incident_id", lead->incident_id);
            tc_json_put_str(j, "headline", lead->finding->headline);
            tc_json_put_str(j, "what_to_do", lead->finding->remediation);
        }
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_put_u64(j, "worst_nodes_total", count);
}

static tc_status answer_health(const struct tc_asked *asked, struct tc_reply *out,
                               struct tc_error *err)
{
    struct tc_fleet f;
    tc_status status = tc_fleet_read(asked, &f, err);
    const struct tc_fleet_node **worst = NULL;
    size_t count = 0;
    if (status == TC_OK) {
        worst = calloc(f.node_count + 1, sizeof(const struct tc_fleet_node *));
        status = worst == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the fleet") : TC_OK;
    }
    if (status == TC_OK) {
        for (size_t i = 0; i < f.node_count; i++) {
            if (f.nodes[i].state != TC_FLEET_OK) {
                worst[count++] = &f.nodes[i];
            }
        }
        qsort(worst, count, sizeof(const struct tc_fleet_node *), by_gravity);
        struct tc_json_out j = tc_json_object_grow(&out->body);
        put_summary(&j, &f);
        put_worst(&j, &f, worst, count);
        (void)tc_json_end_line(&j);
    }
    free(worst);
    tc_fleet_fini(&f);
    return status;
}

static const struct tc_member HEALTH_MEMBERS[] = {
    {.name = "summary",
     .type = "object",
     .help = "How many nodes and GPUs there are, in which state."},
    {.name = "worst_nodes",
     .type = "array",
     .help = "The nodes with the gravest open incidents: node, rack and zone (null: nobody said), "
             "state, open, and of the one that explains most its incident_id, headline and "
             "what_to_do."},
    {.name = "worst_nodes_total", .type = "integer", .help = "How many nodes have something open."},
};

const struct tc_question tc_question_fleet_health = {
    .name = "fleet_health",
    .tool = "fleet_health",
    .path = "/api/v1/fleet/health",
    .summary = "how the fleet is, and which nodes need somebody",
    .help = "How many nodes and GPUs are fine, and which nodes are not, with what to do. Ask it to "
            "know which node to look at.",
    .place = TC_PLACE_LIVE,
    .keeps = true,
    .members = HEALTH_MEMBERS,
    .member_count = TC_COUNT(HEALTH_MEMBERS),
    .answer = answer_health,
};

/* ---- one node ---- */

static void put_gpu_incidents(struct tc_json_out *j, const struct tc_fleet *f,
                              const struct tc_directory *d, uint32_t gpu)
{
    size_t count = 0;
    tc_json_put_array(j, "incident_ids");
    for (size_t i = 0; i < f->incidents.count && count < f->gpus[gpu].open; i++) {
        const struct tc_verdict *v = f->incidents.items[i];
        struct tc_slice node = v->finding->scope.node;
        bool is_elsewhere = node.len > 0 && !tc_slice_eq(node, f->gpus[gpu].gpu->node);
        if (tc_live_is_open(v) && !is_elsewhere &&
            tc_fleet_find_gpu(f, tc_directory_gpu(d, &v->finding->scope)) == gpu) {
            count++;
            tc_json_add_plain(j, v->incident_id);
        }
    }
    tc_json_end_array(j);
}

static void put_node_gpus(struct tc_json_out *j, const struct tc_fleet *f,
                          const struct tc_directory *d, const struct tc_fleet_node *node)
{
    tc_json_put_array(j, "gpus");
    for (uint32_t i = node->first_gpu; i < node->first_gpu + node->gpu_count; i++) {
        const struct tc_gpu *gpu = f->gpus[i].gpu;
        tc_json_add_object(j);
        tc_json_key(j, "index");
        add_index(j, gpu->index);
        tc_json_put_str_or_null(j, "uuid", gpu->uuid);
        tc_json_key(j, "pci");
        add_pci(j, &gpu->pci);
        tc_json_put_cstr(j, "state", tc_fleet_state_name(f->gpus[i].state));
        tc_json_put_str_or_null(j, "namespace", gpu->ns);
        tc_json_put_str_or_null(j, "pod", gpu->pod);
        tc_json_put_str_or_null(j, "job", gpu->job);
        tc_json_key(j, "rank");
        add_index(j, gpu->rank);
        put_gpu_incidents(j, f, d, i);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

static void put_node_incidents(struct tc_json_out *j, const struct tc_fleet *f,
                               struct tc_slice name)
{
    size_t count = 0;
    tc_json_put_array(j, "incidents");
    for (size_t i = 0; i < f->incidents.count; i++) {
        const struct tc_verdict *v = f->incidents.items[i];
        if (tc_live_is_on_node(v, name) && count++ < NODE_INCIDENTS_MAX) {
            tc_live_put_brief(j, v);
        }
    }
    tc_json_end_array(j);
    tc_json_put_u64(j, "incidents_total", count);
}

static tc_status answer_node(const struct tc_asked *asked, struct tc_reply *out,
                             struct tc_error *err)
{
    struct tc_fleet f;
    struct tc_slice name = tc_asked_text(asked, "node");
    tc_status status = tc_fleet_read(asked, &f, err);
    uint32_t at = status == TC_OK ? tc_fleet_find_node(&f, name) : TC_FLEET_NONE;
    if (status == TC_OK && at == TC_FLEET_NONE) {
        status = tc_fail(err, TC_E_NOTFOUND, 0, "nothing is known of a node \"%.*s\"",
                         (int)tc_slice_head(name, TC_SCOPE_TEXT_MAX / 2).len, name.ptr);
    }
    if (status == TC_OK) {
        const struct tc_fleet_node *node = &f.nodes[at];
        struct tc_json_out j = tc_json_object_grow(&out->body);
        tc_json_put_str(&j, "node", node->name);
        tc_json_put_str_or_null(&j, "rack", node->rack);
        tc_json_put_str_or_null(&j, "zone", node->zone);
        tc_json_put_cstr(&j, "state", tc_fleet_state_name(node->state));
        tc_json_put_u64(&j, "open", node->open);
        tc_live_put_time(&j, "last_seen", node->last_ns);
        put_node_gpus(&j, &f, directory_of(asked), node);
        put_node_incidents(&j, &f, node->name);
        (void)tc_json_end_line(&j);
    }
    tc_fleet_fini(&f);
    return status;
}

static const struct tc_param NODE_PARAMS[] = {
    {.name = "node",
     .help = "The node's name, with or without its domain.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED | TC_PARAM_IN_PATH},
};

static const struct tc_member NODE_MEMBERS[] = {
    {.name = "node", .type = "string", .help = "What it goes by."},
    {.name = "rack", .type = "string null", .help = "null: nobody said."},
    {.name = "zone", .type = "string null", .help = "null: nobody said."},
    {.name = "state", .type = "string", .help = "ok, warning or critical."},
    {.name = "open", .type = "integer", .help = "Open incidents that are about it."},
    {.name = "last_seen", .type = "string null", .help = "When it was last heard of."},
    {.name = "gpus",
     .type = "array",
     .help = "index, uuid, pci, state, who uses it (namespace, pod, job, rank), incident_ids."},
    {.name = "incidents",
     .type = "array",
     .help = "What is kept of it, open or resolved, newest first."},
    {.name = "incidents_total",
     .type = "integer",
     .help = "How many there are; some may be left out."},
};

const struct tc_question tc_question_fleet_node = {
    .name = "fleet_node",
    .path = "/api/v1/fleet/nodes/{node}",
    .summary = "one node: its GPUs, who uses them, its incidents",
    .help = "One node with its GPUs, their state and users, and the incidents that are kept of it.",
    .place = TC_PLACE_LIVE,
    .keeps = true,
    .params = NODE_PARAMS,
    .param_count = TC_COUNT(NODE_PARAMS),
    .members = NODE_MEMBERS,
    .member_count = TC_COUNT(NODE_MEMBERS),
    .answer = answer_node,
};
