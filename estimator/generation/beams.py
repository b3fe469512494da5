"""Finds the likeliest continuations of one prompt by speculative beam search."""

from collections.abc import Callable
from dataclasses import dataclass, field

from estimator.generation.text import OneText
from estimator.loading.pairs import load, one_draft
from estimator.settings import ModelSettings
from estimator.timing.processes import require_one_process
from reference.beams import BeamSettings
from reference.drafters.model_drafter import ModelDrafter
from reference.laws.sampling import Sampling
from reference.speculative_beams import BeamSearch, beam_search, require_widths

BEAMS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateBeams(OneText):
    """Settings of a beam search (Leviathan et al. 2023, A.4).

    draft_beams: width of the draft's search; None: twice the number of beams.
    """

    models: ModelSettings = field(default_factory=ModelSettings)
    beams: int = BEAMS
    draft_beams: int | None = None
    gamma: int = 4

    @property
    def draft_width(self) -> int:
        """Width of the draft's search."""
        return 2 * self.beams if self.draft_beams is None else self.draft_beams


def generate_beams(request: GenerateBeams) -> tuple[BeamSearch, list[str]]:
    """Returns the likeliest continuations of one prompt, as beams and as texts."""
    require_one_process("generate")
    require_widths(request.beams, request.draft_width)
    name = one_draft(request.models)
    loaded = load(request.models, request.text, prompt=request.prompt)
    [drafter_of] = loaded.drafters.values()
    drafter = drafter_of(Sampling(0.0))
    if not isinstance(drafter, ModelDrafter):
        raise ValueError(f"draft must be a model for --decoder beam, got {name}")
    [ids] = loaded.prompts
    stopping = loaded.stopping
    limits = [model.max_length for model in (loaded.target, drafter.draft)]
    longest = len(loaded.target.beginning(ids)) + stopping.max_new_tokens
    for limit in limits:
        if limit is not None and longest > limit:
            raise ValueError(
                f"prompt and new tokens must fit the {limit} positions of both models, got "
                f"{longest}"
            )
    found = beam_search(
        loaded.target,
        ids,
        search=BeamSettings(request.beams, stopping.max_new_tokens, frozenset(stopping.end_ids)),
        draft=drafter.draft,
        draft_width=request.draft_width,
        gamma=request.gamma,
    )
    decode: Callable[..., str] = loaded.tokenizer.decode
    texts = [str(decode(list(beam.tokens), skip_special_tokens=True)) for beam in found.beams]
    return found, texts
