/* SPDX-License-Identifier: Apache-2.0 */
/* What the object of a pod says of GPUs: which one it has, and how many it asks for. */
#include "codec/k8s/k8s_priv.h"

#define S(literal) TC_LIT(literal)
#define GPUS_MAX 1024

/* Remembers one GPU; two different ones tell nothing about the pod. */
static void note_gpu(struct tc_slice text, struct tc_slice *io_gpu, bool *io_ambiguous)
{
    /* Exactly one GPU, not a list, an index or "all". */
    if (tc_slice_starts(text, S("GPU-")) && tc_is_uuid(tc_slice_from(text, 4))) {
        *io_ambiguous = *io_ambiguous || (io_gpu->len > 0 && !tc_slice_eq(*io_gpu, text));
        *io_gpu = text;
    }
}

struct tc_slice tc__k8s_pod_gpu(struct tc__value pod)
{
    struct tc_slice gpu = TC_EMPTY;
    bool ambiguous = false;
    struct tc__value v;
    struct tc__value container;
    struct tc__value_iter it =
        tc__value_iter(tc__value_get(tc__value_get(pod, S("metadata")), S("annotations")));
    while (tc__value_next(&it, NULL, &v)) {
        note_gpu(tc__value_text(v), &gpu, &ambiguous);
    }
    it = tc__value_iter(tc__value_get(tc__value_get(pod, S("spec")), S("containers")));
    while (tc__value_next(&it, NULL, &container)) {
        struct tc__value_iter env = tc__value_iter(tc__value_get(container, S("env")));
        while (tc__value_next(&env, NULL, &v)) {
            if (tc_slice_eq(tc__value_string(v, S("name")), S("NVIDIA_VISIBLE_DEVICES"))) {
                note_gpu(tc__value_string(v, S("value")), &gpu, &ambiguous);
            }
        }
    }
    return ambiguous ? TC_EMPTY : gpu;
}

/* What a container asks for of resources whose name is that of a GPU; *io_stated is cleared when it
 * asks for nothing at all: then nobody wrote down what it needs. */
static int64_t container_gpus(struct tc__value container, bool *io_stated)
{
    static const struct tc_slice lists[] = {{"limits", 6}, {"requests", 8}};
    struct tc__value resources = tc__value_get(container, S("resources"));
    int64_t most = 0;
    bool stated = false;
    for (size_t i = 0; i < TC_COUNT(lists); i++) {
        struct tc__value_iter it = tc__value_iter(tc__value_get(resources, lists[i]));
        struct tc_slice name;
        struct tc__value v;
        int64_t count = 0;
        while (tc__value_next(&it, &name, &v)) {
            bool gpu = tc_slice_starts(name, S("nvidia.com/")) || tc_slice_contains(name, S("gpu"));
            int64_t asked = gpu ? tc__value_number(v, 1) : 0;
            count += asked > 0 && asked <= GPUS_MAX ? asked : 0;
            stated = true;
        }
        most = count > most ? count : most;
    }
    *io_stated = *io_stated && stated;
    return most;
}

/* Whether the container may have a GPU that it does not ask for. */
static bool has_other_ways(struct tc__value container)
{
    struct tc__value security = tc__value_get(container, S("securityContext"));
    struct tc__value_iter env = tc__value_iter(tc__value_get(container, S("env")));
    struct tc__value v;
    while (tc__value_next(&env, NULL, &v)) {
        if (tc_slice_eq(tc__value_string(v, S("name")), S("NVIDIA_VISIBLE_DEVICES"))) {
            return true;
        }
    }
    return tc__value_get(security, S("privileged")).there;
}

int64_t tc__k8s_pod_gpus(struct tc__value pod)
{
    struct tc__value spec = tc__value_get(pod, S("spec"));
    struct tc__value_iter it = tc__value_iter(tc__value_get(spec, S("containers")));
    struct tc__value container;
    bool sure = !tc__value_get(spec, S("resourceClaims")).there &&
                tc__value_string(spec, S("runtimeClassName")).len == 0 &&
                tc__k8s_pod_gpu(pod).len == 0;
    bool any = false;
    int64_t count = 0;
    while (tc__value_next(&it, NULL, &container)) {
        any = true;
        count += container_gpus(container, &sure);
        sure = sure && !has_other_ways(container);
    }
    if (count > 0) {
        return count;
    }
    return any && sure ? 0 : -1;
}
