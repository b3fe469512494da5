"""Blockwise heads: a model with h of them predicts the next h tokens at once.

Stern et al. 2018; Kim et al. 2024 (blockwise drafts), section 4: "h distinct feedforward layers
with a single hidden layer, atop the target LM's final hidden layer", whose softmax layers share one
embedding. The first head is the model's own and has no network here.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from reference.files import read_json, whole_file


class Heads(nn.Module):
    """The h - 1 further heads; each computes a state for the output embedding.

        f_j(s) = s + down_j relu(up_j s + a_j) + b_j,     j = 2..h

    down and b are initialised with 0, so untrained heads repeat the first one. All heads together
    are two matrix products.
    """

    def __init__(self, *, heads: int, width: int, hidden: int) -> None:
        """Makes untrained heads.

        heads: h, the model's own head included, at least 2.
        width: width of the model's states.
        hidden: width of the hidden layers, at least 1.
        """
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
        """Number of heads (h), the model's own included."""
        return self.up.shape[0] + 1

    @property
    def width(self) -> int:
        """Width of the model's states."""
        return self.up.shape[1]

    @property
    def hidden(self) -> int:
        """Width of the hidden layers."""
        return self.up.shape[2]

    def forward(self, states: Tensor, first: int | None = None) -> Tensor:
        """Returns the output embedding's input for each further head, (heads, positions, width).

        states: shape (positions, width).
        first: how many of the further heads to compute; None: all.
        """
        up, down = self.up[:first], self.down[:first]
        inner = torch.baddbmm(self.up_bias[:first], states.expand(len(up), -1, -1), up)
        return states + torch.baddbmm(self.down_bias[:first], inner.relu(), down)


FORMAT = "specplan blockwise heads 1"
WEIGHTS, DESCRIPTION = "heads.safetensors", "heads.json"
SAMPLED_ROWS = 64


def model_fingerprint(module: Any) -> str:
    """Returns a hash that identifies a model's weights, equal in every precision.

    It hashes the signs of 64 rows of the output embedding, which rounding does not change.
    """
    weight = module.get_output_embeddings().weight.detach()
    rows = torch.linspace(0, len(weight) - 1, min(SAMPLED_ROWS, len(weight))).long()
    signs = (weight[rows.to(weight.device)] < 0).cpu().numpy()
    return hashlib.sha256(repr(weight.shape).encode() + signs.tobytes()).hexdigest()


def save_heads(folder: Path, heads: Heads, module: Any, note: Mapping[str, object]) -> None:
    """Writes heads as float16; each of the two files atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        name: value.detach().half().cpu().contiguous() for name, value in heads.state_dict().items()
    }
    with whole_file(folder / WEIGHTS) as partial:
        save_file(tensors, partial)
    description = {
        "format": FORMAT,
        "heads": heads.count,
        "width": heads.width,
        "hidden": heads.hidden,
        "model_fingerprint": model_fingerprint(module),
        **note,
    }
    with whole_file(folder / DESCRIPTION) as partial:
        partial.write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")


def load_heads(folder: Path, module: Any, *, name: str) -> Heads:
    """Returns the heads in a folder, on their model's device and in its precision.

    Raises ValueError if there are none, if they are damaged, or if they belong to another model.
    """
    description = _description(folder)
    embedding = module.get_output_embeddings()
    if embedding is None:
        raise ValueError(f"heads need a model with an output embedding, got {name} without one")
    width = embedding.weight.shape[1]
    if description["width"] != width:
        raise ValueError(
            f"heads in {folder} must be as wide as the states of {name}, {width}, "
            f"got {description['width']}"
        )
    if description["model_fingerprint"] != model_fingerprint(module):
        trained_for = description.get("model", "another model")
        raise ValueError(
            f"heads in {folder} must be trained on the states of {name}, got heads of a model "
            f"with other weights ({trained_for})"
        )
    heads = Heads(
        heads=description["heads"], width=description["width"], hidden=description["hidden"]
    )
    try:
        heads.load_state_dict(load_file(folder / WEIGHTS))
    except (OSError, RuntimeError, SafetensorError) as error:
        line = str(error).partition("\n")[0]
        raise ValueError(f"{folder / WEIGHTS} must hold the weights of heads: {line}") from error
    return heads.to(embedding.weight.device, embedding.weight.dtype).eval().requires_grad_(False)


def _description(folder: Path) -> dict[str, Any]:
    """Returns the content of heads.json after checking its sizes."""
    path = folder / DESCRIPTION
    if not path.is_file():
        raise ValueError(
            f"heads must be a folder that specplan heads train wrote, got {folder} without "
            f"{DESCRIPTION}"
        )
    description: Any = read_json(path)
    sizes = ("heads", "width", "hidden")
    if (
        not isinstance(description, dict)
        or description.get("format") != FORMAT
        or not all(isinstance(description.get(size), int) for size in sizes)
        or not isinstance(description.get("model_fingerprint"), str)
    ):
        raise ValueError(f"{path} must describe blockwise heads, format {FORMAT!r}")
    return description
