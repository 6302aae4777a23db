/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alerts for a Kubernetes API server: an Event about the node of the story's root, and a condition
 * of that node. Neither changes where pods run: nothing here cordons, drains or taints.
 */
#ifndef TC_ALERT_KUBERNETES_H
#define TC_ALERT_KUBERNETES_H

#include "alert/alert.h"
#include "base/json/out.h"

#define TC_KUBERNETES_PATH_MAX 320
/* Events about nodes, which have no namespace, are in this one. */
#define TC_KUBERNETES_EVENTS_PATH "/api/v1/namespaces/default/events"

/* Whether the text can be the name of a node: it becomes part of a path. */
bool tc_kubernetes_is_node(struct tc_slice name);

/* Writes a core/v1 Event. Its name is made of the story, so that a second one of the same is
 * refused with 409, whoever sends it. */
void tc_kubernetes_event(struct tc_json_out *j, const struct tc_alert *alert, int64_t now_ns);

/* Writes a strategic merge patch of the node's status for a condition of that type; and its path,
 * which has TC_KUBERNETES_PATH_MAX bytes. */
void tc_kubernetes_condition(struct tc_json_out *j, const struct tc_alert *alert, const char *type,
                             int64_t now_ns);
void tc_kubernetes_condition_path(char *out, struct tc_slice node);

#endif
