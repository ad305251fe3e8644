"""From scores to weights. Each is a function of scores [B, T, S] and a mask [B, S] that is True on real tokens.

    name       weights of a row                                          paper
    softmax    exp(e_s) / Σ_r exp(e_r)
    sparsemax  max(0, e_s − τ): the nearest point of the simplex         Martins, Astudillo 2016, arXiv 1602.02068
    entmax15   max(0, e_s / 2 − τ)²: between the two, α = 1.5            Peters, Niculae, Martins 2019, arXiv 1905.05702

with the threshold τ that makes them sum to 1; the last two, of the package entmax (an extra), are exactly 0 on all but
a few positions. The result is float32 or wider, whatever the scores are; exactly 0 on padding and where a score is −∞;
zero all along a row in which nothing is left; not a number all along one whose scores are not. Raises ConfigError where
the package is needed and missing.
"""

from collections.abc import Callable
from types import ModuleType

import torch
from torch import Tensor

from nmt.attention.base import Normalizer
from nmt.errors import ConfigError

_REACH = 4.0
"""How far below its row's best a score may lie and still count. Sparsemax is 0 from 1 below on, entmax15 from 2."""


def softmax(scores_BTS: Tensor, mask_BS: Tensor) -> Tensor:
    """a_s = exp(e_s) / Σ_r exp(e_r), over real tokens r.

    Forbidden positions get the lowest finite score, not −∞, and are set to 0 afterwards: a row of −∞ would be NaN.
    """
    scores_BTS, allowed_BTS = _allowed(scores_BTS, mask_BS)
    lowest = torch.finfo(scores_BTS.dtype).min
    weights_BTS = torch.softmax(scores_BTS.masked_fill(~allowed_BTS, lowest), dim=-1)
    return weights_BTS.masked_fill(~allowed_BTS, 0.0)


def sparsemax(scores_BTS: Tensor, mask_BS: Tensor) -> Tensor:
    """argmin_p ‖p − e‖² over distributions p of the real tokens."""
    return _sparse(_entmax().sparsemax, scores_BTS, mask_BS)


def entmax15(scores_BTS: Tensor, mask_BS: Tensor) -> Tensor:
    """argmax_p p · e + 4/3 Σ_s (p_s − p_s^1.5) over distributions p of the real tokens."""
    return _sparse(_entmax().entmax15, scores_BTS, mask_BS)


NORMALIZERS: dict[str, Normalizer] = {"softmax": softmax, "sparsemax": sparsemax, "entmax15": entmax15}
"""From the name in YAML (`model.attention.normalizer`) to the function."""


def find_normalizer(name: str) -> Normalizer:
    """The function of that name. Raises ConfigError where its package is missing: now, not at the first sentence."""
    if name != "softmax":
        _entmax()
    return NORMALIZERS[name]


def _entmax() -> ModuleType:
    """The package, imported only where it is used."""
    try:
        import entmax
    except ImportError as error:
        raise ConfigError(
            "model.attention.normalizer: sparsemax and entmax15 need the package entmax, which is missing: "
            "pip install entmax, or take softmax"
        ) from error
    package: ModuleType = entmax
    return package


def _allowed(scores_BTS: Tensor, mask_BS: Tensor) -> tuple[Tensor, Tensor]:
    """The scores as float32 or wider, and where they count."""
    scores_BTS = scores_BTS.float() if scores_BTS.dtype in (torch.bfloat16, torch.float16) else scores_BTS
    return scores_BTS, mask_BS.unsqueeze(1) & (scores_BTS != -torch.inf)


def _sparse(function: Callable[[Tensor], Tensor], scores_BTS: Tensor, mask_BS: Tensor) -> Tensor:
    """A sparse function of the package, kept from all that it fails on.

    Rows are moved to a maximum of 0, which changes no weight, and no score is left further below than counts: the
    package squares them, and the square of a very low one is infinite. A row that has no finite maximum would make it
    read out of bounds, so it is asked about equal scores instead.
    """
    scores_BTS, allowed_BTS = _allowed(scores_BTS, mask_BS)
    lowest = torch.finfo(scores_BTS.dtype).min
    best_BT1 = scores_BTS.detach().masked_fill(~allowed_BTS, lowest).amax(dim=-1, keepdim=True)
    broken_BT1 = ~best_BT1.isfinite()
    below_BTS = (scores_BTS - best_BT1).masked_fill(~allowed_BTS | broken_BT1, -_REACH).clamp(min=-_REACH)
    weights_BTS = function(below_BTS).masked_fill(broken_BT1, torch.nan)
    return weights_BTS.masked_fill(~allowed_BTS, 0.0)
