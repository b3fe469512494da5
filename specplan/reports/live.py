"""A server that is followed: a page that is written again, and Prometheus metrics of our own.

Both show the JSON object of the last interval, and neither shows prompts or texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engines.observing.drift import Drift, Expected, drift
from specplan.reports.drift import drift_json
from specplan.reports.observation import observation_json
from specplan.reports.observed_times import observed_plan_json

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

    from engines.observing.observation import Observation
    from simulator.choice.plan import Plan

# A page shows so many of the last intervals.
_MOST_INTERVALS = 500
Address = tuple[str, int]


class Live:
    """The intervals of a followed server, and what the last one showed.

    seconds: length of an interval.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._first: Observation | None = None
        self._history: list[dict[str, Any]] = []
        self._last: Mapping[str, Any] | None = None

    def add(self, observation: Observation, plan: Plan | None, *, clock: str) -> dict[str, Any]:
        """Returns the JSON object of an interval: counts, plan, drift since the start, history."""
        first = self._first
        if first is None or first.gamma != observation.gamma:  # the server has another K
            first = self._first = observation
        moved = _since(first, observation)
        data = observation_json(observation, seconds=self._seconds)
        if plan is not None:
            data |= observed_plan_json(plan, observation)
        data["drift"] = drift_json(moved, best_gamma=None if plan is None else plan.advised_gamma)
        self._history.append({"clock": clock, **moved._asdict(), "moved": None})
        del self._history[:-_MOST_INTERVALS]
        data["history"] = [dict(interval) for interval in self._history]
        self._last = data
        return data

    def add_none(self) -> None:
        """Notes an interval without drafts."""
        self._last = None

    def write(self, data: Mapping[str, Any], path: Path) -> None:
        """Writes the page of an interval, which loads itself again after the next one."""
        from specplan.reports.page.shown import section_of, write_page

        write_page(section_of(data), path, reload=max(1, round(self._seconds)))

    def listen(self, address: Address) -> str:
        """Serves the metrics from now on; returns their URL."""
        from prometheus_client import CollectorRegistry, start_http_server

        host, port = address
        registry = CollectorRegistry()
        registry.register(self)
        try:
            server, _ = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            reason = f"`listen` must be free, got {host}:{port}: {error.strerror}"
            raise ValueError(reason) from None
        return f"http://{host}:{server.server_port}/metrics"

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yields the metrics of the last interval, as Prometheus reads them."""
        from prometheus_client.core import GaugeMetricFamily

        data = self._last
        drafts = 0 if data is None else data["drafts"]
        yield GaugeMetricFamily("specplan_drafts", "Drafts in the last interval", drafts)
        if data is None:
            return
        for name, (value, about) in _numbers(data).items():
            yield GaugeMetricFamily(f"specplan_{name}", about, value)
        rates = GaugeMetricFamily(
            "specplan_acceptance",
            "Share of drafts whose token at this position was accepted",
            labels=["position"],
        )
        for position, rate in enumerate(data["accepted_by_position"], 1):
            rates.add_metric([str(position)], rate.value)
        yield rates


def _since(first: Observation, now: Observation) -> Drift:
    rates = tuple(rate.value for rate in first.unconditional)
    return drift(now, Expected({first.gamma: first.block_efficiency}, rates, first.drafts))


def _numbers(data: Mapping[str, Any]) -> dict[str, tuple[float, str]]:
    """Returns values and descriptions of the metrics of an interval, by name."""
    moved = data["drift"]
    numbers = {"tokens_per_call": (data["block_efficiency"], "Tokens per target call")}
    for end, about in (("", "length"), ("_low", "low"), ("_high", "high")):
        numbers[f"acceptance_drift{end}"] = (
            moved[about or "length"] / moved["expected"],
            f"Tokens per call over those at the start{end and f', {about} end of the interval'}",
        )
    numbers["acceptance_drifted"] = (
        float(moved["found"]), "1: the interval of the drift excludes the start"
    )  # fmt: skip
    plan = data.get("plan")
    if plan is None or plan["advised_gamma"] is None:
        return numbers
    advised = plan["advised_gamma"]
    numbers["advised_gamma"] = (advised, "Advised draft length (K); 0: do not speculate")
    point = plan["curve"][advised - 1] if advised else {"improvement_factor": 1.0}
    for end, about in (("", ""), ("_low", ", low end"), ("_high", ", high end")):
        factor = point.get(f"improvement_factor{end}", point["improvement_factor"])
        numbers[f"expected_speed_up{end}"] = (factor, f"Speed-up at the advised K{about}")
    return numbers
