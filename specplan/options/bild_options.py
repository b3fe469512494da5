"""The options of `validate --decoder bild`, and nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from specplan.options.ranges import integers, numbers

if TYPE_CHECKING:
    from studies.bild.distance import Rollback
    from studies.bild.fallback import Fallback
    from studies.bild.grid import Grid

PAPERS_MOST = 10
FALLBACKS = (0.3, 0.5, 0.7, 0.9)
ROLLBACKS = (1.0, 2.0, 4.0)
LENIENCE = 0.5
CERTAINTY = "probability"
DISTANCE = "cross-entropy"
# Figure 3's, where one text is decoded.
ONE_FALLBACK = 0.6
ONE_ROLLBACK = 2.0


@dataclass(frozen=True, slots=True)
class BildOptions:
    """Which thresholds a sweep tries; see each option's help. None: not given."""

    fallback: tuple[float, ...] | None
    rollback: tuple[float, ...] | None
    windows: tuple[int, ...] | None
    certainty: str | None
    distance: str | None

    def require_absent(self) -> None:
        """Refuses what another decoder would ignore.

        Raises:
          ValueError: naming the option.
        """
        require_absent({field.name: getattr(self, field.name) for field in fields(self)})

    def grid(self, *, gammas: tuple[int, ...], lenience: float, most: int | None) -> Grid:
        """Returns the sweep's grid.

        Args:
          gammas: of speculative decoding.
          lenience: beside the strict rule; 1 stands for LENIENCE.
          most: the most tokens that the small model writes in a row; None: the paper's 10.

        Raises:
          ValueError: if a threshold is out of range.
        """
        from studies.bild.distance import Rollback
        from studies.bild.fallback import Fallback
        from studies.bild.grid import Grid

        grid = Grid(
            fallbacks=FALLBACKS if self.fallback is None else self.fallback,
            rollbacks=ROLLBACKS if self.rollback is None else self.rollback,
            most=PAPERS_MOST if most is None else most,
            measure=CERTAINTY if self.certainty is None else self.certainty,
            distance=DISTANCE if self.distance is None else self.distance,
            windows=() if self.windows is None else self.windows,
            gammas=gammas,
            leniences=(LENIENCE if lenience == 1 else lenience,),
        )
        for threshold in grid.fallbacks:
            Fallback(threshold, grid.most, grid.measure)
        for threshold in grid.rollbacks:
            Rollback(threshold, grid.distance)
        for window in grid.windows:
            Fallback(0.0, window)
        return grid


@dataclass(frozen=True, slots=True)
class OneBild:
    """The thresholds that one text is decoded by; None: not given."""

    fallback: float | None
    rollback: float | None
    certainty: str | None
    distance: str | None

    def require_absent(self) -> None:
        """As `BildOptions.require_absent`."""
        require_absent({field.name: getattr(self, field.name) for field in fields(self)})

    def policy_and_rule(self, *, most: int | None) -> tuple[Fallback, Rollback]:
        """Returns what the thresholds mean; the ids that end a text are not among them.

        Args:
          most: the most tokens that the small model writes in a row; None: the paper's 10.

        Raises:
          ValueError: if a threshold is out of range.
        """
        from studies.bild.distance import Rollback
        from studies.bild.fallback import Fallback

        return (
            Fallback(
                ONE_FALLBACK if self.fallback is None else self.fallback,
                PAPERS_MOST if most is None else most,
                CERTAINTY if self.certainty is None else self.certainty,
            ),
            Rollback(
                ONE_ROLLBACK if self.rollback is None else self.rollback,
                DISTANCE if self.distance is None else self.distance,
            ),
        )


def require_absent(values: Mapping[str, Any]) -> None:
    """Refuses options of BiLD that are given without it.

    Args:
      values: by the option's name; None: not given.

    Raises:
      ValueError: naming the option.
    """
    for name, value in values.items():
        if value is not None:
            raise ValueError(f"{name} needs --decoder bild, got it without")


def refuse_with_bild(names: Sequence[str]) -> None:
    """Refuses options that say nothing to BiLD, where the user gave them.

    Raises:
      ValueError: naming the option.
    """
    for name in names:
        if given(name, True) is not None:
            shown = "compile" if name == "compiling" else name.partition("_name")[0]
            raise ValueError(f"{shown} cannot be given with bild")


def given(name: str, value: Any) -> Any:
    """Returns an option's value, or None where the user did not give it."""
    source = click.get_current_context().get_parameter_source(name)
    return None if source is ParameterSource.DEFAULT else value


MEASURES = [
    click.option(
        "--certainty",
        type=click.Choice(["probability", "entropy"]),
        help="What --fallback is of: the largest probability, or one over the perplexity.  "
        f"[default: {CERTAINTY}]",
    ),
    click.option(
        "--distance",
        type=click.Choice(["cross-entropy", "kl", "total-variation", "disagreement"]),
        help=f"What --rollback is of.  [default: {DISTANCE}]",
    ),
]

OPTIONS = [
    click.option(
        "--fallback",
        callback=numbers,
        metavar="F,F,...",
        help="With --decoder bild: the small model hands over below this certainty; a list or "
        f"range.  [default: {','.join(f'{value:g}' for value in FALLBACKS)}]",
    ),
    click.option(
        "--rollback",
        callback=numbers,
        metavar="R,R,...",
        help="With --decoder bild: the large model replaces tokens farther than this from its own "
        f"law; inf: none.  [default: {','.join(f'{value:g}' for value in ROLLBACKS)}]",
    ),
    click.option(
        "--windows",
        callback=integers,
        metavar="N,N,...",
        help="With --decoder bild: also fixed windows of so many tokens, without a fallback.",
    ),
    *MEASURES,
]

ONE = [
    click.option(
        "--fallback",
        type=float,
        help="With --decoder bild: the small model hands over below this certainty.  "
        f"[default: {ONE_FALLBACK:g}]",
    ),
    click.option(
        "--rollback",
        type=float,
        help="With --decoder bild: the large model replaces tokens farther than this from its own "
        f"law; inf: none.  [default: {ONE_ROLLBACK:g}]",
    ),
    *MEASURES,
]


def bild_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with a sweep's options; it takes them as one BildOptions named bild."""
    return _gathered(command, BildOptions, OPTIONS)


def one_bild_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with one text's options; it takes them as one OneBild named bild."""
    return _gathered(command, OneBild, ONE)


def _gathered(
    command: Callable[..., Any],
    record: type[BildOptions] | type[OneBild],
    options: Sequence[Callable[..., Any]],
) -> Callable[..., Any]:
    names = [field.name for field in fields(record)]

    def with_options(*arguments: Any, **values: Any) -> Any:
        gathered = record(**{name: values.pop(name) for name in names})
        return command(*arguments, bild=gathered, **values)

    with_options.__name__ = command.__name__
    with_options.__doc__ = command.__doc__
    # Those that the command itself declares come first.
    with_options.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    for option in reversed(options):
        option(with_options)
    return with_options
