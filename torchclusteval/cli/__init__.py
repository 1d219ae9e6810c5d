"""The command line: exit statuses and error messages.

A command is a row of ``COMMANDS`` in ``declarations``, with its options, and a file of its name in ``commands``, whose
function ``run`` takes the parsed arguments and returns the text to print. Only that file imports torch.
"""

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from torchclusteval.cli.declarations import COMMANDS as COMMANDS
from torchclusteval.cli.options import FLAGS, PROGRAM, Command, Once, closest, integer, print_note, size
from torchclusteval.common.figures import OF_FILES
from torchclusteval.common.output import write_text
from torchclusteval.common.version import __version__

_WRONG, _INTERRUPTED, _PIPE_CLOSED = 2, 130, 141  # the last two as shells count signals


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: the arguments; by default those of the process.

    Returns:
        The exit status: 0, or 2 where something was wrong, said in one line on standard error.
    """
    try:
        arguments = _parse(argv)
        if arguments.timeout is not None:
            os.environ["TORCHCLUSTEVAL_TIMEOUT"] = str(arguments.timeout)
        OF_FILES.update({key: vars(arguments).get(key) for key in ("dpi", "size")})
        for key in [key for key, value in OF_FILES.items() if value is not None and arguments.plot is None]:
            raise ValueError(f"--{key}: expected --plot FILE too; got --{key} alone")
        _write(arguments.run(arguments), getattr(arguments, "output", None))
    except BrokenPipeError:
        with contextlib.suppress(OSError, ValueError):  # or the interpreter complains when it flushes at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except KeyboardInterrupt:
        print_note("interrupted")
        return _INTERRUPTED
    except (ValueError, OSError, MemoryError, RuntimeError, ImportError) as error:
        print_note(f"error: {_reason(error)}")
        return _WRONG
    return 0


class _Parser(argparse.ArgumentParser):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name in (None, "store"):
            self.register("action", name, Once)

    def error(self, message: str) -> NoReturn:
        wrong = re.match(r"argument COMMAND: invalid choice: '(.*?)'", message)
        hint = closest(wrong[1], [command.name for command in COMMANDS]) if wrong else ""
        raise ValueError(f"{message.removeprefix('argument ')}{hint} (see {self.prog} --help)")


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    arguments, unknown = _parser().parse_known_args(argv)
    if unknown:
        command = next((command for command in COMMANDS if command.run == arguments.run), None)
        flags = _flags(command) if command else ["--timeout", "--version"]
        wrong = unknown[0].partition("=")[0]
        owners = [other.name for other in COMMANDS if wrong.startswith("--") and wrong in _flags(other)]
        near = closest(wrong, ["--help", *flags])
        own = next((flag for flag in flags if flag in (f"{wrong}s", wrong.removesuffix("s"))), None)
        hint = f" (did you mean {own}?)" if own else f" (an option of {', '.join(owners)})" if owners else near
        see = f"{PROGRAM} {command.name}" if command else PROGRAM
        raise ValueError(f"unrecognized arguments: {' '.join(unknown)}{hint} (see {see} --help)")
    return arguments


def _flags(command: Command) -> list[str]:
    return [flag for option in command.options for flag in option.flags]


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=PROGRAM, description="Compare clusterings with a known truth, hundreds at a time.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    waits = "under torchrun, how many minutes a process waits for the others (default: 30)"
    parser.add_argument("--timeout", metavar="MINUTES", type=integer(1), help=waits)
    parser.set_defaults(run=lambda _: parser.format_help(), resample=None)
    subparsers = parser.add_subparsers(metavar="COMMAND", title="commands")
    for command in COMMANDS:
        added = subparsers.add_parser(
            command.name,
            help=command.summary,
            description=command.summary[0].upper() + command.summary[1:] + ".",
            epilog=command.details,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        for option in command.options:
            added.add_argument(*option.flags, **option.settings)
        if "--plot" in _flags(command):  # whose help says so
            added.add_argument("--dpi", type=integer(1), help=argparse.SUPPRESS)
            added.add_argument("--size", type=size, help=argparse.SUPPRESS)
        added.set_defaults(run=command.run)
    return parser


def _write(text: str, output: str | None) -> None:
    if output is not None:
        write_text(output, text)
        return
    if sys.stdout is None:
        raise ValueError("standard output: expected an open one; got a closed one")
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        error.filename = "standard output"
        raise


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        at = f"{error.filename}: " if error.filename is not None else ""
        return f"{at}{error.strerror[0].lower()}{error.strerror[1:]}"
    out_of_memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"  # of torch, unloaded
    if out_of_memory or "can't allocate memory" in str(error):
        return "out of memory; score fewer --columns or --measures at a time"
    if isinstance(error, RuntimeError):
        raise error
    name, colon, rest = str(error).partition(": ")
    return f"{FLAGS.get(name, name)}{colon}{rest}"
