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
    rank=3, node="gpu-07", disc="signal", conf="full",
)
case.fires(
    "crash_f11_srun_exit_code_and_traceback",
    {
        "slurm-813.out": prefixed("5: ", stack("RuntimeError: Expected all tensors to be on the "
                                               "same device, but found at least two devices"))
        + "srun: error: gpu-09: task 5: Exited with exit code 1\n"
        "srun: launch/slurm: _step_signal: Terminating StepId=813.0\n",
    },
    rank=5, node="gpu-09", disc="exception", conf="full",
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

# ---- whose task, process, pod or container it was ------------------------------------------

HEAD = "SLURM_JOB_NODELIST=cn[07-08]\nSLURM_NTASKS_PER_NODE=4\n"
case.fires(
    "crash_f40_task_is_the_rank",
    {
        "slurm-77.out": HEAD + titan_step(0, 4)
        + "srun: error: cn08: task 6: Illegal instruction\n"
        "srun: error: cn07: tasks 0-3: Terminated\nsrun: error: cn08: tasks 4-5,7: Terminated\n",
    },
    rank=6, node="cn08", disc="signal", conf="full",
)
case.fires(
    "crash_f41_task_of_a_world_of_that_size",
    {
        "slurm-78.out": "SLURM_NTASKS=2\nWORLD_SIZE=2\n"
        "srun: error: cn08: task 1: Exited with exit code 7\n",
    },
    rank=1, node="cn08", disc="exception", conf="full",
)
case.fires(
    "crash_f42_task_is_torchrun",
    {
        "slurm-79.out": ranked(13, stack("KeyError: 'shard'"))
        + agent(5, 1, 5, 4123)
        + "srun: error: cn08: task 1: Exited with exit code 1\n",
    },
    rank=13, disc="exception",
    why="the task is a launcher: its number is no rank",
)
case.fires(
    "crash_f43_one_task_per_node",
    {
        "slurm-80.out": "srun: error: cn08: task 1: Exited with exit code 1\n"
        "srun: error: cn07: task 0: Terminated\n",
    },
    node="cn08", disc="exception", conf="partial",
)
case.fires(
    "crash_f44_task_out_of_memory",
    {
        "slurm-81.out": HEAD
        + "slurmstepd: error: Detected 1 oom_kill event in StepId=81.0. Some of the step tasks "
        "have been OOM Killed.\nsrun: error: cn07: task 2: Out Of Memory\n"
        "srun: error: cn08: tasks 4-7: Terminated\n",
    },
    rank=2, node="cn07", disc="signal", conf="full", others=("host_oom",),
)
case.fires(
    "crash_f45_pals",
    {
        "job.o771": "x1004c2s3b0n0.hsn.cm.polaris.example: rank 9 died from signal 7 and dumped core\n"
        "x1004c2s3b0n1.hsn.cm.polaris.example: rank 12 died from signal 15\n",
    },
    rank=9, node="x1004c2s3b0n0.hsn.cm.polaris.example", disc="signal", conf="full",
)
case.fires(
    "crash_f46_jsrun_and_open_mpi",
    {
        "lsf.out": "[a23n11:70112] *** Process received signal ***\n"
        "[a23n11:70112] Signal: Segmentation fault (11)\n"
        "[a23n11:70112] Signal code: Address not mapped (1)\n"
        "ERROR:  One or more process (first noticed rank 17) terminated with signal 11\n",
    },
    rank=17, node="a23n11", disc="signal", conf="full",
)
case.fires(
    "crash_f47_sagemaker",
    {
        "cloudwatch.log": prefixed(
            "2026-03-04T05:06:09.120000000Z [1,mpirank:10,algo-2]<stderr>:",
            stack("TypeError: 'NoneType' object is not subscriptable"))
        + prefixed(
            "2026-03-04T05:06:10.220000000Z ",
            "The first process to do so was:\n\n  Process name: [[40013,1],10]\n"
            "  Exit code:    1\n"),
    },
    rank=10, node="algo-2", disc="exception", conf="full",
)
case.fires(
    "crash_f48_compose",
    {
        "compose.log": "ddp-0  | epoch 1 auc 0.71\n"
        + prefixed("ddp-2  | ", stack("MemoryError: Unable to allocate 61 GiB"))
        + prefixed("ddp-0  | ", stack("RuntimeError: [pair.cc:534] Connection closed by peer "
                                      "[172.18.0.4]:31022"))
        + "ddp-2 exited with code 1\nddp-0 exited with code 1\n",
    },
    rank=2, disc="exception", conf="full",
)
case.fires(
    "crash_f49_ucx_and_the_launchers_list",
    {
        "run.log": "starting rank=4 local_rank=0 host=ib-11 pid=9100\n"
        "starting rank=5 local_rank=1 host=ib-11 pid=9101\n"
        "[ib-11:9101:0:9188] Caught signal 11 (Segmentation fault: address not mapped to object "
        "at address 0x8)\n==== backtrace (tid:   9188) ====\n"
        "worker pid 9100 exited: signal 15\n",
    },
    rank=5, node="ib-11", disc="signal", conf="full",
)
case.fires(
    "crash_f50_ray_ranks",
    {
        "driver.log": "(TorchTrainer pid=71) Started distributed worker processes: \n"
        "(TorchTrainer pid=71) - (node_id=c0ffee, ip=10.0.8.40, pid=2209) world_rank=0, "
        "local_rank=0, node_rank=0\n"
        "(TorchTrainer pid=71) - (node_id=beef01, ip=10.0.8.41, pid=2210) world_rank=1, "
        "local_rank=0, node_rank=1\n"
        + prefixed("(RayTrainWorker pid=2210, ip=10.0.8.41) ",
                   stack("IndexError: index 50304 is out of range")),
    },
    rank=1, node="10.0.8.41", disc="exception",
)
case.fires(
    "crash_f51_syslog_of_rfc_5424",
    {
        "collected.log": prefixed("<11>1 2026-03-04T05:06:07.100Z cn-31 trainer 811 - - [rank9]: ",
                                  stack("OSError: [Errno 24] Too many open files"))
        + prefixed("<11>1 2026-03-04T05:06:09.100Z cn-30 trainer 640 - - [rank1]: ", stack(REMOTE)),
    },
    rank=9, node="cn-31", disc="exception",
)


def described(pod, node, env, state, labels=""):
    return (
        f"Name:             {pod}\nNamespace:        ml\nNode:             {node}/10.0.0.4\n"
        f"Labels:           app=x\n{labels}Status:           {{}}\n"
        "Containers:\n  main:\n    Image:         train:1\n"
        f"{state}    Limits:\n      nvidia.com/gpu:  1\n    Environment:\n{env}"
    )


ENDED = (
    "    State:          Terminated\n      Reason:       {}\n      Exit Code:    {}\n"
    "      Started:      Wed, 04 Mar 2026 05:00:00 +0000\n"
    "      Finished:     Wed, 04 Mar 2026 05:06:07 +0000\n    Ready:          False\n"
)
case.fires(
    "crash_f52_described_pod_out_of_memory",
    {
        "pod.txt": described("mae-worker-4", "k-07", "      WORLD_SIZE:  8\n      RANK:  5\n",
                             ENDED.format("OOMKilled", 137)).format("Failed"),
    },
    rank=5, node="k-07", pod="mae-worker-4", disc="signal", conf="full",
)
case.fires(
    "crash_f53_index_of_an_indexed_job",
    {
        "pod.txt": described(
            "moe-3-x8k2p", "k-08",
            "      RANK:   (v1:metadata.annotations['batch.kubernetes.io/job-completion-index'])\n",
            ENDED.format("Error", 139),
            "Annotations:      batch.kubernetes.io/job-completion-index: 3\n").format("Failed"),
    },
    rank=3, node="k-08", disc="signal", conf="full",
)
case.fires(
    "crash_f54_crash_loop_and_its_log",
    {
        "describe.txt": described(
            "clip-worker-0", "k-09", "      WORLD_SIZE:  4\n      RANK:  1\n",
            "    State:          Waiting\n      Reason:       CrashLoopBackOff\n"
            + ENDED.format("Error", 1).replace("State", "Last State")).format("Running"),
        "clip-worker-0.log": stack("ModuleNotFoundError: No module named 'flash_attn'"),
    },
    rank=1, node="k-09", pod="clip-worker-0", disc="exception", conf="full",
)
case.fires(
    "crash_f55_rank_and_host_in_json",
    {
        "train.jsonl": '{"ts":"2026-03-04T05:06:01Z","host":"cn-5","rank":11,"msg":"step 100 loss 2"}\n'
        '{"ts":"2026-03-04T05:06:07Z","level":"ERROR","host":"cn-5","rank":11,"msg":"failed",'
        '"exc_info":"Traceback (most recent call last):\\n  File \\"/app/train.py\\", line 9, in run'
        '\\n    row = parse(line)\\nUnicodeError: not a \\"record\\""}\n',
    },
    rank=11, node="cn-5", disc="exception",
)
case.fires(
    "crash_f56_first_line_names_the_host",
    {
        "rank9.log": "[init] hostname: lab-7 world_size: 16\n" + stack("EOFError: Ran out of input"),
        "rank0.log": "[init] hostname: lab-3 world_size: 16\n" + stack(REMOTE),
    },
    rank=9, node="lab-7", disc="exception",
)
case.fires(
    "crash_f57_job_of_one_node",
    {
        "slurm-82.out": "SLURM_JOB_NODELIST=cn44\n" + titan_step(0, 4)
        + "/var/spool/slurmd/job82/slurm_script: line 21: 40112 Segmentation fault      (core "
        "dumped) python train.py\n",
    },
    node="cn44", disc="signal",
)
case.fires(
    "crash_f58_watchdog_of_the_rank",
    {
        "t.log": "[rank19]:[E304 05:06:07.000000142 ProcessGroupNCCL.cpp:1895] [PG ID 2 PG GUID "
        "5(TP) Rank 3] Process group watchdog thread terminated with exception: CUDA error: "
        "misaligned address\nterminate called after throwing an instance of "
        "'c10::DistBackendError'\nsrun: error: cn-3: task 19: Aborted (core dumped)\n"
        "srun: error: cn-3: tasks 16-18: Terminated\n",
    },
    rank=19, node="cn-3", disc="cuda_error", conf="full",
)
case.fires(
    "crash_f59_peers_name_the_task",
    {
        "pdsh.out": prefixed("tf-3: ", stack("ValueError: Shapes (8, 10) and (8, 12) are "
                                             "incompatible", "train_keras.py"))
        + "tf-0: tensorflow.python.framework.errors_impl.UnavailableError: Graph execution error: "
        "Collective ops is aborted by: Task /job:worker/replica:0/task:3 died\n",
    },
    rank=3, node="tf-3", disc="exception",
)
case.fires(
    "crash_f60_nccl_says_where_ranks_run",
    {
        "out.log": "".join(
            f"cn-{2 + r // 2}:{700 + r}:{800 + r} [{r % 2}] NCCL INFO comm 0x55d0c{r} rank {r} nranks 4 "
            f"cudaDev {r % 2} nvmlDev {r % 2} busId {r}1000 commId 0x6cb - Init START\n"
            for r in range(4))
        + ranked(3, stack("AssertionError: bad batch")) + ranked(0, stack(REMOTE)),
    },
    rank=3, node="cn-3", disc="exception",
)
case.fires(
    "crash_f61_node_of_a_restarted_rank",
    {
        "elastic.log": ranked(6, stack("EOFError: truncated")) + agent(1, 1, 6, 90)
        + ranked(6, stack("EOFError: truncated"))
        + torchrun(block(0, 60, "cn-9", 6, 6, 1, 98)),
    },
    rank=6, node="cn-9", disc="exception",
)
case.fires(
    "crash_f62_rank_on_host",
    {
        "t.log": "Rank 9 on host cn-17 ready\nRank 1 on host cn-16 ready\n"
        + ranked(9, stack("OverflowError: int too large")) + ranked(1, stack(REMOTE)),
    },
    rank=9, node="cn-17", disc="exception",
)

case.fires(
    "crash_f64_two_logs_of_one_job",
    {
        "node0.log": ranked(3, stack(REMOTE)) + torchrun(block(0, 7, "tr-0", 3, 3, 1, 4123)),
        "node1.log": ranked(12, stack("AssertionError: (2048, 2047)"))
        + torchrun(block(0, 5, "tr-1", 12, 4, 1, 512)),
    },
    rank=12, node="tr-1", disc="exception", conf="full",
)
case.fires(
    "crash_f65_nccl_warned_on_its_node",
    {
        "t.log": "ib-3:2211:2300 [1] misc/ibvwrap.cc:190 NCCL WARN Call to ibv_modify_qp failed "
        "with error Invalid argument\n"
        + ranked(9, stack("torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:"
                          "3384, unhandled system error, NCCL version 2.21.5"))
        + ranked(0, stack(REMOTE)),
    },
    rank=9, node="ib-3", disc="nccl_error",
)
case.fires(
    "crash_f66_open_mpi_bindings",
    {
        "mpi.log": "[cn-7:4110] MCW rank 22 bound to socket 0[core 0[hwt 0]]: [B/./.]\n"
        "[cn-8:4122] MCW rank 23 bound to socket 0[core 0[hwt 0]]: [B/./.]\n"
        "MPI_ABORT was invoked on rank 23 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n",
    },
    rank=23, node="cn-8", disc="exception", conf="full",
)
case.fires(
    "crash_f67_tasks_that_jax_misses",
    {
        "pdsh.out": prefixed("w-2: ", stack("ValueError: record 88 has no inputs", "train_jax.py"))
        + "w-0: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n"
        "w-0: /job:jax_worker/replica:0/task:2\n",
    },
    rank=2, node="w-2", disc="exception",
)
case.fires(
    "crash_f68_ray_kills_for_memory",
    {
        "driver.log": "(TrainController pid=71) - (ip=10.9.1.8, pid=2210) world_rank=2, "
        "local_rank=0, node_rank=1\n"
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
        "Memory on the node (IP: 10.9.1.8, ID: ab) where the task (actor ID: cd, "
        "name=RayTrainWorker.__init__, pid=2210, memory used=200GB) was running was 505GB / 512GB "
        "(0.98), which exceeds the memory usage threshold of 0.95.\n",
    },
    rank=2, node="10.9.1.8", disc="signal", conf="full",
)
case.fires(
    "crash_f69_log_named_by_role",
    {
        "describe.txt": described(
            "vit-worker-0", "k-09", "      RANK:  1\n", ENDED.format("Error", 1)).format("Failed"),
        "worker-0.log": stack("ImportError: libcudnn.so.9: cannot open shared object file"),
    },
    rank=1, node="k-09", pod="vit-worker-0", disc="exception", conf="full",
)
case.fires(
    "crash_f70_rank_in_the_head_of_the_log",
    {
        "a.log": "RANK=5 WORLD_SIZE=8 LOCAL_RANK=5\n" + stack("KeyError: 'x'"),
    },
    rank=5, disc="exception",
)
case.fires(
    "crash_f71_rank_0_speaks_for_all",
    {
        "a.log": "RANK=0 WORLD_SIZE=8\n" + stack("KeyError: 'x'"),
    },
    rank=[], disc="exception", why="rank 0 greets in the log of all; the stack is anybody's",
)
case.fires(
    "crash_f72_mapping_of_deepspeed",
    {
        "ds.log": "[INFO] [launch.py:162:main] global_rank_mapping=defaultdict(<class 'list'>, "
        "{'w-0': [0, 1], 'w-1': [2, 3]})\n" + ranked(3, stack("KeyError: 'x'"))
        + ranked(0, stack(REMOTE)),
    },
    rank=3, node="w-1", disc="exception",
)
# ---- not of this job -----------------------------------------------------------------------

case.silent(
    "crash_s70_captured_by_tests_that_passed",
    {
        "ci.txt": "=========== test session starts ===========\ncollected 2 items\n\n"
        "tests/test_launch.py ..      [100%]\n----------- Captured stderr call -----------\n"
        + torchrun(block(0, 2, "localhost", 1, 1, 1, 733))
        + "=========== 2 passed in 4.12s ===========\n",
    },
)
case.silent(
    "crash_s71_runbook",
    {
        "oncall.md": "# Troubleshooting a training job\n\n```\nsrun: error: cn-4: task 3: "
        "Segmentation fault (core dumped)\nsrun: error: <node>: task N: Bus error\n```\n",
        "train.log": TRAINED,
    },
)
case.silent(
    "crash_s72_placeholders",
    {
        "notes.txt": "Look for `srun: error: <node>: task N: Segmentation fault`.\n",
        "train.log": TRAINED,
    },
)
case.silent(
    "crash_s73_mail_quotes_the_past",
    {
        "mail.txt": "From: ana\nSubject: Re: crashed job\n\nTwo weeks back, and again last month, "
        "we had\n\n> [rank4]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
        "> srun: error: cn-4: task 4: Exited with exit code 1\n\nThe board was replaced and the "
        "job is fine now.\n",
        "train.log": TRAINED,
    },
)
case.fires(
    "crash_f63_mail_quotes_the_crash",
    {
        "mail.txt": "From: ana\nSubject: my job crashed\n\nIt ended with\n\n"
        "> srun: error: cn-4: task 4: Bus error (core dumped)\n\nWhat can I do?\n",
    },
    node="cn-4", disc="signal",
)
case.silent(
    "crash_s74_exception_that_a_test_expects",
    {
        "doctest.txt": "Trying:\n    launch(fail_rank=3)\nExpecting:\n    Traceback (most recent call "
        "last):\n        ...\n    WorkerLost: rank 3 exited with code 1\nok\n"
        "1 items passed all tests.\n",
        "train.log": TRAINED,
    },
    exit=2,
)
