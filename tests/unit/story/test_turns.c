/* SPDX-License-Identifier: Apache-2.0 */
/* A linking that is put off, wherever that is, comes to the same stories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "directory/directory.h"
#include "story/story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T0 (INT64_C(1780000000) * TC_SECOND)
#define INCIDENTS 60
#define NODES 5
#define RANKS 8
#define TEXT_MAX (256 << 10)

struct world {
    struct tc_story *story;
    struct tc_directory *directory;
    char *text;
};

static void add(struct world *w, int n)
{
    static const char *const patterns[] = {"hbm_ecc", "nccl_hang", "thermal_throttle", "straggler",
                                           "pod_evicted"};
    char id[TC_INCIDENT_ID_LEN + 1];
    char node[32];
    char uuid[32];
    int32_t ranks[2] = {n % RANKS, (n + 3) % RANKS};
    (void)snprintf(id, sizeof id, "%032d", n);
    (void)snprintf(node, sizeof node, "node-%d", n % NODES);
    (void)snprintf(uuid, sizeof uuid, "GPU-%d", n % RANKS);
    struct tc_attr attr = {.key = TC_LIT("tracecore.alert.x.culprit_ranks"),
                           .type = TC_ATTR_INTS,
                           .ints = ranks,
                           .count = 2};
    struct tc_finding f = {
        .pattern_id = TC_LIT("1"),
        .pattern_name = tc_slice_cstr(patterns[n % 5]),
        .discriminator = n % 5 == 3 ? TC_LIT("slow_host") : TC_EMPTY,
        .headline = TC_LIT("x"),
        .first_ns = T0 + n % 7 * TC_SECOND,
        .last_ns = T0 + n % 7 * TC_SECOND,
        .scope = TC_SCOPE_NONE,
        .attrs = &attr,
        .attr_count = n % 5 == 1,
    };
    f.scope.node = n % 5 == 1 ? TC_EMPTY : tc_slice_cstr(node);
    f.scope.gpu_uuid = n % 5 == 1 || n % 5 == 4 ? TC_EMPTY : tc_slice_cstr(uuid);
    struct tc_verdict verdict = {.finding = &f,
                                 .incident_id = tc_slice_make(id, TC_INCIDENT_ID_LEN),
                                 .first_ns = f.first_ns};
    assert_int_equal(tc_story_add(w->story, &verdict), TC_OK);
}

/* Where ranks run, and a node that is known by its address. */
static void note_places(struct tc_directory *d)
{
    for (int i = 0; i < RANKS; i++) {
        char node[32];
        char uuid[32];
        struct tc_event ev = {.kind = TC_EVENT_RANK_PLACE, .time_ns = T0, .scope = TC_SCOPE_NONE};
        (void)snprintf(node, sizeof node, "node-%d", i % NODES);
        (void)snprintf(uuid, sizeof uuid, "GPU-%d", i);
        ev.scope.node = tc_slice_cstr(node);
        ev.scope.gpu_uuid = tc_slice_cstr(uuid);
        ev.scope.gpu_index = i / NODES;
        ev.scope.rank = i;
        ev.place.origin = TC_LIT("map");
        tc_directory_note(d, &ev);
    }
    struct tc_event ev = {.kind = TC_EVENT_ADDRESS, .time_ns = T0, .scope = TC_SCOPE_NONE};
    ev.scope.node = TC_LIT("node-0");
    ev.address.address = TC_LIT("10.0.0.1");
    tc_directory_note(d, &ev);
}

/* Ranks that run on a GPU of their own each. */
static void note_ranks(struct tc_directory *d, int count)
{
    for (int i = 0; i < count; i++) {
        char uuid[32];
        struct tc_event ev = {.kind = TC_EVENT_RANK_PLACE, .time_ns = T0, .scope = TC_SCOPE_NONE};
        (void)snprintf(uuid, sizeof uuid, "GPU-%d", i);
        ev.scope.node = TC_LIT("node-0");
        ev.scope.gpu_uuid = tc_slice_cstr(uuid);
        ev.scope.rank = i;
        ev.place.origin = TC_LIT("map");
        tc_directory_note(d, &ev);
    }
}

/* Pods that no verdict is about. */
static void note_pods(struct tc_directory *d, int count)
{
    for (int i = 0; i < count; i++) {
        char pod[32];
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_METRIC);
        (void)snprintf(pod, sizeof pod, "other-%d", i);
        ev.time_ns = T0 + i;
        ev.scope.node = TC_LIT("node-9");
        ev.scope.ns = TC_LIT("train");
        ev.scope.pod = tc_slice_cstr(pod);
        tc_directory_note(d, &ev);
    }
}

static struct world make(int count)
{
    struct world w = {.story = tc_story_create(),
                      .directory = tc_directory_create(TC_STATEMENTS_LATEST, 1),
                      .text = malloc(TEXT_MAX)};
    assert_true(w.story != NULL && w.directory != NULL && w.text != NULL);
    note_places(w.directory);
    for (int i = 0; i < count; i++) {
        add(&w, i);
    }
    return w;
}

static void destroy(struct world *w)
{
    tc_story_destroy(w->story);
    tc_directory_destroy(w->directory);
    free(w->text);
}

/* All that links say. */
static const char *told(struct world *w)
{
    struct tc_buf b = tc_buf_make(w->text, TEXT_MAX - 1);
    const struct tc_incident_table *kept = tc_story_verdicts(w->story);
    for (size_t i = 0; i < kept->count; i++) {
        const struct tc_verdict *v = &kept->items[i].verdict;
        tc_buf_str(&b, v->incident_id);
        tc_buf_str(&b, v->finding->root ? TC_LIT(" root ") : TC_LIT(" "));
        tc_buf_str(&b, v->finding->discriminator);
        tc_buf_str(&b, v->group);
        for (size_t k = 0; k < v->cause_count; k++) {
            tc_buf_str(&b, v->causes[k].incident_id);
            tc_buf_str(&b, v->causes[k].why);
        }
        tc_buf_str(&b, TC_LIT("\n"));
    }
    assert_false(b.overflowed);
    w->text[b.len] = '\0';
    return w->text;
}

/* Spent when it was asked for the at-th time, and for every time after `every`. */
struct cutter {
    struct tc_turn turn;
    size_t asked;
    size_t at;
    size_t every;
};

static bool is_spent(void *context)
{
    struct cutter *c = context;
    c->asked++;
    return c->asked == c->at || (c->every > 0 && c->asked % c->every == 0);
}

/* Links; whoever looks meanwhile sees what was there before. Returns how often it was put off. */
static size_t link_cut(struct world *w, struct cutter *c, bool anew)
{
    size_t cuts = 0;
    size_t links = 0;
    c->turn = (struct tc_turn){is_spent, c};
    for (const struct tc_incident_table *kept = tc_story_verdicts(w->story);;) {
        tc_status status = anew ? tc_story_link(w->story, w->directory, &c->turn)
                                : tc_story_relink(w->story, w->directory, &c->turn);
        if (status == TC_OK) {
            return cuts;
        }
        assert_int_equal(status, TC_E_AGAIN);
        size_t now = 0;
        for (size_t i = 0; i < kept->count; i++) {
            now += kept->items[i].verdict.cause_count;
        }
        assert_int_equal(cuts++ == 0 ? now : links, now);
        links = now;
        (void)told(w);
    }
}

static void it_is_the_same_wherever_it_is_cut(void **state)
{
    (void)state;
    struct world whole = make(INCIDENTS);
    struct cutter never = {.at = 0};
    assert_int_equal(link_cut(&whole, &never, true), 0);
    assert_non_null(strstr(told(&whole), "rank "));
    assert_non_null(strstr(told(&whole), "slow_gpu"));
    assert_true(never.asked > 3 * INCIDENTS);
    for (size_t at = 1; at <= never.asked; at++) {
        struct world w = make(INCIDENTS);
        struct cutter once = {.at = at};
        assert_int_equal(link_cut(&w, &once, true), 1);
        assert_string_equal(told(&w), told(&whole));
        assert_int_equal(once.asked, never.asked);
        destroy(&w);
    }
    destroy(&whole);
}

/* Linked before; then some change, and all is linked again, in pieces of every size. */
static void so_it_is_when_it_is_linked_again(void **state)
{
    (void)state;
    for (size_t every = 1; every < 40; every++) {
        struct world whole = make(INCIDENTS / 2);
        struct world cut = make(INCIDENTS / 2);
        for (int round = 0; round < 4; round++) {
            struct cutter never = {.at = 0};
            struct cutter pieces = {.every = every};
            for (int i = 0; i < INCIDENTS; i += 9 - 2 * round) {
                add(&whole, i);
                add(&cut, i);
            }
            assert_int_equal(link_cut(&whole, &never, round == 2), 0);
            assert_true(link_cut(&cut, &pieces, round == 2) >= never.asked / every - 1);
            assert_string_equal(told(&cut), told(&whole));
        }
        destroy(&whole);
        destroy(&cut);
    }
}

#define PLACES 2000

/* Who runs where is worked out in pieces, however few verdicts ask for it. */
static void many_places_are_many_pieces(void **state)
{
    (void)state;
    struct world whole = make(INCIDENTS);
    struct world w = make(INCIDENTS);
    struct cutter few = {.at = 0};
    struct cutter never = {.at = 0};
    assert_int_equal(link_cut(&whole, &few, true), 0);
    destroy(&whole);
    whole = make(INCIDENTS);
    note_pods(whole.directory, PLACES);
    note_pods(w.directory, PLACES);
    assert_int_equal(link_cut(&whole, &never, true), 0);
    /* Five passes over them, 256 at a time. */
    assert_true(never.asked >= few.asked + PLACES / 256 * 5);
    struct cutter always = {.every = 1};
    assert_int_equal(link_cut(&w, &always, true), never.asked);
    assert_string_equal(told(&w), told(&whole));
    destroy(&w);
    destroy(&whole);
}

/* A verdict about many ranks is looked at rank by rank. */
static void many_names_of_a_verdict_are_many_pieces(void **state)
{
    (void)state;
    enum { NAMES = 200 };
    int32_t ranks[NAMES];
    struct cutter one = {.at = 0};
    struct cutter many = {.at = 0};
    for (int i = 0; i < NAMES; i++) {
        ranks[i] = i;
    }
    for (int round = 0; round < 2; round++) {
        struct world w = make(0);
        struct tc_attr attr = {.key = TC_LIT("tracecore.alert.x.culprit_ranks"),
                               .type = TC_ATTR_INTS,
                               .ints = ranks,
                               .count = round == 0 ? 1 : NAMES};
        struct tc_finding f = {.pattern_id = TC_LIT("1"),
                               .pattern_name = TC_LIT("nccl_hang"),
                               .headline = TC_LIT("x"),
                               .first_ns = T0,
                               .last_ns = T0,
                               .scope = TC_SCOPE_NONE,
                               .attrs = &attr,
                               .attr_count = 1};
        struct tc_verdict verdict = {.finding = &f,
                                     .incident_id = TC_LIT("0123456789abcdef0123456789abcdef"),
                                     .first_ns = T0};
        note_ranks(w.directory, NAMES);
        assert_int_equal(tc_story_add(w.story, &verdict), TC_OK);
        assert_int_equal(link_cut(&w, round == 0 ? &one : &many, true), 0);
        destroy(&w);
    }
    assert_true(many.asked >= one.asked + NAMES - 1);
}

/* What comes in between ends it; the next call begins anew. */
static void a_verdict_that_comes_in_between_is_linked_too(void **state)
{
    (void)state;
    struct world whole = make(INCIDENTS);
    struct cutter never = {.at = 0};
    assert_int_equal(link_cut(&whole, &never, true), 0);
    for (size_t at = 1; at <= never.asked; at += 7) {
        struct world w = make(INCIDENTS - 1);
        struct cutter c = {.at = at};
        c.turn = (struct tc_turn){is_spent, &c};
        tc_status status = tc_story_link(w.story, w.directory, &c.turn);
        assert_true(status == TC_E_AGAIN || status == TC_OK);
        add(&w, INCIDENTS - 1);
        assert_int_equal(tc_story_link(w.story, w.directory, NULL), TC_OK);
        assert_string_equal(told(&w), told(&whole));
        destroy(&w);
    }
    destroy(&whole);
}

/* So does what is forgotten: it is not looked at any more. */
static void a_verdict_that_goes_in_between_is_not_linked(void **state)
{
    (void)state;
    struct world whole = make(INCIDENTS);
    tc_story_forget(whole.story, INCIDENTS / 2);
    struct cutter never = {.at = 0};
    assert_int_equal(link_cut(&whole, &never, true), 0);
    for (size_t at = 1; at <= never.asked; at += 7) {
        struct world w = make(INCIDENTS);
        struct cutter c = {.at = at};
        c.turn = (struct tc_turn){is_spent, &c};
        assert_int_equal(tc_story_link(w.story, w.directory, &c.turn), TC_E_AGAIN);
        tc_story_forget(w.story, INCIDENTS / 2);
        assert_int_equal(tc_story_link(w.story, w.directory, NULL), TC_OK);
        assert_string_equal(told(&w), told(&whole));
        destroy(&w);
    }
    destroy(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_same_wherever_it_is_cut),
        cmocka_unit_test(so_it_is_when_it_is_linked_again),
        cmocka_unit_test(many_places_are_many_pieces),
        cmocka_unit_test(many_names_of_a_verdict_are_many_pieces),
        cmocka_unit_test(a_verdict_that_comes_in_between_is_linked_too),
        cmocka_unit_test(a_verdict_that_goes_in_between_is_not_linked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
