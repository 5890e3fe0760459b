"""The start-up files, from build to uninstall."""

from __future__ import annotations

import ast
import csv
import re
import shutil
import sys
import zipapp
import zipfile
from collections.abc import Callable, Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from .environments import (
    ARMED,
    BASE_PYTHON,
    ROOT,
    STARTUP_FILES,
    Environment,
    build,
    clean_environ,
    copy_sources,
    create_environment,
    interpreter,
    output_of,
    run_python,
    unpack,
)
from .fake_hosts import EAGER, write_files

pytestmark = pytest.mark.install

KINDS = ("wheel", "sdist", "editable")


@pytest.fixture(scope="module", params=KINDS)
def distribution(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The wheel that pip installs for a wheel, for an sdist, and for ``pip install -e``."""
    if request.param == "wheel":
        return wheel
    folder = tmp_path_factory.mktemp(request.param)
    built = build(request.param, copy_sources(folder / "sources"), folder / "dist")
    if request.param == "editable":
        return built
    shutil.unpack_archive(built, folder / "unpacked")
    (sources,) = (folder / "unpacked").iterdir()
    return build("wheel", sources, folder / "wheel")


def test_the_start_up_files_are_at_the_root_and_in_record(distribution: Path) -> None:
    with zipfile.ZipFile(distribution) as archive:
        names = archive.namelist()
        (record,) = (name for name in names if name.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(archive.read(record).decode("utf-8").splitlines()))
    assert len(names) == len(set(names))
    assert sorted(row[0] for row in rows) == sorted(names)
    for name in STARTUP_FILES:
        (row,) = (row for row in rows if row[0] == name)
        assert row[1].startswith("sha256=")


def test_pip_installs_a_hook_that_is_armed_and_removes_all_of_it(
    distribution: Path, tmp_path: Path
) -> None:
    environment = create_environment(tmp_path / "environment")
    before = environment.contents()
    environment.pip("install", "--no-deps", "--no-index", str(distribution))
    version = "import medbench_vlmeval; print(medbench_vlmeval.__version__)"
    # without PYTHONDONTWRITEBYTECODE, so that byte code is there to be removed
    environ = clean_environ()
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    assert output_of(environment.python, "-c", ARMED, environ=environ) == "1"
    assert output_of(environment.python, "-c", version, environ=environ)
    assert {*STARTUP_FILES} <= environment.contents()
    environment.pip("uninstall", "--yes", "medbench-vlmeval")
    assert environment.contents() == before
    assert output_of(environment.python, "-c", ARMED, environ=environ) == "0"


def test_the_wheel_holds_the_package_and_nothing_beside_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"medbench_vlmeval", "medbench_vlmeval_hook.py", *STARTUP_FILES}
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "medbench_vlmeval").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert sources == {name for name in names if name.startswith("medbench_vlmeval/")}


def test_the_metadata_names_the_version_and_the_entry_points(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (it for it in archive.namelist() if it.endswith(".dist-info/entry_points.txt"))
        entry_points = archive.read(name).decode("utf-8")
    metadata = metadata_of(wheel)
    source = (ROOT / "medbench_vlmeval" / "__init__.py").read_text(encoding="utf-8")
    assert f'__version__ = "{metadata["Version"]}"' in source
    assert metadata["Requires-Python"] == ">=3.10"
    assert "medbench = medbench_vlmeval.cli:main" in entry_points
    assert "medbench_vlmeval = medbench_vlmeval:register" in entry_points


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (it for it in archive.namelist() if it.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode("utf-8"))


def test_every_extra_that_a_message_names_exists(wheel: Path) -> None:
    extras = metadata_of(wheel).get_all("Provides-Extra")
    named = {
        extra
        for path in [
            *(ROOT / "medbench_vlmeval").rglob("*.py"),
            *ROOT.glob("*.md"),
            *ROOT.glob("docs/*.md"),
        ]
        for extra in re.findall(r"medbench-vlmeval\[(\w+)\]", path.read_text(encoding="utf-8"))
    }
    assert named
    assert named <= {*extras}


DISTRIBUTIONS = {
    "PIL": "pillow",
    "cv2": "opencv-python",
    "distributed": "dask",
    "google": "google-genai",
    "skimage": "scikit-image",
    "vlmeval": "ms-vlmeval",
}


def third_party_imports() -> Iterator[str]:
    """The top-level names of everything that a module of the package imports anywhere.

    The scripts of `bridge_workers` run in the environment of another project.
    """
    for path in (ROOT / "medbench_vlmeval").rglob("*.py"):
        if path.parent.name == "bridge_workers":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                yield node.module.partition(".")[0]


def test_everything_that_is_imported_is_declared(wheel: Path) -> None:
    declared = {
        re.match(r"[\w.-]+", line)[0].lower().replace("_", "-")
        for line in metadata_of(wheel).get_all("Requires-Dist")
    }
    own = {"medbench_vlmeval", "medbench_vlmeval_hook", *sys.stdlib_module_names}
    needed = {DISTRIBUTIONS.get(it, it).replace("_", "-") for it in {*third_party_imports()} - own}
    assert needed <= declared


@pytest.mark.parametrize(
    ("flags", "finders"),
    [("-I", "1"), ("-s", "1"), ("-E", "1"), ("-O", "1"), ("-S", "0"), ("-IS", "0")],
)
def test_what_interpreter_flags_make_of_the_hook(
    installed: Environment, flags: str, finders: str
) -> None:
    assert output_of(installed.python, flags, "-c", ARMED) == finders


def test_the_opt_out_variable_is_read_before_anything_else(installed: Environment) -> None:
    environ = clean_environ(MEDBENCH_VLMEVAL_DISABLE="1")
    assert output_of(installed.python, "-c", ARMED, environ=environ) == "0"


def test_a_zip_application_has_the_hook(installed: Environment, tmp_path: Path) -> None:
    write_files(tmp_path / "application", {"__main__.py": ARMED})
    zipapp.create_archive(tmp_path / "application", tmp_path / "application.pyz")
    assert output_of(installed.python, str(tmp_path / "application.pyz")) == "1"


def test_a_user_site_has_the_hook_unless_it_is_switched_off(wheel: Path, tmp_path: Path) -> None:
    environ = clean_environ(PYTHONUSERBASE=str(tmp_path))
    folder = output_of(
        BASE_PYTHON, "-c", "import site; print(site.getusersitepackages())", environ=environ
    )
    unpack(wheel, Path(folder))
    assert output_of(BASE_PYTHON, "-c", ARMED, environ=environ) == "1"
    assert output_of(BASE_PYTHON, "-s", "-c", ARMED, environ=environ) == "0"


def test_a_target_folder_on_pythonpath_has_no_hook(wheel: Path, tmp_path: Path) -> None:
    unpack(wheel, tmp_path / "target")
    environ = clean_environ(PYTHONPATH=str(tmp_path / "target"))
    assert output_of(BASE_PYTHON, "-c", ARMED, environ=environ) == "0"


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_every_supported_python_is_armed_exactly_once(
    wheel: Path, tmp_path: Path, version: str
) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"Python {version} is not installed here")
    environment = create_environment(tmp_path / "environment", python=python)
    environment.unpack(wheel)
    assert output_of(environment.python, "-W", "error", "-c", ARMED) == "1"


def test_the_start_file_names_a_function_that_arms_once(installed: Environment) -> None:
    # Python 3.15 imports the module and calls the function (PEP 829); older ones ignore the file.
    (line,) = (installed.site_packages / STARTUP_FILES[1]).read_text(encoding="utf-8").splitlines()
    module, _, function = line.partition(":")
    code = f"import importlib; importlib.import_module({module!r}).{function}()\n{ARMED}"
    assert output_of(installed.python, "-S", "-c", code, environ=on_path(installed)) == "1"
    assert output_of(installed.python, "-c", code) == "1"


def on_path(environment: Environment) -> dict[str, str]:
    return clean_environ(PYTHONPATH=str(environment.site_packages))


def test_the_pth_file_is_one_line_that_site_executes(installed: Environment) -> None:
    text = (installed.site_packages / STARTUP_FILES[0]).read_text(encoding="utf-8")
    assert text.startswith("import ")
    assert text.count("\n") == 1
    # editable installs put the package on the path by a file of this kind; site reads in this order
    assert STARTUP_FILES[0] > "__editable__.medbench_vlmeval-0.1.0.pth"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_child_processes_have_the_hook(installed: Environment, tmp_path: Path, method: str) -> None:
    program = f"""
        import multiprocessing, sys

        def armed(queue):
            queue.put(sum(type(it).__name__ == "HostFinder" for it in sys.meta_path))

        if __name__ == "__main__":
            context = multiprocessing.get_context({method!r})
            queue = context.SimpleQueue()
            child = context.Process(target=armed, args=(queue,))
            child.start()
            print(queue.get())
            child.join()
    """
    write_files(tmp_path, {"program.py": program})
    assert output_of(installed.python, str(tmp_path / "program.py")) == "1"


def remove_package(folder: Path) -> None:
    shutil.rmtree(folder / "medbench_vlmeval")


def remove_hook(folder: Path) -> None:
    (folder / "medbench_vlmeval_hook.py").unlink()


def spoil_hook(folder: Path) -> None:
    (folder / "medbench_vlmeval_hook.py").write_text("def arm(:", encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "lines"), [(remove_package, 1), (remove_hook, 0), (spoil_hook, 0)]
)
def test_a_damaged_installation_disturbs_nobody(
    wheel: Path, tmp_path: Path, damage: Callable[[Path], None], lines: int
) -> None:
    environment = create_environment(tmp_path / "environment")
    environment.unpack(wheel)
    damage(environment.site_packages)
    assert output_of(environment.python, "-c", "print('fine')") == "fine"
    write_files(tmp_path / "host", EAGER)
    environ = clean_environ(PYTHONPATH=str(tmp_path / "host"))
    process = run_python(environment.python, "-c", "import vlmeval; print('fine')", environ=environ)
    assert (process.returncode, process.stdout) == (0, "fine\n")
    assert process.stderr.count("\n") == lines
