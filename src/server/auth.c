/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth.h"

#include "observe/metrics.h"

/* Looks at every byte, whatever the first ones say. */
static bool same_digest(const struct tc_digest *a, const struct tc_digest *b)
{
    unsigned difference = 0;
    for (size_t i = 0; i < TC_DIGEST_BYTES; i++) {
        difference |= (unsigned)a->bytes[i] ^ b->bytes[i];
    }
    return difference == 0;
}

/* What follows "Bearer ". */
static struct tc_slice bearer(struct tc_slice header)
{
    struct tc_slice rest;
    struct tc_slice scheme = tc_slice_cut(header, ' ', &rest);
    return tc_slice_eq_nocase(scheme, TC_LIT("Bearer")) ? tc_slice_trim(rest) : TC_EMPTY;
}

enum tc_answer tc_auth_check(const struct tc_config *config, const struct tc_request *r,
                             unsigned scope, struct tc_response *out)
{
    if (config->auth_token_count == 0) {
        return TC_ANSWER_OK;
    }
    struct tc_slice token = bearer(r->authorization);
    struct tc_digest digest;
    unsigned scopes = 0;
    bool known = false;
    if (token.len > 0 && tc_digest_sha256(token, &digest) == TC_OK) {
        for (size_t i = 0; i < config->auth_token_count; i++) {
            if (same_digest(&config->auth_tokens[i].sha256, &digest)) {
                known = true;
                scopes |= config->auth_tokens[i].scopes;
            }
        }
    }
    if (!known) {
        tc_count(TC_COUNT_REJECTED_UNAUTHENTICATED, 1);
        out->message = TC_LIT("a bearer token of auth.tokens is needed");
        return TC_ANSWER_UNAUTHENTICATED;
    }
    if ((scopes & scope) == 0) {
        tc_count(TC_COUNT_REJECTED_FORBIDDEN, 1);
        out->message = TC_LIT("the token's scopes do not allow this");
        return TC_ANSWER_FORBIDDEN;
    }
    return TC_ANSWER_OK;
}
