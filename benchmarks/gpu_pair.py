"""Trains the paper's GPT-like pair on a GPU, measures it, and compares predictions with runs.

    python benchmarks/gpu_pair.py --work build/gpu -o benchmarks/results/gpu_pair.json
    python benchmarks/gpu_pair.py --tiny --work build/tiny -o tiny.json      # on any CPU

It writes: alpha at temperatures 0 and 1 of the 6 M draft, a unigram and a bigram, together with
Table 3's GPT-like rows (Leviathan et al. 2023); c; the curve t_p(n) for n = 1..33 by batch and
context, and the prompt's pass; predicted and measured speed-ups for gamma = 1..10; and the
simulator's roofline for these passes on this GPU. Prices are wall times, because a decoder spends
wall time. For some passes the time between CUDA events is written, too; it differs where small
drafts are bound by launches. Training resumes from its checkpoints in --work.
"""

import argparse
import os
import platform
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gpu_training import PAPER, TINY, sources, tokenizer_of, trained
from result_file import setup, write_result
from transformers import DynamicCache

from estimator.model_shapes.drafts import draft_of
from estimator.model_shapes.shape import shape_of
from estimator.profiles.under_load import load_times
from estimator.profiles.workloads import measured_alpha
from estimator.timing.precision import Timing
from estimator.traces.measured_traces import Tracing, measure_traces
from estimator.validation.validation import validate
from ngram.drafters import NgramDrafter
from ngram.formats.model_files import load_model as load_ngram
from ngram.rows.backoff import END
from ngram.rows.rows import Rows, vocabulary_of
from ngram.training.corpus import encode_texts
from ngram.training.train import train as train_ngram
from reference.drafters.model_drafter import ModelDrafter
from reference.laws import Sampling
from reference.models.architectures import CausalModel
from reference.policies import Fixed
from reference.records import Stopping
from reference.speculative import Subject
from simulator.cost.roofline.deployment import Deployment, roofline_cost
from simulator.cost.roofline.hardware import find_hardware

# Leviathan et al. 2023, Table 3, GPT-like (97M) on lm1b: alpha at temperatures 0 and 1.
PUBLISHED = {"6 M": (0.88, 0.89), "unigram": (0.03, 0.03), "bigram": (0.05, 0.05)}

WARM_UP_PASSES = 3


def clocks(
    model: CausalModel, *, batch: int, context: int, tokens: int, passes: int
) -> dict[str, Any]:
    """Returns the median milliseconds of a pass by the wall clock and between CUDA events."""
    cuda = model.device.type == "cuda"
    cache = DynamicCache(config=model.module.config)
    ids = torch.zeros(batch, context, dtype=torch.int64, device=model.device)
    model.module(input_ids=ids, past_key_values=cache, use_cache=True)
    wall, events = [], []
    for _ in range(WARM_UP_PASSES + passes):
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if cuda else []
        if cuda:
            torch.cuda.synchronize()
        began = time.perf_counter()
        for mark in marks[:1]:
            mark.record()
        model.module(input_ids=ids[:, :tokens], past_key_values=cache, use_cache=True)
        for mark in marks[1:]:
            mark.record()
        if cuda:
            torch.cuda.synchronize()
            events.append(marks[0].elapsed_time(marks[1]))
        wall.append(1e3 * (time.perf_counter() - began))
        cache.crop(-tokens)
    return {
        "tokens": tokens,
        "wall_ms": float(np.median(wall[WARM_UP_PASSES:])),
        "event_ms": float(np.median(events[WARM_UP_PASSES:])) if cuda else None,
    }


def prefill_ms(model: CausalModel, *, batch: int, context: int) -> float:
    """Returns the median time of a prompt's pass."""
    seconds = []
    ids = torch.zeros(batch, context, dtype=torch.int64, device=model.device)
    for _ in range(5):
        cache = DynamicCache(config=model.module.config)
        began = time.perf_counter()
        model.module(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
        if model.device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    return 1e3 * float(np.median(seconds[1:]))


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measure the paper's GPT-like pair on a GPU.")
    parser.add_argument("--work", type=Path, required=True, help="checkpoints")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--tiny", action="store_true", help="a pair that any CPU trains at once")
    parser.add_argument("--gpu", default="h200", help="for the roofline, as specplan plan names it")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    tiny: bool = arguments.tiny
    if not tiny and not torch.cuda.is_available():
        parser.error("a CUDA device is needed, and there is none; --tiny runs anywhere")
    work: Path = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    plan = TINY if tiny else PAPER
    hardware = find_hardware(arguments.gpu)
    batches, contexts = ((1, 2), (8, 16)) if tiny else ((1, 8, 32, 128), (128, 1024))
    longest, gammas = (2, (1, 2)) if tiny else (32, tuple(range(1, 11)))
    count, prompt_tokens, new_tokens, repeats = (2, 8, 8, 1) if tiny else (16, 64, 128, 3)
    passes = 1 if tiny else 17

    learned, held = (
        [path.read_text(encoding="utf-8", errors="replace") for path in paths]
        for paths in sources(plan)
    )
    tokenizer = tokenizer_of(learned[: 20 if tiny else 4000], plan.vocabulary)
    corpus = encode_texts(((text, 0) for text in learned), tokenizer)
    ends = corpus.sentences == END
    stream = torch.from_numpy(np.where(ends, tokenizer.eos_token_id, corpus.sentences)).long()
    modules, training = {}, {}
    for name, size, steps in (
        ("target", plan.target, plan.target_steps),
        ("draft", plan.draft, plan.draft_steps),
    ):
        module, done = trained(name, size, plan, stream, steps, work, seed=arguments.seed)
        modules[name] = module.eval().to(torch.float32 if tiny else torch.bfloat16)
        training[name] = {
            "parameters": sum(p.numel() for p in module.parameters()),
            "steps": steps, "seconds": done.seconds, "loss": done.loss,
        }  # fmt: skip
    target, draft = (CausalModel(modules[name], name) for name in ("target", "draft"))
    device = target.device

    encoded = (tokenizer(text, verbose=False)["input_ids"] for text in held)
    prompts = [ids[:prompt_tokens] for ids in encoded if len(ids) >= prompt_tokens][:count]
    stopping = Stopping(new_tokens)

    def drafters(sampling: Sampling) -> dict[str, Any]:
        by_name: dict[str, Any] = {"6 M": ModelDrafter(draft, sampling, target.vocabulary)}
        for name, order in (("unigram", 1), ("bigram", 2)):
            path = work / f"{name}.arpa"
            if not path.exists():
                train_ngram(corpus, path, order=order, tokenizer=tokenizer, tokenizer_name="own")
            rows = Rows(load_ngram(path), vocabulary_of(tokenizer), width=target.vocabulary)
            by_name[name] = NgramDrafter(rows, sampling, device=device, name=name)
        return by_name

    alphas = []
    validations = []
    for number, temperature in enumerate((0.0, 1.0)):
        sampling = Sampling(temperature=temperature)
        for name, drafter in drafters(sampling).items():
            subject = Subject(target, drafter, sampling, stopping)
            pairs = measure_traces(Tracing(subject, prompts, max(gammas), arguments.seed))
            alpha = measured_alpha([pair.sampled for pair in pairs])
            alphas.append(
                {"draft": name, "temperature": temperature, **asdict(alpha),
                 "published": PUBLISHED[name][number]}
            )  # fmt: skip
        subject = Subject(target, drafters(sampling)["6 M"], sampling, stopping)
        validation = validate(
            subject, prompts, {f"fixed {gamma}": Fixed(gamma) for gamma in gammas},
            Timing(repeats, arguments.seed), max_gamma=max(gammas),
        )  # fmt: skip
        validations += [row.data() for row in validation.rows]

    configs = [module.config.to_dict() for module in modules.values()]
    shape = shape_of(configs[0], dtype="bfloat16")
    drafted = draft_of(configs[1], target=configs[0], target_shape=shape, dtype="bfloat16")
    deployment = Deployment(shape, drafted, hardware)
    costs = []
    with torch.inference_mode():
        for context in contexts:
            for batch in batches:
                times = load_times(
                    target, draft, batch=batch, context=context,
                    gammas=range(1, longest + 1), repeats=repeats, progress=lambda: None,
                )  # fmt: skip
                roofline = roofline_cost(
                    deployment, context=context, batch=batch, max_gamma=longest
                )
                costs.append(
                    {
                        "batch": batch,
                        "context": context,
                        "target_ms": times.target_ms,
                        "drafting_ms": times.drafting_ms,
                        "c": times.draft_ms / times.target_ms[1],
                        "spread_percent": times.spread_percent,
                        "prefill_ms": {
                            model.name: prefill_ms(model, batch=batch, context=context)
                            for model in (target, draft)
                        },
                        "clocks": {
                            model.name: [
                                clocks(model, batch=batch, context=context, tokens=n, passes=passes)
                                for n in (1, longest // 2 + 1, longest + 1)
                                if n <= context
                            ]
                            for model in (target, draft)
                        },
                        "roofline_target_ms": {
                            n: 1e3 * float(roofline.verify_seconds(n)) for n in times.target_ms
                        },
                        "roofline_c": roofline.c,
                    }
                )
    result = {
        "tiny": tiny,
        "machine": torch.cuda.get_device_name() if device.type == "cuda" else platform.machine(),
        "cores": os.cpu_count(),
        "roofline_of": hardware.name,
        **setup("torch", "transformers", "numpy"),
        "cuda": torch.version.cuda,
        "seed": arguments.seed,
        "dtype": str(target.module.dtype).removeprefix("torch."),
        "training_tokens": len(stream),
        "training": training,
        "alpha": alphas,
        "costs": costs,
        "validation": validations,
    }
    write_result(arguments.output, result)
    for row in alphas:
        print(
            f"{row['draft']:8} temperature {row['temperature']:g}: alpha {row['value']:.3f} "
            f"(the paper: {row['published']})"
        )
    for row in validations:
        print(
            f"temperature {row['temperature']:g} gamma {row['gamma']}: predicted "
            f"{row['predicted_calibrated']:.2f}, measured {row['measured']:.2f}"
        )
    print(f"Wrote {arguments.output}")


if __name__ == "__main__":
    main()
