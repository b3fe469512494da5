"""`specplan plan` of what is mistyped, missing or does not fit together: one line, status 2."""

from pathlib import Path

import pytest
from plan_inputs import MS, run, run_json
from refusals import assert_refused

OK = "--alpha 0.8 --c 0.05"
ONE_OF = (
    "give the acceptance: --alpha, or --accepted-fraction and --at-gamma, or --block-efficiency "
    "and --at-gamma, or --acceptance-by-position, or --profile, or --typical, or --run"
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", ONE_OF),
        ("--c 0.05", ONE_OF),
        (f"{OK} --accepted-fraction 0.6 --at-gamma 4",
         "--alpha cannot be combined with --accepted-fraction"),
        (f"{OK} --at-gamma 4", "--alpha cannot be combined with --at-gamma, which needs "
         "--accepted-fraction or --block-efficiency"),
        (f"{OK} --conditional",
         "--alpha cannot be combined with --conditional, which needs --acceptance-by-position"),
        (f"{OK} --verification block",
         "--alpha cannot be combined with --verification, which needs --profile"),
        (f"{OK} --lenience 0.5",
         "--alpha cannot be combined with --lenience, which needs --profile"),
        (f"{OK} --draft-sampling argmax",
         "--alpha cannot be combined with --draft-sampling, which needs --profile"),
        ("--accepted-fraction 0.6 --c 0.05", "--accepted-fraction needs --at-gamma"),
        ("--block-efficiency 3 --c 0.05", "--block-efficiency needs --at-gamma"),
        ("--alpha 0.8 --alpha 0.9 --c 0.05", "--alpha must be given once, got 2"),
        (f"{OK} --c 0.05", "--c must be given once, got 2"),
        ("--block-efficiency 3 --block-efficiency 3 --at-gamma 4 --c 0.05",
         "--block-efficiency must be given once, got 2"),
        ("--alpha 0.8 --gpu h100 --gpu h200", "--gpu must be given once, got 2"),
        ("--alpha 0.8",
         "give the cost: --c, or --target-ms and --draft-ms, or --costs and --draft-ms, or "
         "--target-config, --draft-config and --gpu, or --profile, or --run"),
        (f"{OK} --target-ms 19", "--c cannot be combined with --target-ms"),
        (f"{OK} --target-config T", "--c cannot be combined with --target-config"),
        (f"{OK} --verify-ms 4=33",
         "--c cannot be combined with --verify-ms, which needs --target-ms"),
        (f"{OK} --force", "--c cannot be combined with --force, which needs --target-ms"),
        (f"{OK} --tp 2", "--c cannot be combined with --tp, which needs --target-config"),
        (f"{OK} --draft-ms 1",
         "--c cannot be combined with --draft-ms, which needs --target-ms or --costs"),
        ("--alpha 0.8 --target-ms 19", "--target-ms needs --draft-ms"),
        ("--alpha 0.8 --draft-ms 1", "--draft-ms needs --target-ms"),
        ("--alpha 0.8 --verify-ms 4=33", "--verify-ms needs --target-ms and --draft-ms"),
        ("--alpha 0.8 --costs x.json", "--costs needs --draft-ms"),
        ("--alpha 0.8 --draft-costs x.json", "--draft-costs needs --costs"),
        ("--alpha 0.8 --costs x.json --draft-costs x.json --draft-ms 1",
         "--draft-ms cannot be combined with --draft-costs"),
        (f"{OK} --draft-costs x.json",
         "--c cannot be combined with --draft-costs, which needs --costs"),
        ("--alpha 0.8 --costs no.json --draft-costs no.json",
         "no.json: No such file or directory"),
        ("--alpha 0.8 --costs x.json --draft-ms 1 --target-ms 2",
         "--target-ms cannot be combined with --costs"),
        ("--alpha 0.8 --gpu h100", "--gpu needs --target-config and --draft-config"),
        ("--alpha 0.8 --batch 4", "--batch needs --target-config, --draft-config and --gpu"),
        ("--alpha 0.8 --tp 4", "--tp needs --target-config, --draft-config and --gpu"),
        ("--alpha 0.8 --gpu-flops 4",
         "--gpu-flops needs --target-config, --draft-config, --gpu-bandwidth and --gpu-memory"),
        ("--alpha 0.7,0.8 --c 0.05 --export vllm", "--export needs a single alpha and c"),
        ("--alpha 0.001:1:0.001 --c 0.1:1.2:0.1",
         "a table must have at most 10000 rows, got 12000"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(arguments: str, message: str) -> None:
    _assert_said(arguments, message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--alpha 1.2 --c 0.05", "Invalid value for '--alpha': must lie in [0, 1], got 1.2"),
        ("--alpha -0.1 --c 0.05", "Invalid value for '--alpha': must lie in [0, 1], got -0.1"),
        ("--alpha nan --c 0.05", "Invalid value for '--alpha': must lie in [0, 1], got nan"),
        ("--alpha 0.5,1.5 --c 0.05", "Invalid value for '--alpha': must lie in [0, 1], got 1.5"),
        ("--alpha high --c 0.05", "Invalid value for '--alpha': 'high' is not a number"),
        ("--alpha 0.1:0.9 --c 0.05",
         "Invalid value for '--alpha': a range is start:stop:step, got '0.1:0.9'"),
        ("--alpha 0.8 --c -1", "c must be finite and at least 0, got -1.0"),
        ("--alpha 0.8 --c nan", "c must be finite and at least 0, got nan"),
        ("--alpha 0.8 --c inf", "c must be finite and at least 0, got inf"),
        (f"{OK} --c-hat -1", "c_hat must be finite and at least 0, got -1.0"),
        (f"{OK} --gamma 0", "gamma must be at least 1, got 0"),
        (f"{OK} --gamma 2.5", "Invalid value for '--gamma': '2.5' is not a valid integer."),
        (f"{OK} --max-gamma 0", "max_gamma must be at least 1, got 0"),
        ("--accepted-fraction 61 --at-gamma 4 --c 0.05",
         "Invalid value for '--accepted-fraction': must lie in [0, 1], got 61: for per cent write "
         "61%"),
        ("--accepted-fraction 0.6 --at-gamma 0 --c 0.05",
         "Invalid value for '--at-gamma': 0 is not in the range x>=1."),
        ("--acceptance-by-position 0.5,0.6 --c 0.05",
         "--acceptance-by-position: position_acceptance must not rise from one position to the "
         "next, got 0.6 after 0.5; rates that count only the drafts whose earlier positions were "
         "accepted go with --conditional"),
        ("--acceptance-by-position 70,49 --c 0.05",
         "Invalid value for '--acceptance-by-position': must lie in [0, 1], got 70: for per cent "
         "write 70%"),
        ("--acceptance-by-position 0.7 0.5 0.3 --c 0.05",
         "Got unexpected extra arguments (0.5 0.3): a list has commas and no spaces, 0.7,0.5"),
        ("--block-efficiency 6 --at-gamma 4 --c 0.05",
         "block_efficiency must lie in [1, gamma + 1 = 5], got 6.0"),
        ("--alpha 0.8 --target-ms 0 --draft-ms 1", "--target-ms must be above 0, got 0"),
        ("--alpha 0.8 --target-ms -3 --draft-ms 1",
         "Invalid value for '--target-ms': must be finite and at least 0, got -3"),
        ("--alpha 0.8 --target-ms 19 --draft-ms nan",
         "Invalid value for '--draft-ms': must be finite and at least 0, got nan"),
        (f"--alpha 0.8 {MS} --verify-ms 4:33",
         "Invalid value for '--verify-ms': must be N=MS, such as 4=33, got '4:33'"),
        (f"--alpha 0.8 {MS} --verify-ms four=33",
         "Invalid value for '--verify-ms': must be N=MS, such as 4=33, got 'four=33'"),
        (f"--alpha 0.8 {MS} --verify-ms 4=",
         "Invalid value for '--verify-ms': must be N=MS, such as 4=33, got '4='"),
        (f"--alpha 0.8 {MS} --verify-ms 1=33",
         "Invalid value for '--verify-ms': N must be at least 2 (1 is --target-ms), got '1=33'"),
        (f"--alpha 0.8 {MS} --verify-ms 4=33 --verify-ms 4=34",
         "Invalid value for '--verify-ms': N = 4 is given twice"),
        (f"--alpha 0.8 {MS} --verify-ms 4=nan",
         "Invalid value for '--verify-ms': MS must be finite and above 0, got '4=nan'"),
        (f"--alpha 0.8 {MS} --verify-ms 4=10",
         "--verify-ms must not be below --target-ms 19, the time of one token, got 4=10: are both "
         "times of one machine? --force takes them all the same"),
        ("--alpha 0.8 --batch many", "Invalid value for '--batch': 'many' is not a number"),
        ("--profile missing.json", "missing.json: No such file or directory"),
        ("--profile .", ".: Is a directory"),
        ("--alpha 0.8 --target-config missing.json --draft-config missing.json --gpu h100",
         "missing.json: No such file or directory"),
    ],
)  # fmt: skip
def test_a_bad_value_is_refused(
    arguments: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _assert_said(arguments, message)


def _assert_said(arguments: str, message: str) -> None:
    result = run(f"{arguments} --json")
    assert result.exit_code == 2
    assert result.stderr == f"Error: {message}\n"
    assert result.stdout == ""


@pytest.mark.parametrize("more", ["--verify-ms 4=10 --force", "--verify-ms 4=19"])
def test_a_pass_over_more_tokens_that_costs_less_must_be_forced(more: str) -> None:
    assert run(f"--alpha 0.8 {MS} {more}").exit_code == 0


def test_an_unknown_export_names_the_known_ones() -> None:
    result = run(f"{OK} --export ollama")
    for name in ("ollama", "vllm", "transformers", "llama.cpp", "sglang"):
        assert_refused(result, name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--alpha 0,8 --c 0.05", "must lie in [0, 1], got 0,8: write 0.8"),
        ("--alpha 0.8 --c 0,05", "'05' is not a number: a decimal has a point"),
        ("--alpha 0.8 --c 0.1 --near 500", "500.0 is not in the range 0<=x<100"),
        (
            "--alpha 0.8 --target-ms 8 --draft-ms 1 --verify-ms 8=9 --verify-ms 4=12",
            "--verify-ms must not fall with the number of tokens, got 4=12 and 8=9",
        ),
        ("--alpha 0.8 0.7] --c 0.1", "a list has commas and no spaces"),
    ],
)
def test_numbers_that_cannot_be_meant_are_refused_as_they_were_typed(
    arguments: str, message: str
) -> None:
    assert_refused(run(arguments), message)


def test_lists_may_come_as_json_has_them() -> None:
    assert run_json("--acceptance-by-position [0.82,0.61] --c 0.1") == run_json(
        "--acceptance-by-position 0.82,0.61 --c 0.1"
    )
