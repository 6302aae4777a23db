/* SPDX-License-Identifier: Apache-2.0 */
/* The history of verdicts: filters, search, pages; a node over time. */
#include "support/asking.h"
#include "support/warehouse_room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DAY_US (INT64_C(86400) * 1000000)

static struct tc_warehouse *w;
static struct asking a;

struct told {
    const char *incident;
    const char *status;
    const char *pattern;
    const char *node;
    const char *headline;
    int64_t days_ago; /* first seen */
    int64_t later_s;  /* told so long after it */
};

static void put(struct tc_rows *rows, size_t column, const char *text)
{
    assert_int_equal(tc_rows_text(rows, column, tc_slice_cstr(text)), TC_OK);
}

static void add(const struct told *t, size_t number)
{
    struct tc_rows *rows = tc_rows_create(TC_TABLE_VERDICT);
    struct tc_error err = {0};
    char digest[32];
    int64_t seen = ASKING_NOW_NS / 1000 - t->days_ago * DAY_US;
    assert_non_null(rows);
    assert_true(tc_rows_add(rows));
    (void)snprintf(digest, sizeof digest, "sha256:%zu", number);
    put(rows, TC_VERDICT_DIGEST, digest);
    put(rows, TC_VERDICT_INCIDENT_ID, t->incident);
    put(rows, TC_VERDICT_STATUS, t->status);
    put(rows, TC_VERDICT_PATTERN, t->pattern);
    put(rows, TC_VERDICT_NODE, t->node);
    put(rows, TC_VERDICT_HEADLINE, t->headline);
    if (t->days_ago < 30) { /* what came before an older version stored */
        put(rows, TC_VERDICT_SEVERITY, "critical");
        put(rows, TC_VERDICT_REMEDIATION, "Drain it.");
    }
    put(rows, TC_VERDICT_CULPRITS, "[{\"node\":\"n1\"}]");
    put(rows, TC_VERDICT_EVIDENCE, "[{\"digest\":\"sha256:ab\",\"offset\":3,\"length\":4}]");
    tc_rows_int(rows, TC_VERDICT_FIRST_SEEN, seen);
    if (t->later_s >= 0) {
        tc_rows_int(rows, TC_VERDICT_TOLD, seen + t->later_s * 1000000);
    }
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    assert_int_equal(tc_warehouse_append(w, TC_TABLE_VERDICT, rows, &err), TC_OK);
    assert_int_equal(tc_warehouse_commit(w, &err), TC_OK);
    tc_rows_destroy(rows);
}

static int setup(void **state)
{
    static const struct told all[] = {
        {"inc-1", "opened", "gpu_fault", "n1", "GPU 3 fell off the bus", 60, 1},
        {"inc-2", "opened", "gpu_fault", "n1", "GPU 3 fell off the bus", 20, 1},
        {"inc-2", "updated", "gpu_fault", "n1", "GPU 3 fell off the bus again", 20, 5},
        {"inc-2", "resolved", "gpu_fault", "n1", "GPU 3 came back", 20, 9},
        {"inc-3", "opened", "gpu_fault", "n1", "100% of <script>alert(1)</script>", 2, 1},
        {"inc-4", "opened", "host_oom", "n1", "Out of memory_", 1, -1},
        {"inc-5", "opened", "host_oom", "n2", "Out of memory", 1, 1},
    };
    int result = wh_setup(state);
    struct wh_room *room = *state;
    w = wh_open(room, TC_WAREHOUSE_WRITE);
    for (size_t n = 0; n < TC_COUNT(all); n++) {
        add(&all[n], n);
    }
    asking_init(&a, w, room->dir);
    return result;
}

static int teardown(void **state)
{
    asking_fini(&a);
    tc_warehouse_close(w);
    return wh_teardown(state);
}

static size_t count(const char *name, const char *value)
{
    return asking_count(ask_object(&a, "verdicts", name, value), "verdicts");
}

static void filters_and_search_find_what_they_say(void **state)
{
    (void)state;
    assert_int_equal(count("incident", "inc-2"), 3);
    assert_int_equal(count("node", "n2"), 1);
    assert_int_equal(count("pattern", "host_oom"), 2);
    assert_int_equal(count("status", "resolved"), 1);
    assert_int_equal(count("since", "3d"), 3);
    assert_int_equal(count("q", "FELL off"), 3);
    assert_int_equal(count("q", "<SCRIPT>"), 1);
    assert_int_equal(count("q", "%"), 1);
    assert_int_equal(count("q", "memory_"), 1);
    assert_int_equal(count("q", "inc-4"), 1);
    assert_int_equal(count("q", "' OR 1 = 1 --"), 0);
    assert_int_equal(count("run", "none"), 0);
    struct tc_json v = ask_object(&a, "verdicts", "node", "n2", "q", "memory");
    asking_is(v, "verdicts.0.evidence.0.offset", "3");
    asking_is(v, "verdicts.0.culprits.0.node", "n1");
    asking_is(v, "verdicts.0.severity", "critical");
    asking_is(v, "verdicts.0.remediation", "Drain it.");
    ask_refused(&a, TC_E_USAGE, "one of opened updated resolved", "verdicts", "status", "open");
    ask_refused(&a, TC_E_USAGE, "\"since\" takes a time", "verdicts", "since", "yesterday");
}

static void pages_give_each_verdict_once(void **state)
{
    (void)state;
    char cursor[2048] = "";
    char seen[16][80] = {{0}};
    size_t total = 0;
    for (size_t pages = 0; pages < 8; pages++) {
        struct tc_json page = ask_object(&a, "verdicts", "limit", "2", "cursor", cursor);
        for (size_t n = 0; n < asking_count(page, "verdicts"); n++) {
            char path[64];
            struct tc_slice digest;
            (void)snprintf(path, sizeof path, "verdicts.%zu.verdict_digest", n);
            assert_true(tc_json_string(asking_at(page, path), &digest));
            (void)snprintf(seen[total], sizeof seen[0], "%.*s", TC_FMT(digest));
            for (size_t k = 0; k < total; k++) {
                assert_string_not_equal(seen[k], seen[total]);
            }
            total++;
        }
        struct tc_slice next;
        if (!tc_json_string(asking_at(page, "next"), &next)) {
            break;
        }
        (void)snprintf(cursor, sizeof cursor, "%.*s", TC_FMT(next));
    }
    assert_int_equal(total, 7);
}

static void a_node_has_its_history(void **state)
{
    (void)state;
    struct tc_json h = ask_object(&a, "node_history", "node", "n1");
    assert_int_equal(asking_count(h, "incidents"), 4);
    asking_is(h, "incidents.0.incident_id", "inc-4");
    asking_is(h, "incidents.2.incident_id", "inc-2");
    asking_is(h, "incidents.2.resolved", "true");
    asking_is(h, "incidents.2.headline", "GPU 3 came back");
    asking_is(h, "incidents.2.times_told", "3");
    asking_is(h, "incidents.2.severity", "critical");
    asking_is(h, "incidents.2.remediation", "Drain it.");
    asking_is(h, "incidents.3.severity", "null");
    asking_is(h, "incidents.3.remediation", "null");
    asking_is(h, "incidents.1.resolved", "false");
    asking_is(h, "patterns.0.pattern", "gpu_fault");
    asking_is(h, "patterns.0.incidents", "3");
    asking_is(h, "patterns.0.last_30_days", "2");
    asking_is(h, "patterns.1.last_30_days", "1");
    asking_is(h, "truncated", "false");
    h = ask_object(&a, "node_history", "node", "n1", "limit", "3");
    assert_int_equal(asking_count(h, "incidents"), 3);
    asking_is(h, "truncated", "true");
    h = ask_object(&a, "node_history", "node", "<b>' OR 1 = 1");
    assert_int_equal(asking_count(h, "incidents"), 0);
    asking_is(h, "node", "<b>' OR 1 = 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_and_search_find_what_they_say),
        cmocka_unit_test(pages_give_each_verdict_once),
        cmocka_unit_test(a_node_has_its_history),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
