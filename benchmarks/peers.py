"""Who is measured: the processes of spyre and of its peers, with their environment and allocator settings."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
JAX_PYTHON = ROOT / "build" / "peers" / "jax" / "bin" / "python"
PEERS = ("eager", "compile", "jax", "lazy_ts", "spyre-compile", "avx2")
OURS = ("spyre", "spyre-compile", "avx2")  # avx2 is spyre with the narrower instruction set
START_SECONDS = 120
# glibc then takes everything from its heap, and keeps what is freed.
RECYCLED = {"MALLOC_MMAP_THRESHOLD_": str(1 << 40), "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_ARENA_MAX": "1"}


class PeerError(Exception):
    """A peer that could not run a row, or took too long; the message is for the table."""


@dataclass(frozen=True)
class Contestant:
    """A peer and how its allocator is set. Immutable."""

    peer: str
    recycled: bool = False

    @property
    def name(self) -> str:
        return f"{self.peer}, recycled" if self.recycled else self.peer

    def command(self) -> list[str]:
        python = str(JAX_PYTHON) if self.peer == "jax" else sys.executable
        packages = ["--packages", sysconfig.get_path("purelib")] if self.peer == "jax" else []
        return [python, "-m", "benchmarks.worker", "--peer", self.peer, *packages]

    def environment(self, threads: int, cache: Path) -> dict[str, str]:
        """Every peer may use the same processors, and no cache that an earlier run has filled."""
        added = {
            "OMP_NUM_THREADS": str(threads),
            "SPYRE_THREADS": str(threads),
            "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "JAX_PLATFORMS": "cpu",
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": str(ROOT),
        }
        if self.peer == "avx2":
            added["SPYRE_ISA"] = "avx2"
        if self.peer not in OURS:
            added["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        return {**os.environ, **added, **(RECYCLED if self.recycled else {})}


class Worker:
    """A contestant's process, driven over pipes. Confined to the thread that made it."""

    def __init__(self, contestant: Contestant, threads: int, cache: Path, log: Path) -> None:
        self.contestant = contestant
        self.log = log.open("w")
        self.process = subprocess.Popen(
            [*contestant.command(), "--threads", str(threads)],
            cwd=ROOT,
            env=contestant.environment(threads, cache),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            start_new_session=True,
        )
        self.rest = b""
        self.is_open = False  # whether a row is being measured
        self.is_ready = False

    def wait_until_ready(self) -> None:
        if not self.is_ready:
            self.receive(START_SECONDS)
            self.is_ready = True

    def ask(self, seconds: float = 60, **command: Any) -> dict[str, Any]:
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()
        return self.receive(seconds)

    def receive(self, seconds: float) -> dict[str, Any]:
        answer = json.loads(self.line(seconds))
        if "open" in answer:
            self.is_open = True
        if "error" in answer or "closed" in answer:
            self.is_open = False
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer

    def line(self, seconds: float) -> bytes:
        output = self.process.stdout.fileno()
        while b"\n" not in self.rest:
            readable, _, _ = select.select([output], [], [], seconds)
            if not readable:
                self.kill()
                raise PeerError(f"no answer in {seconds:.0f} s")
            part = os.read(output, 1 << 16)
            if not part:
                raise PeerError(f"the process ended; see {self.log.name}")
            self.rest += part
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        self.is_open = False
        if self.alive:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def stop(self) -> None:
        """The process ends when its input does; it is killed if it has not after a while."""
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process.stdout.close()
        self.log.close()


def contestants(peers: list[str]) -> list[Contestant]:
    """spyre, and each peer as installed and with recycled buffers."""
    taking_part = [Contestant(peer, recycled) for peer in peers for recycled in (False, True)]
    return [Contestant("spyre"), *(c for c in taking_part if not (c.recycled and c.peer in OURS))]


def missing(peer: str) -> str | None:
    """Why a peer cannot run here."""
    if peer == "jax" and not JAX_PYTHON.exists():
        return "jax is not installed: `make bench-peers` puts it into an environment of its own"
    return None
