"""How often drafts stand, as a user of `specplan plan` says it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from specplan.options.groups import option_group
from specplan.options.ranges import share, shares
from specplan.options.stated import given

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile
    from estimator.traces.traces import DraftSampling, Verification
    from simulator.acceptance.acceptance import Acceptance


@dataclass(frozen=True, slots=True)
class AcceptanceOptions:
    """One of the five, and what goes with it; see each option's help."""

    alpha: tuple[float, ...] | None
    accepted_fraction: float | None
    block_efficiency: float | None
    at_gamma: int | None
    by_position: tuple[float, ...] | None
    conditional: bool
    profile_path: Path | None
    draft_sampling: DraftSampling | None
    lenience: float | None
    verification: Verification | None

    @property
    def counted(self) -> bool:
        """Whether alpha is inferred from counts, as if acceptances were i.i.d."""
        return self.at_gamma is not None or self.by_position is not None


acceptance_options = option_group(
    "acceptance",
    AcceptanceOptions,
    [
        click.option(
            "--alpha", callback=shares, metavar="A", help="Acceptance rate alpha in [0, 1]."
        ),
        click.option(
            "--accepted-fraction",
            callback=share,
            metavar="F",
            help="Accepted over drafted tokens, as servers print it (0.497, 49.7% or 171/297); "
            "with --at-gamma.",
        ),
        click.option(
            "--block-efficiency",
            type=float,
            metavar="E",
            help="Tokens per target call (mean acceptance length); with --at-gamma.",
        ),
        click.option(
            "--at-gamma",
            type=click.IntRange(min=1),
            metavar="G",
            help="The gamma those were counted at.",
        ),
        click.option(
            "--acceptance-by-position",
            "by_position",
            callback=shares,
            metavar="R,R,...",
            help="How often positions 1, 2, ... of a draft stand, counting all drafts, as servers "
            "print it.",
        ),
        click.option(
            "--conditional",
            is_flag=True,
            help="Those rates count only the drafts whose earlier positions stood.",
        ),
        click.option(
            "--profile",
            "profile_path",
            type=click.Path(path_type=Path),
            help="Acceptance and costs from a file that `specplan measure` wrote.",
        ),
        click.option(
            "--draft-sampling",
            type=click.Choice(["sampled", "argmax"]),
            help="How the server drafts; with --profile.  [default: what the profile was asked "
            "for, or what --export's server does]",
        ),
        click.option(
            "--lenience",
            type=float,
            metavar="L",
            help="Accept leniently: l in (0, 1], 1 is lossless; with --profile.",
        ),
        click.option(
            "--verification",
            type=click.Choice(["token", "block"]),
            help="How the server judges drafts: token by token, or as a whole (Sun et al. 2024); "
            "with --profile.  [default: the profile's, or what --export's server does]",
        ),
    ],
)


def acceptances(
    options: AcceptanceOptions,
    profile: Profile | None,
    sampling: DraftSampling | None,
    verification: Verification | None,
) -> tuple[Acceptance, ...]:
    """Returns the acceptances that the options state, one for each alpha.

    Args:
      options: as the user gave them.
      profile: the file that they name.
      sampling: the way of drafting to take of it; None: its own.
      verification: how drafts are judged; None without a profile.

    Raises:
      click.UsageError: if not exactly one source is given, or something goes with another.
      ValueError: if a number is out of range, or the profile lacks what is asked.
    """
    _require_one(options)
    from simulator.acceptance.by_position import ByPosition
    from simulator.acceptance.conversions import (
        alpha_from_accepted_fraction,
        alpha_from_block_efficiency,
    )
    from simulator.acceptance.iid import Iid

    if options.alpha is not None:
        return tuple(Iid(alpha) for alpha in options.alpha)
    if options.by_position is not None:
        if options.conditional:
            return (ByPosition(options.by_position),)
        try:
            return (ByPosition.of_unconditional(options.by_position),)
        except ValueError as error:
            raise click.UsageError(
                f"--acceptance-by-position: {error}; rates that count only the drafts whose "
                "earlier positions stood go with --conditional"
            ) from None
    if profile is not None:
        drafting = profile.drafting(sampling)
        judged = drafting.under("token" if verification is None else verification)
        if options.lenience is None:
            return (judged,)
        if verification == "block" and options.lenience != 1:
            raise ValueError(
                f"lenience must be 1 under block verification, got {options.lenience:g}"
            )
        from simulator.acceptance.lenience_curve import interpolated_alpha

        alpha = interpolated_alpha(drafting.alpha_by_lenience, lenience=options.lenience)
        return (judged if options.lenience == 1 else Iid(alpha),)
    assert options.at_gamma is not None
    if options.accepted_fraction is not None:
        alpha = float(alpha_from_accepted_fraction(options.accepted_fraction, options.at_gamma))
    else:
        assert options.block_efficiency is not None
        alpha = float(alpha_from_block_efficiency(options.block_efficiency, options.at_gamma))
    return (Iid(alpha),)


def _require_one(options: AcceptanceOptions) -> None:
    found = given(
        {
            "--alpha": options.alpha,
            "--accepted-fraction": options.accepted_fraction,
            "--block-efficiency": options.block_efficiency,
            "--acceptance-by-position": options.by_position,
            "--profile": options.profile_path,
        }
    )
    if len(found) != 1:
        got = "none of them" if not found else " and ".join(found)
        raise click.UsageError(
            "give the acceptance by exactly one of --alpha, --accepted-fraction, "
            f"--block-efficiency, --acceptance-by-position and --profile, got {got}"
        )
    (source,) = found
    counted = source in ("--accepted-fraction", "--block-efficiency")
    if counted and options.at_gamma is None:
        raise click.UsageError(f"{source} needs --at-gamma, the gamma that it was counted at")
    if not counted and options.at_gamma is not None:
        raise click.UsageError("--at-gamma belongs to --accepted-fraction or --block-efficiency")
    if options.conditional and options.by_position is None:
        raise click.UsageError("--conditional belongs to --acceptance-by-position")
    if options.profile_path is None and options.lenience is not None:
        raise click.UsageError("--lenience needs --profile: alpha alone does not tell alpha(l)")
    if options.profile_path is None and options.draft_sampling is not None:
        raise click.UsageError("--draft-sampling needs --profile, which holds both")
    if options.profile_path is None and options.verification == "block":
        raise click.UsageError(
            "--verification block needs --profile: alpha alone does not tell what it gains"
        )
