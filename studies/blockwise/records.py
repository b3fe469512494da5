"""What `specplan heads analyse` writes: the records of its JSON file."""

from __future__ import annotations

import msgspec


class Interval(msgspec.Struct, frozen=True):
    """A number with its 95 % interval; all None where it cannot be told."""

    value: float | None
    low: float | None
    high: float | None


class Way(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Block efficiency of one way to draft.

    k: arcs of each head, of an oracle. p: drafts verified in one call, of parallel ones.
    change_percent, _low, _high: of the block efficiency, over the heads' own drafts.
    consecutive_percent, max_run: of repeated tokens, where one draft a block is looked at.
    """

    k: int | None = None
    p: int | None = None
    name: str
    block_efficiency: float
    low: float | None
    high: float | None
    change_percent: float
    change_low: float | None
    change_high: float | None
    consecutive_percent: float | None = None
    max_run: float | None = None


class Weighted(msgspec.Struct, frozen=True):
    """Block efficiency of one weight of a rescorer."""

    weight: float
    block_efficiency: float


class Tuning(msgspec.Struct, frozen=True):
    """The weights that were tried, and the best."""

    best_weight: float
    rows: tuple[Weighted, ...]


class Wins(msgspec.Struct, frozen=True):
    """Blocks that stand further than the heads' own, or less far, and what repetition did there.

    Percentages are of the wins or losses; None where there are none.
    """

    ties: int
    wins: int
    wins_repair_percent: float | None
    wins_regress_percent: float | None
    losses: int
    losses_repair_percent: float | None
    losses_regress_percent: float | None


class HeadEntropy(msgspec.Struct, frozen=True):
    """Entropy of one head, in nats; shares: of positions, by bins of `entropy_bin` nats."""

    head: int
    mean: float
    p5: float
    p95: float
    shares: tuple[float, ...]


class Analysis(msgspec.Struct, frozen=True):
    """Every analysis; intervals leave out texts in turn.

    acceptance_by_head: how often head j = 2..h is right once all before it were.
    wins: by rescorer.
    h_max: the head up to which the mean entropy increases.
    """

    texts: int
    tokens: int
    tuning_texts: int
    heads: int
    k: int
    variants: tuple[Way, ...]
    tuning: dict[str, Tuning]
    oracle: tuple[Way, ...]
    by_heads: tuple[Way, ...]
    parallel: tuple[Way, ...]
    acceptance_by_head: tuple[float, ...]
    wins: dict[str, Wins]
    entropy: tuple[HeadEntropy, ...]
    entropy_bin: float
    h_max: int
    h_max_by_text: tuple[int, ...]
    block_efficiency_by_text: tuple[float, ...]
    h_max_correlation: Interval
