"""From scores to weights. Each is a function of scores [B, T, S] and a mask [B, S] that is True on real tokens.

The result is float32 or wider, whatever the scores are; exactly 0 on padding and where a score is −∞; zero all along a
row in which nothing is left.
"""

import torch
from torch import Tensor

from nmt.attention.base import Normalizer


def softmax(scores_BTS: Tensor, mask_BS: Tensor) -> Tensor:
    """a_s = exp(e_s) / Σ_r exp(e_r), over real tokens r.

    Forbidden positions get the lowest finite score, not −∞, and are set to 0 afterwards: a row of −∞ would be NaN.
    """
    scores_BTS = scores_BTS.float() if scores_BTS.dtype in (torch.bfloat16, torch.float16) else scores_BTS
    allowed_BTS = mask_BS.unsqueeze(1) & (scores_BTS != -torch.inf)
    lowest = torch.finfo(scores_BTS.dtype).min
    weights_BTS = torch.softmax(scores_BTS.masked_fill(~allowed_BTS, lowest), dim=-1)
    return weights_BTS.masked_fill(~allowed_BTS, 0.0)


NORMALIZERS: dict[str, Normalizer] = {"softmax": softmax}
