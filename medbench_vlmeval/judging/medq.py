"""The four questions MedQ-Bench puts to its judge about every description of an image or a pair.

Liu et al., "MedQ-Bench: Evaluating and Exploring Medical Image Quality Assessment Abilities in
MLLMs", arXiv 2510.01691. The published wording belongs to VLMEvalKit
(``vlmeval/dataset/medqbench_caption.py`` and ``medqbench_paired_description.py``): it is handed
over from the installed copy and recognised by its hash, see `host_templates`. Our own wording is in
`medq_wording`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from ..files import sha256_bytes
from .calls import JudgeCall, Message, Rubric
from .medq_wording import closing_words, system_words
from .templates import PromptTemplate, fenced

ReasoningKind = Literal["caption", "paired"]
"""A description of one image, or a comparison of two."""
Origin = Literal["host", "own"]

DIMENSIONS = ("completeness", "preciseness", "consistency", "quality_accuracy")
"""What is judged, in the published order."""

SCORE = "Score"
"""The one name in every rubric."""

PUBLISHED_SHA256: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "caption": {
            "completeness": "7c24fd3bf644e1268c313817b06f74a44fcb29614aac1a60ab9a6042ee4e7138",
            "preciseness": "d73a37d27040bcc0c9574d5a7770f122bb73fa28f3523bdccd05a79de75235fa",
            "consistency": "b95bca84722a6024787e472719c7e142ad96c2cfd6a776cc8959806f90a1c46d",
            "quality_accuracy": "39481d93b08e3b65abc5b47d7d74259b6efac8255adfbba855b57c713cf1074d",
        },
        "paired": {
            "completeness": "7c24fd3bf644e1268c313817b06f74a44fcb29614aac1a60ab9a6042ee4e7138",
            "preciseness": "d73a37d27040bcc0c9574d5a7770f122bb73fa28f3523bdccd05a79de75235fa",
            "consistency": "c4fdd82bb88239bdeb8681619433b835fbd8905934ba0d1b99fd33a9ffac57f2",
            "quality_accuracy": "8ca2c1bde9fa1e6a8b79e1848b86f5168543eb35bcb87e28ef03ca5e0654b55e",
        },
    }
)
"""Of the template texts in VLMEvalKit e8e78f05 (2026-08-18), the same in ms-vlmeval 0.0.20."""

PUBLISHED_JUDGE: Mapping[str, Any] = MappingProxyType(
    {"model": "gpt-4o-2024-05-13", "temperature": 0, "max_tokens": 2048, "rounds": 1}
)
"""What VLMEvalKit makes of the documented ``gpt-4o``, and how it asks; the published points are
whole numbers over the rows, so each was judged once."""

_HOST_MARKERS = {"candidate": "MLLM DESC", "reference": "GOLDEN DESC"}
_OWN_WORDING_NOTE = (
    "judged with our own wording of the published rubrics; scores are not comparable with "
    "published ones"
)
_ALTERED_NOTE = "judged with templates that are not the published ones; scores are not comparable"


@dataclass(frozen=True)
class MedQTemplate:
    """The question about one dimension: a system message, where there is one, and a user message.

    The user message has the fields ``candidate`` and ``reference``.
    """

    user: PromptTemplate
    system: str = ""

    @property
    def sha256(self) -> str:
        """Hash of the wording; of the user message's text alone where that is all."""
        return sha256_bytes("\0".join(filter(None, (self.system, self.user.text))).encode("utf-8"))


@dataclass(frozen=True)
class MedQTemplates:
    """The four questions about one kind of description.

    Raises:
        ValueError: not exactly one template a dimension.
    """

    kind: ReasoningKind
    origin: Origin
    by_dimension: Mapping[str, MedQTemplate]

    def __post_init__(self) -> None:
        if set(self.by_dimension) != set(DIMENSIONS):
            raise ValueError(
                f"expected a template for each of {', '.join(DIMENSIONS)}, "
                f"got {sorted(self.by_dimension)}"
            )

    @property
    def sha256(self) -> dict[str, str]:
        """Hash of every template, in the order of `DIMENSIONS`."""
        return {dimension: self.by_dimension[dimension].sha256 for dimension in DIMENSIONS}

    @property
    def comparable(self) -> bool:
        """Whether these are the published templates, so that scores stand beside published ones."""
        return self.origin == "host" and self.sha256 == PUBLISHED_SHA256[self.kind]

    @property
    def note(self) -> str:
        """What a reader of the scores has to know about the wording; empty if it is published."""
        if self.comparable:
            return ""
        return _OWN_WORDING_NOTE if self.origin == "own" else _ALTERED_NOTE

    def record(self) -> dict[str, Any]:
        """For the manifest of a run."""
        return {
            "origin": self.origin,
            "comparable": self.comparable,
            "sha256": self.sha256,
            "note": self.note,
        }

    def messages(self, dimension: str, candidate: str, reference: str) -> tuple[Message, ...]:
        """The question about one description.

        Both texts are filled in at once, so neither can become template. Our own wording puts
        fences around them; the published one has no room for that.
        """
        template = self.by_dimension[dimension]
        if self.origin == "own":
            candidate, reference = fenced(candidate, "candidate"), fenced(reference, "reference")
        user = Message("user", (template.user.fill(candidate=candidate, reference=reference),))
        return (Message("system", (template.system,)), user) if template.system else (user,)


def rubric_of(kind: str, dimension: str) -> Rubric:
    """The scale of one dimension: whole points from 0 to 2; no 1 for the verdict on a pair."""
    is_verdict_on_pair = (kind, dimension) == ("paired", "quality_accuracy")
    allowed = (0.0, 2.0) if is_verdict_on_pair else (0.0, 1.0, 2.0)
    return Rubric(f"medq_{kind}_{dimension}", (SCORE,), 0.0, 2.0, allowed)


def host_templates(kind: str, templates: Mapping[str, str]) -> MedQTemplates:
    """The published questions, out of the texts of the installed VLMEvalKit.

    Args:
        kind: what is described.
        templates: the host's ``PROMPT_TEMPLATES`` for ``caption``, its ``PAIRED_PROMPT_TEMPLATES``
            for ``paired``.

    Returns:
        Templates asked as the host asks them: one user message with everything in it.

    Raises:
        ValueError: a template is absent, or is not the one scores were published with; a kind that
            is not judged.
    """
    asked = _reasoning(kind)
    for dimension, published in PUBLISHED_SHA256[asked].items():
        text = templates.get(dimension, "")
        found = sha256_bytes(text.encode("utf-8"))
        if found != published:
            got = f"another (sha256 {found[:12]})" if text else "none"
            raise ValueError(
                f"expected the published template of {dimension} ({kind}, sha256 "
                f"{published[:12]}) in the installed VLMEvalKit, got {got}; set "
                "medbench_judge_wording to own to use our own wording"
            )
    chosen = {
        dimension: MedQTemplate(PromptTemplate(templates[dimension], _HOST_MARKERS))
        for dimension in DIMENSIONS
    }
    return MedQTemplates(asked, "host", chosen)


def own_templates(kind: str) -> MedQTemplates:
    """Our own wording of the published rubrics: hardened against what a description may say.

    Not comparable with published scores; `MedQTemplates.note` says so.

    Raises:
        ValueError: a kind that is not judged.
    """
    asked = _reasoning(kind)
    chosen = {
        dimension: MedQTemplate(
            PromptTemplate(closing_words(dimension)), system_words(asked, dimension)
        )
        for dimension in DIMENSIONS
    }
    return MedQTemplates(asked, "own", chosen)


def medq_calls(
    sample_key: str,
    kind: str,
    candidate: str,
    reference: str,
    labels: Mapping[str, str],
    templates: MedQTemplates,
) -> tuple[JudgeCall, ...]:
    """The four judge calls for one description, keyed ``<sample_key>/<dimension>``.

    Args:
        sample_key: names the sample in logs and results.
        kind: what is described.
        candidate: the model's text, whole, as it gave it.
        reference: the text it is held against.
        labels: groups of the sample, such as ``modality``, for counts.
        templates: the questions, of the same kind.

    Raises:
        ValueError: templates of another kind.
    """
    if templates.kind != kind:
        raise ValueError(f"expected templates for {kind}, got those for {templates.kind}")
    return tuple(
        JudgeCall(
            f"{sample_key}/{dimension}",
            templates.messages(dimension, candidate, reference),
            rubric_of(kind, dimension),
            dict(labels),
        )
        for dimension in DIMENSIONS
    )


def _reasoning(kind: str) -> ReasoningKind:
    if kind == "caption":
        return "caption"
    if kind == "paired":
        return "paired"
    raise ValueError(f"expected caption or paired, got {kind!r}; only descriptions are judged")
