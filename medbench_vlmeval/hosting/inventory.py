"""Imports the host and says what it knows of us: ``python -m medbench_vlmeval.hosting.inventory``.

The doctor runs this in a process of its own. A host that cannot be imported ends it with the host's
own traceback.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

from .registration import register

MARK = "medbench-inventory: "
"""Begins the one line of output that is ours; the host writes to the same stream."""


def inventory() -> dict[str, Any]:
    """What is registered, and whether the start-up hook had done it before we asked.

    Raises:
        ImportError: there is no VLMEvalKit, or it cannot be imported.
    """
    host = importlib.import_module("vlmeval.dataset")
    loaded_by_hook = any(
        cls.__module__.startswith("medbench_vlmeval.") for cls in host.DATASET_CLASSES
    )
    registration = register()
    return {
        "loaded_by_hook": loaded_by_hook,
        "datasets": registration.datasets,
        "editors": registration.editors,
        "taken_over": registration.taken_over,
        "failures": registration.failures,
    }


if __name__ == "__main__":
    sys.stdout.write(f"\n{MARK}{json.dumps(inventory())}\n")
