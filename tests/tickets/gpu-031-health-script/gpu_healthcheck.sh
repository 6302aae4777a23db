#!/usr/bin/env bash
# gpu_healthcheck.sh - run by slurm prolog
#
# Exit codes:
#   0  all good
#   1  drain the node
#
# We drain on these:
#   Xid 79   GPU has fallen off the bus.
#   Xid 119  Timeout waiting for RPC from GSP
#   Xid 62   Internal micro-controller halt
#   RmInitAdapter failed
set -euo pipefail
PATTERN='Xid .*: (79|119|120|62|140|143|154),|RmInitAdapter failed|fallen off the bus'
if dmesg -T | grep -Eq "$PATTERN"; then
  echo "drain: $(dmesg -T | grep -E "$PATTERN" | tail -1)"
  exit 1
fi
n=$(nvidia-smi -L | wc -l)
[ "$n" -eq "${EXPECTED:-8}" ] || { echo "drain: $n GPUs"; exit 1; }
echo "ok: $n GPUs"
