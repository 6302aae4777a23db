/* SPDX-License-Identifier: Apache-2.0 */
#include "event/fields.h"

#include "base/assert.h"

#define BIT(kind) TC_EVENT_BIT(TC_EVENT_##kind)
#define ALL (BIT(SOURCE_STATE) * 2 - 1)
#define KERNEL_FAULT                                                                 \
    (BIT(MEMORY_ERROR) | BIT(STORAGE_ERROR) | BIT(NETWORK_FAULT) | BIT(STUCK_TASK) | \
     BIT(PROCESS_FAULT) | BIT(DRIVER_FAULT) | BIT(GPU_INVENTORY))
#define XIDS (BIT(XID) | BIT(SXID))
#define K8S (BIT(K8S_EVENT) | BIT(NODE_CONDITION))
#define TRAIN (BIT(TRAIN_STEP) | BIT(TRAIN_STALL) | BIT(LOADER_ERROR) | BIT(CHECKPOINT))

#define FIELD(json, kind_bits, kind_type, member, absent, text)                               \
    {                                                                                         \
        .name = {json, sizeof(json) - 1}, .type = TC_FIELD_##kind_type, .kinds = (kind_bits), \
        .offset = offsetof(struct tc_event, member), .none = (absent), .help = (text)         \
    }

static const struct tc_field FIELDS[] = {
    FIELD("time", ALL, TIME, time_ns, 0, "when it happened, RFC 3339 UTC; absent when unknown"),
    FIELD("uptime_ns", ALL, I64, uptime_ns, TC_TIME_NONE,
          "nanoseconds since boot, where the line has no date"),
    FIELD("uid", ALL, STRING, uid, 0, "the producer's own id of the event"),
    FIELD("tracecore.run.id", ALL, STRING, run_id, 0, "benchmark run that it belongs to"),
    FIELD("k8s.node.name", ALL, STRING, scope.node, 0, "node or host"),
    FIELD("k8s.namespace.name", ALL, STRING, scope.ns, 0, "namespace of the pod"),
    FIELD("k8s.pod.name", ALL, STRING, scope.pod, 0, "pod"),
    FIELD("k8s.pod.uid", ALL, STRING, scope.pod_uid, 0, "uid of the pod"),
    FIELD("k8s.container.name", ALL, STRING, scope.container, 0, "container"),
    FIELD("job.id", ALL, STRING, scope.job, 0, "training job"),
    FIELD("gpu.uuid", ALL, STRING, scope.gpu_uuid, 0, "GPU-..."),
    FIELD("pci.bdf", ALL, BDF, scope.pci, 0, "PCI address, domain:bus:device.function"),
    FIELD("rank", ALL, I32, scope.rank, -1, "global rank"),
    FIELD("gpu.index", ALL, I32, scope.gpu_index, -1, "GPU on the node, as the driver counts"),
    FIELD("process.pid", ALL, I64, scope.pid, -1, "process id on the node"),

    FIELD("nccl.group", BIT(NCCL_RECORD), STRING, nccl.group, 0, "process group name"),
    FIELD("nccl.group_desc", BIT(NCCL_RECORD), STRING, nccl.group_desc, 0, "what it is for"),
    FIELD("nccl.group_key", BIT(NCCL_RECORD), KEY, nccl.group_key, 0,
          "identity of the group across ranks; made from job, name and members when absent"),
    FIELD("nccl.op", BIT(NCCL_RECORD), STRING, nccl.op, 0, "all_reduce, send 0->3, ..."),
    FIELD("nccl.seq", BIT(NCCL_RECORD), I64, nccl.seq, -1, "sequence id in the group"),
    FIELD("nccl.state", BIT(NCCL_RECORD), STATE, nccl.state, 0, "scheduled, started, completed"),
    FIELD("nccl.p2p", BIT(NCCL_RECORD), BOOL, nccl.is_p2p, 0, "a send or a receive"),
    FIELD("nccl.send", BIT(NCCL_RECORD), BOOL, nccl.is_send, 0, "the sending side"),
    FIELD("nccl.peer", BIT(NCCL_RECORD), I32, nccl.peer, -1, "global rank at the other end"),
    FIELD("nccl.record_id", BIT(NCCL_RECORD), I64, nccl.record_id, -1, "order of issue"),
    FIELD("nccl.pg_id", BIT(NCCL_RECORD), I64, nccl.pg_id, -1, "process-local group id"),
    FIELD("nccl.sizes_in", BIT(NCCL_RECORD), STRING, nccl.sizes_in, 0, "input shapes"),
    FIELD("nccl.sizes_out", BIT(NCCL_RECORD), STRING, nccl.sizes_out, 0, "output shapes"),
    FIELD("nccl.dtypes_in", BIT(NCCL_RECORD), STRING, nccl.dtypes_in, 0, "input types"),
    FIELD("nccl.dtypes_out", BIT(NCCL_RECORD), STRING, nccl.dtypes_out, 0, "output types"),
    FIELD("nccl.started", BIT(NCCL_RECORD), TIME, nccl.started_ns, 0, "seen started"),
    FIELD("nccl.completed", BIT(NCCL_RECORD), TIME, nccl.completed_ns, 0, "seen completed"),
    FIELD("nccl.timeout_ms", BIT(NCCL_RECORD), I64, nccl.timeout_ms, 0, "watchdog timeout"),
    FIELD("nccl.retired", BIT(NCCL_RECORD), BOOL, nccl.retired, 0, "the watchdog let go of it"),
    FIELD("nccl.timed_out", BIT(NCCL_RECORD), BOOL, nccl.timed_out, 0, "its watchdog says so"),
    FIELD("nccl.from_dump", BIT(NCCL_RECORD), BOOL, nccl.from_dump, 0, "comes from a dump"),

    FIELD("nccl.group", BIT(NCCL_GROUP), STRING, group.group, 0, "process group name"),
    FIELD("nccl.group_desc", BIT(NCCL_GROUP), STRING, group.group_desc, 0, "what it is for"),
    FIELD("nccl.group_key", BIT(NCCL_GROUP), KEY, group.group_key, 0, "identity of the group"),
    FIELD("nccl.ranks", BIT(NCCL_GROUP), STRING, group.ranks, 0, "members, \"[0, 2]\""),

    FIELD("nccl.group", BIT(NCCL_STATUS), STRING, status.group, 0, "process group name"),
    FIELD("nccl.group_key", BIT(NCCL_STATUS), KEY, status.group_key, 0, "identity of the group"),
    FIELD("nccl.pg_id", BIT(NCCL_STATUS), I64, status.pg_id, -1, "process-local group id"),
    FIELD("nccl.last_enqueued", BIT(NCCL_STATUS), I64, status.enqueued, -1, "last sequence id"),
    FIELD("nccl.last_started", BIT(NCCL_STATUS), I64, status.started, -1, "last sequence id"),
    FIELD("nccl.last_completed", BIT(NCCL_STATUS), I64, status.completed, -1, "last sequence id"),

    FIELD("nccl.version", BIT(NCCL_DUMP), STRING, dump.version, 0, "dump format version"),
    FIELD("nccl.library", BIT(NCCL_DUMP), STRING, dump.library, 0, "NCCL version"),
    FIELD("error", BIT(NCCL_DUMP), STRING, dump.error, 0, "why the dump is unreadable"),
    FIELD("nccl.entries", BIT(NCCL_DUMP), I64, dump.entries, -1, "entries in the dump"),

    FIELD("xid", BIT(XID), I64, xid.code, -1, "Xid number"),
    FIELD("sxid", BIT(SXID), I64, xid.code, -1, "SXid number"),
    FIELD("severity", XIDS, STRING, xid.severity, 0, "fatal or nonfatal, where the line says so"),
    FIELD("unit", XIDS, STRING, xid.unit, 0, "NVLink5 unit that reported"),
    FIELD("link", XIDS, I64, xid.link, -1, "link number"),
    FIELD("subcode", XIDS, I64, xid.subcode, -1, "NVLink5 subcode, (intrinfo >> 20) & 0x3f"),
    FIELD("intrinfo", XIDS, I64, xid.intrinfo, -1, "first NVLink5 register"),
    FIELD("process.name", XIDS, STRING, xid.process, 0, "process the driver blames"),
    FIELD("message", XIDS, STRING, xid.message, 0, "the rest of the line"),

    FIELD("severity", BIT(AER), STRING, aer.severity, 0, "corrected, nonfatal or fatal"),
    FIELD("layer", BIT(AER), STRING, aer.layer, 0, "physical, data_link or transaction"),
    FIELD("errors", BIT(AER), STRING, aer.errors, 0, "names of the status bits"),
    FIELD("device_id", BIT(AER), STRING, aer.device_id, 0, "vendor:device"),
    FIELD("reporter", BIT(AER) | BIT(PCIE_LINK), BDF, aer.reporter, 0, "port that logged it"),
    FIELD("status", BIT(AER), I64, aer.status, -1, "error status word"),
    FIELD("mask", BIT(AER), I64, aer.mask, -1, "error mask word"),
    FIELD("count", BIT(AER), I64, aer.count, 1, "errors this event stands for"),
    FIELD("speed_gts", BIT(PCIE_LINK), F64, aer.speed_gts, 0, "link speed now, GT/s"),
    FIELD("speed_gts_max", BIT(PCIE_LINK), F64, aer.speed_gts_max, 0, "link speed it can do"),
    FIELD("width", BIT(PCIE_LINK), I64, aer.width, 0, "lanes now"),
    FIELD("width_max", BIT(PCIE_LINK), I64, aer.width_max, 0, "lanes it can do"),

    FIELD("fault", KERNEL_FAULT, STRING, fault.fault, 0, "which fault"),
    FIELD("device", KERNEL_FAULT, STRING, fault.device, 0, "disk, DIMM, port or server"),
    FIELD("process.name", KERNEL_FAULT, STRING, fault.process, 0, "process concerned"),
    FIELD("count", KERNEL_FAULT, I64, fault.count, 1, "faults this event stands for"),
    FIELD("seconds", KERNEL_FAULT, I64, fault.seconds, -1, "how long it was stuck"),
    FIELD("status", BIT(NETWORK_FAULT), I64, fault.status, 0, "of a failed InfiniBand completion"),
    FIELD("message", KERNEL_FAULT, STRING, fault.message, 0, "the line"),

    FIELD("process.name", BIT(OOM_KILL), STRING, oom.process, 0, "process killed"),
    FIELD("constraint", BIT(OOM_KILL), STRING, oom.constraint, 0,
          "CONSTRAINT_MEMCG, ...; OOMD_PRESSURE, OOMD_SWAP"),
    FIELD("cgroup", BIT(OOM_KILL), STRING, oom.cgroup, 0, "memory cgroup of the process"),
    FIELD("container.id", BIT(OOM_KILL), STRING, oom.container_id, 0, "container"),
    FIELD("anon_rss_kb", BIT(OOM_KILL), I64, oom.anon_rss_kb, -1, "memory it held, kB"),
    FIELD("message", BIT(OOM_KILL), STRING, oom.message, 0, "the line"),

    FIELD("reason", K8S, STRING, k8s.reason, 0, "machine-readable reason"),
    FIELD("type", K8S, STRING, k8s.type, 0, "Normal, Warning; or the condition's type"),
    FIELD("status", BIT(NODE_CONDITION), STRING, k8s.status, 0, "True, False, Unknown"),
    FIELD("object.kind", BIT(K8S_EVENT), STRING, k8s.object_kind, 0, "what it is about"),
    FIELD("object.name", BIT(K8S_EVENT), STRING, k8s.object_name, 0, "its name"),
    FIELD("object.uid", BIT(K8S_EVENT), STRING, k8s.object_uid, 0, "its uid"),
    FIELD("component", BIT(K8S_EVENT), STRING, k8s.component, 0, "who reported it"),
    FIELD("count", BIT(K8S_EVENT), I64, k8s.count, 1, "how often"),
    FIELD("first_time", BIT(K8S_EVENT), TIME, k8s.first_ns, 0, "first time of a repeated event"),
    FIELD("rack", BIT(NODE_CONDITION), STRING, k8s.rack, 0, "rack of the node"),
    FIELD("zone", BIT(NODE_CONDITION), STRING, k8s.zone, 0, "zone of the node, or its region"),
    FIELD("message", K8S, STRING, k8s.message, 0, "note or message"),

    FIELD("phase", BIT(POD_STATE), STRING, pod.phase, 0, "pod phase"),
    FIELD("reason", BIT(POD_STATE), STRING, pod.reason, 0, "Evicted, OOMKilled, Error, ..."),
    FIELD("exit_code", BIT(POD_STATE), I64, pod.exit_code, -1, "of the container"),
    FIELD("signal", BIT(POD_STATE), I64, pod.signal, 0, "that ended the container"),
    FIELD("gpus", BIT(POD_STATE), I64, pod.gpus, -1, "GPUs that the pod asks for"),
    FIELD("message", BIT(POD_STATE), STRING, pod.message, 0, "status message"),

    FIELD("metric", BIT(METRIC), METRIC, metric.metric, 0, "which metric: see below"),
    FIELD("value", BIT(METRIC), F64, metric.value, 0, "in the unit of that metric; 0 when absent"),
    FIELD("device", BIT(METRIC), STRING, metric.device, 0, "link, port, interface, mount, target"),
    FIELD("rack", BIT(METRIC), STRING, metric.rack, 0, "rack of the node"),
    FIELD("zone", BIT(METRIC), STRING, metric.zone, 0, "zone of the node, or its region"),

    FIELD("origin", BIT(RANK_PLACE), STRING, place.origin, 0, "who says so"),
    FIELD("world_size", BIT(RANK_PLACE), I64, place.world_size, -1, "ranks of the job"),

    FIELD("nccl.comm", BIT(NCCL_RAS), STRING, ras.comm, 0, "hash of the communicator"),
    FIELD("nccl.comm_rank", BIT(NCCL_RAS), I64, ras.comm_rank, -1, "rank in the communicator"),
    FIELD("nccl.comm_size", BIT(NCCL_RAS), I64, ras.comm_size, -1, "ranks of the communicator"),
    FIELD("nccl.ops", BIT(NCCL_RAS), I64, ras.ops, -1, "collectives issued so far"),
    FIELD("status", BIT(NCCL_RAS), STRING, ras.status, 0, "what NCCL says about the rank"),

    FIELD("step", TRAIN, I64, train.step, -1, "training step"),
    FIELD("phase", TRAIN, STRING, train.phase, 0, "train, eval, warmup, ..."),
    FIELD("duration", TRAIN, F64, train.seconds, 0,
          "seconds the step or checkpoint took, or no step ended for"),
    FIELD("state", BIT(CHECKPOINT), STRING, train.state, 0, "begin, end or failed"),
    FIELD("path", BIT(CHECKPOINT), STRING, train.path, 0, "where it is written"),
    FIELD("error_class", BIT(LOADER_ERROR), STRING, train.error_class, 0, "what went wrong"),
    FIELD("message", TRAIN, STRING, train.message, 0, "the line"),

    FIELD("address", BIT(ADDRESS), STRING, address.address, 0, "IP address or host name"),

    FIELD("exit_code", BIT(RANK_EXIT), I64, exit.exit_code, -1, "of the process"),
    FIELD("signal", BIT(RANK_EXIT), I64, exit.signal, 0, "that ended the process"),
    FIELD("error", BIT(RANK_EXIT), STRING, exit.error, 0, "class of the last exception"),
    FIELD("message", BIT(RANK_EXIT), STRING, exit.message, 0, "the line"),
    FIELD("told_by", BIT(RANK_EXIT), STRING, exit.told_by, 0,
          "traceback, process, launcher, shell, step or job"),
    FIELD("role", BIT(RANK_EXIT), STRING, exit.role, 0, "first, last, caught or stopped"),
    FIELD("local_rank", BIT(RANK_EXIT), I64, exit.local_rank, -1, "number on its node"),

    FIELD("system", BIT(GPU_HEALTH), STRING, health.system, 0,
          "thermal, memory, nvlink, pcie, power, driver or other"),
    FIELD("severity", BIT(GPU_HEALTH), STRING, health.severity, 0, "warning or failure"),
    FIELD("message", BIT(GPU_HEALTH), STRING, health.message, 0, "the finding"),

    FIELD("source", BIT(SOURCE_STATE), STRING, source.source, 0, "scrape, kmsg, ..."),
    FIELD("state", BIT(SOURCE_STATE), STRING, source.state, 0, "failing or ok"),
    FIELD("since", BIT(SOURCE_STATE), TIME, source.since_ns, 0, "when that began"),
    FIELD("message", BIT(SOURCE_STATE), STRING, source.message, 0, "why it fails"),
};

const struct tc_field *tc_fields(size_t *out_count)
{
    *out_count = TC_COUNT(FIELDS);
    return FIELDS;
}

size_t tc_event_strings(enum tc_event_kind kind, uint16_t out_offsets[TC_EVENT_STRINGS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < TC_COUNT(FIELDS); i++) {
        if (FIELDS[i].type == TC_FIELD_STRING && (FIELDS[i].kinds & TC_EVENT_BIT(kind)) != 0) {
            TC_ASSERT(count < TC_EVENT_STRINGS_MAX);
            out_offsets[count++] = (uint16_t)FIELDS[i].offset;
        }
    }
    return count;
}

void tc_event_strings_init(struct tc_event_strings *out)
{
    *out = (struct tc_event_strings){0};
    for (int kind = 0; kind < TC_EVENT_KIND_COUNT; kind++) {
        out->counts[kind] = (uint8_t)tc_event_strings((enum tc_event_kind)kind, out->offsets[kind]);
    }
}

void tc_event_shift(struct tc_event *ev, int64_t delta_ns)
{
    for (size_t i = 0; i < TC_COUNT(FIELDS); i++) {
        if (FIELDS[i].type == TC_FIELD_TIME && (FIELDS[i].kinds & TC_EVENT_BIT(ev->kind)) != 0) {
            int64_t *time_ns = (int64_t *)(void *)((char *)ev + FIELDS[i].offset);
            *time_ns += tc_time_is_date(*time_ns) ? delta_ns : 0;
        }
    }
}
