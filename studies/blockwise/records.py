"""The records of the JSON file that `specplan heads analyse` writes."""

import msgspec

from simulator.numerics.intervals import CONFIDENCE


class Interval(msgspec.Struct, frozen=True):
    """A number with the ends of its interval; all three are None if it cannot be estimated."""

    value: float | None
    low: float | None
    high: float | None


class Way(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Block efficiency of one drafting method: emitted tokens per target call, with its interval.

    k: tokens per head in the lattice; None unless the method is an oracle (best path known).
    p: drafts per target call; None unless the method verifies several.
    change_percent, change_low, change_high: change of the block efficiency in % from the drafts of
      the heads without rescoring, and its interval.
    consecutive_percent: % of drafted tokens that repeat the previous one; None: not computed.
    max_run: mean over blocks of the largest number of equal tokens in a row; None: not computed.
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
    """Block efficiency at each weight that was tried for a rescorer, and the best weight."""

    best_weight: float
    rows: tuple[Weighted, ...]


class Wins(msgspec.Struct, frozen=True):
    """Numbers of blocks in which rescoring keeps (ties), gains (wins) or loses accepted tokens.

    repair: per cent of the won (or lost) blocks whose draft repeats a token only before rescoring.
    regress: per cent whose draft repeats one only after it. Without such blocks, both are None.
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
    oracle: block efficiency if the best path of each lattice were known, by k.
    by_heads: block efficiency if only the first heads draft, by number of heads.
    acceptance_by_head: for j = 2..h, share of the blocks whose head j is right, if 2..j-1 are.
    wins: blocks that gain or lose accepted tokens, by name of the rescorer.
    h_max: number of heads before the first one whose mean entropy is below the previous head's.
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
    confidence: float = CONFIDENCE
