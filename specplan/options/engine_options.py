"""The options of runs on other decoding engines. Imports nothing heavy."""

from collections.abc import Callable

import click

from engines.kind import EngineKind, engine_kinds, names_of
from specplan.options.declared import COUNT, option, rare
from specplan.options.ranges import integers


def _of(has: Callable[[EngineKind], object]) -> str:
    """Returns the titles of the engines for which `has` is true, as text."""
    return " or ".join(engine_kinds()[name].title for name in names_of(has))


def taking(setting: str) -> str:
    """Returns the titles of the engines that take a setting, as text."""
    return _of(lambda kind: setting in kind.takes)


ON_ENGINE = "On an engine"


class EngineRunOptions:
    """Options of the engine, its drafts and its load.

    engine: Run on this engine instead of specplan's own decoder; needs pip install -e '.[engines]'.
    draft_sampling: How the engine chooses draft tokens.  [default: the engine's own]
    concurrencies: Numbers of simultaneous requests, a list.
    target_url: URL of a running server with the target only.
    draft_url: URL of a running server with the draft only.
    """

    engine = option(type=click.Choice(names_of(lambda kind: kind.start)))
    engine_command = rare(
        metavar="COMMAND",
        help=f"Command that starts {taking('engine_command')}, with its own flags.  "
        "[default: vllm serve]",
    )
    draft_sampling = rare(type=click.Choice(["argmax", "sampled"]))
    concurrencies = rare("--concurrency", callback=integers, default="1")
    laws = rare(
        type=click.Choice(["engine", "local"]),
        help="Where texts are scored by both models.  [default: engine with "
        f"{_of(lambda kind: kind.scores_texts)}, else local]",
    )
    target_url = rare("--target-url", "--baseline-server", metavar="URL")
    draft_url = rare(metavar="URL")
    servers = rare(
        type=click.Choice(["together", "in-turn"]),
        help="Run the servers of all gammas at once, their runs interleaved, or in turn. At once "
        "takes the memory of all.  "
        f"[default: in-turn with {_of(lambda kind: kind.in_turn)}, else together]",
    )
    threads = option(
        type=COUNT,
        help=f"Threads that compute; with {taking('threads')}, per model.  [default: the cores "
        "that are free before the run, less one for everything else; OMP_NUM_THREADS if set]",
    )
