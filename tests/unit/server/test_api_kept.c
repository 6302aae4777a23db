/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "server/api/kept.h"

#include <string.h>

#define MIB ((size_t)1 << 20)

static const struct tc_question TABLES = {.name = "tables", .place = TC_PLACE_TABLES};
static const struct tc_question LIVE = {.name = "live", .place = TC_PLACE_LIVE};

static struct tc_api_body *body_of(size_t len, bool gzip)
{
    struct tc_reply reply = {0};
    assert_true(tc_grow_room(&reply.body, len + 1));
    for (size_t i = 0; i < len; i++) {
        tc_buf_char(&reply.body.buf, 'x');
    }
    struct tc_api_body *b = tc_api_body_create(&reply, gzip, true);
    assert_non_null(b);
    assert_null(reply.body.buf.data);
    return b;
}

static struct tc_kept_key key_of(const struct tc_question *q, const char *query)
{
    return (struct tc_kept_key){
        .question = q, .path = TC_LIT("/api/v1/runs"), .query = tc_slice_cstr(query)};
}

static void put(struct tc_kept *k, const struct tc_kept_key *key, struct tc_kept_from from,
                size_t len)
{
    struct tc_api_body *b = body_of(len, false);
    tc_kept_put(k, key, &from, b);
    tc_api_body_give(b);
}

static enum tc_kept_use look(struct tc_kept *k, const struct tc_kept_key *key,
                             struct tc_kept_from now)
{
    enum tc_kept_use use = TC_KEPT_GOOD;
    int64_t age_ns = -1;
    const struct tc_api_body *b = tc_kept_find(k, key, &now, &use, &age_ns);
    assert_int_equal(b != NULL, use != TC_KEPT_NONE);
    assert_int_equal(age_ns >= 0, use != TC_KEPT_NONE);
    return use;
}

static void what_a_command_wrote_is_seen_at_once(void **state)
{
    (void)state;
    struct tc_kept *k = tc_kept_create(MIB);
    struct tc_kept_key key = key_of(&TABLES, "limit=1");
    put(k, &key, (struct tc_kept_from){3, 7, TC_SECOND}, 10);
    assert_int_equal(look(k, &key, (struct tc_kept_from){3, 7, TC_SECOND}), TC_KEPT_GOOD);
    assert_int_equal(look(k, &key, (struct tc_kept_from){4, 7, TC_SECOND}), TC_KEPT_NONE);
    tc_kept_destroy(k);
}

static void tables_that_nothing_was_written_to_are_good_for_a_minute(void **state)
{
    (void)state;
    struct tc_kept *k = tc_kept_create(MIB);
    struct tc_kept_key key = key_of(&TABLES, "");
    put(k, &key, (struct tc_kept_from){1, 1, 0}, 10);
    assert_int_equal(look(k, &key, (struct tc_kept_from){1, 1, 60 * TC_SECOND}), TC_KEPT_GOOD);
    assert_int_equal(look(k, &key, (struct tc_kept_from){1, 1, 60 * TC_SECOND + 1}), TC_KEPT_NONE);
    tc_kept_destroy(k);
}

static void what_streams_in_makes_an_answer_old(void **state)
{
    (void)state;
    struct tc_kept *k = tc_kept_create(MIB);
    struct tc_kept_key key = key_of(&TABLES, "");
    put(k, &key, (struct tc_kept_from){1, 1, 0}, 10);
    assert_int_equal(look(k, &key, (struct tc_kept_from){1, 2, TC_SECOND}), TC_KEPT_GOOD);
    assert_int_equal(look(k, &key, (struct tc_kept_from){1, 2, TC_SECOND + 1}), TC_KEPT_OLD);
    assert_int_equal(look(k, &key, (struct tc_kept_from){1, 2, 5 * TC_SECOND}), TC_KEPT_OLD);
    assert_int_equal(look(k, &key, (struct tc_kept_from){1, 2, 5 * TC_SECOND + 1}), TC_KEPT_NONE);
    /* Asked anew, it is good again. */
    put(k, &key, (struct tc_kept_from){1, 2, 5 * TC_SECOND}, 10);
    assert_int_equal(look(k, &key, (struct tc_kept_from){1, 2, 20 * TC_SECOND}), TC_KEPT_GOOD);
    tc_kept_destroy(k);
}

static void what_is_live_is_good_for_a_second(void **state)
{
    (void)state;
    struct tc_kept *k = tc_kept_create(MIB);
    struct tc_kept_key key = key_of(&LIVE, "");
    put(k, &key, (struct tc_kept_from){5, 0, 0}, 10);
    assert_int_equal(look(k, &key, (struct tc_kept_from){5, 0, TC_SECOND}), TC_KEPT_GOOD);
    assert_int_equal(look(k, &key, (struct tc_kept_from){5, 0, TC_SECOND + 1}), TC_KEPT_NONE);
    assert_int_equal(look(k, &key, (struct tc_kept_from){6, 0, 0}), TC_KEPT_NONE);
    tc_kept_destroy(k);
}

static void keys_differ_in_each_part(void **state)
{
    (void)state;
    struct tc_kept *k = tc_kept_create(MIB);
    struct tc_kept_from from = {1, 1, 0};
    struct tc_kept_key key = key_of(&TABLES, "a=1");
    put(k, &key, from, 10);
    struct tc_kept_key other = key;
    other.query = TC_LIT("a=2");
    assert_int_equal(look(k, &other, from), TC_KEPT_NONE);
    other = key;
    other.path = TC_LIT("/api/v1/runsa");
    assert_int_equal(look(k, &other, from), TC_KEPT_NONE);
    other = key;
    other.is_gzip = true;
    assert_int_equal(look(k, &other, from), TC_KEPT_NONE);
    other = key;
    other.question = &LIVE;
    assert_int_equal(look(k, &other, from), TC_KEPT_NONE);
    /* A letter that wanders from the path to the query makes another key. */
    other = key;
    other.path = TC_LIT("/api/v1/runsa");
    other.query = TC_LIT("=1");
    assert_int_equal(look(k, &other, from), TC_KEPT_NONE);
    assert_int_equal(look(k, &key, from), TC_KEPT_GOOD);
    tc_kept_destroy(k);
}

static void what_was_asked_for_longest_ago_goes_first(void **state)
{
    (void)state;
    struct tc_kept *k = tc_kept_create(4 * MIB);
    struct tc_kept_from from = {1, 1, 0};
    struct tc_kept_key keys[5];
    const char *queries[] = {"a", "b", "c", "d", "e"};
    for (size_t i = 0; i < 4; i++) {
        keys[i] = key_of(&TABLES, queries[i]);
        put(k, &keys[i], from, MIB - 100);
    }
    assert_int_equal(look(k, &keys[0], from), TC_KEPT_GOOD);
    keys[4] = key_of(&TABLES, queries[4]);
    put(k, &keys[4], from, MIB - 100);
    assert_int_equal(look(k, &keys[1], from), TC_KEPT_NONE);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(look(k, &keys[i], from), i == 1 ? TC_KEPT_NONE : TC_KEPT_GOOD);
    }
    /* One that is too long for its share is not kept, and what it replaces is gone. */
    put(k, &keys[0], from, MIB + 1);
    assert_int_equal(look(k, &keys[0], from), TC_KEPT_NONE);
    assert_int_equal(look(k, &keys[4], from), TC_KEPT_GOOD);
    tc_kept_destroy(k);
}

static void the_table_is_bounded(void **state)
{
    (void)state;
    struct tc_kept *k = tc_kept_create(64 * MIB);
    struct tc_kept_from from = {1, 1, 0};
    size_t found = 0;
    for (int turn = 0; turn < 2; turn++) {
        for (unsigned i = 0; i < 2000; i++) {
            char query[16];
            struct tc_buf b = tc_buf_make(query, sizeof query);
            tc_buf_u64(&b, i);
            tc_buf_char(&b, '\0');
            struct tc_kept_key key = key_of(&TABLES, query);
            if (turn == 0) {
                put(k, &key, from, 1);
            } else {
                found += look(k, &key, from) == TC_KEPT_GOOD;
            }
        }
    }
    assert_int_equal(found, 512);
    tc_kept_destroy(k);
}

static void a_body_that_is_being_sent_outlives_its_entry(void **state)
{
    (void)state;
    struct tc_kept *k = tc_kept_create(MIB);
    struct tc_kept_key key = key_of(&TABLES, "");
    struct tc_kept_from from = {1, 1, 0};
    struct tc_api_body *b = body_of(100, false);
    tc_kept_put(k, &key, &from, b);
    tc_kept_destroy(k);
    assert_int_equal(b->uses, 1);
    assert_int_equal(b->bytes.ptr[99], 'x');
    tc_api_body_give(b);
}

static void long_text_is_compressed_and_its_tag_is_another(void **state)
{
    (void)state;
    struct tc_api_body *plain = body_of(4096, false);
    struct tc_api_body *packed = body_of(4096, true);
    struct tc_api_body *small = body_of(1023, true);
    assert_false(plain->is_gzip);
    assert_int_equal(plain->bytes.len, 4096);
    assert_true(packed->is_gzip);
    assert_true(packed->bytes.len < 100);
    assert_false(small->is_gzip);
    assert_int_equal(tc_api_body_etag(plain).len, TC_API_ETAG_BYTES);
    assert_false(tc_slice_eq(tc_api_body_etag(plain), tc_api_body_etag(packed)));
    tc_api_body_give(plain);
    tc_api_body_give(packed);
    tc_api_body_give(small);
}

static void bytes_of_evidence_are_sent_as_they_are(void **state)
{
    (void)state;
    struct tc_reply reply = {.content_type = "application/octet-stream"};
    assert_true(tc_grow_room(&reply.body, 4097));
    for (size_t i = 0; i < 4096; i++) {
        tc_buf_char(&reply.body.buf, 'x');
    }
    struct tc_api_body *b = tc_api_body_create(&reply, true, false);
    assert_false(b->is_gzip);
    assert_int_equal(b->bytes.len, 4096);
    assert_int_equal(tc_api_body_etag(b).len, 0);
    tc_api_body_give(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_command_wrote_is_seen_at_once),
        cmocka_unit_test(tables_that_nothing_was_written_to_are_good_for_a_minute),
        cmocka_unit_test(what_streams_in_makes_an_answer_old),
        cmocka_unit_test(what_is_live_is_good_for_a_second),
        cmocka_unit_test(keys_differ_in_each_part),
        cmocka_unit_test(what_was_asked_for_longest_ago_goes_first),
        cmocka_unit_test(the_table_is_bounded),
        cmocka_unit_test(a_body_that_is_being_sent_outlives_its_entry),
        cmocka_unit_test(long_text_is_compressed_and_its_tag_is_another),
        cmocka_unit_test(bytes_of_evidence_are_sent_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
