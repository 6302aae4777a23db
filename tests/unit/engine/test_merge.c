/* SPDX-License-Identifier: Apache-2.0 */
/* What several sources tell, in one order, and copies once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/merge.h"

#include <string.h>

#define SOURCES_MAX 6
#define EVENTS_MAX 8

/* One letter is one event: its time and what it says. */
struct source {
    struct tc_event events[EVENTS_MAX];
    size_t count;
    size_t next;
    struct tc_event head; /* gone with the next call, as a real stream's may be */
};

struct told {
    char letters[SOURCES_MAX * EVENTS_MAX + 1];
    uint32_t sources[SOURCES_MAX * EVENTS_MAX];
    size_t count;
    uint64_t copies;
};

static tc_status next_event(void *context, const struct tc_event **out)
{
    struct source *s = context;
    memset(&s->head, 0xff, sizeof s->head);
    *out = NULL;
    if (s->next < s->count) {
        s->head = s->events[s->next++];
        *out = &s->head;
    }
    return TC_OK;
}

static tc_status take(void *context, const struct tc_event *ev)
{
    struct told *t = context;
    t->sources[t->count] = ev->raw.source;
    t->letters[t->count++] = (char)ev->time_ns;
    return TC_OK;
}

/* Merges sources, given as their letters, that are numbered by `numbers`. */
static struct told merge(const char *const *letters, size_t count, const uint32_t *numbers)
{
    static struct source sources[SOURCES_MAX];
    struct tc_stream streams[SOURCES_MAX];
    struct told t = {0};
    for (size_t i = 0; i < count; i++) {
        sources[i] = (struct source){.count = strlen(letters[i])};
        for (size_t j = 0; j < sources[i].count; j++) {
            sources[i].events[j] = (struct tc_event){.kind = TC_EVENT_XID,
                                                     .time_ns = letters[i][j],
                                                     .scope = TC_SCOPE_NONE,
                                                     .raw = {.source = numbers[i], .offset = j}};
        }
        streams[i] = (struct tc_stream){.next = next_event, .context = &sources[i]};
    }
    assert_int_equal(tc_merge(streams, count, take, &t, &t.copies), TC_OK);
    return t;
}

/* In every order of the sources the same is told, of each event by the first that has it. */
static void expect_of(const char *const *letters, size_t count, const char *told, uint64_t copies)
{
    static const uint32_t numbers[SOURCES_MAX] = {0, 1, 2, 3, 4, 5};
    size_t orders = 1;
    for (size_t i = 2; i <= count; i++) {
        orders *= i;
    }
    for (size_t order = 0; order < orders; order++) {
        const char *shuffled[SOURCES_MAX];
        for (size_t i = 0, left = order; i < count; i++) {
            size_t j = left % (i + 1);
            left /= i + 1;
            shuffled[i] = shuffled[j];
            shuffled[j] = letters[i];
        }
        struct told t = merge(shuffled, count, numbers);
        assert_string_equal(t.letters, told);
        assert_int_equal(t.copies, copies);
    }
}

#define EXPECT(told, copies, ...)                 \
    expect_of((const char *const[]){__VA_ARGS__}, \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), told, copies)

static void sources_become_one_in_order(void **state)
{
    (void)state;
    EXPECT("", 0, "");
    EXPECT("abc", 0, "abc");
    EXPECT("abcdefg", 0, "adg", "be", "cf");
    EXPECT("abcdef", 0, "f", "e", "d", "c", "b", "a");
    EXPECT("ab", 0, "", "ab", "");
}

static void what_two_sources_tell_is_told_once(void **state)
{
    (void)state;
    EXPECT("abc", 3, "abc", "abc");
    EXPECT("abcd", 2, "abc", "bcd");
    EXPECT("abc", 6, "abc", "abc", "abc");
    EXPECT("a", 5, "a", "a", "a", "a", "a", "a");
}

static void what_one_source_tells_twice_is_told_twice(void **state)
{
    (void)state;
    EXPECT("aab", 0, "aab");
    EXPECT("aab", 1, "aa", "b", "a");
}

static void the_source_that_has_it_most_often_counts(void **state)
{
    (void)state;
    EXPECT("xx", 1, "x", "xx");
    EXPECT("xxx", 2, "xx", "xxx");
    EXPECT("xxx", 3, "xx", "xxx", "x");
    EXPECT("abxxxz", 6, "abxx", "xxxz", "abx", "x");
    EXPECT("xxyyy", 5, "xxy", "xyyy", "xyy");
    EXPECT("xxxx", 6, "x", "xx", "xxxx", "x", "xx");
}

static void the_first_source_is_the_evidence(void **state)
{
    (void)state;
    const char *const letters[] = {"xx", "x", "x"};
    struct told t = merge(letters, 3, (const uint32_t[]){2, 0, 1});
    assert_string_equal(t.letters, "xx");
    assert_int_equal(t.sources[0], 0);
    assert_int_equal(t.sources[1], 2);
}

static tc_status fail_at_c(void *context, const struct tc_event *ev)
{
    (void)context;
    return ev->time_ns == 'c' ? TC_E_IO : TC_OK;
}

static void a_failure_ends_it(void **state)
{
    (void)state;
    struct source s = {.count = 3};
    uint64_t copies = 0;
    for (size_t i = 0; i < s.count; i++) {
        s.events[i] = (struct tc_event){.kind = TC_EVENT_XID, .time_ns = "bcd"[i]};
    }
    struct tc_stream stream = {.next = next_event, .context = &s};
    assert_int_equal(tc_merge(&stream, 1, fail_at_c, NULL, &copies), TC_E_IO);
    assert_int_equal(s.next, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_become_one_in_order),
        cmocka_unit_test(what_two_sources_tell_is_told_once),
        cmocka_unit_test(what_one_source_tells_twice_is_told_twice),
        cmocka_unit_test(the_source_that_has_it_most_often_counts),
        cmocka_unit_test(the_first_source_is_the_evidence),
        cmocka_unit_test(a_failure_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
