# SPDX-License-Identifier: Apache-2.0
"""Formats that the simulator does not write, as far as tests/field has no helper for them."""

from cluster import gpu_uuid, uid
from kernel import kernel_log
from when import millis, moment, plain, second

# What a node's log is called when it is written in a shape.
LOGS = {
    "dmesgT": "dmesg-%s.txt",
    "shortiso": "journal-%s.txt",
    "syslog": "messages-%s",
    "shortprecise": "journal-%s.precise",
    "export": "journal-%s.export",
    "jjson": "journal-%s.json",
}


def kernel(cluster, node, shape, seconds, *messages):
    """Messages that the kernel of a node logs at once."""
    path = "logs/" + LOGS[shape] % node
    cluster.say(path, seconds, kernel_log([(seconds, m) for m in messages], shape, node))


def quiet(cluster, node, shape):
    """What kernels say all day: it opens a log and closes it."""
    kernel(cluster, node, shape, -3600, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  470.57.02")
    kernel(cluster, node, shape, cluster.until - 1,
           "IPv6: ADDRCONF(NETDEV_CHANGE): cali0: link becomes ready")


# ---- scrapes ----------------------------------------------------------------------------------


def old_labels(node, gpu, pod=None):
    """dcgm-exporter 1.x: no host, no device, and pods by other names."""
    labels = f'gpu="{gpu}",uuid="{gpu_uuid(node, gpu)}"'
    if pod:
        labels += f',container_name="main",pod_name="{pod}",pod_namespace="research"'
    return labels


def smi_labels(node, gpu):
    """nvidia_gpu_exporter: the UUID without its head, and nothing else."""
    return f'uuid="{gpu_uuid(node, gpu)[4:]}"'


def exposition(samples, at=None, openmetrics=False):
    """samples: (metric, type, labels, value)"""
    text = ""
    seen = set()
    for metric, kind, labels, value in samples:
        family = metric.removesuffix("_total") if openmetrics else metric
        if family not in seen:
            text += f"# HELP {family} x\n# TYPE {family} {kind}\n"
            seen.add(family)
        time = ""
        if at is not None:
            time = f" {moment(at).timestamp():.3f}" if openmetrics else f" {millis(at)}"
        text += f"{metric}{{{labels}}} {value}{time}\n"
    return text + ("# EOF\n" if openmetrics else "")


def file_time(seconds):
    return moment(seconds).strftime("%Y%m%dT%H%M%SZ")


# ---- Kubernetes -------------------------------------------------------------------------------


def events_k8s_io(seconds, reason, note, pod, node, namespace, component="kubelet", last=None,
                  count=1, kind="Warning"):
    """events.k8s.io/v1, a series where it repeats"""
    name = uid("event", namespace, pod, reason, seconds)
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": f"{pod}.{name[:16]}",
            "namespace": namespace,
            "uid": name,
            "creationTimestamp": second(seconds),
        },
        "eventTime": second(seconds, 250000),
        "reportingController": component,
        "reportingInstance": node,
        "action": "Binding",
        "reason": reason,
        "note": note,
        "regarding": {
            "kind": "Pod",
            "namespace": namespace,
            "name": pod,
            "uid": uid("pod", namespace, pod),
        },
        "type": kind,
    }
    if count > 1:
        event["series"] = {"count": count, "lastObservedTime": second(last, 750000)}
    return event


def core_event(seconds, reason, message, about, node, namespace="default", kind="Node",
               type_="Normal", component="kubelet"):
    """v1, as kubectl get events -o json shows it"""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{about}.{uid('event', about, reason, seconds)[:16]}",
            "namespace": namespace,
            "uid": uid("event", about, reason, seconds),
            "creationTimestamp": second(seconds),
        },
        "involvedObject": {
            "kind": kind,
            "name": about,
            "uid": about if kind == "Node" else uid("pod", namespace, about),
        }
        | ({"namespace": namespace} if kind == "Pod" else {}),
        "reason": reason,
        "message": message,
        "source": {"component": component} | ({"host": node} if node else {}),
        "firstTimestamp": second(seconds),
        "lastTimestamp": second(seconds),
        "count": 1,
        "type": type_,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }


def address(*names):
    """An IP that only these names have."""
    digits = int(uid("address", *names)[:6], 16)
    return f"10.{digits >> 16}.{digits >> 8 & 255}.{digits & 255}"


def pod(name, node, namespace="research", phase="Running", end=None, reason=None, message=None,
        env=None, gpus=0, labels=None, deleted=None):
    """end: (seconds, exit code, reason) of its container"""
    container = {"name": "main", "image": "registry.invalid/train:4"}
    if env:
        container["env"] = [{"name": key, "value": str(value)} for key, value in env.items()]
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": uid("pod", namespace, name),
        "creationTimestamp": second(-9000),
    }
    if labels:
        meta["labels"] = labels
    if deleted is not None:
        meta |= {"deletionTimestamp": second(deleted), "deletionGracePeriodSeconds": 30}
    status = {"phase": phase, "startTime": second(-8990)}
    status |= {"hostIP": address("node", node), "podIP": address("pod", namespace, name)}
    said = {"reason": reason, "message": message}
    status |= {key: value for key, value in said.items() if value}
    if end:
        at, code, why = end
        state = {"exitCode": code, "reason": why, "startedAt": second(-8900),
                 "finishedAt": second(at)}
        status["containerStatuses"] = [
            {"name": "main", "restartCount": 0, "ready": False, "state": {"terminated": state}}
        ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"nodeName": node, "containers": [container]},
        "status": status,
    }


def node(name, *conditions):
    """conditions: (type, status, reason, since)"""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": uid("node", name), "creationTimestamp": second(-900000)},
        "status": {
            "conditions": [
                {
                    "type": type_,
                    "status": status,
                    "reason": reason,
                    "message": reason,
                    "lastHeartbeatTime": second(since + 40),
                    "lastTransitionTime": second(since),
                }
                for type_, status, reason, since in conditions
            ]
        },
    }


def yaml(value, indent=0):
    """As kubectl get -o yaml prints it: enough of YAML for objects like these."""
    space = "  " * indent
    if isinstance(value, dict):
        text = ""
        for key in sorted(value):
            inner = value[key]
            if isinstance(inner, (dict, list)) and inner:
                text += f"{space}{key}:\n" + yaml(inner, indent + isinstance(inner, dict))
            else:
                text += f"{space}{key}: {scalar(inner)}\n"
        return text
    if isinstance(value, list):
        text = ""
        for inner in value:
            block = yaml(inner, indent + 1)
            text += space + "- " + block[len(space) + 2 :]
        return text
    return space + scalar(value) + "\n"


def scalar(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, (dict, list)):
        return "{}" if isinstance(value, dict) else "[]"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def yaml_list(*objects):
    return yaml({"apiVersion": "v1", "kind": "List", "items": list(objects)})


# ---- training ---------------------------------------------------------------------------------


def pod_log(namespace, name, container="main"):
    """Where the kubelet keeps what a container prints."""
    return f"pods/{namespace}_{name}_{uid('pod', namespace, name)}/{container}/0.log"


def nemo(seconds, step, took):
    return (
        f"[NeMo I {plain(seconds)} nemo_logging:381] Training epoch 0, iteration {step}/9999 | lr: "
        f"9.9e-05 | global_batch_size: 512 | global_step: {step} | reduced_train_loss: 2.11 | "
        f"train_step_timing in s: {took:.4g}\n"
    )


def deepspeed(seconds, step):
    at = moment(seconds).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
    return (
        f"[{at}] [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, skipped=0, lr=[9.6e-06], "
        "mom=[[0.9, 0.999]]\n"
    )


def deepspeed_said(seconds, text):
    at = moment(seconds).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
    return f"[{at}] [INFO] [torch_checkpoint_engine.py:21:save] {text}\n"
