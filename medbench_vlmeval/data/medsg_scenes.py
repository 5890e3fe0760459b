"""The questions of the MedSG-Bench sample pack, with images and answers that are known exactly.

Pictures of scikit-image: a retina, colon tissue with a brown immunostain, a cell under a
holographic microscope, and a head phantom of tomography. Lesions are drawn by `drawing`; a box is
the extent of the pixels that were drawn, cut out or cropped, right and lower edge excluded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from . import drawing
from .drawing import Colour, Pixels, Roi
from .medsg_tasks import OFFICIAL_SIZE_WH
from .sample_pictures import read_picture

IntBox = tuple[int, int, int, int]

_FRAME_WH = OFFICIAL_SIZE_WH
_VIEW_WH = (320, 240)
"""Another size than that of all other tasks, as the released multi-view rows may have."""
_RED: Colour = (255, 0, 0)

_DIFFERENCE = "Compare these two images carefully and give me the coordinates of their difference."
_VIEWS = (
    "These images share one object in common(the object marked with red bounding box in the first "
    "image(<|box_start|>({},{}),({},{})<|box_end|>). Recognize and locate this object in the {} "
    "image."
)
# The released question of this task is not known to us; this one is ours.
_TRACKING = (
    "The object marked with red bounding box in the first image moves through the following "
    "images. Recognize and locate this object in the {} image."
)
_CONCEPT = "Find and locate where does the object in image-1 locate in the image-2."
_PATCH = (
    "You are given a source image followed by its several regions. Please locate the {} region "
    "picture in the source image."
)
_CROSSMODAL = (
    "The following are {} images for you to consider. For the area marked by the red bounding box "
    "in the first image, identify and locate the corresponding area in the {} image that serves a "
    "similar function or shares a similar meaning."
)
_REFERRING = (
    "Please find the bounding box coordinates for the area described by: "
    "<|object_ref_start|>{}<|object_ref_end|>."
)
_ORDINALS = ("first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True)
class Scene:
    """One generated row."""

    task: str
    question: str
    images: tuple[Pixels, ...]
    answer: IntBox
    size_wh: tuple[int, int] | None = None
    additional_info: str | None = None


@dataclass(frozen=True)
class Specimen:
    """A picture, the same without its lesion, and where the two differ."""

    pixels: Pixels
    untouched: Pixels
    object: Roi

    def view(self, left: int, top: int, size_wh: tuple[int, int] = _FRAME_WH) -> Specimen:
        """The part of it with its upper left corner at (left, top)."""
        part = np.s_[top : top + size_wh[1], left : left + size_wh[0]]
        return Specimen(self.pixels[part], self.untouched[part], self.object[part])

    @property
    def box(self) -> IntBox:
        """Extent of the object."""
        columns = np.flatnonzero(self.object.any(axis=0))
        rows = np.flatnonzero(self.object.any(axis=1))
        return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1

    @property
    def marked(self) -> Pixels:
        """The picture with a red frame, two pixels wide, just inside the box."""
        left, top, right, bottom = self.box
        marked = self.pixels.copy()
        frame = drawing.rectangle(marked.shape[1::-1], self.box)
        frame[top + 2 : bottom - 2, left + 2 : right - 2] = False
        marked[frame] = _RED
        return marked


def with_lesion(
    picture: str,
    centre_xy: tuple[int, int],
    radii_xy: tuple[int, int],
    colour: Colour,
    *,
    strength: float = 0.92,
    seed: int,
) -> Specimen:
    """A picture with a lesion drawn into it."""
    untouched = read_picture("skimage", picture)
    pixels, _ = drawing.spot(
        untouched, centre_xy, radii_xy, colour, strength=strength, ragged=0.5, seed=seed
    )
    return Specimen(pixels, untouched, (pixels != untouched).any(axis=-1))


def with_structure(picture: str, centre_xy: tuple[int, int], radius: int) -> Specimen:
    """A picture with a structure of its own, outlined by a disk."""
    pixels = read_picture("skimage", picture)
    return Specimen(pixels, pixels, drawing.disk(pixels.shape[1::-1], centre_xy, radius))


@cache
def haemorrhage() -> Specimen:
    return with_lesion("retina.jpg", (700, 620), (38, 27), (112, 18, 16), seed=21)


@cache
def exudate() -> Specimen:
    return with_lesion("retina.jpg", (860, 820), (30, 24), (250, 226, 142), seed=22)


@cache
def deposit() -> Specimen:
    return with_lesion("ihc.png", (300, 330), (26, 34), (34, 30, 62), seed=23)


@cache
def lesion_of_phantom() -> Specimen:
    return with_lesion("phantom.png", (150, 250), (17, 13), (150, 150, 150), seed=24)


@cache
def optic_disc() -> Specimen:
    return with_structure("retina.jpg", (258, 652), 86)


@cache
def cell() -> Specimen:
    return with_structure("cell.png", (429, 374), 69)


def scenes() -> Iterator[Scene]:
    """All rows, task by task in the order of the release."""
    yield from _registered_differences()
    yield from _shifted_differences()
    yield from _views_of_one_object()
    yield from _tracked_objects()
    yield from _cut_outs()
    yield from _patches()
    yield from _across_modalities()
    yield from _described_objects()


def _registered_differences() -> Iterator[Scene]:
    eye, tissue = haemorrhage().view(560, 480), deposit().view(120, 150)
    task = "Registered_Diff"
    yield Scene(task, _DIFFERENCE, (eye.untouched, eye.pixels), eye.box)
    yield Scene(task, _DIFFERENCE, (tissue.pixels, tissue.untouched), tissue.box)


def _shifted_differences() -> Iterator[Scene]:
    shifts = (
        (exudate(), (700, 640), (14, -9)),
        (lesion_of_phantom(), (32, 40), (-11, 17)),
    )
    for specimen, (left, top), (right_by, down_by) in shifts:
        before = specimen.view(left, top)
        after = specimen.view(left + right_by, top + down_by)
        yield Scene("Non_Registered_Diff", _DIFFERENCE, (before.untouched, after.pixels), after.box)


def _views_of_one_object() -> Iterator[Scene]:
    for specimen, (left, top), target in (
        (haemorrhage(), (580, 540), 1),
        (deposit(), (190, 200), 2),
    ):
        front = specimen.view(left, top, _VIEW_WH)
        views = (front, _turned(front), _mirrored(front))
        yield Scene(
            "multi_view",
            _VIEWS.format(*front.box, _ORDINALS[target]),
            (front.marked, *(view.pixels for view in views[1:])),
            views[target].box,
            size_wh=_VIEW_WH,
        )


def _turned(view: Specimen) -> Specimen:
    return Specimen(view.pixels[::-1, ::-1], view.untouched[::-1, ::-1], view.object[::-1, ::-1])


def _mirrored(view: Specimen) -> Specimen:
    return Specimen(view.pixels[:, ::-1], view.untouched[:, ::-1], view.object[:, ::-1])


def _tracked_objects() -> Iterator[Scene]:
    for specimen, (left, top), (right_by, down_by), n_frames, target in (
        (exudate(), (640, 660), (34, 12), 4, 2),
        (cell(), (172, 220), (9, -18), 5, 4),
    ):
        frames = [
            specimen.view(left + right_by * index, top + down_by * index)
            for index in range(n_frames)
        ]
        yield Scene(
            "object_tracking",
            _TRACKING.format(_ORDINALS[target]),
            (frames[0].marked, *(frame.pixels for frame in frames[1:])),
            frames[target].box,
        )


def _cut_outs() -> Iterator[Scene]:
    for whole in (cell().view(190, 230), optic_disc().view(80, 520)):
        yield Scene("concept", _CONCEPT, (_cut_out(whole), whole.pixels), whole.box)


def _cut_out(whole: Specimen) -> Pixels:
    """The object on black, in the middle."""
    left, top, right, bottom = whole.box
    inside = np.where(whole.object[..., None], whole.pixels, 0)[top:bottom, left:right]
    frame = np.zeros_like(whole.pixels)
    row, column = (frame.shape[0] - bottom + top) // 2, (frame.shape[1] - right + left) // 2
    frame[row : row + bottom - top, column : column + right - left] = inside
    return frame


def _patches() -> Iterator[Scene]:
    tissue = deposit().view(60, 100).untouched
    eye = optic_disc().view(100, 420).untouched
    yield _patch_scene(tissue, ((30, 20, 170, 150), (180, 160, 320, 300)), 1)
    yield _patch_scene(
        eye,
        ((40, 130, 240, 330), (150, 10, 290, 120), (230, 200, 330, 330), (20, 20, 130, 110)),
        0,
    )


def _patch_scene(source: Pixels, boxes: Sequence[IntBox], asked: int) -> Scene:
    patches = (source[top:bottom, left:right] for left, top, right, bottom in boxes)
    return Scene("patch", _PATCH.format(_ORDINALS[asked]), (source, *patches), boxes[asked])


def _across_modalities() -> Iterator[Scene]:
    first, second = deposit().view(100, 120), deposit().view(130, 160)
    yield Scene(
        "crossmodal",
        _CROSSMODAL.format("two", "second"),
        (_channel(first.pixels, 0, marked=first), second.pixels),
        second.box,
    )
    first, second, third = (optic_disc().view(*at) for at in ((80, 520), (60, 500), (110, 480)))
    yield Scene(
        "crossmodal",
        _CROSSMODAL.format("three", "third"),
        (first.marked, _channel(second.pixels, 2), 255 - _channel(third.pixels, 1)),
        third.box,
    )


def _channel(pixels: Pixels, channel: int, *, marked: Specimen | None = None) -> Pixels:
    """One colour channel as a grey picture; the red frame of `marked` is drawn over it."""
    grey = np.repeat(pixels[..., channel : channel + 1], 3, axis=-1)
    if marked is None:
        return grey
    return Specimen(grey, grey, marked.object).marked


def _described_objects() -> Iterator[Scene]:
    eye = haemorrhage().view(540, 470)
    single_cell = cell().view(170, 260)
    head = lesion_of_phantom().view(32, 40)
    images = (eye.pixels, single_cell.pixels, head.pixels)
    for label, specimen, position in (
        ("RetinalHaemorrhage", eye, 0),
        ("Cell", single_cell, 1),
        ("HyperdenseLesion", head, 2),
    ):
        yield Scene(
            "referring",
            _REFERRING.format(label),
            images,
            specimen.box,
            additional_info=f"It's in the {_ORDINALS[position]} image.",
        )
