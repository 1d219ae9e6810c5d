"""Expected mutual information to as many digits as mpmath is set to."""

from functools import cache
from typing import Any

import mpmath
from mpmath import mpf


@cache
def exact_share(a: int, b: int, n: int) -> tuple[Any, Any]:
    """The share of two sizes in the expected information, and the sum of its absolute terms."""
    low, high = max(1, a + b - n), min(a, b)
    mean = mpf(a) * b / n
    reach = int(14 * mpmath.sqrt(mean * (1 - mpf(a) / n) * (1 - mpf(b) / n))) + 60
    first, last = max(low, int(mean) - reach), min(high, int(mean) + reach)
    p = mpmath.binomial(a, first) * mpmath.binomial(n - a, b - first) / mpmath.binomial(n, b)
    total = terms = mpf(0)
    for x in range(first, last + 1):
        term = p * x / n * mpmath.log(mpf(n) * x / (mpf(a) * b))
        total, terms = total + term, terms + abs(term)
        p = p * ((a - x) * (b - x)) / ((x + 1) * (n - a - b + x + 1))
    return total, terms
