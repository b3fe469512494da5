"""The table of public measurements, each row as a run of a deployment with its roofline.

published_speculation.csv has what pages say, unknown fields empty: tokens/s of all requests are
turned into milliseconds a token of one sequence by their number (concurrency). `length_from` says
how the accepted length is known: "tokens a chunk" is the interval of streamed chunks over the time
per token. Where `measure` is "ratio", the page states the speed-up, and its step without drafts is
the step of the nearest other run of its source.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from published_machines import KNOWN, PublishedLoad, kernel_machine, machine_of
from published_trees import trees_of

from simulator.acceptance.tokens import alpha_from_block_efficiency
from simulator.cost.fitted.kernels import KernelMachine
from simulator.cost.fitted.machine import Machine, RooflineMachine
from simulator.cost.fitted.prior import Traits
from simulator.cost.fitted.runs import Run
from simulator.cost.roofline.deployment import Deployment, Launch, over_pcie

HERE = Path(__file__).parent
# Sources that no fit, trait or constant was chosen with. Zzsf11 was drawn by lot, before it was
# predicted: random.Random("2026-11-28").choice of that day's six sources.
KEPT_OUT = ("Tencent/AngelSlim", "vllm-project/vllm", "Zzsf11")
JOINED = ("dishantghai", "ecohash-ai", "Resh19S", "ispobock", "Lafunamor")  # the others of it
# Single reports of cards that people own, which are predicted, but made no fit better.
REPORTS = ("ggml-org/llama.cpp", "CCoffie/CalebCoffie.com", "njannasch")
# Rows that kernels are compared with, and that made the predictions of others worse in a fit.
COMPARED = ("GloriaXimingLu/inferencex-profiling",)
# Where a page does not say: the tokens in a cache, and the prompt tokens for each emitted one.
USUAL_CONTEXT, USUAL_PROMPTS = 1000, 1.0
# Tokens of usual prompts of a data set, its chat template included.
PROMPT_TOKENS = {"gsm8k": 100, "humaneval": 150, "mt_bench": 110, "mtbench": 110}


@dataclass(frozen=True)
class Row:
    """One measurement: without speculation and with it.

    facts: the table's row.
    machine: the deployment that it ran on.
    plain, run: both runs.
    """

    facts: dict[str, str]
    machine: Machine = field(repr=False)
    plain: Run
    run: Run

    @property
    def owner(self) -> str:
        """Whose measurements they are: a whole source."""
        return self.facts["source"].split("/")[0]

    @property
    def speed_up(self) -> float:
        return self.plain.seconds_per_token / self.run.seconds_per_token

    @property
    def traits(self) -> Traits:
        engine = "vllm-v0" if _expands_batch(self.facts) else self.facts["engine"]
        weights = self.facts["weights"].removeprefix("experts ")
        kinds = {"bfloat16": "plain", "fp8": "fp8", "nvfp4": "fp4", "mxfp4": "fp4", "int4": "int4"}
        mixture = any(
            each[0] == "experts" for each in KNOWN["models"][self.facts["shape"]]["weights"]
        )
        served = self.deployed
        draft, stored = draft_class(self.facts["kind"]), kinds.get(weights, "gguf")
        several = served.conditions.gpus > 1
        return Traits(
            engine, draft, stored, mixture, over_pcie(served), several, launch=served.launch
        )

    @property
    def deployed(self) -> Deployment:
        assert isinstance(self.machine, RooflineMachine | KernelMachine)
        return self.machine.deployment

    @property
    def server(self) -> tuple[str, ...]:
        """The names that distinguish one deployment of the table from another."""
        names = ("source", "version", "target", "draft", "kind", "gpu", "tp", "format", "dcp")
        return tuple(self.facts[name] for name in names)

    @property
    def deployment(self) -> tuple[str, ...]:
        """The server and, where its load is not stated in numbers, its traffic."""
        stated = self.facts["prompt"] or self.facts["dataset"].startswith(("context", "prompt"))
        return (*self.server, "" if stated else self.facts["dataset"])

    @property
    def sweep(self) -> tuple[Any, ...]:
        """The setting of a row, its γ left out."""
        return (*self.server, self.facts["dataset"], self.run.load)


def draft_class(kind: str) -> str:
    """Returns the kind of draft as priors name it."""
    if kind.startswith("EAGLE"):
        return "EAGLE tree" if kind.endswith("tree") else "EAGLE"
    if kind.startswith(("DFlash", "DSpark")):
        return "block"
    return {"draft model": "model", "MTP drafter": "MTP"}.get(kind, kind)


def read_rows() -> tuple[list[Row], list[dict[str, str]]]:
    """Returns the rows that have all a prediction needs, and the facts of the others.

    Sources of KEPT_OUT, JOINED, REPORTS and COMPARED are left out.
    """
    unfitted = (*KEPT_OUT, *JOINED, *REPORTS, *COMPARED)
    table = [facts for facts in read_table() if facts["source"] not in unfitted]
    rows = [_row(facts) for facts in table if _complete(facts)]
    return rows, [facts for facts in table if not _complete(facts)]


def read_unfitted(sources: Sequence[str] = KEPT_OUT) -> list[Row]:
    """Returns the complete rows of sources that no fit has seen."""
    return [
        _row(facts) for facts in read_table() if facts["source"] in sources and _complete(facts)
    ]


def read_table() -> list[dict[str, str]]:
    """Returns published_speculation.csv, a dictionary for each row.

    Where a row does not say how many GPUs share the target, they are what the same source says for
    the same shape and GPU elsewhere, if it says one number.
    """
    with (HERE / "published_speculation.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    stated = defaultdict(set)
    for facts in table:
        if facts["tp"]:
            stated[facts["source"], facts["shape"], facts["gpu"]].add(facts["tp"])
    for facts in table:
        known = stated[facts["source"], facts["shape"], facts["gpu"]]
        if not facts["tp"] and len(known) == 1:
            facts["tp"] = min(known)
    return table


def over_kernels(rows: Sequence[Row]) -> list[Row]:
    """Returns the rows whose GPU, server and formats have measured kernels, priced by those.

    Caches are priced with 16 bits, so that rows with 8-bit caches are not covered. Look-ups are
    left out: they run on the CPU.
    """
    found = []
    for row in rows:
        if row.traits.draft == "n-gram":
            continue
        machine = kernel_machine(row.machine, row.facts["engine"])
        if machine is None or "KV fp8" in row.facts["format"]:
            continue
        try:
            machine.block_work(row.run.load, max(row.run.gamma, 1))
        except ValueError:
            continue
        found.append(replace(row, machine=machine))
    return found


def _complete(facts: dict[str, str]) -> bool:
    known = all(facts[name] for name in ("shape", "draft_shape", "gamma", "length", "batch"))
    # A median over requests of the time per token goes with no mean length.
    return known and facts["measure"] != "median"


def _row(facts: dict[str, str]) -> Row:
    names = ("shape", "weights", "draft_shape", "gpu", "tp", "dcp", "dp", "ep")
    batch, gamma = int(facts["batch"]), int(facts["gamma"])
    prompt, context = facts["prompt"], facts["context"]
    if facts["output"] and not prompt and facts["dataset"] in PROMPT_TOKENS:
        prompt = str(PROMPT_TOKENS[facts["dataset"]])
        context = context or str(int(prompt) + int(facts["output"]) // 2)
    ratio = USUAL_PROMPTS
    if facts["dataset"].startswith("context") or facts["measure"] == "decode":
        ratio = 0.0  # these rows leave prompts out, or other GPUs read them
    elif prompt and facts["output"]:
        ratio = float(prompt) / float(facts["output"])
    # A token waits for the prompts of the other sequences; a throughput has its own prompt, too.
    waits = batch if facts["measure"] in ("throughput", "one batch") else batch - 1
    prompts = round(ratio * waits / batch, 6)
    load = PublishedLoad(int(context or USUAL_CONTEXT), batch, prompts)
    return Row(
        facts,
        machine_of(
            *(facts[name] for name in names),
            expands=_expands_batch(facts),
            trees=trees_of(facts),
            launch=draft_launch(facts),
        ),
        Run(load, float(facts["without_ms"]) / 1e3),
        Run(load, float(facts["with_ms"]) / 1e3, gamma, _waited_length(facts, batch, gamma)),
    )


def _waited_length(facts: dict[str, str], batch: int, gamma: int) -> float:
    """Returns the tokens per block of the sequence that a row's time is of.

    A pass over one batch takes as long as its slowest sequence, which is known by chance only.
    """
    length = float(facts["length"])
    if facts["measure"] != "one batch":
        return length
    tokens = int(facts["output"])
    return min(length, tokens / slowest_blocks(tokens, batch, gamma, length))


def slowest_blocks(tokens: int, batch: int, gamma: int, length: float) -> float:
    """Returns the expected number of blocks until all sequences of a batch have their tokens.

    Tokens are accepted independently, with the probability that gives the mean length.
    """
    rate = float(alpha_from_block_efficiency(length, gamma))
    emitted = np.array([*(rate**n * (1 - rate) for n in range(gamma)), rate**gamma])
    left, expected = np.eye(1, tokens)[0], 0.0
    # left[n]: probability that a sequence has n tokens, and needs further blocks.
    while left.sum() > 1e-9:
        expected += 1 - (1 - left.sum()) ** batch
        left = np.convolve(left, np.append(0.0, emitted))[:tokens]
    return float(expected)


def draft_launch(facts: dict[str, str]) -> Launch | None:
    """Returns how a draft model's kernels are launched, where the server's version says it.

    vLLM 0.15 replayed the draft's graphs (its issue 32591). vLLM 0.23 captured them and launched
    kernels one by one (its pull request 47460); no fit has such rows, but they are predicted.
    """
    if facts["engine"] != "vllm" or facts["kind"] != "draft model":
        return None
    known: dict[str, Launch] = {"0.15": "graphs", "0.23": "eager"}
    return known.get(facts["version"][:4])


def _expands_batch(facts: dict[str, str]) -> bool:
    return facts["engine"] == "vllm" and facts["version"].startswith("0.6")
