"""Pages of Markdown as programs: README and the documentation, whose code runs and prints what stands below it.

All Python blocks of a page share their names, and its commands and blocks run in order in one folder, which holds
``docs/data``, as ``data`` too. A block ``text`` that follows code is its output; ``...`` in it stands for anything. A
comment before a block says what is special: ``<!-- run: NAME -->`` names it, ``as script`` runs it as a process of its
own, ``needs PACKAGE`` leaves it out where the package is missing, ``not run: REASON`` leaves it out. A line that
ends in ``# SomethingError`` has to raise that.

``python -m tests.support.pages docs/guides/tracking.md`` writes the outputs and the pictures of pages.
"""

import ast
import contextlib
import doctest
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from tests.support.processes import ROOT, finish, start, start_group
from torchclusteval.cli import main

DOCS = ROOT / "docs"
WIDTH = "100"  # of tables that commands print

_BLOCK = re.compile(
    r"(?:^<!-- (?P<said>[^>]*?) -->\n+)?^```(?P<kind>python|sh)\n(?P<code>.*?)^```\n(?P<gap>\n?)"
    r"(?:^```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
_RAISES = re.compile(r"# (\w+Error)$", re.MULTILINE)


@dataclass
class Block:
    """Code of a page, and the output that the page shows (None: none)."""

    kind: str
    code: str
    output: str | None
    said: str
    place: tuple[int, int]  # in the text of the page, the output included

    @property
    def name(self) -> str | None:
        found = re.search(r"run: (\w+)", self.said)
        return found[1] if found else None

    @property
    def skipped(self) -> bool:
        return "not run: " in self.said

    @property
    def needs(self) -> list[str]:
        return re.findall(r"needs (\w+)", self.said)


def pages() -> list[Path]:
    """README and every page of the documentation that is written by hand."""
    written = (path for path in DOCS.rglob("*.md") if not {"generated", "_build"} & set(path.parts))
    return [ROOT / "README.md", *sorted(written)]


def blocks(page: Path) -> list[Block]:
    return [
        Block(match["kind"], match["code"], match["output"], match["said"] or "", match.span())
        for match in _BLOCK.finditer(page.read_text())
    ]


def names_after(page: Path, name: str) -> dict[str, Any]:
    """The names of Python after the named blocks of a page up to one of them; none that is a script runs."""
    names: dict[str, Any] = {"__name__": __name__}  # of a module that torch 2.11 can import
    for block in blocks(page):
        if block.name and "as script" not in block.said:
            exec(compile(block.code, f"{page.name}, {block.name}", "exec"), names)
        if block.name == name:
            return names
    raise AssertionError(f"{page.name} has no block {name}")


def outputs(page: Path, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run a page in a folder: each block that runs, and what it prints."""
    for data in ("data", "docs/data"):  # as from the folder of the documentation, and as from that of README
        shutil.copytree(DOCS / "data", folder / data, dirs_exist_ok=True)
    (folder / "pictures").mkdir(exist_ok=True)
    names: dict[str, Any] = {"__name__": "page"}
    with contextlib.chdir(folder), mock.patch.dict(os.environ, COLUMNS=WIDTH, MPLBACKEND="Agg"):
        for block in blocks(page):
            if block.skipped or any(importlib.util.find_spec(package) is None for package in block.needs):
                continue
            if block.kind == "sh":
                yield block, "".join(map(_command, _commands(block.code)))
            elif "as script" in block.said:
                script = folder / f"{block.name or 'script'}.py"
                script.write_text(block.code)
                yield block, _finished(start(str(script)))
            else:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    _run(block.code, page.name, names)
                yield block, printed.getvalue()


def _run(code: str, name: str, names: dict[str, Any]) -> None:
    """Run Python, where some of the statements may have to raise."""
    if not _RAISES.search(code):
        exec(compile(code, name, "exec"), names)
        return
    lines = code.splitlines()
    for statement in ast.parse(code).body:
        expected = _RAISES.search(lines[(statement.end_lineno or 1) - 1])
        try:
            exec(compile(ast.Module([statement], []), name, "exec"), names)
        except Exception as error:
            if expected is None or type(error).__name__ != expected[1]:
                raise
        else:
            assert expected is None, f"{name}: expected {expected[1]} of {ast.unparse(statement)}"


def agrees(shown: str | None, printed: str) -> bool:
    """Whether a page shows what was printed, blanks at the ends of lines apart."""
    want, got = (_plain(text or "") for text in (shown, printed))
    return doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS)


def pictures(page: Path) -> list[str]:
    """Names of the pictures of the documentation that a page shows."""
    return re.findall(r"\]\((?:\.\./|docs/)*pictures/([\w.-]+)\)", page.read_text())


def _plain(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


def _commands(code: str) -> list[str]:
    lines = code.replace("\\\n", " ").splitlines()
    bare = (re.sub(r"\s+#\s.*$", "", line).strip() for line in lines)
    return [line for line in bare if line and not line.startswith(("#", "pip install"))]


def _command(line: str) -> str:
    """What a command prints on standard output; those of the package run in this process."""
    words = shlex.split(line)
    if words[0] == "torchclusteval" and not {"|", ">", "&&"} & set(words):
        printed, notes = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(notes):
            status = main(words[1:])
        assert status == 0, f"{line}: {notes.getvalue()}"
        return printed.getvalue()
    if words[:2] == ["torchrun", "--nproc-per-node"]:
        first, *others = [_finished(process) for process in start_group(int(words[2]), *words[3:])]
        assert not any(others), f"{line}: another rank than the first printed {others}"
        return first
    done = subprocess.run(["bash", "-ec", _FUNCTION + line], capture_output=True, text=True, env=_variables())
    assert done.returncode == 0, f"{line}: {done.stderr}"
    return done.stdout


_FUNCTION = f'torchclusteval() {{ "{sys.executable}" -m torchclusteval "$@"; }}; '


def _variables() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}


def _finished(process: subprocess.Popen[str]) -> str:
    status, output, errors = finish(process)
    assert status == 0, errors
    return output


def write(page: Path) -> None:
    """Put what each block prints below it, where what stands there differs, and keep its pictures."""
    text = page.read_text()
    with tempfile.TemporaryDirectory() as folder:
        for block, printed in reversed(list(outputs(page, Path(folder)))):
            if agrees(block.output, printed):
                continue
            shown = f"\n```text\n{_plain(printed)}```\n" if printed.strip() else ""
            start_at, end = block.place
            code_end = text.index("```\n", text.index(f"```{block.kind}\n", start_at) + 3) + 4
            text = text[:code_end] + shown + (text[end:] if block.output is not None else text[code_end:])
        for picture in (Path(folder) / "pictures").iterdir():
            shutil.copy(picture, DOCS / "pictures" / picture.name)
    page.write_text(text)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        write(Path(argument).resolve())
