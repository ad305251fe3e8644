"""What a layer costs as the sentence grows, next to table 1 of Vaswani et al. 2017.

    python scripts/layer_costs.py [--minutes M] [--output FOLDER] [--quick]

Self-attention, restricted self-attention, a GRU and a convolution are timed, forward and backward, at lengths of 16 to
4,096 and two widths. The page is printed; with `--output` it goes to FOLDER/layer_costs.md, its picture beside it.
"""

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch

from nmt.experiment.layer_costs import HEAD, KERNEL, KINDS, NEIGHBOURHOOD, Costs, Fit, fit, measure, slope
from nmt.experiment.plot import plot_costs
from nmt.runtime import environment, prepare_process

NAME = "layer_costs"
LENGTHS, WIDTHS, BATCH = tuple(2**power for power in range(4, 13)), (128, 512), 4
QUICK_LENGTHS, QUICK_WIDTHS = (16, 32, 64), (8, 16)

PAGE = """# What a layer costs, by the length of the sentence

```
{command}
```

Table 1 of Vaswani et al. 2017 ("Attention is all you need", arXiv 1706.03762), measured.

![cost of a sentence by its length, for each layer and width](layer_costs.png)

## What theory says

{theory}

n positions, d the width of a state, r = {r} positions that one looks at in restricted self-attention, itself in
the middle, k = {k} those of a convolution. The paper's self-attention has no projections (W_Q, W_K, W_V, W_O); a layer
has them. Its O(log_k n) is the path of dilated convolutions; these are contiguous.

## What was timed

This project's layers: `MultiHeadAttention` with heads of {head} (torch's fused kernel reads),
`RestrictedSelfAttention`, `BidirectionalGru` with d/2 for each direction, `ConvolutionalBlock`, whose gated linear unit
doubles its columns. Forward and backward, with the gradients of parameters and input; float32, no dropout.

The batch is {batch} sentences at every length, and the cost that of one of them. With as many *tokens* at every length
the batch would shrink as sentences grow, and a GRU, which works on sentences side by side but on positions one after
the other, would seem to grow faster than it does. A call shorter than 20 ms is repeated until it takes as long.
Everything is timed once a round, and the fastest of {rounds} rounds counts. (The median was {middle:.2f} times the
fastest in the middle of all that was timed, {worst:.2f} times at worst.)

The unit of cost is the product of a vector with a d × d matrix at the machine's limit, the best rate of large square
products in the same run. *Share of the limit*: what the layer's products alone would cost there, divided by what it
does cost. {machine}.

## The order of growth

cost = c + a n + b n², fitted to the relative errors; the slope is that of the logarithms over the last three lengths.
In brackets what the layer's products come to, twice as many backward as forward.

{orders}

## Length by length

The cost as a multiple of self-attention's, and the share of the limit.

{lengths}

## Where the two differ, and why

- *Short sentences.* A call costs something before it reads a position: tens of operations are looked up, their graph
  is kept, threads are woken. At n = {shortest:,} this part, c, is {least:.0f} to {most:.0f} % of the cost. Nothing in
  the theory counts it, and lines are flatter there than they are later.
- *Self-attention* without projections is O(n²·d). With them a n outweighs b n² up to n = 2 d, by the products, so that
  only the longest sentences here grow quadratically; the slope says how nearly. What raises b above the products: the
  fused kernel never writes the n × n scores to memory, and so computes them once more on the way back, seven products
  in place of six; and an exponential for each head and pair of positions is no product at all.
- *Restricted self-attention* is linear. A sentence is cut into blocks of (r − 1)/2 positions, each of which meets three
  blocks of keys: half as many scores again as are needed, in many small products, over keys that are copied three
  times, whence the low share: it pays where sentences are long, as the tables above show.
- *A GRU* is linear, too, and yet costs more than its products: of the n steps one after the other each has products of
  {batch} rows, one for each sentence, too few to keep a processor busy, and a dozen small operations around them.
- *A convolution* is one product over all positions of all sentences; n stands nowhere else.
"""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(heads), *rows))


def theory() -> str:
    rows = [(name, kind.complexity, kind.sequential, kind.path) for name, kind in KINDS.items()]
    return table(("layer", "complexity", "sequential operations", "maximum path length"), rows)


def orders(costs: Costs, width: int) -> str:
    """The measured order of growth of each layer, next to that of its products."""
    rows = []
    for name, kind in KINDS.items():
        cost, products = costs.cost(width, name), [kind.cost(length, width) for length in costs.lengths]
        found, expected = fit(costs.lengths, cost), kind.order(width)
        rows.append(
            (
                name,
                f"{slope(costs.lengths, cost):.2f} ({slope(costs.lengths, products):.2f})",
                f"{found.linear:.2f} ({expected.linear:.2f})",
                f"{width * found.square:.2f} ({width * expected.square:.2f})",
                f"{even(found, costs)} ({even(expected, costs)})",
                f"{100 * costs.share(width, name)[-1]:.0f} %",
            )
        )
    last = f"share of the limit at n = {costs.lengths[-1]:,}"
    return table((f"d = {width}", "slope", "a", "b·d", "a n = b n² at n", last), rows)


def even(found: Fit, costs: Costs) -> str:
    """Where both terms are the same; nothing to speak of where that is far beyond all that was measured."""
    return f"{found.even():,.0f}" if found.linear and found.even() < 10 * costs.lengths[-1] else "—"


def by_length(costs: Costs, width: int) -> str:
    """Each layer's cost as a multiple of self-attention's, and its share of the limit."""
    base = costs.cost(width, "self-attention")
    ratios = {name: costs.cost(width, name) / base for name in KINDS}
    shares = {name: costs.share(width, name) for name in KINDS}
    rows = [
        (f"{length:,}", *(f"{ratios[name][place]:.2f}, {100 * shares[name][place]:.0f} %" for name in KINDS))
        for place, length in enumerate(costs.lengths)
    ]
    return table((f"n, d = {width}", *KINDS), rows)


def dearer(costs: Costs, width: int) -> str:
    """From which length on self-attention costs more than each layer without it, measured and by the products."""
    told = []
    for name in ("GRU", "convolution"):
        measured = costs.cost(width, "self-attention") > costs.cost(width, name)
        counted = [KINDS["self-attention"].cost(n, width) > KINDS[name].cost(n, width) for n in costs.lengths]
        told.append(f"a {name} {since(costs.lengths, measured)} (by the products {since(costs.lengths, counted)})")
    return f"At d = {width} self-attention costs more than {', and more than '.join(told)}."


def since(lengths: Sequence[int], holds: Iterable[bool]) -> str:
    """From which length on it holds, to the last."""
    failing = [place for place, one in enumerate(holds) if not one]
    start = failing[-1] + 1 if failing else 0
    return f"from n = {lengths[start]:,} on" if start < len(lengths) else "at no length here"


def page(costs: Costs, batch: int, command: str) -> str:
    """The whole page, in Markdown."""
    machine = environment(torch.device("cpu"))
    threads = f"{machine['threads']} thread{'' if machine['threads'] == 1 else 's'}"
    fixed = [
        100 * fit(costs.lengths, costs.cost(width, name)).fixed / costs.cost(width, name)[0]
        for width in costs.seconds
        for name in KINDS
    ]
    middle, worst = costs.spread()
    return PAGE.format(
        command=command,
        theory=theory(),
        r=NEIGHBOURHOOD,
        k=KERNEL,
        head=HEAD,
        batch=batch,
        rounds=costs.rounds,
        middle=middle,
        worst=worst,
        machine=f"torch {machine['torch']}, {machine['processor']}, {threads}",
        orders="\n\n".join(orders(costs, width) for width in costs.seconds),
        lengths="\n\n".join(f"{by_length(costs, width)}\n\n{dearer(costs, width)}" for width in costs.seconds),
        shortest=costs.lengths[0],
        least=min(fixed),
        most=max(fixed),
    )


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="Time layers by the length of the sentence.")
    parser.add_argument("--minutes", type=float, default=4.5, help="how long to measure, about; three rounds at least")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help=f"write {NAME}.md and {NAME}.png there")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see whether it works")
    given = parser.parse_args(arguments)
    if not 0.0 < given.minutes < math.inf:
        parser.error(f"--minutes {given.minutes:g}: must be above 0")
    if given.output is not None:
        given.output.mkdir(parents=True, exist_ok=True)  # now, not when all is measured and cannot be written
    prepare_process()
    lengths, widths = (QUICK_LENGTHS, QUICK_WIDTHS) if given.quick else (LENGTHS, WIDTHS)
    costs = measure(lengths, widths, batch=BATCH, seconds=1.0 if given.quick else 60.0 * given.minutes)
    text = page(costs, BATCH, f"python scripts/{NAME}.py {' '.join(arguments)}".strip())
    print(text)
    if given.output is not None:
        panels = {width: {name: costs.cost(width, name).tolist() for name in KINDS} for width in widths}
        plot_costs(lengths, panels, given.output / f"{NAME}.png")
        (given.output / f"{NAME}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
