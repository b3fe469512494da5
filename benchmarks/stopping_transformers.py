"""Drafts that transformers ends by its confidence: counts and time, predicted and measured.

    python benchmarks/stopping_transformers.py [--prompts 4] [--tokens 64] [--repeats 3] [-o FILE]

The embedded pair at temperature 0 in this process, one thread, timed by processor time, prompt
passes included. All settings take turns prompt by prompt, and a text counts by the median of its
repeats. The target by itself, whose time every speed-up is divided by, takes a turn in every four.
Prices come from the first half of the prompts: a step of each model without the other, and a fixed
length for each number of verified tokens. Counts and times of the other half are predicted.
Without scikit-learn, as here, the threshold stays what it was set to.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import torch
from stopping_live import CPU, GREEDY, LONGEST, P_MINS, priced, total
from transformers.generation.candidate_generator import AssistedCandidateGenerator
from transformers.utils import is_sklearn_available

from engines.text_scores import load_causal
from estimator.loading.folders import folder_pair
from estimator.settings import PromptSettings
from estimator.traces import scoring
from reference.drafters.model_drafter import ModelDrafter
from reference.models.huggingface import load_model
from reference.records import Stopping
from reference.speculative import Subject
from simulator.acceptance.stopping.stopped_text import RULES

# A setting: the longest draft and the threshold, or a model that decodes by itself.
Setting = tuple[int, float] | str
TARGET, DRAFT = "target", "draft"
FIXED = [(gamma, 0.0) for gamma in range(1, max(LONGEST) + 1)]
TRIED = [(gamma, threshold) for gamma in LONGEST for threshold in P_MINS]


def main() -> None:
    """Prints predicted and measured numbers of every setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=4, help="of each half")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    scoring.PATH_SECONDS = 600.0  # every path, so that counts are exact
    print(f"scikit-learn installed: {is_sklearn_available()}", flush=True)
    rule, half, tokens = RULES["transformers"], arguments.prompts, arguments.tokens
    counts: dict[Setting, list[int]] = defaultdict(list)
    seconds: dict[Setting, dict[tuple[int, int], list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    texts: dict[int, tuple[int, ...]] = {}
    with TemporaryDirectory() as name:
        pair = folder_pair(None, (), PromptSettings(num_prompts=half), Path(name))
        models = {TARGET: load_causal(pair.target), DRAFT: load_causal(pair.draft)}
        large, small = (load_model(name, device=CPU) for name in (pair.target, pair.draft))
    for module in models.values():
        module.generation_config.eos_token_id = None
        module.generation_config.pad_token_id = 0
    drafted = watched()

    def generate(setting: Setting, prompt: int, length: int) -> None:
        ids = torch.tensor([pair.prompts[prompt]])
        assistant: dict[str, Any] = {}
        if not isinstance(setting, str):
            wanted = models[DRAFT].generation_config
            wanted.num_assistant_tokens, wanted.assistant_confidence_threshold = setting
            wanted.num_assistant_tokens_schedule = "constant"
            assistant = {"assistant_model": models[DRAFT]}
        drafted.clear()
        began = process_time()
        ids_written = models[setting if isinstance(setting, str) else TARGET].generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=length, do_sample=False,
            **assistant,
        )  # fmt: skip
        seconds[setting][prompt, length].append(process_time() - began)
        if assistant and prompt >= half and len(seconds[setting][prompt, length]) == 1:
            counts[setting] += drafted
        if setting != DRAFT and length == tokens:
            text = tuple(ids_written[0, ids.shape[1] :].tolist())
            assert texts.setdefault(prompt, text) == text, f"{setting}: another text"

    for setting in (TARGET, DRAFT, *FIXED):
        generate(setting, 0, 8)  # warm
        seconds[setting].clear()
    for repeat in range(arguments.repeats):
        for prompt in range(2 * half):
            for place, setting in enumerate(dict.fromkeys((DRAFT, *FIXED, *TRIED))):
                if place % 3 == 0:
                    generate(TARGET, prompt, tokens)
                generate(setting, prompt, tokens)
            for setting in (TARGET, DRAFT):
                generate(setting, prompt, 1)
        print(f"repeat {repeat + 1}", flush=True)

    def spent(setting: Setting, length: int, first: int = 0) -> float:
        """Returns the time of the texts of one half."""
        return sum(
            float(np.median(seconds[setting][prompt, length]))
            for prompt in range(first, first + half)
        )

    drafter = ModelDrafter(small, GREEDY, large.vocabulary)
    subject = Subject(large, drafter, GREEDY, Stopping(tokens))
    traces = [
        scoring.trace(
            subject, pair.prompts[at], texts[at], max_gamma=max(LONGEST), ahead=max(LONGEST)
        )
        for at in range(2 * half)
    ]
    before = {model: spent(model, 1) for model in (TARGET, DRAFT)}
    step, further = (
        (spent(model, tokens) - before[model]) / (half * (tokens - 1)) for model in (TARGET, DRAFT)
    )
    # Time of the prompt's passes beyond a step of each model.
    prompts = sum(before.values()) - half * (step + further)
    cost = priced(
        [spent(length, tokens) - prompts for length in FIXED], traces[:half], rule, step=step,
        first=further, further=further,
    )  # fmt: skip
    rows = []
    for setting in TRIED:
        gamma, threshold = setting
        verified, paid = total(traces[half:], gamma, rule, threshold)
        lengths = np.arange(gamma + 1)
        predicted = paid @ cost.drafting_seconds(lengths) + verified @ cost.checking_seconds(
            lengths
        )
        row = {
            "gamma": gamma, "threshold": threshold,
            "calls_predicted": float(verified.sum()), "calls": len(counts[setting]),
            "drafted_predicted": float(verified @ lengths), "drafted": sum(counts[setting]),
            "predicted": spent(TARGET, tokens) / (prompts + float(predicted)),
            "measured": spent(TARGET, tokens, half) / spent(setting, tokens, half),
        }  # fmt: skip
        row["error_percent"] = 100 * (row["predicted"] / row["measured"] - 1)
        rows.append(row)
        print(json.dumps(row), flush=True)
    errors = [abs(row["error_percent"]) for row in rows]
    print(f"error in percent: mean {np.mean(errors):.2f}, at most {max(errors):.2f}")
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(rows, indent=1))


def watched() -> list[int]:
    """Returns a list to which every target call of assisted generation adds its drafted tokens."""
    plain, lengths = AssistedCandidateGenerator.get_candidates, []

    def get_candidates(self: Any, input_ids: torch.Tensor, *rest: Any, **named: Any) -> Any:
        written = plain(self, input_ids, *rest, **named)
        lengths.append(written[0].shape[1] - input_ids.shape[1])
        return written

    AssistedCandidateGenerator.get_candidates = get_candidates
    return lengths


if __name__ == "__main__":
    main()
