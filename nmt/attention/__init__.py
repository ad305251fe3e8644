"""The mechanisms of the papers, one file each, behind the interface of `base.py`."""

from nmt.attention.attention_over_attention import AttentionOverAttention
from nmt.attention.bahdanau import BahdanauAttention
from nmt.attention.base import Attention
from nmt.attention.hard import HardAttention
from nmt.attention.local import LocalAttention
from nmt.attention.luong import LuongAttention
from nmt.attention.memory import MemoryAttention
from nmt.attention.multihead import MultiHeadAttention
from nmt.attention.none import NoAttention
from nmt.attention.ntm import NtmAttention
from nmt.attention.soft import SoftAttention

ATTENTIONS: dict[str, type[Attention]] = {
    "none": NoAttention,
    "bahdanau": BahdanauAttention,
    "luong": LuongAttention,
    "local": LocalAttention,
    "soft": SoftAttention,
    "hard": HardAttention,
    "multihead": MultiHeadAttention,
    "attention_over_attention": AttentionOverAttention,
    "memory": MemoryAttention,
    "ntm": NtmAttention,
}
"""From the name in YAML (`model.attention.type`) to the class."""
