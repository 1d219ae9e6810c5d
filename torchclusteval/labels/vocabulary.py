"""Distinct labels as consecutive numbers, and labels of other types as int64 numbers and back."""

import re
from collections.abc import Hashable, Iterable, Sequence
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
            ordered = in_natural_order(self) if all(isinstance(token, str) for token in self) else sorted(self)
        except TypeError:  # clusterings of different kinds
            ordered = sorted(self, key=lambda token: (type(token).__name__, token))
        ranks = np.empty(len(ordered), np.int64)
        ranks[self.numbers_of(ordered)] = np.arange(len(ordered))
        return np.array(ordered, dtype=object), ranks


def in_natural_order(texts: Iterable[str]) -> list[str]:
    """Numbers by their value, then other texts, in which numbers count by their value too: ``c2`` before ``c10``."""
    ordered = sorted(texts)
    return sorted(ordered, key=_natural) if any(map(_DIGITS.search, ordered)) else ordered


_DIGITS, _NUMBER = re.compile("([0-9]+)"), re.compile("[-+]?[0-9]+([.][0-9]+)?")


def _natural(text: str) -> tuple[bool, float, list[Any]]:
    parts: list[Any] = _DIGITS.split(text)
    for i in range(1, len(parts), 2):
        digits = parts[i].lstrip("0")
        parts[i] = len(digits), digits
    return (False, float(text), parts) if _NUMBER.fullmatch(text) else (True, 0.0, parts)


def number_of(label: Any, kind: LabelKind | None) -> int | None:
    """The int64 number that stands for an integer label; None where labels of this kind cannot have it."""
    number = int(label)
    if kind == "unsigned":
        return (number - 2**64 if number >= 2**63 else number) if 0 <= number < 2**64 else None
    return number if -(2**63) <= number < 2**63 else None


def decode_integers(values: Tensor, kind: LabelKind) -> Tensor:
    """The labels, other than text, that int64 numbers stand for."""
    if kind == "boolean":
        return values.bool()
    return values.long().view(torch.uint64) if kind == "unsigned" else values.long()
