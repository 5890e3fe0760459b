"""The published rules, exact: one module a benchmark, each rule with its source."""

from __future__ import annotations

from . import medebench, medq, medsg

__all__ = ["medebench", "medq", "medsg"]
