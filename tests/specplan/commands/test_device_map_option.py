"""`--device-map` of measure, validate and generate."""

from programs import RunJson


def test_a_mapped_target_is_measured_as_it_is_on_one_device(
    run_json: RunJson, small: list[str]
) -> None:
    measure = ("measure", *small, "--max-gamma", "2", "--repeats", "1")
    plain = run_json(*measure)
    assert plain["setup"]["flags"] == []
    for device_map in ("auto", '{"": "cpu"}'):
        mapped = run_json(*measure, "--device-map", device_map)
        assert mapped["alpha"] == plain["alpha"]
        assert mapped["setup"]["flags"] == [f"--device-map {device_map}"]
        assert mapped["setup"]["device"] == "cpu"


def test_a_mapped_target_validates_and_generates(run_json: RunJson, small: list[str]) -> None:
    mapped = (*small, "--device-map", "auto", "--temperature", "0")
    rows = run_json("validate", *mapped, "--gamma", "2", "--repeats", "1")["rows"]
    assert [row["identical_to_target"] for row in rows] == [True]
    one = (*small[:6], "--temperature", "0")
    plain = run_json("generate", *one)
    assert run_json("generate", *one, "--device-map", "auto")["tokens"] == plain["tokens"]
