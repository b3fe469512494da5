"""The command of `specplan traffic` for one deployment that `specplan size` found."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simulator.acceptance.acceptance import Acceptance, Iid
from simulator.acceptance.from_counts import FromCounts

if TYPE_CHECKING:
    from simulator.traffic.fleet import Fleet
    from specplan.api.drafts import SizedDraft
    from specplan.api.size_settings import SizeSettings


def traffic_command(
    best: Fleet, target_config: Path, drafts: Sequence[SizedDraft], given: SizeSettings
) -> str:
    """Returns the command as a shell takes it; "" if no option states the draft's acceptance."""
    replica, demand, goal = best.replica, best.replica.pair.demand, best.goal
    draft = next(one for one in drafts if one.title == replica.draft)
    accepted = _acceptance(draft.acceptance)
    if accepted is None:
        return ""
    targets = ",".join(f"{name}={limit:g}" for name, limit in given.targets.items())
    options: dict[str, object] = {
        "target-config": target_config,
        "draft-config": draft.config,
        **accepted,
        "gpu": replica.gpu,
        "tp": replica.tp,
        "replicas": best.replicas,
        "rate": f"{goal.rate:g}",
        "prompt-tokens": f"{demand.prompt_tokens:g}",
        "output-tokens": f"{demand.output_tokens:g}",
        "slo": targets,
    }
    further = {
        "dp": (replica.dp, 1), "ep": (replica.ep, 1), "dtype": (replica.dtype, None),
        "activations": (given.activations, None), "engine": (given.engine, None),
        "slots": (replica.batch_limit, 256), "chunk-tokens": (given.chunk_tokens, 2048),
        "cached-share": (given.cached_share, 0),
    }  # fmt: skip
    options |= {name: value for name, (value, usual) in further.items() if value != usual}
    words = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return shlex.join(["specplan", "traffic", *words])


def _acceptance(acceptance: Acceptance) -> dict[str, str] | None:
    """Returns the option that states an acceptance; None if none does."""
    if isinstance(acceptance, Iid):
        return {"alpha": f"{acceptance.alpha:g}"}
    if not isinstance(acceptance, FromCounts):
        return None
    shares = np.cumprod(acceptance.conditional[: acceptance.positions])
    return {"acceptance-by-position": ",".join(f"{share:.6g}" for share in shares)}
