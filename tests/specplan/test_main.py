"""The program as a whole: its commands, its errors, its exit status, what it imports."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner, Result

from specplan.main import RUN_MODELS, SUMMARIES, main
from tests.specplan.fresh import modules_after

HEAVY = ("torch", "transformers", "kenlm", "matplotlib", "scipy.optimize", "scipy.stats", "tqdm")
NOT_OF_TWO_NUMBERS = (
    "engines.observing", "engines.servers", "estimator.profiles", "estimator.traces",
    "estimator.model_shapes", "simulator.cost.fitted.by_batch", "simulator.cost.roofline.",
)  # fmt: skip

Failing = Callable[[BaseException], Result]


@pytest.fixture
def run_failing(monkeypatch: pytest.MonkeyPatch) -> Failing:
    """Returns a function that runs a command which raises what it is given."""

    def run(error: BaseException) -> Result:
        @click.command()
        def plan_command() -> None:
            raise error

        module = ModuleType("specplan.commands.plan")
        module.__spec__ = ModuleSpec("specplan.commands.plan", None)
        module.plan_command = plan_command  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "specplan.commands.plan", module)
        return CliRunner().invoke(main, ["plan"])

    return run


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (ValueError("gamma must be at least 1, got 0"), 2, "gamma must be at least 1, got 0"),
        (ValueError("two\n  lines"), 2, "two lines"),
        (FloatingPointError("m returned NaN"), 2, "m returned NaN"),
        (click.UsageError("choose one"), 2, "choose one"),
        (click.ClickException("no luck"), 1, "no luck"),
        (click.FileError("a.json", "gone"), 2, "Could not open file 'a.json': gone"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "a.json"), 2,
         "a.json: No such file or directory"),
        (PermissionError(errno.EACCES, "Permission denied", "a.json"), 2,
         "a.json: Permission denied"),
        (OSError("nowhere is not a model"), 2, "nowhere is not a model"),
        (OSError(errno.ENOSPC, "No space left on device", "a.json"), 1,
         "a.json: No space left on device"),
        (RuntimeError("out of memory"), 1, "RuntimeError: out of memory"),
        (KeyError("alpha"), 1, "KeyError: 'alpha'"),
        (MemoryError(), 1, "MemoryError"),
        (ModuleNotFoundError("halted", name="gguf.types"), 1,
         "needs gguf.types: run pip install -e '.[engines]' in specplan's folder"),
        (ModuleNotFoundError("halted", name="rouge_score"), 1,
         "needs rouge_score: run pip install -e '.[quality]' in specplan's folder"),
        (ModuleNotFoundError("No module named 'yes'", name="yes"), 1,
         "ModuleNotFoundError: No module named 'yes'"),
        (AssertionError(), 1, "AssertionError"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)  # fmt: skip
def test_every_error_is_one_line_on_stderr(
    run_failing: Failing, error: Exception, status: int, line: str
) -> None:
    result = run_failing(error)
    assert result.exit_code == status
    assert result.stderr == f"Error: {line}\n"
    assert result.stdout == ""


def test_outside_a_clone_the_missing_packages_are_named(
    run_failing: Failing, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("specplan.reports.output.CLONE", tmp_path)
    result = run_failing(ModuleNotFoundError("halted", name="rouge_score"))
    assert result.stderr == "Error: needs rouge_score: run pip install rouge-score sacrebleu\n"


def test_ctrl_c_ends_with_130(run_failing: Failing) -> None:
    result = run_failing(KeyboardInterrupt())
    assert result.exit_code == 130
    assert result.stderr.strip() == "Interrupted."


def test_the_traceback_is_printed_on_request(
    run_failing: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECPLAN_TRACEBACK", "1")
    result = run_failing(RuntimeError("out of memory"))
    assert "Traceback" in result.stderr
    assert result.stderr.endswith("Error: RuntimeError: out of memory\n")
    assert result.exit_code == 1


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]], ids=str)
def test_help_lists_each_command_with_its_summary(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    words = " ".join(result.stdout.split())
    for name in main.list_commands(click.Context(main)):
        assert f"{name} {SUMMARIES[name]}" in words
    assert "specplan plan --alpha 0.8 --c 0.05" in words


def test_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    result = CliRunner().invoke(main, ["--version"])
    assert result.stdout == f"specplan, version {version('specplan')}\n"


def _python(code: str, *, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False
    )


def test_help_imports_neither_numpy_nor_anything_heavier() -> None:
    modules, _ = modules_after("--help")
    assert not any(name.startswith(("simulator", "estimator", "reference")) for name in modules)
    assert not (modules | modules_after("plan --help")[0]) & {"numpy", "scipy", *HEAVY}


def test_plan_imports_nothing_heavy() -> None:
    plans = ("--c 0.05", "--c 0.05 --json", "--target-ms 19 --draft-ms 1.6 --verify-ms 4=33")
    modules, _ = modules_after(*(f"plan --alpha 0.8 {costs}" for costs in plans))
    assert not modules & set(HEAVY)
    assert "numpy" in modules


def test_a_plan_from_two_numbers_imports_neither_profiles_fits_nor_observations() -> None:
    modules, _ = modules_after("plan --alpha 0.8 --c 0.05")
    assert not [name for name in modules if name.startswith(NOT_OF_TWO_NUMBERS)]
    assert "scipy" not in modules
    packages = {"specplan", "simulator", "estimator", "engines", "ngram", "studies", "reference"}
    assert len([name for name in modules if name.partition(".")[0] in packages]) <= 73


@pytest.mark.parametrize(("command", "threads"), [("traffic", 1), ("validate", 2)])
def test_only_commands_that_run_models_let_numpy_have_threads(command: str, threads: int) -> None:
    code = f"""
import os
os.environ["OMP_NUM_THREADS"] = "2"
os.environ.pop("OPENBLAS_NUM_THREADS", None)
from specplan.main import main
main(["{command}", "--help"], standalone_mode=False)
import numpy, threadpoolctl
[library] = threadpoolctl.threadpool_info()
print(library["num_threads"])
"""
    ended = _python(code)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split()[-1] == str(threads)


def test_each_command_that_loads_a_model_is_one_that_runs_models() -> None:
    context = click.Context(main)
    commands = {name: main.get_command(context, name) for name in SUMMARIES}
    loading = {
        name
        for name, command in commands.items()
        if command and any(param.name == "trust_remote_code" for param in command.params)
    }
    assert {"measure", "validate"} <= loading <= {*RUN_MODELS}


def test_completing_command_names_imports_no_command() -> None:
    code = """
import os, sys
os.environ |= {"_SPECPLAN_COMPLETE": "bash_complete", "COMP_WORDS": "specplan p", "COMP_CWORD": "1"}
from specplan.main import main
try:
    main([])
except SystemExit:
    pass
assert not any(name.startswith("specplan.commands.") for name in sys.modules)
"""
    result = _python(code)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "plain,plan\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_completion_script(shell: str) -> None:
    if shell == "bash" and not Path("/bin/bash").exists():
        pytest.skip("click asks bash for its version")
    result = CliRunner().invoke(main, [], env={"_SPECPLAN_COMPLETE": f"{shell}_source"})
    assert "_SPECPLAN_COMPLETE" in result.stdout


def test_a_reader_that_leaves_early_hears_no_complaint() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        result = _python("from specplan.main import main; main(['--help'])", stdout=write)
    finally:
        os.close(write)
    assert (result.returncode, result.stderr) == (1, "")


def test_the_installed_program_is_this_one() -> None:
    script = Path(sys.executable).parent / "specplan"
    if not script.exists():
        pytest.skip("specplan is imported without being installed")
    result = subprocess.run([script, "--version"], capture_output=True, text=True, check=False)
    assert result.returncode == 0
    assert result.stdout.startswith("specplan, version ")
