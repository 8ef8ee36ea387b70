"""Ctrl-C while the host waits for the card: KeyboardInterrupt between two operations; the card goes on."""

from __future__ import annotations

import pytest

# The alarm comes as Ctrl-C would; a process in the background has no handler for that one.
PRELUDE = """
import signal, torch

signal.signal(signal.SIGALRM, signal.default_int_handler)
stream = torch.spyre.current_stream()
x = torch.full((1024, 1024), 1 / 1024, device="spyre")
host = torch.ones(1024, 1024)

def busy(steps):
    y = x
    for _ in range(steps):
        y = y @ x
    return y

def outcome(wait, steps):
    y = busy(steps)
    event = stream.record_event()
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        wait(y, event)
        return "waited to the end"
    except KeyboardInterrupt:
        return "too late" if event.query() else "interrupted"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)

def is_interrupted(wait):  # on a machine that is fast, of more work
    return any(outcome(wait, steps) == "interrupted" for steps in (40, 400, 4000))

torch.spyre.synchronize()
"""
END = """
print((torch.ones(2, device="spyre") + 1).tolist(), bool((busy(3).sum() - 1024).abs() < 1))
"""
WAITS = {
    "device": "lambda y, event: torch.spyre.synchronize()",
    "accelerator": "lambda y, event: torch.accelerator.synchronize()",
    "stream": "lambda y, event: stream.synchronize()",
    "event": "lambda y, event: event.synchronize()",
    "item": "lambda y, event: y[0, 0].item()",
    "cpu": "lambda y, event: y.cpu()",
    "upload": "lambda y, event: y.copy_(host)",
    "count": "lambda y, event: y.nonzero()",
    "host": "lambda y, event: y[(None,) * 11].cumsum(-1)",
}


@pytest.mark.parametrize("name", WAITS)
def test_a_wait_can_be_interrupted(run_python, name):
    child = run_python(f"{PRELUDE}\nprint(is_interrupted({WAITS[name]})){END}")
    assert child.stdout.splitlines() == ["True", "[2.0, 2.0] True"], child.stderr


GIVEN_UP = """
target = None

def copy(y, event):
    global target
    target = torch.zeros(1024, 1024)
    target.copy_(y)

print(is_interrupted(copy))
stream.synchronize()
print(target.sum().item())
"""


def test_a_copy_that_is_given_up_leaves_the_hosts_memory_alone(run_python):
    child = run_python(PRELUDE + GIVEN_UP)
    assert child.stdout.splitlines() == ["True", "0.0"], child.stderr


HANDLER = """
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append((torch.ones(2, device="spyre") + 1).tolist()))
print(outcome(lambda y, event: y.sum().item(), 40), seen)
"""


def test_a_handler_may_use_the_device_and_the_wait_goes_on(run_python):
    child = run_python(PRELUDE + HANDLER)
    assert child.stdout.splitlines() == ["waited to the end [[2.0, 2.0]]"], child.stderr
