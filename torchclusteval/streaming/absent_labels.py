"""Items that only one side groups, in the states of an accumulator: one more row and one more column of counts."""

from typing import Any, TypeVar

import torch
from torch import Tensor

from torchclusteval.cells.layouts import Cells
from torchclusteval.cells.parts import TableParts
from torchclusteval.counting.margins import with_margins
from torchclusteval.labels.absent import AbsentGroup, group_among_codes
from torchclusteval.labels.encoding import EncodedLabels
from torchclusteval.labels.group_labels import GroupLabels
from torchclusteval.labels.options import LabelOptions
from torchclusteval.labels.vocabulary import number_of
from torchclusteval.streaming.growing_cells import LabelledCells, ListedCells
from torchclusteval.streaming.label_vocabulary import LabelVocabulary
from torchclusteval.tables import ContingencyTables

Size = TypeVar("Size", int, "int | None")


class AbsentLabels:
    """The labels of items without a class and without a cluster; None: all items have one.

    Raises:
        ValueError: a label is no whole number though its side has codes.
    """

    def __init__(self, options: LabelOptions) -> None:
        self.labels = (options.absent_true, options.absent_pred)
        sides = (("absent_true", options.num_classes), ("absent_pred", options.num_clusters))
        self.groups: tuple[AbsentGroup | None, ...] = tuple(
            None if label is None or size is None else group_among_codes(label, size, name)
            for label, (name, size) in zip(self.labels, sides, strict=True)
        )

    def __bool__(self) -> bool:
        return self.labels != (None, None)

    def extended(self, sizes: tuple[Size, Size]) -> tuple[Size, Size]:
        """The sizes of counts, with a row (column) for an absent label that is no code."""
        true, pred = (
            size if group is None or group.stays or size is None else size + 1
            for size, group in zip(sizes, self.groups, strict=True)
        )
        return true, pred

    def tables(self, cells: Cells, considered: Tensor) -> ContingencyTables:
        """Tables of the counts of both sides' codes."""
        if not self:
            return ContingencyTables._of(TableParts(cells, considered))
        return split_tables(cells, considered, (self.groups[0], self.groups[1]), (None, None))

    def mark(
        self,
        numbers: tuple[Tensor, Tensor],
        codes: tuple[Tensor, Tensor],
        chunk: tuple[EncodedLabels, EncodedLabels],
        sides: tuple[LabelVocabulary, LabelVocabulary],
    ) -> tuple[Tensor, Tensor]:
        """The numbers of labels, with that of the absent label for the code that stands for it in a chunk."""
        if not self:
            return numbers
        true, pred = (self._mark(i, numbers[i], codes[i], chunk[i], sides[i]) for i in (0, 1))
        return true, pred

    def _mark(self, i: int, numbers: Tensor, codes: Tensor, chunk: EncodedLabels, side: LabelVocabulary) -> Tensor:
        if chunk.absent is None or not len(codes):
            return numbers
        if side.kind == "text":
            side.tokens[_token(self.labels[i])]  # gives a new label its number
        number = self._number(i, side)
        return numbers if number is None else torch.where(codes == chunk.absent.index, number, numbers)

    def _number(self, i: int, side: LabelVocabulary) -> int | None:
        """The number of the absent label of a side; None where no label of its kind is equal to it."""
        group, label = self.groups[i], self.labels[i]
        if label is None:
            return None
        if group is not None:
            return group.index
        if side.kind == "text" or isinstance(label, str):
            return side.tokens.get(_token(label))
        return number_of(label, side.kind)

    def listed(self, cells: LabelledCells, sides: tuple[LabelVocabulary, LabelVocabulary]) -> ListedCells:
        """The cells of both sides' labels."""
        ranked = [
            self._rank(i, x, side) for i, (x, side) in enumerate(zip((cells.true, cells.pred), sides, strict=True))
        ]
        (row, rows, true, classes), (column, columns, pred, clusters) = ranked
        shape = (max(1, rows), max(1, columns))
        return ListedCells(cells.batch, row, column, cells.counts, shape, (classes, clusters), (true, pred))

    def _rank(
        self, i: int, numbers: Tensor, side: LabelVocabulary
    ) -> tuple[Tensor, int, AbsentGroup | None, GroupLabels | None]:
        """The rank of each number in label order, how many ranks there are, and the group of the absent label, last."""
        group = self.groups[i]
        if self.labels[i] is None or (group is not None and group.stays):
            ranks, count, labels = side.rank(numbers)
            return ranks, count, group, labels if count else None
        number = self._number(i, side) if len(numbers) else None
        absent = torch.zeros_like(numbers, dtype=torch.bool) if number is None else numbers == number
        ranks, count, labels = side.rank(numbers[~absent])
        places = torch.full_like(numbers, count)
        places[~absent] = ranks
        return places, count + 1, AbsentGroup(count, False), labels if count else None


def split_tables(
    cells: Cells,
    considered: Tensor,
    groups: tuple[AbsentGroup | None, AbsentGroup | None],
    labels: tuple[GroupLabels | None, GroupLabels | None],
) -> ContingencyTables:
    """Tables whose rows and columns of items without a group become margins; labels are those of the others."""
    parts = with_margins(TableParts(cells, considered), groups)
    return ContingencyTables._of(parts._replace(classes=labels[0], clusters=labels[1]))


def _token(label: Any) -> str | int:
    return label if isinstance(label, str) else int(label)
