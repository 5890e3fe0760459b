"""Packages of other people, made for a test: a module and the entry point that names it."""

from __future__ import annotations

from pathlib import Path


def write_plugin(folder: Path, module: str, source: str) -> Path:
    """Write an installed-looking package into `folder`; put the folder on ``PYTHONPATH``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    information = folder / f"{module}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        f"[medbench_vlmeval.plugins]\n{module} = {module}\n"
    )
    return folder
