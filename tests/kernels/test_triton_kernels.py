"""The Triton kernels interpreted, compiled and at their first use: each task is a process that runs this file."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import mpmath
import numpy as np
import pytest
import torch
from mpmath import mpf
from torch import Tensor

import torchclusteval as tce
import torchclusteval.measures.sums
from tests.support.exact_information import exact_share
from tests.support.label_cases import CASES, Case, make
from tests.support.tagged_cuda import tagged_cuda
from torchclusteval.cells import sums
from torchclusteval.common import kernels
from torchclusteval.counting import dispatch
from torchclusteval.labels.blocks import pair_rows

pytestmark = [pytest.mark.slow, pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton")]
ERROR = 1e-13  # relative to the sum of absolute terms
ARCHITECTURES = (80, 90, 100)


def run(tasks: Iterable[str], **environment: str) -> dict[str, int]:
    """How many checks each task of this file made."""
    own = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", __file__, *tasks]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **own, **environment})
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_in_the_interpreter() -> None:
    made = run([name for name in TASKS if name not in ("compile", "variants")], TRITON_INTERPRET="1")
    least = {"count": 150, "slices": 100, "sums": 60, "expected": 25, "ratio": 100, "first use": 12, "package": 100}
    assert all(made[name] >= count for name, count in least.items()), made


def test_compiled_without_a_device(tmp_path: Path) -> None:
    """For three architectures without spilled registers, and for one of AMD."""
    made = run(["compile", "variants"], TRITON_CACHE_DIR=str(tmp_path), TRITON_INTERPRET="0")
    assert made["compile"] >= 20
    assert 4 <= made["variants"] <= 8  # of the headline of three sizes


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_on_the_device() -> None:
    for name in kernels.KERNELS:
        assert kernels.find_fault(name, torch.device("cuda", torch.cuda.current_device())) is None


# --- counting --------------------------------------------------------------------------------------------------


def check_counts() -> int:
    checked = 0
    long = [Case((5000,), (2, 5000), mask=(2, 5000)), Case((2, 4097), (2, 4097), codes_in_range=False)]
    for number, case in enumerate((*CASES, *long)):
        for programs in (None, 7) if number % 8 == 0 else (None,):
            pair, expected = make(case, "cpu")
            before = torch.arange(expected.size + 1) + 2**52
            table = before.clone()
            kernels.KERNELS["count"](table, *pair_rows(pair).flat, **dispatch.numbers_of(pair), programs=programs)
            np.testing.assert_array_equal((table - before)[:-1].numpy(), expected.ravel(), str(case))
            assert table[-1] == before[-1], "excluded items are counted nowhere"
            checked += 1
    return checked


def check_slices() -> int:
    """Slices are whole tiles, as few as hold 2^30 items each, and no more than the grid takes."""
    from torchclusteval.counting import triton_counts as counting

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
    return checked


# --- sums of cells ---------------------------------------------------------------------------------------------


def tables_to_sum() -> list[Tensor]:
    random = torch.Generator().manual_seed(0)

    def draw(high: int, *shape: int) -> Tensor:
        return torch.randint(0, high, shape, generator=random)

    padded = draw(9, 4, 12, 9)
    padded[:, [0, 5]] = padded[..., [2, 8]] = 0
    single, diagonal = torch.zeros(1, 3, 4, dtype=torch.int64), torch.diag_embed(draw(9, 2, 17))
    single[0, 1, 2] = 2**52
    huge = draw(2**52 // 80, 4, 8, 9)
    proportional = torch.outer(torch.arange(1, 9), torch.arange(3, 20)).unsqueeze(0) * 10**11
    nearly = proportional + torch.eye(8, 17, dtype=torch.int64)
    few = [draw(2, 30, 4, 5), draw(5, 8, 10, 10), draw(30, 3, 16, 17), draw(1000, 4, 1, 7), draw(1000, 4, 7, 1)]
    return [*few, padded, single, diagonal, huge, proportional, nearly, draw(4, 1, 2, 4096), draw(3, 1, 40, 33)]


def exact_sums(table: list[list[int]]) -> tuple[list[int], dict[str, tuple[Any, Any]]]:
    """``WHOLE``, and each of ``VALUES`` with the sum of its absolute terms."""
    rows, columns = [sum(x) for x in table], [sum(x) for x in zip(*table, strict=True)]
    n = sum(rows)
    cells = [(x, r, c) for line, r in zip(table, rows, strict=True) for x, c in zip(line, columns, strict=True) if x]
    filled = [sum(x > 0 for x in side) for side in (rows, columns)]
    whole = [n, *filled, len(cells), sum(map(max, table)), sum(max(x) for x in zip(*table, strict=True))]

    def mean(terms: list[Any]) -> tuple[Any, Any]:
        return (sum(terms) / mpf(n), sum(map(abs, terms)) / n) if n else (mpmath.nan, mpf(1))

    def entropy(sizes: list[int]) -> tuple[Any, Any]:
        return mean([x * mpmath.log(mpf(n) / x) for x in sizes if x])

    def plain(x: Any) -> tuple[Any, Any]:
        return mpf(x), mpf(x)

    ss = sum(x * (x - 1) for x, _, _ in cells) // 2
    joined, wanted = (sum(x * (x - 1) for x in side) // 2 for side in (columns, rows))
    sd, ds = joined - ss, wanted - ss
    every = n * (n - 1) // 2
    dd = every - ss - sd - ds
    pairs = {"ss": ss, "sd": sd, "ds": ds, "dd": dd, "joined": joined, "wanted": wanted, "separated": every - joined}
    pairs |= {"unwanted": every - wanted, "alike": ss + dd, "different": sd + ds, "every": every}
    values = {"n_items_f64": plain(n)} | {name: plain(x) for name, x in pairs.items()}
    values["determinant"] = mpf(ss * dd - sd * ds), mpf(ss * dd + sd * ds)
    of_classes, of_clusters = entropy(rows), entropy(columns)
    given = (
        mean([x * mpmath.log(mpf(c) / x) for x, _, c in cells]),
        mean([x * mpmath.log(mpf(r) / x) for x, r, _ in cells]),
    )
    values |= {"of_classes": of_classes, "of_clusters": of_clusters}
    values |= {"classes_given_clusters": given[0], "clusters_given_classes": given[1]}
    values["shared"] = mean([x * mpmath.log(mpf(x) * n / (mpf(r) * c)) for x, r, c in cells])
    values["joint"] = mean([x * mpmath.log(mpf(n) / x) for x, _, _ in cells])
    values["variation"] = given[0][0] + given[1][0], given[0][1] + given[1][1]
    values["precisions"] = plain(sum(mpf(x) * x / c for x, _, c in cells))
    values["recalls"] = plain(sum(mpf(x) * x / r for x, r, _ in cells))
    best = [
        max((2 * mpf(x) / (r + c) if x else mpf(0)) for x, c in zip(line, columns, strict=True))
        for line, r in zip(table, rows, strict=True)
    ]
    values["sum_of_f"] = plain(sum(best))
    values["weighted_f"] = plain(sum(f * r for f, r in zip(best, rows, strict=True)))
    return whole, values


def check_sums() -> int:
    checked, worst = 0, mpf(0)
    for counts in [*tables_to_sum(), torch.zeros(0, 2, 2, dtype=torch.int64)]:
        size, rows, columns = counts.shape
        shapes = [(size, rows), (size, columns), *((len(x), size) for x in (sums.WHOLE, sums.FACTS, sums.VALUES))]
        types = [torch.int64] * 3 + [torch.bool, torch.float64]
        results = [torch.empty(x, dtype=t) for x, t in zip(shapes, types, strict=True)]
        assert kernels.KERNELS["sums"](counts, *results) is not NotImplemented
        class_sizes, cluster_sizes, whole, facts, found = results
        assert torch.equal(class_sizes, counts.sum(-1))
        assert torch.equal(cluster_sizes, counts.sum(-2))
        for number, table in enumerate(counts.tolist()):
            numbers, values = exact_sums(table)
            assert whole[:, number].tolist() == numbers
            same = numbers[3] == numbers[1] == numbers[2]
            fixed = min(numbers[1:3]) <= 1 or numbers[0] in numbers[1:3]
            assert facts[:, number].tolist() == [numbers[0] == 0, same, fixed]
            for name, value in zip(sums.VALUES, found[:, number].tolist(), strict=True):
                expected, terms = values[name]
                if mpmath.isnan(expected):
                    assert np.isnan(value), name
                elif terms:
                    worst = max(worst, abs(mpf(value) - expected) / terms)
                    assert worst <= ERROR, (name, counts.shape)
                else:
                    assert value == 0, name
            checked += 1
    print("largest error", float(worst), file=sys.stderr)
    return checked


# --- expected information ------------------------------------------------------------------------------------


SIZES = (  # of classes and of clusters
    ([5, 7, 18, 0], [10, 20]),
    ([1, 1], [1, 1]),
    ([3, 0], [1, 2]),
    ([1, 2, 3, 4, 5], [5, 5, 5]),
    ([400, 400, 200], [999, 1, 0, 0]),
    ([151, 197, 294], [94, 464, 84]),  # a mean from which moments are taken, and those below
    ([900, 1100], [40, 60, 1900]),
    ([5000, 4000, 1000], [3000, 3000, 4000]),
    ([60_000, 39_990, 10], [50_000, 49_999, 1]),
    ([20_000, 80_000], [500, 99_500]),
    ([6_000_000, 3_999_000, 1000], [5_000_000, 4_999_999, 1]),
)


def check_expected() -> int:
    checked, worst = 0, mpf(0)
    for classes, clusters in SIZES:
        shares = [exact_share(a, b, sum(classes)) for a in classes for b in clusters if a and b]
        expected, terms = (sum(x) for x in zip(*shares, strict=True))
        sizes = [torch.tensor([x]) for x in (classes, clusters)]
        for function in (kernels.KERNELS["expected"], kernels.REFERENCES["expected"]):
            out = torch.empty(1, 1, dtype=torch.float64)
            function(out, *sizes)
            worst = max(worst, abs(mpf(out.item()) - expected) / (terms or 1))
            assert worst <= ERROR, (classes, clusters)
            checked += 1
    out = torch.empty(3, 1, dtype=torch.float64)  # no items, one item, one group
    kernels.KERNELS["expected"](out, torch.tensor([[0, 0], [1, 0], [5, 4]]), torch.tensor([[0], [1], [9]]))
    assert torch.equal(out[:, 0].nan_to_num(-1), torch.tensor([-1.0, 0.0, 0.0]).double())
    checked += 3
    sizes = [torch.arange(20).expand(2, 20).contiguous(), torch.tensor([[10] * 19, [40] + [0] * 4 + [150] + [0] * 13])]
    one, several = torch.empty(2, 1, dtype=torch.float64), torch.empty(2, 3, dtype=torch.float64)
    for out in (one, several):  # programs share the cells of a table
        kernels.KERNELS["expected"](out, *sizes)
    assert (one[:, 0] - several.sum(1)).abs().max() < 1e-15
    print("largest error", float(worst), file=sys.stderr)
    return checked + 2


# --- ratios, and the first use on a device --------------------------------------------------------------------------


def check_ratios() -> int:
    numerator = torch.tensor([0, 1, 5, 0, 3, -2]).repeat(100)
    denominator = torch.tensor([0.0, 2, 4, 0, 0, 3]).double().repeat(100)
    flags = [torch.arange(600) % x == 0 for x in (7, 11, 5)]
    other = torch.arange(600).double()
    checked = 0
    for same, rest, most in product((None, 0.0, 1.0), (0.0, 1.0, float("inf")), (None, 1.0)):
        for above in (numerator, numerator.double()):
            for undefined, otherwise in ((None, None), (flags[2], None), (None, other)):
                found, expected = torch.empty(600, dtype=torch.float64), torch.empty(600, dtype=torch.float64)
                parts, numbers = (above, denominator, *flags[:2], undefined, otherwise), {"same": same, "maximum": most}
                assert kernels.KERNELS["ratio"](found, *parts, other=rest, **numbers) is not NotImplemented
                kernels.REFERENCES["ratio"](expected, *parts, other=rest, **numbers)
                torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
                checked += 1
    parts = (numerator.double(), denominator, *flags[:2], None, None)
    assert kernels.KERNELS["ratio"](found, *parts, same=0.1, other=0.0, maximum=None) is NotImplemented
    apart = (denominator.view(300, 2).mT, *parts[1:])
    assert kernels.KERNELS["ratio"](found, *apart, same=1.0, other=0.0, maximum=None) is NotImplemented
    return checked


def check_first_use() -> int:
    """Each kernel agrees with its torch operations on its sample; a planted fault is found."""
    checked = 0
    for name in kernels.KERNELS:
        assert kernels.find_fault(name, torch.device("cpu")) is None
        start, reference = kernels.KERNELS[name], kernels.REFERENCES[name]

        def wrong(*tensors: Tensor, **numbers: Any) -> None:
            start(*tensors, **numbers)  # noqa: B023
            tensors[-1 if name == "sums" else 0].view(-1)[:1].add_(1)  # noqa: B023

        def broken(*tensors: Tensor, **numbers: Any) -> None:
            raise RuntimeError("no compiler")

        kernels.KERNELS[name] = wrong
        assert "other numbers" in str(kernels.find_fault(name, torch.device("cpu"))), name
        kernels.KERNELS[name] = broken
        assert "no compiler" in str(kernels.find_fault(name, torch.device("cpu")))
        kernels.KERNELS[name], kernels.REFERENCES[name] = start, reference
        checked += 3
    return checked


def check_package() -> int:
    """All measures of tensors of a simulated device, by the kernels, against those of the CPU."""
    random = torch.Generator().manual_seed(1)
    true, pred = torch.randint(6, (80,), generator=random), torch.randint(7, (12, 80), generator=random)
    pred[0], pred[1], pred[2] = true, 0, torch.arange(80) % 7
    mask = torch.arange(80).expand(12, 80) % 12 < torch.arange(1, 13).unsqueeze(-1) % 12  # no item in the last table
    options: dict[str, Any] = {"num_classes": 8, "num_clusters": 8, "validate": False}
    expected = tce.evaluate(true, pred, "all", mask=mask, **options)

    def launch(name: str, *tensors: Any, **numbers: Any) -> None:
        plain = [None if x is None else x.as_subclass(Tensor) for x in tensors]
        with torch._C.DisableTorchFunction():
            assert kernels.KERNELS[name](*plain, **numbers) is not NotImplemented

    with tagged_cuda(), mock.patch.object(kernels, "launch", launch):
        found = tce.evaluate(true.to("cuda"), pred.to("cuda"), "all", mask=mask.to("cuda"), **options)
        values = {name: value.cpu() for name, value in found.items()}
    for name, value in expected.items():
        torch.testing.assert_close(values[name], value, rtol=1e-12, atol=1e-12, equal_nan=True, msg=name)
    return len(values)


# --- machine code ----------------------------------------------------------------------------------------------


def compiled(kernel: Any, types: dict[str, str], constants: dict[str, Any], architecture: Any, **options: Any) -> Any:
    import triton
    from triton.backends.compiler import GPUTarget

    signature = {name: "constexpr" if name in constants else types.get(name, "i32") for name in kernel.arg_names}
    at = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    source = triton.compiler.ASTSource(kernel, signature, at, {})
    kind = ("hip", architecture, 64) if isinstance(architecture, str) else ("cuda", architecture, 32)
    return triton.compile(source, target=GPUTarget(*kind), options={"enable_fp_fusion": False, **options})


def spills(ptx: str, architecture: int) -> str | None:
    """What the assembler says of registers that it spills; None: no assembler here knows the code."""
    import triton

    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder, "kernel.ptx")).write_text(ptx)
        for tool in Path(triton.__file__).parent.rglob("ptxas*"):
            if tool.is_file() and os.access(tool, os.X_OK):
                target = f"-arch=sm_{architecture}" + "a" * (architecture >= 90)
                command: list[Any] = [tool, "-v", target, path, "-o", os.devnull]
                said = subprocess.run(command, capture_output=True, text=True)
                if said.returncode == 0:
                    return said.stderr
    return None


def check_compiling() -> int:
    from torchclusteval.cells import triton_sums
    from torchclusteval.counting import triton_counts
    from torchclusteval.measures import triton_information, triton_ratio

    of_sums = {"facts": "*u8", "values": "*fp64"} | dict.fromkeys(
        ("counts", "class_sizes", "cluster_sizes", "whole"), "*i64"
    )
    of_sizes = {"out": "*fp64", "class_sizes": "*i64", "cluster_sizes": "*i64"}
    of_ratio = {"out": "*fp64", "numerator": "*i64", "denominator": "*fp64", "same": "fp32", "other": "fp32"}
    of_ratio |= {"identical": "*u8", "empty": "*u8", "maximum": "fp32"}
    tile = triton_sums.TILE
    plain = {f"{part}_source": None for part in ("true", "pred", "keep")} | {"true_step": 1, "pred_step": 1}
    plain |= {"KEEP": False, "CHECKED": False, "ALONE": True, "DIRECT": False, "TILE": 2048, "COUNTERS": 256}
    labels = {"table": "*i64", "true": "*i64", "pred": "*i64", "keep": "*u8"}
    jobs: list[tuple[Any, dict[str, str], dict[str, Any], dict[str, Any]]] = [
        (triton_sums.sum_cells, of_sums, {"ROWS": tile, "COLUMNS": tile}, {"num_warps": triton_sums.WARPS}),
        (triton_information.expect, of_sizes, {"BLOCK": triton_information.BLOCK}, {}),
        (triton_ratio.divide, of_ratio, {"undefined": None, "otherwise": None, "SAME": True, "BLOCK": 256}, {}),
        (triton_counts.count_slice, labels, plain, {}),
    ]
    checked = 0
    for architecture in ARCHITECTURES:
        for kernel, types, constants, options in jobs:
            made = compiled(kernel, types, constants, architecture, **options)
            said = spills(made.asm["ptx"], architecture)
            assert said is None or "0 bytes spill stores, 0 bytes spill loads" in said, (kernel, architecture, said)
            assert said is not None or architecture != 90
            # A number in the source may become float32, which the interpreter does not show.
            assert kernel is triton_ratio.divide or "f32" not in made.asm["ttir"], kernel
            checked += 1
    for kernel, types, constants, options in jobs if "amdgcn" in known_backends() else []:
        assert compiled(kernel, types, constants, "gfx942", **options).asm["hsaco"]
    variants: list[tuple[str, str, dict[str, Any]]] = [(x, "u8", {}) for x in ("i32", "i16", "i8", "u8")]
    variants += [("i8", "i32", {"KEEP": True, "keep_step": 1, "CHECKED": True, "ALONE": False})]
    variants += [("i64", "u8", {"TILE": 256, "ALONE": False}), ("i64", "i64", {"DIRECT": True, "ALONE": False})]
    variants += [("i64", "i64", {"COUNTERS": x}) for x in triton_counts.COUNTERS if x <= triton_counts.MAX_CELLS]
    for true, pred, changes in variants:
        constants = plain | changes
        types = labels | {"true": f"*{true}", "pred": f"*{pred}", "n": "i64", "items": "i64"}
        made = compiled(
            triton_counts.count_slice, types, constants, 90, num_warps=triton_counts.WARPS[constants["COUNTERS"]]
        )
        said = spills(made.asm["ptx"], 90)
        assert said is None or "0 bytes spill stores, 0 bytes spill loads" in said, (constants, said)
        if "atom.global" in made.asm["ptx"] or "red.global" in made.asm["ptx"]:
            assert not constants["ALONE"]
            assert "acq_rel" not in made.asm["ptx"]
        checked += 1
    return checked


def check_variants() -> int:
    """What Triton compiles of the very arguments of launches, for a card that is not there."""
    import triton
    from triton.backends.compiler import GPUTarget

    from torchclusteval.cells import triton_sums
    from torchclusteval.counting import triton_counts
    from torchclusteval.measures import triton_information, triton_ratio

    class Driver:
        """What a kernel asks of a device before it is launched."""

        def get_current_device(self) -> int:
            return 0

        def get_current_stream(self, device: int | None = None) -> int:
            return 0

        def get_current_target(self) -> GPUTarget:
            return GPUTarget("cuda", 90, 32)

    def compiling(kernel: Any, grid: Any) -> Callable[..., Any]:
        return lambda *tensors, **numbers: kernel.run(*tensors, grid=grid, warmup=True, **numbers)

    def launch(name: str, *tensors: Any, **numbers: Any) -> None:
        with torch._C.DisableTorchFunction():
            plain = [None if x is None else x.as_subclass(Tensor) for x in tensors]
            assert kernels.KERNELS[name](*plain, **numbers) is not NotImplemented
        kernels.REFERENCES[name](*tensors, **numbers)

    triton.runtime.driver.set_active(Driver())
    with (
        warnings.catch_warnings(action="error"),
        tagged_cuda(),
        mock.patch.object(kernels, "launch", launch),
        mock.patch.object(triton.runtime.jit.JITFunction, "__getitem__", compiling),
    ):
        for size, items in ((7, 100), (1000, 100), (33, 5000)):
            labels = torch.randint(10, (items,)).to("cuda"), torch.randint(10, (size, items)).to("cuda")
            tce.evaluate(*labels, num_classes=10, num_clusters=10)
    started = (triton_ratio.divide, triton_information.expect, triton_sums.sum_cells, triton_counts.count_slice)
    return sum(len(cache[0]) for kernel in started for cache in kernel.device_caches.values())


def known_backends() -> set[str]:
    from triton.backends import backends

    return {"amdgcn"} if "amd" in backends else set()


TASKS: dict[str, Callable[[], int]] = {
    "count": check_counts,
    "slices": check_slices,
    "sums": check_sums,
    "expected": check_expected,
    "ratio": check_ratios,
    "first use": check_first_use,
    "package": check_package,
    "compile": check_compiling,
    "variants": check_variants,
}

if __name__ == "__main__":
    mpmath.mp.dps = 50
    print(json.dumps({name: TASKS[name]() for name in sys.argv[1:]}))
