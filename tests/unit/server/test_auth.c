/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth.h"

#include "base/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct tc_config config;
static struct tc_auth *auth;

static int setup(void **state)
{
    (void)state;
    memset(&config, 0, sizeof config);
    config.auth_token_count = 1;
    config.auth_tokens[0].scopes = TC_TOKEN_READ;
    assert_int_equal(tc_digest_sha256(TC_LIT("right"), &config.auth_tokens[0].sha256), TC_OK);
    auth = tc_auth_create(&config);
    assert_non_null(auth);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tc_auth_destroy(auth);
    return 0;
}

/* The delay of the answer to one request, which must be that. */
static int64_t ask(unsigned address, const char *authorization, int64_t now_ns,
                   enum tc_answer wanted)
{
    struct tc_request r = {.authorization = tc_slice_cstr(authorization)};
    struct tc_response out = {0};
    memcpy(r.peer.bytes, &address, sizeof address);
    assert_int_equal(tc_auth_check(auth, &r, TC_TOKEN_READ, now_ns, &out), wanted);
    return out.delay_ns;
}

static int64_t guess(unsigned address, int64_t now_ns)
{
    return ask(address, "Bearer wrong", now_ns, TC_ANSWER_UNAUTHENTICATED);
}

static void many_wrong_tokens_of_a_peer_are_answered_late(void **state)
{
    (void)state;
    int64_t now_ns = 1000 * TC_SECOND;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(guess(7, now_ns), 0);
    }
    int64_t before = 0;
    for (int i = 0; i < 100; i++) {
        int64_t delay_ns = guess(7, now_ns);
        assert_true(delay_ns > before || delay_ns == 5 * TC_SECOND);
        before = delay_ns;
    }
    assert_int_equal(before, 5 * TC_SECOND);
    /* Right tokens, no tokens and other peers are not. */
    assert_int_equal(ask(7, "Bearer right", now_ns, TC_ANSWER_OK), 0);
    assert_int_equal(ask(7, "", now_ns, TC_ANSWER_UNAUTHENTICATED), 0);
    assert_int_equal(guess(8, now_ns), 0);
    /* It is forgiven. */
    assert_int_equal(guess(7, now_ns + 8 * TC_SECOND), 0);
}

static void guesses_come_at_a_rate_in_the_long_run(void **state)
{
    (void)state;
    int64_t now_ns = 1000 * TC_SECOND;
    size_t count = 0;
    while (now_ns < 1100 * TC_SECOND) {
        now_ns += guess(7, now_ns) + TC_SECOND / 1000;
        count++;
    }
    assert_true(count < 5 * 100 + 10 + 10);
}

static void more_peers_than_are_remembered_do_no_harm(void **state)
{
    (void)state;
    int64_t now_ns = 1000 * TC_SECOND;
    for (int i = 0; i < 30; i++) {
        (void)guess(7, now_ns);
    }
    for (unsigned peer = 100; peer < 100000; peer++) {
        assert_int_equal(guess(peer, now_ns), 0);
    }
    /* The one with the most guesses is the last to be forgotten. */
    assert_true(guess(7, now_ns) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(many_wrong_tokens_of_a_peer_are_answered_late, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(guesses_come_at_a_rate_in_the_long_run, setup, teardown),
        cmocka_unit_test_setup_teardown(more_peers_than_are_remembered_do_no_harm, setup, teardown),
    };
    return cmocka_run_group_tests_name("server_auth", tests, NULL, NULL);
}
