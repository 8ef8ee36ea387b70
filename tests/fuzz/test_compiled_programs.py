"""Random programs give the same bits compiled and eagerly: the same decomposed operators, run one way and the other."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
import torch
from hypothesis import Phase, given, settings
from torch.fx.experimental.proxy_tensor import make_fx

from .generate import KINDS, Instruction, Machine, programs, share_storage
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


# Which of an instruction's numbers picks the tensor that it writes.
TARGETS = {"write_through_view": "a", "fill": "a", "write_part": "a", "write_out": "c"}


class Spread:
    """Which tensors of a machine are seen through expand(): PyTorch's graphs add up what is written to them.

    That is PyTorch's own (test_pytorch_adds_up_what_is_written_to_an_expanded_tensor), so such writes are left out.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._tensors: list[torch.Tensor] = []

    def holds(self, tensor: torch.Tensor) -> bool:
        return any(tensor is one for one in self._tensors)

    def is_written_by(self, instruction: Instruction) -> bool:
        field_name = TARGETS.get(instruction.kind)
        return field_name is not None and self.holds(self._machine.pick(getattr(instruction, field_name)))

    def run(self, instruction: Instruction) -> None:
        """What is a view of a tensor that is spread, is spread, too."""
        source, before = self._machine.pick(instruction.a), [*self._machine.alive]
        KINDS[instruction.kind](self._machine, instruction.a, instruction.b, instruction.c)
        made = [one for one in self._machine.alive if all(one is not other for other in before)]
        if instruction.kind == "expand" or self.holds(source):
            self._tensors += [one for one in made if share_storage(one, source)]


def compilable(program: list[Instruction]) -> list[Instruction]:
    """The instructions that raise nothing; what they raise is the eager fuzzer's to look at."""
    machine, kept = Machine("spyre"), [Instruction("fresh", 1, 3, 0)]
    KINDS["fresh"](machine, 1, 3, 0)
    spread = Spread(machine)
    for instruction in program:
        if spread.is_written_by(instruction):
            continue
        try:
            spread.run(instruction)
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


@pytest.mark.parametrize("device", ["cpu", "spyre"])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_pytorch_adds_up_what_is_written_to_an_expanded_tensor(device: str, backend: str) -> None:
    """Both rows of the view are 7; its base becomes 7 + 7 - x, on every device. Fails when PyTorch mends it."""

    def write(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y.expand(2, 4).fill_(7)
        return y

    x = torch.arange(4.0, device=device)
    assert write(x).tolist() == [7, 7, 7, 7]
    assert torch.compile(write, backend=backend)(x).tolist() == [14, 13, 12, 11]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_an_expanded_tensor_sees_what_is_written_to_its_base(backend: str) -> None:
    def write(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        spread = y.expand(2, 4)
        y.add_(1)
        return spread * 2

    x = torch.arange(4.0, device="spyre")
    assert torch.compile(write, backend=backend)(x).tolist() == write(x).tolist()
