"""Changes the code that decides exactness in small ways; lists the changes that no test notices.

    pip install --editable '.[dev,mutation]' --constraint constraints.txt
    python scripts/mutation.py conversions replay

mutmut makes the changes, in a copy below --work, and runs on each the tests that reach it, out of
those that the table below names. Printed are, for each subject, how many changes there were, how
many failed a test, and the survivors as differences; docs/testing.md says what is left and why.
Without a subject all are tried, which takes an hour on two cores. mutmut changes neither
properties nor code outside functions.
"""

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("simulator", "reference", "ngram", "estimator", "studies", "figures", "specplan")
# One thread each: mutmut forks its workers, and threads do not survive that.
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

# A test failed, would never end, or ended the process.
NOTICED = ("killed", "timeout", "segfault")


@dataclass(frozen=True, slots=True)
class Subject:
    """Files to change, and the tests that should notice; patterns from the root."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


SUBJECTS = {
    "conversions": Subject(
        ("simulator/acceptance/tokens.py",),
        (
            "tests/simulator/acceptance/test_tokens.py",
            "tests/simulator/acceptance/test_divergence.py",
            "tests/simulator/acceptance/test_from_counts.py",
            "tests/simulator/test_bad_input.py",
        ),
    ),
    "replay": Subject(
        ("simulator/acceptance/replay.py",),
        (
            "tests/simulator/acceptance/test_replay.py",
            "tests/simulator/acceptance/test_acceptances.py",
            "tests/simulator/acceptance/test_divergence.py",
            "tests/simulator/acceptance/test_stopped_text.py",
            "tests/simulator/cost/test_extensions.py",
            "tests/simulator/test_bad_input.py",
        ),
    ),
    "curves": Subject(
        ("simulator/cost/curves.py",),
        (
            "tests/simulator/cost/test_cost*.py",
            "tests/simulator/test_bad_input.py",
            "tests/simulator/cost/test_extensions.py",
        ),
    ),
    "rules": Subject(
        ("reference/rules.py", "reference/verify.py"),
        (
            "tests/reference/test_verify.py",
            "tests/reference/test_decoder_exact_law.py",
            "tests/reference/test_decoder_lenience.py",
            "tests/reference/test_decoder_bad_input.py",
            "tests/reference/test_tree_verify.py",
            "tests/reference/drafters/test_trees.py",
            "tests/reference/rules/test_block_verification.py",
        ),
    ),
    "policies": Subject(
        ("reference/policies.py",),
        ("tests/reference/test_policies.py",),
    ),
    "laws": Subject(
        ("reference/laws.py",),
        (
            "tests/reference/test_laws.py",
            "tests/reference/test_verify.py",
        ),
    ),
    "loop": Subject(
        ("reference/speculative.py", "reference/records.py", "studies/bild/decoder.py"),
        (
            "tests/reference/test_decoder_exact_law.py",
            "tests/reference/test_tree_verify.py",
            "tests/reference/test_decoder_bad_input.py",
            "tests/studies/bild/test_bild_decoder.py",
            "tests/reference/test_decoder_stopping.py",
            "tests/reference/test_decoder_timing.py",
            "tests/reference/test_sessions.py",
        ),
    ),
    "branches": Subject(
        ("reference/drafters/trees.py",),
        ("tests/reference/drafters/test_trees.py",),
    ),
    "trees": Subject(
        ("simulator/schemes/trees.py", "simulator/schemes/tree_choice.py"),
        (
            "tests/simulator/schemes/test_tree_schemes.py",
            "tests/simulator/schemes/test_tree_choice.py",
            "tests/simulator/test_bad_input.py",
        ),
    ),
    "intervals": Subject(
        ("estimator/intervals.py",),
        (
            "tests/estimator/test_intervals.py",
            "tests/estimator/validation/test_validation_file.py",
        ),
    ),
    "costs": Subject(
        ("estimator/timing/rates.py",),
        (
            "tests/estimator/costs/test_costs.py",
            "tests/estimator/timing/test_repeats.py",
            "tests/estimator/timing/test_speeds.py",
            "tests/estimator/profiles/test_workloads.py",
            "tests/estimator/validation/test_validation.py",
        ),
    ),
}


def mutate(name: str, work: Path) -> None:
    """Prints the score and the survivors of a subject."""
    subject = SUBJECTS[name]
    copy = work / name
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    for folder in (*PACKAGES, "tests"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    tests = sorted(
        str(path.relative_to(ROOT)) for pattern in subject.tests for path in ROOT.glob(pattern)
    )
    (copy / "pyproject.toml").write_text(
        (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        + "\n[tool.mutmut]\n"
        + f"source_paths = {sorted({file.split('/')[0] for file in subject.files})}\n"
        + f"only_mutate = {list(subject.files)}\n"
        + f"also_copy = {list(PACKAGES)}\n"
        + f"pytest_add_cli_args_test_selection = {tests}\n",
        encoding="utf-8",
    )
    mutmut(copy, "run", "--max-children", str(os.cpu_count()))
    late = [mutant for mutant, outcome in outcomes_of(copy).items() if outcome == "timeout"]
    if late:  # an endless loop, or a machine that was busy
        mutmut(copy, "run", "--max-children", "1", *late)
    outcomes = outcomes_of(copy)
    left = [mutant for mutant, outcome in outcomes.items() if outcome not in NOTICED]
    print(f"{name}: {len(outcomes) - len(left)} of {len(outcomes)} noticed", flush=True)
    for mutant in left:
        print(mutmut(copy, "show", mutant), flush=True)


def outcomes_of(copy: Path) -> dict[str, str]:
    """Returns what mutmut recorded of each mutant."""
    lines = mutmut(copy, "results", "--all", "true").splitlines()
    return dict(line.strip().split(": ") for line in lines)


def mutmut(copy: Path, *arguments: str) -> str:
    """Returns what mutmut prints; ends the script with it if mutmut fails."""
    run = subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        cwd=copy,
        env={**os.environ, **THREADS},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if run.returncode != 0:
        sys.exit(run.stdout[-3000:])
    return run.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("subjects", nargs="*", help=f"any of {', '.join(SUBJECTS)}; all if none")
    parser.add_argument("--work", type=Path, default=Path("build/mutation"), help="of the copies")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.subjects if name not in SUBJECTS]
    if unknown:
        parser.error(f"subject must be one of {', '.join(SUBJECTS)}, got {unknown[0]}")
    for name in arguments.subjects or SUBJECTS:
        mutate(name, arguments.work)


if __name__ == "__main__":
    main()
