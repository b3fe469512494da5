"""The tensors of an EAGLE-3 head on disk: their names, and checks that they are complete."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from reference.state_heads.eagle3 import Eagle3, Eagle3Shape

WEIGHTS = "model.safetensors"
PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
# Tensors that are computed when the head is made.
LEFT_OUT = ("rotary_emb.inv_freq",)
OURS, SAFEAILABS = "layers.0.", "midlayer."


@dataclass(frozen=True, slots=True)
class Stored:
    """The tensors of a head's folder.

    tensors: by their names in specplan, which are speculators' names.
    mask: `t2d`, which of the target's ids the head may draft; None if there is none.
    midlayer: whether the files call the first layer `midlayer` (SafeAILab's layout).
    """

    folder: Path
    tensors: Mapping[str, Tensor]
    mask: Tensor | None
    midlayer: bool

    def _on_file(self, key: str) -> str:
        return midlayer_name(key) if self.midlayer else key

    def require(self, head: Eagle3) -> None:
        """Refuses tensors that do not fit a head; messages use the names in the files."""
        expected = head.state_dict()
        if head.shape.draft_vocabulary == head.shape.vocabulary and "d2t" not in self.tensors:
            del expected["d2t"]
        missing = [key for key in expected if key not in self.tensors]
        if missing:
            others = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
            raise ValueError(
                f"the head in {self.folder} must have all of its tensors, got none for "
                f"{self._on_file(missing[0])}{others}"
            )
        for key, held in self.tensors.items():
            if key not in expected:
                raise ValueError(
                    f"the head in {self.folder} must have only the tensors of EAGLE-3, "
                    f"got {self._on_file(key)}"
                )
            if held.shape != expected[key].shape:
                raise ValueError(
                    f"{self._on_file(key)} in {self.folder} must have the shape "
                    f"{tuple(expected[key].shape)}, got {tuple(held.shape)}"
                )
        if "d2t" in self.tensors:
            self._require_map(self.tensors["d2t"], head.shape)

    def _require_map(self, offsets: Tensor, shape: Eagle3Shape) -> None:
        """Refuses a d2t that maps ids outside the target's vocabulary, or two ids to one."""
        ids = torch.arange(len(offsets)) + offsets
        outside = ((ids < 0) | (ids >= shape.vocabulary)).nonzero()
        if len(outside):
            place = int(outside[0])
            raise ValueError(
                f"d2t in {self.folder} must map into the {shape.vocabulary} ids of the target, "
                f"got {int(ids[place])} for the draft's id {place}"
            )
        if len(ids.unique()) < len(ids):
            raise ValueError(f"d2t in {self.folder} must map no two ids to one, got such a pair")
        if len(ids) == shape.vocabulary and offsets.any():
            raise ValueError(f"d2t in {self.folder} must be 0 for a whole vocabulary, got others")
        if self.mask is not None and set(self.mask.nonzero()[:, 0].tolist()) != set(ids.tolist()):
            raise ValueError(f"t2d in {self.folder} must mark the ids that d2t maps to, got others")


def read_tensors(folder: Path) -> Stored:
    """Returns all tensors of a folder.

    Raises:
      ValueError: if the folder has no safetensors, or if a file is damaged.
    """
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        pickled = [path.name for pattern in PICKLED for path in sorted(folder.glob(pattern))]
        found = f"{pickled[0]}, which is pickled and may run code" if pickled else "none"
        raise ValueError(f"weights in {folder} must be safetensors, got {found}")
    tensors: dict[str, Tensor] = {}
    for path in files:
        try:
            tensors |= load_file(path)
        except (OSError, SafetensorError) as error:
            raise ValueError(f"{path} must be safetensors, got: {error}") from error
    named = {key.removeprefix("model."): value for key, value in tensors.items()}
    midlayer = any(key.startswith(SAFEAILABS) for key in named)
    ours = {
        OURS + key.removeprefix(SAFEAILABS) if key.startswith(SAFEAILABS) else key: value
        for key, value in named.items()
        if not key.endswith(LEFT_OUT)
    }
    mask = ours.pop("t2d", None)
    return Stored(folder, ours, mask, midlayer)


def midlayer_name(key: str) -> str:
    """Returns a tensor's name in SafeAILab's layout."""
    return SAFEAILABS + key.removeprefix(OURS) if key.startswith(OURS) else key
