/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "event/format.h"
#include "story/story_priv.h"

#define WORDS_MAX 256

static void write_name(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_name *n = arg->object;
    switch (n->kind) {
    case TC_NAME_NODE:
        tc_format(b, "node {}", n->where);
        return;
    case TC_NAME_GPU_UUID:
        tc_format(b, "{}{}", tc_slice_starts(n->text, TC_LIT("GPU-")) ? "" : "GPU ", n->text);
        return;
    case TC_NAME_GPU_PCI:
        tc_format(b, "{} of node {}",
                  tc_as_pci((struct tc_bdf){(uint16_t)(n->number >> 24), (uint8_t)(n->number >> 16),
                                            (uint8_t)(n->number >> 8), (uint8_t)n->number, true}),
                  n->where);
        return;
    case TC_NAME_GPU_INDEX:
        tc_format(b, "GPU {} of node {}", n->number, n->where);
        return;
    case TC_NAME_POD_UID:
    case TC_NAME_POD_BARE:
        tc_format(b, "pod {}", n->text);
        return;
    case TC_NAME_POD:
        tc_format(b, "pod {}/{}", n->where, n->text);
        return;
    case TC_NAME_RANK:
        tc_format(b, "rank {}{}{}", n->number, n->where.len > 0 ? " of job " : "", n->where);
        return;
    }
}

/* The name of a thing that says most to a person: a pod by its name, a GPU by its UUID. */
static const struct tc_name *best_name(struct tc_view *view, uint32_t root,
                                       const struct tc_scope *cause)
{
    struct tc_names *names = &view->names;
    const struct tc_name *n = &names->items[root];
    uint32_t other = TC_NAME_NONE;
    if (n->kind == TC_NAME_GPU_PCI || n->kind == TC_NAME_GPU_INDEX) {
        other = cause->gpu_uuid.len == 0
                    ? TC_NAME_NONE
                    : tc_names_add(names, TC_NAME_GPU_UUID, TC_EMPTY, cause->gpu_uuid, 0);
    } else if ((n->kind == TC_NAME_POD_UID || n->kind == TC_NAME_POD_BARE) && cause->pod.len > 0 &&
               cause->ns.len > 0) {
        other = tc_names_add(names, TC_NAME_POD, cause->ns, cause->pod, 0);
    }
    return other != TC_NAME_NONE && tc_names_root(names, other) == root ? &names->items[other] : n;
}

static struct tc_slice origin_words(const struct tc_statement *f)
{
    static const struct {
        const char *origin;
        const char *words;
    } table[] = {
        {"map", ", by --map"},
        {"ncclras", ", by NCCL's monitor"},
        {"labels", ", by an exporter's labels"},
        {"pod", ", by its pod's specification"},
        {"name", ", by the name of its dump"},
    };
    for (size_t i = 0; i < TC_COUNT(table); i++) {
        if (tc_slice_eq(f->origin, tc_slice_cstr(table[i].origin))) {
            return tc_slice_cstr(table[i].words);
        }
    }
    return TC_EMPTY;
}

/* "rank 5 ran on GPU-... of node gpu-07, by --map": how the effect comes to the thing. */
static void put_thing(struct tc_buf *b, struct tc_view *view, enum tc__class by,
                      const struct tc__token *token, const struct tc_scope *cause)
{
    bool ran = token->rank >= 0 && by != TC__CLASS_RANK;
    bool of_node = by == TC__CLASS_GPU && cause->node.len > 0 && cause->gpu_uuid.len > 0;
    bool told = token->statement != TC_NAME_NONE && token->rank >= 0;
    tc_format(b, "{}{}{}{}",
              ran ? tc_when(true, "rank {} ran {} ", token->rank, by == TC__CLASS_POD ? "in" : "on")
                  : TC_ARG("both are about "),
              tc_as_written(write_name, best_name(view, token->name, cause)),
              tc_when(of_node, " of node {}", cause->node),
              told ? origin_words(&view->statements[token->statement]) : TC_EMPTY);
}

/* "; hbm_ecc began 12 s before". Times that are only an order have no distance. */
static void put_distance(struct tc_buf *b, const struct tc_incident_entry *cause,
                         const struct tc_incident_entry *effect)
{
    int64_t cause_ns = cause->verdict.first_ns;
    int64_t effect_ns = effect->verdict.first_ns;
    if (!tc_time_is_date(cause_ns) || !tc_time_is_date(effect_ns)) {
        return;
    }
    int64_t before = effect_ns - cause_ns;
    tc_format(b, "; {} began {}", cause->finding.pattern_name,
              before == 0 ? TC_ARG("at the same time")
                          : tc_when(true, before > 0 ? "{} before" : "{} into it",
                                    tc_as_duration(before > 0 ? before : -before)));
}

struct tc_slice tc__link_why(struct tc__lookup *lookup, struct tc_arena *arena,
                             const struct tc_incident_entry *cause,
                             const struct tc_incident_entry *effect, enum tc__class by,
                             const struct tc__token *token, bool guessed)
{
    const struct tc_finding *f = &cause->finding;
    struct tc_view *view = &lookup->view;
    const struct tc_name *n = &view->names.items[token->name];
    size_t max = WORDS_MAX + n->where.len + n->text.len + f->scope.node.len + f->scope.ns.len +
                 f->scope.pod.len + f->scope.gpu_uuid.len + f->pattern_name.len;
    char *text = tc_new(arena, char, max);
    if (text == NULL) {
        return TC_EMPTY;
    }
    struct tc_buf b = tc_buf_make(text, max);
    put_thing(&b, view, by, token, &f->scope);
    put_distance(&b, cause, effect);
    tc_format(&b, "{}", guessed ? " (same node; nothing says that it is another GPU)" : "");
    return tc_buf_slice(&b);
}
