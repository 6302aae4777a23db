/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the kernel that Kubernetes quotes: node-problem-detector puts them into Events and
 * conditions of the node. Of these only faults of GPUs are taken: for the others, what Kubernetes
 * says of them is its own event.
 */
#include "codec/kmsg/kmsg_priv.h"

/* Kubernetes cuts times to whole seconds. The line was written within that second; dated at its end
 * it does not come before what the kernel log itself says of it. */
static int64_t end_of_second(int64_t time_ns)
{
    bool cut = tc_time_is_date(time_ns) && time_ns % TC_SECOND == 0;
    return cut ? time_ns + TC_SECOND - 1000000 : time_ns;
}

bool tc__kmsg_quoted(const struct tc_event *said, struct tc_arena *arena, struct tc_event *out)
{
    const struct tc_codec_input in = {.boot_ns = TC_TIME_NONE, .now_ns = TC_TIME_NONE};
    bool of_node =
        said->kind == TC_EVENT_NODE_CONDITION ||
        (said->kind == TC_EVENT_K8S_EVENT && tc_slice_eq(said->k8s.object_kind, TC_LIT("Node")));
    if (!of_node || said->scope.node.len == 0 || said->k8s.message.len == 0) {
        return false;
    }
    struct tc__kmsg_line line;
    tc__kmsg_frame(&in, said->k8s.message, &line);
    line.node = said->scope.node;
    line.time_ns = end_of_second(said->time_ns);
    line.uptime_ns = TC_TIME_NONE;
    struct tc__kmsg_context c = {
        .in = &in, .line = &line, .lines = &line, .line_count = 1, .arena = arena};
    return line.origin == TC__KMSG_KERNEL && tc__kmsg_apply(&c, out) == TC__KMSG_EVENT &&
           (out->kind == TC_EVENT_XID || out->kind == TC_EVENT_DRIVER_FAULT);
}
