"""The reasoning rows of the MedQ-Bench sample packs: images with reference texts of our own.

A text says what is shown, what is wrong with it and how strongly, and closes with the sentence of
the benchmark's reference texts.
"""

from __future__ import annotations

from .medq_scenes import GRADES, MedQScene, View, metadata_of

_CAPTIONS: tuple[tuple[View, str], ...] = (
    (
        View("retina"),
        "This colour fundus photograph shows the whole retina on a black background, with the "
        "bright optic disc at the left and the dark macula in the middle. The vessels are sharp "
        "and can be followed into their fine branches. Colour and light are even, and no noise or "
        "artefact is visible.",
    ),
    (
        View("disc", "defocus", "mild"),
        "This fundus photograph shows the optic disc and the large vessels that leave it. The "
        "whole image is mildly out of focus: the large vessels are still easy to follow, but their "
        "edges are soft and the finest branches fade. Colour and light are natural.",
    ),
    (
        View("macula", "uneven_illumination", "severe", 6),
        "This fundus photograph is centred on the macula, with branches of the large vessels "
        "around it. The illumination is severely uneven and falls off across the image until one "
        "corner is nearly black. The vessels on the dark side can hardly be seen, although "
        "the lit side is sharp.",
    ),
    (
        View("stroma"),
        "This micrograph shows glands of the colon, stained brown, around pale connective tissue "
        "with blue cell nuclei. Cell borders and nuclei are sharp everywhere. The stain is "
        "well balanced, the light is even, and neither folds nor bubbles or dirt are visible.",
    ),
    (
        View("glands", "tissue_fold", "mild", 9),
        "This micrograph shows large brown-stained glands of the colon beside pale connective "
        "tissue with blue nuclei. A narrow, mild fold of the tissue runs through the image from "
        "top to bottom as a darker band. It hides a small part of the section only; the tissue on "
        "both sides is sharp and evenly lit.",
    ),
    (
        View("vertebra", "metal_streaks", "severe", 10),
        "This axial CT image shows a thoracic vertebra with the muscles of the back below it. Two "
        "white metal objects lie at the vertebra, and severe streaks run from them over the whole "
        "image. The bright and dark rays cover the bone and the soft tissue around it, so that "
        "fine structures are lost.",
    ),
    (
        View("phantom", "low_dose_noise", "mild", 11),
        "This CT image shows a head phantom: a white oval skull around grey tissue with two black "
        "ellipses and some small inserts. Mild grainy noise lies over the whole image, as of a low "
        "dose. All large structures remain clear, while the faint inserts are harder to see.",
    ),
    (
        View("abdomen"),
        "This axial MR image shows the upper abdomen with liver, both kidneys, the spine and "
        "bowel. Organs and vessels have sharp borders, and the contrast between the tissues is "
        "strong. No ghosting, folding or relevant noise is visible.",
    ),
    (
        View("liver", "motion_ghosting", "severe"),
        "This axial MR image shows a part of the abdomen with the liver and the right kidney. "
        "Severe ghosting from motion repeats the borders of the body and of the organs several "
        "times from top to bottom. The copies overlie the liver and the kidney, whose outlines "
        "are doubled.",
    ),
)

_PAIRS: tuple[tuple[View, View, str], ...] = (
    (
        View("retina"),
        View("retina", "motion_blur", "severe"),
        "The first image is a sharp fundus photograph in which fine vessels can be followed. The "
        "second image shows the same retina with severe motion blur: vessels and the edge of the "
        "disc are smeared along one direction, and fine branches are gone.",
    ),
    (
        View("glands", "air_bubble", "mild", 13),
        View("glands"),
        "The first image shows glands of the colon with one small air bubble, a mild degradation "
        "whose dark rim and washed-out inside hide a little of the tissue. The second image shows "
        "the same tissue without it, sharp and evenly lit. Apart from the bubble the two are "
        "alike.",
    ),
    (
        View("phantom", "ring_artefacts", "severe", 14),
        View("phantom"),
        "The first image is a CT of a head phantom crossed by many bright and dark rings around "
        "its middle, a severe artefact that overlies the skull and most inserts. The second "
        "image shows the same phantom with even grey areas and clear borders. It has no rings.",
    ),
    (
        View("liver"),
        View("liver", "bias_field", "mild", 15),
        "The first image is an MR of the abdomen in which the organs are bright on both "
        "sides. The second image is the same slice with a mild bias field, so that its "
        "brightness falls off towards one corner. All organs can still be told apart in "
        "both.",
    ),
    (
        View("vertebra", "low_dose_noise", "mild", 16),
        View("vertebra"),
        "The first image is a CT of a vertebra with mild grainy noise, most visible in the soft "
        "tissue. The second image shows the same slice with smoother tissue and clearer "
        "bone structure. Neither has streaks or rings.",
    ),
    (
        View("abdomen"),
        View("abdomen", "aliasing", "severe"),
        "The first image is an MR of the abdomen with clear organs on a dark background. In the "
        "second image the body is severely folded over itself: a second copy, displaced by half "
        "the height, overlies the organs and makes them impossible to judge.",
    ),
    (
        View("disc"),
        View("disc", "colour_cast", "mild"),
        "The first image shows the optic disc in the natural orange-red colour of a retina. The "
        "second image shows the same part with a mild colour cast: it is paler and less red, "
        "with a green tint on the disc. The vessels are equally sharp in both.",
    ),
    (
        View("stroma", "out_of_focus", "severe"),
        View("stroma"),
        "The first image is a micrograph severely out of focus: glands are brown patches, and "
        "single nuclei cannot be made out. The second image shows the same tissue "
        "in focus, with sharp nuclei and cell borders.",
    ),
)


def caption_scenes() -> tuple[MedQScene, ...]:
    """Nine images to describe, three of each level."""
    return tuple(
        MedQScene(
            (view,),
            {
                "index": str(index),
                "description": f"{text} Overall, the quality of this image is "
                f"{GRADES[view.level]}.",
                **metadata_of(view),
            },
        )
        for index, (view, text) in enumerate(_CAPTIONS, start=1)
    )


def paired_scenes() -> tuple[MedQScene, ...]:
    """Eight pairs, two of each kind of picture; the clean image is first in half of them."""
    return tuple(
        _paired_scene(first, second, text, index)
        for index, (first, second, text) in enumerate(_PAIRS, start=1)
    )


def _paired_scene(first: View, second: View, text: str, index: int) -> MedQScene:
    better, worse = ("first", second) if first.level == "none" else ("second", first)
    difficulty = "coarse-grained" if worse.level == "severe" else "fine-grained"
    fields = {
        "index": str(index),
        "description": f"{text} Overall, the {better} image is of higher quality.",
        "difficulty": difficulty,
        **metadata_of(worse),
    }
    return MedQScene((first, second), fields)
