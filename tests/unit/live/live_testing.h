/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the tests of live: what was told is kept as short lines, "open 4 gpu-07", and events that
 * raise a verdict at once.
 */
#ifndef TC_TESTS_UNIT_LIVE_TESTING_H
#define TC_TESTS_UNIT_LIVE_TESTING_H

#include "base/buf.h"
#include "base/time.h"
#include "live/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T0 (INT64_C(1772600000) * TC_SECOND)
#define MS (TC_SECOND / 1000)
#define TOLD_MAX 8192

struct told {
    char id[TC_INCIDENT_ID_LEN];
    char pattern_id[4];
    char key[160];
    enum tc_verdict_status status;
    struct tc_incident_mark mark; /* its strings are those above */
    size_t cause_count;
    bool root;
    bool grouped;
    int64_t at_ns; /* of the call that told it */
};

struct live_test {
    struct tc_live *live;
    struct tc_live_config config;
    struct told told[TOLD_MAX];
    size_t count;
    int64_t now_ns;
    tc_status sink_status; /* what the sink answers */
    size_t fail_after;     /* verdicts that the sink takes before that */
};

static inline tc_status test_take(void *context, const struct tc_verdict *v,
                                  const struct tc_incident_mark *mark)
{
    struct live_test *t = context;
    if (t->sink_status != TC_OK && t->fail_after-- == 0) {
        t->fail_after = 0;
        return t->sink_status;
    }
    assert_true(t->count < TOLD_MAX);
    struct told *told = &t->told[t->count++];
    assert_int_equal(mark->incident_id.len, TC_INCIDENT_ID_LEN);
    assert_int_equal(v->status, mark->status);
    memcpy(told->id, mark->incident_id.ptr, TC_INCIDENT_ID_LEN);
    (void)snprintf(told->pattern_id, sizeof told->pattern_id, "%.*s", TC_FMT(mark->pattern_id));
    (void)snprintf(told->key, sizeof told->key, "%.*s", TC_FMT(mark->key));
    told->status = v->status;
    told->cause_count = v->cause_count;
    told->root = v->finding->root;
    told->grouped = v->group.len > 0;
    told->at_ns = t->now_ns;
    told->mark = *mark;
    told->mark.pattern_id = tc_slice_cstr(told->pattern_id);
    told->mark.key = tc_slice_cstr(told->key);
    told->mark.incident_id = tc_slice_make(told->id, TC_INCIDENT_ID_LEN);
    return TC_OK;
}

static inline struct live_test *test_create(const struct tc_live_config *config)
{
    struct live_test *t = calloc(1, sizeof *t);
    struct tc_error err = {0};
    assert_non_null(t);
    t->config = config == NULL ? TC_LIVE_CONFIG_DEFAULT : *config;
    struct tc_live_out out = {test_take, t};
    assert_int_equal(tc_live_create(&t->config, &out, &t->live, &err), TC_OK);
    t->now_ns = T0;
    return t;
}

static inline void test_destroy(struct live_test *t)
{
    tc_live_destroy(t->live);
    free(t);
}

static inline void feed_at(struct live_test *t, const struct tc_event *ev, int64_t now_ns)
{
    t->now_ns = now_ns;
    assert_int_equal(tc_live_feed(t->live, ev, now_ns, false), TC_OK);
}

static inline void advance_to(struct live_test *t, int64_t now_ns)
{
    t->now_ns = now_ns;
    assert_int_equal(tc_live_advance(t->live, now_ns), TC_OK);
}

/* As a loop would: called whenever it is due, until then. */
static inline void run_to(struct live_test *t, int64_t now_ns)
{
    for (int64_t due; (due = tc_live_due(t->live)) < now_ns;) {
        advance_to(t, due > t->now_ns ? due : t->now_ns + 1);
    }
    advance_to(t, now_ns);
}

static inline struct tc_live_counts counts_of(const struct live_test *t)
{
    struct tc_live_counts counts;
    tc_live_counts(t->live, &counts);
    return counts;
}

#define LOW_MEMORY                                                                       \
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi. " \
    "Container loader was using 43Gi, request is 4Gi, has larger consumption of memory. "

/* A pod of a node is evicted: a verdict by itself. */
static inline struct tc_event evicted(const char *node, const char *pod, int64_t time_ns)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_K8S_EVENT);
    ev.time_ns = time_ns;
    ev.uid = tc_slice_cstr(pod);
    ev.scope.node = tc_slice_cstr(node);
    ev.scope.ns = TC_LIT("ml");
    ev.scope.pod = tc_slice_cstr(pod);
    ev.scope.pod_uid = tc_slice_cstr(pod);
    ev.k8s.object_kind = TC_LIT("Pod");
    ev.k8s.object_name = ev.scope.pod;
    ev.k8s.reason = TC_LIT("Evicted");
    ev.k8s.message = TC_LIT(LOW_MEMORY);
    return ev;
}

/* Memory of a node: "True" explains its evictions, "False" resolves them. */
static inline struct tc_event pressure(const char *node, const char *status, int64_t time_ns)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NODE_CONDITION);
    ev.time_ns = time_ns;
    ev.scope.node = tc_slice_cstr(node);
    ev.k8s.type = TC_LIT("MemoryPressure");
    ev.k8s.status = tc_slice_cstr(status);
    return ev;
}

/* Something that moves time and nothing else. */
static inline struct tc_event quiet_event(const char *node, int64_t time_ns)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = time_ns;
    ev.scope.node = tc_slice_cstr(node);
    ev.scope.gpu_index = 0;
    ev.metric.metric = TC_METRIC_NONE;
    return ev;
}

#endif
