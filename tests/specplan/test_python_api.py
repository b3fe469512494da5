"""`import specplan`: its names, its page, and the same numbers as the commands."""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import specplan as sp
from estimator.profiles.profile_file import read_profile, write_profile
from specplan.main import main
from tests.engines.metrics_pages import BENCH
from tests.specplan.made_profiles import made_profile
from tests.specplan.plan_inputs import answered

ROOT = Path(__file__).parents[2]
NAMES = [
    "Acceptance", "AcceptedFraction", "Arrivals", "Batching", "Best", "BlockEfficiency",
    "ByPosition", "Cost", "CostSetting", "Costs", "EngineSettings", "Iid", "PlanResult", "Plans",
    "PromptSettings", "Ratio", "Recorded", "Roofline", "Run", "Runs", "Simulation", "SizeSettings",
    "SizedDraft", "Times", "Tuning", "Typical",
    "compare", "measure", "observe", "plan", "size", "traffic", "tune", "validate",
]  # fmt: skip
# Two short texts of six new tokens.
TEXTS = sp.PromptSettings(
    prompts=("def add(a, b):", "import os\n"), num_prompts=2, max_new_tokens=6
)
# Only the times of one batch are stated.
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text("utf-8"), re.S)


def python(code: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Returns a fresh interpreter's run of some code, or of -m, in a folder."""
    command = [sys.executable, *(arguments or ("-c", code))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def plain(value: Any) -> Any:
    """Returns what JSON makes of an object."""
    from estimator.writing import json_text

    return json.loads(json_text(value))


def on_gpu(**stated: Any) -> Any:
    """Returns a cost on a GPU."""
    names = ("llama-3.1-8b", "llama-3.2-1b")
    return sp.Roofline(
        *(ROOT / f"docs/configs/{name}.json" for name in names), **{"gpu": "h100", **stated}
    )


def under_load(**stated: Any) -> Any:
    """Returns what a server under load does."""
    arrivals = sp.Arrivals(**{"rate": 1, "prompt_tokens": 200, "output_tokens": 100, **stated})
    batching = sp.Batching(prompt_ms=40)
    return sp.traffic(sp.Iid(0.7), sp.Times(20, 2), arrivals=arrivals, batching=batching)


def test_the_names_are_these() -> None:
    assert sp.__all__ == NAMES
    assert set(NAMES) <= set(dir(sp))
    for name in NAMES:
        assert getattr(sp, name).__doc__
    with pytest.raises(AttributeError, match="module 'specplan' has no attribute 'plam'"):
        sp.plam  # noqa: B018


def test_the_import_loads_nothing_heavy_and_planning_no_torch(tmp_path: Path) -> None:
    loaded = "import sys; heavy = {'numpy', 'torch', 'click', 'matplotlib'} & set(sys.modules)"
    ran = python(f"import specplan; {loaded}; print(sorted(heavy))", tmp_path)
    assert ran.stdout == "[]\n", ran.stderr
    code = f"import specplan as sp; sp.plan(sp.Iid(0.8), sp.Ratio(0.05)); {loaded}; print(heavy)"
    assert "torch" not in python(code, tmp_path).stdout
    assert "matplotlib" not in python(code, tmp_path).stdout


@pytest.mark.usefixtures("few_requests")
def test_every_block_of_the_page_runs_and_is_what_commands_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS) == 14
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(block, names)
    assert (tmp_path / "plan.png").stat().st_size > 10_000
    # The page measured, validated and tuned with two texts.
    file = tmp_path / "profile.json"
    assert sp.plan(sp.Recorded(file)).json() == sp.plan(sp.Recorded(file), sp.Recorded(file)).json()
    ours = plain(sp.plan(sp.Recorded(file), sp.Ratio(0.1)).json())
    assert ours == answered("plan", "--profile", str(file), "--c", "0.1")
    assert [row.gamma for row in names["validation"].rows] == [2]
    assert names["row"].identical_to_target
    tuned = names["tuned"]
    assert {row.gamma for row in tuned.rows} >= {0, tuned.advised[0].gamma}


def test_the_calls_that_the_page_does_not_run_fit_the_functions() -> None:
    text = re.sub(r"```.*?```", "", (ROOT / "docs/python.md").read_text("utf-8"), flags=re.S)
    lines = re.findall(r"^    ((?:\w+ = )?sp\..*)$", text, re.M)
    assert len(lines) == 7
    for call in ast.walk(ast.parse("\n".join(lines))):
        name = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
        if isinstance(call, ast.Call) and name.startswith("sp."):
            known = inspect.signature(getattr(sp, name.removeprefix("sp."))).parameters
            assert {keyword.arg for keyword in call.keywords} <= set(known), name


def runs() -> Any:
    return sp.Runs([sp.Run.of(0, tpot=7.1), sp.Run.of(3, tpot=4.1, length=2.85)])


OF_RUNS = "--run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,length=2.85"


@pytest.mark.parametrize(
    ("stated", "options"),
    [
        (lambda: (sp.Iid(0.8), sp.Ratio(0.05)), "--alpha 0.8 --c 0.05"),
        (
            lambda: (sp.ByPosition([0.8, 0.6]), sp.Times(20, 2, verify_ms={4: 25}, overhead_ms=1)),
            "--acceptance-by-position 0.8,0.6 --target-ms 20 --draft-ms 2 --verify-ms 4=25 "
            "--overhead-ms 1",
        ),
        (
            lambda: (sp.AcceptedFraction(0.6, 4), sp.Ratio(0.05)),
            "--accepted-fraction 0.6 --at-gamma 4 --c 0.05",
        ),
        (
            lambda: (sp.BlockEfficiency(2.5, 3), sp.Ratio(0.05)),
            "--block-efficiency 2.5 --at-gamma 3 --c 0.05",
        ),
        (
            lambda: (sp.Typical("eagle3-llama-3.1-8b-chat"), sp.Ratio(0.05)),
            "--typical eagle3-llama-3.1-8b-chat --c 0.05",
        ),
        (
            lambda: (sp.ByPosition([0.8, 0.6]), runs()),
            f"--acceptance-by-position 0.8,0.6 {OF_RUNS}",
        ),
        (lambda: (runs(),), OF_RUNS),
    ],
)
def test_a_plan_is_the_plan_of_the_command(stated: Any, options: str) -> None:
    assert plain(sp.plan(*stated()).json()) == answered("plan", *options.split())


def test_a_plan_on_a_gpu_is_that_of_the_command() -> None:
    names = ("llama-3.1-8b", "llama-3.2-1b")
    target, draft = (str(ROOT / f"docs/configs/{name}.json") for name in names)
    cost = sp.Roofline(target, draft, gpu="h100", engine="vllm", batch=4)
    options = (
        "--alpha", "0.7", "--target-config", target, "--draft-config", draft, "--gpu", "h100",
        "--engine", "vllm", "--batch", "4",
    )  # fmt: skip
    found, theirs = sp.plan(sp.Iid(0.7), cost), answered("plan", *options)["curve"]
    assert plain(found.json())["curve"] == theirs
    # Its arrays are bounded as the JSON is: no interval exceeds the tokens of a call.
    assert found.curve.low.tolist() == [their["improvement_factor_low"] for their in theirs]
    assert found.curve.high.tolist() == [each["improvement_factor_high"] for each in theirs]
    assert (found.curve.high <= found.curve.expected_tokens).all()


def test_traffic_is_that_of_the_command() -> None:
    from simulator.traffic.answer import Traffic

    found: Traffic = under_load(rate=[1.0])
    stated = "--alpha 0.7 --target-ms 20 --draft-ms 2 --rate 1 --prompt-tokens 200 --prompt-ms 40"
    options = [*stated.split(), "--output-tokens", "100"]
    data = answered("traffic", *options)
    assert f"{found}\n" == CliRunner().invoke(main, ["traffic", *options]).stdout
    assert plain(found.max_rate) == pytest.approx(data["most_requests_per_second"], rel=1e-12)


def test_counts_of_a_server_are_those_of_the_command_and_planned_as_there(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("draft acceptance rate = 0.57576 (  171 accepted /   297 generated)\n")
    seen = sp.observe(str(log), gamma=4)
    data = answered("observe", str(log), "--gamma", "4", "--c", "0.05")
    assert data["accepted_fraction"] == pytest.approx(seen.accepted_fraction)
    assert seen.accepted_fraction == pytest.approx(171 / 297)
    assert plain(sp.plan(seen, sp.Ratio(0.05), gamma=4).json()) == data["plan"]


def test_an_observed_time_joins_the_runs(tmp_path: Path) -> None:
    bench = tmp_path / "bench.json"
    bench.write_text(BENCH)
    seen = sp.observe(str(bench), gamma=3)
    data = answered("observe", str(bench), "--gamma", "3", "--run", "gamma=0,tpot=7.1,batch=4")
    ours = sp.plan(seen, sp.Runs([sp.Run.of(gamma=0, tpot=7.1, batch=4)]), gamma=3)
    assert plain(ours.json()) == data["plan"]
    assert data["plan"]["cost"]["evidence"] == 2
    assert sp.plan(seen).row.cost.posterior is not None


def test_runs_of_several_batches_are_planned_for_one() -> None:
    stated = [(0, 7.0, None, 1), (3, 4.0, 2.8, 1), (0, 11.0, None, 16), (3, 9.0, 2.8, 16)]
    runs = [sp.Run.of(g, tpot=ms, length=length, batch=b) for g, ms, length, b in stated]
    options = [
        f"--run=gamma={g},tpot={ms},batch={b}" + (f",length={length}" if length else "")
        for g, ms, length, b in stated
    ]
    both = sp.plan(sp.Runs(runs))
    assert [each.batch for each in both] == [1, 16]
    assert plain(both.json()) == answered("plan", *options)
    assert both.crossing == 16
    assert both.schedule[-1].last_batch == 16
    ours = plain(sp.plan(sp.Runs(runs, batch=16)).json())
    assert ours == answered("plan", *options, "--batch", "16")


def test_a_profile_object_is_planned_as_its_file(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    write_profile(made_profile("small", alpha=0.7, c=0.1), file)
    profile = read_profile(file)
    for ours, options in (
        (sp.plan(profile), []),
        (sp.plan(sp.Recorded(profile)), []),
        (sp.plan(profile, sp.Ratio(0.1)), ["--c", "0.1"]),
    ):
        assert plain(ours.json()) == answered("plan", "--profile", str(file), *options)
    assert sp.plan(sp.Iid(0.6), profile).json() == sp.plan(sp.Iid(0.6), sp.Recorded(file)).json()
    with pytest.raises(ValueError, match="profile must hold costs, got only acceptance"):
        sp.plan(replace(profile, times=None))


def test_a_pair_is_measured_and_validated_on_an_engine() -> None:
    engine = sp.EngineSettings("transformers", threads=1)
    profile = sp.measure(engine=engine, max_gamma=2, prompts=TEXTS)
    assert profile is not None
    assert profile.setup.engine == "transformers"
    assert sp.plan(profile).row.alpha == profile.alpha.value
    [found] = sp.validate(engine="transformers", gammas=[2], temperatures=[0], prompts=TEXTS)
    assert [row.gamma for row in found.rows] == [2]
    assert found.rows[0].identical_to_target


def test_a_tuning_makes_no_more_runs_than_it_may() -> None:
    how = sp.Tuning(text=TEXTS, max_gamma=8, worth=0.01, max_runs=1)
    assert len(sp.tune(search=how).rows) == 2
    planned = sp.tune(search=replace(how, dry_run=True))
    assert [row.ms_per_token for row in planned.rows] == [None, None]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sp.plan(sp.Iid(1.2), sp.Ratio(0.05)), r"alpha must lie in \[0, 1\], got 1.2"),
        (lambda: sp.plan(sp.Iid(0.8), sp.Ratio(-1)), "c must be .* got -1"),
        (lambda: sp.plan(sp.Iid(0.8)), "cost must be a Cost .* got None"),
        (lambda: sp.plan(sp.Ratio(0.1), sp.Ratio(0.1)), "acceptance must be an Acceptance"),
        (
            lambda: sp.plan(sp.Runs([sp.Run.of(0, tpot=7.1)])),
            "state an acceptance: the length of a run",
        ),
        (
            lambda: sp.plan(sp.Runs([sp.Run.of(3, tpot=4.1)])),
            "state an acceptance: the length of a run",
        ),
        (lambda: sp.Run.of(3, tpot=-1, length=2), "tpot must be above 0"),
        (lambda: sp.tune(draft="D", server="http://localhost:1"), "draft must not be given with"),
        (lambda: sp.tune(server="nowhere"), "nowhere"),
        (lambda: sp.Runs([]), "`runs` must have at least one run, got none"),
        (lambda: sp.plan(sp.Iid(0.8), on_gpu(engine="vlm")), "engine must be one of .* got 'vlm'"),
        (
            lambda: sp.plan(sp.Iid(0.8), on_gpu(gpu="h1000")),
            r"gpu must be a name .* got h1000 \(did you mean h100\?\)",
        ),
        (
            lambda: sp.plan(sp.Iid(0.8), sp.Ratio(0.1), near=200),
            "near must lie in .* got 200",
        ),
        (
            lambda: sp.plan(sp.Iid(0.8), sp.Ratio(0.1), draft_kind="E"),
            "draft_kind must be .* got 'E'",
        ),
        (lambda: sp.plan(sp.Typical("no-such"), sp.Ratio(0.1)), "`typical` must be a known name "),
        (
            lambda: sp.plan(sp.Iid(0.8), sp.Ratio(0.1), server="v"),
            "server must be .* got 'v'",
        ),
        (lambda: sp.plan(sp.Iid(0.8), sp.Ratio(0.1)).flags(), "must be given a server, got none"),
        (
            lambda: sp.plan(sp.BlockEfficiency(1, 0), sp.Ratio(0.1)),
            "gamma must be at least 1, got 0",
        ),
        (
            lambda: sp.Times(20, 2, verify_ms={1: 30}),
            "`verify_ms` must be of at least 2",
        ),
        (
            lambda: under_load(targets={"tptt": 9}),
            "ttft=MS, tpot=MS or both, above 0, got 'tptt=9'",
        ),
        (lambda: under_load(rate=-1), "rate must be above 0 requests a second, got -1"),
        (lambda: sp.measure(prompts=[]), "prompts must hold at least one prompt, got none"),
        (lambda: sp.measure(max_gamma=0), "max_gamma must be at least 1, got 0"),
        (lambda: sp.PromptSettings(max_new_tokens=0), "max_new_tokens must be at least 1, got 0"),
        (lambda: sp.Tuning(max_gamma=0), "max_gamma must be at least 1, got 0"),
        (lambda: sp.Tuning(max_runs=0), "max_runs must be at least 1, got 0"),
        (lambda: sp.Tuning(worth=-1), "worth must be above 0 %, got -1"),
        (
            lambda: sp.tune(server=sp.EngineSettings("vllm", concurrencies=(8,))),
            r"concurrencies of a tuning must be its search's, got \(8,\)",
        ),
        (lambda: sp.measure(engine="nope"), "engine must be one of llama.cpp, mlx, .* got nope"),
        (lambda: sp.observe(), "observe needs at least one source, got none"),
    ],
)
def test_impossible_plans_raise_a_value_error(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_flags_are_those_of_the_command() -> None:
    asked = ["--alpha", "0.7", "--c", "0.05", "--draft-kind", "eagle3", "--export", "vllm"]
    found = sp.plan(sp.Iid(0.7), sp.Ratio(0.05), draft_kind="eagle3", server="vllm")
    assert found.flags() == answered("plan", *asked)["export"]
    assert '"method": "eagle3"' in found.flags()


def test_a_notebook_shows_a_table_with_the_best_row() -> None:
    found = sp.plan(sp.Iid(0.8), sp.Ratio(0.05))
    shown = found._repr_html_()
    assert shown.startswith("<p><b>Draft 7 tokens per block (K = 7): 3.08 times")
    assert "<tr><td><b>7</b></td><td><b>4.16</b></td><td><b>3.08</b></td></tr>" in shown
    assert "<tr><td>8</td><td>4.33</td><td>3.09</td></tr>" in shown
    assert '<img alt="Speed-up by draft length" src="data:image/png;base64,' in shown
    assert repr(sp.plan(sp.Iid(0.1), sp.Ratio(0.5))).startswith("<plan: best gamma 0, ")


def test_the_program_runs_in_a_folder_with_modules_of_our_names(tmp_path: Path) -> None:
    (tmp_path / "simulator.py").write_text("raise SystemExit('the wrong simulator')")
    (tmp_path / "figures").mkdir()
    ran = python("", tmp_path, "-m", "specplan", "plan", "--alpha", "0.8", "--c", "0.05")
    assert ran.returncode == 0, ran.stderr
    assert "<- best" in ran.stdout


def test_a_module_of_our_name_is_refused_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "ngram.py").write_text("")
    ran = python("import specplan as sp; sp.plan", tmp_path)
    last = ran.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: specplan needs its own package 'ngram', but Python finds ")
    assert str(tmp_path / "ngram.py") in last


def test_traffic_takes_replicas_and_refuses_a_burst() -> None:
    length = {"prompt_tokens": 200, "output_tokens": 100}
    costs = (sp.Iid(0.7), sp.Times(20, 2, verify_ms={8: 26}))
    batching = sp.Batching(prompt_ms=40, slots=1)
    alone, three = (
        sp.traffic(
            *costs, arrivals=sp.Arrivals(rate=n, replicas=n, **length), batching=batching
        ).max_rate
        for n in (1, 3)
    )
    assert three == pytest.approx(3 * alone)
    with pytest.raises(ValueError, match="burst is what the command `specplan traffic` takes"):
        sp.traffic(*costs, arrivals=sp.Arrivals(burst=10, **length), batching=batching)


def test_every_function_names_and_types_each_parameter() -> None:
    for name in sp.__all__:
        function = getattr(sp, name)
        if inspect.isfunction(function):
            for parameter in signature(function).parameters.values():
                assert parameter.kind is not Parameter.VAR_KEYWORD, name
                assert parameter.annotation is not Parameter.empty, name
