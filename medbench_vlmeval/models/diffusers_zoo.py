"""Puts the known models on pipelines of diffusers into the model zoo."""

from __future__ import annotations

from ..registry import register_editor
from .diffusers_editor import DiffusersEditor
from .diffusers_entries import ENTRIES

for _name, _arguments in ENTRIES.items():
    register_editor(_name, **_arguments)(DiffusersEditor)
