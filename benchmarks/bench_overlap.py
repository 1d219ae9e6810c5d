"""Time of the overlapping measures; ``overlap.py`` defines the work, and times its full sizes for a results file."""

import overlap
import pytest
import timing
from pytest_benchmark.fixture import BenchmarkFixture

from torchclusteval.overlap import evaluate_overlapping


@pytest.mark.parametrize("size", timing.sizes(small=overlap.SMALL, full=overlap.FULL), ids=lambda size: size.name)
def bench_all(benchmark: BenchmarkFixture, size: overlap.Size) -> None:
    """All measures; each round has new memberships, since the comparison is cached on them."""
    overlap.check(size)
    benchmark.pedantic(evaluate_overlapping, setup=lambda: (overlap.sides(size), {}), rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("library", ["torchclusteval", "peer"])
@pytest.mark.parametrize("shape", timing.sizes(small=[overlap.PEERS_SMALL], full=[overlap.PEERS_FULL]), ids=str)
@pytest.mark.parametrize("peer", overlap.PEERS)
def bench_against(benchmark: BenchmarkFixture, peer: str, shape: tuple[int, int], library: str) -> None:
    pytest.importorskip(peer)
    pair = overlap.against(peer, *shape)
    benchmark.group = f"{peer} {shape}"
    benchmark(pair.ours if library == "torchclusteval" else pair.theirs)
