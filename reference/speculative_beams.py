"""Speculative beam search (Leviathan et al. 2023, appendix A.4): beam search in fewer calls.

A draft model searches gamma steps ahead with u >= w beams. The target reads all of these beams in
one call and takes its own steps as long as its w beams are among the draft's u. So beams and scores
equal a beam search by the target only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from reference.beams import Beam, Beams, BeamSettings, Tokens, draft_step, step
from reference.models.model import Model
from reference.models.text_tree import TextTree


@dataclass(frozen=True, slots=True)
class BeamBlock:
    """One target call of a beam search.

    drafted: number of steps that the draft searched ahead.
    steps: number of steps that the target then took, 1..drafted + 1.
    fed: tokens that the target read: the ends of its beams and the drafted tokens.
    """

    drafted: int
    steps: int
    fed: int


@dataclass(frozen=True, slots=True)
class BeamSearch:
    """The result of a beam search.

    beams: finished beams, best first; their scores are transformers' `sequences_scores`.
    blocks: all target calls, without the prompt's pass.
    """

    beams: tuple[Beam, ...]
    blocks: tuple[BeamBlock, ...]

    @property
    def target_calls(self) -> int:
        return len(self.blocks)

    @property
    def steps(self) -> int:
        """Number of search steps, each of which would be a target call without a draft."""
        return sum(block.steps for block in self.blocks)

    @property
    def judged(self) -> int:
        """Number of drafted steps whose beams were compared: the covered ones, and one a block.

        The last block's last step ends the search, so its beams are not compared.
        """
        return self.covered + sum(block.steps <= block.drafted for block in self.blocks[:-1])

    @property
    def covered(self) -> int:
        """Number of drafted steps that held the target's beams: top_w(M_p) within top_u(M_q)."""
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

    Args:
      draft: a model with the target's vocabulary; None: beam search without a draft.
      draft_width: number of the draft's beams (u), at least the width of the search.
      gamma: number of steps that the draft searches ahead.
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
    search: BeamSettings,
    width: int,
    gamma: int,
) -> list[tuple[Beam, ...]]:
    """Returns the beams that the draft expects after 1, 2, ... further steps."""
    levels: list[tuple[Beam, ...]] = []
    if scout is None:
        return levels
    running = beams.running
    # No beams run after the last step.
    for _ in range(min(gamma, search.max_new_tokens - beams.length - 1)):
        log_probs = scout.log_probs(shared, {beam.tokens for beam in running})
        running = draft_step(running, log_probs, width=width, end_ids=search.end_ids)
        levels.append(running)
    return levels


def common(paths: Sequence[Tokens]) -> Tokens:
    """Returns the common prefix of several continuations."""
    first, last = min(paths), max(paths)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length]
