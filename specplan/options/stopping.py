"""Options of `specplan plan` for stopping a draft by its confidence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engines.kind import names_of
from specplan.options.declared import option, rare

if TYPE_CHECKING:
    from engines.kind import EngineKind
    from estimator.profiles.p_min import Thresholds
    from estimator.profiles.profile import Profile
    from simulator.acceptance.stopping.batch import RankedTexts
    from specplan.options.kinds import Stated

DEFAULT_RULE = "llama.cpp"


@dataclass(frozen=True)
class StoppingOptions:
    """Thresholds and rule; see each option's help."""

    p_min: str | None = option(
        metavar="auto|P,…",
        help="Plan the confidence that ends a draft, too. These thresholds, or auto: 0 to 0.95; "
        "with --profile.",
    )
    stopping_rule: str | None = rare(
        metavar="RULE",
        help="The rule of --p-min: llama.cpp, llama.cpp-older, transformers, product, calibrated.  "
        "[default: the rule of --export's server, else llama.cpp]",
    )

    @property
    def server(self) -> str | None:
        """The server with the stated rule; None if no threshold is stated, or no server has it."""
        if self.p_min is None:
            return None
        rule = self.stopping_rule or DEFAULT_RULE
        found = names_of(lambda kind: kind.exports is not None and kind.exports.stopping == rule)
        return next(iter(found), None)

    def thresholds(
        self, path: Path | None, profile: Profile | None, stated: Stated, server: EngineKind | None
    ) -> Thresholds | None:
        """Returns the profile's texts at each threshold; None if no threshold is stated."""
        if self.p_min is None:
            if self.stopping_rule is not None:
                raise click.UsageError("--stopping-rule needs --p-min")
            return None
        if path is None or profile is None or stated.draft_sampling is None:
            raise click.UsageError("--p-min needs --profile, whose traces have the confidence")
        from estimator.profiles.p_min import AUTO, Thresholds, recorded_traces
        from simulator.acceptance.recorded import Recorded
        from simulator.acceptance.stopping import RULES

        replayed = all(isinstance(each, Recorded) for each in stated.acceptances)
        if stated.verification != "token" or not replayed:
            raise click.UsageError(
                "--p-min needs drafts that are judged token by token, without lenience"
            )
        exports = None if server is None else server.exports
        name = self.stopping_rule or (DEFAULT_RULE if exports is None else exports.stopping)
        if server is not None and not name:
            raise click.UsageError(f"--p-min: {server.name} has no threshold that ends a draft")
        if name not in RULES:
            raise click.UsageError(f"--stopping-rule must be one of {', '.join(RULES)}, got {name}")
        try:
            p_mins = AUTO if self.p_min == "auto" else tuple(map(float, self.p_min.split(",")))
        except ValueError:
            raise click.UsageError(
                f"--p-min must be auto or numbers in [0, 1], such as 0.3,0.5, got {self.p_min!r}"
            ) from None
        sampling = stated.draft_sampling
        traces = recorded_traces(path, profile, sampling, option="--p-min")
        return Thresholds(traces, RULES[name], p_mins, drawn=sampling == "sampled")


def ranked(path: Path | None, profile: Profile | None, stated: Stated) -> RankedTexts:
    """Returns the profile's texts for verification by rank (`--verification adaptive`)."""
    from estimator.profiles.adaptive import ranked_texts
    from estimator.profiles.p_min import recorded_traces

    option = "--verification adaptive"
    if path is None or profile is None or stated.draft_sampling != "argmax":
        raise click.UsageError(f"{option} needs argmax drafts: --draft-sampling argmax")
    traces = recorded_traces(path, profile, "argmax", option=option)
    return ranked_texts(traces)
