/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alerts for POST /api/v2/alerts of an Alertmanager. An alert is its labels there: they say only
 * what every daemon that knows the story says alike. One that changes a label (its severity rose)
 * ends under the old ones and begins under the new.
 */
#ifndef TC_ALERT_ALERTMANAGER_H
#define TC_ALERT_ALERTMANAGER_H

#include "alert/alert.h"
#include "base/json/out.h"

/* Adds one or two elements to the array that j is in. labels: "name=value\n" lines that every alert
 * has besides its own. */
void tc_alertmanager_add(struct tc_json_out *j, const struct tc_alert *alert,
                         struct tc_slice labels);

#endif
