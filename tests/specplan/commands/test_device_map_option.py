"""`--device-map` of measure, validate and generate."""

from collections.abc import Callable
from typing import Any

import pytest
from programs import Run

RunJson = Callable[..., Any]
COMMANDS = ("measure", "validate", "generate")
PAIR = ("--target", "target", "--draft", "draft", "--prompts", "prompts.txt")


@pytest.mark.parametrize("device_map", ["auto", '{"": "cpu"}'])
def test_a_mapped_target_is_measured_as_it_is_on_one_device(
    run_json: RunJson, small: list[str], device_map: str
) -> None:
    measure = ("measure", *small, "--max-gamma", "2", "--repeats", "1")
    mapped, plain = run_json(*measure, "--device-map", device_map), run_json(*measure)
    assert mapped["alpha"] == plain["alpha"]
    assert mapped["setup"]["flags"] == [f"--device-map {device_map}"]
    assert plain["setup"]["flags"] == []
    assert mapped["setup"]["device"] == "cpu"


def test_a_mapped_target_validates_and_generates(run_json: RunJson, small: list[str]) -> None:
    mapped = (*small, "--device-map", "auto", "--temperature", "0")
    rows = run_json("validate", *mapped, "--gamma", "2", "--repeats", "1")["rows"]
    assert [row["identical_to_target"] for row in rows] == [True]
    one = (*small[:6], "--temperature", "0")
    plain = run_json("generate", *one)
    assert run_json("generate", *one, "--device-map", "auto")["tokens"] == plain["tokens"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--device-map", "all"), "device_map must be auto, balanced, balanced_low_0, sequential"),
        (("--device-map", "auto", "--device", "cpu"),
         "device and device_map cannot both be given, got cpu and auto"),
        (("--device-map", "auto", "--compile"), "compile cannot be given with device_map"),
        (("--device-map", '{"": "cuda:9"}'), "must name devices of this machine"),
        (("--device-map", '{"body": "cpu"}'), "device_map must name modules of target, got 'body'"),
    ],
    ids=str,
)  # fmt: skip
def test_a_bad_map_is_one_line(
    run: Run, command: str, arguments: tuple[str, ...], message: str
) -> None:
    refused = run(command, *PAIR, *arguments)
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert message in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("measure", "--draft", "heads"), "device_map cannot be given with draft heads"),
        (("align", "-o", "aligned"), "No such option '--device-map'"),
    ],
    ids=str,
)
def test_what_takes_no_map_says_so(
    run: Run, arguments: tuple[str, ...], message: str
) -> None:
    refused = run(*arguments, "--device-map", "auto")
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert message in refused.stderr
