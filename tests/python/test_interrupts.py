"""Ctrl-C while the host waits for the card: KeyboardInterrupt between two operations; the card goes on."""

from __future__ import annotations

WAIT = """
import os, signal, threading, torch

x = torch.full((1024, 1024), 1 / 1024, device="spyre")
y = x
for _ in range(400):
    y = y @ x
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background has not
interrupt = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
interrupt.start()
try:
    torch.spyre.synchronize()
    print("waited to the end")
except KeyboardInterrupt:
    print("interrupted", torch.spyre.current_stream().query())
print((torch.ones(2, device="spyre") + 1).tolist(), bool((y.sum() - 1024).abs() < 1))
"""


def test_a_wait_can_be_interrupted(run_python):
    child = run_python(WAIT)
    assert child.stdout.splitlines() == ["interrupted False", "[2.0, 2.0] True"], child.stderr
