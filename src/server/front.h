/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps web pages out: a browser on a machine that reaches a listener sends what any page tells it
 * to. docs/decisions/0019-browsers.md says which ways there are and which rule closes which.
 */
#ifndef TC_SERVER_FRONT_H
#define TC_SERVER_FRONT_H

#include "config/config.h"
#include "net/request.h"

#include <stdbool.h>

/* OK, or FORBIDDEN with out->message set: the name in Host is none of ours. Counts refusals. */
enum tc_answer tc_front_check_host(const struct tc_config *config, const struct tc_request *r,
                                   struct tc_response *out);

/* OK, or FORBIDDEN with out->message set: a page of another origin made a browser send it. For
 * requests that change something. Counts refusals. */
enum tc_answer tc_front_check_page(const struct tc_config *config, const struct tc_request *r,
                                   struct tc_response *out);

/* Whether a body with this Content-Type may come from a form, or from a script that did not ask
 * for permission: one of three types, or none that can be read. */
bool tc_front_is_form_type(struct tc_slice content_type);

#endif
