"""VLMEvalKit's own names of MedQ-Bench, served by classes that keep its numbers.

Each class derives from the host's class of the same name and stands in for it wherever the host
looks one up. What the host's class computes keeps its value and its key; beside it stand coverage,
intervals, strict columns, and a run that can be resumed. ``MEDBENCH_KEEP_HOST_MEDQ=1`` leaves the
host's classes alone.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from .. import __version__
from ..hosting.medq_classes import KEEP_VARIABLE, host_class, keeps_host_classes
from ..naming import HOST_NAMES
from ..registry import register_dataset
from .medq import MedQCaption, MedQMCQ, MedQPaired

if TYPE_CHECKING:
    from ..data import MedQData

logger = logging.getLogger(__name__)

_said: set[str] = set()


class TakenOver:
    """What the stand-ins share; comes before one of our classes and the host's.

    Args:
        dataset: one of the host's names.
        skip_noimg: accepted for the host's sake; rows are never dropped.
        data_path: a table of one's own instead of the released one, as the host's class takes it.
    """

    dataset_name: str

    def __init__(
        self, dataset: str = "", skip_noimg: bool = True, data_path: str | None = None
    ) -> None:
        self._data_path = data_path
        super().__init__(dataset, skip_noimg)  # type: ignore[call-arg]

    def _prepared(self, dataset: str) -> MedQData:
        if "served" not in _said:
            _said.add("served")
            logger.info(
                "VLMEvalKit's MedQ-Bench names are served by medbench_vlmeval %s: the same "
                "numbers, with coverage and intervals beside them; %s=1 keeps VLMEvalKit's classes",
                __version__,
                KEEP_VARIABLE,
            )
        name = HOST_NAMES[dataset]
        if self._data_path is None:
            return super()._prepared(name)  # type: ignore[misc]
        return _prepared_apart(Path(self._data_path), name)

    def environment(self) -> dict[str, Any]:
        """What a manifest should say about the host, and that its name is served by us."""
        served = {"name": self.dataset_name, "by": f"medbench_vlmeval {__version__}"}
        return {**super().environment(), "taken_over": served}  # type: ignore[misc]


def _prepared_apart(table: Path, name: str) -> MedQData:
    """A user's own table, prepared in a folder of its own so that it never mixes with a release."""
    from ..data import DataNotPrepared, lmu_root, load_medq, prepare_medq
    from ..files import sha256_file

    if not table.is_file():
        raise FileNotFoundError(f"expected the table given as data_path, got {table}")
    root = lmu_root() / "medbench_tables" / sha256_file(table)[:16]
    try:
        return load_medq(name, root)
    except DataNotPrepared:
        prepare_medq(table, name=name, root=root)
        return load_medq(name, root)


if not keeps_host_classes() and host_class("mcq") is not None:

    @register_dataset
    class MedqbenchMCQDataset(TakenOver, MedQMCQ, host_class("mcq")):  # type: ignore[misc]
        """Perception under the host's names, with the host's numbers under the host's keys."""

        NAMES: ClassVar[tuple[str, ...]] = (
            "MedqbenchMCQ",
            "MedqbenchMCQ_dev",
            "MedqbenchMCQ_test",
        )
        HEADLINE: ClassVar[tuple[str, ...]] = ("overall_accuracy",)
        WITH_HOST_NUMBERS = True


if not keeps_host_classes() and host_class("caption") is not None:

    @register_dataset
    class MedqbenchCaptionDataset(TakenOver, MedQCaption, host_class("caption")):  # type: ignore[misc]
        """No-reference reasoning under the host's names; its four keys are our official columns."""

        NAMES: ClassVar[tuple[str, ...]] = (
            "MedqbenchCaption",
            "MedqbenchCaption_dev",
            "MedqbenchCaption_test",
        )


if not keeps_host_classes() and host_class("paired") is not None:

    @register_dataset
    class MedqbenchPairedDescriptionDataset(TakenOver, MedQPaired, host_class("paired")):  # type: ignore[misc]
        """Comparative reasoning under the host's names; its four keys are our official columns."""

        NAMES: ClassVar[tuple[str, ...]] = (
            "MedqbenchPairedDescription_dev",
            "MedqbenchPairedDescription_test",
        )
