"""Published accepted lengths as the text of `specplan plan --typical list`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from simulator.acceptance.typical import PublishedLengths, Typical, published_lengths
from specplan.reports.table import folded

# Fewer letters are no part of a name that somebody looks for.
LEAST_PART = 3


def listed(value: str) -> str | None:
    """Returns the text for `list` (all names) or for a part of names; None for anything else."""
    known, part = published_lengths(), "" if value == "list" else value.lower()
    some = [lengths for name, lengths in known.items() if part in name]
    if value in known or not some or len(value) < LEAST_PART:
        return None
    return typical_text(some)


def typical_text(known: Sequence[PublishedLengths]) -> str:
    """Returns names with alpha, workload and lengths, below each draft, its target and source."""
    width = max(len(lengths.name) for lengths in known)
    lines = [
        f"Tokens per target call at K, and the alpha that they follow from ({len(known)} names)."
    ]
    for (kind, draft, target, source, date), some in groupby(known, _pair):
        model = "" if draft == kind else f" {draft}"
        lines += ["", folded(f"{kind}{model} for {target} ({source}, {date})")]
        for published in some:
            lengths = ", ".join(f"{length:.2f} at {k}" for k, length in published.lengths.items())
            lines.append(f"  {published.name:{width}}  alpha {Typical(published.name).alpha:.2f}")
            lines += [
                f"    {line}"
                for line in folded(
                    f"{published.workload} ({published.held.sampling}): {lengths}"
                ).split("\n")
            ]
    return "\n".join(lines)


def _pair(lengths: PublishedLengths) -> tuple[str, ...]:
    return lengths.kind, lengths.draft, lengths.target, lengths.source, lengths.date
