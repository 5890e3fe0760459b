"""Judges for the tests of judge checks: they look at what they are sent, and then misbehave."""

from __future__ import annotations

import base64
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from medbench_vlmeval.judging.medebench import EDITED, PREVIOUS, REFERENCE

from ..judging.server import Answer, Request

ROLE_OF = {PREVIOUS: "previous", REFERENCE: "reference", EDITED: "edited"}
REFUSED = "I'm sorry, but I can't help with analyzing medical images."
ALIKE = 0.15
"""Correlation from which on a picture shows the other one; noise of other seeds stays below."""
SHARP = 0.8
"""Share of the other picture's contrast between neighbours; a JPEG of quality 95 stays above."""


@dataclass(frozen=True)
class Seen:
    """What a request shows."""

    sample: int
    order: tuple[str, ...]
    edited_is: str
    """``reference``, ``previous``, ``blank`` or ``other``."""
    is_sharp: bool
    edited_mime: str
    nth: int
    """How often this very request has come, this time included."""


@dataclass(frozen=True)
class Points:
    accuracy: float
    context: float
    quality: float

    @property
    def reply(self) -> str:
        return (
            f"- Editing Accuracy: {self.accuracy:g}/10\n"
            f"- Contextual Preservation: {self.context:g}/10\n"
            f"- Visual Quality: {self.quality:g}/10"
        )


Opinion = Callable[[Seen], "Points | str"]


def honest(seen: Seen) -> Points:
    """Scores what is there, the same each time."""
    accuracy = {"reference": 10, "previous": 0}.get(seen.edited_is, 5)
    quality = 0 if seen.edited_is == "blank" else 9 if seen.is_sharp else 6
    return Points(accuracy, 5 + seen.sample % 3, quality)


def wavering(seen: Seen) -> Points:
    """One point less in EA for odd samples, when asked again."""
    drop = int(seen.nth > 1 and seen.sample % 2)
    first = honest(seen)
    return replace(first, accuracy=max(0, first.accuracy - drop))


def always_ten(seen: Seen) -> Points:
    return Points(10, 10, 10)


def order_bound(seen: Seen) -> Points:
    """Two points less in EA if the edited image comes first."""
    first = honest(seen)
    drop = 2 * (seen.order[0] == "edited")
    return replace(first, accuracy=first.accuracy - drop if first.accuracy >= drop else 0)


def format_bound(seen: Seen) -> Points:
    """One point less in VQ for a JPEG."""
    first = honest(seen)
    return replace(first, quality=first.quality - (seen.edited_mime == "image/jpeg"))


def harsh(seen: Seen) -> Points:
    """One point less than is due in EA, where there are any."""
    first = honest(seen)
    return replace(first, accuracy=max(0, first.accuracy - 1))


def squeamish(seen: Seen) -> Points | str:
    """Refuses every third sample."""
    return REFUSED if seen.sample % 3 == 0 else honest(seen)


class SeeingJudge:
    """A script of `JudgeServer` around an opinion; another one for another model name."""

    def __init__(self, opinion: Opinion, **others: Opinion) -> None:
        self._opinion = opinion
        self._others = others
        self._times: Counter[bytes] = Counter()
        self.samples: list[int] = []

    def __call__(self, request: Request) -> Answer:
        self._times[request.body] += 1
        seen = seen_in(request, self._times[request.body])
        self.samples.append(seen.sample)
        opinion = self._others.get(request.json["model"], self._opinion)(seen)
        return Answer.says(opinion if isinstance(opinion, str) else opinion.reply)


def seen_in(request: Request, nth: int) -> Seen:
    shown = [
        (ROLE_OF[message["content"][0]["text"]], message["content"][1]["image_url"]["url"])
        for message in request.json["messages"]
        if isinstance(message["content"], list)
    ]
    urls = dict(shown)
    pictures = {role: grey(url) for role, url in shown}
    edited_is = kind_of(pictures)
    return Seen(
        number_of(request.text),
        tuple(role for role, _ in shown),
        edited_is,
        contrast(pictures["edited"]) > SHARP * contrast(pictures["reference"]),
        urls["edited"].partition(";")[0].removeprefix("data:"),
        nth,
    )


def number_of(text: str) -> int:
    found = re.search(r"Stain (\d+) is gone", text)
    return int(found.group(1)) if found else zlib.crc32(text.splitlines()[0].encode()) % 100


def grey(url: str) -> np.ndarray:
    data = base64.b64decode(url.partition(",")[2])
    return np.asarray(Image.open(io.BytesIO(data)).convert("L"), dtype=np.float64)


def contrast(picture: np.ndarray) -> float:
    return float(np.diff(picture, axis=1).std())


def kind_of(pictures: dict[str, np.ndarray]) -> str:
    edited = pictures["edited"].ravel()
    if edited.std() == 0:
        return "blank"
    likeness = {
        role: float(np.corrcoef(edited, pictures[role].ravel())[0, 1])
        for role in ("reference", "previous")
    }
    role = max(likeness, key=lambda it: likeness[it])
    return role if likeness[role] > ALIKE else "other"
