"""README and the documentation: their code runs, in order, and prints what stands below it."""

import re
from pathlib import Path

import pytest

from tests.support.pages import DOCS, agrees, blocks, outputs, pages, pictures
from tests.support.processes import ROOT
from torchclusteval import plots
from torchclusteval.cli.declarations import COMPARE_PICTURES, SCORE_PICTURES

pytestmark = pytest.mark.slow

WITH_CODE = [page for page in pages() if blocks(page)]


@pytest.mark.filterwarnings("ignore:The .* keyword:DeprecationWarning")  # other packages, with pandas 3.1
@pytest.mark.parametrize("page", [str(page.relative_to(ROOT)) for page in WITH_CODE])
def test_code_prints_what_stands_there(page: str, tmp_path: Path) -> None:
    path = ROOT / page
    for block, printed in outputs(path, tmp_path):
        assert agrees(block.output, printed), f"{page}\n{block.code}\nprints\n{printed}\nnot\n{block.output}"
    for name in pictures(path):
        assert (DOCS / "pictures" / name).exists()


def test_pictures_are_small_and_shown() -> None:
    files = {path.name: path.stat().st_size for path in (DOCS / "pictures").iterdir()}
    assert max(files.values()) < 60_000
    assert set(files) == {name for page in pages() for name in pictures(page)}


def test_each_picture_has_its_place_on_the_page_of_pictures() -> None:
    page = (DOCS / "pictures.md").read_text()
    drawing = plots.__all__
    assert [name for name in drawing if f"plots.{name}(" not in page] == []
    chosen = [*SCORE_PICTURES[1:], *COMPARE_PICTURES[1:]]  # after the default
    assert [name for name in chosen if not re.search(rf"--picture {name}\b", page)] == []


def test_the_reader_sees_code() -> None:
    """A reader that finds nothing would pass everything."""
    assert ROOT / "README.md" in WITH_CODE
    others = [page.read_text() for page in set(pages()) - set(WITH_CODE)]
    assert not any(kind in text for text in others for kind in ("```python", "```sh"))


def test_other_output_is_noticed() -> None:
    assert agrees("a ...\nb\n", "a 1.5 \nb\n")
    assert not agrees("a 1\n", "a 2\n")
    assert not agrees(None, "printed")
