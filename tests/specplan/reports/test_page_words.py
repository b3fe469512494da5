"""Words of pages: one answer on each, draft lengths as K, and labels that hide nothing."""

import json
import re
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from specplan.main import main
from specplan.reports.page import page
from specplan.reports.page.drawn import drawn
from specplan.reports.page.inputs import Document
from specplan.reports.page.observations import tree_section
from specplan.reports.page.pictures import Chart, Section, Threshold, in_words, series
from specplan.reports.page.shown import section_of
from specplan.reports.page.traffic import traffic_section

SLOW = (
    "plan --run gamma=0,tpot=10,batch=1 --run gamma=3,tpot=12,length=2,batch=1 "
    "--run gamma=0,tpot=20,batch=8 --run gamma=3,tpot=30,length=2,batch=8"
)
SERVED = (
    "traffic --rate 0.5,2 --prompt-tokens 9 --output-tokens 50 --prompt-ms 20 --slots 4 "
    "--run gamma=0,tpot=10,batch=1 --run gamma=0,tpot=20,batch=4 "
    "--run gamma=2,tpot=12,length=2,batch=1 --run gamma=2,tpot=30,length=2,batch=4"
)


def answered(command: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, [*command.split(), "--json"])
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = json.loads(result.stdout)
    return data


def words(section: Section) -> str:
    return " ".join([section.headline, *section.sure, *(str(table) for table in section.tables)])


def test_where_no_k_gains_one_and_several_settings_show_the_best_k() -> None:
    one, several = (answered(f"{SLOW} --batch {batch}") for batch in ("1", "1,8"))
    most = max(point["improvement_factor"] for point in one["curve"])
    best = one["drafting"]
    assert 0.99 * most <= best["improvement_factor"] <= most < 1
    number = f"{best['improvement_factor']:.2f} ["
    gains = f"gives {best['improvement_factor']:.2f} times the speed without speculation"
    assert section_of(one).headline.startswith(
        f"Do not speculate: the best, K = {best['gamma']}, {gains} ("
    )
    row = section_of(several).tables[0].rows[0]
    assert row[:3] == ["1", "none", str(best["gamma"])]
    assert row[3].startswith(number)
    assert section_of(several).charts[0].series[0].points[0].y == best["improvement_factor"]
    other = several["rows"][1]["drafting"]["improvement_factor"]
    assert section_of(several).headline == (
        f"Do not speculate up to batch 8 (the best K gives {other:.2f} to "
        f"{best['improvement_factor']:.2f} times the speed without speculation)."
    )


def test_a_page_of_gpus_begins_each_part_with_the_gpu_of_its_headline() -> None:
    folder = Path(__file__).parents[3] / "docs" / "configs"
    target, draft = folder / "llama-3.1-8b.json", folder / "llama-3.2-1b.json"
    pair = f"plan --target-config {target} --draft-config {draft} --alpha 0.7 --engine vllm"
    flags = {f"vllm, {gpu}, TP 1": "--flag" for gpu in ("h100-sxm", "h200")}
    section = section_of(answered(f"{pair} --gpu h100,h200") | {"flags": flags})
    assert section.headline.startswith("h200 is expected to be the fastest at batch 1: ")
    assert section.headline.endswith(" on it first.")
    assert section.sure[1].startswith("No odds between GPUs are computed. Tokens/s without spec")
    assert section.sure[-1].count("to this command with --gpu h200 only (MS: ") == 1
    (low_end,) = [line for line in section.sure if line.startswith("The low end")]
    assert low_end.startswith("The low end at GPU h200 (")
    assert [name.split(", ")[1] for name in section.flags] == ["h200", "h100-sxm"]
    assert section.explorer is not None
    (names,) = [axis["names"] for axis in section.explorer["axes"] if axis["key"] == "gpu"]
    assert names[section.explorer["starts"][0]["gpu"]] == "h200"
    batches = section_of(answered(f"{pair} --gpu h100 --batch 1,2")).sure
    assert any(line.startswith("The low end at batch 1 (") for line in batches)
    assert batches[-1].startswith("Next: run K = 0 (no speculation) and K = ")


def test_a_page_explains_draft_in_its_flags_and_the_rate_of_its_slider() -> None:
    answer = answered("plan --alpha 0.8 --c 0.05")
    hint = "DRAFT: write the path or name of your draft."
    for name, shown in (("DRAFT", True), ("small.gguf", False)):
        section = section_of(answer | {"flags": {"llama.cpp": f"--model-draft {name}"}})
        assert (hint in page.page([section], title="t")) == shown
    bare = Section(kind="Plan", about="", headline="", explorer={"axes": [{"label": "α, rate"}]})
    assert [word for word, _ in bare.words] == ["α"]


def test_a_stated_draft_length_is_the_one_shown_in_each_row() -> None:
    answer = answered("plan --alpha 0.6,0.9 --c 0.05 --gamma 2")
    rows = section_of(answer).tables[0].rows
    shown = [(row[2], row[3]) for row in rows]
    assert shown == [("2", f"{point['improvement_factor']:.2f}") for point in answer["rows"]]


def test_c_is_explained_where_blocks_hold_more_than_it_says() -> None:
    inputs = dict(section_of(answered(f"{SLOW} --batch 1")).inputs)
    assert "a block also verifies, and has a fixed time" in inputs["c"]
    assert dict(section_of(answered("plan --alpha 0.8 --c 0.05")).inputs)["c"] == "0.05"


def test_traffic_shades_the_interval_of_the_capacity_and_folds_its_notes() -> None:
    answer = answered(SERVED)
    section = traffic_section(Document("", "traffic", answer))
    ways = [tuple(answer[f"most_requests_per_second{way}_{end}"] for end in ("low", "high"))
            for way in ("", "_without")]  # fmt: skip
    spans = section.charts[0].spans
    assert [(span.first, span.last, span.colour) for span in spans] == [
        (*ends, colour) for colour, ends in enumerate(ways)
    ]
    assert "interval of each capacity" in section.charts[0].reading
    assert section.notes == answer["notes"]
    exact = answer | {f"most_requests_per_second{way}_{end}": None
                      for way in ("", "_without") for end in ("low", "high")}  # fmt: skip
    assert traffic_section(Document("", "traffic", exact)).charts[0].spans == []


def test_a_tree_without_a_gain_is_not_a_chain_of_0_tokens() -> None:
    none = answered("tree --acceptance-by-rank 0.1,0.05 --c 0.9 --max-nodes 4")
    chain = answered("tree --acceptance-by-rank 0.7 --c 0.05 --max-nodes 4")
    headlines = [tree_section(Document("", "tree", tree)).headline for tree in (none, chain)]
    assert headlines[0] == "Do not speculate: neither a tree nor a chain gains."
    assert headlines[1].startswith("Draft a chain of K = ")


def test_draft_lengths_are_k_in_words_and_options_keep_their_names() -> None:
    plain = Section(
        kind="Plan", about="", headline="Draft with d, γ = 8.", notes=["best at gamma 3, 5: gamma"],
        sure=["add --run gamma=0,tpot=MS, or --gamma 4"], command="specplan plan --gamma 4",
    )  # fmt: skip
    said = in_words(plain)
    assert said.headline == "Draft with d, K = 8."
    assert said.notes == ["best at K = 3, 5: K"]
    assert said.sure == plain.sure
    assert said.command == plain.command
    docs = Path(__file__).parents[3] / "docs" / "examples"
    compared = answered(f"compare {docs / 'embedded.json'} {docs / 'lookup.json'}")
    shown = words(page.section(Document("", "compare", compared)))
    assert "speed-up at K = 4" in shown
    assert not re.search("gamma|γ", shown)


def test_bars_hide_no_label_of_a_level() -> None:
    bars = series("a", 0, [(0, 1.5)], "bars")
    level = Threshold(1.0, "without speculation")
    chart = Chart("key", "Title", "Reading.", "x", "y", bars, levels=[level], categories=["one"])
    assert chart.explained == "Reading. Horizontal line: without speculation."
    axes = drawn(Section(kind="Plan", about="", headline="h", charts=[chart])).axes[0]
    assert "without speculation" not in [text.get_text() for text in axes.texts]
    legend = axes.get_legend()
    assert legend is not None
    assert "without speculation" in [text.get_text() for text in legend.get_texts()]
    assert Chart("key", "T", "Reading.", "x", "y", bars, levels=[level]).explained == "Reading."
