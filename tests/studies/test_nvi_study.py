"""The tables of Reichart and Rappoport, and the simulation of the bias of V."""

import math

import pytest
import torch
from sklearn import metrics

from torchclusteval.studies import nvi
from torchclusteval.studies.nvi import MEASURES, rounding_to


@pytest.fixture(scope="module")
def result() -> nvi.Result:
    return nvi.run(iterations=200, seed=1, progress=False)


def test_table_1() -> None:
    """Values worked out by an independent implementation; V of solution R is not as printed."""
    expected = {
        "singletons": (2 / 3, math.log(10), 1.0, 0.5),
        "solution R": (0.59156862801, 1.880895977311, 0.81686274398, 0.81686274398),
    }
    checks = nvi.check_table_1()
    for check in checks:
        assert check.value == pytest.approx(expected[check.place][MEASURES.index(check.measure)], abs=1e-11)
    assert [(x.place, x.measure) for x in checks if not x.follows] == [("solution R", "v_measure")]


def test_table_3_has_three_cells_that_do_not_follow() -> None:
    checks = nvi.check_table_3()
    assert len(checks) == 27
    wrong = {check.place: round(check.value, 3) for check in checks if not check.follows}
    assert wrong == {"WSJ10 T": 0.476, "NEGRA10 MDL": 0.493, "CTB10 P": 0.429}
    assert {check.measure for check in checks if not check.follows} == {"v_measure"}


def test_printed_digits() -> None:
    assert rounding_to("0.81") == pytest.approx((0.805, 0.815))
    assert rounding_to("1.9") == pytest.approx((1.85, 1.95))
    assert rounding_to("3") == pytest.approx((2.5, 3.5))


def test_one_cluster_and_singletons(result: nvi.Result) -> None:
    """At both ends of the simulation every clustering has the exact values of Table 1's case, and of one cluster."""
    log_10 = math.log(10)
    for k, expected in ((1, (0.0, log_10, 1.0, log_10)), (100, (2 / 3, log_10, 1.0, 0.5))):
        records = result.run.records[k - 1]
        torch.testing.assert_close(records, torch.tensor(expected, dtype=torch.float64).expand_as(records))


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 10, 60])
def test_averages_are_those_of_a_loop(result: nvi.Result, k: int) -> None:
    """V of clusterings that another library draws and scores, within five standard errors."""
    classes = [item // 10 for item in range(100)]
    blocks = [position * k // 100 for position in range(100)]
    generator = torch.Generator().manual_seed(7)
    loop = torch.tensor(
        [
            metrics.v_measure_score(classes, [blocks[i] for i in torch.randperm(100, generator=generator).tolist()])
            for _ in range(200)
        ],
        dtype=torch.float64,
    )
    ours = result.run.records[k - 1, :, 0]
    error = float((loop.var() / len(loop) + ours.var() / len(ours)).sqrt())
    assert abs(float(loop.mean() - ours.mean())) < 5 * error
    assert error < 0.005


def test_v_rises_and_nvi_does_not_fall_below_one(result: nvi.Result) -> None:
    means = result.mean("v_measure")
    assert all(later > earlier for earlier, later in zip(means[:-10:10], means[10::10], strict=False))
    assert min(result.mean("nvi")) >= 1 - 1e-12
    assert result.preferred_to_r("variation_of_information") == []
    assert result.preferred_to_r("nvi") == []
    for biased in ("v_measure", "nvi_k"):
        assert 100 in result.preferred_to_r(biased)
        assert 10 not in result.preferred_to_r(biased)


def test_report(result: nvi.Result) -> None:
    text = nvi.report(result)
    assert "24 of 27 follow" in text
    assert "V of WSJ10 T, 0.476, printed 0.44" in text
    assert "does not match: V of solution R, 0.592, printed 0.587" in text
    assert "NVI prefers solution R of Table 1 to random clusters, however many" in text
