"""Optimisers for language models."""

import torch
from torch import nn


def muon_and_adamw(module: nn.Module) -> list[torch.optim.Optimizer]:
    """Returns Muon for the matrices inside the layers and AdamW for all else that is trained.

    Muon makes every direction of a matrix's update equally large; embeddings, heads and norms are
    no maps between hidden states, so they are left to AdamW.
    """
    outside = {
        id(parameter)
        for part in module.modules()
        if isinstance(part, nn.Embedding)
        for parameter in part.parameters()
    }
    head = getattr(module, "get_output_embeddings", lambda: None)()
    if head is not None:
        outside |= {id(parameter) for parameter in head.parameters()}
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    matrices = [p for p in trained if p.ndim == 2 and id(p) not in outside]
    inside = {id(p) for p in matrices}
    others = [p for p in trained if id(p) not in inside]
    optimizers: list[torch.optim.Optimizer] = []
    if matrices:
        muon = torch.optim.Muon(matrices, weight_decay=0.05, adjust_lr_fn="match_rms_adamw")
        optimizers.append(muon)
    if others:
        adamw = torch.optim.AdamW(others, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
        optimizers.append(adamw)
    return optimizers
