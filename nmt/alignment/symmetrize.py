"""Links of two directions made into one set.

An attention links every target word to a source word, so links of one direction are one-to-many only one way. A second
run, trained from target to source, links the other way round; where both agree, links are precise, and all links of
either find the most (F. J. Och, H. Ney, "A systematic comparison of various statistical alignment models",
Computational Linguistics 29(1), 2003). Between the two lie the heuristics of P. Koehn, F. J. Och, D. Marcu,
"Statistical phrase-based translation", NAACL 2003, and of P. Koehn et al., "Edinburgh system description for the 2005
IWSLT speech translation evaluation", whose pseudo-code stands here with target words as its e, source words as its f.

intersection ⊆ grow-diag ⊆ grow-diag-final-and ⊆ union.
"""

from collections.abc import Iterable

from nmt.alignment.links import Link
from nmt.errors import ConfigError

# Steps (target, source) to the eight cells round a link, in the order of the publication, on which the outcome depends.
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def intersection(forward: frozenset[Link], reverse: frozenset[Link]) -> frozenset[Link]:
    """The links on which both directions agree."""
    return forward & reverse


def union(forward: frozenset[Link], reverse: frozenset[Link]) -> frozenset[Link]:
    """All links of either direction."""
    return forward | reverse


def grow_diag(forward: frozenset[Link], reverse: frozenset[Link]) -> frozenset[Link]:
    """The intersection, grown by neighbouring links of the union.

    Goes through target words and, for each, source words. Each link found there takes in those of its eight neighbours
    that are in the union and have a word, on either side, without a link so far. Repeated until nothing is added.
    """
    candidates = _in_order(forward | reverse)  # no other cell can ever hold a link, so no other need be visited
    links = set(forward & reverse)
    sources, targets = {source for source, _ in links}, {target for _, target in links}
    grown = True
    while grown:
        grown = False
        for source, target in candidates:
            if (source, target) not in links:
                continue
            for down, across in _NEIGHBOURS:
                near = (source + across, target + down)
                is_new = near not in links and (near in forward or near in reverse)
                if is_new and (near[0] not in sources or near[1] not in targets):
                    links.add(near)
                    sources.add(near[0])
                    targets.add(near[1])
                    grown = True
    return frozenset(links)


def grow_diag_final_and(forward: frozenset[Link], reverse: frozenset[Link]) -> frozenset[Link]:
    """`grow_diag`, and then every link of the forward, after it of the reverse direction between two unlinked words."""
    links = set(grow_diag(forward, reverse))
    sources, targets = {source for source, _ in links}, {target for _, target in links}
    for direction in (forward, reverse):
        for source, target in _in_order(direction):
            if source not in sources and target not in targets:
                links.add((source, target))
                sources.add(source)
                targets.add(target)
    return frozenset(links)


HEURISTICS = {
    "intersection": intersection,
    "union": union,
    "grow-diag": grow_diag,
    "grow-diag-final-and": grow_diag_final_and,
}
"""By the names that the field knows them by."""


def symmetrize(forward: frozenset[Link], reverse: frozenset[Link], heuristic: str) -> frozenset[Link]:
    """Make one set of the links of two directions, both `(source, target)`; those of a reverse run by `transpose`.

    Raises ConfigError where there is no such heuristic.
    """
    check_heuristic(heuristic)
    return HEURISTICS[heuristic](forward, reverse)


def check_heuristic(name: str) -> None:
    """Raise ConfigError unless `name` is that of a heuristic."""
    if name not in HEURISTICS:
        raise ConfigError(f"--symmetrize {name}: is unknown; allowed: {', '.join(HEURISTICS)}")


def transpose(links: Iterable[Link]) -> frozenset[Link]:
    """Turn `(source, target)` into `(target, source)`, or back."""
    return frozenset((target, source) for source, target in links)


def _in_order(links: Iterable[Link]) -> list[Link]:
    """Target word by target word, from the left, as the pseudo-code goes through the cells."""
    return sorted(links, key=_place)


def _place(link: Link) -> tuple[int, int]:
    return link[1], link[0]
