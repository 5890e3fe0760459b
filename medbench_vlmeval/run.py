"""Starts VLMEvalKit with this package loaded: ``python -m medbench_vlmeval.run [--host-run PATH]``.

Only needed where the start-up files are not read (``python -S``, ``pip install --target``) or were
switched off; everywhere else ``python run.py`` and ``python -m vlmeval`` know our names by
themselves.

``--host-run PATH`` names a clone of VLMEvalKit or its ``run.py``; without it the environment
variable ``MEDBENCH_VLMEVALKIT`` does, and without that the installed host is run. Every other
argument goes to VLMEvalKit as it is.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import medbench_vlmeval_hook

from .hosting.probes import find_host

_OPTION = "--host-run"


def main(argv: Sequence[str] | None = None) -> None:
    """Run the host with `argv` (default: this process's arguments); returns when the host does.

    The finder is put in place rather than `register` called, because the host's ``run.py`` divides
    the GPUs among its ranks before it imports anything, and importing VLMEvalKit imports torch.

    Raises:
        SystemExit: no host was found, or the host exits.
    """
    chosen, arguments = split_arguments(sys.argv[1:] if argv is None else argv)
    chosen = chosen or os.environ.get("MEDBENCH_VLMEVALKIT", "")
    medbench_vlmeval_hook.insert_finder()
    if chosen:
        _run_script(_script_of(chosen), arguments)
        return
    host = find_host()
    if host is not None and host.run_module:
        sys.argv = [host.run_module, *arguments]
        runpy.run_module(host.run_module, run_name="__main__", alter_sys=True)
    elif host is not None and host.run_script:
        _run_script(host.run_script, arguments)
    else:
        raise SystemExit(
            "expected VLMEvalKit, found none that can be run; "
            f'pip install "medbench-vlmeval[host]", or name a clone with {_OPTION} PATH'
        )


def split_arguments(argv: Sequence[str]) -> tuple[str, list[str]]:
    """The value of ``--host-run`` (empty without it), and all other arguments in their order.

    Raises:
        SystemExit: the option has no value.
    """
    chosen = ""
    others: list[str] = []
    remaining = iter(argv)
    for argument in remaining:
        if argument == _OPTION:
            chosen = next(remaining, "")
        elif argument.startswith(_OPTION + "="):
            chosen = argument.partition("=")[2]
        else:
            others.append(argument)
            continue
        if not chosen:
            raise SystemExit(f"expected a path after {_OPTION}, got nothing")
    return chosen, others


def _script_of(chosen: str) -> Path:
    path = Path(chosen).expanduser()
    script = path / "run.py" if path.is_dir() else path
    if not script.is_file():
        raise SystemExit(f"expected a clone of VLMEvalKit or its run.py, got {chosen}")
    return script.resolve()


def _run_script(script: Path, arguments: Sequence[str]) -> None:
    # As `python run.py` does: the script's folder comes first, so that its own vlmeval is imported.
    sys.path.insert(0, str(script.parent))
    sys.argv = [str(script), *arguments]
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main()
