"""Shows generated text while it is decoded, block by block, and its counts."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import tee
from typing import Any

import click

from estimator.generation import Started
from reference.records import Block, Generation
from reference.rules import Rule

Decode = Callable[[Sequence[int]], str]

# A character has at most 4 bytes and so at most 4 tokens; a word's space is in the token before.
CONTEXT = 8
UNFINISHED = "\ufffd"
_NUMBERS = (
    "target_calls", "drafted", "accepted", "accepted_fraction", "block_efficiency",
    "prefill_seconds", "draft_calls", "rollbacks", "discarded", "decode_seconds", "draft_seconds",
    "verify_seconds", "other_seconds", "ending",
)  # fmt: skip


def piece(decode: Decode, before: Sequence[int], tokens: Sequence[int]) -> str:
    """Returns the text that `tokens` add to the ids `before`; reads only the last CONTEXT ids."""
    context = list(before[-CONTEXT:])
    head = decode(context).rstrip(UNFINISHED)
    whole = decode([*context, *tokens])
    return whole[len(head) :] if whole.startswith(head) else decode(tokens)


def text_pieces(
    decode: Decode, parts: Iterable[Sequence[int]], before: Sequence[int]
) -> Iterator[str]:
    """Yields the text that each part of a stream of token ids adds, then the unfinished rest.

    A character is yielded with the part that completes its bytes, so a part may yield "".

    before: ids of the text before the stream, which is not yielded.
    """
    emitted, waiting = list(before), list[int]()
    for tokens in parts:
        waiting += tokens
        text = piece(decode, emitted, waiting)
        if text.endswith(UNFINISHED):
            yield ""
            continue
        yield text
        emitted += waiting
        waiting = []
    yield piece(decode, emitted, waiting)


def print_blocks(started: Started, *, show: bool) -> Generation:
    """Prints the prompt, then each block once it is decoded. Returns the decoded text.

    show: print one line with the drafted tokens for each block; else print plain text.
    """
    tokenizer, ids, session = started.tokenizer, started.before, started.session
    decode, (blocks, decoded) = plain(tokenizer), tee(session.blocks)
    click.echo(decode(ids), nl=show)
    if show:
        for block in blocks:
            line = coloured(block, tokenizer.decode, ids)
            click.echo(line, color=False if os.environ.get("NO_COLOR") else None)
            ids = [*ids, *block.tokens]
    else:
        for text in text_pieces(decode, (block.tokens for block in blocks), ids):
            click.echo(text, nl=False)
        click.echo()
    return Generation(tuple(session.text), tuple(decoded), session.prefill_seconds)


def plain(tokenizer: Any) -> Decode:
    """Returns a function from token ids to text without special tokens such as end-of-text."""
    return lambda ids: str(tokenizer.decode(list(ids), skip_special_tokens=True))


def coloured(block: Block, decode: Decode, before: Sequence[int]) -> str:
    """Returns one line for a block, coloured like Figure 1 of Leviathan et al. 2023.

    Accepted draft tokens are green, rejected ones red and in brackets, the target's own token blue;
    brackets and a bar mark them without colour. before: the ids before the block.
    """

    def shown(tokens: tuple[int, ...], context: Sequence[int]) -> str:
        return piece(decode, context, tokens).replace("\n", "\\n")

    accepted, last = block.tokens[: block.accepted], block.tokens[block.accepted :]
    kept, rejected = [*before, *accepted], block.drafted[block.accepted :]
    line = click.style(shown(accepted, before), fg="green") if accepted else ""
    line += f"[{click.style(shown(rejected, kept), fg='red')}]" if rejected else ""
    return line + (f"|{click.style(shown(last, kept), fg='blue')}" if last else "")


def generation_data(generation: Generation, tokenizer: Any) -> dict[str, Any]:
    return {
        "text": plain(tokenizer)(generation.tokens),
        "tokens": generation.tokens,
        **{name: getattr(generation, name) for name in _NUMBERS},
        "blocks": [
            {"drafted": block.drafted, "tokens": block.tokens, "accepted": block.accepted}
            for block in generation.blocks
        ],
    }


def counts(generation: Generation, rule: Rule, *, bild: bool) -> str:
    """Returns a text's counts and times, and a warning if the rule is lossy.

    bild: whether to add fallbacks and rollbacks in % of the tokens (Kim et al. 2023, Table 4).
    """
    tokens, seconds = len(generation.tokens), generation.decode_seconds
    speed = more = lossy = ""
    if tokens > 0 and seconds > 0:
        speed = f" ({1e3 * seconds / tokens:.1f} ms a token, {tokens / seconds:.1f} tokens/s)"
    if bild:
        more = (
            f" {generation.draft_calls} calls of the small model; fallback "
            f"{100 * generation.target_calls / tokens:.1f} %, rollback "
            f"{100 * generation.rollbacks / tokens:.1f} % of the tokens."
        )
    if not rule.lossless:
        lossy = f" Lossy: the rule {rule.name} changes the output distribution."
    return (
        f"\n{tokens} tokens in {generation.target_calls} target calls, {seconds:.2f} s{speed}; "
        f"{generation.accepted} of {generation.drafted} drafted tokens accepted; ended by "
        f"{generation.ending}.{more}{lossy}"
    )
