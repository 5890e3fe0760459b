"""Answers to MedQ-Bench without a model: what a number has to beat before it means anything."""

from __future__ import annotations

import logging
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from vlmeval.vlm.base import BaseModel

from ..registry import register_editor

logger = logging.getLogger(__name__)

GRADES = ("reject", "usable", "good")
"""From the worst to the best."""

_DEV = "MedQ_MCQ_dev"


class MedQBaseline(BaseModel):
    """Answers from the prompt, the images and the dev split, never from a model.

    Args:
        name: name in the model zoo.
        unused: what VLMEvalKit's command line pushes into every entry.
    """

    INTERLEAVE = True
    is_api = False

    def __init__(self, *, name: str = "", **unused: Any) -> None:
        super().__init__()
        self.name = name or type(self).__name__

    def generate(self, message: Any, dataset: str | None = None) -> str:
        """VLMEvalKit's entry point; never raises."""
        return self.generate_inner(message, dataset)

    def generate_inner(self, message: Any, dataset: str | None = None) -> str:
        from ..editing import failed_call_line

        try:
            images = [Path(item["value"]) for item in message if item["type"] == "image"]
            prompt = next(item["value"] for item in reversed(message) if item["type"] == "text")
            return self.answer(prompt, images)
        except (ValueError, OSError, KeyError, TypeError, StopIteration, ImportError) as error:
            logger.warning("%s: %s", self.name, error)
            return failed_call_line(f"{type(error).__name__}: {error}")

    @abstractmethod
    def answer(self, prompt: str, images: list[Path]) -> str:
        """The reply to one question."""


def offered(prompt: str) -> dict[str, str]:
    """The options of a multiple-choice prompt.

    Raises:
        ValueError: there are none.
    """
    from ..evaluation.medq_prompt import options_in

    options = options_in(prompt)
    if not options:
        raise ValueError("expected a prompt with options (A. ..., B. ...), got none")
    return options


@register_editor("Baseline-FirstOption")
class FirstOption(MedQBaseline):
    """Always the first option."""

    def answer(self, prompt: str, images: list[Path]) -> str:
        return next(iter(offered(prompt)))


@register_editor("Baseline-MajorityLetter")
class MajorityLetter(MedQBaseline):
    """The letter that is most often right in the dev split, for as many options.

    It learns from the dev split only, which has to be prepared; the test split's answers would be
    a leak.
    """

    def answer(self, prompt: str, images: list[Path]) -> str:
        options = offered(prompt)
        counts = _letters_of_dev().get(len(options), Counter())
        return max(options, key=lambda letter: counts[letter])


@register_editor("Baseline-QuestionPrior")
class QuestionPrior(MedQBaseline):
    """The option whose text was most often right when it was offered in the dev split.

    What can be scored without looking at the image. Rates are smoothed by one right and one wrong
    answer; texts the dev split never offers stand at one half.
    """

    def answer(self, prompt: str, images: list[Path]) -> str:
        rates = _rates_of_dev()
        options = offered(prompt)
        return max(options, key=lambda letter: rates.get(plain(options[letter]), 0.5))


def plain(text: str) -> str:
    """A text without case and punctuation, so that ``Usable.`` is ``usable``."""
    return " ".join(re.findall(r"\w+", text.casefold()))


@lru_cache(maxsize=1)
def _letters_of_dev() -> Mapping[int, Counter[str]]:
    from ..data import load_medq

    counts: dict[int, Counter[str]] = {}
    for sample in load_medq(_DEV).samples:
        if sample.answer:
            counts.setdefault(len(sample.options), Counter())[sample.answer] += 1
    return counts


@lru_cache(maxsize=1)
def _rates_of_dev() -> Mapping[str, float]:
    from ..data import load_medq

    offers, hits = Counter[str](), Counter[str]()
    for sample in load_medq(_DEV).samples:
        if sample.answer:
            offers.update(map(plain, sample.options.values()))
            hits[plain(sample.options[sample.answer])] += 1
    return {text: (hits[text] + 1) / (n + 2) for text, n in offers.items()}


@register_editor("Baseline-ImageStatistics")
class ImageStatistics(MedQBaseline):
    """Grades by noise, sharpness and contrast measured with OpenCV.

    Noise is the standard deviation that Immerkaer's mask estimates, sharpness the share of gradient
    energy that survives a small blur, contrast the standard deviation of the grey levels. The
    thresholds are round numbers and fitted to nothing. Answers questions that offer grades,
    descriptions, and comparisons; of other questions it takes the first option.
    """

    def answer(self, prompt: str, images: list[Path]) -> str:
        from ..evaluation.medq_prompt import options_in

        options = options_in(prompt)
        if not images:
            raise ValueError("expected at least one image, got none")
        scores = [_quality(path) for path in images]
        if options:
            grade = _grade(scores[0])
            return next(
                (key for key, text in options.items() if plain(text) == grade), min(options)
            )
        if len(scores) == 2:
            better = "first" if scores[0] >= scores[1] else "second"
            return f"Overall, the {better} image is of higher quality."
        return f"Overall, the quality of this image is {_grade(scores[0])}."


def _grade(quality: float) -> str:
    return GRADES[0 if quality < 0.4 else 1 if quality < 0.7 else 2]


def _quality(path: Path) -> float:
    """In [0, 1], higher is better."""
    import cv2
    import numpy as np

    from ..images import read_rgb

    grey = cv2.cvtColor(read_rgb(path).pixels, cv2.COLOR_RGB2GRAY).astype(np.float64)
    if min(grey.shape) < 3:
        raise ValueError(f"expected an image of at least 3 x 3 pixels, got {grey.shape[::-1]}")
    mask = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float64)
    noise = np.abs(cv2.filter2D(grey, -1, mask)).mean() * np.sqrt(np.pi / 2) / 6
    blurred = cv2.GaussianBlur(grey, (0, 0), 1.0)
    fine, coarse = _gradient_energy(grey), _gradient_energy(cv2.GaussianBlur(blurred, (0, 0), 1.0))
    sharpness = 1 - coarse / fine if fine else 0.0
    contrast = min(1.0, grey.std() / 40)
    return float(np.clip(1 - noise / 20, 0, 1) * min(1.0, sharpness / 0.3) * contrast)


def _gradient_energy(grey: Any) -> float:
    import cv2
    import numpy as np

    across, down = (cv2.Sobel(grey, cv2.CV_64F, *order) for order in ((1, 0), (0, 1)))
    return float(np.square(across).mean() + np.square(down).mean())
