"""`specplan measure --texts`: acceptance of copying drafts along texts already written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.texts.counting import MeasureTexts
from estimator.texts.measure import measure
from specplan.reports.bar import Bar
from specplan.reports.output import Written, warn
from specplan.reports.profile import print_profile
from specplan.reports.table import Column, bounds, table

if TYPE_CHECKING:
    from estimator.profiles.profile import Profile


def measure_texts(request: MeasureTexts, form: Written) -> None:
    """Measures what a copying draft gains on recorded texts, into a profile that plans read."""
    with Bar("measure", "part") as bar:
        found = measure(request, bar)
    if found.skipped:
        warn(f"{found.skipped} lines left out, the first: {found.first_skipped}")
    print_profile(found.profile, form, text=_text)


def _text(profile: Profile) -> str:
    alpha, setup = profile.alpha, profile.setup
    acceptance = profile.drafting().acceptance
    blocks = profile.drafting().blocks

    def drafted(gamma: int) -> float:
        row = blocks[gamma]
        return sum(count * length for length, count in enumerate(row)) / sum(row)

    def tokens(gamma: int) -> float:
        return float(acceptance.tokens_per_call(gamma))

    def accepted(gamma: int) -> str:
        return f"{(tokens(gamma) - 1) / drafted(gamma):.3f}" if drafted(gamma) > 0 else "-"

    columns: list[Column[int]] = [
        Column("gamma", str),
        Column("tokens per call", lambda gamma: f"{tokens(gamma):.3f}"),
        Column("drafted per call", lambda gamma: f"{drafted(gamma):.3f}"),
        Column("accepted of drafted", accepted),
    ]
    return "\n".join(
        [
            f"{setup.target}, draft {setup.draft}",
            f"alpha   {alpha.value:.4f}  {bounds(alpha.low, alpha.high, '.4f')} over "
            f"{alpha.tokens} tokens of {alpha.prompts} texts",
            "",
            table(blocks, columns),
        ]
    )
