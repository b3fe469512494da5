"""Gathers BiLD sweeps and alignments in the file that the figures are drawn from.

    specplan validate --decoder bild ... --json > sweep.json
    specplan align ... --json > align.json
    python benchmarks/bild.py --machine "two cores of ..." -o figures/results/bild.json \
        --sweep translation:unaligned=sweep.json --alignment translation=align.json

docs/bild.md has the commands of the file that is there. Sweeps at temperature 0 count as greedy,
others by their nucleus. Rows are kept as they were printed, one a line.
"""

import argparse
import json
from datetime import date
from pathlib import Path
from typing import Any

from reference.atomic import whole_file


def named_file(text: str) -> tuple[str, Path]:
    """Returns NAME=FILE as name and path."""
    name, _, path = text.partition("=")
    return name, Path(path)


def sweep_of(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Returns what `validate --decoder bild --json` printed of TASK:DRAFT as the figures read
    it."""
    task, _, draft = name.partition(":")
    [summary] = document["summaries"]
    greedy = summary["temperature"] == 0
    return {
        "task": task,
        "draft": draft,
        "sampling": "greedy" if greedy else f"nucleus {document['top_p']:g}",
        "metric": summary["metric"],
        "prompts": document["prompts"],
        "repeats": document["repeats"],
        **{key: value for key, value in summary.items() if key.endswith("_error_percent")},
        "noise_percent": summary["noise_percent"],
        "c": summary["c"],
        "rows": document["rows"],
    }


def text_of(result: dict[str, Any]) -> str:
    """Returns the file's text: JSON with a line for each row."""
    parts = [f'"machine": {json.dumps(result["machine"])}', f'"date": "{result["date"]}"']
    sweeps = []
    for sweep in result["sweeps"]:
        rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in sweep["rows"])
        head = json.dumps({key: value for key, value in sweep.items() if key != "rows"})
        sweeps.append(f'{head[:-1]}, "rows": [\n{rows}\n]}}')
    parts.append('"sweeps": [\n' + ",\n".join(sweeps) + "\n]")
    alignments = ",\n".join(json.dumps(each) for each in result["alignments"])
    parts.append(f'"alignments": [\n{alignments}\n]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Gather BiLD's measurements for the figures.")
    parser.add_argument("--sweep", type=named_file, action="append", default=[], metavar="T:D=FILE")
    parser.add_argument("--alignment", type=named_file, action="append", default=[],
                        metavar="T=FILE")
    parser.add_argument("--machine", required=True)
    parser.add_argument("--date", default=date.today().isoformat())
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    result = {
        "machine": arguments.machine,
        "date": arguments.date,
        "sweeps": [
            sweep_of(name, json.loads(path.read_text(encoding="utf-8")))
            for name, path in arguments.sweep
        ],
        "alignments": [
            {"task": task, **json.loads(path.read_text(encoding="utf-8"))}
            for task, path in arguments.alignment
        ],
    }
    with whole_file(arguments.output) as partial:
        partial.write_text(text_of(result), encoding="utf-8")
    print(f"Wrote {arguments.output}")


if __name__ == "__main__":
    main()
