"""Samples drawn from strata in turn, so that rare groups are looked at too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random


def drawn_in_turn(strata: Sequence[Sequence[str]], random: Random) -> Iterator[int]:
    """Every position once, one from each stratum before any gives a second.

    Args:
        strata: the labels of each sample, the widest group first; samples of one organ are again
            drawn from its tasks in turn. Samples may have fewer labels than others.
        random: decides the order of strata and the order within each.

    Yields:
        Positions of `strata`; the first n of them are a stratified sample of n.
    """
    yield from _in_turn(list(range(len(strata))), strata, 0, random)


def _in_turn(
    positions: list[int], strata: Sequence[Sequence[str]], depth: int, random: Random
) -> Iterator[int]:
    groups: dict[str, list[int]] = {}
    for position in positions:
        labels = strata[position]
        groups.setdefault(labels[depth] if depth < len(labels) else "", []).append(position)
    if depth >= max((len(strata[position]) for position in positions), default=0):
        yield from random.sample(positions, len(positions))
        return
    names = random.sample(sorted(groups), len(groups))
    queues = [_in_turn(groups[name], strata, depth + 1, random) for name in names]
    while queues:
        for queue in list(queues):
            try:
                yield next(queue)
            except StopIteration:
                queues.remove(queue)
