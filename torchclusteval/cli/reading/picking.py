"""Which columns are clusterings."""

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase


def pick(known: Sequence[str], default: Sequence[str], columns: Sequence[str], exclude: Sequence[str]) -> list[str]:
    """Names that are asked for: each of ``columns`` and ``exclude`` is a name, a pattern with ``*``, or a comma list.

    Raises:
        ValueError: an unknown name, or nothing is left.
    """
    chosen = _match(known, columns, "--columns") if columns else list(default)
    excluded = set(_match(known, exclude, "--exclude"))
    kept = [name for name in chosen if name not in excluded]
    if not kept:
        raise ValueError("clusterings: expected at least one beside the truth; got none")
    return kept


def _match(known: Sequence[str], asked: Sequence[str], option: str) -> list[str]:
    matches: dict[str, None] = {}
    all_names = set(known)
    for item in asked:
        parts = [item] if item in all_names else [part.strip() for part in item.split(",")]
        for name in filter(None, parts):
            pattern = name.replace("[", "[[]")
            matching = [name] if name in all_names else [x for x in known if fnmatchcase(x, pattern)]
            if not matching:
                close = get_close_matches(name, known, 3, 0.5)
                other = "patterns with * work too" if "*" not in name else f"there are {', '.join(known[:6])}"
                hint = f"did you mean {' or '.join(map(repr, close))}?" if close else other
                raise ValueError(f"{option}: expected a column of the input; got {name!r} ({hint})")
            matches.update(dict.fromkeys(matching))
    return list(matches)
