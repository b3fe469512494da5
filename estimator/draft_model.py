"""The transformers model behind a drafter, where there is one."""

from typing import Any

from reference.drafter import Drafter
from reference.drafters.hierarchical import HierarchicalDrafter
from reference.drafters.model_drafter import ModelDrafter
from reference.models.cached_model import CachedModel
from reference.models.fitted_model import FittedModel
from reference.models.model import Model


def draft_model(drafter: Drafter) -> Model | None:
    """Returns the model that a drafter drafts with; None where it is a table or a rule."""
    if isinstance(drafter, HierarchicalDrafter):
        return draft_model(drafter.model)
    return drafter.draft if isinstance(drafter, ModelDrafter) else None


def transformers_module(model: Model | None) -> Any:
    """Returns the `PreTrainedModel` that a model wraps; None where it wraps none."""
    if isinstance(model, FittedModel):
        return transformers_module(model.model)
    return model.module if isinstance(model, CachedModel) else None
