# SPDX-License-Identifier: Apache-2.0
"""Lines of training programs."""

from when import moment, plain


def titan_line(seconds, message):
    """torchtitan under torchrun"""
    at = moment(seconds).strftime("%Y-%m-%d %H:%M:%S,000")
    return f"[rank0]:[titan] {at} - root - INFO - {message}\n"


def titan_step(seconds, step):
    return titan_line(
        seconds,
        f"step: {step:2d}  loss:  7.21  grad_norm:  1.2  memory: 48.87GiB(51.44%)  tps: 4,376  "
        "tflops: 25.1  mfu: 25.62%",
    )


def megatron_step(seconds, step, milliseconds):
    return (
        f" [{plain(seconds)}] iteration {step:8d}/   10000 | consumed samples: {step * 1024:12d} | "
        f"elapsed time per iteration (ms): {milliseconds:.1f} | learning rate: 1.0E-4 | "
        "global batch size:  1024 | lm loss: 2.1E+00 | loss scale: 1.0 | grad norm: 0.4 | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    )
