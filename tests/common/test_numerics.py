"""Arithmetic that other modules rely on."""

import pytest
import torch

from torchclusteval.common.numerics import min_max, reciprocal_or_zero


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


def test_inverses_are_finite_and_so_are_their_gradients():
    x = torch.tensor([0.0, 5e-324, 1e-200, 1e-150, 0.5, 4.0], dtype=torch.float64, requires_grad=True)
    inverse = reciprocal_or_zero(x, x.sign())
    assert inverse.tolist() == [0.0, 1e150, 1e150, 1e150, 2.0, 0.25]
    (gradient,) = torch.autograd.grad(inverse.sum(), x)
    assert gradient.isfinite().all()
    assert gradient.tolist() == pytest.approx([0.0, 0.0, 0.0, -1e300, -4.0, -0.0625])
