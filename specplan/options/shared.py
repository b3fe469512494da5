"""Options that several commands share: the form and the file of an answer, the text to read."""

from pathlib import Path

import click

from specplan.options.declared import option
from specplan.options.help import listing, near

existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)
corpus_option = option(
    "--corpus",
    multiple=True,
    required=True,
    metavar="FILE|FOLDER",
    help="Text: .txt, .py, .jsonl, each also .gz; of a folder all of these. Repeatable.",
)
glob_option = option(
    "--glob", metavar="PATTERN", help="Which files of a folder, such as '**/*.md'."
)


# Models whose names on Hugging Face need no owner.
OWNERLESS = ("gpt2", "distilgpt2", "openai-gpt", "t5-")


def drafters(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Returns the drafters' names, refusing unknown ones; `list` prints all names and exits."""
    from estimator.draft_names.hf import HuggingFace
    from estimator.draft_names.kind import drafter_forms, drafter_kinds, parse_drafter, walk

    listing(lambda: [form for kind in drafter_kinds() for form in kind.names])(ctx, param, values)
    for part in (part for value in values for part in walk(parse_drafter(value))):
        if isinstance(part, HuggingFace):
            name = part.name
            known = "/" in name or name.startswith(OWNERLESS) or Path(name).exists()
            if not known and not ctx.resilient_parsing:
                prefixes = {
                    form.partition(":")[0] for kind in drafter_kinds() for form in kind.names
                }
                raise click.BadParameter(
                    f"must be one of {drafter_forms()}; got {name!r}, which is no folder here and "
                    f"no OWNER/NAME of Hugging Face{near(name, prefixes)}"
                )
    return values
