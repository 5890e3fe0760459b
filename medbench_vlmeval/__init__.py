"""Three medical image benchmarks for an unmodified VLMEvalKit: MedEBench, MedSG-Bench, MedQ-Bench.

Importing this package changes nothing and imports neither the host nor torch. Inside VLMEvalKit the
start-up hook calls `register` by itself; call it by hand only where that hook cannot run
(``python -S``, ``pip install --target``).
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__", "register"]


def register() -> None:
    """Make our datasets and editors known to the VLMEvalKit of this interpreter.

    Safe to call any number of times: what the host already knows is left alone.

    Raises:
        ImportError: VLMEvalKit is not installed. Remedy: ``pip install "medbench-vlmeval[host]"``.
    """
    import gc

    # The host has made millions of objects by now. The few thousand that our modules are made of
    # would make Python walk through all of them, which took ten times as long as the registration.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        from .hosting.registration import register as register_with_host

        register_with_host()
    finally:
        if was_enabled:
            gc.enable()
