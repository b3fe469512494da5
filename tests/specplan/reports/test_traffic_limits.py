"""Sentences on what no setting reaches, and the command of the next runs."""

from types import SimpleNamespace
from typing import Any, cast

from simulator.traffic.answer import Traffic
from specplan.reports.machines import machine_rows
from specplan.reports.traffic_limits import missed_words
from specplan.reports.traffic_words import next_command

ROWS = [{"rate": rate} for rate in (5, 5, 20, 20, 40, 40)]
NEXT = (
    "Next: run K = 2, and add --run gamma=0,tpot=MS --run gamma=2,tpot=MS to this command (MS: …)."
)


def words(at_share: tuple[float, float] | None, **data: object) -> str:
    answer = cast(Traffic, SimpleNamespace(at_share=at_share))
    return missed_words(answer, {"rows": ROWS, "share": 0.95, **data})


def test_rates_at_which_no_setting_keeps_the_targets_are_named() -> None:
    assert words(None) == words((41.0, 12.0)) == ""
    assert words((19.6, 12.5)).startswith(
        " At 20 and 40/s no setting keeps the targets for 95 % of the requests: it takes more GPUs"
    )


def test_simulated_shares_come_before_the_closed_form() -> None:
    simulated = [{"rate": 20, "goodput": 19.5}, {"rate": 40, "goodput": 31.88}]
    assert words((19.6, 12.5), simulated=simulated).startswith(
        " At 40/s no setting keeps the targets for 95 % of the requests (79.7 % at best): "
    )


def test_the_next_runs_are_added_to_the_whole_command_of_one_machine() -> None:
    command = "specplan traffic --gpu h100,h200 --tp 1,2 --rate 5"
    runs = "--run gamma=0,tpot=MS --run gamma=2,tpot=MS"
    again = next_command(["Capacity: 3.", NEXT, NEXT], command)
    assert again == f"{command} {runs}"
    assert next_command(["Capacity: 3."], command) == next_command([NEXT], None) == ""
    answers: list[dict[str, Any]] = [{"details": [NEXT], "next_command": again}]
    (row,) = machine_rows([("h200", 2)], answers)
    assert row["next_command"] == f"specplan traffic --gpu h200 --tp 2 --rate 5 {runs}"
