"""How a worker process of the tests answers: on its own standard output, where nothing else is printed."""

from __future__ import annotations

import faulthandler
import os
import warnings
from typing import TextIO

import torch


def quiet_worker() -> TextIO:
    """Where the answers go. Whatever else prints goes to standard error; a crash leaves its trace there."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    faulthandler.enable()
    torch.set_num_threads(1)
    return answers
