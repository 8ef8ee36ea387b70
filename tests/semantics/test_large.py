"""More than 2^31 elements: extents, offsets and indices that 32 bits do not hold. In a process of its own: 2 GiB."""

from __future__ import annotations

IN_MEMORY = """
import torch

n = 2**31 + 24
x = torch.zeros(n, dtype=torch.uint8, device="spyre")
x[n - 3 :] = 7
x[5] = 1
assert x.sum().item() == 22
assert x.argmax().item() == n - 3
assert torch.count_nonzero(x).item() == 4
x.add_(1)
assert x[-4:].tolist() == [1, 8, 8, 8]
assert x.view(-1, 8)[-1].tolist() == [1] * 5 + [8] * 3
assert x[torch.tensor([5, n - 1], device="spyre")].tolist() == [2, 8]
assert x[1::2][-1].item() == 8
assert (x[n - 16 :] * x[: 16]).tolist() == [1] * 5 + [2] + [1] * 7 + [8] * 3
"""

EXPANDED = """
import torch

n = 2**31 + 24
x = torch.full((1,), 3, dtype=torch.int8, device="spyre").expand(n)
assert x.sum().item() == 3 * n
assert x.view(8, -1).sum(1).tolist() == [3 * n // 8] * 8
assert x.max().item() == 3
assert x[n - 1].item() == 3
assert x[torch.tensor([0, n - 1], device="spyre")].tolist() == [3, 3]
assert x.as_strided((2,), (0,)).tolist() == [3, 3]
rows = torch.arange(3.0, device="spyre").unsqueeze(1).expand(3, n)
assert rows[2, n - 4 :].tolist() == [2.0] * 4
assert rows.shape == (3, n) and rows.t()[n - 1].tolist() == [0, 1, 2]
"""


def test_a_tensor_in_memory(run_python):
    child = run_python(IN_MEMORY)
    assert child.returncode == 0, child.stderr


def test_expanded_tensors(run_python):
    child = run_python(EXPANDED)
    assert child.returncode == 0, child.stderr
