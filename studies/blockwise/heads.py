"""Blockwise heads and their drafts: a model with h heads predicts the next h tokens at once.

Stern et al. 2018; Kim et al. 2024 (blockwise drafts), section 4: "h distinct feedforward layers
with a single hidden layer, atop the target LM's final hidden layer", which share one output
embedding. The first head is the model's own and has no network here.

The pass that verifies a block also computes the state from which the heads draft the next block, so
a block costs one target call (Stern et al. 2018, section 3).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from reference.drafter import Draft, draft_from, no_draft
from reference.files import read_json, whole_file
from reference.laws import Sampling
from reference.models.folders import require_file
from reference.models.model import Model, Stopwatch, peaks, require_finite
from reference.policies import Policy
from reference.scoring import ScoreOptions, Scores, Stretch, nothing_drafted, score_laws
from studies.blockwise import DESCRIPTION, HEADS_FOLDER


class Heads(nn.Module):
    """The h - 1 heads after the model's own; head j predicts the token j places ahead.

        f_j(s) = s + down_j relu(up_j s + a_j) + b_j,     j = 2..h

    s is the model's last hidden state; the output embedding of f_j(s) gives head j's logits.
    down and b are initialised with 0, so untrained heads repeat the model's own head.
    """

    def __init__(self, *, heads: int, width: int, hidden: int) -> None:
        """Makes untrained heads; heads: their number h, including the model's own, at least 2."""
        super().__init__()
        if heads < 2:
            raise ValueError(f"heads must be at least 2, the model's own included, got {heads}")
        if hidden < 1:
            raise ValueError(f"hidden must be at least 1, got {hidden}")
        self.up = nn.Parameter(torch.randn(heads - 1, width, hidden) * width**-0.5)
        self.up_bias = nn.Parameter(torch.zeros(heads - 1, 1, hidden))
        self.down = nn.Parameter(torch.zeros(heads - 1, hidden, width))
        self.down_bias = nn.Parameter(torch.zeros(heads - 1, 1, width))

    @property
    def count(self) -> int:
        """Number of heads (h), including the model's own."""
        return self.up.shape[0] + 1

    @property
    def sizes(self) -> dict[str, int]:
        """Number of heads, width of the model's states, and width of the hidden layers."""
        return {"heads": self.count, "width": self.up.shape[1], "hidden": self.up.shape[2]}

    def forward(self, states: Tensor, first: int | None = None) -> Tensor:
        """Returns f_j(s) for heads j = 2, 3, … at each position, shape (heads, positions, width).

        states: the model's last hidden states, shape (positions, width).
        first: number of heads to compute; None: all h - 1.
        """
        up, down = self.up[:first], self.down[:first]
        inner = torch.baddbmm(self.up_bias[:first], states.expand(len(up), -1, -1), up)
        return states + torch.baddbmm(self.down_bias[:first], inner.relu(), down)


FORMAT = "specplan blockwise heads 1"
WEIGHTS = "heads.safetensors"
SAMPLED_ROWS = 64


class HeadsFile(msgspec.Struct, tag_field="format", tag=FORMAT):
    """The content of heads.json; model: name of the model on which the heads were trained."""

    heads: int
    width: int
    hidden: int
    model_fingerprint: str
    model: str = "another model"


def model_fingerprint(module: Any) -> str:
    """Returns a hash that identifies a model's weights and is equal in every precision.

    It hashes the signs of 64 rows of the output embedding, which rounding does not change.
    """
    # Rounding does not change the signs of the output embedding's rows.
    weight = module.get_output_embeddings().weight.detach()
    rows = torch.linspace(0, len(weight) - 1, min(SAMPLED_ROWS, len(weight))).long()
    signs = (weight[rows.to(weight.device)] < 0).cpu().numpy()
    return hashlib.sha256(repr(weight.shape).encode() + signs.tobytes()).hexdigest()


def save_heads(folder: Path, heads: Heads, module: Any, note: Mapping[str, object]) -> None:
    """Writes the heads' weights (float16) and heads.json to a folder, each file atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        name: value.detach().half().cpu().contiguous() for name, value in heads.state_dict().items()
    }
    with whole_file(folder / WEIGHTS) as partial:
        save_file(tensors, partial)
    fingerprint = model_fingerprint(module)
    description = {"format": FORMAT, **heads.sizes, "model_fingerprint": fingerprint, **note}
    with whole_file(folder / DESCRIPTION) as partial:
        partial.write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")


def load_heads(folder: Path, module: Any, *, name: str) -> Heads:
    """Returns the heads in a folder, on their model's device and in its precision.

    Refuses a folder without heads, damaged files, and heads of a model with other weights.
    """
    path = folder / DESCRIPTION
    require_file(folder, DESCRIPTION, HEADS_FOLDER)
    try:
        described = msgspec.convert(read_json(path), HeadsFile)
    except msgspec.ValidationError:
        raise ValueError(f"{path} must describe blockwise heads, format {FORMAT!r}") from None
    embedding = module.get_output_embeddings()
    if embedding is None:
        raise ValueError(f"heads need a model with an output embedding, got {name} without one")
    width = embedding.weight.shape[1]
    if described.width != width:
        raise ValueError(
            f"heads in {folder} must be as wide as the states of {name}, {width}, "
            f"got {described.width}"
        )
    if described.model_fingerprint != model_fingerprint(module):
        raise ValueError(
            f"heads in {folder} must be trained on the states of {name}, got heads of a model "
            f"with other weights ({described.model})"
        )
    heads = Heads(heads=described.heads, width=described.width, hidden=described.hidden)
    try:
        heads.load_state_dict(load_file(folder / WEIGHTS))
    except (OSError, RuntimeError, SafetensorError) as error:
        line = str(error).partition("\n")[0]
        raise ValueError(f"{folder / WEIGHTS} must hold the weights of heads: {line}") from error
    return heads.to(embedding.weight.device, embedding.weight.dtype).eval().requires_grad_(False)


class HeadsDrafter:
    """Drafts position i of a block (from 0) from the distribution of head i + 2.

    The verifier takes this distribution as q, so sampling is lossless at every temperature (which
    Kim et al. 2024, appendix B.1, leave open).
    """

    def __init__(
        self, target: Model, heads: Heads, embedding: nn.Module, sampling: Sampling, *, name: str
    ) -> None:
        self.target = target
        self.heads = heads
        self.embedding = embedding
        self.sampling = sampling
        self.name = name
        self._stopwatch = Stopwatch(target.device)
        self._beginning = 0  # for scoring: where the first block began

    @property
    def forward_seconds(self) -> float:
        return self._stopwatch.seconds

    def start(self, prompt: Sequence[int], text: Sequence[int]) -> None:
        self._beginning = len(text)

    def logits(self, text: Sequence[int], limit: int) -> Tensor | None:
        """Returns the heads' logits for the tokens after a text, shape (positions, vocabulary).

        None if the target has no state from which heads can draft, as after a text of one token.

        text: ids; the target's cache holds all ids but the last.
        """
        state = self.target.state(len(text) - 2)
        limit = min(limit, self.heads.count - 1)
        if state is None or limit == 0:
            return None
        with self._stopwatch, torch.inference_mode():
            read: Tensor = self.embedding(self.heads(state[None], limit).squeeze(1))
        return read

    def propose(
        self, text: Sequence[int], limit: int, policy: Policy, generator: torch.Generator
    ) -> Draft:
        logits = self.logits(text, limit)
        if logits is None:
            return no_draft(self.target.device)
        return draft_from(self.sampling.laws(logits, text), len(logits), policy, generator)

    def score(self, stretch: Stretch, options: ScoreOptions) -> list[Scores]:
        """Returns the acceptance scores of a stretch's tokens, for each of `options.samplings`.

        Each token is scored in every block that could contain it. The target's cache must hold the
        text up to the stretch's last token.
        """
        first, positions = len(stretch.text), len(stretch.tokens)
        whole = [*stretch.text, *stretch.tokens]
        scores = [nothing_drafted(positions, options) for _ in options.samplings]
        reach = min(options.max_gamma, self.heads.count - 1)
        for start in range(max(first - reach + 1, self._beginning), len(whole)):
            # Drafted as in `propose`. The part of a block beyond the text is ignored.
            logits = self.logits(whole[:start], reach)
            if logits is None:
                continue
            require_finite(peaks(logits).tolist(), self.name, start)
            inside = range(max(first - start, 0), min(reach, len(whole) - start))
            offsets = torch.tensor(inside, device=logits.device)
            here = (offsets + start - first).tolist()
            tokens = [stretch.tokens[place] for place in here]
            block = Stretch(whole[:start], tokens, stretch.p.at(offsets + start - first))
            for sampling, score in zip(options.samplings, scores, strict=True):
                q = sampling.laws(logits, whole[:start])
                of_block = score_laws(block, q.at(offsets), options.leniences)
                score.ratio[here, offsets.tolist()] = of_block.ratio
                if start >= first:
                    assert score.drafted is not None
                    score.drafted[here[0]] = reach
                    score.beta[here[0]] = of_block.beta[0]
                    score.lenient_beta[here[0]] = of_block.lenient_beta[0]
        return scores
