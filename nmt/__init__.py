"""nmt: train, use, inspect and compare attention-based translation models."""

__version__ = "0.1.0"
