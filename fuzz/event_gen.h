/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events from bytes: a small world of two nodes, a few GPUs, pods and ranks, in which things join.
 * Every field of every kind takes its value from a byte: a word that detectors know, a small
 * number, or something hostile. A byte may repeat the event, with counters and time going on.
 */
#ifndef TC_FUZZ_EVENT_GEN_H
#define TC_FUZZ_EVENT_GEN_H

#include "base/time.h"
#include "event/event.h"
#include "event/fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct event_gen {
    const uint8_t *at;
    size_t left;
    int64_t now_ns;
    bool tame; /* no hostile values: for worlds that should say much */
    bool wild; /* an event was dated far from the others */
};

#define GEN_MINUTE (60 * TC_SECOND)
#define GEN_HOUR (60 * GEN_MINUTE)
#define GEN_EPOCH (INT64_C(1772600000) * TC_SECOND)
#define GEN_REPEATS_MAX 24
#define GEN_WORDS_MAX 14

struct gen_words {
    const char *field; /* "" matches the fields that no other row names */
    const char *words[GEN_WORDS_MAX];
};

static const struct gen_words GEN_WORDS[] = {
    {"k8s.node.name", {"gpu-07", "gpu-08"}},
    {"k8s.namespace.name", {"train"}},
    {"k8s.pod.name", {"worker-0", "worker-1", "worker-2"}},
    {"k8s.pod.uid", {"6d1f0c52-3a52-4b6b-9f5d-000000000001", "uid-2"}},
    {"k8s.container.name", {"trainer"}},
    {"job.id", {"llm-7"}},
    {"gpu.uuid", {"GPU-b849a72f-31f5-5cd4-81ce-d2763ce3af4c", "GPU-2", "GPU-3"}},
    {"uid", {"event-1", "event-2", "event-3", "event-4"}},
    {"nccl.group", {"0", "tp0"}},
    {"nccl.op", {"all_reduce", "broadcast", "send 0->1", "recv 1<-0", "all_to_all"}},
    {"nccl.sizes_in", {"[[2048, 1, 5120]]", "[[4]]"}},
    {"nccl.ranks", {"[0, 1, 2, 3]", "[0, 1]", "[3, 1048575, 2]"}},
    {"severity", {"fatal", "nonfatal", "corrected"}},
    {"unit", {"RLW_SRC_TRACK", "NETIR_LINK_EVT"}},
    {"layer", {"physical", "data_link", "transaction"}},
    {"fault",
     {"io_error", "nfs_not_responding", "nfs_ok", "fs_readonly", "ib_link_down", "ib_link_up",
      "link_down", "link_up", "port_module_error", "cable_unplugged", "hung_task", "edac_ue",
      "nvlink_discovery_failed", "path_lost"}},
    {"device", {"", "4", "5", "mlx5_0", "ens1f0np0", "nvme1n1", "79", "10.0.0.5", "/ckpt"}},
    {"rack", {"r12"}},
    {"constraint", {"CONSTRAINT_MEMCG", "CONSTRAINT_NONE", "CONSTRAINT_CPUSET"}},
    {"cgroup",
     {"/kubepods/burstable/pod6d1f0c52-3a52-4b6b-9f5d-000000000001/"
      "4f6a7d24b1a0c1b2d3e4f5061728394a5b6c7d8e9f00112233445566778899aa",
      "/kubepods", "/system.slice/sshd"}},
    {"process.name", {"python", "pt_data_worker", "torchrun"}},
    {"reason",
     {"Evicted", "OOMKilled", "OOMKilling", "FailedMount", "EvictionThresholdMet", "Killing",
      "NodeHasInsufficientMemory", "KubeletHasDiskPressure", "SystemOOM", "VolumeConditionAbnormal",
      "Error", "NodeHasSufficientMemory"}},
    {"type", {"Warning", "MemoryPressure", "DiskPressure", "PIDPressure", "Normal", "Ready"}},
    {"object.kind", {"Pod", "Node"}},
    {"object.name", {"worker-0", "worker-1", "gpu-07"}},
    {"component", {"kubelet"}},
    {"phase", {"Failed", "train", "Running", "eval", "Succeeded", "Deleted", "warmup"}},
    {"status", {"True", "False", "missing", "dead", "running", "no_comm"}},
    {"state", {"begin", "end", "failed"}},
    {"path", {"/ckpt/step-1200"}},
    {"error_class", {"worker_killed", "timeout"}},
    {"origin", {"map", "ncclras", "pod"}},
    {"nccl.comm", {"0xa7", "0xa8"}},
    {"message",
     {"The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ",
      "DataLoader worker (pid 4711) is killed by signal: Killed.",
      "MountVolume.SetUp failed for volume \"ckpt\" : timed out",
      "Memory cgroup out of memory: Killed process 4711 (python), pid: 4711"}},
    {"", {"a", "b"}},
};

static const char GEN_HOSTILE[] = "\033[2J\033]0;x\a\r\n\"\\\x7f\x80\xff\xc2\x9b|%s\t\xe2\x80\xae<";

static const double GEN_NUMBERS[] = {0,   1,    2,     3,   4,    8,     16,   32,     64,
                                     72,  90,   100,   128, 0.5,  0.9,   1000, 65535,  1e6,
                                     120, 3600, 86400, 1e9, 1e18, 1e300, -1,   -1e300, 5e-324};
static const int64_t GEN_XIDS[] = {79, 48, 63, 64, 74, 94, 95, 92, 31, 13, 145, 149, 11004, 20034};
static const int64_t GEN_STEPS_NS[] = {0,
                                       0,
                                       0,
                                       TC_SECOND / 1000,
                                       TC_SECOND,
                                       TC_SECOND * 5,
                                       GEN_MINUTE,
                                       GEN_MINUTE * 5,
                                       GEN_MINUTE * 11,
                                       GEN_HOUR,
                                       -TC_SECOND,
                                       GEN_HOUR * 25};

static uint8_t gen_byte(struct event_gen *g)
{
    if (g->left == 0) {
        return 0;
    }
    g->left--;
    return *g->at++;
}

static uint64_t gen_word(struct event_gen *g)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++) {
        value = value << 8 | gen_byte(g);
    }
    return value;
}

static struct tc_slice gen_string(struct event_gen *g, struct tc_slice field, uint8_t byte)
{
    static char huge[(64 << 10) - 1];
    const struct gen_words *row = GEN_WORDS;
    if (byte >= 250 && !g->tame) {
        size_t len = gen_byte(g);
        switch (byte) {
        case 250:
            memset(huge, 'x', sizeof huge);
            return tc_slice_make(huge, sizeof huge);
        case 251:
        case 252:
            return tc_slice_make(GEN_HOSTILE, sizeof GEN_HOSTILE - 1);
        default:
            len = len < g->left ? len : g->left;
            g->at += len;
            g->left -= len;
            return tc_slice_make((const char *)g->at - len, len);
        }
    }
    while (row->field[0] != '\0' && !tc_slice_eq(field, tc_slice_cstr(row->field))) {
        row++;
    }
    size_t count = 0;
    while (count < GEN_WORDS_MAX && row->words[count] != NULL) {
        count++;
    }
    return tc_slice_cstr(row->words[byte % count]);
}

static int64_t gen_int(struct event_gen *g, struct tc_slice field, uint8_t byte)
{
    static const int64_t edges[] = {INT64_MIN, INT64_MIN + 1, -2,
                                    INT32_MAX, INT64_MAX - 1, INT64_MAX};
    if (byte >= 250 && !g->tame) {
        return edges[byte - 250];
    }
    if (byte == 249 && !g->tame) {
        return (int64_t)gen_word(g);
    }
    if (tc_slice_eq(field, TC_LIT("xid")) || tc_slice_eq(field, TC_LIT("sxid"))) {
        return GEN_XIDS[byte % (sizeof GEN_XIDS / sizeof GEN_XIDS[0])];
    }
    return byte % 5;
}

static double gen_number(struct event_gen *g, uint8_t byte)
{
    size_t count = sizeof GEN_NUMBERS / sizeof GEN_NUMBERS[0];
    return GEN_NUMBERS[byte % (g->tame ? count - 6 : count)];
}

static int64_t gen_time(struct event_gen *g, uint8_t byte)
{
    static const int64_t edges[] = {TC_TIME_NONE, 0, 1, TC_TIME_MAX, INT64_MAX, -GEN_HOUR};
    if (byte >= 250 && !g->tame) {
        return edges[byte - 250];
    }
    return g->now_ns - (byte % 8) * GEN_MINUTE;
}

static void gen_field(struct event_gen *g, struct tc_event *ev, const struct tc_field *f)
{
    char *place = (char *)ev + f->offset;
    uint8_t byte = gen_byte(g);
    /* A byte of the upper quarter, bar the hostile ones, leaves the field out. */
    if (byte >= 192 && byte < 249) {
        return;
    }
    switch (f->type) {
    case TC_FIELD_STRING:
        *(struct tc_slice *)(void *)place = gen_string(g, f->name, byte);
        break;
    case TC_FIELD_TIME:
        *(int64_t *)(void *)place = gen_time(g, byte);
        break;
    case TC_FIELD_I64:
        *(int64_t *)(void *)place = gen_int(g, f->name, byte);
        break;
    case TC_FIELD_I32:
        *(int32_t *)(void *)place = (int32_t)(gen_int(g, f->name, byte) & INT32_MAX);
        break;
    case TC_FIELD_KEY:
        *(uint64_t *)(void *)place = byte % 3;
        break;
    case TC_FIELD_F64:
        *(double *)(void *)place = gen_number(g, byte);
        break;
    case TC_FIELD_BOOL:
        *(bool *)(void *)place = byte % 2 == 1;
        break;
    case TC_FIELD_BDF:
        *(struct tc_bdf *)(void *)place =
            (struct tc_bdf){.bus = (uint8_t)(0xb0 + byte % 3), .known = true};
        break;
    case TC_FIELD_STATE:
        *(uint8_t *)place = byte % 3;
        break;
    case TC_FIELD_METRIC:
        *(uint16_t *)(void *)place = byte % TC_METRIC_COUNT;
        break;
    }
}

/* A GPU, its pod and its rank: whichever names of one are there, they are those of the same. */
static void gen_settle(struct tc_scope *s)
{
    static const char *const uuids[] = {"GPU-b849a72f-31f5-5cd4-81ce-d2763ce3af4c", "GPU-2",
                                        "GPU-3"};
    static const char *const pods[] = {"worker-0", "worker-1", "worker-2"};
    static const char *const uids[] = {"6d1f0c52-3a52-4b6b-9f5d-000000000001", "uid-2", "uid-3"};
    static const char *const nodes[] = {"gpu-07", "gpu-07", "gpu-08"};
    unsigned id = 0;
    bool gpu = s->gpu_uuid.len > 0 || s->pci.known || s->gpu_index >= 0;
    bool pod = s->pod.len > 0 || s->pod_uid.len > 0;
    if (s->gpu_uuid.len > 0) {
        id = (unsigned char)s->gpu_uuid.ptr[s->gpu_uuid.len - 1];
    } else if (s->pci.known) {
        id = s->pci.bus;
    } else if (s->gpu_index >= 0) {
        id = (unsigned)s->gpu_index;
    } else {
        id = pod && s->pod.len > 0 ? (unsigned char)s->pod.ptr[s->pod.len - 1] : (unsigned)s->rank;
    }
    id %= 3;
    if (!gpu && !pod) {
        return;
    }
    s->gpu_uuid = s->gpu_uuid.len > 0 ? tc_slice_cstr(uuids[id]) : TC_EMPTY;
    s->pci.bus = s->pci.known ? (uint8_t)(0xb0 + id) : s->pci.bus;
    s->gpu_index = s->gpu_index >= 0 ? (int32_t)id : -1;
    s->rank = s->rank >= 0 ? (int32_t)id : -1;
    s->node = s->node.len > 0 ? tc_slice_cstr(nodes[id]) : TC_EMPTY;
    s->ns = pod ? TC_LIT("train") : s->ns;
    s->pod = s->pod.len > 0 ? tc_slice_cstr(pods[id]) : TC_EMPTY;
    s->pod_uid = s->pod_uid.len > 0 ? tc_slice_cstr(uids[id]) : TC_EMPTY;
}

/* Names and key of a process group belong together: what a codec would say of it. */
static void gen_group(struct tc_event *ev)
{
    struct tc_slice job = ev->scope.job;
    if (ev->kind == TC_EVENT_NCCL_RECORD) {
        ev->nccl.group_key = tc_nccl_group_key(job, ev->nccl.group, TC_EMPTY);
        ev->nccl.group_desc = TC_EMPTY;
    } else if (ev->kind == TC_EVENT_NCCL_GROUP) {
        ev->group.group_key = tc_nccl_group_key(job, ev->group.group, TC_EMPTY);
        ev->group.group_desc = TC_EMPTY;
    } else if (ev->kind == TC_EVENT_NCCL_STATUS) {
        ev->status.group_key = tc_nccl_group_key(job, ev->status.group, TC_EMPTY);
    }
}

/* The next event of the bytes; false at their end. Strings point into the bytes or are constant. */
static bool gen_event(struct event_gen *g, struct tc_event *ev)
{
    size_t count = 0;
    const struct tc_field *fields = tc_fields(&count);
    if (g->left == 0) {
        return false;
    }
    /* Tame worlds are those of all earlier runs, in which there was no source_state. In others some
     * 2 of 100 whose nodes lag say something else in another order: known since, not held yet. */
    unsigned kinds = g->tame ? TC_EVENT_SOURCE_STATE : TC_EVENT_KIND_COUNT;
    tc_event_init(ev, (enum tc_event_kind)(gen_byte(g) % kinds));
    g->now_ns += GEN_STEPS_NS[gen_byte(g) % (sizeof GEN_STEPS_NS / sizeof GEN_STEPS_NS[0])];
    for (size_t i = 0; i < count; i++) {
        bool time = tc_slice_eq(fields[i].name, TC_LIT("time"));
        bool rare = tc_slice_eq(fields[i].name, TC_LIT("uptime_ns"));
        /* No detector reads them, and without them the worlds are those of all earlier runs. */
        bool unread = tc_slice_eq(fields[i].name, TC_LIT("tracecore.run.id")) ||
                      tc_slice_eq(fields[i].name, TC_LIT("zone"));
        if (!time && !rare && !unread && (fields[i].kinds & TC_EVENT_BIT(ev->kind)) != 0) {
            gen_field(g, ev, &fields[i]);
        }
    }
    if (g->tame) {
        gen_settle(&ev->scope);
        gen_group(ev);
    }
    ev->time_ns = g->now_ns;
    if (gen_byte(g) == 255 && !g->tame) {
        g->wild = true;
        ev->time_ns = gen_time(g, (uint8_t)(250 + gen_byte(g) % 6));
    }
    return true;
}

/* The n-th repetition of an event: what counts has gone on. */
static void gen_again(struct event_gen *g, struct tc_event *ev, int64_t step_ns, double rise)
{
    if (ev->time_ns != g->now_ns) {
        return;
    }
    g->now_ns += step_ns;
    ev->time_ns = g->now_ns;
    if (ev->kind == TC_EVENT_METRIC) {
        /* A series has one value at a time. */
        ev->metric.value += g->tame && step_ns == 0 ? 0 : rise;
    } else if (ev->kind == TC_EVENT_TRAIN_STEP && ev->train.step < INT32_MAX) {
        ev->train.step++;
    } else if (ev->kind == TC_EVENT_NCCL_RECORD && ev->nccl.seq < INT32_MAX) {
        ev->nccl.seq++;
    }
}

#endif
