"""Linear algebra as library operations: recorded, not waited for; a matrix without a result is a LinAlgError."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from .compare import compare_with_cpu, sample

Call = Callable[[torch.Tensor], object]

SQUARE = sample((4, 4), torch.float32) + 4 * torch.eye(4)
TALL = sample((6, 4), torch.float32)


def positive(x: torch.Tensor) -> torch.Tensor:
    return x @ x.mT + torch.eye(x.size(-1), device=x.device)


def solved_from_factors(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.lu_solve(*torch.linalg.lu_factor_ex(x)[:2], x[:, :2])


SQUARES: dict[str, Call] = {
    "inverse": torch.linalg.inv_ex,
    "solve": lambda x: torch.linalg.solve_ex(x, x[:, :2]),
    "cholesky": lambda x: torch.linalg.cholesky_ex(positive(x)),
    "lu": torch.linalg.lu,
    "lu_solve": solved_from_factors,
    "unpacked": lambda x: torch.lu_unpack(*torch.linalg.lu_factor_ex(x)[:2]),
    "determinant": torch.linalg.det,
    "log determinant": torch.linalg.slogdet,
    "triangles": lambda x: torch.linalg.solve_triangular(x, x[:, :2], upper=True),
    "exponential": lambda x: torch.linalg.matrix_exp(x / 8),
    "eigenvalues": lambda x: torch.linalg.eigvalsh(positive(x)),
    "complex eigenvalues": torch.linalg.eigvals,
    "eigenvectors": torch.linalg.eig,
    "singular values": torch.linalg.svdvals,
    "nuclear norm": lambda x: torch.linalg.matrix_norm(x, "nuc"),
    "spectral norm": lambda x: torch.linalg.matrix_norm(x, 2),
    "orthogonal factor": torch.linalg.qr,
    "reflectors": torch.geqrf,
    "product of reflectors": lambda x: torch.linalg.householder_product(*torch.geqrf(x)),
    "product with reflectors": lambda x: torch.ormqr(*torch.geqrf(x), x),
    "symmetric factors": lambda x: torch.linalg.ldl_factor_ex(x + x.mT),
    "solved from symmetric factors": lambda x: torch.linalg.ldl_solve(*torch.linalg.ldl_factor_ex(x + x.mT)[:2], x),
    "the older cholesky": lambda x: torch.cholesky(positive(x)),
    "inverse of a factored matrix": lambda x: torch.cholesky_inverse(torch.cholesky(positive(x))),
    "solved from a factor": lambda x: torch.cholesky_solve(x[:, :2], torch.cholesky(positive(x))),
    "least squares": lambda x: torch.linalg.lstsq(x, x[:, :2]).solution,
    "the older triangles": lambda x: torch.triangular_solve(x[:, :2], x),
}


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("name", SQUARES)
def test_nothing_is_waited_for(name: str, stats: Callable[[], dict]) -> None:
    x = SQUARE.to("spyre")
    kept = SQUARES[name](x)
    counted = stats()
    assert kept is not None
    assert not counted["fallbacks"]
    assert not {why: n for why, n in counted["flushes"].items() if n}
    compare_with_cpu(SQUARES[name], SQUARE, strides=False, rtol=1e-3, atol=1e-4)


def test_factors_of_a_tall_matrix() -> None:
    q, r = torch.linalg.qr(TALL.to("spyre"))
    torch.testing.assert_close((q @ r).cpu(), TALL, rtol=1e-4, atol=1e-5)
    u, s, v = torch.linalg.svd(TALL.to("spyre"), full_matrices=False)
    torch.testing.assert_close(((u * s) @ v).cpu(), TALL, rtol=1e-4, atol=1e-5)


NAN = torch.full((3, 3), float("nan"))
WITHOUT_RESULT: dict[str, Call] = {
    "inverse": lambda x: torch.linalg.inv(x * 0),
    "checked": lambda x: torch.linalg.inv_ex(x * 0, check_errors=True),
    "cholesky": lambda x: torch.linalg.cholesky(-x),
    "singular values": lambda x: torch.linalg.svdvals(x * float("nan")),
    "eigenvalues": lambda x: torch.linalg.eigvalsh(x * float("nan")),
}


@pytest.mark.parametrize("name", WITHOUT_RESULT)
def test_a_matrix_without_a_result(name: str) -> None:
    for device in ("cpu", "spyre"):
        with pytest.raises(torch.linalg.LinAlgError):
            str(WITHOUT_RESULT[name](SQUARE.to(device)))
    assert (torch.ones(2, device="spyre") + 1).tolist() == [2, 2]


def test_the_fault_names_the_operator_and_the_line() -> None:
    values = torch.linalg.svdvals(NAN.to("spyre"))
    with pytest.raises(torch.linalg.LinAlgError, match=r"_linalg_svd.*test_linear_algebra\.py"):
        values.cpu()


def test_types_that_cpu_refuses_are_refused_at_the_call() -> None:
    with pytest.raises(RuntimeError):
        torch.linalg.inv_ex(torch.ones(2, 2, dtype=torch.int64, device="spyre"))


def test_a_mask_that_is_filled_is_not_counted(stats: Callable[[], dict]) -> None:
    expected, x = sample((3, 4, 5), torch.float32), sample((3, 4, 5), torch.float32).to("spyre")
    rows = torch.tensor([True, False, True])
    for t in (expected, x):
        t[t < 0] = 7
        t[rows.to(t.device)] = 8
        t[:, torch.tensor([True, False, False, True], device=t.device)] = torch.full((1,), 9.0, device=t.device)
    assert not stats()["fallbacks"]
    assert torch.equal(x.cpu(), expected)


def test_indices_that_the_host_holds_are_checked_at_the_call() -> None:
    x = torch.ones(3, 4, device="spyre")
    with pytest.raises(IndexError, match="index 4 is out of bounds for dimension 1 with size 4"):
        x[torch.tensor([0]), torch.tensor([4])]
    with pytest.raises(IndexError, match="index -4 is out of bounds for dimension 0 with size 3"):
        x[torch.tensor([-4])] = 1.0
    assert x.sum().item() == 12


def test_least_squares_of_a_tall_matrix() -> None:
    close = {"rtol": 1e-3, "atol": 1e-4}
    right = TALL[:, :2].clone()
    compare_with_cpu(torch.linalg.lstsq, TALL, right, **close)
    compare_with_cpu(
        lambda a, b, x, r, k, s: torch.linalg.lstsq(a, b, out=(x, r, k, s)),
        *(TALL, right, torch.empty(0), torch.empty(0), torch.empty(0, dtype=torch.int64), torch.empty(0)),
        **close,
    )
    ranks_decide = lambda a, b: torch.linalg.lstsq(a, b, driver="gelsd")  # noqa: E731
    compare_with_cpu(ranks_decide, TALL, right, host=["aten::linalg_lstsq.out"], **close)
    nothing = lambda b: torch.linalg.lstsq(b[:, :0], b)  # noqa: E731
    compare_with_cpu(nothing, right, host=["aten::linalg_lstsq.out"])


def test_results_without_elements_may_have_any_strides() -> None:
    """LAPACK divides by them."""
    nothing, info = torch.zeros((), device="spyre").expand(0, 0), torch.zeros((), dtype=torch.int32, device="spyre")
    torch.linalg.inv_ex(torch.ones(0, 0, device="spyre"), out=(nothing, info))
    assert info.item() == 0
