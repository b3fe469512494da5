"""Drafts that an engine ends by its confidence: counts and time, predicted by replay and measured.

    python benchmarks/stopping_live.py [--prompts 4] [--tokens 64] [--repeats 5] [-o FILE]

llama.cpp with the embedded pair at temperature 0, one thread, timed by its own processor time. All
servers take turns prompt by prompt, and a text counts by the median of its repeats. The counts
follow from the target's texts by replay. The speed-up follows from prices of the same engine on
other prompts:

    first step of a draft   p_min 1, which pays one step and verifies nothing
    further steps           the draft by itself
    verification            a fixed length for each number of tokens: a pass over 4 takes longer
                            than one over 5
    another graph           the target without reuse of graphs (LLAMA_GRAPH_REUSE_DISABLE):
                            llama.cpp builds a new graph where a pass has another number of tokens
                            than the pass before (pull request 14482)
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from numpy.typing import NDArray

from engines.counting import NOTHING
from engines.engine import Setting
from engines.kind import EngineSettings, Models
from engines.servers.llama_cpp import LlamaCpp
from estimator.loading.folders import folder_pair
from estimator.settings import PromptSettings
from estimator.traces import scoring
from estimator.traces.scoring import trace
from estimator.traces.traces import Trace
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.models.huggingface import load_model
from reference.records import Stopping
from reference.speculative import Subject
from simulator.acceptance.stopping.stopped_text import RULES, StoppingRule
from simulator.cost.curves import CostModel

LONGEST = (4, 8, 16)
P_MINS = (0.0, 0.3, 0.5, 0.75)
GREEDY = Sampling(0.0)
CPU = torch.device("cpu")
NO_REUSE = "LLAMA_GRAPH_REUSE_DISABLE"


def recorded(subject: Subject, prompt: Sequence[int], tokens: Sequence[int]) -> Trace:
    """Returns the trace of a text after its first token, which the prompt's pass gives."""
    started = [*prompt, tokens[0]]
    return trace(subject, started, tokens[1:], max_gamma=max(LONGEST), ahead=max(LONGEST))


def main() -> None:
    """Runs every server, prompt by prompt, and prints predicted and measured numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    rule = RULES["llama.cpp"]
    scoring.PATH_SECONDS = 600.0  # every path, so that counts are exact
    plain, small, dropping = Setting(0), Setting(0, model="draft"), Setting(4, p_min=1.0)
    rebuilding = Setting(0, p_min=1.0)  # the threshold has no effect and marks the server
    fixed = [Setting(gamma) for gamma in range(1, max(LONGEST) + 1)]
    tried = [Setting(gamma, p_min=p_min) for gamma in LONGEST for p_min in P_MINS]
    settings = [plain, small, dropping, *fixed, *(one for one in tried if one not in fixed)]
    counts = dict.fromkeys(settings, NOTHING)
    seconds: dict[Setting, NDArray[np.float64]] = {}
    texts: dict[tuple[int, ...], tuple[int, ...]] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        pair = folder_pair(None, (), PromptSettings(num_prompts=arguments.prompts), folder)
        positions = max(map(len, pair.prompts)) + arguments.tokens + max(LONGEST) + 8
        models = Models(pair.target, pair.draft, folder, positions)
        engine = LlamaCpp.of_folders(models, EngineSettings("llama.cpp", threads=1))
        half = len(pair.prompts) // 2
        spent = np.zeros((len(settings) + 1, arguments.repeats, len(pair.prompts)))
        with ExitStack() as stack:
            servers = [stack.enter_context(engine.serve(setting)) for setting in settings]
            os.environ[NO_REUSE] = "1"
            servers.append(stack.enter_context(engine.serve(rebuilding)))
            del os.environ[NO_REUSE]
            settings.append(rebuilding)
            for server in servers:
                server.complete(pair.prompts[0], max_new_tokens=8, temperature=0, seed=0)
            for repeat in range(arguments.repeats):
                for number, prompt in enumerate(pair.prompts):
                    for place, (setting, server) in enumerate(zip(settings, servers, strict=True)):
                        before = server.counts() if setting.gamma else NOTHING
                        text = server.complete(
                            prompt, max_new_tokens=arguments.tokens, temperature=0, seed=0
                        )
                        of_target = setting.model == "target"
                        if of_target and texts.setdefault(prompt, text.tokens) != text.tokens:
                            print(f"{setting}: another text at prompt {number}", flush=True)
                        spent[place, repeat, number] = text.seconds
                        if setting.gamma and repeat == 0 and number >= half:
                            counts[setting] += server.counts().since(before)
                print(f"repeat {repeat + 1}: {spent[:, repeat].sum(axis=1).round(3)}", flush=True)
        typical = np.median(spent, axis=1)
        for place, setting in enumerate(settings):
            seconds[setting] = np.array([typical[place, :half].sum(), typical[place, half:].sum()])
        target, draft = (load_model(name, device=CPU) for name in (pair.target, pair.draft))
        limit = arguments.tokens - 1
        drafter = ModelDrafter(draft, GREEDY, target.vocabulary)
        subject = Subject(target, drafter, GREEDY, Stopping(limit))
        traces = [recorded(subject, prompt, texts[prompt]) for prompt in pair.prompts]
    # Prices: the first half of the prompts. Predictions: the other half.
    emitted = half * limit
    step, further, first, anew = (
        seconds[setting][0] / emitted for setting in (plain, small, dropping, rebuilding)
    )
    first, anew = first - step, anew - step
    spent_fixed = [float(seconds[setting][0]) for setting in fixed]
    cost = priced(spent_fixed, traces[:half], rule, step=step, first=first, further=further)
    rows = []
    for setting in tried:
        verified, paid = total(traces[half:], setting.gamma, rule, setting.p_min)
        counted, lengths = counts[setting], np.arange(setting.gamma + 1)
        priced = paid @ cost.drafting_seconds(lengths) + verified @ cost.checking_seconds(lengths)
        priced += anew * changes(verified)
        row = {
            "gamma": setting.gamma, "p_min": setting.p_min,
            "drafted_predicted": float(verified @ lengths), "drafted": counted.drafted,
            "accepted_predicted": emitted - float(verified.sum()), "accepted": counted.accepted,
            "predicted": emitted * step / float(priced),
            "measured": float(seconds[plain][1] / seconds[setting][1]),
        }  # fmt: skip
        row["error_percent"] = 100 * (row["predicted"] / row["measured"] - 1)
        rows.append(row)
        print(json.dumps(row), flush=True)
    errors = [abs(row["error_percent"]) for row in rows]
    result = {"rows": rows, "mean": float(np.mean(errors)), "most": max(errors)}
    prices = {"step": step, "first": first, "further": further, "anew": anew}
    result |= {f"{name}_ms": 1e3 * price for name, price in prices.items()}
    result["verifying_ms"] = (1e3 * cost.checking_seconds(np.arange(max(LONGEST) + 1))).tolist()
    result["halves_ms"] = [
        [one.gamma, one.p_min, one.model, *(1e3 * seconds[one]).tolist()] for one in settings
    ]
    print(json.dumps({**result, "rows": len(rows)}))
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(result, indent=1))


def changes(blocks: NDArray[np.float64]) -> float:
    """Returns how often a block has another length than the one before, in any order of blocks."""
    calls = float(blocks.sum())
    return calls - float((blocks**2).sum()) / calls


def priced(
    seconds: Sequence[float], traces: Sequence[Trace], rule: StoppingRule, **prices: float
) -> CostModel:
    """Returns the cost with a price for each number of verified tokens.

    Args:
      seconds: time of texts with drafts of 1, 2, … tokens that nothing ends.
      traces: the texts.
      prices: `step` of the target, `first` and `further` step of a draft, in seconds.
    """
    verifying, draft_curve = {1: prices["step"]}, {1: prices["first"]}
    for gamma, spent in enumerate(seconds, start=1):
        blocks, paid = total(traces, gamma, rule, 0.0)
        known = CostModel({**verifying}, prices["further"], draft_curve=draft_curve)
        drafting = paid @ known.drafting_seconds(np.arange(gamma + 1))
        shorter = blocks[:-1] @ known.checking_seconds(np.arange(gamma))
        verifying[gamma + 1] = (spent - drafting - shorter) / blocks[-1]
    return CostModel(verifying, prices["further"], draft_curve=draft_curve)


def total(
    traces: Sequence[Trace], gamma: int, rule: StoppingRule, p_min: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the expected blocks of texts by verified tokens and by paid draft steps."""
    blocks = [part.stopped(rule, drawn=False).blocks(gamma, rule, p_min) for part in traces]
    return sum(part.verified for part in blocks), sum(part.paid for part in blocks)


if __name__ == "__main__":
    main()
