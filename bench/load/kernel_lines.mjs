// SPDX-License-Identifier: Apache-2.0
// Lines of a kernel log: what the kernels of healthy Kubernetes nodes with GPUs write all day, and now
// and then what a sick one does, in the wording of the samples in shared/samples/kmsg.

const veth = (r) => `veth${r.hex(8)}`;
const cali = (r) => `cali${r.hex(11)}`;
const bdf = (r) => `0000:${r.pick(['18', '2a', '3a', '5d', '9a', 'ab', 'ba', 'db'])}:00.0`;
const pid = (r) => 1000 + r.below(3000000);
const program = (r) => r.pick(['python3', 'pt_main_thread', 'containerd-shim', 'kubelet', 'runc:[2:INIT]', 'cuda-EvtHandlr', 'node_exporter', 'calico-node', 'sshd']);

/** [priority, how often, text] */
const NOISE = [
  [6, 12, (r) => `cni0: port ${1 + r.below(90)}(${veth(r)}) entered ${r.pick(['blocking', 'disabled', 'forwarding', 'learning'])} state`],
  [6, 8, (r) => `IPv6: ADDRCONF(NETDEV_CHANGE): ${r.pick([cali(r), veth(r), 'eth0'])}: link becomes ready`],
  [6, 4, (r) => `device ${veth(r)} ${r.pick(['entered', 'left'])} promiscuous mode`],
  [5, 14, (r) => `audit: type=1400 audit(${1762000000 + r.below(9000000)}.${100 + r.below(899)}:${r.below(900000)}): apparmor="${r.pick(['ALLOWED', 'DENIED', 'STATUS'])}" operation="${r.pick(['open', 'ptrace', 'profile_replace', 'file_mmap'])}" class="file" profile="${r.pick(['cri-containerd.apparmor.d', 'unconfined', '/usr/sbin/chronyd', 'docker-default'])}" name="/proc/${pid(r)}/${r.pick(['cgroup', 'stat', 'mountinfo'])}" pid=${pid(r)} comm="${program(r)}" requested_mask="r" denied_mask="r" fsuid=0 ouid=0`],
  [5, 10, (r) => `audit: type=1334 audit(${1762000000 + r.below(9000000)}.${100 + r.below(899)}:${r.below(900000)}): prog-id=${r.below(90000)} op=${r.pick(['LOAD', 'UNLOAD'])}`],
  [6, 3, (r) => `EXT4-fs (${r.pick(['nvme0n1p1', 'nvme1n1', 'dm-3', 'md127', 'sda1'])}): mounted filesystem ${r.hex(8)}-${r.hex(4)}-4${r.hex(3)}-9${r.hex(3)}-${r.hex(12)} r/w with ordered data mode. Quota mode: none.`],
  [6, 2, (r) => `XFS (nvme${r.below(8)}n1): ${r.pick(['Mounting V5 Filesystem', 'Ending clean mount', 'Unmounting Filesystem'])} ${r.hex(8)}-${r.hex(4)}-4${r.hex(3)}-a${r.hex(3)}-${r.hex(12)}`],
  [6, 3, (r) => `mlx5_core ${bdf(r)} ${r.pick(['ens1f0np0', 'ibs1', 'rdma0'])}: ${r.pick(['Link up', 'MTU changed to 4092', 'Error cqe on cqn 0x4a, ci 0x1f, qn 0x2c1', 'mlx5e_update_carrier: link is up'])}`],
  [6, 2, (r) => `nvidia-nvswitch${r.below(4)}: open (major=${500 + r.below(12)})`],
  [6, 2, () => 'NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder@U22-I3-B17-4-5)'],
  [4, 3, (r) => `perf: interrupt took too long (${2500 + r.below(6000)} > ${2400 + r.below(90)}), lowering kernel.perf_event_max_sample_rate to ${20000 + 250 * r.below(200)}`],
  [6, 6, (r) => `${program(r)}[${pid(r)}]: memfd_create() called without MFD_EXEC or MFD_NOEXEC_SEAL set`],
  [6, 3, (r) => `TCP: request_sock_TCP: Possible SYN flooding on port ${r.pick(['0.0.0.0', '[::]'])}:${8000 + r.below(2000)}. Sending cookies.`],
  [4, 3, (r) => `nf_conntrack: nf_conntrack: table full, dropping packet`.replace('table full', r.below(2) ? 'table full' : 'expectation table full')],
  [6, 3, (r) => `IPVS: rr: TCP 10.96.${r.below(255)}.${r.below(255)}:${r.pick([80, 443, 8080, 9400])} - no destination available`],
  [6, 4, (r) => `NET: Registered PF_${r.pick(['QIPCRTR', 'VSOCK', 'ALG', 'RDS'])} protocol family`],
  [6, 2, (r) => `overlayfs: fs on '/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/${r.below(9000)}/fs' does not support file handles, falling back to xino=off.`],
  [5, 3, (r) => `systemd-journald[${pid(r)}]: ${r.pick(['Failed to send READY=1 notification message: Transport endpoint is not connected', 'Data hash table of /run/log/journal/system.journal has a fill level at 75.0 (8533 of 11377 items, 6553600 file size, 768 bytes per hash table item), suggesting rotation.', 'Received client request to flush runtime journal.'])}`],
  [6, 3, (r) => `usb 1-${1 + r.below(6)}: new high-speed USB device number ${2 + r.below(90)} using xhci_hcd`],
  [6, 2, (r) => `hrtimer: interrupt took ${1000 + r.below(90000)} ns`],
  [6, 3, (r) => `workqueue: blk_mq_requeue_work hogged CPU for >10000us ${4 + r.below(60)} times, consider switching to WQ_UNBOUND`],
  [6, 2, (r) => `nvme nvme${r.below(8)}: I/O tag ${r.below(900)} (${r.hex(4)}) QID ${r.below(64)} timeout, completion polled`],
  [6, 2, (r) => `lustre: ${r.below(90)}:0:(client.c:2305:ptlrpc_expire_one_request()) @@@ Request sent has timed out for slow reply: [sent ${1762000000 + r.below(9000)}/real ${1762000000 + r.below(9000)}]  req@${r.hex(16)} x${r.below(900000000)}/t0(0) o400->scratch-MDT0000-mdc-${r.hex(16)}@10.4.0.${r.below(250)}@o2ib:12/10 lens 224/224 e 0 to 1 dl ${1762000000 + r.below(9000)} ref 1 fl Rpc:XNQr/0/ffffffff rc 0/-1 job:''`],
];

const SICK = [
  [4, 4, (r) => `pcieport 0000:${r.pick(['16', '27', '38', '59'])}:01.0: AER: Corrected error message received from ${bdf(r)}`],
  [4, 4, (r) => `pcieport 0000:${r.pick(['16', '27', '38', '59'])}:01.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)`],
  [4, 4, (r) => `pcieport 0000:${r.pick(['16', '27', '38', '59'])}:01.0:   device [1000:c030] error status/mask=00001000/00006000`],
  [6, 2, (r) => `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-${r.hex(64)}.scope,mems_allowed=0-1,oom_memcg=/kubepods.slice/kubepods-burstable.slice,task_memcg=/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${r.hex(8)}.slice,task=${program(r)},pid=${pid(r)},uid=0`],
  [3, 2, (r) => `Memory cgroup out of memory: Killed process ${pid(r)} (${program(r)}) total-vm:${8000000 + r.below(9000000)}kB, anon-rss:${2000000 + r.below(900000)}kB, file-rss:${r.below(9000)}kB, shmem-rss:0kB, UID:0 pgtables:${10000 + r.below(9000)}kB oom_score_adj:${r.below(1000)}`],
  [4, 2, (r) => `${program(r)}[${pid(r)}]: segfault at ${r.hex(12)} ip 0000${r.hex(12)} sp 0000${r.hex(12)} error 4 in libc.so.6[7f${r.hex(10)}+195000] likely on CPU ${r.below(192)} (core ${r.below(48)}, socket ${r.below(2)})`],
  [4, 1, (r) => `NVRM: Xid (PCI:${bdf(r).slice(0, -2)}): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on (GPC ${r.below(8)}, TPC ${r.below(9)}, SM ${r.below(2)}): Out Of Range Address`],
  [4, 1, (r) => `NVRM: Xid (PCI:${bdf(r).slice(0, -2)}): 43, pid=${pid(r)}, name=${program(r)}, Ch 0000000${r.below(8)}`],
  [4, 1, (r) => `nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing`.replace('127', String(120 + r.below(9)))],
];
const SICK_ONE_IN = 150;

function draw(list) {
  const table = list.flatMap(([priority, weight, text]) => Array(weight).fill({ priority, text }));
  return (r) => r.pick(table);
}
const noise = draw(NOISE);
const sick = draw(SICK);

/** One line: { priority, text }. */
export function kernelLine(r) {
  const { priority, text } = r.below(SICK_ONE_IN) === 0 ? sick(r) : noise(r);
  return { priority, text: text(r) };
}
