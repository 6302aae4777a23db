/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may do what: bearer tokens of the configuration, kept as SHA-256, compared without telling by
 * the time it takes how much was right. Without tokens everybody who reaches a listener may. Wrong
 * tokens are answered late, more so the more of them a peer sends; right ones never are.
 */
#ifndef TC_SERVER_AUTH_H
#define TC_SERVER_AUTH_H

#include "config/config.h"
#include "net/request.h"

/* Of the loop's thread. */
struct tc_auth;

/* The configuration is borrowed, as it is now. NULL: no memory. */
struct tc_auth *tc_auth_create(const struct tc_config *config);
void tc_auth_destroy(struct tc_auth *a);

/*
 * OK, UNAUTHENTICATED (no token, or none of ours) or FORBIDDEN (its scopes lack this one), with
 * out->message set, and out->delay_ns for a wrong token. now_ns is monotonic. Counts refusals.
 */
enum tc_answer tc_auth_check(struct tc_auth *a, const struct tc_request *r, unsigned scope,
                             int64_t now_ns, struct tc_response *out);

/* The name of the token that a request came with; "" without tokens, or with none of ours. */
struct tc_slice tc_auth_token_name(const struct tc_auth *a, const struct tc_request *r);

#endif
