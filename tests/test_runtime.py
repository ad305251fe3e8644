"""Which device, which precision, and in which numbers products run."""

import json

import pytest
import torch

from nmt import runtime
from nmt.errors import ConfigError
from nmt.runtime import choose_device, environment, has_bfloat16, precision, prepare_process, products_in

CPU = torch.device("cpu")


def gpu(monkeypatch: pytest.MonkeyPatch, available: bool) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)


@pytest.mark.parametrize(
    ("name", "available", "kind"),
    [
        ("auto", False, "cpu"),
        ("auto", True, "cuda"),
        ("cpu", True, "cpu"),
        ("cpu", False, "cpu"),
        ("cuda", True, "cuda"),
    ],
)
def test_choose_device(monkeypatch: pytest.MonkeyPatch, name: str, available: bool, kind: str) -> None:
    gpu(monkeypatch, available)
    assert choose_device(name) == torch.device(kind)


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu(monkeypatch, False)
    with pytest.raises(ConfigError, match=r"--device cuda: .*no GPU.*--device cpu"):
        choose_device("cuda")


@pytest.mark.parametrize("name", ["", "gpu", "CPU", "cuda:0", "mps"])
def test_an_unknown_device(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"--device {name}: .*allowed: auto, cpu, cuda"):
        choose_device(name)


@pytest.mark.parametrize("native", [True, False])
def test_precision(monkeypatch: pytest.MonkeyPatch, native: bool) -> None:
    monkeypatch.setattr(runtime, "has_bfloat16", lambda device: native)
    assert precision("float32", CPU) is None
    assert precision("bfloat16", CPU) is torch.bfloat16
    assert precision("auto", CPU) is (torch.bfloat16 if native else None)


def test_has_bfloat16_asks_this_machine() -> None:
    assert has_bfloat16(CPU) in (True, False)


def product() -> torch.dtype:
    return (torch.ones(2, 2) @ torch.ones(2, 2)).dtype


def test_products_in_bfloat16() -> None:
    with products_in(torch.bfloat16, CPU):
        assert product() is torch.bfloat16
        assert (torch.ones(2) + torch.ones(2)).dtype is torch.float32
    assert product() is torch.float32


def test_products_in_none_are_in_the_numbers_own_precision() -> None:
    with products_in(None, CPU):
        assert product() is torch.float32
        with products_in(torch.bfloat16, CPU):
            assert product() is torch.bfloat16
        assert product() is torch.float32


def test_prepare_process_flushes_denormal_numbers() -> None:
    smallest = torch.tensor([torch.finfo(torch.float32).tiny])
    if not torch.set_flush_denormal(False):
        pytest.skip("this processor cannot flush denormal numbers")
    try:
        assert (smallest * 0.5).item() > 0.0
        prepare_process()
        assert (smallest * 0.5).item() == 0.0
    finally:
        torch.set_flush_denormal(False)


def test_environment_can_be_written_down() -> None:
    found = environment(CPU)
    assert json.loads(json.dumps(found)) == found
    assert found["torch"] == torch.__version__
    assert found["device"] == "cpu"
