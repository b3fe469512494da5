"""`--draft-kind`: the kind of draft, if no configuration file states it."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import click

from simulator.cost.pricing import Pricing
from specplan.options.declared import option

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
    """The kind of draft; see the option's help."""

    draft_kind: str | None = option(
        "--draft-kind",
        type=click.Choice(tuple(DRAFT_KINDS)),
        help="Kind of draft, without --draft-config. It says how acceptance goes on beyond the "
        "counted positions, and what --export names.",
    )


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
