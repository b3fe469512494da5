"""The table of public measurements, each row as a run of a deployment with its roofline.

published_speculation.csv has what pages say, unknown fields empty: tokens/s of all requests are
turned into milliseconds a token of one sequence by their number (concurrency). `length_from` says
how the accepted length is known: "tokens a chunk" is the interval of streamed chunks over the time
per token. published_models.json has the shapes, counted from the sizes in published config.json
files as known (heads whose configuration was not found: from their stated or usual sizes), mean
bits a weight of llama.cpp's mixed formats, GPUs that the catalogue lacks, and the pages.
"""

import csv
import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from simulator.cost.catalogue import find_hardware
from simulator.cost.draft_shape import DraftShape
from simulator.cost.hardware import Hardware, own_hardware
from simulator.cost.machine import Drafting, LoadPoint, Machine, Remembered
from simulator.cost.model_shape import CacheLayers, ModelShape, Weights
from simulator.cost.number_formats import FORMATS, NumberFormat
from simulator.cost.parameters import PARAMETERS, Work
from simulator.cost.published_prior import Traits
from simulator.cost.roofline import Conditions
from simulator.cost.roofline_cost import Deployment
from simulator.cost.runs import Run
from simulator.cost.served import Served

HERE = Path(__file__).parent
KNOWN: dict[str, Any] = json.loads((HERE / "published_models.json").read_text(encoding="utf-8"))
# Where a page does not say: the tokens in a cache, and the prompt tokens for each emitted one.
USUAL_CONTEXT, USUAL_PROMPTS = 1000, 1.0
# GPUs where a page does not say: the fewest whose memory the weights fill no further than this.
FULLEST = 0.85


class BatchExpanding(Served):
    """vLLM V0: every drafted token of a sequence is scored as a sequence of its own.

    Each reads the whole cache again, as its paged attention for one token does, so what the prior
    calls "recache" is reading the cache itself.
    """

    def checking_work(self, load: LoadPoint, drafting: Drafting) -> Work:
        work = super().checking_work(load, drafting)
        amounts = work.amounts.copy()
        amounts[PARAMETERS.index("cache")] += amounts[PARAMETERS.index("recache")]
        amounts[PARAMETERS.index("recache")] = 0
        return Work(amounts, work.fixed)


@dataclass(frozen=True)
class Row:
    """One measurement: without speculation and with it.

    facts: the table's row.
    machine: what it ran on.
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
        kinds = {"bfloat16": "plain", "fp8": "fp8", "nvfp4": "fp4", "int4": "int4"}
        mixture = any(
            each[0] == "experts" for each in KNOWN["models"][self.facts["shape"]]["weights"]
        )
        return Traits(engine, draft_class(self.facts["kind"]), kinds.get(weights, "gguf"), mixture)

    @property
    def server(self) -> tuple[str, ...]:
        """What tells one deployment of the table from another."""
        names = ("source", "version", "target", "draft", "kind", "gpu", "tp", "format", "dcp")
        return tuple(self.facts[name] for name in names)

    @property
    def deployment(self) -> tuple[str, ...]:
        """The server and, where its load is not stated in numbers, its traffic."""
        stated = self.facts["prompt"] or self.facts["dataset"].startswith(("context", "prompt"))
        return (*self.server, "" if stated else self.facts["dataset"])

    @property
    def sweep(self) -> tuple[Any, ...]:
        """What rows share that differ in γ alone."""
        return (*self.server, self.facts["dataset"], self.run.load)


def draft_class(kind: str) -> str:
    """Returns the kind of draft as priors name it."""
    if kind.startswith("EAGLE"):
        return "EAGLE tree" if kind.endswith("tree") else "EAGLE"
    if kind.startswith(("DFlash", "DSpark")):
        return "block"
    return {"draft model": "model", "MTP drafter": "MTP"}.get(kind, kind)


def read_rows() -> tuple[list[Row], list[dict[str, str]]]:
    """Returns the rows that have all a prediction needs, and the facts of the others."""
    with (HERE / "published_speculation.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    rows = [_row(facts) for facts in table if _complete(facts)]
    return rows, [facts for facts in table if not _complete(facts)]


def _complete(facts: dict[str, str]) -> bool:
    return all(facts[name] for name in ("shape", "draft_shape", "gamma", "length", "batch"))


def _row(facts: dict[str, str]) -> Row:
    names = ("shape", "weights", "draft_shape", "gpu", "tp", "dcp")
    batch, gamma = int(facts["batch"]), int(facts["gamma"])
    ratio = USUAL_PROMPTS
    if facts["dataset"].startswith("context"):
        ratio = 0.0  # the benches of these rows leave prompts out
    elif facts["prompt"] and facts["output"]:
        ratio = float(facts["prompt"]) / float(facts["output"])
    # A token waits for the prompts of the other sequences; a throughput has its own prompt, too.
    waits = batch if facts["measure"] == "throughput" else batch - 1
    load = LoadPoint(int(facts["context"] or USUAL_CONTEXT), batch, round(ratio * waits / batch, 6))
    verified = int(facts["verified"]) if facts["verified"] else None
    drafting = Drafting(gamma, int(facts["width"] or 1), verified)
    return Row(
        facts,
        _machine(*(facts[name] for name in names), expands=_expands_batch(facts)),
        Run(load, float(facts["without_ms"]) / 1e3),
        Run(load, float(facts["with_ms"]) / 1e3, drafting, float(facts["length"])),
    )


def _expands_batch(facts: dict[str, str]) -> bool:
    return facts["engine"] == "vllm" and facts["version"].startswith("0.6")


@cache
def _machine(*names: str, expands: bool) -> Machine:
    shape, weights, draft, gpu, tp, dcp = names
    target = _model(shape, weights, share=int(dcp or 1))
    hardware = _hardware(gpu)
    fits = [n for n in (1, 2, 4) if target.weight_bytes / n < FULLEST * hardware.memory_bytes]
    gpus = int(tp) if tp else (*fits, 8)[0]
    if hardware.link_bandwidth is None:
        gpus = 1
    served = BatchExpanding if expands else Served
    return Remembered(
        served(Deployment(target, _draft(draft, target), hardware, Conditions(tp=gpus)))
    )


@cache
def _hardware(gpu: str) -> Hardware:
    known = KNOWN["hardware"][gpu]
    if isinstance(known, str):
        return find_hardware(known)
    return own_hardware(
        flops=1e12 * known["tera"],
        bandwidth=1e9 * known["gigabytes_a_second"],
        memory_bytes=1e9 * known["gigabytes"],
    )


def _format(name: str) -> NumberFormat:
    """Returns a number format; llama.cpp's mixed ones by their mean bits a weight."""
    if name not in KNOWN["formats"]:
        return FORMATS[name]
    # The bits beyond one as scales of a group.
    bits = KNOWN["formats"][name]
    return NumberFormat(name, 1, 32, 4 * (bits - 1), "int8", everywhere=True)


def _weights(kind: str, values: int, stored: NumberFormat, experts: int, active: int) -> Weights:
    size = values * stored.bytes_per_value
    return Weights(kind, values, size, stored.product_format("bfloat16"), experts, active)  # type: ignore[arg-type]


def _caches(known: list[dict[str, Any]], share: int = 1) -> tuple[CacheLayers, ...]:
    return tuple(
        CacheLayers(
            each["kind"], each["layers"], each["bytes_per_token"] / share,
            each.get("state_bytes", 0), None, each["operations"], each["shards"],
        )
        for each in known
    )  # fmt: skip


def _model(name: str, weights: str, *, share: int = 1) -> ModelShape:
    known, stored = KNOWN["models"][name], _format(weights.removeprefix("experts "))
    parts = []
    for kind, values, *routed in known["weights"]:
        kept = kind in ("embedding", "head") and not stored.everywhere
        if kept or (weights.startswith("experts") and kind != "experts"):
            parts.append(_weights(kind, values, FORMATS["bfloat16"], *(routed or (0, 0))))
        else:
            parts.append(_weights(kind, values, stored, *(routed or (0, 0))))
    sizes = (known["layers"], known["hidden"], known["heads"], known["vocabulary"])
    return ModelShape(name, *sizes, tuple(parts), _caches(known["caches"], share), "bfloat16")


def _draft(name: str, target: ModelShape) -> DraftShape:
    if name == "look-up":
        nothing = ModelShape(name, 0, target.hidden, target.heads, 1, (), (), "bfloat16")
        return DraftShape("model", nothing, True, None, 0)
    known = KNOWN["drafts"][name]
    if "model" in known:
        return DraftShape("model", _model(known["model"], known["weights"]), False, None, 0)
    parts = tuple(
        _weights(kind, values, _format(stored), *(routed or (0, 0)))
        for kind, values, stored, *routed in known["weights"]
    )
    sizes = (known["layers"], known["hidden"], known["heads"], 1)
    shape = ModelShape(name, *sizes, parts, _caches(known["caches"]), "bfloat16")
    return DraftShape("model", shape, known["parallel"], None, 0)
