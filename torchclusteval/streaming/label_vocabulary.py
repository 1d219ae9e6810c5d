"""The labels of one side of a stream, as numbers that stay the same from chunk to chunk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.formatting import brief
from torchclusteval.labels.encoding import EncodedLabels
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.vocabulary import LabelKind, Vocabulary, decode_integers, number_of
from torchclusteval.streaming.growing_cells import distinct


@dataclass(eq=False)
class LabelVocabulary:
    """The labels of one side as int64 numbers: integers stand for themselves, strings are numbered as they come."""

    argument: str  # named in errors
    size: int | None = None  # if given, labels are codes, and codes are the numbers
    kind: LabelKind | None = None  # None before the first label
    tokens: Vocabulary = field(default_factory=Vocabulary)  # of strings

    def numbers(self, side: EncodedLabels) -> Tensor:
        """The number of each code of a chunk, ``(size,)``, or ``(B, size)`` where codes differ by table."""
        if side.group_labels is None:
            return torch.arange(side.size, device=side.codes.device)
        self._expect(kind_of(side.group_labels))
        flat = side.group_labels.reshape(-1, side.group_labels.shape[-1])
        if isinstance(flat, np.ndarray):
            numbers = torch.from_numpy(self.tokens.numbers_of(flat.reshape(-1).tolist())).reshape(flat.shape)
        else:
            numbers = flat.view(torch.int64) if flat.dtype == torch.uint64 else flat.long()
        return (numbers if len(flat) > 1 else numbers[0]).to(side.codes.device)

    def numbers_of(self, side: EncodedLabels, batch: Tensor, codes: Tensor) -> Tensor:
        """The numbers of labels, ``(Z,)``, by their codes in a chunk."""
        if side.group_labels is None or not len(codes):
            return codes
        numbers = self.numbers(side)
        return numbers[codes] if numbers.dim() == 1 else numbers[batch, codes]

    def number(self, label: Any) -> int:
        """The number of a label; a new string gets a new one."""
        if self.size is not None:
            return self.size  # noise comes after the codes
        if self.kind == "text":
            return self.tokens[label]
        number = number_of(label, self.kind)
        assert number is not None  # counting refuses a label of noise that no item can have
        return number

    def _expect(self, kind: LabelKind) -> None:
        if {self.kind, kind} == {"boolean", "integer"}:
            kind = "integer"
        elif self.kind is not None and kind != self.kind:
            expected = f"labels of the kind seen before ({_KINDS[self.kind]})"
            raise ValueError(f"{self.argument}: expected {expected}; got {_KINDS[kind]}")
        self.kind = kind

    def update(self, kind: LabelKind | None, tokens: Sequence[str]) -> Tensor | None:
        """Add another vocabulary.

        Returns:
            The number here of each of its tokens, or None if no renumbering is needed.
        """
        if kind is None:
            return None
        self._expect(kind)
        return torch.from_numpy(self.tokens.numbers_of(tokens)) if kind == "text" else None

    def checked(self, state: Any, *, mixed: bool) -> tuple[LabelKind | None, Vocabulary]:
        """Kind and tokens of a saved state, or a ``ValueError``; ``mixed``: numbers may stand beside strings."""
        words = state.get("words") if isinstance(state, Mapping) else None
        texts = isinstance(words, list) and all(isinstance(word, (str, int) if mixed else str) for word in words)
        if words is None or not texts or len(set(words)) < len(words) or state.get("kind") not in (None, *_KINDS):
            expected = f"the kind and the different words of {self.argument}"
            raise ValueError(f"state: expected {expected}; got {str(state)[:60]}")
        return state["kind"], Vocabulary(zip(words, range(len(words)), strict=True))

    def check_kinds(self, batch: Tensor, numbers: Tensor) -> None:
        """Raise where cells of one table, given by its number, have both strings and whole numbers for labels."""
        texts = [isinstance(token, str) for token in self.tokens] if self.kind == "text" else []
        if all(texts) or not any(texts):
            return
        is_text = torch.tensor(texts, device=numbers.device)[numbers]
        both = np.intersect1d(batch[is_text].numpy(force=True), batch[~is_text].numpy(force=True))
        if len(both):
            tokens, here = list(self.tokens), batch == int(both[0])
            word, number = (tokens[int(numbers[here & kind][0])] for kind in (is_text, ~is_text))
            expected = f"labels of one kind in all chunks of clustering {both[0]}"
            raise ValueError(f"{self.argument}: expected {expected}; got {brief(number)} and {word!r}")

    def rank(self, numbers: Tensor) -> tuple[Tensor, int, GroupLabels | None]:
        """Return (rank of each number in the order of labels, number of distinct labels, those labels)."""
        if self.size is not None:
            return numbers, self.size, None
        if self.kind == "text":
            tokens, ranks = self.tokens.ranked()
            used, places = distinct(torch.from_numpy(ranks).to(numbers.device)[numbers])
            return places, len(used), tokens[used.cpu().numpy()]
        used, places = distinct(numbers)
        return places, len(used), decode_integers(used, self.kind or "integer")


_KINDS = {"integer": "whole numbers", "boolean": "booleans", "unsigned": "uint64 numbers", "text": "strings"}


def kind_of(labels: GroupLabels) -> LabelKind:
    """The kind of these labels."""
    if isinstance(labels, np.ndarray):
        return "text"
    if labels.dtype == torch.uint64:
        return "unsigned"
    return "boolean" if labels.dtype == torch.bool else "integer"
