"""Makes the calls that come as lines on standard input: a device, and operators with seeds. A line of JSON after each.

A process of its own: what ends it is the parent's observation.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import Any, TextIO

os.environ.setdefault("SPYRE_DEVICE_MEMORY", "1GiB")

from tests.answers import quiet_worker

from .malformed import call, usable

MEMORY = 6 << 30  # bytes: what asks for more gets an exception from the host's allocator, too


def tell(answers: TextIO, *answer: dict[str, Any]) -> None:
    answers.write("".join(map(json.dumps, answer)) + "\n")
    answers.flush()


def main() -> None:
    answers = quiet_worker()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    tell(answers, {"ready": True})
    for line in sys.stdin:
        device, calls = json.loads(line)
        for name, seed in calls:
            wrong = call(name, seed, device) or usable(device)
            tell(answers, {"wrong": wrong})
        tell(answers)


if __name__ == "__main__":
    main()
