"""The mechanisms of the papers, one file each, behind the interface of `base.py`."""

from nmt.attention.bahdanau import BahdanauAttention
from nmt.attention.base import Attention
from nmt.attention.luong import LuongAttention
from nmt.attention.none import NoAttention

ATTENTIONS: dict[str, type[Attention]] = {
    "none": NoAttention,
    "bahdanau": BahdanauAttention,
    "luong": LuongAttention,
}
"""From the name in YAML (`model.attention.type`) to the class."""
