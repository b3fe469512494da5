"""Counts the weights of well-known models: writes estimator/model_shapes/known.json.

    python scripts/count_known.py

Reads the configurations in docs/configs and benchmarks/published_decoding.json.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from estimator.model_shapes.counting import Counted, Part, count
from estimator.model_shapes.drafts import draft_of
from estimator.model_shapes.heads.mtp import layers_of
from estimator.model_shapes.kept_counts import FILE, Known, sizes
from estimator.model_shapes.shape import shape_of

ROOT = Path(__file__).parent.parent
PUBLISHED = ROOT / "benchmarks" / "published_decoding.json"


def main() -> None:
    files = sorted((ROOT / "docs" / "configs").glob("*.json"))
    configs = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    configs += json.loads(PUBLISHED.read_text(encoding="utf-8"))["models"].values()
    heads = [config for config in configs if "draft_vocab_size" in config]
    noted_shapes: list[Known] = []

    def noted(config: Mapping[str, Any], kept: tuple[str, ...], part: Part) -> Counted:
        counted, sized = count(config, kept, part), sizes(config)
        if sized is not None and (known := Known(sized, counted, kept, part)) not in noted_shapes:
            noted_shapes.append(known)
        return counted

    for config in (config for config in configs if config not in heads):
        target = shape_of({"dtype": "bfloat16", **config}, count=noted)
        for head in (head for head in heads if head["hidden_size"] == target.hidden):
            draft_of(head, target=config, target_shape=target, count=noted)
        if layers_of(config) > 0:
            draft_of(config, target=config, target_shape=target, count=noted)
    lines = ",\n".join(msgspec.json.encode(known).decode() for known in noted_shapes)
    FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
