"""Distinct labels as consecutive numbers, and labels of other types as int64 numbers and back."""

from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

LabelKind = Literal["integer", "boolean", "unsigned", "text"]  # unsigned: uint64 seen as int64


class Vocabulary(dict[Any, int]):
    """Tokens, each with a number: ``vocabulary[token]`` gives a new token the next one of 0, 1, 2 ..."""

    def __missing__(self, token: Hashable) -> int:
        self[token] = number = len(self)
        return number

    def numbers_of(self, tokens: Sequence[Hashable]) -> np.ndarray:
        """The number of each token, ``(N,)`` int64."""
        return np.fromiter(map(self.__getitem__, tokens), np.int64, len(tokens))

    def ranked(self) -> tuple[np.ndarray, np.ndarray]:
        """The tokens in order, and the rank of each number among them, ``(V,)`` each."""
        try:
            ordered = sorted(self)
        except TypeError:  # clusterings of different kinds
            ordered = sorted(self, key=lambda token: (type(token).__name__, token))
        ranks = np.empty(len(ordered), np.int64)
        ranks[self.numbers_of(ordered)] = np.arange(len(ordered))
        return np.array(ordered, dtype=object), ranks


def as_int64(number: int) -> int:
    """The int64 number with the bits of this int64 or uint64 number."""
    return number - 2**64 if number >= 2**63 else number


def decode_integers(values: Tensor, kind: LabelKind) -> Tensor:
    """The labels, other than text, that int64 numbers stand for."""
    if kind == "boolean":
        return values.bool()
    return values.long().view(torch.uint64) if kind == "unsigned" else values.long()
