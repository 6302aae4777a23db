/* SPDX-License-Identifier: Apache-2.0 */
/* What failed is remembered by its mark: a daemon that was started again counts on. */
#include "base/time.h"
#include "live/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define T0 (INT64_C(1772600000) * TC_SECOND)
#define HOUR (3600 * TC_SECOND)
#define MARKS_MAX 8

struct memory {
    struct tc_incident_mark marks[MARKS_MAX];
    char texts[MARKS_MAX][256];
    size_t count;
    int64_t failures; /* that the last verdict told of */
    enum tc_severity severity;
    char first_cited[TC_INCIDENT_ID_LEN];
    char id[TC_INCIDENT_ID_LEN];
    char advice[1024];
};

static struct tc_slice keep(char **io_to, struct tc_slice s)
{
    struct tc_slice kept = tc_slice_make(*io_to, s.len);
    memcpy(*io_to, s.ptr, s.len);
    *io_to += s.len;
    return kept;
}

static tc_status take(void *context, const struct tc_verdict *v,
                      const struct tc_incident_mark *mark)
{
    struct memory *m = context;
    m->failures = v->recurrence == NULL ? 0 : v->recurrence->count;
    m->severity = v->finding->severity;
    memcpy(m->id, v->incident_id.ptr, sizeof m->id);
    assert_true(v->finding->remediation.len < sizeof m->advice);
    memset(m->advice, 0, sizeof m->advice);
    memcpy(m->advice, v->finding->remediation.ptr, v->finding->remediation.len);
    if (v->recurrence != NULL) {
        memcpy(m->first_cited, v->recurrence->earlier[0].incident_id.ptr, TC_INCIDENT_ID_LEN);
    }
    if (v->status == TC_VERDICT_OPEN) {
        assert_true(m->count < MARKS_MAX);
        char *to = m->texts[m->count];
        struct tc_incident_mark *kept = &m->marks[m->count++];
        *kept = *mark;
        kept->pattern_id = keep(&to, mark->pattern_id);
        kept->key = keep(&to, mark->key);
        kept->incident_id = keep(&to, mark->incident_id);
    }
    return TC_OK;
}

static struct tc_live *start(struct memory *m, int64_t count)
{
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    struct tc_live_out out = {take, m};
    struct tc_live *l = NULL;
    struct tc_error err = {0};
    config.offenders.count = count;
    assert_int_equal(tc_live_create(&config, &out, &l, &err), TC_OK);
    return l;
}

/* Xid 46: a warning by itself. */
static void break_gpu(struct tc_live *l, int64_t time_ns)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_XID);
    ev.time_ns = time_ns;
    ev.scope.node = TC_LIT("gpu-07");
    ev.scope.pci = (struct tc_bdf){.known = true, .bus = 0x43};
    ev.xid.code = 46;
    assert_int_equal(tc_live_feed(l, &ev, time_ns, false), TC_OK);
    for (int i = 1; i <= 10; i++) {
        assert_int_equal(tc_live_advance(l, time_ns + i * TC_SECOND), TC_OK);
    }
}

static void it_counts_on_after_a_restart(void **state)
{
    (void)state;
    static struct memory before;
    static struct memory after;
    static struct memory without;
    struct tc_live *l = start(&before, 3);
    break_gpu(l, T0);
    break_gpu(l, T0 + 30 * HOUR);
    tc_live_destroy(l);
    assert_int_equal(before.count, 2);
    assert_int_equal(before.failures, 0);
    assert_int_equal(before.severity, TC_SEVERITY_WARNING);

    l = start(&after, 3);
    for (size_t i = 0; i < before.count; i++) {
        assert_int_equal(tc_live_restore(l, &before.marks[i]), TC_OK);
    }
    break_gpu(l, T0 + 60 * HOUR);
    tc_live_destroy(l);
    assert_int_equal(after.failures, 3);
    assert_int_equal(after.severity, TC_SEVERITY_CRITICAL);
    assert_memory_equal(after.first_cited, before.marks[0].incident_id.ptr, TC_INCIDENT_ID_LEN);

    l = start(&without, 3);
    break_gpu(l, T0 + 60 * HOUR);
    tc_live_destroy(l);
    assert_int_equal(without.failures, 0);
}

/* A pair that is fed alike, of which one was started again in between. */
static void two_daemons_say_the_same(void **state)
{
    (void)state;
    static struct memory one;
    static struct memory two;
    struct tc_live *a = start(&one, 3);
    struct tc_live *b = start(&two, 3);
    for (int i = 0; i < 3; i++) {
        break_gpu(a, T0 + i * 30 * HOUR);
        break_gpu(b, T0 + i * 30 * HOUR);
        tc_live_destroy(b);
        b = start(&two, 3);
        for (size_t k = 0; k < two.count; k++) {
            assert_int_equal(tc_live_restore(b, &two.marks[k]), TC_OK);
        }
    }
    assert_int_equal(one.failures, 3);
    assert_int_equal(two.failures, 3);
    assert_memory_equal(one.id, two.id, sizeof one.id);
    assert_string_equal(one.advice, two.advice);
    tc_live_destroy(a);
    tc_live_destroy(b);
}

/* SIGHUP. */
static void a_reload_counts_anew(void **state)
{
    (void)state;
    static struct memory m;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    struct tc_live *l = start(&m, 0);
    break_gpu(l, T0);
    break_gpu(l, T0 + 30 * HOUR);
    assert_int_equal(m.failures, 0);
    config.offenders.count = 2;
    tc_live_configure(l, &config);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(tc_live_advance(l, T0 + 31 * HOUR + i * TC_SECOND), TC_OK);
    }
    assert_int_equal(m.failures, 2);
    tc_live_destroy(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_counts_on_after_a_restart),
        cmocka_unit_test(two_daemons_say_the_same),
        cmocka_unit_test(a_reload_counts_anew),
    };
    return cmocka_run_group_tests_name("live_offenders", tests, NULL, NULL);
}
