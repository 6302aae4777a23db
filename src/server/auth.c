/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth.h"

#include "base/time.h"
#include "observe/metrics.h"

#include <stdlib.h>
#include <string.h>

/* A peer has that many wrong tokens at once for nothing; then they are answered one in so long,
 * and never later than that. */
#define FREE_COUNT 10
#define STEP_NS (TC_SECOND / 5)
#define DELAY_MAX_NS (5 * TC_SECOND)
/* Peers that are remembered, in sets of a few: a new one takes the place of the one in its set
 * that is forgiven first. */
#define SETS 256
#define WAYS 4

/* until_ns is how far the wrong tokens of the peer reach into the future, one STEP_NS each. */
struct guesser {
    struct tc_peer peer;
    int64_t until_ns;
};

struct tc_auth {
    const struct tc_config *config;
    struct guesser guessers[SETS][WAYS];
};

struct tc_auth *tc_auth_create(const struct tc_config *config)
{
    struct tc_auth *a = calloc(1, sizeof *a);
    if (a != NULL) {
        a->config = config;
    }
    return a;
}

void tc_auth_destroy(struct tc_auth *a)
{
    free(a);
}

static bool is_same_peer(const struct tc_peer *a, const struct tc_peer *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

/* One more wrong token of the peer: how much later it is to be told so. */
static int64_t delay_of(struct tc_auth *a, const struct tc_peer *peer, int64_t now_ns)
{
    struct tc_slice key = tc_slice_make((const char *)peer->bytes, sizeof peer->bytes);
    struct guesser *set = a->guessers[tc_slice_hash(key, 0) % SETS];
    struct guesser *g = &set[0];
    for (size_t i = 1; i < WAYS && !is_same_peer(&g->peer, peer); i++) {
        bool is_better = is_same_peer(&set[i].peer, peer) || set[i].until_ns < g->until_ns;
        g = is_better ? &set[i] : g;
    }
    int64_t from_ns = is_same_peer(&g->peer, peer) && g->until_ns > now_ns ? g->until_ns : now_ns;
    int64_t most_ns = now_ns + FREE_COUNT * STEP_NS + DELAY_MAX_NS;
    g->peer = *peer;
    g->until_ns = from_ns + STEP_NS < most_ns ? from_ns + STEP_NS : most_ns;
    int64_t delay_ns = g->until_ns - now_ns - FREE_COUNT * STEP_NS;
    return delay_ns > 0 ? delay_ns : 0;
}

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

struct tc_slice tc_auth_token_name(const struct tc_auth *a, const struct tc_request *r)
{
    const struct tc_config *config = a->config;
    struct tc_slice token = config->auth_token_count == 0 ? TC_EMPTY : bearer(r->authorization);
    struct tc_digest digest;
    if (token.len == 0 || tc_digest_sha256(token, &digest) != TC_OK) {
        return TC_EMPTY;
    }
    for (size_t i = 0; i < config->auth_token_count; i++) {
        if (same_digest(&config->auth_tokens[i].sha256, &digest)) {
            return tc_slice_cstr(config->auth_tokens[i].name);
        }
    }
    return TC_EMPTY;
}

enum tc_answer tc_auth_check(struct tc_auth *a, const struct tc_request *r, unsigned scope,
                             int64_t now_ns, struct tc_response *out)
{
    const struct tc_config *config = a->config;
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
        out->delay_ns = token.len > 0 ? delay_of(a, &r->peer, now_ns) : 0;
        tc_count(TC_COUNT_AUTH_DELAYED, out->delay_ns > 0);
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
