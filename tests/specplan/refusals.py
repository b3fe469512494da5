"""What a refusal looks like: one line that says why, nothing else, and exit status 2."""

from click.testing import Result


def assert_refused(result: Result, message: str) -> None:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr
