"""The first call of an operation waits for no compiler and imports nothing of PyTorch's that is written in Python."""

import subprocess
import sys

import pytest

CALLS = {
    "gather": "x.gather(1, y[:, None])",
    "index": "x[y]",
    "index_select": "x.index_select(0, y)",
    "index_add": "x.index_add(0, y, x)",
    "scatter": "x.scatter(1, y[:, None], 1.0)",
    "cumsum": "x.cumsum(0)",
    "sort": "x.sort()",
    "topk": "x.topk(2)",
    "cross_entropy": "F.cross_entropy(x.requires_grad_(), y).backward()",
    "cross_entropy of many": "F.cross_entropy(torch.rand(2048, 1024, device=x.device), y.repeat(512))",
    "max_pool2d": "F.max_pool2d(image, 2)",
    "interpolate": "F.interpolate(image, scale_factor=2, mode='bilinear')",
    "unfold": "F.unfold(image, 3)",
    "many complex numbers": "(torch.ones(1 << 21, dtype=torch.complex64, device=x.device) * 2j).mul_(2).sum(0)",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_the_first_call_imports_no_compiler(call):
    program = f"""
import sys, torch, torch.nn.functional as F
x, y = torch.rand(4, 8, device="spyre"), torch.tensor([1, 2, 3, 0], device="spyre")
image = torch.rand(2, 3, 8, 8, device="spyre")
torch.spyre.synchronize()
known = set(sys.modules)
{call}
torch.spyre.synchronize()
print(sorted(set(sys.modules) & {{"sympy", "torch._dynamo"}} - known))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
