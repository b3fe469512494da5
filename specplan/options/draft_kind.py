"""The kind and the name of a draft, where no configuration file has it: `--draft-kind eagle3`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from simulator.cost.pricing import Pricing, named_share
from specplan.options.declared import option, rare

if TYPE_CHECKING:
    from simulator.cost.fitted.runs import Run

# From servers' names of drafts to the kinds of `engines.kind.Drafted`.
DRAFT_KINDS = MappingProxyType(
    {
        "eagle3": "EAGLE-3",
        "mtp": "MTP",
        "dflash": "DFlash",
        "suffix": "suffix",
        "ngram": "n-gram",
        "draft-model": "model",
    }
)
# Drafters that copy, as --draft names them.
COPIES = MappingProxyType({"suffix": "suffix", "ngram": "lookup"})


@dataclass(frozen=True)
class DraftNamed:
    """Names, kind and largest γ; see each option's help."""

    target: str | None = rare(
        "--target",
        metavar="NAME",
        help="The target's name. With --draft: c is checked by the sizes in both names.",
    )
    draft: str | None = option(
        "--draft",
        metavar="NAME",
        help="The draft model's name. For --export, and with --target for a check of c.",
    )
    draft_kind: str | None = option(
        type=click.Choice(tuple(DRAFT_KINDS)),
        help="Kind of draft, without --draft-config. It says how acceptance goes on beyond the "
        "counted positions, and what --export names.",
    )
    max_gamma: int = rare(default=32, metavar="G", help="The largest gamma to consider.")

    def sized(
        self, price: Pricing, runs: Sequence[Run], served: str | None, share: float | None = None
    ) -> Pricing:
        """Returns a pricing with the draft's share of the target's weights, if names state it.

        Args:
          runs: measurements, which may have the share or the target's name.
          served, share: the target's name and the draft's share, as a source has them.
        """
        target = self.target or next((run.model for run in runs if run.model is not None), served)
        known = [price.draft_share, named_share(target, self.draft), share]
        known += [run.draft_share for run in runs]
        return replace(price, draft_share=next((each for each in known if each is not None), None))


def law_of(draft_kind: str | None, priced: Sequence[Pricing] = ()) -> str | None:
    """Returns the kind of draft that selects the prior of acceptance (`rate_prior`), or None.

    Args:
      draft_kind: the kind as a user states it. It has priority over a configuration.
      priced: costs, which may come from a draft's configuration.
    """
    from estimator.model_shapes.head_kind import prior_of  # It imports numpy.

    if draft_kind is not None:
        named = DRAFT_KINDS[draft_kind]
        return "n-gram" if named in ("suffix", "n-gram") else prior_of(named)
    load = priced[0].load if priced else None
    return prior_of(load.draft_kind) if load is not None and load.modelled else None
