"""The document study: averages of the presets, tables, claims, files."""

import math

import pytest
import torch

from torchclusteval.studies import kishida
from torchclusteval.studies.kishida import findings
from torchclusteval.studies.kishida import simulation as paper
from torchclusteval.studies.kishida.simulation import COLUMNS, CONFIGURATIONS, MEASURES, Configuration, Result
from torchclusteval.studies.runner import Run, run_plan

# Averages over 1000 sets of an independent implementation of the same readings (balanced, ten clusters), to
# three decimals, by preset and error; the standard error of its cells is about .0026.
REFERENCE = {  # in the order of MEASURES, the first ones
    ("text", 0.0): ".916",
    ("text", 2.0): ".893",
    ("unclipped", 0.0): ".907 .952 .913 .914 .975 .861 .786 .877 .955 .944 .943 .932 .895 .943 .083",
    ("unclipped", 2.0): ".541 .571 .564 .457 .878 .304 .234 .372 .540 .534 .534 .528 .372 .534 .511",
    ("fitted", 0.0): ".867 .963 .890 .896 .965 .818 .727 .843 .955 .929 .928 .904 .869 .928 .101",
    ("fitted", 2.0): ".357 .634 .358 .355 .696 .098 .125 .259 .423 .343 .335 .280 .203 .335 .697",
}


def records(preset, *cells, iterations, seed=0):
    return run_plan(kishida.plan(preset, cells), iterations=iterations, seed=seed, progress=False).records


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["text", "unclipped", "fitted"])
def test_presets_reach_the_figures_of_an_independent_implementation(preset):
    """Four standard errors of the difference; the seed is fixed."""
    cells = [Configuration("balanced", error, 10) for error in (0.0, 2.0)]
    for cell, values in zip(cells, records(preset, *cells, iterations=300, seed=1), strict=True):
        expected = map(float, REFERENCE[preset, cell.error].split())
        for name, number, found in zip(MEASURES, expected, values.T, strict=False):
            allowed = 4 * math.hypot(float(found.std()) / math.sqrt(300), 0.0026) + 0.0005
            assert abs(float(found.mean()) - number) < allowed, (cell, name)


def test_records_are_the_scores_of_the_clusterings():
    """Bounds that tie the columns together in every set: I = E(A) + E(C) - E(C, A), and ten clusters at most."""
    (values,) = records("unclipped", Configuration("biased", 2.0, 10), iterations=40)
    found = dict(zip(COLUMNS, values.T, strict=True))
    classes, clusters, joint, mutual = (found[name] for name in kishida.ENTROPIES)
    torch.testing.assert_close(mutual, classes + clusters - joint, rtol=0, atol=1e-12)
    shares = torch.tensor(kishida.CLASS_SIZES["biased"], dtype=torch.float64) / 100
    torch.testing.assert_close(classes, -(shares * shares.log()).sum().expand(40), rtol=0, atol=1e-12)
    assert (clusters <= math.log(10) + 1e-12).all()
    torch.testing.assert_close(found["nmi_joint"], mutual / joint, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("preset", "iterations", "name"), [("literal", 4, "preset"), ("text", 0, "iterations")])
def test_wrong_arguments_are_named(preset, iterations, name):
    with pytest.raises(ValueError, match=name):
        kishida.run(preset, iterations=iterations)


def made_up(values):
    """A result whose averages are ``values(cell, column)``, without spread."""
    cells = [[values(cell, column) for column in COLUMNS] for cell in CONFIGURATIONS]
    made = torch.tensor(cells, dtype=torch.float64)[:, None].repeat(1, 8, 1)
    return Result("text", 0, Run(made, [], 0.0, 0))


def printed(cell, column):
    if column not in MEASURES:
        return 1.0
    i = paper.ERRORS.index(cell.error)
    extra = paper.TABLE_2[column][i] if cell.distribution == "biased" else 0.0
    return paper.TABLE_1[column][i] + extra


def test_the_printed_averages_deviate_by_nothing():
    result = made_up(printed)
    for table in (findings.compare_table_1(result), findings.compare_table_2(result)):
        assert len(table.deviations) == 75
        assert max(table.deviations) < 1e-12
        assert table.same_signs == 75
    by_text = {claim.text.split(":")[0]: claim for claim in findings.claims(result)}
    assert by_text["Table 1"].holds
    assert by_text["nmi_arithmetic = v_measure in every configuration"].holds
    # Three decimals cannot hold the order where forms differ by less, but the paper's do.
    assert by_text["nmi_min >= geometric >= arithmetic >= max >= joint in every configuration"].holds


def verdicts(result):
    return {claim.text: claim.holds for claim in findings.claims(result)}


def curves(peaks):
    """Averages that peak where told by measure (default 10), fall with the error, and cross at ten clusters."""

    def value(cell, column):
        if column == "entropy_classes":
            return 2.0
        if column == "entropy_clusters":
            return 2.0 + (cell.n_clusters - 9.5) / 100
        height = 0.9 - abs(cell.n_clusters - peaks(column, cell)) / 100 - cell.error / 10
        return 1 - height if column == "van_dongen_normalized" else height

    return value


def papers_peaks(column, cell):
    rising = column == "purity" or (cell.error == 2.0 and (column.startswith("nmi") or column == "v_measure"))
    if rising:
        return 40
    if column == "inverse_purity":
        return 3
    return {"jaccard": 15, "adjusted_rand": 20, "bcubed_f": 20}.get(column, 10) if cell.error == 2.0 else 10


def test_claims_about_curves_hold_for_the_papers_curves_and_fail_for_others():
    figures = ("Figure 3", "Figure 4", "Figure 7")
    for peaks, expected in ((papers_peaks, True), (lambda column, cell: 5, False)):
        found = {text: holds for text, holds in verdicts(made_up(curves(peaks))).items() if text.startswith(figures)}
        assert len(found) == 8
        for text, holds in found.items():
            # E(C) crosses E(A) at ten in both, and a curve that peaks at 5 does not fall from 3 on.
            assert holds is (True if text.startswith("Figure 7") else expected), text


def test_claims_about_groups_follow_the_correlations():
    """Records driven by one hidden factor per group, and the same with two measures exchanged."""
    generator = torch.Generator().manual_seed(0)
    groups = [sorted(group) for group in paper.FIGURE_2_GROUPS]
    rest = [[name] for name in MEASURES if not any(name in group for group in groups)]
    records = torch.zeros(len(CONFIGURATIONS), 400, len(COLUMNS), dtype=torch.float64)
    noise = torch.randn(records.shape, generator=generator, dtype=torch.float64)
    for group in (*groups, *rest):
        factor = torch.randn(*records.shape[:2], generator=generator, dtype=torch.float64)
        for name in group:
            sign = -1 if name == "van_dongen_normalized" else 1
            records[:, :, COLUMNS.index(name)] = sign * factor
    records += 0.1 * noise
    found = verdicts(Result("text", 0, Run(records, [], 0.0, 0)))
    assert [holds for text, holds in found.items() if text.startswith(("Figure 2", "Figure 6"))] == [True, True]

    i, j = COLUMNS.index("jaccard"), COLUMNS.index("rand")
    order = list(range(len(COLUMNS)))
    order[i], order[j] = j, i
    found = verdicts(Result("text", 0, Run(records[:, :, order], [], 0.0, 0)))
    assert [holds for text, holds in found.items() if text.startswith(("Figure 2", "Figure 6"))] == [False, False]


@pytest.mark.slow
def test_the_report_and_the_sheet(tmp_path):
    result = kishida.run("fitted", iterations=2)
    text = kishida.report(result)
    assert "a fit" in text
    assert "nan" not in text
    kishida.plot(result, tmp_path / "sheet.png")
    assert (tmp_path / "sheet.png").read_bytes().startswith(b"\x89PNG")
