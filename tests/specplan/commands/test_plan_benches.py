"""Plans from times that benches of both models wrote."""

import json
from pathlib import Path

from plan_inputs import MS, run_json


def test_costs_of_a_bench_take_the_place_of_milliseconds(tmp_path: Path) -> None:
    rows = [
        {"model_filename": "m", "n_prompt": n, "n_gen": 0, "avg_ns": ms * 1e6}
        for n, ms in ((1, 19), (4, 33), (8, 60))
    ]
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    stated = run_json(f"--alpha 0.8 {MS} --verify-ms 4=33 --verify-ms 8=60")
    assert run_json(f"--alpha 0.8 --costs {path} --draft-ms 1.6") == stated
    draft = tmp_path / "draft.json"
    # A pass over one token is a draft step; the draft verifies nothing.
    times = [{"n_prompt": n, "n_gen": 0, "avg_ns": ms * 1e6} for n, ms in ((1, 1.6), (4, 5))]
    draft.write_text(json.dumps(times), encoding="utf-8")
    assert run_json(f"--alpha 0.8 --costs {path} --draft-costs {draft}") == stated
