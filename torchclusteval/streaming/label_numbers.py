"""The labels of one side of a stream, as numbers that stay the same from chunk to chunk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchclusteval.labels.encoding import EncodedLabels
from torchclusteval.labels.group_labels import GroupLabels


@dataclass(eq=False)
class LabelNumbers:
    """The labels of one side, as numbers: whole numbers stand for themselves, words get numbers as they come."""

    side: str  # the argument that an error names
    size: int | None = None  # given: labels are codes, and numbers are those
    kind: str | None = None  # "integer", "boolean", "unsigned" (uint64 seen as int64), "text"; None: nothing seen
    words: dict[str, int] = field(default_factory=dict)

    def read(self, side: EncodedLabels, batch: Tensor, codes: Tensor) -> Tensor:
        """The numbers of labels, by the code that each has in a chunk, ``(Z,)``."""
        if side.names is None or not len(codes):
            return codes
        self._expect(_kind_of(side.names))
        flat = side.names.reshape(-1, side.names.shape[-1])
        if isinstance(flat, np.ndarray):
            numbers = torch.tensor([[self.number(word) for word in row] for row in flat.tolist()], device=codes.device)
        else:
            numbers = flat.view(torch.int64) if flat.dtype == torch.uint64 else flat.long()
        return numbers.to(codes.device)[batch if len(flat) > 1 else torch.zeros_like(batch), codes]

    def number(self, label: Any) -> int:
        """The number of a label; a new word gets a new one."""
        if self.size is not None:
            return self.size  # noise comes after the codes
        if self.kind == "text":
            return self.words.setdefault(label, len(self.words))
        return int(label) - 2**64 if int(label) >= 2**63 else int(label)

    def _expect(self, kind: str) -> None:
        if {self.kind, kind} == {"boolean", "integer"}:
            kind = "integer"
        elif self.kind is not None and kind != self.kind:
            expected = f"labels of the kind seen before ({_KINDS[self.kind]})"
            raise ValueError(f"{self.side}: expected {expected}; got {_KINDS[kind]}")
        self.kind = kind

    def learn(self, kind: str | None, words: Sequence[str]) -> Tensor | None:
        """Take over what another such object knows; the number here of each of its words, None where they agree."""
        if kind is None:
            return None
        self._expect(kind)
        return torch.tensor([self.number(word) for word in words], dtype=torch.int64) if kind == "text" else None

    def checked(self, head: Any) -> tuple[str | None, dict[str, int]]:
        """Kind and words of a saved state, or a ``ValueError``."""
        words = head.get("words") if isinstance(head, Mapping) else None
        texts = isinstance(words, list) and all(isinstance(word, str) for word in words)
        if words is None or not texts or len(set(words)) < len(words) or head.get("kind") not in (None, *_KINDS):
            raise ValueError(f"state: expected the kind and the different words of {self.side}; got {str(head)[:60]}")
        return head["kind"], {word: i for i, word in enumerate(words)}

    def place(self, numbers: Tensor) -> tuple[Tensor, int, GroupLabels | None]:
        """Places ``0..k-1`` of numbers in the order of their labels, how many there are, and the labels."""
        if self.size is not None:
            return numbers, self.size, None
        if self.kind == "text":
            ordered = sorted(self.words)
            rank = torch.empty(len(ordered), dtype=torch.int64, device=numbers.device)
            rank[[self.words[word] for word in ordered]] = torch.arange(len(ordered), device=numbers.device)
            used, places = rank[numbers].unique(return_inverse=True)
            return places, len(used), np.array(ordered, dtype=object)[used.cpu().numpy()]
        used, places = numbers.unique(return_inverse=True)
        names = used.view(torch.uint64) if self.kind == "unsigned" else used
        return places, len(used), names.bool() if self.kind == "boolean" else names


_KINDS = {"integer": "whole numbers", "boolean": "booleans", "unsigned": "uint64 numbers", "text": "strings"}


def _kind_of(names: GroupLabels) -> str:
    if isinstance(names, np.ndarray):
        return "text"
    return {torch.bool: "boolean", torch.uint64: "unsigned"}.get(names.dtype, "integer")
