"""What is drawn of a change: the instructions it was made in, those around them, and the fusions they are in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hlodiff.report.page.matching import Matching, Place

_BESIDE = 4
_SEEDS = 8
_FEW = 12  # so few on both sides together show too little


@dataclass(slots=True)
class Scene:
    """One side of a drawing.

    Args:
        outer: the computation that is drawn; -1 for nothing.
        nodes: its instructions, in order of importance.
        inside: instructions of fused computations, in the same order, by the place of their fusion in `outer`.
    """

    outer: int = -1
    nodes: dict[int, None] = field(default_factory=dict)
    inside: dict[int, dict[int, None]] = field(default_factory=dict)

    def count(self) -> int:
        """Instructions that are drawn."""
        return len(self.nodes) + sum(map(len, self.inside.values()))


def scenes_of(matching: Matching, seeds: tuple[Sequence[Place], Sequence[Place]], most: int) -> tuple[Scene, Scene]:
    """Both sides of a drawing.

    Args:
        matching: both programs.
        seeds: where the change was made on each side, the first one first.
        most: instructions on each side.

    Returns:
        scenes that show the same part of both programs: what is on one of them has its partner on the other.
    """
    scenes = _scene(matching, 0, seeds[0], seeds[1]), _scene(matching, 1, seeds[1], seeds[0])
    for side, scene in enumerate(scenes):
        for place in seeds[side][:_SEEDS]:
            _add(matching, side, scene, place, most)
    for side, scene in enumerate(scenes):
        _widen(matching, side, scene, seeds[side], most)
    if scenes[0].count() + scenes[1].count() < _FEW:
        for side, scene in enumerate(scenes):
            _widen(matching, side, scene, _places(matching, side, scene), most)
    shown = [_places(matching, side, scene) for side, scene in enumerate(scenes)]
    for side, scene in enumerate(scenes):
        for place in shown[1 - side]:
            partner = matching.partners[1 - side].get(place)
            if partner:
                _add(matching, side, scene, partner, most)
    return scenes


def _widen(matching: Matching, side: int, scene: Scene, places: Sequence[Place], most: int) -> None:
    for place in places[:_SEEDS]:
        for near in _near(matching, side, place):
            _add(matching, side, scene, near, most)


def _scene(matching: Matching, side: int, seeds: Sequence[Place], others: Sequence[Place]) -> Scene:
    """What is drawn is the computation around the first seed, or around the partner of what is beside the other's."""
    if seeds:
        return Scene(_around(matching, side, seeds[0])[0])
    for seed in others:
        for near in _near(matching, 1 - side, seed):
            partner = matching.partners[1 - side].get(near)
            if partner:
                return Scene(_around(matching, side, partner)[0])
    return Scene()


def _around(matching: Matching, side: int, place: Place) -> tuple[int, int]:
    """The computation in which a place is drawn, and the fusion there that it is inside of; -1 for none."""
    caller = matching.callers[side].get(place[0])
    return caller if caller else (place[0], -1)


def _near(matching: Matching, side: int, place: Place) -> list[Place]:
    """Operands and users; of something in a fusion those of the fusion too. What was edited comes first."""
    found = _beside(matching, side, place)
    caller = matching.callers[side].get(place[0])
    if caller:
        found += _beside(matching, side, caller)
    return found


def _beside(matching: Matching, side: int, place: Place) -> list[Place]:
    def chosen(near: Iterable[int]) -> list[Place]:
        places = [(place[0], n) for n in dict.fromkeys(near)]
        return sorted(places, key=lambda p: p not in matching.kinds[side])[:_BESIDE]

    return [*chosen(matching.at(side, place).operands), *chosen(matching.users(side, place))]


def _add(matching: Matching, side: int, scene: Scene, place: Place, most: int) -> None:
    if scene.count() >= most:
        return
    outer, fusion = _around(matching, side, place)
    if place[0] == scene.outer:
        scene.nodes.setdefault(place[1])
    elif outer == scene.outer and fusion >= 0:
        scene.nodes.setdefault(fusion)
        scene.inside.setdefault(fusion, {}).setdefault(place[1])


def _places(matching: Matching, side: int, scene: Scene) -> list[Place]:
    found = [(scene.outer, n) for n in scene.nodes]
    for fusion, inside in scene.inside.items():
        callee = next(iter(matching.at(side, (scene.outer, fusion)).called))
        found += [(callee, n) for n in inside]
    return found
