"""The only place that turns names into classes; no other reads the model section."""

from nmt.model.build.attention import build_attention
from nmt.model.build.model import build_model

__all__ = ["build_attention", "build_model"]
