"""What becomes of equal clusterings of a batch: they count as one comparison, and are named."""

from collections.abc import Hashable, Sequence

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
