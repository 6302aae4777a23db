/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_fixture.h"

#include "base/assert.h"
#include "base/buf.h"

#include <string.h>

#define STAMP "w0000000-"
#define STAMP_DIGITS 7
#define START_NS (INT64_C(1780000000) * TC_SECOND)

/* "prefix" and a number, kept in the fixture. */
static struct tc_slice name(struct tc_buf *b, const char *prefix, unsigned number)
{
    size_t start = b->len;
    tc_buf_str(b, tc_slice_cstr(prefix));
    tc_buf_u64(b, number);
    TC_ASSERT(!b->overflowed);
    return tc_buf_since(b, start);
}

/* The same with the number of the window in front: another thing in each window. */
static struct tc_slice stamped(struct tc_bench_fixture *f, struct tc_buf *b, const char *prefix,
                               unsigned number)
{
    size_t start = b->len;
    TC_ASSERT(f->stamp_count < 2 * TC_BENCH_WINDOW);
    f->stamps[f->stamp_count++] = b->data + start;
    tc_buf_lit(b, STAMP);
    (void)name(b, prefix, number);
    return tc_buf_since(b, start);
}

static struct tc_event *put(struct tc_bench_fixture *f, size_t i, enum tc_event_kind kind,
                            int64_t time_ns)
{
    struct tc_event *ev = &f->events[i];
    tc_event_init(ev, kind);
    ev->time_ns = time_ns;
    ev->raw = (struct tc_raw){.source = 0, .offset = i * 200, .length = 180};
    return ev;
}

/* 8 groups of 8 ranks, 16 collectives each; every second one hangs. */
static void fill_nccl_hang(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    size_t i = 0;
    for (unsigned group = 0; group < 8; group++) {
        struct tc_slice group_name = name(&b, "", group);
        for (unsigned seq = 0; seq < 16; seq++) {
            for (unsigned rank = 0; rank < 8; rank++) {
                unsigned global = group * 128 + rank;
                struct tc_event *ev = put(f, i++, TC_EVENT_NCCL_RECORD, START_NS);
                ev->scope.rank = (int32_t)global;
                ev->scope.node = name(&b, "gpu-node-", global / 8);
                ev->scope.pod = name(&b, "train-", global);
                ev->scope.job = TC_LIT("job-1");
                ev->nccl.group = group_name;
                ev->nccl.group_key = tc_nccl_group_key(ev->scope.job, group_name, TC_EMPTY);
                ev->nccl.op = TC_LIT("all_reduce");
                ev->nccl.sizes_in = TC_LIT("[[4096, 5120]]");
                ev->nccl.dtypes_in = TC_LIT("[BFloat16]");
                ev->nccl.seq = 1000 + seq;
                ev->nccl.state = seq % 2 == 1 ? TC_NCCL_STARTED : TC_NCCL_COMPLETED;
            }
        }
    }
    f->verdicts = 64;
    f->span_ns = 7 * 3600 * TC_SECOND; /* past the retention: each window stands alone */
    f->settle_ns = 600 * TC_SECOND;
}

/* 128 Xids on 128 nodes, then 896 pods that fail on them. */
static void fill_xid_correlation(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    for (unsigned i = 0; i < 128; i++) {
        struct tc_event *ev = put(f, i, TC_EVENT_XID, START_NS + i * (TC_SECOND / 100));
        ev->scope.node = name(&b, "gpu-node-", i);
        ev->scope.pci = (struct tc_bdf){0, 0xb3, 0, 0, true};
        ev->xid.code = 79;
        ev->xid.message = TC_LIT("GPU has fallen off the bus.");
    }
    for (unsigned i = 128; i < TC_BENCH_WINDOW; i++) {
        struct tc_event *ev =
            put(f, i, TC_EVENT_POD_STATE, START_NS + 40 * TC_SECOND + i * (TC_SECOND / 100));
        ev->scope.node = name(&b, "gpu-node-", i % 128);
        ev->scope.ns = TC_LIT("training");
        ev->scope.pod = stamped(f, &b, "llm-pretrain-worker-", i);
        ev->scope.pod_uid = stamped(f, &b, "5d2c-4000-8000-00000000", i);
        ev->uid = ev->scope.pod_uid;
        ev->pod.phase = TC_LIT("Failed");
        ev->pod.reason = TC_LIT("Error");
        ev->pod.exit_code = 134;
    }
    f->verdicts = 896;
    f->span_ns = 3600 * TC_SECOND;
    f->settle_ns = TC_SECOND;
}

/* 64 node conditions, 820 evictions on those nodes, 140 events about nothing. */
static void fill_pod_evicted(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    for (unsigned i = 0; i < 64; i++) {
        struct tc_event *ev = put(f, i, TC_EVENT_NODE_CONDITION, START_NS + i * TC_SECOND / 100);
        ev->scope.node = name(&b, "gpu-node-", i);
        ev->k8s.type = TC_LIT("MemoryPressure");
        ev->k8s.status = TC_LIT("True");
        ev->k8s.reason = TC_LIT("KubeletHasInsufficientMemory");
        ev->k8s.message = TC_LIT("kubelet has insufficient memory available");
    }
    for (unsigned i = 64; i < TC_BENCH_WINDOW; i++) {
        bool evicted = i < 64 + 820;
        struct tc_event *ev =
            put(f, i, TC_EVENT_K8S_EVENT, START_NS + 30 * TC_SECOND + i * TC_SECOND / 100);
        ev->scope.node = name(&b, "gpu-node-", i % 64);
        ev->scope.ns = TC_LIT("training");
        ev->scope.pod = stamped(f, &b, "llm-pretrain-worker-", i);
        ev->uid = stamped(f, &b, "7f3d-4000-8000-00000000", i);
        ev->k8s.object_kind = TC_LIT("Pod");
        ev->k8s.object_name = ev->scope.pod;
        ev->k8s.type = evicted ? TC_LIT("Warning") : TC_LIT("Normal");
        ev->k8s.reason = evicted ? TC_LIT("Evicted") : TC_LIT("Scheduled");
        ev->k8s.message = evicted ? TC_LIT("The node was low on resource: memory. Threshold "
                                           "quantity: 100Mi, available: 84Mi. ")
                                  : TC_LIT("Successfully assigned the pod");
    }
    f->verdicts = 820;
    f->span_ns = 3600 * TC_SECOND;
    f->settle_ns = TC_SECOND;
}

const struct tc_bench_pattern *tc_bench_patterns(size_t *out_count)
{
    static const struct tc_bench_pattern patterns[] = {
        {.name = "nccl_hang", .fill = fill_nccl_hang},
        {.name = "pod_evicted", .fill = fill_pod_evicted},
        {.name = "xid_correlation", .fill = fill_xid_correlation},
    };
    *out_count = sizeof patterns / sizeof patterns[0];
    return patterns;
}

void tc_bench_next_window(struct tc_bench_fixture *f)
{
    f->window++;
    for (size_t i = 0; i < f->stamp_count; i++) {
        uint64_t rest = f->window;
        for (size_t d = STAMP_DIGITS; d > 0; d--) {
            f->stamps[i][d] = (char)('0' + rest % 10);
            rest /= 10;
        }
    }
    for (size_t i = 0; i < TC_BENCH_WINDOW; i++) {
        struct tc_event *ev = &f->events[i];
        ev->time_ns += f->span_ns;
        if (ev->kind == TC_EVENT_NCCL_RECORD) {
            ev->nccl.seq += 1000;
        }
    }
}
