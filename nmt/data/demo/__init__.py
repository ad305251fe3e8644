"""The demo corpus: English and German from a small grammar, with gold word alignments."""

from nmt.data.demo.write import DemoSummary, write_demo_corpus

__all__ = ["DemoSummary", "write_demo_corpus"]
