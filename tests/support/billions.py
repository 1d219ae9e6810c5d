"""Tables of a billion items, and exact values of them with as many digits as mpmath is set to."""

import itertools
from collections.abc import Sequence
from typing import Any

import mpmath
import torch
from torch import Tensor

from tests.support.association import INDICES, SIMILARITIES, least, moments_of_sizes

Table = Sequence[Sequence[int]]
LARGE = [[10**8, 5, 3 * 10**8], [2 * 10**8, 10**8, 7], [11, 10**8 - 3, 2 * 10**8]]


def large_tables() -> Tensor:
    """A billion items each: drawn at random, almost independent, and almost identical sides."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(0, 10**8, (3, 4, 5), generator=generator)
    rows, columns = torch.tensor([7, 11, 13, 19]), torch.tensor([2, 3, 5, 7, 3])
    independent = torch.outer(rows, columns) * 10**6 + torch.randint(0, 3, (4, 5), generator=generator)
    identical = torch.zeros(4, 5, dtype=torch.int64)
    identical[range(4), range(4)] = torch.tensor([10**9, 3 * 10**7, 10**5, 2])
    identical[0, 4], identical[2, 1] = 1, 2
    return torch.stack([*drawn, torch.outer(rows, columns) * 10**6, independent, identical])


def pairs(count: int) -> int:
    return count * (count - 1) // 2


def numbers(table: Table) -> dict[str, Any]:
    """Exact numbers of pairs, sizes and sums of a table."""
    rows, columns = [sum(row) for row in table], [sum(column) for column in zip(*table, strict=True)]
    a = sum(pairs(x) for row in table for x in row)
    b, c = sum(map(pairs, rows)) - a, sum(map(pairs, columns)) - a
    n = sum(rows)
    return {"a": a, "b": b, "c": c, "d": pairs(n) - a - b - c, "r": rows, "k": columns, "n": n, "t": table}


def of_pairs(name: str, v: dict[str, Any]) -> float:
    """An index of pairs, exact but for a square root."""
    return float({**SIMILARITIES, **INDICES}[name](v["a"], v["b"], v["c"], v["d"]))


def ratio(x: Any, y: Any) -> mpmath.mpf:
    return mpmath.mpf(x) / mpmath.mpf(y)


def entropy(counts: list[int], n: int) -> mpmath.mpf:
    return -mpmath.fsum(ratio(x, n) * mpmath.log(ratio(x, n)) for x in counts if x)


def itself(sizes: list[int]) -> list[list[int]]:
    return [[size if i == j else 0 for j in range(len(sizes))] for i, size in enumerate(sizes)]


def chi_squared(v: dict[str, Any]) -> mpmath.mpf:
    cells = itertools.product(range(len(v["r"])), range(len(v["k"])))
    expected = {(i, j): ratio(v["r"][i] * v["k"][j], v["n"]) for i, j in cells if v["r"][i] and v["k"][j]}
    return mpmath.fsum((v["t"][i][j] - e) ** 2 / e for (i, j), e in expected.items())


def lerman(v: dict[str, Any]) -> mpmath.mpf:
    mean, variance = moments_of_sizes(v["r"], v["k"])
    above = v["a"] - mean
    return ratio(above.numerator, above.denominator) / mpmath.sqrt(ratio(variance.numerator, variance.denominator))


def tau(v: dict[str, Any]) -> mpmath.mpf:
    kept = mpmath.fsum(ratio(x * x, v["k"][j]) for row in v["t"] for j, x in enumerate(row) if x)
    alone = ratio(sum(x * x for x in v["r"]), v["n"])
    return (kept - alone) / (v["n"] - alone)


def projectors(v: dict[str, Any]) -> mpmath.mpf:
    cells = [(x, v["r"][i], v["k"][j]) for i, row in enumerate(v["t"]) for j, x in enumerate(row) if x]
    return sum(x > 0 for x in v["r"] + v["k"]) - 2 * mpmath.fsum(ratio(x * x, r * c) for x, r, c in cells)


def stirling_share(n: int, k: int) -> float:
    """``S(n - 1, k) / S(n, k)`` by the alternating sum, with digits to spare."""
    with mpmath.workdps(80 + k):
        numbers = [mpmath.fsum((-1) ** j * mpmath.binomial(k, j) * mpmath.mpf(k - j) ** m for j in range(k + 1))
                   for m in (n - 1, n)]  # fmt: skip
        return float(numbers[0] / numbers[1])


def bell_share(n: int) -> float:
    """``B(n - 1) / B(n)`` by Dobinski's series ``B(n) = sum m^n / m! / e`` around its largest term, every h-th term."""
    with mpmath.workdps(50):
        centre = n / mpmath.lambertw(n).real
        width = int(mpmath.sqrt(centre)) or 1
        terms = []
        for m in range(max(1, int(centre) - 40 * width), int(centre) + 60 * width, max(1, width // 8)):
            log_term = n * mpmath.log(m / centre) - mpmath.loggamma(m + 1) + mpmath.loggamma(centre + 1)
            terms.append((mpmath.exp(log_term), m))
        return float(mpmath.fsum(w / m for w, m in terms) / mpmath.fsum(w for w, _ in terms))


def exact_codes(counts: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Microcanonical and reduced information, with 50 digits."""
    r, c = [sum(row) for row in counts], [sum(column) for column in zip(*counts, strict=True)]
    cells, n, q = [x for row in counts for x in row if x], sum(r), len(r)

    def log_rising(x: int, b: Any) -> Any:
        return mpmath.loggamma(x + b) - mpmath.loggamma(b)

    def shortest(groups: list[int], parts: list[int]) -> Any:
        def length(log_a: Any) -> Any:
            a = mpmath.exp(log_a)
            return sum(log_rising(w, q * a) for w in groups) - sum(log_rising(p, a) for p in parts)

        return length(least(length, mpmath.log(10**4), (mpmath.sqrt(5) - 1) / 2, 40, 60)[0])

    factorials = [sum(mpmath.loggamma(x + 1) for x in sizes) for sizes in ([n], cells, r, c)]
    shared = factorials[0] + factorials[1] - factorials[2] - factorials[3]
    return shared, shortest([n], r) - shortest(c, cells)
