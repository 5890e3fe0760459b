"""Reading pickle files that hold tables, and nothing that could run."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

_BUILTINS = {"bytearray", "complex", "dict", "frozenset", "list", "range", "set", "slice", "tuple"}
_ALLOWED: dict[str, set[str]] = {
    "builtins": _BUILTINS,
    "__builtin__": _BUILTINS,
    "collections": {"OrderedDict"},
    "numpy": {"dtype", "ndarray"},
    # pandas 3 pickles by public names, older versions by the places of their classes.
    "pandas": {
        "BooleanDtype",
        "Categorical",
        "CategoricalDtype",
        "DataFrame",
        "Index",
        "Int64Dtype",
        "NA",
        "RangeIndex",
        "Series",
        "StringDtype",
    },
    "pandas._libs.arrays": {"__pyx_unpickle_NDArrayBacked"},
    "pandas._libs.internals": {"_unpickle_block"},
    "pandas._libs.missing": {"NA"},
    "pandas.arrays": {
        "ArrowStringArray",
        "BooleanArray",
        "DatetimeArray",
        "IntegerArray",
        "StringArray",
    },
    "pandas.core.arrays.boolean": {"BooleanArray", "BooleanDtype"},
    "pandas.core.arrays.categorical": {"Categorical"},
    "pandas.core.arrays.datetimes": {"DatetimeArray"},
    "pandas.core.arrays.integer": {"Int64Dtype", "IntegerArray"},
    "pandas.core.arrays.string_": {"StringArray", "StringDtype"},
    "pandas.core.arrays.string_arrow": {"ArrowStringArray"},
    "pandas.core.dtypes.dtypes": {"CategoricalDtype"},
    "pandas.core.frame": {"DataFrame"},
    "pandas.core.indexes.base": {"Index", "_new_Index"},
    "pandas.core.indexes.range": {"RangeIndex"},
    "pandas.core.internals.managers": {"BlockManager", "SingleBlockManager"},
    "pandas.core.series": {"Series"},
    "pyarrow.lib": {"_restore_array", "chunked_array", "py_buffer", "type_for_alias"},
}
for _numpy in ("numpy.core", "numpy._core"):
    _ALLOWED[f"{_numpy}.multiarray"] = {"_reconstruct", "scalar"}
    _ALLOWED[f"{_numpy}.numeric"] = {"_frombuffer"}


class _TableUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("_codecs", "encode"):
            return _latin1
        if name not in _ALLOWED.get(module, ()):
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is no part of a table")
        return super().find_class(module, name)


def _latin1(text: str, encoding: str) -> bytes:
    # How protocol 2 stores bytes; the codec is fixed, so that no other one can be asked for.
    if encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError(f"it asks for the codec {encoding}")
    return text.encode("latin-1")


def read_table_pickle(path: Path) -> Any:
    """The DataFrame, dictionary or list that a pickle file holds.

    Only what pandas and NumPy tables consist of is ever looked up; anything else is refused before
    it is called.

    Raises:
        ValueError: the file holds other objects, is cut, or comes from a pandas version whose
            classes this one does not know.
    """
    try:
        return _TableUnpickler(io.BytesIO(path.read_bytes())).load()
    except (
        pickle.UnpicklingError,
        EOFError,
        AttributeError,
        ImportError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        raise ValueError(
            f"{path}: expected a pickled table of texts, got something this reader does not open "
            f"({error}); save the table as xlsx, tsv or json instead"
        ) from error
