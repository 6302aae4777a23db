/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes and pods are called on the network: monitors know hosts by that. */
#include "codec/k8s/k8s_priv.h"

#define S(literal) TC_LIT(literal)

static tc_status emit_address(struct tc__decode *d, struct tc_slice address,
                              const struct tc_scope *scope, int64_t since_ns)
{
    struct tc_event ev;
    if (address.len == 0 || scope->node.len == 0) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_ADDRESS);
    ev.time_ns = since_ns;
    ev.scope = *scope;
    ev.address.address = address;
    return tc__decode_emit(d, &ev);
}

tc_status tc__k8s_pod_addresses(struct tc__decode *d, struct tc__value pod)
{
    struct tc__value meta = tc__value_get(pod, S("metadata"));
    struct tc__value status = tc__value_get(pod, S("status"));
    struct tc_slice host = tc__value_string(status, S("hostIP"));
    struct tc_slice own = tc__value_string(status, S("podIP"));
    struct tc_scope scope = TC_SCOPE_NONE;
    int64_t since_ns = TC_TIME_NONE;
    if (!tc__k8s_time(tc__value_string(status, S("startTime")), &since_ns)) {
        (void)tc__k8s_time(tc__value_string(meta, S("creationTimestamp")), &since_ns);
    }
    scope.node = tc__value_string(tc__value_get(pod, S("spec")), S("nodeName"));
    TC_TRY(emit_address(d, host, &scope, since_ns));
    /* A pod on the network of its node has no address of its own. */
    if (tc_slice_eq(own, host)) {
        return TC_OK;
    }
    scope.ns = tc__value_string(meta, S("namespace"));
    scope.pod = tc__value_string(meta, S("name"));
    scope.pod_uid = tc__value_string(meta, S("uid"));
    return emit_address(d, own, &scope, since_ns);
}

tc_status tc__k8s_node_addresses(struct tc__decode *d, struct tc__value node)
{
    struct tc__value_iter it =
        tc__value_iter(tc__value_get(tc__value_get(node, S("status")), S("addresses")));
    struct tc__value entry;
    struct tc_scope scope = TC_SCOPE_NONE;
    scope.node = tc__value_string(tc__value_get(node, S("metadata")), S("name"));
    while (tc__value_next(&it, NULL, &entry)) {
        struct tc_slice address = tc__value_string(entry, S("address"));
        if (!tc_slice_eq(address, scope.node)) {
            TC_TRY(emit_address(d, address, &scope, TC_TIME_NONE));
        }
    }
    return TC_OK;
}
