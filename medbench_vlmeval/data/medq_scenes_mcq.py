"""The multiple-choice questions of the MedQ-Bench sample pack; the wording is ours."""

from __future__ import annotations

from .medq_scenes import MedQScene, View, metadata_of

_GRADES = ("Good", "Usable", "Reject")
_HOW = "How is the overall quality of this image?"
_WHAT = "What is the main degradation of this image?"


def mcq_scenes() -> tuple[MedQScene, ...]:
    """Twenty-four questions: six of each kind of picture, eight of each question type."""
    return tuple(
        MedQScene((view,), {"index": str(number), **cells, **metadata_of(view)})
        for number, (view, cells) in enumerate(
            [*_of_ct(), *_of_mri(), *_of_fundus(), *_of_histopathology()], start=1
        )
    )


def _cells(kind: str, question: str, options: tuple[str, ...], answer: str) -> dict[str, str]:
    lettered = dict(zip("ABCD", options, strict=False))
    return {"question": question, **lettered, "answer": answer, "question_type": kind}


def _yes_or_no(question: str, answer: str) -> dict[str, str]:
    return _cells("Yes-or-No", question, ("Yes", "No"), answer)


def _what(options: tuple[str, ...], answer: str) -> dict[str, str]:
    return _cells("What", _WHAT, options, answer)


def _how(answer: str) -> dict[str, str]:
    return _cells("How", _HOW, _GRADES, answer)


def _of_ct() -> list[tuple[View, dict[str, str]]]:
    return [
        (
            View("phantom", "low_dose_noise", "severe", 1),
            _yes_or_no("Is there visible noise in this image?", "A"),
        ),
        (View("vertebra"), _yes_or_no("Are ring artefacts visible in this image?", "B")),
        (
            View("vertebra", "metal_streaks", "severe", 2),
            _what(("Defocus", "Metal streaks", "Low contrast", "None"), "B"),
        ),
        (
            View("phantom", "ring_artefacts", "mild", 3),
            _what(("Motion blur", "Metal streaks", "Ring artefacts", "JPEG blocking"), "C"),
        ),
        (View("vertebra", "low_dose_noise", "mild", 4), _how("B")),
        (View("phantom"), _how("A")),
    ]


def _of_mri() -> list[tuple[View, dict[str, str]]]:
    return [
        (
            View("liver", "motion_ghosting", "mild"),
            _yes_or_no("Does this image show ghosts of edges that moved during the scan?", "A"),
        ),
        (View("abdomen"), _yes_or_no("Is there visible motion blur in this image?", "B")),
        (
            View("kidney", "bias_field", "severe", 5),
            _what(("Bias field", "Gaussian noise", "Aliasing", "Defocus"), "A"),
        ),
        (
            View("abdomen", "aliasing", "mild"),
            _what(("Bias field", "JPEG blocking", "None", "Aliasing"), "D"),
        ),
        (View("liver"), _how("A")),
        (View("abdomen", "motion_ghosting", "severe"), _how("C")),
    ]


def _of_fundus() -> list[tuple[View, dict[str, str]]]:
    return [
        (
            View("retina", "defocus", "severe"),
            _yes_or_no("Is this image out of focus?", "A"),
        ),
        (
            View("disc", "colour_cast", "mild"),
            _yes_or_no("Is there visible motion blur in this image?", "B"),
        ),
        (View("macula"), _what(("Low contrast", "Colour cast", "None", "Defocus"), "C")),
        (
            View("macula", "uneven_illumination", "severe", 6),
            _what(("Uneven illumination", "JPEG blocking", "Gaussian noise", "None"), "A"),
        ),
        (View("disc", "motion_blur", "severe"), _how("C")),
        (View("retina", "low_contrast", "mild"), _how("B")),
    ]


def _of_histopathology() -> list[tuple[View, dict[str, str]]]:
    return [
        (
            View("glands", "tissue_fold", "severe", 7),
            _yes_or_no("Does the tissue lie folded over itself in this image?", "A"),
        ),
        (View("stroma"), _yes_or_no("Is there an air bubble in this image?", "B")),
        (
            View("glands", "air_bubble", "mild", 8),
            _what(("Tissue fold", "Out of focus", "Dark spot", "Air bubble"), "D"),
        ),
        (
            View("stroma", "jpeg_blocking", "severe"),
            _what(("Air bubble", "JPEG blocking", "Low contrast", "Motion blur"), "B"),
        ),
        (View("glands", "out_of_focus", "mild"), _how("B")),
        (View("glands"), _how("A")),
    ]
