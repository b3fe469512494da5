"""The program `specplan`: imports a command when it is used, and prints errors in one line."""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
import traceback
from difflib import get_close_matches
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.exceptions import NoArgsIsHelpError

from specplan.reports.output import FAILURE, describe

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Command `x` is the attribute `x_command` of `specplan.commands.x`, imported when it is used.
SUMMARIES = {
    "plan": "Plan gamma from numbers; no model is needed.",
    "tree": "Find the best tree to draft, and whether it beats a chain.",
    "traffic": "Show what speculation does to a server under load.",
    "size": "Find the fewest GPUs that keep latency targets for a load.",
    "measure": "Measure alpha, c and the cost curves of real models.",
    "tune": "Find the best gamma on this machine, in few runs.",
    "validate": "Compare predicted with measured speed-up on real models.",
    "report": "Show in one page what was measured.",
    "compare": "Compare two profiles or validations of the same prompts.",
    "observe": "Show what a running server accepts, and its best gamma.",
    "align": "Teach a draft model to say what its target would.",
    "generate": "Generate text speculatively and watch it work.",
    "figures": "Draw the papers' figures and tables.",
    "ngram": "Train, inspect and score n-gram drafters.",
    "heads": "Train blockwise heads, and analyse what they draft.",
}

# The others only compute. They multiply small matrices, for which NumPy's threads take more time to
# wait than they save.
RUN_MODELS = ("measure", "tune", "validate", "align", "generate", "ngram", "heads")

# Objects after which Python looks for garbage. With its own 700, importing torch and transformers
# takes 0.4 s longer.
_ALLOCATIONS = 20_000

INTERRUPTED = 130
_PACKAGES = ("simulator", "reference", "ngram", "estimator", "engines", "studies", "figures")


class Program(click.Group):
    """A group that imports commands when they are used, and prints each error in one line.

    Exit status: 0 success; 2 bad input (ValueError, a wrong option, an unreadable file); 3 drift
    (`observe --expect`); 130 Ctrl-C; 1 another failure. If stdout is a closed pipe, the status is 1
    without a message.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUMMARIES:
            return None
        require_own_packages()
        if cmd_name not in RUN_MODELS:
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported
        gc.set_threshold(_ALLOCATIONS)
        command: click.Command = resolve_name(f"specplan.commands.{cmd_name}:{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and name not in SUMMARIES:
            near = get_close_matches(name, SUMMARIES)
            hint = f" Did you mean {near[0]!r}?" if near else " See 'specplan --help'."
            raise click.UsageError(f"No such command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [name for name in SUMMARIES if name.startswith(incomplete)]
        items = [CompletionItem(name, help=SUMMARIES[name]) for name in names]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def main(self, *args: Any, standalone_mode: bool = True, **settings: Any) -> Any:
        if sys.stdout is None:  # the caller closed it
            click.echo("Error: stdout must be open, got it closed", err=True)
            sys.exit(FAILURE)
        settings = {"prog_name": self.name, **settings, "standalone_mode": False}
        if not standalone_mode:
            return super().main(*args, **settings)
        try:
            status = super().main(*args, **settings)
            sys.stdout.flush()  # a closed pipe shows here, not at the interpreter's end
        except Exception as error:
            _exit_with_one_line(error)
        sys.exit(status if isinstance(status, int) else 0)


def require_own_packages() -> None:
    """Raises ImportError if another module has the name of one of specplan's packages."""
    here = Path(__file__).resolve().parents[1]
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        origin = None if spec is None else spec.origin
        if origin is None or Path(origin).resolve().parents[1] != here:
            raise ImportError(
                f"specplan needs its own package {name!r}, but Python finds {origin or 'none'}: "
                "rename that file, or install specplan apart (pipx install .)"
            )


def _exit_with_one_line(error: Exception) -> NoReturn:
    """Prints the error in one line to stderr and exits with its status."""
    if isinstance(error, BrokenPipeError):
        # The rest of stdout cannot be written; without this Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILURE)
    if isinstance(error, click.Abort):
        click.echo("Interrupted.", err=True)
        sys.exit(INTERRUPTED)
    if isinstance(error, NoArgsIsHelpError):
        click.echo(error.format_message())
        sys.exit(0)
    if os.environ.get("SPECPLAN_TRACEBACK"):
        traceback.print_exception(error)
    message, status = describe(error)
    click.echo(f"Error: {' '.join(message.split())}", err=True)
    sys.exit(status)


@click.group(
    "specplan",
    cls=Program,
    invoke_without_command=True,
    no_args_is_help=False,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "show_default": True,
        "max_content_width": 140,
    },
)
@click.version_option(package_name="specplan")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Plan, measure and validate speculative decoding of language models.

    \b
    Example:
      specplan plan --alpha 0.8 --c 0.05

    Every command has --help with examples, --help-all with every option in full, and --json for
    one JSON object on stdout. Set SPECPLAN_TRACEBACK=1 to see where an error came from.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
