"""The sparse normalisers against brute force in float64; gradients, what the package fails on, and its absence."""

import itertools
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from nmt.attention.normalizers import NORMALIZERS, find_normalizer
from nmt.errors import ConfigError

SPARSE = sorted(NORMALIZERS.keys() - {"softmax"})
every_sparse = pytest.mark.parametrize("name", SPARSE)
every_normalizer = pytest.mark.parametrize("name", NORMALIZERS)


def nearest_of_all_supports(scores_S: Tensor) -> Tensor:
    """Sparsemax by trying every support: the nearest point of the simplex to the scores."""
    scores_S, found = scores_S - scores_S.max(), []
    for size in range(1, len(scores_S) + 1):
        for support in itertools.combinations(range(len(scores_S)), size):
            point_S, inside = torch.zeros_like(scores_S), list(support)
            point_S[inside] = scores_S[inside] - (scores_S[inside].sum() - 1.0) / size
            if (point_S >= 0).all():
                found.append(point_S)
    # The squared distance, less that of the scores from 0: next to a very low score the rest would be rounding.
    return min(found, key=lambda point_S: float(point_S.square().sum() - 2.0 * (point_S * scores_S).sum()))


def bisected(scores_S: Tensor) -> Tensor:
    """Entmax of α = 1.5 by halving the interval in which the threshold lies."""
    half_S = scores_S / 2
    low, high = half_S.max() - 1.0, half_S.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if (half_S - middle).clamp(min=0).square().sum() > 1 else (low, middle)
    return (half_S - low).clamp(min=0).square()


ORACLES = {"sparsemax": nearest_of_all_supports, "entmax15": bisected}


def row_by_row(name: str, scores_BTS: Tensor, mask_BS: Tensor) -> Tensor:
    """The oracle on each row's allowed scores alone; zeros elsewhere."""
    weights_BTS = torch.zeros_like(scores_BTS, dtype=torch.float64)
    for row, step in itertools.product(range(scores_BTS.shape[0]), range(scores_BTS.shape[1])):
        allowed_S = mask_BS[row] & (scores_BTS[row, step] > -torch.inf)
        if allowed_S.any():
            weights_BTS[row, step, allowed_S] = ORACLES[name](scores_BTS[row, step, allowed_S].double())
    return weights_BTS


def batch(scale: float) -> tuple[Tensor, Tensor]:
    """Scores [4, 3, 6] and a mask; some scores are −∞, one row has nothing but those, one sentence no real token."""
    scores_BTS = scale * torch.randn(4, 3, 6, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    scores_BTS[0, 0, 1] = scores_BTS[1, 1, 0] = -torch.inf
    scores_BTS[1, 2] = -torch.inf
    return scores_BTS, torch.arange(6) < torch.tensor([6, 4, 1, 0]).unsqueeze(1)


@every_sparse
@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 3.0, 100.0])
def test_sparse_weights_are_those_of_brute_force(name: str, scale: float) -> None:
    scores_BTS, mask_BS = batch(scale)
    weights_BTS = NORMALIZERS[name](scores_BTS, mask_BS)
    expected_BTS = row_by_row(name, scores_BTS, mask_BS)
    assert weights_BTS.dtype == torch.float64
    torch.testing.assert_close(weights_BTS, expected_BTS, rtol=0.0, atol=1e-12)
    assert (weights_BTS > 0).equal(expected_BTS > 1e-12), "what is out is exactly 0"
    if scale == 1.0:
        assert (weights_BTS[0] == 0).any(), "and some of it is"


@every_sparse
@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6, width=32) | st.floats(-2.0, 2.0, width=32), min_size=1, max_size=6))
def test_any_row(name: str, scores: list[float]) -> None:
    scores_BTS = torch.tensor([[scores]], dtype=torch.float32)
    weights_BTS = NORMALIZERS[name](scores_BTS, torch.ones(1, len(scores), dtype=torch.bool))
    torch.testing.assert_close(
        weights_BTS.double(),
        row_by_row(name, scores_BTS, torch.ones(1, len(scores), dtype=torch.bool)),
        rtol=0.0,
        atol=1e-5,
    )


@every_sparse
@pytest.mark.parametrize("low", [-30.0, -1e6, -1e30, torch.finfo(torch.float32).min, -torch.inf])
def test_very_low_scores_change_nothing(name: str, low: float) -> None:
    scores_BTS = torch.tensor([[[0.31, low, 0.1, low, low, -0.2, *[low] * 94]]])
    weights_BTS = NORMALIZERS[name](scores_BTS, torch.ones(1, 100, dtype=torch.bool))
    expected_S = ORACLES[name](scores_BTS[0, 0, [0, 2, 5]].double())
    torch.testing.assert_close(weights_BTS[0, 0, [0, 2, 5]].double(), expected_S, rtol=0.0, atol=1e-6)
    assert torch.count_nonzero(weights_BTS) == torch.count_nonzero(expected_S)


@every_normalizer
@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_gradients(name: str, scale: float) -> None:
    scores_BTS, mask_BS = batch(scale)
    assert torch.autograd.gradcheck(lambda scores: NORMALIZERS[name](scores, mask_BS), scores_BTS.requires_grad_())


@every_normalizer
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_scores_that_are_not_finite_are_not_hidden(name: str, value: float) -> None:
    scores_BTS = torch.tensor([[[0.5, value, 2.0], [0.5, 0.0, 2.0]], [[1.0, 0.0, value]] * 2], requires_grad=True)
    weights_BTS = NORMALIZERS[name](scores_BTS, torch.tensor([[True, True, True], [True, True, False]]))
    assert weights_BTS[0, 0].isnan().any()
    assert weights_BTS[0, 1].isfinite().all()
    assert weights_BTS[1].isfinite().all(), "unless they stand on padding"
    weights_BTS.sum().backward()


# The package


@pytest.fixture
def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "entmax", None)


@pytest.mark.usefixtures("without_package")
@every_sparse
def test_a_missing_package_is_one_line_that_says_what_to_install(name: str) -> None:
    for call in (lambda: find_normalizer(name), lambda: NORMALIZERS[name](*batch(1.0))):
        with pytest.raises(ConfigError, match="pip install entmax, or take softmax") as caught:
            call()
        assert "\n" not in str(caught.value)
    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["optional-dependencies"]["entmax"][0].startswith("entmax")


@every_normalizer
def test_names_are_found(name: str) -> None:
    assert find_normalizer(name) is NORMALIZERS[name]


@pytest.mark.usefixtures("without_package")
def test_softmax_does_without_the_package() -> None:
    assert find_normalizer("softmax")(*batch(1.0)).isfinite().all()
    code = "import sys; sys.modules['entmax'] = None; import nmt.model.build"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
