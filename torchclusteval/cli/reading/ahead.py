"""Work of several threads whose results come in order, a few ahead of what is done with them."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_END: Any = object()


def read_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, which a thread of their own makes; errors come in their place."""
    with ThreadPoolExecutor(1) as thread:
        waiting = deque(thread.submit(next, items, _END) for _ in range(2))
        while (item := waiting.popleft().result()) is not _END:
            waiting.append(thread.submit(next, items, _END))
            yield item


def map_ahead(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """The results for all items, which ``threads`` threads make; errors come in their place."""
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
