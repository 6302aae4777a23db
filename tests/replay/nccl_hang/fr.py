# SPDX-License-Identifier: Apache-2.0
"""Flight Recorder dumps of made-up jobs, as JSON and as pickles of protocol 2."""

import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from making import nanoseconds  # noqa: E402

SIZES = [[1024, 4096]]
DTYPES = ["BFloat16"]


class Job:
    """What every rank of a job issued. Ranks reach the same call a few milliseconds apart."""

    def __init__(self, size):
        self.ranks = range(size)
        self.groups = {}  # name: (description, members)
        self.entries = {rank: [] for rank in self.ranks}
        self.statuses = {}  # (rank, group): what pg_status says, where entries do not
        self.group("0", "default_pg", self.ranks)

    def group(self, name, desc, ranks):
        self.groups[name] = (desc, list(ranks))

    def pg_id(self, rank, group):
        """Numbered by each process for itself, in the order of its own groups."""
        mine = [name for name, (_, ranks) in self.groups.items() if rank in ranks]
        return mine.index(group)

    def issue(self, group, op, seq, at, ranks=None, state="completed", sizes=SIZES, dtypes=DTYPES):
        """A collective, `at` seconds into the morning, on all members or on these ranks."""
        for rank in self.groups[group][1] if ranks is None else ranks:
            self._add(rank, group, op, seq, at, state, sizes, dtypes, False)

    def history(self, group, op, first, last, at):
        """Collectives that all members completed, one a second."""
        for seq in range(first, last + 1):
            self.issue(group, op, seq, at + seq - first)

    def transfer(self, group, rank, peer, send, seq, at, state="scheduled"):
        """A send or receive between two global ranks; names use ranks inside the group."""
        members = self.groups[group][1]
        here, there = members.index(rank), members.index(peer)
        op = f"send {here}->{there}" if send else f"recv {here}<-{there}"
        self._add(rank, group, op, seq, at, state, [[4096, 1, 5120]], DTYPES, True)

    def batch(self, group, rank, transfers, seq, at, state="completed", flagged=True):
        """Transfers (peer, send) issued together. PyTorch never touches their records again, the one
        that closes the batch has the state of all; older versions do not flag it as p2p."""
        for peer, send in transfers:
            self.transfer(group, rank, peer, send, seq, at)
        self._add(rank, group, "coalesced", seq, at, state, [], [], True)
        self.entries[rank][-1]["is_p2p"] = flagged

    def _add(self, rank, group, op, seq, at, state, sizes, dtypes, is_p2p):
        created = nanoseconds(at + 0.003 * rank)
        done = state == "completed"
        self.entries[rank].append(
            {
                "record_id": len(self.entries[rank]),
                "pg_id": self.pg_id(rank, group),
                "process_group": (group, self.groups[group][0]),
                "collective_seq_id": 0 if is_p2p else seq,
                "p2p_seq_id": seq if is_p2p else 0,
                "op_id": len(self.entries[rank]) + 1,
                "profiling_name": f"nccl:{op}",
                "time_created_ns": created,
                "input_sizes": sizes,
                "input_dtypes": dtypes,
                "output_sizes": sizes,
                "output_dtypes": dtypes,
                "state": state,
                "time_discovered_started_ns": created + 2_000_000 if state != "scheduled" else None,
                "time_discovered_completed_ns": created + 80_000_000 if done else None,
                "retired": done,
                "timeout_ms": 600000,
                "is_p2p": is_p2p,
            }
        )

    def forget(self, rank):
        """The rank's recorder holds nothing; its process still knows how far it got."""
        for group, (_, ranks) in self.groups.items():
            if rank in ranks:
                self.statuses[rank, group] = self._status(rank, group)
        self.entries[rank] = []

    def _status(self, rank, group):
        own = [
            e
            for e in self.entries[rank]
            if e["process_group"][0] == group and not e["is_p2p"]
        ]
        reached = {
            "last_enqueued_collective": ("scheduled", "started", "completed"),
            "last_started_collective": ("started", "completed"),
            "last_completed_collective": ("completed",),
        }
        return {
            key: max((e["collective_seq_id"] for e in own if e["state"] in states), default=-1)
            for key, states in reached.items()
        }

    def dump(self, rank):
        mine = {n: (d, r) for n, (d, r) in self.groups.items() if rank in r}
        return {
            "version": "2.10",
            "pg_config": {n: {"name": n, "desc": d, "ranks": str(r)} for n, (d, r) in mine.items()},
            "nccl_version": "2.26.5",
            "pg_status": {
                str(self.pg_id(rank, n)): self.statuses.get((rank, n)) or self._status(rank, n)
                for n in mine
            },
            "entries": self.entries[rank],
        }

    def json_files(self, folder="input/pretrain", without=()):
        """The JSON variant, one entry per line: numbers of pg_status as strings, no time is 0."""
        files = {}
        for rank in self.ranks:
            dump = self.dump(rank)
            entries = [
                json.dumps({k: 0 if v is None else v for k, v in entry.items()})
                for entry in dump.pop("entries")
            ]
            dump["pg_status"] = {
                pg: {k: str(v) for k, v in status.items()}
                for pg, status in dump["pg_status"].items()
            }
            text = json.dumps(dump, indent=1)
            if entries:
                text = text[:-2] + ',\n "entries": [\n  ' + ",\n  ".join(entries) + "\n ]\n}"
            if rank not in without:
                files[f"{folder}/nccl_trace_rank_{rank}.json"] = text + "\n"
        return files

    def pickle_files(self, folder="input/pretrain"):
        return {
            f"{folder}/comm_lib_trace_rank_{rank}": pickled(self.dump(rank)) for rank in self.ranks
        }


def pickled(value):
    """Protocol 2 with PyTorch's opcodes; equal strings are written once. Python's own pickler
    goes by identity, which differs between its versions."""
    out = bytearray(b"\x80\x02")
    memo = {}

    def numbered(short, long, number):
        out.extend(short + bytes([number]) if number < 256 else long + struct.pack("<I", number))

    def put(what):
        memo[what] = len(memo)
        numbered(b"q", b"r", memo[what])

    def write(v):
        if v is None:
            out.extend(b"N")
        elif v is True or v is False:
            out.extend(b"\x88" if v else b"\x89")
        elif isinstance(v, int) and -(2**31) <= v < 2**31:
            out.extend(b"J" + struct.pack("<i", v))
        elif isinstance(v, int):
            out.extend(b"\x8a\x08" + struct.pack("<q", v))
        elif isinstance(v, str) and v in memo:
            numbered(b"h", b"j", memo[v])
        elif isinstance(v, str):
            out.extend(b"X" + struct.pack("<I", len(v.encode())) + v.encode())
            put(v)
        elif isinstance(v, tuple) and len(v) == 2:
            write(v[0])
            write(v[1])
            out.extend(b"\x86")
            put(object())
        elif isinstance(v, (list, range)):
            out.extend(b"]")
            put(object())
            out.extend(b"(")
            for item in v:
                write(item)
            out.extend(b"e")
        elif isinstance(v, dict):
            out.extend(b"}")
            put(object())
            out.extend(b"(")
            for key, item in v.items():
                write(key)
                write(item)
            out.extend(b"u")
        else:
            raise TypeError(type(v))

    write(value)
    out.extend(b".")
    return bytes(out)
