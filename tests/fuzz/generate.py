"""Random tensor programs as data: a list of small instructions, and the machine that runs them on a device.

Which tensors an instruction takes is decided from shapes and types alone, so that the same program does the same on
every device. An instruction that does not apply to what there is does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from hypothesis import strategies as st

MAX_NUMBERS = 4000
MAX_ALIVE = 10
OVERLAP_UNKNOWN = 2  # what PyTorch says of windows that slide
SHAPES = [(), (1,), (5,), (3, 4), (4, 3), (2, 3, 4), (1, 4), (3, 1), (0, 3), (17, 9), (2, 1, 3)]
EXACT_TYPES = [torch.float32, torch.float64, torch.int32, torch.int64, torch.bool]


@dataclass(frozen=True)
class Instruction:
    """`kind` picks from KINDS; the numbers are taken modulo whatever there is to choose from."""

    kind: str
    a: int
    b: int
    c: int


Action = Callable[["Machine", int, int, int], None]


@dataclass
class Machine:
    """Runs instructions on one device. `alive` are the tensors that a later instruction may take."""

    device: str
    alive: list[torch.Tensor] = field(default_factory=list)
    more: dict[str, Action] = field(default_factory=dict)  # what it can do besides
    streams: list[torch.Stream] = field(default_factory=list)  # instructions go to them in turn

    def pick(self, number: int) -> torch.Tensor:
        return self.alive[number % len(self.alive)]

    def keep(self, tensor: torch.Tensor) -> None:
        if tensor.numel() <= MAX_NUMBERS and tensor.dim() <= 5:
            self.alive.append(tensor)
        if len(self.alive) > MAX_ALIVE:
            self.alive.pop(0)

    def run(self, program: list[Instruction]) -> list[torch.Tensor | str]:
        """What every tensor alive at the end holds, and which errors came up on the way, by type."""
        errors: list[torch.Tensor | str] = []
        KINDS["fresh"](self, 1, 3, 0)
        for number, instruction in enumerate(program):
            try:
                with self.streams[number % len(self.streams)] if self.streams else nullcontext():
                    self.act(instruction)
            except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError) as error:
                errors.append(type(error).__name__)
        return [*errors, *(tensor.cpu() for tensor in self.alive)]

    def act(self, instruction: Instruction) -> None:
        kinds = KINDS if instruction.kind in KINDS else self.more
        kinds[instruction.kind](self, instruction.a, instruction.b, instruction.c)


KINDS: dict[str, Action] = {}


def action(body: Action) -> Action:
    KINDS[body.__name__] = body
    return body


@action
def fresh(machine: Machine, a: int, b: int, c: int) -> None:
    """Small whole and half numbers, so that sums of them are exact."""
    shape, dtype = SHAPES[b % len(SHAPES)], EXACT_TYPES[c % len(EXACT_TYPES)]
    count = torch.Size(shape).numel()
    numbers = ((torch.arange(count) * (a % 97 + 1)) % 13 - 6).to(torch.float64) / 2
    machine.keep(numbers.to(dtype).reshape(shape).to(machine.device))


UNARY = [torch.neg, torch.abs, torch.relu, torch.floor, torch.ceil, torch.square, torch.sign, torch.logical_not]
UNARY += [torch.isnan, lambda x: x.clamp(-2, 3), lambda x: x * 0.5, lambda x: x + 1, lambda x: 2 - x, torch.trunc]


@action
def unary(machine: Machine, a: int, b: int, c: int) -> None:
    machine.keep(UNARY[b % len(UNARY)](machine.pick(a)))


def unsigned_zeros(call: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """For extremes: which of two unlike zeros CPU takes depends on how far the element is from the tensor's end."""

    def with_plain_zeros(*arguments: object, **keywords: object) -> torch.Tensor:
        found = call(*arguments, **keywords)
        return found + 0 if found.is_floating_point() else found

    return with_plain_zeros


BINARY = [
    torch.add,
    torch.sub,
    torch.mul,
    unsigned_zeros(torch.maximum),
    unsigned_zeros(torch.minimum),
    torch.eq,
    torch.lt,
    torch.ge,
    torch.div,
]
BINARY += [torch.logical_and, torch.logical_xor, torch.bitwise_or, lambda x, y: torch.where(x > y, x, y)]


@action
def binary(machine: Machine, a: int, b: int, c: int) -> None:
    machine.keep(BINARY[c % len(BINARY)](machine.pick(a), machine.pick(b)))


CASTS = [*EXACT_TYPES, torch.float16, torch.bfloat16, torch.int8]


@action
def cast(machine: Machine, a: int, b: int, c: int) -> None:
    x = machine.pick(a)
    if x.is_floating_point():
        x = x.nan_to_num(0, 100, -100).clamp(-100, 100)
    machine.keep(x.to(CASTS[b % len(CASTS)]))


REDUCTIONS = [unsigned_zeros(torch.amax), unsigned_zeros(torch.amin), torch.any, torch.all, torch.argmax, torch.argmin]


@action
def reduce(machine: Machine, a: int, b: int, c: int) -> None:
    x = machine.pick(a)
    machine.keep(REDUCTIONS[b % len(REDUCTIONS)](x, dim=c % max(x.dim(), 1), keepdim=c % 2 == 0))


@action
def count(machine: Machine, a: int, b: int, c: int) -> None:
    """Sums of whole numbers are exact in every order; also of zeros of either sign."""
    x = machine.pick(a).nan_to_num(0, 1, -1).clamp(-8, 8)
    x = x.trunc() if x.is_floating_point() and b % 2 else x.to(torch.int64)
    machine.keep(x.sum(c % max(x.dim(), 1)))


@action
def transpose(machine: Machine, a: int, b: int, c: int) -> None:
    x = machine.pick(a)
    machine.keep(x.transpose(b % max(x.dim(), 1), c % max(x.dim(), 1)))


@action
def slice_of(machine: Machine, a: int, b: int, c: int) -> None:
    x = machine.pick(a)
    dim = b % max(x.dim(), 1)
    index = [slice(None)] * x.dim()
    index[dim] = slice(c % 3, None, c % 2 + 1)
    machine.keep(x[tuple(index)])


@action
def select(machine: Machine, a: int, b: int, c: int) -> None:
    x = machine.pick(a)
    machine.keep(x.select(b % max(x.dim(), 1), c % 4))


@action
def reshape(machine: Machine, a: int, b: int, c: int) -> None:
    x = machine.pick(a)
    machine.keep(x.reshape(-1) if b % 2 else x.unsqueeze(c % (x.dim() + 1)))


@action
def expand(machine: Machine, a: int, b: int, c: int) -> None:
    x = machine.pick(a)
    machine.keep(x.expand(b % 3 + 1, *x.shape))


@action
def join(machine: Machine, a: int, b: int, c: int) -> None:
    x = machine.pick(a)
    machine.keep(torch.cat([x, x.flip(0)], c % max(x.dim(), 1)) if b % 2 else torch.stack([x, x * 2]))


def same_view(x: torch.Tensor, y: torch.Tensor) -> bool:
    return (x.shape, x.stride(), x.storage_offset()) == (y.shape, y.stride(), y.storage_offset())


def share_storage(x: torch.Tensor, y: torch.Tensor) -> bool:
    return x.untyped_storage()._cdata == y.untyped_storage()._cdata


def readable_beside(written: torch.Tensor, read: torch.Tensor) -> torch.Tensor:
    """CPU defines no result for a write that overlaps what it reads in part: such a read is of a copy."""
    return read.clone() if share_storage(written, read) and not same_view(written, read) else read


@action
def write_through_view(machine: Machine, a: int, b: int, c: int) -> None:
    """In place, on a tensor that other living tensors may be views of."""
    x = machine.pick(a)
    if torch._debug_has_internal_overlap(x) == OVERLAP_UNKNOWN:
        return  # which of its elements come first is nobody's promise
    y = readable_beside(x, machine.pick(b))
    (x.add_, x.mul_, x.copy_, x.sub_)[c % 4](y)


@action
def fill(machine: Machine, a: int, b: int, c: int) -> None:
    machine.pick(a).fill_(b % 7)


@action
def write_part(machine: Machine, a: int, b: int, c: int) -> None:
    x = machine.pick(a)
    x[c % 3 :] = x.flatten()[0].clone() if b % 2 else b % 5


@action
def write_out(machine: Machine, a: int, b: int, c: int) -> None:
    target = machine.pick(c)
    if torch._debug_has_internal_overlap(target) == OVERLAP_UNKNOWN:
        return  # as above
    x, y = readable_beside(target, machine.pick(a)), readable_beside(target, machine.pick(b))
    if target.shape == torch.broadcast_shapes(x.shape, y.shape):
        torch.add(x, y, out=target)


@action
def copy(machine: Machine, a: int, b: int, c: int) -> None:
    machine.keep(machine.pick(a).clone())


@action
def forget(machine: Machine, a: int, b: int, c: int) -> None:
    if len(machine.alive) > 1:
        del machine.alive[a % len(machine.alive)]


@action
def look(machine: Machine, a: int, b: int, c: int) -> None:
    """A sync point in the middle."""
    machine.pick(a).cpu()


def programs() -> st.SearchStrategy[list[Instruction]]:
    number = st.integers(0, 60)
    instruction = st.builds(Instruction, st.sampled_from(sorted(KINDS)), number, number, number)
    return st.integers(5, 40).flatmap(lambda size: st.lists(instruction, min_size=size, max_size=size))
