"""The options of `validate --decoder bild`, and nothing heavy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from specplan.options.ranges import integers, numbers

if TYPE_CHECKING:
    from estimator.bild.sweep import Grid

PAPERS_MOST = 10
FALLBACKS = (0.3, 0.5, 0.7, 0.9)
ROLLBACKS = (1.0, 2.0, 4.0)
LENIENCE = 0.5


@dataclass(frozen=True, slots=True)
class BildOptions:
    """Which thresholds a sweep tries; see each option's help. None: not given."""

    fallback: tuple[float, ...] | None
    rollback: tuple[float, ...] | None
    windows: tuple[int, ...] | None
    certainty: str
    distance: str

    def require_absent(self) -> None:
        """Refuses thresholds that another decoder would ignore.

        Raises:
          ValueError: naming the option.
        """
        for name in ("fallback", "rollback", "windows"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} needs --decoder bild, got it without")

    def grid(self, *, gammas: tuple[int, ...], lenience: float, most: int | None) -> Grid:
        """Returns the sweep's grid.

        Args:
          gammas: of speculative decoding.
          lenience: beside the strict rule; 1 stands for LENIENCE.
          most: the most tokens that the small model writes in a row; None: the paper's 10.

        Raises:
          ValueError: if a threshold is out of range.
        """
        from estimator.bild.sweep import Grid
        from reference.policies.fallback import Fallback
        from reference.rules.distance import Rollback

        grid = Grid(
            fallbacks=FALLBACKS if self.fallback is None else self.fallback,
            rollbacks=ROLLBACKS if self.rollback is None else self.rollback,
            most=PAPERS_MOST if most is None else most,
            measure=self.certainty,
            distance=self.distance,
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


def given(name: str, value: Any) -> Any:
    """Returns an option's value, or None where the user did not give it."""
    source = click.get_current_context().get_parameter_source(name)
    return None if source is ParameterSource.DEFAULT else value


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
    click.option(
        "--certainty",
        type=click.Choice(["probability", "entropy"]),
        default="probability",
        help="What --fallback is of: the largest probability, or one over the perplexity.",
    ),
    click.option(
        "--distance",
        type=click.Choice(["cross-entropy", "kl", "total-variation", "disagreement"]),
        default="cross-entropy",
        help="What --rollback is of.",
    ),
]


def bild_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with these options; it takes them as one BildOptions named bild."""
    names = [field.name for field in fields(BildOptions)]

    def with_options(*arguments: Any, **values: Any) -> Any:
        options = BildOptions(**{name: values.pop(name) for name in names})
        return command(*arguments, bild=options, **values)

    with_options.__name__ = command.__name__
    with_options.__doc__ = command.__doc__
    # Those that the command itself declares come first.
    with_options.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    for option in reversed(OPTIONS):
        option(with_options)
    return with_options
