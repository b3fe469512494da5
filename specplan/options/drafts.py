"""The option --draft: one or several drafts with their configuration and acceptance, or a name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specplan.api.deployed import Deployed, Loads
from specplan.api.drafts import SizedDraft
from specplan.options.declared import option
from specplan.options.values import callback, parse_numbers

_DRAFT_KEYS = ("config", "alpha", "rates", "name")


@callback
def parse_drafts(values: tuple[str, ...]) -> tuple[SizedDraft, ...]:
    """Returns the drafts of --draft, each config=FILE,alpha=A or config=FILE,rates=R/R/...."""
    return tuple(map(parse_draft, values))


@callback
def parse_named(values: tuple[str, ...]) -> tuple[SizedDraft | str, ...]:
    """Returns the single name of --draft, or the drafts if they have keys (KEY=VALUE)."""
    if len(values) == 1 and "=" not in values[0]:
        return values
    return tuple(map(parse_draft, values))


def parse_draft(text: str) -> SizedDraft:
    """Returns the draft that a text of the form "KEY=VALUE,..." states.

    config: the draft's config.json; the target's for multi-token prediction.
    alpha, or rates (R/R/..., shares of all drafts), or length=L at gamma: its acceptance.
    name: its name in the answer.
    """
    from simulator.acceptance.acceptance import Iid
    from simulator.acceptance.accepted import Accepted
    from simulator.acceptance.from_counts import from_counts

    stated: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in _DRAFT_KEYS:
            raise ValueError(
                f"must be KEY=VALUE,... with keys {', '.join(_DRAFT_KEYS)}, got {part!r}"
            )
        if key in stated:
            raise ValueError(f"{key} is given twice in {text!r}")
        stated[key] = value
    if "config" not in stated or ("alpha" in stated) == ("rates" in stated):
        raise ValueError(f"must state config and one of alpha and rates, got {text!r}")
    config, name = Path(stated["config"]), stated.get("name")
    if "alpha" in stated:
        (alpha,) = parse_numbers(stated["alpha"])
        return SizedDraft(config, Iid(alpha), name)
    rates = [parse_numbers(rate)[0] for rate in stated["rates"].split("/")]
    return SizedDraft(config, from_counts([Accepted.of_rates(rates)]), name)


@dataclass(frozen=True)
class DraftsStated:
    """Drafts to compare, or the name of one.

    drafts: A draft to compare with others at one load: config=FILE,alpha=A or
      config=FILE,rates=R/R/..., with name=NAME, once for each draft. Or the draft model's name, for
      --export; with --target, its size is used to check c.
    """

    drafts: tuple[SizedDraft | str, ...] = option(
        "--draft", multiple=True, callback=parse_named, metavar="NAME|config=FILE,...", default=()
    )

    @property
    def name(self) -> str | None:
        """The name, if only a name was stated."""
        return next((draft for draft in self.drafts if isinstance(draft, str)), None)

    @property
    def described(self) -> tuple[SizedDraft, ...]:
        """The drafts with a configuration and an acceptance."""
        return tuple(draft for draft in self.drafts if isinstance(draft, SizedDraft))


@dataclass(frozen=True)
class DraftsDeployed(Deployed, Loads):
    """The target, its machine and its load, for which drafts are compared."""
