"""Answers of a live llama.cpp with their timings, by category, for `specplan observe`.

    python benchmarks/answers_by_category.py -o answers.jsonl [--prompts 12] [--gamma 4]

The embedded pair at temperature 0, 96 tokens each. Categories: code (files of Python's library),
manual (Python's help pages), data (rows of numbers).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from pydoc_data.topics import topics
from tempfile import TemporaryDirectory

import numpy as np

from engines.engine import Setting
from engines.kind import EngineSettings, Models
from engines.servers.http import post_json
from engines.servers.llama_cpp import LlamaCpp
from estimator.loading.folders import folder_pair
from estimator.settings import EMBEDDED_PROMPT_TOKENS, PromptSettings
from reference.models.huggingface import load_tokenizer

TOKENS = 96
KEPT = ("predicted_n", "predicted_ms", "draft_n", "draft_n_accepted")


def main() -> None:
    """Writes an answer a line, each with its category."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--prompts", type=int, default=12, help="of each category, an even number")
    parser.add_argument("--gamma", type=int, default=4)
    arguments = parser.parse_args()
    count, generator = arguments.prompts, np.random.default_rng(0)
    rows = generator.integers(0, 1000, size=(count, 8, 6)).tolist()
    with TemporaryDirectory() as name:
        folder = Path(name)
        pair = folder_pair(None, (), PromptSettings(num_prompts=count // 2), folder)
        tokenizer = load_tokenizer(pair.target)
        written = {
            "manual": list(topics.values())[:count],
            "data": ["\n".join(", ".join(map(str, row)) for row in table) for table in rows],
        }
        prompts = {
            "code": pair.prompts,
            **{
                category: [tokenizer.encode(text[:1000])[:EMBEDDED_PROMPT_TOKENS] for text in texts]
                for category, texts in written.items()
            },
        }
        models = Models(
            pair.target, pair.draft, folder, EMBEDDED_PROMPT_TOKENS + TOKENS + arguments.gamma + 8
        )
        engine = LlamaCpp.of_folders(models, EngineSettings("llama.cpp", threads=1))
        lines = []
        with engine.serve(Setting(arguments.gamma)) as server:
            for category, texts in prompts.items():
                for prompt in texts:
                    wanted = {"prompt": list(prompt), "n_predict": TOKENS, "temperature": 0}
                    answer = post_json(f"{server.url}/completion", wanted)
                    timings = {key: answer["timings"][key] for key in KEPT}
                    lines.append({"category": category, "timings": timings})
        arguments.output.write_text("\n".join(map(json.dumps, lines)) + "\n")


if __name__ == "__main__":
    main()
