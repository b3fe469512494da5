"""The options of runs on decoding engines that others wrote, and nothing heavy."""

from collections.abc import Callable

import click

from engines.kind import EngineKind
from engines.registry import engine_kinds, names_of
from specplan.options.declared import command_option, together
from specplan.options.ranges import integers, numbers


def _of(has: Callable[[EngineKind], object]) -> str:
    """Returns the titles of the engines that have something."""
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
        help=f"What starts {_taking('engine_command')}, its own flags included.  "
        "[default: vllm serve]",
    ),
    command_option(
        "--draft-sampling",
        type=click.Choice(["argmax", "sampled"]),
        advanced=True,
        help="How the engine is to draft.  [default: the engine's own]",
    ),
    command_option(
        "--concurrency",
        "concurrencies",
        callback=integers,
        default="1",
        advanced=True,
        help="Requests at once on the engine, a list.",
    ),
    command_option(
        "--laws",
        type=click.Choice(["engine", "local"]),
        advanced=True,
        help="Who scores texts by both models.  [default: engine with "
        f"{_of(lambda kind: kind.scores_texts)}, else local]",
    ),
    command_option(
        "--target-url",
        "--baseline-server",
        "target_url",
        metavar="URL",
        advanced=True,
        help="A running server of the target alone.",
    ),
    command_option(
        "--draft-url", metavar="URL", advanced=True, help="A running server of the draft alone."
    ),
    command_option(
        "--servers",
        type=click.Choice(["together", "in-turn"]),
        advanced=True,
        help="Whether those of all gammas run at once, their runs interleaved, which takes the "
        f"memory of all.  [default: in-turn with {_of(lambda kind: kind.in_turn)}, else together]",
    ),
    command_option(
        "--threads",
        type=click.IntRange(min=1),
        help=f"That compute; with {_taking('threads')}, for each model.  [default: as many as "
        "cores are free before the run, less one for everything else; OMP_NUM_THREADS if set]",
    ),
]

HEADING = "On an engine"
engine_options = together(*OPTIONS, heading=HEADING)
# Of validations alone.
tested_options = together(
    command_option(
        "--synthetic",
        callback=numbers,
        advanced=True,
        help=f"Acceptance rates by position for {_taking('synthetic')} to simulate, unconditional; "
        "prices alone are then tested.",
    ),
    command_option(
        "--server", metavar="URL", advanced=True, help="A server with speculation that is running."
    ),
    heading=HEADING,
)
