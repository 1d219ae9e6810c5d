"""Columns that do not look like clusterings: a note, and the scores all the same."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import torchclusteval as tce

N = 24
FRAME = pd.DataFrame(
    {
        "cell_type": list("TBN") * 8,
        "barcode": [f"c{i}" for i in range(N)],
        "counts": [*range(13), *[0] * 11],  # 13 of 24 are distinct
        "donor": [i // 8 for i in range(N)],
        "copy": list("TBN") * 8,
        "renamed": [0, 1, 2] * 8,  # another clustering that is perfect
    }
)
DOUBTFUL = ["barcode", "counts", "copy"]


@pytest.mark.parametrize("options", [{}, {"by": FRAME["donor"]}])
def test_columns_are_noted_once_and_scored(options: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match="^labels_pred: columns that do not look like clusterings") as caught:
        scores = tce.evaluate(FRAME["cell_type"], FRAME.iloc[:, 1:], ["ari", "purity"], **options)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert all(repr(name) in str(caught[0].message) for name in DOUBTFUL)
    assert [*scores.doubtful] == DOUBTFUL
    assert scores.doubtful["counts"] == (
        "15 labels of 24 items are distinct, in its group" if options else "13 labels of 24 items are distinct"
    )
    assert all(f"{name} does not look like a clustering" in str(scores) for name in DOUBTFUL)
    ranked = scores.macro() if options else scores
    assert len(ranked["ari"]) == 5
    with pytest.warns(UserWarning, match="^best: 'copy' does not look like a clustering"):
        assert ranked.best_clustering("ari") == "copy"


@pytest.mark.parametrize(
    ("true", "pred", "options"),
    [
        (FRAME["cell_type"], FRAME["barcode"], {}),  # one clustering without a name in a batch
        (FRAME["cell_type"], [FRAME["barcode"].tolist(), FRAME["copy"].tolist()], {}),
        (FRAME["cell_type"], {"renamed": FRAME["renamed"], "donor": FRAME["donor"], "k12": np.arange(N) // 2}, {}),
        (FRAME["cell_type"][:20], FRAME[:20], {}),  # few items
        (np.arange(N) // 1.5 // 1, {"resolver": np.arange(N) // 1.6 // 1}, {}),  # records: many classes
        (np.arange(N) // 2.1 // 1, {"resolver": np.arange(N) // 1.8 // 1}, {}),  # half of the items and more
        (FRAME["cell_type"], {"dbscan": [-1] * 20 + [0] * 4}, {"noise_label": -1, "noise": "singletons"}),
    ],
)
def test_clusterings_stay_silent(true: Any, pred: Any, options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = tce.evaluate(true, pred, ["ari", "purity"], **options)
        scores.best("ari") if scores.batch_shape else None
    assert not scores.doubtful


def test_numbers_with_fractions_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"labels_pred\['percent'\]: expected whole numbers; got 0.5"):
        tce.evaluate(FRAME["cell_type"], FRAME[["donor"]].assign(percent=np.arange(N) + 0.5), ["ari"])


def test_reports_warn_and_say_so_on_the_page() -> None:
    with pytest.warns(UserWarning, match="columns that do not look like clusterings") as caught:
        made = tce.report(FRAME["cell_type"], FRAME[["donor", "copy"]], ["ari"], n_resamples=50)
    assert sum("not look like clusterings" in str(x.message) for x in caught) == 1
    assert "copy: the labels are those of the truth, item by item" in made.html


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["score", "--truth", "cell_type", "--sort", "ari"], DOUBTFUL),
        (["score", "--truth", "cell_type", "--per", "class"], DOUBTFUL),
        (["score", "--truth", "cell_type", "--by", "donor"], DOUBTFUL),
        (["difference", "--truth", "cell_type", "--against", "donor", "--resamples", "20"], DOUBTFUL),
        (["compare"], DOUBTFUL[:2]),
    ],
)
def test_commands_note_columns(command: list[str], expected: list[str], tmp_path: Path, run: Any, error: Any) -> None:
    path = tmp_path / "cells.csv"
    FRAME.to_csv(path, index=False)
    err = run(command[0], str(path), *command[1:]).err
    assert [name for name in FRAME if f"note: in {name!r} " in err] == expected
    assert "Warning" not in err
    FRAME.assign(percent=np.arange(N) + 0.5).to_csv(path, index=False)
    said = error(command[0], str(path), *command[1:])
    assert "column 'percent', line 2: expected a whole number or text; got '0.5' (if this column is no" in said
