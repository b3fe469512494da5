"""One page of each kind that commands write, made from real inputs when the site is built."""

import shlex
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

from click.testing import CliRunner

from specplan.main import main as specplan

ROOT = Path(__file__).parents[2]
_MODELS = (
    "--target-config docs/configs/llama-3.1-8b.json --draft-config docs/configs/llama-3.2-1b.json"
)
_PLANNED = f"{_MODELS} --alpha 0.7"
_REQUESTS = "--prompt-tokens 500 --output-tokens 200"
# Each page's name, title and command; a command without --page writes its page with -o.
EXAMPLES = {
    "plan": ("Plan from runs of a server",
             "plan --run gamma=0,tpot=7.1 --run gamma=3,tpot=4.1,length=2.85 --export vllm"),
    "plan-with-sliders": ("Plan with three sliders", "plan --alpha 0.8 --c 0.05 --export vllm"),
    "plan-of-a-gpu": ("Plan of a GPU, with a slider",
                      f"plan {_PLANNED} --gpu h100 --engine vllm --export vllm"),
    "plan-by-batch": ("Plan by batch", f"plan {_PLANNED} --gpu h100 --engine vllm "
                      "--batch 1,2,4,8,16,32,64,128,256 --export vllm"),
    "plan-by-gpu": ("Plan of several GPUs", f"plan {_PLANNED} --gpu h100,h200,l40s --engine vllm"),
    "traffic": ("Traffic", f"traffic {_PLANNED} --gpu h100 --rate 5,20,40 {_REQUESTS} "
                "--slo ttft=500,tpot=20 --engine vllm --simulate"),
    "traffic-by-gpu": ("Traffic of several machines",
                       f"traffic {_PLANNED} --gpu h100,h200,l40s --rate 5,20 {_REQUESTS} "
                       "--slo ttft=500,tpot=20 --engine vllm"),
    "size": ("How many GPUs", f"size --rate 30 {_REQUESTS} --slo ttft=500,tpot=8 --target-config "
             "docs/configs/llama-3.1-8b.json --draft config=docs/configs/llama-3.1-8b-eagle3.json,"
             "alpha=0.8,name=eagle3 --gpu h100 --gpus-per-replica 1,2 --engine vllm"),
    "tree": ("Tree", f"tree --acceptance-by-rank 0.7,0.12,0.05,0.03 {_MODELS} --gpu h100 "
             "--max-nodes 32 --batch 1,8,32 --engine sglang "
             "--export sglang --draft meta-llama/Llama-3.2-1B-Instruct"),
    "observe": ("Observed server",
                "observe docs/examples/answers.jsonl --gamma 4 --target-ms 5.67 --draft-ms 0.5 "
                "--export llama.cpp"),
    "compare": ("Comparison",
                "compare docs/examples/embedded.json docs/examples/lookup.json"),
    "tune": ("Tuning", "report docs/examples/tuned.json"),
    "validate": ("Validation", "report docs/examples/validated.json"),
    "drafts": ("Measured drafts, with sliders",
               "report docs/examples/embedded.json docs/examples/lookup.json"),
}  # fmt: skip


def example_pages() -> Iterator[tuple[str, bytes]]:
    """Yields path and content of each example page."""
    with tempfile.TemporaryDirectory() as folder, chdir(ROOT):
        for name, (_, command) in EXAMPLES.items():
            path = Path(folder) / f"{name}.html"
            words = shlex.split(command)
            option = "-o" if words[0] == "report" else "--page"
            result = CliRunner().invoke(specplan, [*words, option, str(path)])
            if result.exit_code != 0:
                raise RuntimeError(result.output)
            yield f"example-pages/{path.name}", path.read_bytes()


def examples_list(sizes: dict[str, int]) -> str:
    """Returns the page that lists the example pages; sizes: bytes of each, by path."""
    lines = [
        "# Example pages", "",
        "One page of each kind, made by these commands from the repository when this site was "
        "built. Each is one file that loads nothing from elsewhere ([more](report.md)).",
    ]  # fmt: skip
    for (title, command), (path, size) in zip(EXAMPLES.values(), sizes.items(), strict=True):
        lines += ["", f"## {title}", "", f"[Open the page]({path}) ({size / 1e3:.0f} kB)", ""]
        lines += [f"    specplan {command}"]
    return "\n".join(lines)


if __name__ == "__main__":
    for path, content in example_pages():
        print(f"{len(content) / 1e3:4.0f} kB  {path}")
