"""The records of the JSON file that `specplan heads analyse` writes."""

import msgspec

from simulator.numerics.intervals import FORMER_CONFIDENCE


class Interval(msgspec.Struct, frozen=True):
    """A number with its interval; all three are None if they cannot be estimated."""

    value: float | None
    low: float | None
    high: float | None


class Way(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Block efficiency of one drafting method: emitted tokens per target call, with its interval.

    k: tokens per head in the lattice (oracles only).
    p: drafts per target call (parallel methods only).
    change_percent, change_low, change_high: change over the heads' own drafts, and its interval.
    consecutive_percent: per cent of drafted tokens that repeat the previous one (one draft only).
    max_run: mean length of a block's longest run of one token (one draft only).
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
    """Block efficiency measured with one weight of a rescorer."""

    weight: float
    block_efficiency: float


class TunedWeight(msgspec.Struct, frozen=True):
    """Block efficiency at each weight of a rescorer that was tried, and the best weight."""

    best_weight: float
    rows: tuple[Weighted, ...]


class Wins(msgspec.Struct, frozen=True):
    """Numbers of blocks in which rescoring keeps, gains or loses accepted tokens.

    repair: per cent of the won (or lost) blocks whose draft repeated a token only before rescoring.
    regress: per cent whose draft repeats a token only after it. None if there are no such blocks.
    """

    ties: int
    wins: int
    wins_repair_percent: float | None
    wins_regress_percent: float | None
    losses: int
    losses_repair_percent: float | None
    losses_regress_percent: float | None


class HeadEntropy(msgspec.Struct, frozen=True):
    """Entropy of one head's distribution over all positions: mean and percentiles in nats.

    shares: histogram, share of the positions in each bin; bins are `entropy_bin` nats wide, from 0.
    """

    head: int
    mean: float
    p5: float
    p95: float
    shares: tuple[float, ...]


class Analysis(msgspec.Struct, frozen=True):
    """The results of `specplan heads analyse`, with jackknife intervals over texts.

    k: tokens per head in the lattices.
    variants, parallel: drafting methods with one draft, and with several drafts per target call.
    tuning: block efficiency by weight, for each rescorer.
    oracle, by_heads: the best path among k arcs, and drafts of the first heads only.
    acceptance_by_head: how often head j = 2..h is right if heads 2..j-1 are right.
    wins: blocks that gain or lose accepted tokens, by name of the rescorer.
    h_max: last head before the mean entropy first falls.
    confidence: level of the intervals, in (0, 1).
    """

    texts: int
    tokens: int
    tuning_texts: int
    heads: int
    k: int
    variants: tuple[Way, ...]
    tuning: dict[str, TunedWeight]
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
    confidence: float = FORMER_CONFIDENCE
