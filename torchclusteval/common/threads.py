"""Threads: the package runs torch on one thread, and shares large work over a few threads of its own.

torch divides an operation on more than 32,768 numbers among OpenMP threads, and waits for all of them. On pieces just
above this size that saves little; on busy cores it costs milliseconds for an operation of microseconds, while torch
waits for a thread to get its turn. The package works on such pieces all the time, so its calls run torch on one thread.
OpenMP and MKL (logarithms, roots, products) have a number of threads for each thread of the program: no other thread
sees the change, and the end of the call undoes it. ``torch.set_num_threads`` would change the default of new ones too.
"""

import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import torch

P = ParamSpec("P")
T = TypeVar("T")
Item = TypeVar("Item")

_MAX_THREADS = 8  # more would wait for the interpreter

_outer = threading.local()  # .threads: torch's number of threads before the package's call


def on_one_thread(function: Callable[P, T]) -> Callable[P, T]:
    """Run a function with torch on the calling thread alone; :func:`share` may use torch's former number of threads."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        if torch.compiler.is_compiling():
            return function(*args, **kwargs)
        threads = torch.get_num_threads()
        if threads == 1:
            return function(*args, **kwargs)
        limit, limit_mkl = _limits()
        limit(1)
        former = limit_mkl(1)
        _outer.threads = threads
        try:
            return function(*args, **kwargs)
        finally:
            _outer.threads = 1
            limit(threads)
            limit_mkl(former)

    return run


@cache
def _limits() -> tuple[Callable[[int], Any], ...]:
    """Functions of torch's OpenMP library and of MKL (returns the former number) for the threads of the calling one."""
    limits: list[Callable[[int], Any]] = []
    for name in ("omp_set_num_threads", "MKL_Set_Num_Threads_Local"):
        try:
            limit: Any = getattr(ctypes.PyDLL(torch._C.__file__), name)
            limit.argtypes, limit.restype = [ctypes.c_int], ctypes.c_int
        except (AttributeError, OSError):  # no such library, or no access to functions of other libraries
            limit = int  # without effect
        limits.append(limit)
    return tuple(limits)


def thread_count() -> int:
    """Number of threads for large work: torch's number, but no more than the cores that this process may use."""
    threads = torch.get_num_threads()
    if threads == 1:
        threads = getattr(_outer, "threads", 1)
    return min(threads, _MAX_THREADS, _usable_cores()) if threads > 1 else 1


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share(work: Callable[[Iterator[Item]], T], items: Iterable[Item], threads: int | None = None) -> list[T]:
    """Call ``work`` once on this and on other threads; every call takes items from a common queue until it is empty.

    The number of threads is by default :func:`thread_count`. Returns the results of the calls, in no order.
    """
    waiting = deque(items)
    number = min(thread_count() if threads is None else threads, len(waiting))
    if number <= 1:
        return [work(_taken(waiting))]
    inference = torch.is_inference_mode_enabled()

    @on_one_thread
    def run() -> T:
        outer, _outer.threads = getattr(_outer, "threads", 1), 1  # shared work is not shared again
        try:
            with torch.inference_mode(inference):
                return work(_taken(waiting))
        finally:
            waiting.clear()  # after an error, too
            _outer.threads = outer

    others = [_pool().submit(run) for _ in range(number - 1)]
    try:
        own = run()
        wait(others)
    finally:  # after an interruption, too
        wait(others)
    return [own, *(call.result() for call in others)]


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads that stay: new ones would begin each call without memory of their own."""
    return ThreadPoolExecutor(_MAX_THREADS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a fork has no threads


def _taken(waiting: deque[Item]) -> Iterator[Item]:
    while waiting:
        with suppress(IndexError):  # another thread took the last one
            yield waiting.popleft()


def pieces(indices: range, length: int) -> Sequence[range]:
    """Consecutive parts of at most this length."""
    return [indices[start : start + length] for start in range(0, len(indices), length)]
