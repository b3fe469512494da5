"""The options of runs on other decoding engines. Imports nothing heavy."""

from collections.abc import Callable

import click

from engines.kind import EngineKind, engine_kinds, names_of
from specplan.options.declared import command_option, together
from specplan.options.ranges import integers, numbers


def _of(has: Callable[[EngineKind], object]) -> str:
    """Returns the titles of the engines for which `has` is true, as text."""
    return " or ".join(engine_kinds()[name].title for name in names_of(has))


def _taking(setting: str) -> str:
    return _of(lambda kind: setting in kind.takes)


OPTIONS = [
    command_option(
        "--engine",
        type=click.Choice(names_of(lambda kind: kind.start)),
        help="Run on this engine instead of specplan's own decoder; "
        "needs pip install -e '.[engines]'.",
    ),
    command_option(
        "--engine-command",
        metavar="COMMAND",
        advanced=True,
        help=f"Command that starts {_taking('engine_command')}, with its own flags.  "
        "[default: vllm serve]",
    ),
    command_option(
        "--draft-sampling",
        type=click.Choice(["argmax", "sampled"]),
        advanced=True,
        help="How the engine chooses draft tokens.  [default: the engine's own]",
    ),
    command_option(
        "--concurrency",
        "concurrencies",
        callback=integers,
        default="1",
        advanced=True,
        help="Numbers of simultaneous requests, a list.",
    ),
    command_option(
        "--laws",
        type=click.Choice(["engine", "local"]),
        advanced=True,
        help="Where texts are scored by both models.  [default: engine with "
        f"{_of(lambda kind: kind.scores_texts)}, else local]",
    ),
    command_option(
        "--target-url",
        "--baseline-server",
        "target_url",
        metavar="URL",
        advanced=True,
        help="URL of a running server with the target only.",
    ),
    command_option(
        "--draft-url",
        metavar="URL",
        advanced=True,
        help="URL of a running server with the draft only.",
    ),
    command_option(
        "--servers",
        type=click.Choice(["together", "in-turn"]),
        advanced=True,
        help="Run the servers of all gammas at once, their runs interleaved, or in turn. At once "
        "takes the memory of all.  "
        f"[default: in-turn with {_of(lambda kind: kind.in_turn)}, else together]",
    ),
    command_option(
        "--threads",
        type=click.IntRange(min=1),
        help=f"Threads that compute; with {_taking('threads')}, per model.  [default: the cores "
        "that are free before the run, less one for everything else; OMP_NUM_THREADS if set]",
    ),
]

HEADING = "On an engine"
engine_options = together(*OPTIONS, heading=HEADING)
# Options that only validations have.
tested_options = together(
    command_option(
        "--synthetic",
        callback=numbers,
        advanced=True,
        help=f"Acceptance rates by position for {_taking('synthetic')} to simulate, unconditional; "
        "then only prices are tested.",
    ),
    command_option(
        "--server", metavar="URL", advanced=True, help="URL of a running server with speculation."
    ),
    heading=HEADING,
)
