"""Arithmetic that other modules rely on."""

import pytest
import torch

from torchclusteval.numerics import extremes


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32, torch.int64])
@pytest.mark.parametrize("shape", [(1,), (3, 5), (2, 70_000), (65_536,), (65_537,)])
def test_extremes_of_every_type_and_size(dtype, shape):
    info = torch.iinfo(dtype)
    x = torch.full(shape, 7, dtype=dtype)
    assert extremes(x) == (7, 7)
    x.view(-1)[-1] = info.min
    x.view(-1)[0] = info.max
    assert extremes(x) == (info.min if x.numel() > 1 else info.max, info.max)
    assert extremes(x.mT if x.dim() > 1 else x.flip(0)) == extremes(x)


def test_extremes_of_what_is_not_contiguous():
    x = torch.arange(100).reshape(10, 10)[:, 2:5]
    assert extremes(x) == (2, 94)
    assert extremes(torch.tensor([4, 1]).expand(3, 2)) == (1, 4)
