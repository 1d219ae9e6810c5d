"""The labels of one side of a stream, and the ids of its groups, as numbers that stay the same from chunk to chunk."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.common.formatting import brief
from torchclusteval.labels.absent import AbsentGroup
from torchclusteval.labels.encoding import EncodedLabels
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.vocabulary import LabelKind, Vocabulary, decode_integers, number_of
from torchclusteval.streaming.growing_cells import distinct


@dataclass(eq=False)
class LabelVocabulary:
    """The labels of one side as int64 numbers: integers stand for themselves, strings are numbered on arrival."""

    argument: str  # its name in errors
    size: int | None = None  # if given, labels are codes, and codes are the numbers
    last: Any = None  # the label of counted noise, or of items without a group
    absent: AbsentGroup | None = None  # the group of ``last`` among given codes
    void: Any = None  # the label of counted ignored items
    kind: LabelKind | None = None  # None before the first label
    tokens: Vocabulary = field(default_factory=Vocabulary)  # of strings

    def numbers(self, side: EncodedLabels) -> Tensor:
        """The number of each code of a chunk, ``(size,)``, or ``(B, size)`` where codes differ by table."""
        labels = side.group_labels
        if labels is None:
            return torch.arange(side.size, device=side.codes.device)
        self._expect(kind_of(labels))
        if isinstance(labels, np.ndarray):
            numbers = torch.from_numpy(self.tokens.numbers_of(labels.reshape(-1).tolist())).reshape(labels.shape)
        else:
            numbers = labels.view(torch.int64) if labels.dtype == torch.uint64 else labels.long()
        return (numbers if numbers.dim() == 1 else numbers.flatten(0, -2)).to(side.codes.device)

    def numbers_of(self, side: EncodedLabels, batch: Tensor, codes: Tensor) -> Tensor:
        """The numbers of labels, ``(Z,)``, by their codes in a chunk."""
        if not len(codes):
            return codes
        found, special = codes, []
        numbers = None if side.labels is None else self.numbers(side)
        if self.void is not None:
            special.append((side.size - 1, self.void, self.number_of_void))
        if side.absent is not None:
            special.append((side.absent.index, self.last, self.number_of_last))
        if numbers is not None and numbers.shape[-1]:
            inside = codes.clamp(max=numbers.shape[-1] - 1)  # but void items, whose code is the last
            found = numbers[inside] if numbers.dim() == 1 else numbers[batch, inside]
        for code, label, number_of_label in special:
            if self.kind == "text":
                self.tokens[_token(label)]  # gives a new label its number
            number = number_of_label()
            found = found if number is None else torch.where(codes == code, number, found)
        return found

    def number_of_last(self) -> int | None:
        """The number of the last label; None where no label is equal to it."""
        if self.last is None:
            return None
        if self.size is not None:
            return self.size if self.absent is None else self.absent.index
        return self._number(self.last)

    def number_of_void(self) -> int | None:
        """The number of the label of void items, likewise."""
        return None if self.void is None else self._number(self.void) if self.size is None else self.size + 1

    def _number(self, label: Any) -> int | None:
        if self.kind == "text" or isinstance(label, str):
            return self.tokens.get(_token(label))
        return number_of(label, self.kind)

    def _expect(self, kind: LabelKind) -> None:
        got = _KINDS[kind]  # of a damaged state, a KeyError
        if {self.kind, kind} == {"boolean", "integer"}:
            kind = "integer"
        elif self.kind is not None and kind != self.kind:
            expected = f"labels of the kind seen before ({_KINDS[self.kind]})"
            raise ValueError(f"{self.argument}: expected {expected}; got {got}")
        self.kind = kind

    def update(self, kind: LabelKind | None, tokens: Sequence[Any]) -> Tensor | None:
        """Add another vocabulary; the number here of each of its tokens, or None if no renumbering is needed."""
        if kind is None:
            return None
        self._expect(kind)
        return torch.from_numpy(self.tokens.numbers_of(tokens)) if kind == "text" else None

    def number_ids(self, kind: LabelKind | None, ids: Any) -> Tensor:
        """The number of each id of a group, ``(G,)``: codes as they are, ids of any kind in order of arrival."""
        if self.size is not None:
            return torch.arange(self.size)
        ids = ids if isinstance(ids, list) else ids.tolist()
        if ids and kind is not None:
            self._expect(kind)
        return torch.from_numpy(self.tokens.numbers_of([int(x) if isinstance(x, bool) else x for x in ids]))

    def ids_in_order(self) -> tuple[GroupLabels, Tensor]:
        """The ids of groups in order, and the number of each."""
        if self.size is not None:
            return torch.arange(self.size), torch.arange(self.size)
        ordered, ranks = self.tokens.ranked()
        places = torch.from_numpy(ranks).argsort()
        if self.kind == "text":
            return ordered, places
        kind = np.uint64 if self.kind == "unsigned" else bool if self.kind == "boolean" else np.int64
        return torch.from_numpy(ordered.astype(kind)), places

    def check_kinds(self, table: Tensor, numbers: Tensor, place: Tensor) -> None:
        """Raise where cells of one table, given by its number, have both strings and whole numbers for labels."""
        texts = [isinstance(token, str) for token in self.tokens] if self.kind == "text" else []
        if all(texts) or not any(texts):
            return
        is_text = torch.tensor(texts, device=numbers.device)[numbers][place]
        both = np.intersect1d(table[is_text].numpy(force=True), table[~is_text].numpy(force=True))
        if len(both):
            tokens, here = list(self.tokens), table == int(both[0])
            word, number = (tokens[int(numbers[place[here & kind][0]])] for kind in (is_text, ~is_text))
            expected = f"labels of one kind in all chunks of clustering {both[0]}"
            raise ValueError(f"{self.argument}: expected {expected}; got {brief(number)} and {word!r}")

    def rank(self, numbers: Tensor) -> tuple[Tensor, int, GroupLabels | None, Tensor]:
        """Put different numbers in the order of labels; the last label and the void come after all others.

        Returns the place of each, the number of places of the others, their labels, and which label is last.
        """
        last = self.number_of_last()
        stays = self.absent is not None and self.absent.stays
        is_last = torch.zeros_like(numbers, dtype=torch.bool) if stays or last is None else numbers.eq(last)
        void = self.number_of_void()
        is_other = ~is_last if void is None else ~is_last & numbers.ne(void)
        others, names = numbers[is_other], None
        if self.size is not None:
            if bool(((others < 0) | (others >= self.size)).any()):
                raise ValueError(f"{self.argument}: expected cells of the codes 0..{self.size - 1}; got others")
            found, count = others, self.size
        elif self.kind == "text":
            tokens, ranks = self.tokens.ranked()
            used, found = distinct(torch.from_numpy(ranks).to(others.device)[others])
            count, names = len(used), tokens[used.cpu().numpy()]
        else:
            used, found = distinct(others)
            count, names = len(used), decode_integers(used, self.kind or "integer")
        places = torch.full_like(numbers, count)
        places[is_other] = found
        return places, count, names, is_last


_KINDS = {"integer": "whole numbers", "boolean": "booleans", "unsigned": "uint64 numbers", "text": "strings"}


def kind_of(labels: GroupLabels) -> LabelKind:
    if isinstance(labels, np.ndarray):
        return "text"
    if labels.dtype == torch.uint64:
        return "unsigned"
    return "boolean" if labels.dtype == torch.bool else "integer"


def _token(label: Any) -> str | int:
    return label if isinstance(label, str) else int(label)
