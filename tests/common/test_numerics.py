"""Arithmetic that other modules rely on."""

import pytest
import torch

from torchclusteval.common.numerics import (
    at_least,
    at_most,
    larger,
    largest,
    min_max,
    one_if_zero,
    reciprocal_or_zero,
    smaller,
)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32, torch.int64])
@pytest.mark.parametrize("shape", [(1,), (3, 5), (2, 70_000), (65_536,), (65_537,)])
def test_extremes_of_every_type_and_size(dtype, shape):
    info = torch.iinfo(dtype)
    x = torch.full(shape, 7, dtype=dtype)
    assert min_max(x) == (7, 7)
    x.view(-1)[-1] = info.min
    x.view(-1)[0] = info.max
    assert min_max(x) == (info.min if x.numel() > 1 else info.max, info.max)
    assert min_max(x.mT if x.dim() > 1 else x.flip(0)) == min_max(x)


def test_extremes_of_what_is_not_contiguous():
    x = torch.arange(100).reshape(10, 10)[:, 2:5]
    assert min_max(x) == (2, 94)
    assert min_max(torch.tensor([4, 1]).expand(3, 2)) == (1, 4)


def test_divisors_are_the_numbers_and_1_for_0():
    x = torch.tensor([0.0, 1e-300, 0.5, 1.0, 3.0, 2.0**60], dtype=torch.float64)
    assert one_if_zero(x).tolist() == [1.0, *x[1:].tolist()]


def test_inverses_are_finite_and_so_are_their_gradients():
    x = torch.tensor([0.0, 5e-324, 1e-200, 1e-150, 0.5, 4.0], dtype=torch.float64, requires_grad=True)
    inverse = reciprocal_or_zero(x, x.sign())
    assert inverse.tolist() == [0.0, 1e150, 1e150, 1e150, 2.0, 0.25]
    (gradient,) = torch.autograd.grad(inverse.sum(), x)
    assert gradient.isfinite().all()
    assert gradient.tolist() == pytest.approx([0.0, 0.0, 0.0, -1e300, -4.0, -0.0625])


def test_a_bound_passes_the_gradient_of_numbers_on_it() -> None:
    x = torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0, torch.nan], dtype=torch.float64, requires_grad=True)
    for bounded, plain, passed in [
        (at_least(x, 0), x.clamp(min=0), [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        (at_most(x, 1), x.clamp(max=1), [1.0, 1.0, 1.0, 1.0, 0.0, 1.0]),
    ]:
        torch.testing.assert_close(bounded, plain, rtol=0, atol=0, equal_nan=True)
        assert torch.autograd.grad(bounded.sum(), x)[0].tolist() == passed


@pytest.mark.parametrize(
    ("choose", "plain", "to_x"),
    [(larger, torch.maximum, [0.0, 0.5, 1.0, 0.5]), (smaller, torch.minimum, [1.0, 0.5, 0.0, 0.5])],
)
def test_equal_numbers_share_the_gradient_in_halves(choose, plain, to_x) -> None:
    x = torch.tensor([1.0, 2.0, 3.0, 0.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([2.0, 2.0, 2.0, 0.0], dtype=torch.float64, requires_grad=True)
    chosen = choose(x, y)
    assert torch.equal(chosen, plain(x, y))
    of_x, of_y = torch.autograd.grad(chosen.sum(), (x, y))
    assert of_x.tolist() == to_x
    assert of_y.tolist() == [1 - share for share in to_x]


def test_the_largest_numbers_share_the_gradient_evenly() -> None:
    x = torch.tensor([[0.1, 0.7, 0.7], [0.2, 0.2, 0.2], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]).double().requires_grad_()
    maxima = largest(x)
    assert torch.equal(maxima, x.amax(-1))
    (gradient,) = torch.autograd.grad(maxima.sum(), x)
    third = 1 / 3
    assert gradient.tolist() == [[0.0, 0.5, 0.5], [third] * 3, [third] * 3, [0.0, 0.0, 1.0]]


def test_the_divisor_for_zero_passes_the_gradient() -> None:
    x = torch.tensor([0.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.grad(one_if_zero(x).sum(), x)[0].tolist() == [1.0, 1.0]
