"""Speculative beam search (Leviathan et al. 2023, appendix A.4): beam search in fewer calls.

A draft model searches with u >= w beams for gamma steps ahead; the target reads all of these at
once, and its own steps go on while its w beams are among the draft's u. The result is that of beam
search with the target alone, scores included: every step is the target's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from reference.beams import Beam, Beams, Search, Tokens, draft_step, step
from reference.models.model import Model
from reference.models.text_tree import TextTree


@dataclass(frozen=True, slots=True)
class BeamBlock:
    """One call of the target.

    drafted: steps that the draft searched ahead.
    steps: that the target then took, 1..drafted + 1.
    fed: tokens that the target read: the beams' ends and what was drafted.
    """

    drafted: int
    steps: int
    fed: int


@dataclass(frozen=True, slots=True)
class BeamSearch:
    """What a beam search found.

    beams: finished, the best first, their scores as transformers' `sequences_scores`.
    """

    beams: tuple[Beam, ...]
    blocks: tuple[BeamBlock, ...]

    @property
    def target_calls(self) -> int:
        """Calls of the target, the prompt's own apart."""
        return len(self.blocks)

    @property
    def steps(self) -> int:
        """Steps of the search: the calls that the target alone would have taken."""
        return sum(block.steps for block in self.blocks)

    @property
    def judged(self) -> int:
        """Drafted steps of which it is known whether the target's beams were among them.

        Those that were, and the one at which a block broke off. The last block's last step ends
        the search, after which no beams run.
        """
        return self.covered + sum(block.steps <= block.drafted for block in self.blocks[:-1])

    @property
    def covered(self) -> int:
        """Those at which they were: top_w(M_p) a part of top_u(M_q)."""
        return sum(block.steps - 1 for block in self.blocks)


def require_widths(width: int, drafted: int) -> None:
    """Refuses a draft narrower than the search.

    Raises:
      ValueError: naming both widths.
    """
    if drafted < width:
        raise ValueError(f"draft_beams must be at least beams, {width}, got {drafted}")


@torch.inference_mode()
def beam_search(
    target: Model,
    prompt: Sequence[int],
    *,
    search: Search,
    draft: Model | None = None,
    draft_width: int = 1,
    gamma: int = 0,
) -> BeamSearch:
    """Returns the best continuations of a prompt.

    Args:
      draft: M_q, of the target's vocabulary; None: the target alone.
      draft_width: u, at least the search's width, where there is a draft.

    Raises:
      ValueError: if the draft is narrower than the search, or gamma is negative.
      FloatingPointError: if a model returns logits that are NaN or infinite.
    """
    if gamma < 0:
        raise ValueError(f"gamma must be at least 0, got {gamma}")
    if draft is not None:
        require_widths(search.width, draft_width)
    reader, scout = TextTree(target), None if draft is None else TextTree(draft)
    for tree in (reader, scout):
        if tree is not None:
            tree.start(prompt)
    beams = Beams()
    blocks: list[BeamBlock] = []
    while not beams.ended:
        shared = common([beam.tokens for beam in beams.running])
        levels = _drafted(scout, beams, shared, search, draft_width, gamma)
        wanted = {beam.tokens for level in (beams.running, *levels) for beam in level}
        before = reader.fed
        log_probs = reader.log_probs(shared, wanted)
        steps = 0
        while not beams.ended and all(beam.tokens in log_probs for beam in beams.running):
            beams = step(beams, log_probs, search)
            steps += 1
        blocks.append(BeamBlock(len(levels), steps, reader.fed - before))
    return BeamSearch(beams.finished, tuple(blocks))


def _drafted(
    scout: TextTree | None,
    beams: Beams,
    shared: Tokens,
    search: Search,
    width: int,
    gamma: int,
) -> list[tuple[Beam, ...]]:
    """Returns the beams that the draft expects to run after 1, 2, ... steps."""
    levels: list[tuple[Beam, ...]] = []
    if scout is None:
        return levels
    running = beams.running
    # After its last step no beam runs.
    for _ in range(min(gamma, search.max_new_tokens - beams.length - 1)):
        log_probs = scout.log_probs(shared, {beam.tokens for beam in running})
        running = draft_step(running, log_probs, width=width, end_ids=search.end_ids)
        levels.append(running)
    return levels


def common(paths: Sequence[Tokens]) -> Tokens:
    """Returns what all continuations begin with."""
    first, last = min(paths), max(paths)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length]
