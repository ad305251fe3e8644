"""All that an exact resume needs, as tensors and plain values: weights, optimizer, random generators, progress."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor, nn

from nmt.data.batching import Position
from nmt.errors import CheckpointError
from nmt.runtime import random_state, set_random_state
from nmt.training.loop import Progress

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


def parameters(model: nn.Module) -> dict[str, Tensor]:
    """The weights by name; tied ones once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def load_parameters(model: nn.Module, tensors: Mapping[str, Tensor], where: object) -> None:
    """Put weights in their places. Raises CheckpointError where names or shapes are not the model's."""
    wanted = dict(model.named_parameters())
    if wanted.keys() != tensors.keys():
        odd = sorted(wanted.keys() ^ tensors.keys())
        raise CheckpointError(f"{where}: holds the weights of another model ({odd[0]} does not match)")
    for name, parameter in wanted.items():
        if parameter.shape != tensors[name].shape:
            raise CheckpointError(
                f"{where}: {name} has shape {tuple(tensors[name].shape)}, the config asks for {tuple(parameter.shape)}"
            )
    with torch.no_grad():
        for name, parameter in wanted.items():
            parameter.copy_(tensors[name])


def capture(
    model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The whole state of a training between two updates."""
    tensors = {f"model.{name}": tensor for name, tensor in parameters(model).items()}
    for name, parameter in model.named_parameters():
        for moment in _MOMENTS:
            if parameter in optimizer.state:
                tensors[f"optimizer.{moment}.{name}"] = optimizer.state[parameter][moment]
    return tensors | random_state(), asdict(progress)


def restore(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    tensors: Mapping[str, Tensor],
    values: Mapping[str, Any],
    where: object,
) -> Progress:
    """Put a state back, as `capture` took it. Raises CheckpointError where it is another model's."""
    weights = {name.removeprefix("model."): t for name, t in tensors.items() if name.startswith("model.")}
    load_parameters(model, weights, where)
    for name, parameter in model.named_parameters():
        if f"optimizer.step.{name}" in tensors:
            moments = {moment: tensors[f"optimizer.{moment}.{name}"] for moment in _MOMENTS}
            # The step count stays where Adam's fused form wants it: with the parameter.
            optimizer.state[parameter] = {key: tensor.to(parameter.device) for key, tensor in moments.items()}
    set_random_state(tensors)
    return Progress(**{**values, "position": Position(**values["position"])})
