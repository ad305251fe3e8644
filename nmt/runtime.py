"""The machine: which device, which precision, and settings of the process that make training faster."""

import ctypes
import platform
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager

import torch

from nmt.errors import ConfigError

_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -3, -1


def choose_device(name: str) -> torch.device:
    """`auto`: a GPU where there is one. Raises ConfigError where the device asked for is missing or unknown."""
    if name not in ("auto", "cpu", "cuda"):
        raise ConfigError(f"--device {name}: is unknown; allowed: auto, cpu, cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError("--device cuda: this torch sees no GPU; take --device cpu, or install a CUDA build of torch")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def has_bfloat16(device: torch.device) -> bool:
    """Whether the processor or GPU multiplies bfloat16 natively; elsewhere it is emulated, and slower than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    capabilities = torch.backends.cpu.get_cpu_capability() if platform.machine() == "aarch64" else ""
    if capabilities:
        return "SVE" in capabilities
    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(bool(getattr(torch.cpu, check, bool)()) for check in checks)


def precision(name: str, device: torch.device) -> torch.dtype | None:
    """The precision of matrix products for autocast: bfloat16, or None for plain float32."""
    if name == "auto":
        return torch.bfloat16 if has_bfloat16(device) else None
    return torch.bfloat16 if name == "bfloat16" else None


def products_in(dtype: torch.dtype | None, device: torch.device) -> AbstractContextManager[object]:
    """A context in which matrix products run in `dtype`; None leaves them as they are."""
    return torch.autocast(device.type, dtype=dtype or torch.bfloat16, enabled=dtype is not None)


def random_state() -> dict[str, torch.Tensor]:
    """The random generators' state, by their names."""
    found = {"random.cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        found["random.cuda"] = torch.cuda.get_rng_state()
    return found


def set_random_state(state: Mapping[str, torch.Tensor]) -> None:
    """Put back what `random_state` found, here or on another machine, which may have had no GPU."""
    torch.set_rng_state(state["random.cpu"])
    if torch.cuda.is_available() and "random.cuda" in state:
        torch.cuda.set_rng_state(state["random.cuda"])


def threads() -> str:
    """How many threads compute, for people: `1 thread`, `2 threads`."""
    count = torch.get_num_threads()
    return f"{count} thread{'' if count == 1 else 's'}"


def prepare_process() -> None:
    """Settings that change speed, not results.

    Denormal numbers are flushed to zero: products of them are a hundred times slower. And glibc is told to keep large
    blocks instead of giving them back: every step asks for the same ones, and fresh pages have to be zeroed.
    """
    torch.set_flush_denormal(True)
    if sys.platform == "linux":
        try:
            mallopt = ctypes.CDLL("libc.so.6").mallopt
        except (OSError, AttributeError):
            return
        mallopt(_M_MMAP_THRESHOLD, 1 << 30)
        mallopt(_M_TRIM_THRESHOLD, (1 << 31) - 1)


def environment(device: torch.device) -> dict[str, object]:
    """What a reader of scores may want to know of the machine."""
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else None
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "platform": platform.platform(),
        "processor": gpu or platform.processor() or platform.machine(),
        "threads": torch.get_num_threads(),
        "device": device.type,
    }
