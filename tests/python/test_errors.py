"""What CPU raises at a call is raised at the same call, with the same Python type; the device stays usable."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

BAD_CALLS = {
    "shapes": lambda d: torch.ones(2, 3, device=d) + torch.ones(4, device=d),
    "matmul": lambda d: torch.ones(2, 3, device=d) @ torch.ones(2, 3, device=d),
    "view": lambda d: torch.ones(2, 3, device=d).view(4),
    "view_of_transposed": lambda d: torch.ones(2, 3, device=d).t().view(6),
    "dimension": lambda d: torch.ones(2, device=d).sum(3),
    "index_rank": lambda d: torch.ones(2, device=d)[0, 0],
    "index": lambda d: torch.ones(2, device=d)[5],
    "item": lambda d: torch.ones(2, device=d).item(),
    "bool": lambda d: bool(torch.ones(2, device=d)),
    "in_place_cast": lambda d: torch.ones(2, dtype=torch.int32, device=d).add_(1.5),
    "in_place_shape": lambda d: torch.ones(2, device=d).add_(torch.ones(3, 2, device=d)),
    "out_type": lambda d: torch.add(torch.ones(2, device=d), 1, out=torch.ones(2, dtype=torch.int32, device=d)),
    "negative_size": lambda d: torch.empty(-1, device=d),
    "cat": lambda d: torch.cat([torch.ones(2, 3, device=d), torch.ones(2, 4, device=d)]),
    "reshape": lambda d: torch.ones(6, device=d).reshape(4, 2),
    "squeeze_dim": lambda d: torch.ones(2, device=d).squeeze(4),
    "expand": lambda d: torch.ones(2, device=d).expand(3, 3),
    "bitwise_float": lambda d: torch.ones(2, device=d) & torch.ones(2, device=d),
    "as_strided": lambda d: torch.ones(2, device=d).as_strided((2, 2), (-1, 1)),
    "leaf": lambda d: torch.ones(2, device=d, requires_grad=True).add_(1),
    "argmax_empty": lambda d: torch.ones(0, device=d).argmax(),
    "view_dtype": lambda d: torch.ones(3, dtype=torch.int8, device=d).view(torch.int16),
    "set_size": lambda d: torch.ones(2, device=d).set_(torch.ones(4, device=d).untyped_storage(), -1, (2,), (1,)),
    "stack": lambda d: torch.stack([torch.ones(2, device=d), torch.ones(3, device=d)]),
    "softmax_dim": lambda d: torch.softmax(torch.ones(2, device=d), 4),
    "unsupported_type": lambda d: torch.linalg.inv(torch.ones(2, 2, dtype=torch.int32, device=d)),
    "gather_index": lambda d: torch.ones(3, device=d).gather(0, torch.tensor([5], device=d)).cpu(),
    "scatter_index": lambda d: torch.ones(3, device=d).scatter_(0, torch.tensor([-1], device=d), 2.0).cpu(),
    "embedding_index": lambda d: torch.ones(3, 2, device=d).index_select(0, torch.tensor([3], device=d)).cpu(),
    "singular": lambda d: torch.linalg.inv(torch.zeros(2, 2, device=d)),
}


def raised(call, device: str) -> type[BaseException] | None:
    try:
        call(device)
    except Exception as error:
        return type(error)
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BAD_CALLS)
def test_the_same_error_as_cpu(name):
    expected = raised(BAD_CALLS[name], "cpu")
    assert expected is not None
    assert raised(BAD_CALLS[name], "spyre") is expected
    assert (torch.ones(2, device="spyre") + 1).tolist() == [2, 2]


def test_isa_that_this_cpu_lacks_is_a_clear_error(run_python):
    flags = Path("/proc/cpuinfo").read_text()
    child = run_python("import torch; print((torch.ones(2, device='spyre') + 1).tolist())", SPYRE_ISA="avx512")
    if "avx512f" in flags:
        assert child.stdout.strip() == "[2.0, 2.0]", child.stderr
    else:
        assert "NotImplementedError" in child.stderr
        assert "avx2" in child.stderr


def test_only_strided_tensors():
    with pytest.raises((NotImplementedError, RuntimeError)):
        torch.empty(2, 2, layout=torch.sparse_coo, device="spyre")
