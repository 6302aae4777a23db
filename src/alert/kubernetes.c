/* SPDX-License-Identifier: Apache-2.0 */
#include "alert/kubernetes.h"

#include "base/format.h"

#define MESSAGE_MAX 1024 /* of an Event; the API server refuses longer ones */

bool tc_kubernetes_is_node(struct tc_slice name)
{
    bool good = name.len > 0 && name.len <= 253;
    for (size_t i = 0; i < name.len && good; i++) {
        char c = name.ptr[i];
        bool is_end = i == 0 || i + 1 == name.len;
        good = (c >= 'a' && c <= 'z') || tc_is_digit(c) || (!is_end && (c == '-' || c == '.'));
    }
    return good;
}

static void put_message(struct tc_json_out *j, const struct tc_alert *a)
{
    char text[MESSAGE_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_slice said =
        tc_format(&b, "{}{}{}", a->headline,
                  tc_when(a->part_count > 1, " ({} incidents)", (uint64_t)a->part_count),
                  tc_when(a->link.len > 0, " {}", a->link));
    tc_json_put_str(j, "message", b.overflowed ? a->headline : said);
}

void tc_kubernetes_event(struct tc_json_out *j, const struct tc_alert *a, int64_t now_ns)
{
    char text[128];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_json_add_object(j);
    tc_json_put_plain(j, "apiVersion", TC_LIT("v1"));
    tc_json_put_plain(j, "kind", TC_LIT("Event"));
    tc_json_put_object(j, "metadata");
    tc_json_put_str(j, "name",
                    tc_format(&b, "tracecore.{}.{}", a->id, a->is_firing ? "firing" : "resolved"));
    tc_json_put_plain(j, "namespace", TC_LIT("default"));
    tc_json_end_object(j);
    tc_json_put_object(j, "involvedObject");
    tc_json_put_plain(j, "apiVersion", TC_LIT("v1"));
    tc_json_put_plain(j, "kind", TC_LIT("Node"));
    tc_json_put_str(j, "name", a->node);
    tc_json_put_str(j, "uid", a->node); /* as the kubelet does: kubectl describe looks for it */
    tc_json_end_object(j);
    tc_json_put_str(j, "reason", a->pattern);
    put_message(j, a);
    tc_json_put_cstr(j, "type",
                     a->is_firing && a->severity != TC_SEVERITY_INFO ? "Warning" : "Normal");
    tc_json_put_object(j, "source");
    tc_json_put_plain(j, "component", TC_LIT("tracecore"));
    tc_json_end_object(j);
    tc_json_put_time(j, "firstTimestamp", now_ns / TC_SECOND * TC_SECOND);
    tc_json_put_time(j, "lastTimestamp", now_ns / TC_SECOND * TC_SECOND);
    tc_json_put_u64(j, "count", 1);
    tc_json_end_object(j);
}

void tc_kubernetes_condition(struct tc_json_out *j, const struct tc_alert *a, const char *type,
                             int64_t now_ns)
{
    tc_json_add_object(j);
    tc_json_put_object(j, "status");
    tc_json_put_array(j, "conditions");
    tc_json_add_object(j);
    tc_json_put_cstr(j, "type", type);
    tc_json_put_cstr(j, "status", a->is_firing ? "True" : "False");
    tc_json_put_str(j, "reason", a->is_firing ? a->pattern : TC_LIT("NoIncident"));
    if (a->is_firing) {
        put_message(j, a);
    } else {
        tc_json_put_plain(j, "message", TC_LIT("no incident of this node is open"));
    }
    tc_json_put_time(j, "lastHeartbeatTime", now_ns / TC_SECOND * TC_SECOND);
    tc_json_put_time(j, "lastTransitionTime", now_ns / TC_SECOND * TC_SECOND);
    tc_json_end_object(j);
    tc_json_end_array(j);
    tc_json_end_object(j);
    tc_json_end_object(j);
}

void tc_kubernetes_condition_path(char *out, struct tc_slice node)
{
    struct tc_buf b = tc_buf_make(out, TC_KUBERNETES_PATH_MAX - 1);
    (void)tc_format(&b, "/api/v1/nodes/{}/status", node);
    out[b.len] = '\0';
}
