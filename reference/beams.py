"""Beam search by one model, or with a draft that searches ahead (Leviathan et al. 2023, A.4).

A draft model searches gamma steps ahead with u >= w beams. The target reads all of these beams in
one call and takes its own steps as long as its w beams are among the draft's u. So beams and scores
equal a beam search by the target only. This needs a decoding loop of its own, because there is no
single growing text and no distribution to verify.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os.path import commonprefix

import torch
from torch import Tensor

from reference.models.model import Model
from reference.models.text_tree import TextTree, Tokens


@dataclass(frozen=True, slots=True)
class Beam:
    """A continuation of the prompt.

    score: the tokens' summed log-probability; if finished, divided by length**length_penalty.
    """

    tokens: Tokens
    score: float


@dataclass(frozen=True, slots=True)
class BeamSettings:
    """The settings of a beam search, as in transformers with `early_stopping=False`.

    width: number of running beams (w), at least 1.
    max_new_tokens: most tokens of a beam, at least 1.
    length_penalty: a finished beam's score is divided by its length to this power.
    """

    width: int
    max_new_tokens: int
    end_ids: frozenset[int] = frozenset()
    length_penalty: float = 1.0

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ValueError(f"beams must be at least 1, got {self.width}")
        if self.max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be at least 1, got {self.max_new_tokens}")

    @property
    def candidates(self) -> int:
        """Number of continuations that a step compares; at least `width` of them do not end."""
        return max(2, 1 + len(self.end_ids)) * self.width


@dataclass(frozen=True, slots=True)
class Beams:
    """The state of a beam search.

    running: the w (width) best unfinished beams, best first; initially only the empty beam.
    finished: at most w finished beams, best first.
    """

    running: tuple[Beam, ...] = (Beam((), 0.0),)
    finished: tuple[Beam, ...] = ()
    ended: bool = False

    @property
    def length(self) -> int:
        """Number of tokens in each running beam."""
        return len(self.running[0].tokens)


def step(beams: Beams, log_probs: Mapping[Tokens, Tensor], search: BeamSettings) -> Beams:
    """Returns the state of the search after one more step, which extends each beam by a token.

    log_probs: for each running beam, the next token's log-probabilities, float32, (vocabulary,).
    """
    grown = _grown(beams.running, log_probs, search.candidates)
    if len(grown) < search.candidates:
        raise ValueError(
            f"beams must leave {search.candidates} continuations to choose among, got "
            f"{len(grown)} of {len(log_probs[beams.running[0].tokens])} tokens"
        )
    length = beams.length + 1
    last, divisor = length == search.max_new_tokens, length**search.length_penalty
    ends = [last or beam.tokens[-1] in search.end_ids for beam in grown]
    # Only beams that end among the w best count as finished.
    ended = [
        Beam(beam.tokens, beam.score / divisor)
        for beam, end in zip(grown[: search.width], ends, strict=False)
        if end
    ]
    finished = sorted([*beams.finished, *ended], key=lambda beam: -beam.score)[: search.width]
    if last:
        return Beams(beams.running, tuple(finished), ended=True)
    running = [beam for beam, end in zip(grown, ends, strict=True) if not end][: search.width]
    # The heuristic of early_stopping=False: the best running beam as if it ended now.
    reachable = running[0].score / divisor
    hopeless = len(finished) == search.width and reachable <= finished[-1].score
    return Beams(tuple(running), tuple(finished), ended=hopeless)


def _grown(
    running: Sequence[Beam],
    log_probs: Mapping[Tokens, Tensor],
    most: int,
    without: frozenset[int] = frozenset(),
) -> list[Beam]:
    """Returns the `most` best one-token extensions of the beams, none by an id in `without`."""
    rows = torch.stack([log_probs[beam.tokens] for beam in running])
    if without:
        rows = rows.index_fill(1, torch.tensor(sorted(without), device=rows.device), -torch.inf)
    scores = rows + torch.tensor([beam.score for beam in running], device=rows.device)[:, None]
    values, places = scores.flatten().topk(min(most, scores.numel()))
    parts = places // rows.shape[1], places % rows.shape[1], values
    grown = zip(*(part.tolist() for part in parts), strict=True)
    return [Beam((*running[row].tokens, token), score) for row, token, score in grown]


@dataclass(frozen=True, slots=True)
class BeamBlock:
    """One target call of a beam search.

    drafted: number of search steps that the draft model ran ahead of the target.
    steps: number of search steps that the target completed, 1..drafted + 1.
    fed: number of tokens that the target read: the last tokens of its beams, and drafted tokens.
    """

    drafted: int
    steps: int
    fed: int


@dataclass(frozen=True, slots=True)
class BeamSearch:
    """The result of a beam search.

    beams: finished beams, best first; their scores are transformers' `sequences_scores`.
    blocks: the target calls after the prompt's pass.
    """

    beams: tuple[Beam, ...]
    blocks: tuple[BeamBlock, ...]

    @property
    def target_calls(self) -> int:
        return len(self.blocks)

    @property
    def steps(self) -> int:
        """Number of search steps; without a draft, each of them would be one target call."""
        return sum(block.steps for block in self.blocks)

    @property
    def judged(self) -> int:
        """Number of drafted steps that the target checked, whether or not they were covered."""
        return self.covered + sum(block.steps <= block.drafted for block in self.blocks[:-1])

    @property
    def covered(self) -> int:
        """Number of drafted steps whose beams include the target's: top_w(M_p) in top_u(M_q)."""
        return sum(block.steps - 1 for block in self.blocks)


def require_widths(width: int, drafted: int) -> None:
    """Refuses a draft that searches with fewer beams than the target."""
    if drafted < width:
        raise ValueError(f"draft_beams must be at least beams, {width}, got {drafted}")


@torch.inference_mode()
def beam_search(
    target: Model,
    prompt: Sequence[int],
    *,
    search: BeamSettings,
    draft: Model | None = None,
    draft_width: int = 1,
    gamma: int = 0,
) -> BeamSearch:
    """Returns the best continuations of a prompt.

    draft: a model with the target's vocabulary, or None.
    draft_width: number of the draft's beams (u), at least the width of the search.
    gamma: number of search steps that the draft model runs ahead of the target.
    """
    if gamma < 0:
        raise ValueError(f"gamma must be at least 0, got {gamma}")
    if draft is not None:
        require_widths(search.width, draft_width)
    reader, scout = TextTree(target), None if draft is None else TextTree(draft)
    reader.start(prompt)
    if scout is not None:
        scout.start(prompt)
    beams = Beams()
    blocks: list[BeamBlock] = []
    while not beams.ended:
        shared = tuple(commonprefix([beam.tokens for beam in beams.running]))  # noqa: RUF071
        # No beams run after the last step.
        ahead = min(gamma, search.max_new_tokens - beams.length - 1)
        levels: list[tuple[Beam, ...]] = []
        while scout is not None and len(levels) < ahead:
            running = levels[-1] if levels else beams.running
            log_probs = scout.log_probs(shared, {beam.tokens for beam in running})
            grown = _grown(running, log_probs, draft_width, without=search.end_ids)
            levels.append(tuple(beam for beam in grown if beam.score > -math.inf))
        wanted = {beam.tokens for level in (beams.running, *levels) for beam in level}
        before = reader.fed
        log_probs = reader.log_probs(shared, wanted)
        steps = 0
        while not beams.ended and all(beam.tokens in log_probs for beam in beams.running):
            beams = step(beams, log_probs, search)
            steps += 1
        blocks.append(BeamBlock(len(levels), steps, reader.fed - before))
    return BeamSearch(beams.finished, tuple(blocks))
