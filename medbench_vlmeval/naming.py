"""Names of data sets, and file names made of a model's and a data set's: safe, reversible."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

HOST_NAMES = {
    "MedqbenchMCQ": "MedQ_MCQ_test",
    "MedqbenchMCQ_dev": "MedQ_MCQ_dev",
    "MedqbenchMCQ_test": "MedQ_MCQ_test",
    "MedqbenchCaption": "MedQ_Caption_test",
    "MedqbenchCaption_dev": "MedQ_Caption_dev",
    "MedqbenchCaption_test": "MedQ_Caption_test",
    "MedqbenchPairedDescription_dev": "MedQ_Paired_dev",
    "MedqbenchPairedDescription_test": "MedQ_Paired_test",
}
"""VLMEvalKit's names to our names of the same data. It advertises two without a split and cannot
build them; here they mean the test split, which is what the published board shows."""

_SEPARATOR = "@"
_SAFE = "-_."
_LONGEST = 200
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)", re.IGNORECASE)


def file_stem(model: str, dataset: str) -> str:
    """A file name without ending for the results of `model` on `dataset`, as ``model@dataset``.

    Letters, digits, ``-``, ``_`` and ``.`` of ASCII stay; every other character is percent-encoded
    (UTF-8), as are a dot at either end and the first letter of a name that Windows reserves. So the
    name is one path component on Linux and Windows, and two pairs never share one. Names that
    differ in case only do share a file where the file system ignores case.

    Raises:
        ValueError: an empty name, or a result longer than 200 characters.
    """
    if not model or not dataset:
        raise ValueError(f"expected a model and a data set name, got {model!r} and {dataset!r}")
    stem = _encoded(model) + _SEPARATOR + _encoded(dataset)
    if len(stem) > _LONGEST:
        raise ValueError(
            f"expected a file name of at most {_LONGEST} characters, got {len(stem)} for model "
            f"{model[:40]!r}...; give the model a shorter name"
        )
    return stem


def parse_stem(stem: str) -> tuple[str, str]:
    """The model and the data set that `file_stem` made `stem` of.

    Raises:
        ValueError: `stem` is not of the form ``model@dataset``.
    """
    model, separator, dataset = stem.partition(_SEPARATOR)
    if not (model and separator and dataset) or _SEPARATOR in dataset:
        raise ValueError(f"expected a name of the form model{_SEPARATOR}dataset, got {stem!r}")
    return _decoded(model), _decoded(dataset)


def _encoded(name: str) -> str:
    text = quote(name, safe=_SAFE, errors="surrogatepass").replace("~", "%7E")
    if _RESERVED.match(text):
        text = f"%{ord(text[0]):02X}{text[1:]}"
    if text.startswith("."):
        text = "%2E" + text[1:]
    if text.endswith("."):
        text = text[:-1] + "%2E"
    return text


def _decoded(text: str) -> str:
    return unquote(text, errors="surrogatepass")
