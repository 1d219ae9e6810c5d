"""Notes on comparisons: equal clusterings of a batch, which count as one, and p-values that more draws would lower."""

import math
from collections.abc import Hashable, Iterable, Sequence

from torch import Tensor

from torchclusteval.inference.intervals import adjust


def adjust_once(p_value: Tensor, correction: str, first: Tensor, places: Tensor) -> Tensor:
    """P-values adjusted; equal ones at ``places`` of the ``first`` count once."""
    return adjust(p_value.reshape(-1)[first], correction)[places].reshape(p_value.shape)


def note_same(same: Tensor, names: Sequence[Hashable] | None, what: str = "the same partition") -> list[str]:
    """What to say of pairs ``(B,)`` of which some are the same."""
    places = same.nonzero().squeeze(-1).tolist()
    if not places:
        return []
    if len(same) == 1:
        return [f"both clusterings are {what}"]
    shown = ", ".join(repr(i if names is None else names[i]) for i in places[:5])
    more = f" and {len(places) - 5} more" if len(places) > 5 else ""
    return [f"{what} as the other side: {shown}{more}"]


def note_few_draws(p_values: Iterable[Tensor], n_resamples: int, sides: int, finest: float = 0.0) -> list[str]:
    """How many draws it takes to go to .001, or the ``finest`` p-value, where p-values stop at the number of draws.

    ``sides`` is 2 where the least p-value is twice that of one side.
    """
    least, goal = sides / (n_resamples + 1), max(0.001, finest)
    if least <= goal or not any(bool((p <= least * (1 + 1e-9)).any()) for p in p_values):
        return []
    needed = math.ceil(sides / goal * (1 - 1e-12)) - 1
    return [f"p-values stop at {least:.2g}: n_resamples={needed} take them to {goal:.2g}"]
