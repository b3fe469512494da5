"""Beam search over a model's log-probabilities, with the steps and scores of transformers.

A step chooses among all continuations of several texts by their sums of log-probabilities, so there
is no single growing text and no distribution to verify: beams need a decoding loop of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Beam:
    """A continuation of the prompt.

    score: sum of the tokens' log-probabilities; once finished, divided by length**length_penalty.
    """

    tokens: Tokens
    score: float


@dataclass(frozen=True, slots=True)
class BeamSettings:
    """The settings of a beam search, as in transformers with `early_stopping=False`.

    width: number of running beams (w), at least 1.
    max_new_tokens: most tokens of a beam, at least 1.
    end_ids: token ids that end a beam.
    length_penalty: exponent of the length by which a finished beam's score is divided.
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
        """Number of continuations that a step considers: enough to leave w running beams."""
        return max(2, 1 + len(self.end_ids)) * self.width


@dataclass(frozen=True, slots=True)
class Beams:
    """The state of a beam search after some steps.

    running: the w best unfinished beams, best first; initially only the empty beam.
    finished: at most w finished beams, best first.
    ended: whether the search is over.
    """

    running: tuple[Beam, ...] = (Beam((), 0.0),)
    finished: tuple[Beam, ...] = ()
    ended: bool = False

    @property
    def length(self) -> int:
        """Number of tokens in each running beam."""
        return len(self.running[0].tokens)


def step(beams: Beams, log_probs: Mapping[Tokens, Tensor], search: BeamSettings) -> Beams:
    """Returns the beams after one more token.

    log_probs: by running beam, log-probabilities of the next token, float32, (vocabulary,).
    """
    rows = torch.stack([log_probs[beam.tokens] for beam in beams.running])
    sums = torch.tensor([beam.score for beam in beams.running], device=rows.device)
    best = _best(rows + sums[:, None], search.candidates)
    length = beams.length + 1
    last = length == search.max_new_tokens
    grown = [Beam((*beams.running[row].tokens, token), score) for row, token, score in best]
    ends = [last or beam.tokens[-1] in search.end_ids for beam in grown]
    # Only beams that end among the w best count as finished.
    ended = [
        Beam(beam.tokens, beam.score / length**search.length_penalty)
        for beam, end in zip(grown[: search.width], ends, strict=False)
        if end
    ]
    finished = sorted([*beams.finished, *ended], key=lambda beam: -beam.score)[: search.width]
    if last:
        return Beams(beams.running, tuple(finished), ended=True)
    running = [beam for beam, end in zip(grown, ends, strict=True) if not end][: search.width]
    # The heuristic of early_stopping=False: the best running beam as if it ended now.
    hopeless = (
        len(finished) == search.width
        and running[0].score / length**search.length_penalty <= finished[-1].score
    )
    return Beams(tuple(running), tuple(finished), ended=hopeless)


def draft_step(
    running: Sequence[Beam],
    log_probs: Mapping[Tokens, Tensor],
    *,
    width: int,
    end_ids: frozenset[int],
) -> tuple[Beam, ...]:
    """Returns the `width` (u) unfinished beams that a draft expects after one more token."""
    rows = torch.stack([log_probs[beam.tokens] for beam in running])
    if end_ids:
        rows = rows.index_fill(1, torch.tensor(sorted(end_ids), device=rows.device), -torch.inf)
    sums = torch.tensor([beam.score for beam in running], device=rows.device)
    return tuple(
        Beam((*running[row].tokens, token), score)
        for row, token, score in _best(rows + sums[:, None], min(width, rows.numel()))
        if score > -torch.inf
    )


def _best(scores: Tensor, count: int) -> list[tuple[int, int, float]]:
    """Returns row, column and value of the `count` largest entries, largest first."""
    if scores.numel() < count:
        raise ValueError(
            f"beams must leave {count} continuations to choose among, got {scores.numel()} of "
            f"{scores.shape[1]} tokens"
        )
    values, places = scores.flatten().topk(count)
    columns = scores.shape[1]
    return [
        (place // columns, place % columns, value)
        for place, value in zip(places.tolist(), values.tolist(), strict=True)
    ]
