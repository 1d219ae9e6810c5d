"""Gradients of measures at ties, where torch's releases differ: the package fixes them, and these are the values."""

import pytest
import torch
from torch import Tensor

from tests.support.strategies import LAYOUTS, in_layout
from torchclusteval import MEASURES

both_layouts = pytest.mark.parametrize("layout", LAYOUTS)

# Name of a measure, counts, gradient with respect to them: each worked out by hand.
HALF_OF_EACH = [
    ("purity", [[3, 1], [3, 2]], [[-1 / 162, -5 / 81], [-1 / 162, 4 / 81]]),  # 3 and 3 in the first cluster
    ("inverse_purity", [[3, 3], [1, 2]], [[-1 / 162, -1 / 162], [-5 / 81, 4 / 81]]),
    ("larsen_l", [[2, 2, 0], [0, 0, 3]], [[0, 0, -5 / 36], [-1 / 9, -1 / 9, 0]]),  # F of 2/3 with two clusters
    ("van_dongen_normalized", [[3, 1], [1, 3]], [[-1 / 16, 3 / 16], [3 / 16, -1 / 16]]),  # sizes of 4 and 4
    ("element_centric_similarity", [[2, 1], [1, 2]], [[1 / 27, -2 / 27], [-2 / 27, 1 / 27]]),  # a class as its cluster
]
AT_A_BOUND = [
    ("bcubed_precision", [[2, 3, 0], [0, 0, 4]], [[0, 0, -2 / 9], [-2 / 9, -2 / 9, 0]]),  # 1, without being identical
    ("bcubed_recall", [[2, 0], [3, 0], [0, 4]], [[0, -2 / 9], [0, -2 / 9], [-2 / 9, 0]]),
    ("psi", [[3, 2, 0]], [[0.0, 0.0, 0.0]]),  # as similar as by chance, whatever the sizes
]


def gradient(name: str, counts: list[list[int]], layout: str, device: torch.device) -> Tensor:
    leaf = torch.tensor(counts, dtype=torch.float64, device=device, requires_grad=True)
    return torch.autograd.grad(MEASURES[name](in_layout(leaf, layout)), leaf)[0].cpu()


@both_layouts
@pytest.mark.parametrize(("name", "counts", "expected"), HALF_OF_EACH + AT_A_BOUND)
def test_gradient_at_a_tie(
    name: str, counts: list[list[int]], expected: list[list[float]], layout: str, device: torch.device
) -> None:
    slopes = torch.tensor(expected, dtype=torch.float64)
    if layout == "sparse":  # empty cells are not stored
        slopes = slopes.masked_fill(torch.tensor(counts) == 0, 0.0)
    torch.testing.assert_close(gradient(name, counts, layout, device), slopes, rtol=1e-13, atol=1e-15)


@both_layouts
@pytest.mark.parametrize("average", ["min", "max"])
def test_equal_entropies_share_the_gradient(average: str, layout: str, device: torch.device) -> None:
    """The slope is then that of their mean, which has no ties."""
    counts = [[1, 5], [1, 1]]
    expected = gradient("nmi_arithmetic", counts, layout, device)
    torch.testing.assert_close(gradient(f"nmi_{average}", counts, layout, device), expected, rtol=1e-13, atol=1e-15)


@both_layouts
def test_no_information_has_the_slope_of_information(layout: str, device: torch.device) -> None:
    """Independent sides are at the lower bound of 0 and its only smooth minimum."""
    assert gradient("mutual_information", [[2, 2], [2, 2]], layout, device).tolist() == [[0.0, 0.0], [0.0, 0.0]]
