"""How a query and a source position are compared.

    name        score(q, k)             paper
    dot         q · k                   Luong, Pham, Manning 2015, arXiv 1508.04025
    scaled_dot  q · k / √d              Vaswani et al. 2017, arXiv 1706.03762
    general     qᵀ W k                  Luong et al. 2015
    concat      v · tanh(W [q; k])      Luong et al. 2015
    additive    v · tanh(W q + U k)     Bahdanau, Cho, Bengio 2015, arXiv 1409.0473
    location    row s of W, times q     Luong et al. 2015
    cosine      β cos(q, k)             Graves, Wayne, Danihelka 2014, arXiv 1410.5401; β = softplus(w · q + b)

Shapes: query [B, T, Q], states [B, S, D], projected keys [B, S, K], scores [B, T, S]. Key projections have no bias:
softmax would ignore it.
"""

import math
import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn

from nmt.attention.base import Score
from nmt.errors import ConfigError


def require_equal_widths(what: str, query_width: int, key_width: int, *, otherwise: str = "") -> None:
    """Raise ConfigError, naming `what` needs it and what to do `otherwise`, where queries and keys differ in width."""
    if query_width != key_width:
        raise ConfigError(
            f"{what} needs queries and keys of one width, but they are {query_width} and {key_width} wide: make "
            f"model.decoder.hidden and model.encoder.hidden equal{otherwise}"
        )


def _require_equal_widths(name: str, query_width: int, key_width: int) -> None:
    require_equal_widths(f"score {name}", query_width, key_width, otherwise=", or take score general")


class DotScore(Score):
    """q · k. Raises ConfigError where queries and keys differ in width."""

    def __init__(self, *, query_width: int, key_width: int) -> None:
        super().__init__()
        _require_equal_widths("dot", query_width, key_width)

    def forward(self, query_BTQ: Tensor, keys_BSK: Tensor, position_BS: Tensor | None = None) -> Tensor:
        return torch.bmm(query_BTQ, keys_BSK.transpose(1, 2))


class ScaledDotScore(Score):
    """q · k / √d, d the common width. Raises ConfigError where queries and keys differ in width."""

    def __init__(self, *, query_width: int, key_width: int) -> None:
        super().__init__()
        _require_equal_widths("scaled_dot", query_width, key_width)
        self.scale = 1.0 / math.sqrt(key_width)

    def forward(self, query_BTQ: Tensor, keys_BSK: Tensor, position_BS: Tensor | None = None) -> Tensor:
        return torch.bmm(query_BTQ * self.scale, keys_BSK.transpose(1, 2))


STRENGTH = 5.0
"""Where a key strength starts, before softplus. A cosine lies between −1 and 1: with a small strength no position could
stand out, and where to look would hardly be learnt."""


def cosine_scores(query_BTQ: Tensor, keys_BSK: Tensor, strength_BT1: Tensor) -> Tensor:
    """β cos(q, k), [B, T, S]; 0 where a query or a key is zero."""
    normalize = nn.functional.normalize
    return strength_BT1 * torch.bmm(normalize(query_BTQ, dim=2), normalize(keys_BSK.to(query_BTQ.dtype), dim=2).mT)


class CosineScore(Score):
    """β cos(q, k), with key strength β = softplus(w · q + b). Raises ConfigError where widths differ."""

    def __init__(self, *, query_width: int, key_width: int) -> None:
        super().__init__()
        _require_equal_widths("cosine", query_width, key_width)
        self.strength = nn.Linear(query_width, 1)
        nn.init.constant_(self.strength.bias, STRENGTH)

    def forward(self, query_BTQ: Tensor, keys_BSK: Tensor, position_BS: Tensor | None = None) -> Tensor:
        return cosine_scores(query_BTQ, keys_BSK, nn.functional.softplus(self.strength(query_BTQ)))


class GeneralScore(Score):
    """qᵀ W k, with W k computed once for the sentence. W is [Q, D]."""

    def __init__(self, *, query_width: int, key_width: int) -> None:
        super().__init__()
        self.key = nn.Linear(key_width, query_width, bias=False)

    def project(self, states_BSD: Tensor) -> Tensor:
        keys_BSQ: Tensor = self.key(states_BSD)
        return keys_BSQ

    def forward(self, query_BTQ: Tensor, keys_BSK: Tensor, position_BS: Tensor | None = None) -> Tensor:
        return torch.bmm(query_BTQ.to(keys_BSK.dtype), keys_BSK.transpose(1, 2))


class AdditiveScore(Score):
    """v · tanh(W q + U k), with U k computed once for the sentence. W is [A, Q], U is [A, D], v is [A]."""

    def __init__(self, *, query_width: int, key_width: int, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, hidden, bias=False)
        self.key = nn.Linear(key_width, hidden, bias=False)
        self.energy = nn.Linear(hidden, 1, bias=False)

    def project(self, states_BSD: Tensor) -> Tensor:
        keys_BSA: Tensor = self.key(states_BSD)
        return keys_BSA

    def forward(self, query_BTQ: Tensor, keys_BSK: Tensor, position_BS: Tensor | None = None) -> Tensor:
        hidden_BTSA = torch.tanh(self.query(query_BTQ).unsqueeze(2) + keys_BSK.unsqueeze(1))
        scores_BTS: Tensor = self.energy(hidden_BTSA).squeeze(-1)
        return scores_BTS


class ConcatScore(Score):
    """v · tanh(W [q; k]): one W, [A, Q + D], of which the part for k is applied once for the sentence. v is [A]."""

    def __init__(self, *, query_width: int, key_width: int, hidden: int) -> None:
        super().__init__()
        self.query_width = query_width
        self.joint = nn.Linear(query_width + key_width, hidden, bias=False)
        self.energy = nn.Linear(hidden, 1, bias=False)

    def project(self, states_BSD: Tensor) -> Tensor:
        return nn.functional.linear(states_BSD, self.joint.weight[:, self.query_width :])

    def forward(self, query_BTQ: Tensor, keys_BSK: Tensor, position_BS: Tensor | None = None) -> Tensor:
        query_BTA = nn.functional.linear(query_BTQ, self.joint.weight[:, : self.query_width])
        scores_BTS: Tensor = self.energy(torch.tanh(query_BTA.unsqueeze(2) + keys_BSK.unsqueeze(1))).squeeze(-1)
        return scores_BTS


class LocationScore(Score):
    """Row s of W times q: the position alone decides. W is [P, Q].

    A source position beyond P scores −∞, hence has weight 0; the first batch that has one is warned of.
    """

    def __init__(self, *, query_width: int, max_source_positions: int) -> None:
        super().__init__()
        self.position = nn.Linear(query_width, max_source_positions, bias=False)

    def project(self, states_BSD: Tensor) -> Tensor:
        """The states; here, where the whole source is seen, one that is too long is warned of."""
        rows = self.position.out_features
        if states_BSD.shape[1] > rows:
            warnings.warn(
                f"a source is longer than model.attention.max_source_positions ({rows}): attention cannot reach what "
                f"lies beyond",
                stacklevel=1,
            )
        return states_BSD

    def forward(self, query_BTQ: Tensor, keys_BSK: Tensor, position_BS: Tensor | None = None) -> Tensor:
        rows, length = self.position.out_features, keys_BSK.shape[1]
        scores_BTP: Tensor = self.position(query_BTQ)
        if position_BS is None:
            if length <= rows:
                return scores_BTP[:, :, :length]
            return nn.functional.pad(scores_BTP, (0, length - rows), value=-torch.inf)
        row_BTS = position_BS.clamp(max=rows - 1).unsqueeze(1).expand(-1, query_BTQ.shape[1], -1)
        return scores_BTP.gather(2, row_BTS).masked_fill((position_BS >= rows).unsqueeze(1), -torch.inf)


SCORES: dict[str, Callable[[int, int, int, int], Score]] = {
    "dot": lambda query, key, hidden, positions: DotScore(query_width=query, key_width=key),
    "scaled_dot": lambda query, key, hidden, positions: ScaledDotScore(query_width=query, key_width=key),
    "general": lambda query, key, hidden, positions: GeneralScore(query_width=query, key_width=key),
    "concat": lambda query, key, hidden, positions: ConcatScore(query_width=query, key_width=key, hidden=hidden),
    "additive": lambda query, key, hidden, positions: AdditiveScore(query_width=query, key_width=key, hidden=hidden),
    "cosine": lambda query, key, hidden, positions: CosineScore(query_width=query, key_width=key),
    "location": lambda query, key, hidden, positions: LocationScore(query_width=query, max_source_positions=positions),
}
"""From a name to what builds the score: query width, key width, hidden width, largest number of positions."""
