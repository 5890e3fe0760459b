"""What our dataset classes share: VLMEvalKit's contract, kept in one place.

A benchmark is one file beside this one; it says where its rows come from, how a prompt is built,
and how predictions become numbers.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd
from vlmeval.dataset.image_base import ImageBaseDataset

from ..hosting.logs import join_host_log

if TYPE_CHECKING:
    from ..evaluation.options import EvaluationOptions
    from ..evaluation.shown_samples import AskedPrompts
    from ..judging import Judge

# VLMEvalKit imports this module at every start, so whatever only a run needs is imported by the
# methods that need it.

logger = logging.getLogger(__name__)

join_host_log()


class MedBenchDataset(ImageBaseDataset):
    """A dataset of ours inside VLMEvalKit.

    Args:
        dataset: one of `supported_datasets()`.
        skip_noimg: accepted for the host's sake; rows are never dropped.
    """

    NAMES: ClassVar[tuple[str, ...]] = ()
    HEADLINE: ClassVar[tuple[str, ...]] = ()
    """Names of the metrics that VLMEvalKit shows first; the official ones."""
    DEFAULT_JUDGE = "gpt-4o"
    MODALITY = "IMAGE"
    # Prompts are ours, word for word, in the modes of the host that ask for this.
    force_use_dataset_prompt = True

    def __init__(self, dataset: str = "", skip_noimg: bool = True) -> None:
        super().__init__(dataset or self.NAMES[0], skip_noimg=skip_noimg)

    @classmethod
    def supported_datasets(cls) -> list[str]:
        # The host asks for this per sample and per class; it must cost nothing.
        return list(cls.NAMES)

    @classmethod
    def get_default_judge_model(cls) -> str:
        return cls.DEFAULT_JUDGE

    @classmethod
    def report_primary_metric(cls, metrics: Mapping[str, Any] | None) -> dict[str, float | int]:
        """The official headline; the host's own choice would be alphabetical."""
        found = metrics or {}
        return {name: found[name] for name in cls.HEADLINE if name in found}

    @classmethod
    def report_judge_err(
        cls,
        prediction_file: str | Path | None,
        *,
        total_samples: int | None = None,
        judge_model: str | None = None,
        error_message: str | None = None,
    ) -> dict[str, int | None]:
        """Judgements that failed: none, unless a data set that is judged overrides this."""
        return {"failed": 0, "total": total_samples}

    def prediction_file(self, eval_file: str | os.PathLike[str]) -> Path:
        """The file the host means by `eval_file`.

        With ``--config`` upstream looks for a file named after the config's key but writes one
        named after the dataset; where only the latter exists, it is meant.

        Raises:
            FileNotFoundError: neither is there.
        """
        path = Path(eval_file)
        if path.is_file():
            return path
        siblings = sorted(path.parent.glob(f"*_{self.dataset_name}{path.suffix}"))
        if len(siblings) == 1:
            logger.info("%s is not there; using %s", path.name, siblings[0].name)
            return siblings[0]
        raise FileNotFoundError(f"no prediction file {path}; run with --mode infer or all first")

    def judge(self, options: EvaluationOptions, judge_kwargs: Mapping[str, Any]) -> Judge | None:
        """The judge that the host's arguments ask for, or None when none is configured.

        By default our own client; with ``medbench_host_judge`` the object that the host builds from
        the same arguments, asked through our engine (which then cannot see tokens or costs).
        """
        from ..evaluation.options import PREFIX, judge_settings
        from ..judging import Judge

        arguments = {"model": self.DEFAULT_JUDGE, **judge_kwargs}
        settings = judge_settings(arguments, os.environ)
        if settings is None or not options.host_judge:
            return None if settings is None else Judge(settings)
        from vlmeval.dataset.utils import build_judge

        known = {name: it for name, it in arguments.items() if not name.startswith(PREFIX)}
        return Judge(settings, host_judge=build_judge(**known))

    def asked_prompts(self, model: str) -> AskedPrompts:
        """What the host is handed for each sample, for the record of a run.

        Args:
            model: its name, which tells whether it may ask in its own way.
        """
        from ..evaluation.shown_samples import AskedPrompts

        lines = {int(line["index"]): line for line in self.data.to_dict("records")}

        def prompt(index: int) -> list[tuple[str, str]] | None:
            if index not in lines:
                return None
            return [(part["type"], part["value"]) for part in self.build_prompt(lines[index])]

        return AskedPrompts(prompt, self._prompt_note(model))

    def _prompt_note(self, model: str) -> str:
        if builds_own_prompts(model) is False:
            return ""
        words = "a model with a prompt of its own may have reworded it"
        # VLMEvalKit's API mode does not ask whether a data set insists on its prompts.
        is_kept = self.force_use_dataset_prompt
        return f"in VLMEvalKit's API mode {words}" if is_kept else words

    def environment(self) -> dict[str, Any]:
        """What a manifest should say about the host."""
        from ..hosting.probes import host_description

        return {"host": host_description()}


def builds_own_prompts(model: str) -> bool | None:
    """Whether a model of the host's zoo can build prompts of its own; None for one not in it."""
    from vlmeval.config import supported_VLM
    from vlmeval.vlm.base import BaseModel

    made_by = getattr(supported_VLM.get(model), "func", None)
    if made_by is None:
        return None
    decides = getattr(made_by, "use_custom_prompt", None)
    return decides is not None and decides is not BaseModel.use_custom_prompt


def guarded_text(text: str) -> str:
    """`text` in a form that VLMEvalKit cannot take for a file.

    The host turns every text that is the name of an existing path or an image URL into an image;
    a trailing line break makes it no name at all and changes nothing for a reader.
    """
    stripped = text.strip()
    is_name = len(stripped) < 4096 and "\n" not in stripped and os.path.exists(stripped)  # noqa: PTH110
    is_address = "://" in stripped and not any(character.isspace() for character in stripped)
    return f"{text}\n" if is_name or is_address else text


def plain_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows as the host's table: ordinary objects, no missing-value guessing."""
    return pd.DataFrame(rows, dtype=object)
