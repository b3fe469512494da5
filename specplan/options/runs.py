"""Runs of a deployment that a user states: `--run gamma=3,tpot=4.1,length=2.85`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.cost.setting import DEFAULT_CONTEXT
from specplan.options.declared import option
from specplan.options.values import (
    callback,
    in_milliseconds,
    parse_counted_share,
    parse_numbers,
    share_of,
)  # fmt: skip
from specplan.reports.output import warn

if TYPE_CHECKING:
    from engines.observing.observation import Observation
    from simulator.acceptance.accepted import Accepted
    from simulator.cost.fitted.runs import Run

# A speed below one token per 0.1 s was probably meant as a time.
SLOW_SECONDS = 0.1
_SPEEDS = ("tpot", "tps", "total_tps")
_ACCEPTED = ("length", "rates", "accepted")
_ALIASES = {"K": "gamma", "k": "gamma"}
_KEYS = ("file", "gamma", *_SPEEDS, *_ACCEPTED, "batch", "context", "error", "tokens")
# The word of a run at K = 0 on a server that speculates.
_MARK = "speculating"


@callback
def parse_runs(values: tuple[str, ...]) -> tuple[Run, ...]:
    """Returns the runs of --run: each value is KEY=VALUE,..., a tuning's file or a sweep."""
    from simulator.cost.fitted.runs import require_consistent

    runs: list[Run] = []
    for value in values:
        path = Path(value)
        if path.exists():
            from engines.observing.sweeps import sweep_runs
            from engines.tuning.tuned import read_tuned

            swept = sweep_runs(path, context=DEFAULT_CONTEXT)
            runs += read_tuned(path).runs() if swept is None else swept
        else:
            runs.append(parse_run(value))
    require_consistent([run for run in runs if run.counted])
    return tuple(runs)


def parse_run(text: str) -> Run:
    """Returns the run that a text of the form "KEY=VALUE,..." states, with these keys.

    gamma (or K): drafted tokens per block; 0: no speculation.
    tpot (ms per token), tps (tokens/s of one sequence) or total_tps (of all sequences).
    length, rates (R/R/..., shares of all drafts) or accepted (a share, or A/B of drafted tokens):
      with gamma above 0, unless another option states the acceptance.
    tokens: number of generated tokens, with accepted=A/B if drafts ended early.
    batch (default 1); context (tokens); error: standard error of the time, in % (default 2).
    file: source of `specplan observe`, in place of time and length; may state gamma and batch.
    speculating: a word without value, at gamma 0: the server has a draft and drafts nothing.
    """
    from simulator.cost.fitted.runs import USUAL_ERROR, LoadPoint, Run

    stated: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        key = _ALIASES.get(key, key)
        if key == _MARK and not equals:
            equals, value = "=", "yes"
        if not equals and "rates" in stated:
            after = text.partition("rates")[2].partition("=")[2].split(",")
            rates = "/".join(
                part.strip() for part in takewhile(lambda part: "=" not in part, after)
            )
            raise ValueError(f"rates are separated by /, got {text!r}: write rates={rates}")
        if not equals or key not in (*_KEYS, _MARK):
            raise ValueError(f"must be KEY=VALUE,... with keys {', '.join(_KEYS)}, got {part!r}")
        if key in stated:
            raise ValueError(f"{key} is given twice in {text!r}")
        stated[key] = value
    accepted, model, share = None, None, None
    if "file" in stated:
        stated, seen = _with_file(stated)
        accepted = seen.counted if seen.drafts > 0 else None
        model, share = seen.model, seen.draft_share
    gamma = _integer(stated, "gamma")
    load = LoadPoint(_integer(stated, "context", DEFAULT_CONTEXT), _integer(stated, "batch", 1))
    error = USUAL_ERROR
    if "error" in stated:
        error = _number(stated["error"].removesuffix("%")) / 100
    given = [key for key in _ACCEPTED if key in stated]
    if gamma == 0 and given:
        raise ValueError(f"{given[0]} must not be given at gamma 0, in {text!r}")
    seconds = _seconds(stated, load.batch, text)
    if gamma == 0:
        return Run(load, seconds, error=error, model=model, speculating=_MARK in stated)
    if _MARK in stated:
        raise ValueError(f"{_MARK} must be given with gamma=0 only, got {text!r}")
    if accepted is None and not given:
        return Run(load, seconds, gamma, math.nan, error)
    counts = _accepted(stated, gamma, text) if accepted is None else accepted
    lengths = (counts.length, error, counts.rates, counts.drafts, model, share, counts.drafted)
    return Run(load, seconds, gamma, *lengths)


def _with_file(stated: Mapping[str, str]) -> tuple[dict[str, str], Observation]:
    """Returns a run's keys and values with those read from its `file`, and the observation."""
    from engines.sources import observe

    file, others = stated["file"], {key: stated[key] for key in stated if key != "file"}
    for key in (*_SPEEDS, *_ACCEPTED):
        if key in others:
            raise ValueError(f"{key} must not be given with file, which contains it, got {file}")
    gamma = _integer(others, "gamma") if "gamma" in others else None
    seen = observe([file], gamma=gamma)
    for contradiction in seen.contradictions:
        warn(f"{file}: {contradiction}")
    if seen.timed is None:
        raise ValueError(f"{file} must have the time of a token, got none")
    read = {"tpot": repr(1e3 * seen.timed.seconds_per_token)}
    if seen.timed.batch is not None:
        read["batch"] = str(seen.timed.batch)
    if seen.drafts == 0 and gamma != 0:
        raise ValueError(f"{file} must count drafts, got none (without speculation: gamma=0)")
    if seen.drafts > 0:
        if seen.stated_gamma is None:
            raise ValueError(f"gamma must be given with {file}, which does not state it")
        if gamma not in (None, seen.stated_gamma):
            raise ValueError(f"gamma must be the {seen.stated_gamma} of {file}, got {gamma}")
        read["gamma"] = str(seen.stated_gamma)
    return read | others, seen


def _one_of(stated: Mapping[str, str], keys: tuple[str, ...], text: str) -> str:
    given = [key for key in keys if key in stated]
    if len(given) != 1:
        raise ValueError(f"one of {', '.join(keys)} must be given, got {text!r}")
    return given[0]


def _seconds(stated: Mapping[str, str], batch: int, text: str) -> float:
    """Returns seconds between two tokens of one sequence, from tpot, tps or total_tps."""
    key = _one_of(stated, _SPEEDS, text)
    value = _number(stated[key])
    if value <= 0:
        raise ValueError(f"{key} must be above 0, got {stated[key]}")
    if key == "tpot":
        return in_milliseconds(value) / 1e3
    if key == "tps" and value * SLOW_SECONDS < 1:
        warn(
            f"tps={stated[key]} is {1e3 / value:.0f} ms a token: if it is the time in "
            f"milliseconds, write tpot={stated[key]}"
        )
    return (batch if key == "total_tps" else 1) / value


def _accepted(stated: Mapping[str, str], gamma: int, text: str) -> Accepted:
    """Returns a run's counts of accepted tokens, from length, rates or accepted."""
    from simulator.acceptance.accepted import Accepted

    key = _one_of(stated, _ACCEPTED, text)
    if key == "length":
        return Accepted(gamma, _number(stated[key]))
    if key == "rates":
        rates = [_rate(rate) for rate in stated[key].split("/")]
        if len(rates) != gamma:
            raise ValueError(f"rates must be {gamma}, one for each position, got {stated[key]}")
        return Accepted.of_rates(rates)
    fraction, drafted = parse_counted_share(stated[key])
    if drafted is not None and "tokens" in stated:
        accepted, tokens = fraction * drafted, _integer(stated, "tokens")
        if not drafted / gamma <= tokens - accepted <= drafted:
            raise ValueError(
                f"tokens must lie in [{accepted + drafted / gamma:.0f}, "
                f"{accepted + drafted:.0f}] with accepted={stated[key]}, got {tokens}"
            )
        return Accepted.of_calls(accepted, tokens - accepted, gamma, drafted=drafted)
    counts = Accepted.of_fraction(fraction, gamma, drafted)
    if counts.error > 0 and drafted is not None:
        warn(
            f"drafts of {text!r} ended early: {drafted:.0f} tokens were drafted in "
            f"{math.ceil(drafted / gamma)} to {drafted:.0f} calls. Add tokens=N, the number of "
            "tokens generated meanwhile"
        )
    return counts


def _rate(text: str) -> float:
    try:
        return share_of(_number(text))
    except ValueError as error:
        raise ValueError(f"rates {error}") from None


def _number(text: str) -> float:
    values = parse_numbers(text)
    if len(values) != 1:
        raise ValueError(f"{text!r} is not a number")
    return values[0]


def _integer(stated: Mapping[str, str], key: str, default: int | None = None) -> int:
    if key not in stated and default is not None:
        return default
    if key not in stated:
        raise ValueError(f"{key} must be given, got {', '.join(stated)}")
    least, most = (0, 10_000) if key == "gamma" else (1, math.inf)
    try:
        number = _number(stated[key])
    except ValueError:
        number = math.nan
    if not (number.is_integer() and least <= number <= most):
        limit = f"from 0 (no speculation) to {most}" if key == "gamma" else "of at least 1"
        raise ValueError(f"{key} must be an integer {limit}, got {stated[key]}")
    return int(number)


@dataclass(frozen=True)
class RunsOptions:
    """Measurements of a server.

    runs: A run of your server: gamma (0: no speculation), tpot (ms a token), and length (mean
      acceptance length), rates (R/R/...) or accepted. Repeatable. Other keys: tps, or total_tps
      with batch; error of the time in % (2); or file, a bench's JSON, which needs further keys only
      for numbers that it lacks. --runs FILE: the runs of specplan tune, or summary.json (or the
      folder) of vllm bench sweep serve.
    """

    # Each one is a simulator.cost.fitted.runs.Run; help must not wait for that import.
    runs: tuple[Any, ...] | None = option(
        "--run", "--runs", multiple=True, callback=parse_runs, metavar="KEY=VALUE,...|FILE"
    )
