"""What becomes of the items with the label of noise."""

from enum import Enum


class NoisePolicy(Enum):
    """A treatment of noise; the values are what users write."""

    IGNORE = "ignore"  # excluded from the table
    CLUSTER = "cluster"  # one extra last column
    SINGLETONS = "singletons"  # an extra column for each item

    @property
    def counts_noise(self) -> bool:
        """Whether noise is in the table."""
        return self is not NoisePolicy.IGNORE

    @property
    def has_column_per_item(self) -> bool:
        return self is NoisePolicy.SINGLETONS

    @property
    def fixed_columns(self) -> int:
        """Columns beyond those of the clusters that do not depend on the labels."""
        return int(self is NoisePolicy.CLUSTER)

    @property
    def for_chunks(self) -> "NoisePolicy":
        """How to count the chunks of a stream: single items get their columns only in the finished tables."""
        return NoisePolicy.CLUSTER if self.has_column_per_item else self
