"""Pages have the flags of the server that --engine names, or say which option gives them."""

import json
from pathlib import Path

import pytest

from specplan.reports.first_runs import cautious
from specplan.reports.page.pictures import Section
from specplan.reports.page.shown import section_of
from tests.specplan.plan_inputs import run

pytestmark = pytest.mark.usefixtures("few_draws")

CONFIGS = Path(__file__).parents[3] / "docs" / "configs"
MODELS = (
    f"--target-config {CONFIGS / 'llama-3.1-8b.json'} "
    f"--draft-config {CONFIGS / 'llama-3.1-8b-eagle3.json'} --cost-model public"
)
LOAD = f"--rate 2,9 --prompt-tokens 500 --output-tokens 200 {MODELS} --alpha 0.8 --slots 64"


def section_in(words: str, command: str, folder: Path) -> Section:
    """Returns the section of the file that a command writes."""
    file = folder / "answer.json"
    shown = run(f"{words} -o {file}", command)
    assert shown.exit_code == 0, shown.output
    return section_of(json.loads(file.read_text()))


def test_traffic_gives_the_flags_of_the_named_server(tmp_path: Path) -> None:
    vllm = section_in(f"{LOAD} --gpu h100 --engine vllm", "traffic", tmp_path)
    assert list(vllm.flags) == ["vllm"]
    assert '"method": "eagle3"' in vllm.flags["vllm"]
    unnamed = section_in(f"{LOAD} --gpu h100", "traffic", tmp_path)
    assert unnamed.flags == {}
    assert unnamed.export.startswith("With --engine SERVER")


def test_a_server_without_schedules_gets_one_k_for_each_rate(tmp_path: Path) -> None:
    load = LOAD.replace("2,9", "1,40")
    text = section_in(f"{load} --gpu h100 --engine llama.cpp", "traffic", tmp_path).flags[
        "llama.cpp"
    ]
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert len({part["gamma"] for part in answer["schedule"]}) > 1
    for row in answer["rows"]:
        if row["speculation"]:
            assert f"--spec-draft-n-max {row['gamma']}" in text
            assert f"{row['rate']:g}" in text


@pytest.mark.parametrize("command", ["plan", "traffic"])
def test_each_gpu_has_its_flags(command: str, tmp_path: Path) -> None:
    words = {"plan": f"{MODELS} --alpha 0.8", "traffic": LOAD}[command]
    section = section_in(f"{words} --gpu l4,h100 --engine vllm", command, tmp_path)
    # Numbers of one GPU are not among the inputs of all.
    assert not {"c", "ms per token without speculation"} & {name for name, _ in section.inputs}
    flags = section.flags
    assert all(name.startswith("vllm") for name in flags)
    assert len(flags) == len(set(flags.values()))
    assert all("num_speculative_tokens" in text for text in flags.values())
    if command == "traffic":  # machines that do not serve the rates have no flags
        assert "l4 is overloaded at 9/s." in section.sure
        assert list(flags) == ["vllm, h100-sxm, TP 1"]
        few = section_in(
            f"{words.replace('2,9', '0.1')} --gpu l4,h100 --engine vllm", command, tmp_path
        )
        assert list(few.flags) == ["vllm, h100-sxm, TP 1", "vllm, l4, TP 1"]


def test_a_tree_has_flags_for_each_batch() -> None:
    words = f"--acceptance-by-rank 0.7,0.12 {MODELS} --gpu h100 --batch 1,8 --max-nodes 8"
    several = run(f"{words} --export sglang", "tree").stdout.splitlines()
    assert several[0].startswith("# Not run yet: run the chain of K = ")
    assert several[1::6] == ["# at batch 1:", "# at batch 8:"]
    for batch, *text in zip((1, 8), *(several[at::6] for at in range(2, 7)), strict=True):
        one = run(f"{words.replace('1,8', str(batch))} --export sglang", "tree").stdout
        assert one.splitlines()[1:] == text


def test_flags_are_comments_that_name_the_runs_to_make_first() -> None:
    flags = "# why\n--k 2"
    assert cautious(flags, {1: [], 8: []}) == flags
    assert cautious(flags, {1: [2, 0], 8: [3, 0]}).splitlines() == [
        "# Undecided: run K = 2, K = 3 and K = 0 (no speculation) first and plan again; take the # "
        "away for a run with drafts, and for good if it is still advised.",
        "# why",
        "# --k 2",
    ]
    both = cautious("# at batch 1:\n--k 2\n# at batch 8:\n--k 3", {1: [2], 8: [3]})
    assert both.startswith(
        "# Not run yet: run K = 2 and K = 3 first and plan again; take the # of "
    )
    some = cautious(flags, {1: [], 8: [2]}).splitlines()
    assert some[0].startswith("# Not run yet at batch 8: run K = 2 first and plan again; take the ")
    assert cautious(flags, {5: [2], 20: []}, "rate").startswith("# Not run yet at rate 5: ")


def test_several_batches_wait_for_a_run_as_one_batch_does() -> None:
    runs = (
        "--run gamma=0,tpot=10,batch=1 --run gamma=5,tpot=10.3,length=3,batch=1 "
        "--run gamma=0,tpot=20,batch=8 --run gamma=5,tpot=23,length=3,batch=8"
    )
    tops = {"1": "Not run yet: run K = 2 first and plan again; take the # away for a run",
            "1,2,4,8": "Run K = 2 at batch 1 and context 1024 first. These"}  # fmt: skip
    for batches, top in tops.items():  # those between the runs wait, too
        lines = run(f"{runs} --batch {batches} --export vllm").stdout.splitlines()
        assert lines[0].startswith(f"# {top}")
        assert all(line.startswith("#") for line in lines)
    chosen = run(f"{runs} --batch 1,2,4,8 --gamma 2 --export vllm").stdout.splitlines()
    assert chosen[-1].startswith("--speculative-config")
