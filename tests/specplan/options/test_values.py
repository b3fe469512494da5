"""Lists and ranges of numbers on the command line."""

import click
import pytest
from click.testing import CliRunner

from specplan.options.declared import Option
from specplan.options.values import MOST_VALUES, contexts, parse_numbers, shares


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.8", (0.8,)),
        ("0.7,0.8", (0.7, 0.8)),
        (" 0.7 , 0.8 ", (0.7, 0.8)),
        ("0.1:0.9:0.1", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)),
        ("0:1:0.25", (0.0, 0.25, 0.5, 0.75, 1.0)),
        ("0.1:0.95:0.3", (0.1, 0.4, 0.7)),
        ("0.5:0.5:0.1", (0.5,)),
        ("0.9,0.1:0.3:0.1", (0.9, 0.1, 0.2, 0.3)),
        ("1e-2", (0.01,)),
        ("0", (0.0,)),
        ("49.7%", (0.497,)),
        ("171/297", (171 / 297,)),
        ("1/3, 20 %,0.5", (1 / 3, 0.2, 0.5)),
        ("10%:30%:10%", (0.1, 0.2, 0.3)),
    ],
)
def test_numbers_are_exact_and_ranges_include_their_end(
    text: str, expected: tuple[float, ...]
) -> None:
    assert parse_numbers(text) == expected


def test_a_range_has_every_value_however_fine() -> None:
    assert parse_numbers("0:1:0.001") == tuple(i / 1000 for i in range(1001))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("high", "'high' is not a number"),
        ("", "'' is not a number"),
        ("%", "'%' is not a number"),
        ("1/0", "'1/0' is not a number"),
        ("0/0", "'0/0' is not a number"),
        ("1/2/3", "'1/2/3' is not a number"),
        ("50%/2", "'50%/2' is not a number"),
        ("0.5,", "'' is not a number"),
        ("0.1:0.9", "a range is start:stop:step, got '0.1:0.9'"),
        ("0.1:0.9:0.1:2", "a range is start:stop:step, got '0.1:0.9:0.1:2'"),
        ("0.1:0.9:0", "the step of a range must be above 0, got '0.1:0.9:0'"),
        ("0.1:0.9:-0.1", "the step of a range must be above 0, got '0.1:0.9:-0.1'"),
        ("0.9:0.1:0.1", "a range must not end before it starts, got '0.9:0.1:0.1'"),
        ("0:inf:1", "a range needs finite numbers, got '0:inf:1'"),
        ("nan:1:0.1", "a range needs finite numbers, got 'nan:1:0.1'"),
        ("0:1:x", "'x' is not a number"),
        ("0:1:1e-9", f"'0:1:1e-9' has more than {MOST_VALUES} values"),
        ("0:1:0.0002,0:1:0.0002,0", f"has more than {MOST_VALUES} values"),
    ],
)
def test_values_that_are_no_list_are_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^.*{message.replace('(', '.')}"):
        parse_numbers(text)


@click.command()
@click.option("--rate", cls=Option, callback=shares)
def _show(rate: tuple[float, ...] | None) -> None:
    click.echo(repr(rate))


@pytest.mark.parametrize(
    ("text", "value"), [("0.61", 0.61), ("61.3%", 0.613), ("171/297", 171 / 297), ("1", 1.0)]
)
def test_a_number_may_be_a_percentage_or_a_ratio(text: str, value: float) -> None:
    assert CliRunner().invoke(_show, ["--rate", text]).output == f"({value!r},)\n"


def test_values_that_are_no_number_are_refused() -> None:
    refused = CliRunner().invoke(_show, ["--rate", "many"])
    assert refused.exit_code == 2
    assert "Invalid value for '--rate': 'many' is not a number" in refused.output
    assert CliRunner().invoke(_show, []).output == "None\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4096", (4096,)),
        ("1k:8k", (1024, 2048, 4096, 8192)),
        ("1K:6k", (1024, 2048, 4096, 6144)),
        ("1.5k,100:300:100", (1536, 100, 200, 300)),
        ("7:7", (7,)),
    ],
)
def test_contexts_double_and_count_in_1024(text: str, expected: tuple[int, ...]) -> None:
    assert contexts(None, None, text) == expected


@pytest.mark.parametrize("text", ["64k:1k", "0:8", "1.3", "1.3:8", "k"])
def test_other_contexts_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        contexts(None, None, text)
