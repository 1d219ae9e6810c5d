"""Large tables are walked block by block: every measure keeps its value, whatever the blocks and the batch."""

import pytest
import torch

import torchclusteval as tce
from tests.support.strategies import LAYOUTS, in_layout
from torchclusteval import ContingencyTables
from torchclusteval.cells import reductions

BLOCKS = [1, 3, 7, 40]  # below a row, at a row, between rows, several rows of 6 x 11
SEEDS = range(3)


@pytest.fixture(params=BLOCKS)
def block(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def walked(block: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Blocks of few cells; what is given is the number of blocks of each walk."""
    walks: list[int] = []
    walk = reductions._fold_blocks

    def counted(whole, quantities, fold, groups):
        walks.append(sum(1 for _ in whole.cells.blocks(block)))
        return walk(whole, quantities, fold, groups)

    monkeypatch.setattr(reductions, "_MAX_UNBLOCKED_CELLS", 0)
    monkeypatch.setattr(reductions, "_BLOCK_CELLS", block)
    monkeypatch.setattr(reductions, "_fold_blocks", counted)
    return walks


def counts(seed: int) -> torch.Tensor:
    """``(3, 6, 11)`` random counts; one table is a single class, one has empty rows and columns."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(0, 9, (3, 6, 11), generator=generator)
    drawn *= torch.randint(0, 2, drawn.shape, generator=generator)
    drawn[1, 1:] = 0
    drawn[2, 2], drawn[2, :, 4] = 0, 0
    return drawn


def whole_scores(tables: ContingencyTables) -> dict[str, torch.Tensor]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reductions, "_MAX_UNBLOCKED_CELLS", 1 << 40)
        return dict(tce.evaluate_tables(tables, "all"))


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", [torch.int64, torch.float64], ids=str)
def test_walked_tables_score_alike(kind: torch.dtype, seed: int, layout: str, walked: list[int], block: int) -> None:
    drawn = counts(seed).to(kind) * (1 if kind == torch.int64 else 0.75)
    expected = whole_scores(in_layout(drawn, layout))
    assert not walked
    scores = tce.evaluate_tables(in_layout(drawn, layout), "all")
    assert max(walked) > 1
    for name, value in scores.items():
        torch.testing.assert_close(value, expected[name], rtol=1e-12, atol=1e-12, equal_nan=True, msg=name)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_batch_changes_no_bit(layout: str, walked: list[int]) -> None:
    drawn = counts(7)
    together = tce.evaluate_tables(in_layout(drawn, layout), "all")
    for number, table in enumerate(drawn):
        alone = tce.evaluate_tables(in_layout(table, layout), "all")
        for name, value in alone.items():
            assert torch.equal(value, together[name][number]) or value.isnan(), name
    assert walked


def test_one_small_table_has_the_bits_that_it_has_in_a_batch() -> None:
    generator = torch.Generator().manual_seed(3)
    for _ in range(30):
        shape = torch.randint(1, 60, (2,), generator=generator).tolist()
        table = torch.randint(0, 30, shape, generator=generator) * torch.randint(0, 2, shape, generator=generator)
        together = tce.evaluate_tables(tce.ContingencyTables(table.expand(2, -1, -1), validate=False), "all")
        for names in ("all", ["adjusted_rand", "purity", "nvi"]):  # few measures are computed in another way
            alone = tce.evaluate_tables(tce.ContingencyTables(table, validate=False), names)
            for name, value in alone.items():
                assert torch.equal(value, together[name][1]) or value.isnan(), name


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_groups_of_walked_tables(layout: str, walked: list[int]) -> None:
    drawn = counts(11)[0]
    found = tce.per_class(in_layout(drawn, layout))
    assert walked
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reductions, "_MAX_UNBLOCKED_CELLS", 1 << 40)
        expected = tce.per_class(in_layout(drawn, layout))
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-12, atol=1e-12, equal_nan=True, msg=name)


def test_gradients_need_all_cells(walked: list[int]) -> None:
    masses = counts(0)[0].double().requires_grad_()
    tce.MEASURES["v_measure"](ContingencyTables(masses)).backward()
    assert masses.grad is not None
    assert not walked
