"""The mechanisms of the papers, one file each, behind the interface of `base.py`."""

from nmt.attention.bahdanau import BahdanauAttention
from nmt.attention.base import Attention
from nmt.attention.luong import LuongAttention
from nmt.attention.memory import MemoryAttention
from nmt.attention.multihead import MultiHeadAttention
from nmt.attention.none import NoAttention
from nmt.attention.ntm import NtmAttention

ATTENTIONS: dict[str, type[Attention]] = {
    "none": NoAttention,
    "bahdanau": BahdanauAttention,
    "luong": LuongAttention,
    "multihead": MultiHeadAttention,
    "memory": MemoryAttention,
    "ntm": NtmAttention,
}
"""From the name in YAML (`model.attention.type`) to the class."""
