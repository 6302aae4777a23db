#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the inputs of the rank_crash cases; --check compares only."""

import datetime
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from making import MORNING, k8s_list, main, pod, when  # noqa: E402


def stack(error, file="train.py"):
    return (
        "Traceback (most recent call last):\n"
        f'  File "/workspace/{file}", line 214, in <module>\n'
        "    main()\n"
        f'  File "/workspace/{file}", line 174, in main\n'
        "    loss = model(batch)\n"
        f"{error}\n"
    )


def said(rank, at, text):
    """A rank's output as a collector keeps it."""
    return "".join(f"{when(at)} stderr F [rank{rank}]: {line}\n" for line in text.splitlines())


def step(at, number, rank=0):
    day = (MORNING + datetime.timedelta(seconds=at)).strftime("%Y-%m-%d %H:%M:%S,000")
    return f"[rank{rank}]:[titan] {day} - root - INFO - step: {number:2d}  loss:  7.21\n"


def failure(number, at, host, rank, code, trace="<N/A>"):
    day = (MORNING + datetime.timedelta(seconds=at)).strftime("%Y-%m-%d_%H:%M:%S")
    return (
        f"[{number}]:\n  time      : {day}\n  host      : {host}\n"
        f"  rank      : {rank} (local_rank: {rank % 8})\n  exitcode  : {code} (pid: {4120 + rank})\n"
        f"  error_file: <N/A>\n  traceback : {trace}\n"
    )


def torchrun(root, others="  <NO_OTHER_FAILURES>\n"):
    return (
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n" + "=" * 60 + "\n"
        "train.py FAILED\n" + "-" * 60 + "\nFailures:\n" + others + "-" * 60 + "\n"
        "Root Cause (first observed failure):\n" + root + "=" * 60 + "\n"
    )


CUDA = "RuntimeError: CUDA error: an illegal memory access was encountered"
REMOTE = (
    "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:301, remote process exited or "
    "there was a network error, NCCL version 2.21.5"
)
LOADER = "RuntimeError: DataLoader worker (pid 30882) is killed by signal: Bus error. "
MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB."
NCCL = (
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled system "
    "error, ncclSystemError: System call failed"
)
KILLED = "Signal 9 (SIGKILL) received by PID 4131"


def fires_on_root_cause():
    """Rank 3 meets an error of CUDA, and its peers see it leave. The table of torchrun names it."""
    return {
        "input/slurm-4711.out": step(0, 10) + said(1, 20, stack(REMOTE)) + said(3, 20, stack(CUDA))
        + torchrun(failure(0, 21, "gpu-17", 3, 1), failure(1, 21, "gpu-17", 1, 1)),
    }


def fires_on_signal():
    """A rank is killed; the launcher ends the others by SIGTERM."""
    return {
        "input/train.log": torchrun(
            failure(0, 5, "gpu-18", 11, -9, KILLED), failure(1, 6, "gpu-18", 10, -15)
        ),
    }


def fires_on_exception_of_srun():
    """Two ranks of a Slurm job fail; the first by time is told, with the node of both."""
    return {
        "input/slurm-99.out": said(5, 9, stack("ValueError: loss is NaN"))
        + said(2, 12, stack("RuntimeError: inconsistent tensor sizes"))
        + "srun: error: cn-1: tasks 2,5: Exited with exit code 1\n",
    }


def fires_on_gpu_memory():
    """mpirun reports the rank that aborted; its own words say that the GPU was full."""
    text = "".join(f"[1,3]<stderr>:{line}\n" for line in stack(MEMORY).splitlines())
    return {
        "input/mpi.log": text + "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\n"
        "with errorcode 1.\n",
    }


def fires_on_nccl_error():
    """A library call of NCCL failed on one rank, which is no consequence of another's end."""
    return {
        "input/train.log": said(4, 3, stack(NCCL)) + said(0, 3, stack(REMOTE))
        + torchrun(failure(0, 5, "n-1", 4, 1)),
    }


def fires_on_loader_worker():
    """A log that was pasted: it ends with the stack of a loader's worker. Nothing is dated."""
    return {"input/paste.txt": stack(LOADER, "loader.py")}


def fires_on_container():
    """Nothing but the pods: the container of rank 2 ended by a segmentation fault."""
    return {
        "input/pods.json": k8s_list(
            pod("llama-worker-2", "gpu-07", "Failed", [("main", 139, "Error", 30)],
                env={"RANK": "2", "WORLD_SIZE": "4"}),
            pod("llama-worker-1", "gpu-08", "Failed", [("main", 143, "Error", 33)],
                env={"RANK": "1", "WORLD_SIZE": "4"}),
        ),
    }


def resolved_when_training_goes_on():
    """torchrun starts the ranks again, and a minute later they train."""
    return {
        "input/slurm-4712.out": said(3, 20, stack(CUDA))
        + torchrun(failure(0, 21, "gpu-17", 3, 1)) + step(120, 11) + step(130, 12),
    }


def stays_quiet_on_caught_exception():
    """Two exceptions that the program caught: it trained on, or said that it would try again."""
    return {
        "input/train.log": step(0, 10) + said(0, 5, stack("ValueError: corrupt sample 17"))
        + step(20, 11) + step(30, 12) + step(40, 13),
        "input/other.log": said(0, 5, stack("OSError: upload failed"))
        + "2026-03-04T05:06:06Z stderr F [rank0]: retrying in 30 s\n",
    }


def stays_quiet_on_consequences():
    """Only what the peers of a rank saw of its end."""
    return {"input/rank_1.log": stack(REMOTE), "input/rank_2.log": stack("ConnectionResetError: "
            "[Errno 104] Connection reset by peer")}


def stays_quiet_on_cancelled_job():
    """The time of a job was up: what its processes say then is no failure."""
    return {
        "input/slurm-77.out": step(0, 10)
        + "slurmstepd: error: *** JOB 77 ON cn-1 CANCELLED AT 2026-03-04T05:10:00 DUE TO TIME LIMIT "
        "***\n" + said(0, 240, stack(CUDA)) + "srun: error: cn-1: tasks 0-7: Killed\n",
    }


def degrades_replayed_log():
    """The collector restarted and sent the same log again: one verdict."""
    text = said(3, 20, stack(CUDA)) + torchrun(failure(0, 21, "gpu-17", 3, 1))
    return {"input/slurm-4711.out": text, "input/again/slurm-4711.out": text}


def degrades_torn_log():
    """The log ends in the middle of a stack: what the data loader said before is all there is."""
    return {
        "input/train.log": step(0, 10) + stack(LOADER.replace("Bus error", "Killed"), "loader.py")
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/workspace/train.py", line 214, in <module>\n    main()\n'
        '  File "/workspace/train.py", line 174, in main\n    batch = next(loader)\n',
    }


def degrades_without_launcher():
    """The report of the launcher is lost: who failed first is told by time, and less sure."""
    return {
        "input/slurm-4711.out": said(1, 21, stack(REMOTE)) + said(3, 20, stack(CUDA)),
    }


CASES = [
    fires_on_root_cause,
    fires_on_signal,
    fires_on_exception_of_srun,
    fires_on_gpu_memory,
    fires_on_nccl_error,
    fires_on_loader_worker,
    fires_on_container,
    resolved_when_training_goes_on,
    stays_quiet_on_caught_exception,
    stays_quiet_on_consequences,
    stays_quiet_on_cancelled_job,
    degrades_replayed_log,
    degrades_torn_log,
    degrades_without_launcher,
]

if __name__ == "__main__":
    main(__file__, CASES)
