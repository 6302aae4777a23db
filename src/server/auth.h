/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may do what: bearer tokens of the configuration, kept as SHA-256, compared without telling by
 * the time it takes how much was right. Without tokens everybody who reaches a listener may.
 */
#ifndef TC_SERVER_AUTH_H
#define TC_SERVER_AUTH_H

#include "config/config.h"
#include "net/request.h"

/*
 * OK, UNAUTHENTICATED (no token, or none of ours) or FORBIDDEN (its scopes lack this one), with
 * out->message set. Counts refusals.
 */
enum tc_answer tc_auth_check(const struct tc_config *config, const struct tc_request *r,
                             unsigned scope, struct tc_response *out);

#endif
