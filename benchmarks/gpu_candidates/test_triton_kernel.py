"""The Triton kernel: its logic in Triton's interpreter, its machine code for sm_90, its counts on a device.

Each in a process of its own, as Triton decides at import whether kernels are interpreted. Without Triton all of it is
skipped; run as a program this file is what those processes run.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.label_cases import CASES, DTYPES, Case, make

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton"),
]


def run(task: str, **environment: str) -> int:
    """How many checks a task of this file made."""
    own = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, task]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **own, **environment})
    assert done.returncode == 0, done.stderr[-4000:]
    return int(done.stdout.split()[-1])


def test_counts_in_the_interpreter() -> None:
    assert run("count", TRITON_INTERPRET="1") > 300


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_counts_on_the_device() -> None:
    assert run("count on cuda") > 300


def test_the_kernel_compiles_without_a_device(tmp_path: Path) -> None:
    assert run("compile", TRITON_CACHE_DIR=str(tmp_path), TRITON_INTERPRET="0") > 20


def test_no_slice_outgrows_its_counters() -> None:
    assert run("slices") > 100


# what runs in the other processes -------------------------------------------------------------------


def long_cases(most: int) -> Iterator[Case]:
    """Whole tiles and tails, few and many cells; labels in one cell or in order come from ``arranged``."""
    for n, batch in product((1, 31, 255, 256, 257, 2047, 2048, 2049, 6145), (1, 3)):
        yield Case((n,), (batch, n))
        yield Case((n,), (batch, n), mask=(n,), codes_in_range=False, offsets=(-2, 3))
    for sizes in ((1, 1), (1, 32), (4, 8), (3, 11), (31, 33), (2, 512), (32, most // 32)):
        yield Case((5000,), (2, 5000), sizes=sizes)
        yield Case((5000,), (2, 5000), sizes=sizes, codes_in_range=False)
    for dtype in DTYPES:
        sizes = (2, 2) if dtype == torch.bool else (100, 10)
        yield Case((5000,), (2, 5000), sizes=sizes, dtypes=(dtype, dtype))


def check_counts(device: str) -> int:
    from gpu_candidates import triton_kernel

    checked = 0
    for case in (*CASES, *long_cases(triton_kernel.MAX_CELLS)):
        pair, expected = make(case, device)
        if not triton_kernel.supports(pair):
            assert case.sizes[0] * case.sizes[1] > triton_kernel.MAX_CELLS
            continue
        for programs in (None, 1, 7, 1000):
            before = torch.arange(expected.size + 1, device=device)
            table = before.clone()
            triton_kernel.accumulate_counts(table, pair, programs)
            np.testing.assert_array_equal((table - before)[:-1].cpu().numpy(), expected.ravel(), str(case))
            assert table[-1] == before[-1], "excluded items are counted nowhere"
            checked += 1
    return checked + check_arranged(device) + check_strided(device)


def check_arranged(device: str) -> int:
    """All items in one cell, and labels in order: what atomic additions and histograms find hardest."""
    from gpu_candidates import triton_kernel

    for values in (torch.zeros(9001, dtype=torch.int64), torch.arange(9001) * 5 // 9001):
        pair, _ = make(Case((9001,), (9001,), sizes=(5, 5)), device)
        for side in (pair.true, pair.pred):
            side.codes.copy_(values)
        table = torch.zeros(25, dtype=torch.int64, device=device)
        triton_kernel.accumulate_counts(table, pair, 4)
        expected = torch.zeros(5, 5, dtype=torch.int64)
        for i in range(5):
            expected[i, i] = (values == i).sum()
        assert table.view(5, 5).tolist() == expected.tolist()
    return 2


def check_strided(device: str) -> int:
    """Labels and mask that lie item by item, over several tiles."""
    from gpu_candidates import triton_kernel

    pair, expected = make(Case((3, 5000), (3, 5000), mask=(3, 5000)), device)
    assert pair.mask is not None
    true, pred = (replace(x, codes=x.codes.t().contiguous().t()) for x in (pair.true, pair.pred))
    table = torch.zeros(3 * 35, dtype=torch.int64, device=device)
    triton_kernel.accumulate_counts(table, replace(pair, true=true, pred=pred, mask=pair.mask.t().contiguous().t()))
    np.testing.assert_array_equal(table.cpu().numpy(), expected.ravel())
    return 1


class Launches:
    """In place of a kernel: the grid and whether each program has a table to itself."""

    def __init__(self) -> None:
        self.made: list[tuple[tuple[int, int], bool]] = []

    def __getitem__(self, grid: tuple[int, int]) -> Callable[..., None]:
        return lambda *arguments, ALONE, **options: self.made.append((grid, ALONE))  # noqa: N803


def check_slices() -> int:
    """Slices are whole tiles, as few as hold 2^30 items each, and no more than the grid takes."""
    from gpu_candidates import triton_kernel as counting

    checked = 0
    for size, n, cells in product((1, 7, 1000), (1, 300, 2049, 10**6 + 1, 2**31 + 5, 2**40), (1, 100, 1024)):
        for programs in (1, 1056, 10**9):
            tile = counting.TILE_LABELS if n >= counting.TILE_LABELS else counting.SHORT_TILE_LABELS
            items = counting.slice_items(size, n, cells, tile, programs)
            slices = -(-n // items)
            assert items % tile == 0
            assert tile <= items <= 2**30 + tile
            assert slices <= 65_535
            assert programs == 1 or slices == 1 or items >= min(8 * cells, 2**30)
            checked += 1
    counting.count_slice = Launches()
    for programs in (1, 2, 1000):  # several slices add to one table, which takes atomic additions
        counting.accumulate_counts(torch.zeros(1), make(Case((5000,), (5000,)), "cpu")[0], programs)
    assert counting.count_slice.made == [((1, 1), True), ((1, 2), False), ((1, 2), False)]
    return checked


def check_compiling() -> int:
    """Machine code for an H100, for what differs in kind: types, masks, checks, slices, strides, sources, ones."""
    import triton
    from triton.backends.compiler import GPUTarget

    from gpu_candidates import triton_kernel as counting

    kernel = counting.count_slice
    plain: dict[str, Any] = {"KEEP": False, "CHECKED": False, "ALONE": True, "TILE": 2048, "COUNTERS": 128}
    plain |= {f"{part}_source": None for part in ("true", "pred", "keep")} | {"true_step": 1, "pred_step": 1}
    ones = dict.fromkeys(("n", "rows", "columns", "true_first", "pred_first", "shift", "true_stride"), 1)
    variants: list[tuple[str, str, dict[str, Any]]] = [(x, x, {}) for x in ("i64", "i32", "i16", "i8", "u8")]
    variants += [("i64", "u8", {}), ("i8", "i32", {"KEEP": True, "keep_step": 1}), ("i64", "i64", ones)]
    variants += [("i64", "i64", {flag: value}) for flag, value in (("CHECKED", True), ("ALONE", False), ("TILE", 256))]
    variants += [("u8", "i64", {"KEEP": True, "CHECKED": True, "ALONE": False}), ("i32", "i32", ones | {"KEEP": True})]
    counters = [2**k for k in range(5, 15) if 2**k <= counting.MAX_CELLS]
    variants += [("i64", "i64", {"COUNTERS": k}) for k in counters]
    for true, pred, changes in variants:
        for wide in (False, True):  # sizes of more than 31 bits, strides and sources
            constants = plain | changes
            if wide:
                constants = {k: v for k, v in constants.items() if not k.endswith(("_source", "_step"))}
            types = {"table": "*i64", "true": f"*{true}", "pred": f"*{pred}", "keep": "*u8"}
            types |= {f"{part}_source": "*i64" for part in ("true", "pred", "keep")}
            if wide:
                types |= {name: "i64" for name in kernel.arg_names if name.endswith(("stride", "step", "n", "items"))}
            types |= dict.fromkeys(constants, "constexpr")
            signature = {name: types.get(name, "i32") for name in kernel.arg_names}
            at = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
            source = triton.compiler.ASTSource(kernel, signature, at, {})
            options = {"num_warps": 8 if constants["COUNTERS"] >= counting.MANY_COUNTERS else 4}
            made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
            assert made.asm["cubin"]
            if "atom.global" in made.asm["ptx"] or "red.global" in made.asm["ptx"]:
                assert not constants["ALONE"]
                assert "acq_rel" not in made.asm["ptx"]
    return 2 * len(variants)


TASKS = {
    "count": lambda: check_counts("cpu"),
    "count on cuda": lambda: check_counts("cuda"),
    "slices": check_slices,
    "compile": check_compiling,
}

if __name__ == "__main__":
    print(TASKS[sys.argv[1]]())
