"""Operations, waits and bytes of calls on a CUDA device, counted on a simulated one: no card is needed, and none timed.

    PYTHONPATH=. python benchmarks/launches.py
    PYTHONPATH=. python benchmarks/launches.py --small --output launches.json

One launch of a kernel is one operation that moves its arguments. ``tests/package/test_launches.py`` holds the budgets.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import timing

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.launches import CALLS, count_call

SMALL = ("adjusted_rand from tables", "ami from tables")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="two calls alone")
    parser.add_argument("--output", type=Path, help="JSON file for the counts")
    arguments = parser.parse_args()
    rows: dict[str, Any] = {name: count_call(name).row() for name in (SMALL if arguments.small else CALLS)}
    columns = list(next(iter(rows.values())))
    print(f"{'call':36}" + "".join(f"{name:>12}" for name in columns))
    for name, row in rows.items():
        print(f"{name:36}" + "".join(f"{row[column]:12}" for column in columns))
    if arguments.output is not None:
        made = {"environment": timing.environment([]), "calls": [{"call": name, **row} for name, row in rows.items()]}
        arguments.output.write_text(json.dumps(made, indent=2) + "\n")


if __name__ == "__main__":
    main()
