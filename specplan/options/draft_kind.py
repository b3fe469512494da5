"""The kind of draft, where no configuration file says it: `--draft-kind eagle3`."""

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
    """The kind; see the option's help."""

    draft_kind: str | None = option(
        "--draft-kind",
        type=click.Choice(tuple(DRAFT_KINDS)),
        help="Kind of draft, without --draft-config. It says how acceptance goes on beyond the "
        "counted positions, and what --export names.",
    )


def law_of(draft_kind: str | None, priced: Sequence[Pricing] = ()) -> str | None:
    """Returns the kind whose law of acceptance holds (`rate_prior`); None: not known.

    Args:
      draft_kind: as a user states it; it goes before a configuration's.
      priced: costs, perhaps of a draft's configuration.
    """
    from estimator.model_shapes.head_kind import prior_of  # It imports numpy.

    if draft_kind is not None:
        named = DRAFT_KINDS[draft_kind]
        return "n-gram" if named in ("suffix", "n-gram") else prior_of(named)
    load = priced[0].load if priced else None
    return prior_of(load.draft_kind) if load is not None and load.modelled else None
