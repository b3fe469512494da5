"""The options of runs on decoding engines that others wrote, and nothing heavy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from engines.registry import names_of
from specplan.options.ranges import integers, numbers


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Which engine decodes, how it drafts, and at what load; see each option's help.

    draft_sampling: None: the engine's own default.
    laws: who scores texts; None: the engine where it can, else this machine.
    synthetic: unconditional acceptance rates by position; None: none are feigned.
    """

    engine: str | None
    engine_command: str | None
    draft_sampling: str | None
    concurrencies: tuple[int, ...]
    laws: str | None
    synthetic: tuple[float, ...] | None
    server: str | None
    target_url: str | None
    draft_url: str | None
    threads: int | None
    servers: str | None


OPTIONS = [
    click.option(
        "--engine",
        type=click.Choice(names_of(lambda kind: kind.start)),
        help="Run on this engine instead of specplan's own decoder; needs specplan[engines].",
    ),
    click.option(
        "--engine-command",
        metavar="COMMAND",
        help="What starts vLLM, its own flags included.  [default: vllm serve]",
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
        help="Who scores texts by both models.  [default: engine with vllm, else local]",
    ),
    click.option(
        "--synthetic",
        callback=numbers,
        help="Acceptance rates by position for vLLM to feign, unconditional; prices alone are "
        "then tested.",
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
        "memory of all.  [default: in-turn with vllm, else together]",
    ),
    click.option(
        "--threads", type=click.IntRange(min=1), help="Of llama.cpp.  [default: all processors]"
    ),
]


def engine_options(
    on_engine: Callable[..., None],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Returns what adds the engine options to a command that takes ModelOptions first.

    Args:
      on_engine: takes the command's place where --engine is given, with ModelOptions,
        EngineOptions and the command's own options.
    """
    names = EngineOptions.__dataclass_fields__

    def with_engines(command: Callable[..., None]) -> Callable[..., None]:
        def dispatched(options: Any, **values: Any) -> None:
            engine = EngineOptions(**{name: values.pop(name) for name in names})
            if engine.engine is not None:
                on_engine(options, engine, **values)
                return
            _refuse_without_engine(engine)
            command(options, **values)

        dispatched.__name__ = command.__name__
        dispatched.__doc__ = command.__doc__
        dispatched.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
        wrapped: Callable[..., None] = dispatched
        for option in reversed(OPTIONS):
            wrapped = option(wrapped)
        return wrapped

    return with_engines


def _refuse_without_engine(engine: EngineOptions) -> None:
    """Refuses options that would be ignored.

    Raises:
      ValueError: naming the option.
    """
    for name in EngineOptions.__dataclass_fields__:
        value = getattr(engine, name)
        if value is not None and not (name == "concurrencies" and value == (1,)):
            shown = "concurrency" if name == "concurrencies" else name.replace("_", "-")
            raise ValueError(f"{shown} must come with --engine, got none")
