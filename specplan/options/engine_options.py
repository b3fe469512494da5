"""The options of runs on decoding engines that others wrote, and nothing heavy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from engines.kind import EngineKind
from engines.registry import engine_kinds, names_of
from specplan.options.ranges import integers, numbers
from specplan.options.requests import fill, function_of, is_stated, option_name, records_of


def _of(has: Callable[[EngineKind], object]) -> str:
    """Returns the titles of the engines that have something."""
    return " or ".join(engine_kinds()[name].title for name in names_of(has))


def _taking(setting: str) -> str:
    return _of(lambda kind: setting in kind.takes)


OPTIONS = [
    click.option(
        "--engine",
        type=click.Choice(names_of(lambda kind: kind.start)),
        help="Run on this engine instead of specplan's own decoder; needs specplan[engines].",
    ),
    click.option(
        "--engine-command",
        metavar="COMMAND",
        help=f"What starts {_taking('engine_command')}, its own flags included.  "
        "[default: vllm serve]",
    ),
    click.option(
        "--draft-sampling",
        type=click.Choice(["argmax", "sampled"]),
        help="How the engine is to draft.  [default: the engine's own]",
    ),
    click.option(
        "--concurrency",
        "concurrencies",
        callback=integers,
        default="1",
        help="Requests at once on the engine, a list.",
    ),
    click.option(
        "--laws",
        type=click.Choice(["engine", "local"]),
        help="Who scores texts by both models.  [default: engine with "
        f"{_of(lambda kind: kind.scores_texts)}, else local]",
    ),
    click.option(
        "--synthetic",
        callback=numbers,
        help=f"Acceptance rates by position for {_taking('synthetic')} to feign, unconditional; "
        "prices alone are then tested.",
    ),
    click.option("--server", metavar="URL", help="A server with speculation that is running."),
    click.option(
        "--target-url",
        "--baseline-server",
        "target_url",
        metavar="URL",
        help="A running server of the target alone.",
    ),
    click.option("--draft-url", metavar="URL", help="A running server of the draft alone."),
    click.option(
        "--servers",
        type=click.Choice(["together", "in-turn"]),
        help="Whether those of all gammas run at once, their runs interleaved, which takes the "
        f"memory of all.  [default: in-turn with {_of(lambda kind: kind.in_turn)}, else together]",
    ),
    click.option(
        "--threads",
        type=click.IntRange(min=1),
        help=f"Of {_taking('threads')}.  [default: all processors]",
    ),
]


NAMES = (
    "engine_command", "draft_sampling", "concurrencies", "laws", "synthetic", "server",
    "target_url", "draft_url", "threads", "servers",
)  # fmt: skip


def engine_options(place: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Returns what adds the engine options to a command that takes ModelOptions first.

    Args:
      place: "module:function", which takes the command's place where --engine is given.
    """

    def with_engines(command: Callable[..., None]) -> Callable[..., None]:
        def dispatched(options: Any, **values: Any) -> None:
            ctx = click.get_current_context()
            own = {name: values.pop(name) for name in NAMES}
            if values.pop("engine") is not None:
                function = function_of(place)
                function(*fill(ctx, records_of(function), way="--engine"))
                return
            for param in ctx.command.params:
                if param.name in own and is_stated(ctx, param):
                    raise click.UsageError(f"{option_name(param)} needs --engine", ctx)
            command(options, **values)

        dispatched.__name__ = command.__name__
        dispatched.__doc__ = command.__doc__
        dispatched.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
        wrapped: Callable[..., None] = dispatched
        for option in reversed(OPTIONS):
            wrapped = option(wrapped)
        return wrapped

    return with_engines
