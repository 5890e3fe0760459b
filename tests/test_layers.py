"""The architecture, stated over the source: who may import whom, and what a library does not do."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "medbench_vlmeval"
HOOK = "medbench_vlmeval_hook"

LAYERS = (
    # the vocabulary, and files of all kinds
    {"types", "files", "images", "registry", "naming", "prediction_formats", "spreadsheet"}
    | {"unpickling", "hosting.probes", "hosting.logs", "hosting.medq_classes"}
    # scripts that run in another Python and import nothing of ours
    | {"bridge_workers"},
    # text or arrays in, readings or numbers out
    {"parsing", "metrics", "official", "stats", "predictions"},
    # what is kept and what is asked for
    {"data", "editing", "edits_folder", "judging", "conventions", "reference_boxes", "sent_size"}
    # image files through a network; what the numbers mean is for `metrics` to say
    | {"features"},
    # predictions in, results out
    {"evaluation", "repair", "hosting.image_fidelity"},
    # inside VLMEvalKit
    {"datasets", "models"},
    {"hosting"},
    # what a user starts
    {"run", "doctor", "cli"},
)
"""Units from the bottom up. A unit imports from the layers below it; single modules also from
modules of their own layer, packages only as `PEERS` says."""

PLACED = frozenset[str]().union(*LAYERS)

PEERS = {
    "official": {"parsing", "metrics", "stats"},
    "metrics": {"stats"},
    "judging": set(),
    "data": set(),
    "parsing": set(),
    "features": set(),
    "evaluation": set(),
}
APART = {
    # images, because a bundle shows pictures as the metrics saw them
    "report": {"types", "stats", "files", "naming", "images", "report"},
    # sheets are made of what reports read; ratings are held against judges by the same measures
    "human": {"types", "stats", "files", "metrics", "images", "report", "human"},
}
"""Units outside the order: they read finished runs and know nothing of how these came about."""

HOST_FACING = {"datasets", "models", "hosting", "hosting.image_fidelity"}
HEAVY = {"torch", "torchvision", "transformers", "diffusers", "numba", "google", "ray", "dask"} | {
    "distributed"
}

BROAD_EXCEPTS = {
    f"{HOOK}.py": 1,  # a plugin must never break the import of its host
    f"{PACKAGE}/hosting/registration.py": 1,  # one broken class must not hide the others
    # whatever a research repository raises is the answer for one picture, not the worker's end
    f"{PACKAGE}/bridge_workers/protocol.py": 2,
    f"{PACKAGE}/models/base.py": 1,  # an exception that leaves a model hangs the host
}


@dataclass(frozen=True)
class Import:
    """One import statement, with the module it names in full."""

    target: str
    line: int
    at_top: bool
    """It runs when the module is imported."""


@dataclass(frozen=True)
class Module:
    """One source file of the package."""

    name: str
    path: Path

    @property
    def relative(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def unit(self) -> str:
        """What `LAYERS` calls it: its package, or itself."""
        inner = self.name.removeprefix(f"{PACKAGE}.")
        return inner if inner in PLACED else inner.partition(".")[0]

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @cache  # noqa: B019 - modules live as long as the tests
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"))

    @cache  # noqa: B019
    def imports(self) -> tuple[Import, ...]:
        at_top = set(map(id, statements_run_on_import(self.tree().body)))
        return tuple(
            Import(target, node.lineno, id(node) in at_top)
            for node in ast.walk(self.tree())
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for target in self._targets(node)
        )

    def _targets(self, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
            return
        base = node.module or ""
        if node.level:
            parts = self.name.split(".") + (["__init__"] if self.is_package else [])
            base = ".".join([*parts[: len(parts) - node.level], *filter(None, [node.module])])
        # `from . import x` names a module, `from .x import y` most often does not
        for alias in node.names:
            whole = f"{base}.{alias.name}"
            yield whole if whole in module_names() else base


def statements_run_on_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module outside functions and outside ``if TYPE_CHECKING``."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from statements_run_on_import(getattr(statement, field, []))
        for handler in getattr(statement, "handlers", []):
            yield from statements_run_on_import(handler.body)


@cache
def module_names() -> dict[str, Path]:
    names = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


MODULES = [Module(name, path) for name, path in module_names().items()]
EVERY_MODULE = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.relative)
SOURCES = [*MODULES, Module(HOOK, ROOT / f"{HOOK}.py")]


def layer_of(unit: str) -> int:
    return next(index for index, units in enumerate(LAYERS) if unit in units)


def is_allowed(unit: str, other: str) -> bool:
    if unit == other or other == PACKAGE:
        return True
    if unit in APART or other in APART:
        return other in APART.get(unit, set(APART) if unit == "cli" else set())
    if layer_of(other) == layer_of(unit):
        return other in PEERS.get(unit, LAYERS[layer_of(unit)])
    return layer_of(other) < layer_of(unit)


def test_every_part_of_the_package_has_a_layer() -> None:
    assert {module.unit for module in MODULES} <= {PACKAGE, *APART, *PLACED}


@EVERY_MODULE
def test_dependencies_point_down(module: Module) -> None:
    if module.name == PACKAGE:
        return
    inner = [it for it in module.imports() if it.target.partition(".")[0] == PACKAGE]
    upward = [
        f"line {it.line}: {it.target}"
        for it in inner
        if not is_allowed(module.unit, Module(it.target, ROOT).unit)
    ]
    assert upward == []


def test_no_two_modules_need_each_other() -> None:
    graph = {
        module.name: {it.target for it in module.imports() if it.at_top}
        & {*module_names()} - {module.name, PACKAGE}
        for module in MODULES
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@EVERY_MODULE
def test_the_host_is_imported_only_where_we_face_it(module: Module) -> None:
    if module.unit in HOST_FACING:
        return
    assert [it.line for it in module.imports() if it.target.partition(".")[0] == "vlmeval"] == []


@pytest.mark.parametrize("package", ["datasets", "models"])
def test_host_facing_packages_import_the_host_before_anything_else(package: str) -> None:
    statements = Module(package, module_names()[f"{PACKAGE}.{package}"]).tree().body
    code = [ast.unparse(it) for it in statements[1:]]
    assert isinstance(statements[0].value, ast.Constant)
    assert code == ["from __future__ import annotations", "import vlmeval"]


def test_hosting_and_the_root_import_no_host_and_no_plugin_module() -> None:
    for name in (PACKAGE, f"{PACKAGE}.hosting"):
        module = Module(name, module_names()[name])
        assert [it.target for it in module.imports() if it.at_top] in ([], ["__future__"])


@cache
def heavy_at_top() -> dict[str, set[str]]:
    """Modules whose own import loads something heavy, with what they load."""
    found = {}
    for module in MODULES:
        tops = {it.target.partition(".")[0] for it in module.imports() if it.at_top}
        if tops & HEAVY:
            found[module.name] = tops & HEAVY
    return found


def test_heavy_packages_are_imported_when_they_are_used() -> None:
    # the compiled twin of a metric may need numba to be imported at all, if nobody imports it early
    assert set(heavy_at_top()) <= {f"{PACKAGE}.metrics._ssim_numba"}


@EVERY_MODULE
def test_nobody_imports_a_module_that_needs_heavy_packages_early(module: Module) -> None:
    assert [it.target for it in module.imports() if it.at_top and it.target in heavy_at_top()] == []


def test_the_hook_imports_nothing_from_disk() -> None:
    (hook,) = (module for module in SOURCES if module.name == HOOK)
    assert {it.target for it in hook.imports() if it.at_top} == {"sys", "_thread"}


def is_broad(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {ast.unparse(kind) for kind in kinds if kind is not None}
    if names and not names & {"Exception", "BaseException"}:
        return False
    # cleaning up before an error goes on its way is no handling of it
    last = handler.body[-1]
    return not (isinstance(last, ast.Raise) and last.exc is None)


@pytest.mark.parametrize("module", SOURCES, ids=lambda module: module.relative)
def test_only_named_exceptions_are_caught(module: Module) -> None:
    handlers = [node for node in ast.walk(module.tree()) if isinstance(node, ast.ExceptHandler)]
    assert len([*filter(is_broad, handlers)]) == BROAD_EXCEPTS.get(module.relative, 0)


@pytest.mark.parametrize("module", SOURCES, ids=lambda module: module.relative)
def test_the_library_neither_prints_nor_asserts(module: Module) -> None:
    if module.unit == "cli":
        return
    nodes = [*ast.walk(module.tree())]
    calls = [
        it.func.id for it in nodes if isinstance(it, ast.Call) and isinstance(it.func, ast.Name)
    ]
    assert "print" not in calls
    assert not any(isinstance(it, ast.Assert) for it in nodes)


def test_the_pure_part_loads_neither_host_nor_torch() -> None:
    pure = [
        module.name
        for module in MODULES
        if module.unit not in (*HOST_FACING, PACKAGE) and module.name not in heavy_at_top()
    ]
    unwanted = sorted({"vlmeval", *HEAVY} - {"google"})  # a namespace that others may have loaded
    code = "\n".join(
        [
            "import importlib, sys",
            f"for name in {pure!r}: importlib.import_module(name)",
            f"print([name for name in {unwanted!r} if name in sys.modules])",
        ]
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [sys.executable, "-c", code],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == "[]"
