"""docs/theory.md and studying.md: the files that they name are there, and the example runs."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENT, TOUR = (
    (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("theory.md", "studying.md")
)


def test_every_equation_has_its_file() -> None:
    files = re.findall(r"`((?:simulator|reference|studies|tests)/[\w/.]+)`", DOCUMENT + TOUR)
    assert len(files) > 20
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_the_example_plans_with_every_kind_of_cost() -> None:
    [example] = re.findall(r"```python\n(.*?)```", TOUR, re.DOTALL)
    names: dict[str, object] = {}
    found = []
    for line in ast.parse(example).body:
        if isinstance(line, ast.Expr):
            found.append(eval(ast.unparse(line), names))
        else:
            exec(ast.unparse(line), names)
    assert found[0] == 8
    assert all(plan.best.speed_up > 1 for plan in found[1:3])
