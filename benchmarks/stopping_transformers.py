"""Drafts that transformers ends by its confidence: target calls and drafted tokens, predicted.

    python benchmarks/stopping_transformers.py [--prompts 4] [--tokens 64]

The embedded pair at temperature 0 in this process. Counts do not depend on the clock. Without
scikit-learn, as here, the threshold stays what it was set to.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from transformers.generation.candidate_generator import AssistedCandidateGenerator
from transformers.utils import is_sklearn_available

from engines.text_scores import load_causal
from estimator.loading.folders import folder_pair
from estimator.settings import PromptSettings
from estimator.traces.scoring import trace
from reference.drafters.model_drafter import ModelDrafter
from reference.laws.sampling import Sampling
from reference.models.huggingface import load_model
from reference.speculative import Subject
from reference.stopping import Stopping
from simulator.acceptance.stopping import RULES

LONGEST, THRESHOLDS = (4, 8, 16), (0.0, 0.3, 0.5, 0.75)
CPU, GREEDY = torch.device("cpu"), Sampling(0.0)


def main() -> None:
    """Prints predicted and counted drafted tokens and target calls of every setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=64)
    arguments = parser.parse_args()
    lengths: list[int] = []
    plain = AssistedCandidateGenerator.get_candidates

    def watched(self: Any, input_ids: torch.Tensor, *rest: Any, **named: Any) -> Any:
        found = plain(self, input_ids, *rest, **named)
        lengths.append(found[0].shape[1] - input_ids.shape[1])
        return found

    AssistedCandidateGenerator.get_candidates = watched
    print(f"scikit-learn installed: {is_sklearn_available()}")
    rule = RULES["transformers"]
    with TemporaryDirectory() as name:
        pair = folder_pair(None, (), PromptSettings(num_prompts=arguments.prompts), Path(name))
        target, draft = (load_causal(each) for each in (pair.target, pair.draft))
        own, small = (load_model(each, device=CPU) for each in (pair.target, pair.draft))
        drafter = ModelDrafter(small, GREEDY, own.vocabulary)
        subject = Subject(own, drafter, GREEDY, Stopping(arguments.tokens))
        for module in (target, draft):
            module.generation_config.eos_token_id = None
            module.generation_config.pad_token_id = 0
        traces: dict[tuple[int, ...], Any] = {}
        for gamma in LONGEST:
            for threshold in THRESHOLDS:
                settings = draft.generation_config
                settings.num_assistant_tokens = gamma
                settings.num_assistant_tokens_schedule = "constant"
                settings.assistant_confidence_threshold = threshold
                lengths.clear()
                predicted = np.zeros(2)
                for prompt in pair.prompts:
                    ids = target.generate(
                        torch.tensor([prompt]),
                        attention_mask=torch.ones(1, len(prompt), dtype=torch.int64),
                        max_new_tokens=arguments.tokens,
                        do_sample=False,
                        assistant_model=draft,
                    )
                    text = tuple(ids[0, len(prompt) :].tolist())
                    key = (*prompt, *text)
                    if key not in traces:
                        traces[key] = trace(
                            subject, prompt, text, max_gamma=max(LONGEST), ahead=max(LONGEST)
                        )
                    blocks = traces[key].stopped(rule, drawn=False).blocks(gamma, rule, threshold)
                    drafted = blocks.verified @ np.arange(gamma + 1)
                    predicted += [blocks.verified.sum(), float(drafted)]
                print(
                    f"n-max {gamma:2} threshold {threshold:4}: calls {predicted[0]:6.1f} predicted "
                    f"{len(lengths):4} counted, drafted {predicted[1]:6.1f} predicted "
                    f"{sum(lengths):4} counted",
                    flush=True,
                )


if __name__ == "__main__":
    main()
