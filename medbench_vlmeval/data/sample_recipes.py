"""The tasks of the sample pack: which picture, which part of it, what is drawn, what is asked.

Pictures: ``retina.jpg``, ``microaneurysms.png`` and ``ihc.png`` of scikit-image (a retina, a detail
of another one, colon tissue with a brown immunostain), ``CT_small.dcm`` and
``examples_overlay.dcm`` of pydicom (a CT of a thoracic vertebra, an MR of the abdomen).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from . import drawing
from .drawing import Drawing, Pixels


@dataclass(frozen=True)
class SampleRecipe:
    """One generated sample."""

    id: int
    organ: str
    task: str
    instruction: str
    description: str
    package: Literal["skimage", "pydicom"]
    picture: str
    draw: Callable[[Pixels], Drawing]
    crop: tuple[int, int, int, int] | None = None
    """``(x1, y1, x2, y2)`` in pixels of the enlarged picture, right and lower edge excluded."""
    enlarge: int = 1
    drawn_in: Literal["previous", "reference"] = "previous"
    """Whether the drawing is to be undone, or is the change asked for."""


_retina = partial(SampleRecipe, organ="Eyes", package="skimage", picture="retina.jpg")
_colon = partial(SampleRecipe, organ="Gastrointestinal Tract", package="skimage", picture="ihc.png")

# Kept in the order of their pictures: `sample_pack` reads each picture once.
RECIPES: tuple[SampleRecipe, ...] = (
    _retina(
        id=1,
        task="Remove retinal haemorrhages.",
        instruction="Remove the dark haemorrhage to the right of the macula.",
        description="Retinal fundus photograph: the dark red blot haemorrhage to the right of the "
        "macula is gone; evenly coloured retina continues in its place.",
        crop=(480, 480, 992, 864),
        draw=partial(
            drawing.spot,
            centre_xy=(352, 236),
            radii_xy=(36, 27),
            colour=(112, 18, 16),
            strength=0.92,
            ragged=0.6,
            seed=1,
        ),
    ),
    _retina(
        id=2,
        task="Remove retinal exudates.",
        instruction="Remove the yellow exudates below the macula.",
        description="Retinal fundus photograph: the cluster of small yellow hard exudates below "
        "the macula is gone; the retina there is evenly coloured.",
        crop=(480, 440, 992, 952),
        draw=partial(
            drawing.spots,
            centres_xy=(
                (196, 352),
                (222, 371),
                (250, 360),
                (274, 382),
                (238, 398),
                (205, 392),
                (262, 412),
                (291, 356),
                (228, 428),
            ),
            radius=10,
            colour=(250, 226, 142),
            strength=0.95,
            ragged=0.5,
        ),
    ),
    _retina(
        id=3,
        task="Remove cotton-wool spots.",
        instruction="Remove the white cotton-wool spot near the top of the image.",
        description="Retinal fundus photograph: the pale, soft-edged cotton-wool spot above the "
        "large vessel is gone; evenly coloured retina continues in its place.",
        crop=(300, 200, 812, 540),
        draw=partial(
            drawing.spot,
            centre_xy=(330, 70),
            radii_xy=(54, 38),
            colour=(247, 226, 204),
            strength=0.88,
            edge=0.9,
            ragged=0.6,
            seed=3,
        ),
    ),
    _retina(
        id=4,
        task="Remove pigmented lesions of the retina.",
        instruction="Remove the grey-brown nevus.",
        description="Retinal fundus photograph: the flat grey-brown choroidal nevus is gone; the "
        "retina there has its usual orange-red colour.",
        crop=(800, 700, 1184, 1212),
        draw=partial(
            drawing.spot,
            centre_xy=(186, 300),
            radii_xy=(88, 74),
            colour=(104, 66, 56),
            strength=0.66,
            edge=1.6,
            ragged=0.35,
            seed=4,
        ),
    ),
    _retina(
        id=5,
        task="Add retinal haemorrhages.",
        instruction="Add one small dark red haemorrhage above the macula.",
        description="Retinal fundus photograph: one small dark red blot haemorrhage has appeared "
        "above the macula; everything else is unchanged.",
        crop=(512, 360, 1024, 744),
        draw=partial(
            drawing.spot,
            centre_xy=(205, 205),
            radii_xy=(22, 19),
            colour=(118, 20, 18),
            strength=0.92,
            ragged=0.6,
            seed=5,
        ),
        drawn_in="reference",
    ),
    _retina(
        id=6,
        task="Remove shadows from fundus photographs.",
        instruction="Remove the dark shadow over the left half of the image.",
        description="Retinal fundus photograph: the dark shadow over the left half is gone; optic "
        "disc and vessels there are well lit.",
        crop=(60, 440, 572, 824),
        draw=partial(
            drawing.shade,
            roi=drawing.rectangle((512, 384), (0, 0, 256, 384)),
            colour=(14, 4, 4),
            strength=0.62,
            fade=40,
        ),
    ),
    _retina(
        id=7,
        task="Remove laser scars of the retina.",
        instruction="Remove the pale laser scars.",
        description="Retinal fundus photograph: the rows of small pale photocoagulation scars are "
        "gone; the retina is evenly coloured and its vessels are continuous.",
        crop=(700, 760, 1212, 1144),
        draw=partial(
            drawing.spots,
            centres_xy=tuple(
                (110 + 68 * column + 26 * (row % 2), 96 + 66 * row)
                for row in range(4)
                for column in range(5)
            ),
            radius=15,
            colour=(238, 214, 168),
            strength=0.8,
            edge=1.6,
            ragged=0.4,
        ),
    ),
    SampleRecipe(
        id=8,
        organ="Eyes",
        task="Remove microaneurysms.",
        instruction="Remove the dark microaneurysm in the upper left.",
        description="Green-channel detail of a retinal photograph: the dark round microaneurysm in "
        "the upper left is gone; the second, fainter one and all vessels remain.",
        package="skimage",
        picture="microaneurysms.png",
        draw=partial(drawing.cover, centre_xy=(66, 91), radius=20, source_xy=(122, 100)),
        enlarge=4,
        drawn_in="reference",
    ),
    _colon(
        id=9,
        task="Remove pen marks from slides.",
        instruction="Remove the blue pen mark.",
        description="Micrograph of colon tissue with a brown immunostain: the blue pen stroke "
        "across the slide is gone; glands and stroma beneath it are visible.",
        draw=partial(
            drawing.stroke,
            points_xy=((40, 470), (150, 330), (230, 300), (330, 190), (480, 150)),
            width=26,
            colour=(24, 54, 168),
            strength=0.85,
        ),
    ),
    _colon(
        id=10,
        task="Remove air bubbles from slides.",
        instruction="Remove the air bubble on the right.",
        description="Micrograph of colon tissue with a brown immunostain: the round air bubble "
        "with its dark rim is gone; the gland beneath it has its full colour.",
        draw=partial(drawing.bubble, centre_xy=(404, 190), radius=84),
    ),
    _colon(
        id=11,
        task="Sharpen micrographs.",
        instruction="Bring the blurred right half of the image into focus.",
        description="Micrograph of colon tissue with a brown immunostain: the right half, out of "
        "focus before, is as sharp as the left half.",
        draw=partial(
            drawing.defocus,
            roi=drawing.rectangle((512, 512), (230, 0, 512, 512)),
            size=11,
            fade=24,
        ),
    ),
    _colon(
        id=12,
        task="Restore faded stains.",
        instruction="Restore the faded stain of the small gland at the bottom.",
        description="Micrograph of colon tissue: the small gland at the bottom, faded before, has "
        "the same brown immunostain as the other glands.",
        draw=partial(
            drawing.shade,
            roi=drawing.disk((512, 512), (318, 408), 112),
            colour=(240, 238, 238),
            strength=0.78,
            fade=30,
        ),
    ),
    _colon(
        id=13,
        task="Remove pigment deposits.",
        instruction="Remove the black pigment deposit between the glands.",
        description="Micrograph of colon tissue with a brown immunostain: the black deposit in the "
        "stroma between the glands is gone; pale stroma continues in its place.",
        draw=partial(
            drawing.spot,
            centre_xy=(236, 268),
            radii_xy=(19, 15),
            colour=(18, 14, 14),
            strength=0.97,
            ragged=0.8,
            seed=13,
        ),
    ),
    SampleRecipe(
        id=14,
        organ="Spine and Bones",
        task="Remove bone lesions.",
        instruction="Remove the bright lesion in the vertebral body.",
        description="Axial CT of a thoracic vertebra: the bright sclerotic lesion in the vertebral "
        "body is gone; trabecular bone continues in its place.",
        package="pydicom",
        picture="CT_small.dcm",
        draw=partial(
            drawing.spot,
            centre_xy=(262, 110),
            radii_xy=(26, 22),
            colour=(250, 250, 250),
            strength=0.9,
            edge=1.4,
            ragged=0.5,
            seed=14,
        ),
        enlarge=4,
    ),
    SampleRecipe(
        id=15,
        organ="Torso",
        task="Remove kidney cysts.",
        instruction="Remove the dark cyst in the kidney on the left side of the image.",
        description="Axial contrast-enhanced MR of the abdomen: the round dark cyst at the lower "
        "rim of the kidney on the left side of the image is gone; bright kidney tissue continues "
        "in its place.",
        package="pydicom",
        picture="examples_overlay.dcm",
        draw=partial(
            drawing.spot,
            centre_xy=(146, 236),
            radii_xy=(13, 12),
            colour=(34, 34, 34),
            strength=0.95,
            ragged=0.2,
            seed=15,
        ),
    ),
)
