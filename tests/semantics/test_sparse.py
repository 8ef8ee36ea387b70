"""Sparse COO tensors: PyTorch's own, with indices and values on the device; what it has no form for is refused."""

from __future__ import annotations

import io
import pickle

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from .same import numbers, same


def some(device: str, dtype: torch.dtype = torch.float32, *, coalesced: bool = False) -> torch.Tensor:
    """4 x 5 with five elements, two of them in one place."""
    indices = torch.tensor([[0, 3, 1, 3, 0], [4, 0, 2, 1, 4]], device=device)
    values = torch.tensor([1.0, -2.0, 3.0, 0.5, 4.0], device=device).to(dtype)
    sparse = torch.sparse_coo_tensor(indices, values, (4, 5), check_invariants=True)
    return sparse.coalesce() if coalesced else sparse


def parts(sparse: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return sparse._indices(), sparse._values(), torch.tensor([*sparse.shape, sparse.is_coalesced()])


def test_a_sparse_tensor_lies_on_the_device():
    sparse = some("spyre")
    assert sparse.is_sparse
    assert {sparse.device.type, sparse._indices().device.type, sparse._values().device.type} == {"spyre"}
    assert (sparse._nnz(), sparse.sparse_dim(), sparse.dense_dim(), sparse.is_coalesced()) == (5, 2, 0, False)
    assert sparse.coalesce().indices().device.type == "spyre"
    assert "layout=torch.sparse_coo" in repr(sparse)
    assert "spyre" in repr(sparse)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.complex64], ids=str)
def test_making_and_converting(dtype):
    def run(device):
        dense = torch.tensor([[0, 1, 0], [2, 0, 0]], device=device).to(dtype)
        hybrid = torch.sparse_coo_tensor(
            [[1, 0]], torch.ones(2, 3, dtype=dtype), (2, 3), device=device, check_invariants=True
        )
        empty = torch.empty(3, 4, dtype=dtype, layout=torch.sparse_coo, device=device)
        made = [dense.to_sparse(), dense.to_sparse(1), hybrid, empty, some(device, dtype), torch.zeros_like(hybrid)]
        return [part for sparse in made for part in (*parts(sparse), *parts(sparse.coalesce()), sparse.to_dense())]

    same(run)


def test_copies_between_devices():
    there = some("cpu").to("spyre")
    assert there.device.type == "spyre"
    for found, expected in zip(parts(there.cpu()), parts(some("cpu")), strict=True):
        assert_close(found, expected)
    assert_close(there.to(torch.float64).cpu().to_dense(), some("cpu", torch.float64).to_dense())
    target = torch.zeros(4, 5, device="spyre").to_sparse()
    target.copy_(some("cpu"))
    assert_close(target.cpu().to_dense(), some("cpu").to_dense())


@pytest.mark.parametrize(
    "operation",
    [
        lambda s, _: s + s,
        lambda s, d: d + s,
        lambda s, _: s - 2 * s,
        lambda s, d: s * d,
        lambda s, _: s / 2,
        lambda s, d: torch.sparse.mm(s, d.T),
        lambda s, d: s @ d.T,
        lambda s, d: torch.sparse.addmm(d[:, :4], s, d.T),
        lambda s, _: torch.sparse.sum(s),
        lambda s, _: torch.sparse.sum(s, 0),
        lambda s, _: s.sum(),
        lambda s, _: torch.sparse.softmax(s, 1),
        lambda s, _: torch.sparse.log_softmax(s, 0),
        lambda s, _: s.t(),
        lambda s, _: s.transpose(0, 1).coalesce(),
        lambda s, _: torch.cat([s, s], 1),
        lambda s, _: torch.stack([s, s]),
        lambda s, _: s.index_select(0, torch.tensor([3, 1], device=s.device)),
        lambda s, _: s[3],
        lambda s, _: s.unsqueeze(0),
        lambda s, d: d.sparse_mask(s.coalesce()),
        lambda s, _: s.coalesce().abs().sqrt(),
        lambda s, _: s.coalesce().neg().relu(),
        lambda s, _: torch.sgn(s.coalesce()),
        lambda s, _: s.clone(),
        lambda s, _: s.norm(),
        lambda s, _: s.mul_(3),
        lambda s, _: s.add_(s),
        lambda s, _: s.zero_(),
        lambda s, d: d.clone().add_(s, alpha=-0.5),
        lambda s, d: d.clone().copy_(s.to_dense()),
        lambda s, _: s.sparse_resize_((6, 7), 2, 0),
        lambda s, _: s.sparse_resize_and_clear_((6, 7), 2, 0),
        lambda s, _: torch.empty_like(s).copy_(s),
    ],
)
def test_operators(operation):
    def run(device):
        sparse = some(device)
        result = operation(sparse, numbers(4, 5, device=device))
        return [result.to_dense() if result.is_sparse else result, sparse.to_dense()]

    same(run)


def test_gradients():
    def run(device):
        values = numbers(3, device=device).requires_grad_()
        dense = numbers(5, 2, device=device).requires_grad_()
        indices = torch.tensor([[0, 1, 3], [4, 0, 2]], device=device)
        product = torch.sparse.mm(torch.sparse_coo_tensor(indices, values, (4, 5), check_invariants=False), dense)
        product.square().sum().backward()
        whole = numbers(4, 5, device=device).requires_grad_()
        torch.sparse.sum(whole.to_sparse() * 2).backward()
        return [product, values.grad, dense.grad, whole.grad]

    same(run)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")  # Adagrad makes sparse tensors without asking for them
@pytest.mark.parametrize("bag", [False, True])
@pytest.mark.parametrize("optimizer", ["SparseAdam", "SGD", "Adagrad"])
def test_embeddings_with_sparse_gradients(bag, optimizer):
    def run(device):
        torch.manual_seed(0)
        layer = torch.nn.EmbeddingBag(10, 4, mode="sum", sparse=True) if bag else torch.nn.Embedding(10, 4, sparse=True)
        layer.to(device)
        steps = getattr(torch.optim, optimizer)(layer.parameters(), lr=0.1)
        words = torch.tensor([[1, 2, 2], [5, 1, 9]], device=device)
        for _ in range(3):
            steps.zero_grad()
            layer(words).square().sum().backward()
            assert layer.weight.grad.is_sparse
            steps.step()
        return [layer.weight, layer.weight.grad.coalesce().indices(), layer.weight.grad.to_dense()]

    same(run)


def test_jagged_tensors_are_dense_inside():
    def run(device):
        rows = [numbers(3, 4, device=device), numbers(2, 4, device=device)]
        jagged = torch.nested.nested_tensor(rows, layout=torch.jagged).requires_grad_()
        hidden = functional.gelu(jagged @ numbers(4, 5, device=device))
        hidden.values().square().sum().backward()
        return [hidden.to_padded_tensor(0.0), jagged.grad.values()]

    same(run)


def test_storing():
    stored = io.BytesIO()
    torch.save(some("spyre"), stored)
    stored.seek(0)
    loaded = torch.load(stored)
    assert loaded.device.type == "spyre"
    again = pickle.loads(pickle.dumps(loaded))
    assert_close(again.cpu().to_dense(), some("cpu").to_dense())


def test_a_sparse_tensor_has_no_strides():
    with pytest.raises(NotImplementedError, match="empty_strided"):
        torch.empty_strided((2, 2), (2, 1), layout=torch.sparse_coo, device="spyre")


def test_bad_indices_are_refused():
    with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
        torch.sparse_coo_tensor(
            torch.tensor([[7]], device="spyre"), torch.ones(1, device="spyre"), (3,), check_invariants=True
        )


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize(
    ("call", "operator"),
    [
        (lambda x: x.to_sparse_csr(), "_to_sparse_csr"),
        (lambda x: x.to_sparse_bsr((1, 1)), "_to_sparse_bsr"),
        (lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), "quantize_per_tensor"),
        (lambda x: x.to_mkldnn(), "to_mkldnn"),
        (lambda x: torch.nested.nested_tensor([x, x]) * 2, "nested"),
    ],
    ids=["csr", "bsr", "quantized", "mkldnn", "nested"],
)
def test_other_layouts_are_refused_by_name(call, operator):
    x = torch.eye(3, device="spyre")
    with pytest.raises(NotImplementedError, match=f"{operator}.*strided and sparse COO tensors only"):
        call(x)
    assert functional.relu(x).sum().item() == 3
