/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of an incident, as the engine tells it: opened once, updated only when there is
 * something new, resolved where its end can be seen. Every event comes from two collectors.
 * All invented.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "event/metric.h"

#include <string.h>

#define AT(seconds) ((INT64_C(1767225600) + (seconds)) * TC_SECOND) /* 2026-01-01T00:00:00Z */
#define UUID "GPU-8d5f3a10-0000-4000-8000-00000000b300"
#define POD_UID "2a1b5c4d-0000-4000-8000-000000000001"
#define TOLD_MAX 64
#define LINK_DOWN 2
#define LINK_UP 3

struct life {
    struct tc_engine *engine;
    char told[TOLD_MAX + 1]; /* O, U, R: the statuses in order */
    size_t count;
    char id[TC_INCIDENT_ID_LEN];
};

static tc_status on_verdict(void *context, const struct tc_verdict *v)
{
    struct life *life = context;
    assert_true(life->count < TOLD_MAX);
    life->told[life->count++] = "OUR"[v->status];
    if (life->count == 1) {
        memcpy(life->id, v->incident_id.ptr, TC_INCIDENT_ID_LEN);
    }
    assert_memory_equal(life->id, v->incident_id.ptr, TC_INCIDENT_ID_LEN);
    return TC_OK;
}

static void begin(struct life *life, const char *pattern)
{
    *life = (struct life){0};
    struct tc_engine_out out = {.verdict = on_verdict, .context = life};
    struct tc_error err = {0};
    assert_int_equal(tc_engine_create(&out, &life->engine, &err), TC_OK);
    assert_int_equal(tc_engine_enable(life->engine, TC_LIT("all"), false, &err), TC_OK);
    assert_int_equal(tc_engine_enable(life->engine, tc_slice_cstr(pattern), true, &err), TC_OK);
}

/* Two collectors tell it; then what was told so far, as letters. */
static const char *tell(struct life *life, struct tc_event ev)
{
    assert_int_equal(tc_engine_feed(life->engine, &ev), TC_OK);
    ev.raw.source += 10;
    assert_int_equal(tc_engine_feed(life->engine, &ev), TC_OK);
    return life->told;
}

static const char *pass(struct life *life, int64_t seconds)
{
    assert_int_equal(tc_engine_advance(life->engine, AT(seconds)), TC_OK);
    return life->told;
}

static const char *end(struct life *life)
{
    assert_int_equal(tc_engine_finish(life->engine, TC_TIME_NONE), TC_OK);
    tc_engine_destroy(life->engine);
    return life->told;
}

static struct tc_event made(enum tc_event_kind kind, int64_t seconds)
{
    struct tc_event ev;
    tc_event_init(&ev, kind);
    ev.time_ns = AT(seconds);
    ev.scope.node = TC_LIT("gpu-07");
    ev.raw = (struct tc_raw){
        .source = (uint32_t)kind, .offset = (uint64_t)(seconds + 1000) * 100, .length = 90};
    return ev;
}

static struct tc_event xid(int64_t seconds, int64_t code)
{
    struct tc_event ev = made(TC_EVENT_XID, seconds);
    ev.scope.pci = (struct tc_bdf){.bus = 0xb3, .known = true};
    ev.xid.code = code;
    return ev;
}

static struct tc_event sample(int64_t seconds, enum tc_metric metric, const char *of, double value)
{
    struct tc_event ev = made(TC_EVENT_METRIC, seconds);
    ev.scope.gpu_uuid = TC_LIT(UUID);
    ev.scope.gpu_index = 3;
    ev.metric.metric = (uint16_t)metric;
    ev.metric.device = tc_slice_cstr(of);
    ev.metric.value = value;
    return ev;
}

static struct tc_event of_pod(struct tc_event ev)
{
    ev.scope.ns = TC_LIT("ml");
    ev.scope.pod = TC_LIT("worker-3");
    ev.scope.pod_uid = TC_LIT(POD_UID);
    return ev;
}

static struct tc_event pod_event(int64_t seconds, const char *reason, const char *message)
{
    struct tc_event ev = of_pod(made(TC_EVENT_K8S_EVENT, seconds));
    ev.uid = tc_slice_cstr(reason);
    ev.k8s.object_kind = TC_LIT("Pod");
    ev.k8s.object_name = ev.scope.pod;
    ev.k8s.reason = tc_slice_cstr(reason);
    ev.k8s.message = tc_slice_cstr(message);
    return ev;
}

static struct tc_event pod_state(int64_t seconds, const char *phase, const char *reason)
{
    struct tc_event ev = of_pod(made(TC_EVENT_POD_STATE, seconds));
    ev.uid = TC_LIT(POD_UID "/trainer");
    ev.scope.container = TC_LIT("trainer");
    ev.pod.phase = tc_slice_cstr(phase);
    ev.pod.reason = tc_slice_cstr(reason);
    ev.pod.exit_code = 137;
    return ev;
}

static void xid_correlation(void **state)
{
    (void)state;
    struct life life;
    begin(&life, "xid_correlation");
    assert_string_equal(tell(&life, xid(0, 94)), "");
    assert_string_equal(tell(&life, pod_state(10, "Failed", "Error")), "O");
    assert_string_equal(tell(&life, xid(5, 79)), "OU"); /* late, and worse */
    assert_string_equal(tell(&life, pod_state(30, "Failed", "Error")), "OU");
    struct tc_event killing = pod_event(40, "Killing", "Stopping container trainer");
    killing.k8s.count = 2;
    killing.k8s.first_ns = AT(9); /* it had been asked to stop */
    assert_string_equal(tell(&life, killing), "OUR");
    assert_string_equal(pass(&life, 3600), "OUR");
    assert_string_equal(end(&life), "OUR");
}

static void pod_evicted(void **state)
{
    (void)state;
    struct life life;
    begin(&life, "pod_evicted");
    struct tc_event evicted =
        pod_event(41, "Evicted",
                  "The node was low on resource: memory. Container trainer was "
                  "using 43Gi, request is 4Gi.");
    assert_string_equal(tell(&life, evicted), "O");
    struct tc_event condition = made(TC_EVENT_NODE_CONDITION, 0);
    condition.k8s.type = TC_LIT("MemoryPressure");
    condition.k8s.status = TC_LIT("True");
    assert_string_equal(tell(&life, condition), "OU");
    evicted.time_ns = AT(60);
    evicted.k8s.count = 2;
    assert_string_equal(tell(&life, evicted), "OU");
    condition.time_ns = AT(400);
    condition.k8s.status = TC_LIT("False");
    assert_string_equal(tell(&life, condition), "OUR");
    assert_string_equal(tell(&life, evicted), "OUR");
    assert_string_equal(end(&life), "OUR");
}

static void hbm_ecc(void **state)
{
    (void)state;
    struct life life;
    begin(&life, "hbm_ecc");
    static const double counts[] = {0, 1, 1, 1, 4, 4, 4, 0, 0};
    static const char *const told[] = {"", "O", "O", "O", "OU", "OU", "OU", "OUR", "OUR"};
    for (int64_t i = 0; i < 9; i++) {
        (void)tell(&life, sample(i * 30, TC_METRIC_GPU_ECC_DBE, "", counts[i]));
        assert_string_equal(pass(&life, i * 30 + 2), told[i]);
    }
    assert_string_equal(end(&life), "OUR");
}

static void pcie_aer(void **state)
{
    (void)state;
    struct life life;
    begin(&life, "pcie_aer");
    struct tc_event ev = made(TC_EVENT_AER, 0);
    ev.scope.pci = (struct tc_bdf){.bus = 0xb3, .known = true};
    ev.aer.reporter = ev.scope.pci;
    ev.aer.severity = TC_LIT("corrected");
    ev.aer.layer = TC_LIT("data_link");
    ev.aer.errors = TC_LIT("BadTLP");
    for (int64_t i = 0; i < 400; i++) {
        ev.time_ns = AT(i);
        ev.raw.offset = (uint64_t)i * 100;
        (void)tell(&life, ev);
        assert_string_equal(life.told, i < 50 ? "" : (life.count < 2 ? "O" : "OU"));
    }
    assert_string_equal(pass(&life, 420), "OU");
    assert_string_equal(pass(&life, 4000), "OUR");
    assert_string_equal(end(&life), "OUR");
}

static void nvlink_degraded(void **state)
{
    (void)state;
    struct life life;
    begin(&life, "nvlink_degraded");
    static const char *const told[] = {"", "", "O", "OU", "OU", "OUR", "OUR"};
    for (int64_t i = 0; i < 7; i++) {
        int64_t at = i * 600;
        (void)tell(&life,
                   sample(at, TC_METRIC_NVLINK_STATE, "1", i >= 2 && i < 5 ? LINK_DOWN : LINK_UP));
        (void)tell(&life,
                   sample(at, TC_METRIC_NVLINK_STATE, "3", i == 3 || i == 4 ? LINK_DOWN : LINK_UP));
        assert_string_equal(pass(&life, at + 500), told[i]);
    }
    assert_string_equal(end(&life), "OUR");
}

/* A kill is over when it is told: docs/patterns/host_oom.md says that it never resolves. */
static void host_oom(void **state)
{
    (void)state;
    struct life life;
    begin(&life, "host_oom");
    struct tc_event kill = made(TC_EVENT_OOM_KILL, 0);
    kill.scope.pid = 4711;
    kill.scope.pod_uid = TC_LIT(POD_UID);
    kill.oom.process = TC_LIT("python");
    kill.oom.constraint = TC_LIT("CONSTRAINT_MEMCG");
    kill.oom.cgroup =
        TC_LIT("/kubepods.slice/kubepods-pod2a1b5c4d_0000_4000_8000_000000000001.slice");
    (void)tell(&life, kill);
    assert_string_equal(pass(&life, 5), "O");
    (void)tell(&life, pod_state(6, "Running", "OOMKilled")); /* its name */
    assert_string_equal(pass(&life, 12), "OU");
    (void)tell(&life, pod_state(6, "Running", "OOMKilled"));
    (void)tell(&life, kill);
    assert_string_equal(pass(&life, 3600), "OU");
    assert_string_equal(end(&life), "OU");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xid_correlation), cmocka_unit_test(pod_evicted),
        cmocka_unit_test(hbm_ecc),         cmocka_unit_test(pcie_aer),
        cmocka_unit_test(nvlink_degraded), cmocka_unit_test(host_oom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
