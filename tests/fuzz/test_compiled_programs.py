"""Random programs give the same bits compiled and eagerly: the same decomposed operators, run one way and the other."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
import torch
from hypothesis import Phase, given, settings
from torch.fx.experimental.proxy_tensor import make_fx

from .generate import KINDS, Instruction, Machine, programs
from .test_random_programs import EXAMPLES, RELAXED, assert_same

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch._inductor.compile_fx


@dataclass
class Fed(Machine):
    """Its fresh tensors are copies of what was made beforehand: the arguments of what is compiled.

    Copies, because Inductor drops copies of arguments that are written to afterwards, on CPU as well.
    """

    fresh: list[torch.Tensor] = field(default_factory=list)

    def step(self, instruction: Instruction) -> None:
        if instruction.kind == "fresh":
            self.keep(self.fresh.pop(0).clone())
        else:
            KINDS[instruction.kind](self, instruction.a, instruction.b, instruction.c)


def compilable(program: list[Instruction]) -> list[Instruction]:
    """The instructions that raise nothing; what they raise is the eager fuzzer's to look at.

    None expands: PyTorch's own graphs do not see where a write to an expanded tensor goes.
    """
    machine, kept = Machine("spyre"), []
    for instruction in [Instruction("fresh", 1, 3, 0), *(step for step in program if step.kind != "expand")]:
        try:
            KINDS[instruction.kind](machine, instruction.a, instruction.b, instruction.c)
        except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError):
            continue
        kept.append(instruction)
    return kept


def fresh_tensors(program: list[Instruction]) -> Iterator[torch.Tensor]:
    machine = Machine("spyre")
    for instruction in program:
        if instruction.kind == "fresh":
            KINDS["fresh"](machine, instruction.a, instruction.b, instruction.c)
            yield machine.alive[-1]


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    yield
    torch._dynamo.reset()


@pytest.mark.filterwarnings("ignore")
@settings(
    RELAXED,
    max_examples=max(EXAMPLES // 20, 5),
    derandomize=True,  # what PyTorch itself gets wrong is not met by chance
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(program=programs())
def test_a_decomposed_program_gives_the_same_bits_compiled(program: list[Instruction]) -> None:
    program = compilable(program)
    inputs = [*fresh_tensors(program)]

    def run(*fresh: torch.Tensor) -> list[torch.Tensor]:
        machine = Fed("spyre", fresh=[*fresh])
        for instruction in program:
            machine.step(instruction)
        return machine.alive

    def results(backend: str) -> list[torch.Tensor]:
        torch._dynamo.reset()
        return [tensor.cpu() for tensor in torch.compile(recorded, backend=backend)(*copies())]

    def copies() -> list[torch.Tensor]:
        return [tensor.clone() for tensor in inputs]

    recorded = make_fx(run)(*copies())
    assert_same(results("inductor"), results("aot_eager_decomp_partition"))
