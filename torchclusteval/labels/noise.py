"""What becomes of the items with the label of noise."""

from enum import Enum
from typing import Any

from torchclusteval.common.formatting import brief


class NoisePolicy(Enum):
    """A treatment of noise; the values are what users write."""

    IGNORE = "ignore"  # excluded from the table
    CLUSTER = "cluster"  # one extra last column
    SINGLETONS = "singletons"  # an extra column for each item

    @staticmethod
    def parse(noise: Any, noise_label: Any, num_clusters: Any) -> "NoisePolicy":
        """The policy of this name.

        Raises:
            ValueError: there is none, or it does not fit the other options.
        """
        policy = _BY_NAME.get(noise) if isinstance(noise, str) else None
        if policy is None:
            raise ValueError(f"noise: expected one of {', '.join(_BY_NAME)}; got {brief(noise)}")
        if policy.counts_noise and noise_label is None:
            raise ValueError(f"noise_label: expected the label of noise with noise={noise!r}; got None")
        if policy.has_column_per_item and num_clusters is not None:
            raise ValueError("num_clusters: expected None with noise='singletons' (a column an item); got a number")
        return policy

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


_BY_NAME = {policy.value: policy for policy in NoisePolicy}
