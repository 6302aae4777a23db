/* SPDX-License-Identifier: Apache-2.0 */
/* A directory for a test, and events for it. */
#ifndef TESTS_UNIT_DIRECTORY_DIRECTORY_TESTING_H
#define TESTS_UNIT_DIRECTORY_DIRECTORY_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "directory/directory.h"
#include "support/assert_text.h"

static inline int set_up(void **state)
{
    *state = tc_directory_create(TC_STATEMENTS_NONE, 1);
    return *state == NULL;
}

static inline int tear_down(void **state)
{
    tc_directory_destroy(*state);
    return 0;
}

static inline void note_scope(struct tc_directory *d, enum tc_event_kind kind,
                              struct tc_scope scope, int64_t time_ns)
{
    struct tc_event ev;
    tc_event_init(&ev, kind);
    ev.time_ns = time_ns;
    ev.scope = scope;
    tc_directory_note(d, &ev);
}

static inline struct tc_directory_counts counts_of(const struct tc_directory *d)
{
    struct tc_directory_counts counts;
    tc_directory_counts(d, &counts);
    return counts;
}

#endif
