"""What one decoding step of attention costs as the source grows: python scripts/step_cost.py [--write].

Global attention reads the whole source at every step, local attention 2D + 1 states of it. Timed is the mechanism
alone, one call of it: the rest of a step does not know the source's length. `--write` puts the table into
docs/results/step_cost.md.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from nmt.attention.local import LocalState
from nmt.config.model import ModelSection
from nmt.model.build import build_attention
from nmt.runtime import environment, prepare_process

KINDS = {
    "global": {"type": "luong", "score": "general"},
    "local_m": {"type": "local", "variant": "local_m", "score": "general", "window": 10},
    "local_p": {"type": "local", "variant": "local_p", "score": "general", "window": 10},
}
SOURCES = (50, 100, 200, 500, 1000, 2000, 5000)
WIDTH, BATCHES, ROUNDS = 512, (1, 16), 200
FILE = Path(__file__).resolve().parents[1] / "docs" / "results" / "step_cost.md"


def step_of(kind: str, batch: int, source: int) -> Callable[[], object]:
    """One step of search in the middle of a sentence, ready to be called."""
    section = ModelSection.model_validate(
        {"attention": KINDS[kind], "encoder": {"hidden": WIDTH}, "decoder": {"hidden": WIDTH}}
    )
    torch.manual_seed(1)
    attention = build_attention(section).eval()
    states_BSD, query_B1Q = torch.randn(batch, source, WIDTH), torch.randn(batch, 1, WIDTH)
    memory = attention.remember(states_BSD, torch.ones(batch, source, dtype=torch.bool))
    state = attention.initial_state(memory)
    if isinstance(state, LocalState):
        state = replace(state, step_B=state.step_B + source // 2)
    return lambda: attention(query_B1Q, memory, state, need_weights=False)


def microseconds(batch: int, source: int) -> dict[str, float]:
    """The median time of a step of each kind, taken in turns, so that what slows the machine slows all of them."""
    steps = {kind: step_of(kind, batch, source) for kind in KINDS}
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(ROUNDS):
        for kind, step in steps.items():
            step()  # as in search, where the step before has just read the same states, or nearly
            start = time.perf_counter()
            step()
            times[kind].append(time.perf_counter() - start)
    return {kind: 1e6 * statistics.median(taken) for kind, taken in times.items()}


def table(batch: int) -> str:
    """Microseconds, and how many times those of the shortest source they are."""
    lines = [
        "| source | " + " | ".join(f"{kind}, µs | ratio" for kind in KINDS) + " |",
        "| --- |" + " --- |" * (2 * len(KINDS)),
    ]
    found = {source: microseconds(batch, source) for source in SOURCES}
    for source, taken in found.items():
        cells = (f"{taken[kind]:,.0f} | {taken[kind] / found[SOURCES[0]][kind]:.2f}" for kind in KINDS)
        lines.append(f"| {source:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def report() -> str:
    """The whole page, in Markdown."""
    machine = environment(torch.device("cpu"))
    threads = f"{machine['threads']} thread{'' if machine['threads'] == 1 else 's'}"
    tables = "\n\n".join(f"Hypotheses in a batch: {batch}\n\n{table(batch)}" for batch in BATCHES)
    return f"""# The cost of a decoding step, by the length of the source

What a decoding step costs with global and with local attention, for {SOURCES[0]} to {SOURCES[-1]:,} source positions.

```
python scripts/step_cost.py --write
```

One call of the attention mechanism for one target position, weights not asked for: score general, width {WIDTH},
float32; local attention with D = 10. Median of {ROUNDS} calls, taken in turns between the mechanisms; the ratio is to
the same mechanism's time at {SOURCES[0]} positions. torch {machine["torch"]}, {machine["processor"]}, {threads}.

{tables}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Time one decoding step of global and of local attention.")
    parser.add_argument("--write", action="store_true", help=f"write {FILE.relative_to(FILE.parents[2])}, too")
    write = parser.parse_args().write
    prepare_process()
    with torch.inference_mode():
        page = report()
    print(page)
    if write:
        FILE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
