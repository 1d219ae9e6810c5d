"""The document study: its configurations, readings of the paper, and the simulation.

The simulation draws random document sets, clusters and scores them. The text of the paper does not determine its
program, and no reading of the text comes near the printed tables, so ``PRESETS`` names four readings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torchclusteval.common.checks import check_choice
from torchclusteval.common.threads import on_one_thread, pieces
from torchclusteval.scoring.evaluation import evaluate
from torchclusteval.studies.common import Row, mean, standard_error
from torchclusteval.studies.kishida.kmeans import Criterion, spherical_kmeans
from torchclusteval.studies.runner import Plan, Run, run_plan

# What Kishida (2014) prints: Tables 1 and 2, and the groups of measures read off Figure 2.
ERRORS = (0.0, 0.5, 1.0, 1.5, 2.0)

# The measures in the order of the paper. Columns: the name here, the name in its tables; averages over 1000 sets with
# ten clusters for each of ERRORS, of balanced classes (Table 1) and of biased minus balanced classes (Table 2); the
# colour in figures, by family, and marker and line, by measure.
_PRINTED = """
purity                pur       .867 .834 .716 .431 .301   .009  .015  .078  .268  .315 #009E73 o-
inverse_purity        invpur    .955 .941 .906 .749 .567  -.163 -.153 -.134 -.074  .002 #009E73 v-
clustering_f          F         .886 .857 .749 .449 .302  -.117 -.112 -.057  .130  .168 #B3A300 s-
bcubed_f              BCF       .890 .858 .752 .452 .296  -.102 -.089 -.037  .122  .165 black   D-
rand                  Rand      .965 .956 .919 .765 .698  -.100 -.096 -.088 -.030 -.038 #0072B2 o-
adjusted_rand         ARI       .817 .771 .622 .242 .068  -.186 -.153 -.062  .098  .089 #0072B2 v-
jaccard               Jacrd     .728 .671 .508 .210 .107  -.159 -.112  .009  .149  .136 #56B4E9 s-
fowlkes_mallows       FM        .841 .802 .681 .382 .222  -.109 -.081 -.002  .143  .168 #56B4E9 ^-
nmi_min               NMI-min   .950 .931 .874 .604 .339  -.092 -.114 -.155 -.089  .013 #D55E00 v-
nmi_geometric         NMI-sqrt  .926 .901 .818 .504 .274  -.122 -.130 -.139 -.029  .048 #D55E00 s-
nmi_arithmetic        NMI-sum   .925 .901 .815 .494 .267  -.124 -.131 -.138 -.022  .053 #D55E00 o-
nmi_max               NMI-max   .903 .873 .765 .425 .226  -.149 -.144 -.124  .016  .072 #E69F00 ^-
nmi_joint             NMI-joint .866 .825 .697 .337 .157  -.193 -.195 -.180 -.021  .038 #E69F00 D-
v_measure             Vm        .925 .901 .815 .494 .267  -.124 -.131 -.138 -.022  .053 #CC79A7 x:
van_dongen_normalized vDon      .106 .134 .229 .541 .757   .170  .170  .146  .011 -.033 #8C8C8C o--
"""
_ROWS = [line.split() for line in _PRINTED.strip().splitlines()]
MEASURE_NAMES: Mapping[str, str] = {name: label for name, label, *_ in _ROWS}
TABLE_1: Mapping[str, tuple[float, ...]] = {name: tuple(map(float, row[:5])) for name, _, *row in _ROWS}
TABLE_2: Mapping[str, tuple[float, ...]] = {name: tuple(map(float, row[5:10])) for name, _, *row in _ROWS}
STYLES = {name: (colour, line) for name, *_, colour, line in _ROWS}

FIGURE_2_GROUPS = (
    frozenset({"bcubed_f", "nmi_joint", "nmi_geometric", "nmi_arithmetic", "v_measure"}),
    frozenset({"jaccard", "adjusted_rand", "fowlkes_mallows"}),
    frozenset({"clustering_f", "nmi_max", "van_dongen_normalized"}),
)


@dataclass(frozen=True)
class DocumentModel:
    """The distribution of the frequencies of terms in documents.

    A term is general, or specific to one or more classes. Its mean frequency is random; its frequency in a document is
    normal around the mean, plus a random error. The defaults follow the text of Kishida (2014) to the letter.
    """

    n_specific: int = 140
    n_general: int = 60
    membership: float = 0.1
    """Probability that a specific term belongs to a class; a term without a class gets one at random."""
    rounded: bool = True
    """Whether frequencies are rounded down and cut at 0 before the error, and rounded down again after it."""
    squared_error: bool = False  # whether the square of the error is added in place of the error


def generate_documents(
    model: DocumentModel, class_sizes: Sequence[int], error_mean: float, n_sets: int, *, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Frequencies ``(sets, N, M)`` float32, specific terms first, and the class of each document ``(sets, N)`` int64.

    The error is normal with mean ``error_mean`` and deviation 1. Random numbers are float32, on the generator's device:
    frequencies are small, and normal draws are the most expensive step.

    Source: Kishida (2014), section 4.1 and Figure 1.
    """
    device, n_classes = generator.device, len(class_sizes)
    labels = torch.arange(n_classes, device=device).repeat_interleave(torch.tensor(list(class_sizes), device=device))
    order = torch.rand(n_sets, len(labels), generator=generator, device=device).argsort(1)
    labels = labels.expand(n_sets, -1).gather(1, order)
    means, deviations = _draw_parameters(model, n_classes, n_sets, generator)
    rows = (labels + torch.arange(n_sets, device=device)[:, None] * n_classes).flatten()
    shape = (n_sets, labels.shape[1], model.n_specific + model.n_general)
    x = torch.randn(shape, generator=generator, device=device)
    x.mul_(deviations.flatten(0, 1).index_select(0, rows).view(shape))
    x.add_(means.flatten(0, 1).index_select(0, rows).view(shape))
    x = x.floor_().clamp_(min=0) if model.rounded else x
    error = torch.randn(shape, generator=generator, device=device).add_(error_mean)
    x.add_(error.square_() if model.squared_error else error)
    return (x.floor_() if model.rounded else x).clamp_(min=0), labels


def tfidf(frequencies: Tensor) -> Tensor:
    """Weight frequencies ``(*batch, N, M)`` by x ln(N / n_j) and scale every document to unit length.

    A term without a document weighs 0, as does a term of all documents; documents without other terms stay zero.
    """
    n_documents = frequencies.shape[-2]
    documents_with_term = frequencies.sign().sum(-2, keepdim=True)
    weights = (n_documents / documents_with_term.clamp(min=1)).log()
    vectors = frequencies * weights
    lengths = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors.div_(lengths.masked_fill(lengths == 0, 1))


def _draw_parameters(
    model: DocumentModel, n_classes: int, n_sets: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Means and deviations of every term in the documents of every class, each ``(sets, classes, M)``."""

    def normal(mean: float, deviation: float, terms: int) -> Tensor:
        draws = torch.randn(n_sets, 1, terms, generator=generator, device=generator.device)
        return draws.mul_(deviation).add_(mean)

    shape, device = (n_sets, n_classes, model.n_specific), generator.device
    drawn = torch.rand(shape, generator=generator, device=device) < model.membership
    one = torch.randint(n_classes, (n_sets, 1, model.n_specific), generator=generator, device=device)
    alone = torch.arange(n_classes, device=device)[:, None] == one
    belongs = torch.where(drawn.any(1, keepdim=True), drawn, alone)  # each specific term to each class
    inside, outside = normal(4.0, 3.0, model.n_specific), normal(0.5, 1.0, model.n_specific)
    general = normal(3.0, 3.0, model.n_general).expand(-1, n_classes, -1)
    means = torch.cat([torch.where(belongs, inside, outside), general], dim=-1)
    return means, torch.cat([torch.where(belongs, 5.0, 1.0), torch.full_like(general, 3.0)], dim=-1)


CLASS_SIZES: Mapping[str, tuple[int, ...]] = {"balanced": (10,) * 10, "biased": (50, 20, 5, 5, 5, 3, 3, 3, 3, 3)}
MEASURES = tuple(MEASURE_NAMES)
ENTROPIES = ("entropy_classes", "entropy_clusters", "joint_entropy", "mutual_information")
COLUMNS = (*MEASURES, *ENTROPIES, "converged")


class Configuration(NamedTuple):
    distribution: str
    error: float
    n_clusters: int


CLUSTER_NUMBERS = (3, 5, 10, 15, 20, 30, 40)
CONFIGURATIONS = tuple(Configuration(*cell) for cell in product(CLASS_SIZES, ERRORS, CLUSTER_NUMBERS))


class Reading(NamedTuple):
    """A reading of the paper."""

    meaning: str
    documents: DocumentModel = DocumentModel()
    criterion: Criterion = "density"
    """What a move of k-means must improve, see :func:`~torchclusteval.studies.kishida.kmeans.spherical_kmeans`."""


PRESETS: Mapping[str, Reading] = {
    "text": Reading("the text of the paper to the letter"),
    "unclipped": Reading(
        "frequencies are neither rounded nor cut at 0 before the error, and only cut at 0 after it",
        DocumentModel(rounded=False),
    ),
    "unclipped_cosine": Reading(
        "as unclipped, and k-means compares cosines: the appendix speaks of changing the Euclidean distance "
        "to the cosine measure, but prints the formulas of the density. Nearer to the printed tables than "
        "unclipped, and not free of them: a search against the tables brought the cosines up",
        DocumentModel(rounded=False),
        "cosine",
    ),
    "fitted": Reading(
        "a fit: the square of the error is added and k-means compares cosines, found by a search against "
        "the printed tables; it says nothing about what the paper's program did",
        DocumentModel(squared_error=True),
        "cosine",
    ),
}


@dataclass(frozen=True, eq=False)
class Result:
    """The run of a reading; records have the columns of COLUMNS."""

    name: str
    seed: int
    run: Run

    @property
    def iterations(self) -> int:
        return self.run.records.shape[1]

    def values(self, cell: Configuration, column: str) -> Tensor:
        """The ``(iterations,)`` values of a column in one configuration."""
        return self.run.records[CONFIGURATIONS.index(cell), :, COLUMNS.index(column)]

    def mean(self, cell: Configuration, column: str) -> float:
        return mean(self.values(cell, column))

    def standard_error(self, cell: Configuration, column: str) -> float:
        """Standard error of :meth:`mean`; nan for a single set."""
        return standard_error(self.values(cell, column))


_SETS_PER_DRAW = 25  # more would not fit the processor's cache
_MAX_PASSES = 30  # "density" converges within a dozen; "cosine" never does in some sets


@on_one_thread
def run(
    preset: str = "text",
    *,
    iterations: int = 1000,
    seed: int = 0,
    device: str | torch.device = "cpu",
    output: str | Path | None = None,
    progress: bool | None = None,
) -> Result:
    """Run the study.

    Args:
        preset: a name in ``PRESETS``.
        iterations: document sets per configuration; the paper has 1000.

    Source: Kishida (2014), "Empirical comparison of external evaluation measures for document clustering by
    using synthetic data".
    """
    check_choice(preset, "preset", PRESETS)
    options: Any = {"device": device, "output": output, "progress": progress}
    return Result(preset, seed, run_plan(plan(preset), iterations=iterations, seed=seed, **options))


def plan(preset: str, configurations: Sequence[Configuration] = CONFIGURATIONS) -> Plan:
    reading = PRESETS[preset]

    def block(values: Mapping[str, Any], n_sets: int, generator: torch.Generator) -> Tensor:
        return _score_sets(reading, Configuration(**values), n_sets, generator)

    return Plan(
        study="kishida",
        settings={"preset": preset, "documents": asdict(reading.documents), "criterion": reading.criterion},
        configurations=[configuration._asdict() for configuration in configurations],
        columns=COLUMNS,
        block=block,
        in_threads=True,
    )


def rows(result: Result) -> list[Row]:
    return result.run.rows


def _score_sets(reading: Reading, cell: Configuration, n_sets: int, generator: torch.Generator) -> Tensor:
    """Records of new sets of one configuration, ``(n_sets, columns)`` float64."""
    class_sizes = CLASS_SIZES[cell.distribution]
    n_documents = sum(class_sizes)
    classes = torch.empty(n_sets, n_documents, dtype=torch.int64, device=generator.device)
    gram = torch.empty(n_sets, n_documents, n_documents, dtype=torch.float64, device=generator.device)
    for part in pieces(range(n_sets), _SETS_PER_DRAW):
        drawn = generate_documents(reading.documents, class_sizes, cell.error, len(part), generator=generator)
        vectors = tfidf(drawn[0].double())
        classes[part.start : part.stop] = drawn[1]
        gram[part.start : part.stop] = vectors @ vectors.mT
    clusters = spherical_kmeans(gram, cell.n_clusters, reading.criterion, max_passes=_MAX_PASSES)
    sizes: Any = {"num_classes": len(class_sizes), "num_clusters": cell.n_clusters}
    scores = evaluate(classes, clusters.labels, COLUMNS[:-1], **sizes, validate=False)
    return torch.stack([*scores.values(), clusters.converged.double()], dim=1)
