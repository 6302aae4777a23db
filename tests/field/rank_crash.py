# SPDX-License-Identifier: Apache-2.0
"""rank_crash: which rank of a job failed first, and ends that are nobody's failure."""

from field import Pattern
from kubernetes import ended, k8s_list, pod
from training import megatron_step, titan_step
from when import moment, plain, second

case = Pattern("rank_crash")


def prefixed(prefix, text):
    return "".join(prefix + line + "\n" for line in text.splitlines())


def stack(error, file="train.py", func="main", line=214, code="main()"):
    return (
        "Traceback (most recent call last):\n"
        f'  File "/workspace/{file}", line {line}, in <module>\n'
        f"    {code}\n"
        f'  File "/workspace/{file}", line {line - 40}, in {func}\n'
        "    loss = model(batch)\n"
        f"{error}\n"
    )


def ranked(rank, text):
    """As torchrun of PyTorch 2.3 and later prints stderr."""
    return prefixed(f"[rank{rank}]: ", text)


def block(number, seconds, host, rank, local, code, pid, trace="To enable traceback see: "
          "https://pytorch.org/docs/stable/elastic/errors.html"):
    at = moment(seconds).strftime("%Y-%m-%d_%H:%M:%S")
    return (
        f"[{number}]:\n"
        f"  time      : {at}\n"
        f"  host      : {host}\n"
        f"  rank      : {rank} (local_rank: {local})\n"
        f"  exitcode  : {code} (pid: {pid})\n"
        "  error_file: <N/A>\n"
        f"  traceback : {trace}\n"
    )


def agent(seconds, code, local, pid):
    at = moment(seconds).strftime("%m%d %H:%M:%S.%f")
    return (
        f"E{at} 4100 torch/distributed/elastic/multiprocessing/api.py:869] failed "
        f"(exitcode: {code}) local_rank: {local} (pid: {pid}) of binary: /opt/conda/bin/python\n"
    )


def torchrun(root, others=""):
    return (
        "Traceback (most recent call last):\n"
        '  File "/opt/conda/bin/torchrun", line 8, in <module>\n'
        "    sys.exit(main())\n"
        '  File "/opt/conda/lib/python3.11/site-packages/torch/distributed/run.py", line 919, in main\n'
        "    run(args)\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
        "============================================================\n"
        "train.py FAILED\n"
        "------------------------------------------------------------\n"
        "Failures:\n" + (others or "  <NO_OTHER_FAILURES>\n")
        + "------------------------------------------------------------\n"
        "Root Cause (first observed failure):\n" + root
        + "============================================================\n"
    )


REMOTE = (
    "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/"
    "NCCLUtils.hpp:301, remote process exited or there was a network error, NCCL version 2.21.5"
)
ILLEGAL = (
    "RuntimeError: CUDA error: an illegal memory access was encountered\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, so the "
    "stacktrace below might be incorrect."
)
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total "
    "capacity of 79.15 GiB of which 1.02 GiB is free. Process 90313 has 78.11 GiB memory in use."
)
SIGNAL15 = "Signal 15 (SIGTERM) received by PID 4123"

# ---- torchrun ------------------------------------------------------------------------------

case.fires(
    "crash_f01_torchrun_root_cause",
    {
        "train.log": titan_step(0, 10) + ranked(3, stack(ILLEGAL)) + ranked(1, stack(REMOTE))
        + agent(5, 1, 3, 4123)
        + torchrun(block(0, 5, "gpu-17", 3, 3, 1, 4123), block(1, 5, "gpu-17", 1, 1, 1, 4121)),
    },
    rank=3, node="gpu-17", disc="cuda_error", conf="full",
)
case.fires(
    "crash_f02_torchrun_sigkill",
    {
        "slurm.log": torchrun(
            block(0, 5, "gpu-17", 11, 3, -9, 4123, "Signal 9 (SIGKILL) received by PID 4123")
        ),
    },
    rank=11, node="gpu-17", disc="signal", conf="full",
)
case.fires(
    "crash_f03_torchrun_segfault_among_sigterm",
    {
        "stderr.log": torchrun(
            block(0, 5, "a3-02", 18, 2, -11, 90314, "Signal 11 (SIGSEGV) received by PID 90314"),
            block(1, 6, "a3-02", 16, 0, -15, 90312, SIGNAL15)
            + block(2, 6, "a3-02", 17, 1, -15, 90313, SIGNAL15),
        ),
    },
    rank=18, node="a3-02", disc="signal",
)
case.fires(
    "crash_f04_gpu_memory_first",
    {
        "train.log": ranked(3, stack(OOM)) + ranked(0, stack(REMOTE)) + ranked(2, stack(REMOTE))
        + torchrun(block(0, 9, "gpu-01", 3, 3, 1, 90313)),
    },
    rank=3, disc="out_of_memory_gpu", conf="full",
)
case.fires(
    "crash_f05_agent_line_alone",
    {"train.log": stack("ValueError: Expected input batch_size (16) to match target batch_size (12)")
     + agent(3, 1, 5, 777)},
    disc="exception", conf="partial",
)
case.fires(
    "crash_f06_traceback_in_the_table",
    {
        "train.log": torchrun(
            block(0, 2, "worker-0", 6, 6, 1, 733, "Traceback (most recent call last):\n"
                  '    File "/opt/torch/distributed/elastic/multiprocessing/errors/__init__.py", '
                  "line 355, in wrapper\n      return f(*args, **kwargs)\n"
                  '    File "/workspace/train.py", line 90, in main\n      cfg["lr"]\n'
                  "  KeyError: 'lr'\n")
        ),
    },
    rank=6, disc="exception", conf="full",
)
case.fires(
    "crash_f07_two_nodes_two_tables",
    {
        "slurm-4711.out": (
            ranked(9, stack("FileNotFoundError: [Errno 2] No such file or directory: "
                            "'/data/shard-0091.tar'"))
            + ranked(2, stack(REMOTE))
            + torchrun(block(0, 4, "cn-02", 9, 1, 1, 410))
            + torchrun(block(0, 6, "cn-01", 2, 2, 1, 395))
        ),
    },
    rank=9, node="cn-02", disc="exception", conf="full",
)
# ---- other launchers -----------------------------------------------------------------------

case.fires(
    "crash_f08_deepspeed",
    {
        "ds.log": stack(OOM)
        + f"[{plain(4)},101] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 4120\n"
        + f"[{plain(4)},207] [INFO] [launch.py:319:sigkill_handler] Killing subprocess 4121\n"
        + f"[{plain(5)},311] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python3', '-u', "
        "'train.py', '--local_rank=3', '--deepspeed', 'ds.json'] exits with return code = 1\n",
    },
    disc="out_of_memory_gpu",
)
case.fires(
    "crash_f09_accelerate",
    {
        "out.log": stack("ImportError: cannot import name 'FlashAttention2' from 'models'")
        + "Traceback (most recent call last):\n"
        '  File "/opt/conda/bin/accelerate", line 8, in <module>\n    sys.exit(main())\n'
        '  File "/opt/accelerate/commands/launch.py", line 763, in simple_launcher\n'
        "    raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)\n"
        "subprocess.CalledProcessError: Command '['/opt/conda/bin/python', 'train.py']' "
        "returned non-zero exit status 1.\n",
    },
    disc="exception",
)
case.fires(
    "crash_f10_srun_segfault",
    {
        "slurm-812.out": titan_step(0, 4)
        + "srun: error: gpu-07: task 3: Segmentation fault (core dumped)\n"
        "srun: launch/slurm: _step_signal: Terminating StepId=812.0\n"
        "slurmstepd: error: *** STEP 812.0 ON gpu-06 CANCELLED AT 2026-03-04T05:07:00 ***\n"
        "srun: error: gpu-06: tasks 0-1: Terminated\n",
    },
    node="gpu-07", disc="signal", conf="partial",
)
case.fires(
    "crash_f11_srun_exit_code_and_traceback",
    {
        "slurm-813.out": prefixed("5: ", stack("RuntimeError: Expected all tensors to be on the "
                                               "same device, but found at least two devices"))
        + "srun: error: gpu-09: task 5: Exited with exit code 1\n"
        "srun: launch/slurm: _step_signal: Terminating StepId=813.0\n",
    },
    node="gpu-09", disc="exception",
)
case.fires(
    "crash_f12_mpirun_signal",
    {
        "mpi.log": "-" * 74 + "\nmpirun noticed that process rank 6 with PID 181822 on node cn0412 "
        "exited on signal 9 (Killed).\n" + "-" * 74 + "\n",
    },
    rank=6, node="cn0412", disc="signal", conf="full",
)
case.fires(
    "crash_f13_mpi_abort",
    {
        "mpi.log": "[1,3]<stderr>:" + stack("AssertionError: vocab size mismatch")
        .replace("\n", "\n[1,3]<stderr>:", 5)
        + "-" * 74 + "\nMPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\n"
        "with errorcode 1.\n",
    },
    rank=3, disc="exception", conf="full",
)
case.fires(
    "crash_f14_horovod",
    {
        "hvd.log": prefixed("[5]<stderr>:", stack("ZeroDivisionError: float division by zero"))
        + "Process 5 exit with status code 1.\n"
        "Terminating remaining workers after failure of Process 5.\n"
        "Process 2 exit with status code 143.\n",
    },
    rank=5, disc="exception", conf="full",
)
case.fires(
    "crash_f15_lightning",
    {
        "pl.log": "[rank: 2] Child process with PID 10233 terminated with code -9. Forcefully "
        "terminating all other processes to avoid zombies\n",
    },
    rank=2, disc="signal", conf="full",
)
case.fires(
    "crash_f16_composer",
    {
        "c.log": "Global rank 5 (PID 3391) exited with code 1\n"
        "----------Begin global rank 5 STDERR----------\n" + stack(ILLEGAL)
        + "----------End global rank 5 STDERR----------\n",
    },
    rank=5, disc="cuda_error", conf="full",
)
case.fires(
    "crash_f17_ray_worker",
    {
        "ray.log": prefixed("(RayTrainWorker pid=2210, ip=10.0.8.41) ",
                            stack("ValueError: Token indices exceed the vocabulary")),
    },
    node="10.0.8.41", disc="exception", conf="partial",
)
case.fires(
    "crash_f18_spawn",
    {
        "spawn.log": "Traceback (most recent call last):\n"
        '  File "main.py", line 88, in <module>\n    mp.spawn(run, nprocs=8)\n'
        '  File "/opt/torch/multiprocessing/spawn.py", line 164, in join\n'
        "    raise ProcessRaisedException(msg, error_index, failed_process.pid)\n"
        "torch.multiprocessing.spawn.ProcessRaisedException: \n\n"
        "-- Process 3 terminated with the following error:\n" + stack(OOM),
    },
    disc="out_of_memory_gpu", conf="partial",
)
case.fires(
    "crash_f19_spawn_sigsegv",
    {
        "spawn.log": "Traceback (most recent call last):\n"
        '  File "main.py", line 88, in <module>\n    mp.spawn(run, nprocs=8)\n'
        "torch.multiprocessing.spawn.ProcessExitedException: process 2 terminated with signal "
        "SIGSEGV\n",
    },
    disc="signal", conf="partial",
)
# ---- logs that end -------------------------------------------------------------------------

case.fires(
    "crash_f20_paste_of_a_traceback",
    {"paste.txt": stack("TypeError: forward() got an unexpected keyword argument 'labels'")},
    disc="exception", conf="partial",
)
case.fires(
    "crash_f21_loader_killed",
    {
        "train.log": megatron_step(0, 100, 812.0)
        + stack("RuntimeError: DataLoader worker (pid 30882) is killed by signal: Killed. ",
                "data/loader.py"),
    },
    disc="dataloader_worker", conf="partial",
)
case.fires(
    "crash_f22_loader_exited",
    {"train.log": stack("RuntimeError: DataLoader worker (pid(s) 1234, 1235) exited unexpectedly")},
    disc="dataloader_worker",
)
case.fires(
    "crash_f23_ranks_in_files",
    {
        "logs/rank_3.log": stack(ILLEGAL),
        "logs/rank_1.log": stack(REMOTE),
        "logs/rank_0.log": stack("torch.distributed.DistNetworkError: failed to recv, got 0 bytes"),
    },
    rank=3, disc="cuda_error",
)
case.fires(
    "crash_f24_terminate",
    {
        "rank_7.log": "terminate called after throwing an instance of 'c10::Error'\n"
        "  what():  CUDA error: unspecified launch failure\n"
        "Exception raised from c10_cuda_check_implementation at CUDAException.cpp:44 (most recent "
        "call first):\nframe #0: c10::Error::Error(c10::SourceLocation) + 0x57\n",
    },
    rank=7, disc="cuda_error", conf="full",
)
case.fires(
    "crash_f25_nccl_system_error",
    {
        "t.log": ranked(4, stack(
            "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/"
            "ProcessGroupNCCL.cpp:1970, unhandled system error (run with NCCL_DEBUG=INFO for "
            "details), NCCL version 2.20.5\nncclSystemError: System call (e.g. socket, malloc) or "
            "external library call failed or device error. \nLast error:\nError while creating "
            "shared memory segment /dev/shm/nccl-lx7Yv2 (size 9637888)"))
        + torchrun(block(0, 5, "n-1", 4, 4, 1, 4123)),
    },
    rank=4, disc="nccl_error", conf="full",
)
case.fires(
    "crash_f26_container_of_a_rank",
    {
        "pods.json": k8s_list(
            pod("llama-worker-2", node="gpu-c3", phase="Failed", ends=[ended("Error", 139, 30)],
                env={"RANK": "2", "WORLD_SIZE": "4"}),
        ),
    },
    rank=2, node="gpu-c3", pod="llama-worker-2", disc="signal",
)
case.fires(
    "crash_f27_shell",
    {
        "rank_2.log": titan_step(0, 4).replace("rank0", "rank2")
        + "./run.sh: line 28:  8156 Segmentation fault      (core dumped) python3 main.py\n",
    },
    rank=2, disc="signal", conf="full",
)
case.fires(
    "crash_f28_earliest_of_two",
    {
        "slurm-99.out": prefixed(f"{second(9)} stderr F [rank5]: ", stack("ValueError: loss is NaN, stopping"))
        + prefixed(f"{second(12)} stderr F [rank2]: ", stack("RuntimeError: inconsistent tensor sizes"))
        + "srun: error: cn-1: tasks 2,5: Exited with exit code 1\n",
    },
    rank=5, disc="exception", conf="full",
)
case.fires(
    "crash_f29_jax",
    {
        "jax.log": stack("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory "
                         "while trying to allocate 17179869184 bytes."),
    },
    disc="out_of_memory_gpu",
)
case.fires(
    "crash_f30_hub_is_no_rank",
    {
        "t.log": ranked(0, stack(
            "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', "
            "port=443): Max retries exceeded with url: /gpt2 (Caused by NewConnectionError: "
            "Connection refused)"))
        + torchrun(block(0, 5, "n-1", 0, 0, 1, 4123)),
    },
    rank=0, disc="exception",
)
case.fires(
    "crash_f31_port_in_use",
    {
        "t.log": ranked(0, stack(
            "torch.distributed.DistNetworkError: The server socket has failed to listen on any "
            "local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, "
            "message: address already in use"))
        + torchrun(block(0, 5, "n-1", 0, 0, 1, 4123)),
    },
    rank=0, disc="exception", conf="full",
)

# ---- nobody failed -------------------------------------------------------------------------

TRAINED = titan_step(60, 20) + titan_step(70, 21) + titan_step(80, 22)

for number, error in enumerate([
    "ValueError: corrupt sample 17",
    "OSError: image file is truncated (5 bytes not processed)",
    "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    "requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='api.wandb.ai', port=443)",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.",
    "RuntimeError: CUDA error: out of memory",
    "botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL",
    "ModuleNotFoundError: No module named 'flash_attn'",
]):
    case.silent(f"crash_s{number:02d}_caught_and_trained_on",
                {"train.log": ranked(0, stack(error)) + TRAINED})

for number, line in enumerate([
    "WARNING retrying in 30 s (attempt 2 of 5)",
    "INFO skipping batch 812 after out of memory",
    "falling back to eager attention",
    "INFO Retrying upload of checkpoint shard 3",
    "WARNING ignoring the error above, the cache is optional",
    "INFO Early stopping, best epoch was 12",
    "Training finished in 3812 s",
    "INFO resuming from step 1200",
]):
    case.silent(f"crash_s{number + 10}_said_to_go_on",
                {"train.log": stack("RuntimeError: transient") + line + "\n"})

for number, message in enumerate([
    REMOTE,
    "torch.distributed.DistNetworkError: The client socket has failed to connect to any network "
    "address of (n-0, 29500).",
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
    "[10.0.0.4]:4211",
    "RuntimeError: Connection reset by peer",
    "ConnectionResetError: [Errno 104] Connection reset by peer",
    "BrokenPipeError: [Errno 32] Broken pipe",
    "torch.distributed.DistBackendError: NCCL communicator was aborted on rank 3.",
    "torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /default_pg/0//cuda//0",
    "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
    "horovod.common.exceptions.HorovodInternalError: Broken pipe",
    "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the "
    "C10d store has failed.",
    "RuntimeError: NCCL error: ncclRemoteError: A call failed possibly due to a network error or a "
    "remote process exiting prematurely.",
]):
    case.silent(f"crash_s{number + 20}_only_followed", {"rank_1.log": stack(message)})

for number, text in enumerate([
    "KeyboardInterrupt",
    "SystemExit: 0",
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 4100 got signal: 15",
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 4100 got signal: 2",
]):
    case.silent(f"crash_s{number + 34}_interrupted", {"train.log": TRAINED + stack(text)})

case.silent(
    "crash_s40_interrupt_then_table",
    {
        "train.log": ranked(0, stack("KeyboardInterrupt"))
        + torchrun(block(0, 5, "n-1", 0, 0, 1, 4123)),
    },
)
case.silent(
    "crash_s41_sigterm_table",
    {"train.log": torchrun(block(0, 5, "n-1", 0, 0, -15, 4123, SIGNAL15))},
)
case.silent(
    "crash_s42_sigint_table",
    {"train.log": torchrun(block(0, 5, "n-1", 0, 0, -2, 4123, "Signal 2 (SIGINT) received by PID"))},
)
for number, why in enumerate(["", " DUE TO TIME LIMIT", " DUE TO PREEMPTION"]):
    case.silent(
        f"crash_s{number + 43}_slurm_cancelled",
        {
            "slurm-77.out": TRAINED
            + f"slurmstepd: error: *** JOB 77 ON cn-1 CANCELLED AT 2026-03-04T05:10:00{why} ***\n"
            + ranked(0, stack("RuntimeError: DataLoader worker (pid 411) is killed by signal: "
                              "Terminated. "))
            + "srun: error: cn-1: tasks 0-7: Killed\n",
        },
    )
case.silent(
    "crash_s46_slurm_step_cancelled",
    {
        "slurm-78.out": TRAINED
        + "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
        "slurmstepd: error: *** STEP 78.0 ON cn-1 CANCELLED AT 2026-03-04T05:10:00 ***\n"
        "srun: error: cn-1: tasks 0-7: Terminated\n",
    },
)
case.silent(
    "crash_s47_sacct_states",
    {
        "sacct.txt": "JobID|JobName|State|ExitCode|End\n"
        "901|train|COMPLETED|0:0|2026-03-04T05:10:00\n"
        "902|train|CANCELLED by 1000|0:15|2026-03-04T05:10:00\n"
        "903|train|TIMEOUT|0:0|2026-03-04T05:10:00\n"
        "904|train|PREEMPTED|0:0|2026-03-04T05:10:00\n",
    },
)
case.silent(
    "crash_s48_sacct_failed_names_nobody",
    {"sacct.txt": "JobID|JobName|State|ExitCode|End\n905|prep|FAILED|1:0|2026-03-04T05:10:00\n"},
)
case.silent("crash_s49_exit_zero", {"hvd.log": "Process 5 exit with status code 0.\n" + TRAINED})
case.silent(
    "crash_s50_lightning_sigterm",
    {"pl.log": TRAINED + "[rank: 0] Received SIGTERM: 15\n[rank: 1] Received SIGTERM: 15\n"
     + stack("RuntimeError: DataLoader worker (pid 411) is killed by signal: Terminated. ")},
)
case.silent(
    "crash_s51_torchrun_death_signal",
    {
        "t.log": TRAINED
        + "W0304 05:10:00.000000 4100 torch/distributed/elastic/agent/server/api.py:704] Received "
        "Signals.SIGTERM death signal, shutting down workers\n"
        + torchrun(block(0, 300, "n-1", 0, 0, -9, 4123, "Signal 9 (SIGKILL) received by PID 4123")),
    },
)
for number, (reason, code, phase) in enumerate([
    ("Completed", 0, "Succeeded"), ("Error", 143, "Failed"), ("Error", 137, "Failed"),
    ("Error", 130, "Failed"),
]):
    case.silent(
        f"crash_s{number + 52}_container",
        {
            "pods.json": k8s_list(
                pod("llama-worker-2", node="gpu-c3", phase=phase, ends=[ended(reason, code, 30)],
                    env={"RANK": "2", "WORLD_SIZE": "4"}),
            ),
        },
    )
case.silent(
    "crash_s56_container_of_no_rank",
    {"pods.json": k8s_list(pod("web-7f9c", node="gpu-c3", phase="Failed",
                               ends=[ended("Error", 1, 30)]))},
)
case.silent(
    "crash_s57_thread_died",
    {
        "train.log": TRAINED + "Exception in thread Thread-5 (_report):\n"
        + stack("ConnectionError: metrics endpoint is away", "report.py") + titan_step(90, 23),
    },
)
case.silent(
    "crash_s58_exception_ignored",
    {
        "train.log": TRAINED + "Exception ignored in: <function Pool.__del__ at 0x7f2b>\n"
        + stack("AttributeError: 'NoneType' object has no attribute 'close'"),
    },
)
case.silent(
    "crash_s59_logging_error",
    {"train.log": TRAINED + "--- Logging error ---\n"
     + stack("TypeError: not all arguments converted during string formatting")},
)
case.silent(
    "crash_s60_source_code_in_a_log",
    {"train.log": TRAINED + "raise RuntimeError('DataLoader worker (pid(s) {}) exited "
     "unexpectedly'.format(pids))\n" + titan_step(90, 23)},
)
SERVICE = (
    "Traceback (most recent call last):\n"
    '  File "/usr/lib/python3/dist-packages/uvicorn/protocols/http.py", line 404, in run_asgi\n'
    "    result = await app(scope)\n"
    '  File "/srv/app/api.py", line 31, in handler\n    return store[key]\n'
    "KeyError: 'user'\n"
)
case.silent("crash_s68_service_that_goes_on", {"api.log": SERVICE})
case.silent(
    "crash_s69_service_in_the_journal",
    {
        "journal.txt": prefixed("Mar 04 05:06:07 gpu-07 fail2ban-server[812]: ", SERVICE)
        + "Mar 04 05:06:09 gpu-07 kernel: IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready\n",
    },
)
case.silent("crash_s61_healthy", {"train.log": TRAINED})
case.silent(
    "crash_s62_tests_of_a_program",
    {
        "pytest.log": "============================= test session starts "
        "==============================\ncollected 12 items\n\ntests/test_a.py ............ [100%]\n"
        "============================== 12 passed in 3.21s "
        "==============================\n",
    },
    exit=2,
)
case.silent(
    "crash_s63_out_of_memory_batch_halved",
    {
        "train.log": titan_step(0, 3) + ranked(0, stack(OOM))
        + "[rank0]: WARNING CUDA out of memory, retrying with batch size 8\n" + TRAINED,
    },
)
case.silent(
    "crash_s64_loader_worker_restarted",
    {
        "train.log": titan_step(0, 3)
        + "[rank0]: RuntimeError: DataLoader worker (pid 30882) is killed by signal: Killed. \n"
        + TRAINED,
    },
)
case.silent(
    "crash_s65_shell_terminated",
    {"rank_2.log": TRAINED + "./run.sh: line 28:  8156 Terminated              python3 main.py\n"},
)
case.silent(
    "crash_s66_srun_terminated_alone",
    {"slurm-9.out": TRAINED + "srun: error: cn-1: tasks 0-7: Terminated\n"},
)
case.silent(
    "crash_s67_grep_for_errors",
    {"notes.txt": "We looked for RuntimeError and exitcode in the logs and found nothing.\n"},
    exit=2,
)
