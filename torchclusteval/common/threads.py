"""Threads: torch's own stay out of the package's work, and large work is shared out over a few of the package's own.

torch divides an operation on more than 32,768 numbers among OpenMP threads, and waits for all of them. For pieces of
this size that saves little, and where other programs keep the cores busy it waits for a thread that does not run:
milliseconds for an operation of microseconds. The package works on such pieces all the time, so its calls run torch on
one thread. OpenMP keeps the number of threads for each thread of the program, so no other thread sees a change, and
the number is as it was when the call is over; ``torch.set_num_threads`` would change the default of new threads too.
"""

import ctypes
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import torch

P = ParamSpec("P")
T = TypeVar("T")
Item = TypeVar("Item")

_MAX_THREADS = 8  # more would wait for the interpreter

_outer = threading.local()  # .threads: how many torch had outside of the package's call


def on_one_thread(function: Callable[P, T]) -> Callable[P, T]:
    """Run a function with torch on the calling thread alone; :func:`share` gets the threads that torch had."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        if torch.compiler.is_compiling():
            return function(*args, **kwargs)
        threads = torch.get_num_threads()
        if threads == 1:
            return function(*args, **kwargs)
        limit = _openmp_limit()
        limit(1)
        _outer.threads = threads
        try:
            return function(*args, **kwargs)
        finally:
            _outer.threads = 1
            limit(threads)

    return run


@cache
def _openmp_limit() -> Callable[[int], object]:
    """OpenMP's function that limits the threads of the calling thread, from the library that torch uses."""
    try:
        limit = ctypes.PyDLL(torch._C.__file__).omp_set_num_threads
    except (AttributeError, OSError):  # built without OpenMP, or a system that finds no functions of other libraries
        return lambda threads: None
    limit.argtypes, limit.restype = [ctypes.c_int], None
    return limit


def thread_count() -> int:
    """How many threads large work may be shared over: as many as torch has, but no more than cores are free to use."""
    threads = torch.get_num_threads()
    if threads == 1:
        threads = getattr(_outer, "threads", 1)
    return min(threads, _MAX_THREADS, _usable_cores()) if threads > 1 else 1


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share(work: Callable[[Iterator[Item]], T], items: Iterable[Item], threads: int | None = None) -> list[T]:
    """Call ``work`` once on each of several threads (at most :func:`thread_count`) with the items that it takes.

    Returns what each call returned, in no order.
    """
    waiting = deque(items)
    number = min(thread_count() if threads is None else threads, len(waiting))
    if number <= 1:
        return [work(_taken(waiting))]
    inference = torch.is_inference_mode_enabled()

    @on_one_thread
    def run(_: int) -> T:
        _outer.threads = 1  # what is shared out is not shared again
        try:
            with torch.inference_mode(inference):
                return work(_taken(waiting))
        except BaseException:
            waiting.clear()
            raise

    with ThreadPoolExecutor(number) as pool:
        try:
            return list(pool.map(run, range(number)))
        finally:
            waiting.clear()  # of an interruption, too


def _taken(waiting: deque[Item]) -> Iterator[Item]:
    while waiting:
        with suppress(IndexError):  # another thread took the last one
            yield waiting.popleft()


def pieces(indices: range, length: int) -> Sequence[range]:
    """Consecutive parts of at most this length."""
    return [indices[start : start + length] for start in range(0, len(indices), length)]
