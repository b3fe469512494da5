"""Results of `observe`, `tune` and `compare`, which notebooks show as their pages do."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from engines.observing.observation import Observation
from engines.tuning.tuned import Tuned
from estimator.comparison import Comparison
from estimator.writing import builtins
from specplan.api.shown import Shown

Records = Sequence[Mapping[str, Any]]


class ObservedCounts(Shown, Observation):
    """Counts of drafts, from servers or files."""

    def json(self) -> Mapping[str, Any]:
        """Returns the JSON object of `specplan observe`."""
        from specplan.reports.observation import observation_json

        return observation_json(self, seconds=None)

    def records(self) -> Records:
        """Returns the acceptance by position, counting all blocks."""
        return [{"position": at, **asdict(rate)} for at, rate in enumerate(self.unconditional, 1)]


class TunedRuns(Shown, Tuned, frozen=True, kw_only=True):
    """The runs of a search for the best draft length, and its advice."""

    def json(self) -> Mapping[str, Any]:
        """Returns the JSON object of `specplan tune`."""
        return tuned_json(self)

    def records(self) -> Records:
        """Returns the runs in their order."""
        return list(self.json()["rows"])


def tuned_json(tuned: Tuned) -> dict[str, Any]:
    """Returns the JSON object of `specplan tune`: a tuning without the turns of its runs."""
    from specplan.reports.tuning import sentence

    data: dict[str, Any] = {"sentence": sentence(tuned), **builtins(tuned)}
    for run in data["rows"]:
        del run["turns"]
    return data


class Compared(Shown, Comparison):
    """Two profiles or validations of the same prompts, and their differences."""

    def json(self) -> Mapping[str, Any]:
        """Returns the JSON object of `specplan compare`."""
        from specplan.reports.verdict import comparison_json

        return comparison_json(self)

    def records(self) -> Records:
        """Returns the compared numbers."""
        return list(self.json()["differences"])
