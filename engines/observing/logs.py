"""vLLM's log: its lines `SpecDecoding metrics: …`, each of some seconds, summed."""

from __future__ import annotations

import re

from engines.observing.observation import Observation

MARK = "SpecDecoding metrics:"
LINE = re.compile(
    r"SpecDecoding metrics:.*?\bAccepted: (\d+) tokens, Drafted: (\d+) tokens, "
    r"Per-position acceptance rate: ([0-9.]+(?:, [0-9.]+)*)"
)
VERSION = re.compile(r"\bvLLM API server version (\S+)|\bLLM engine \(v?(\d[^)\s]*)\)")


def read_log(text: str) -> Observation:
    """Returns what a log's lines count together.

    Rates are printed with three digits, so that counts by position are right to one in two
    thousand drafts of a line; tokens accepted and drafted are exact.

    Raises:
      ValueError: if a line cannot be read, or lines are of several γ, or there is none.
    """
    total: Observation | None = None
    for line in text.splitlines():
        if MARK not in line:
            continue
        found = LINE.search(line)
        if found is None:
            raise ValueError(
                "a line of vLLM's log must tell accepted and drafted tokens and rates by position, "
                f"got {line[line.index(MARK) :][:120]!r} (rates alone: 'specplan plan "
                "--acceptance-by-position')"
            )
        accepted, drafted = int(found[1]), int(found[2])
        rates = [float(rate) for rate in found[3].split(", ")]
        drafts = round(drafted / len(rates))
        if drafts == 0:
            continue
        one = Observation(
            "vllm",
            "log",
            len(rates),
            drafts,
            drafted,
            accepted,
            tuple(round(rate * drafts) for rate in rates),
        )
        total = one if total is None else total + one
    if total is None:
        raise ValueError(f"a log of vLLM must have lines '{MARK} …' with drafts, got none")
    version = VERSION.search(text)
    if version is None:
        return total
    from dataclasses import replace

    return replace(total, version=version[1] or version[2])
