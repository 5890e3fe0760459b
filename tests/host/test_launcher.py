"""``python -m medbench_vlmeval.run``: small hosts started the way their own users start them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from medbench_vlmeval import run

from .environments import BASE_PYTHON, ROOT, clean_environ, output_of, run_python
from .fake_hosts import EAGER, TOY_PLUGIN, write_files

REPORT = """
    import json, sys
    from vlmeval.config import supported_VLM
    from vlmeval.dataset import SUPPORTED_DATASETS

    if __name__ == "__main__":
        print(json.dumps({
            "arguments": sys.argv,
            "file": __file__,
            "dataset": "Toy_test" in SUPPORTED_DATASETS,
            "model": "Toy-Editor" in supported_VLM,
            "path": sys.path[0],
        }))
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A folder on the path with somebody's dataset and editor, which registration must load."""
    return write_files(tmp_path / "plugin", TOY_PLUGIN)


def launch(
    plugin: Path, *arguments: str, host: Path | None = None, flags: str = "-S", **environ: str
) -> dict[str, object]:
    """What a host says that was started through the launcher, without `site` by default."""
    path = os.pathsep.join(map(str, filter(None, (plugin, ROOT, host))))
    process = run_python(
        BASE_PYTHON,
        flags,
        "-m",
        "medbench_vlmeval.run",
        *arguments,
        cwd=plugin,
        environ=clean_environ(PYTHONPATH=path, **environ),
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return write_files(tmp_path / "clone", {**EAGER, "run.py": REPORT})


@pytest.mark.parametrize("by_file", [True, False])
@pytest.mark.parametrize("joined", [True, False])
def test_a_clone_named_on_the_command_line_runs_with_our_names(
    plugin: Path, clone: Path, by_file: bool, joined: bool
) -> None:
    path = str(clone / "run.py" if by_file else clone)
    option = [f"--host-run={path}"] if joined else ["--host-run", path]
    said = launch(plugin, "--data", "Toy_test", *option, "--mode", "all")
    assert said == {
        "arguments": [str(clone / "run.py"), "--data", "Toy_test", "--mode", "all"],
        "file": str(clone / "run.py"),
        "dataset": True,
        "model": True,
        "path": str(clone),
    }


def test_a_clone_named_by_the_environment_runs(plugin: Path, clone: Path) -> None:
    said = launch(plugin, "--verbose", MEDBENCH_VLMEVALKIT=str(clone))
    assert said["arguments"] == [str(clone / "run.py"), "--verbose"]
    assert said["dataset"]


def test_the_command_line_wins_over_the_environment(plugin: Path, clone: Path) -> None:
    said = launch(plugin, "--host-run", str(clone), MEDBENCH_VLMEVALKIT=str(plugin / "other"))
    assert said["dataset"]


@pytest.mark.parametrize(
    ("files", "script"),
    [
        ({"vlmeval/__main__.py": REPORT, "vlmeval/run.py": "1 / 0"}, "vlmeval/__main__.py"),
        ({"vlmeval/run.py": REPORT}, "vlmeval/run.py"),
        ({"run.py": REPORT}, "run.py"),
    ],
    ids=["ms-vlmeval", "nvidia-vlmeval", "clone-installed-editable"],
)
def test_an_installed_host_is_run_as_it_wants_to_be(
    plugin: Path, tmp_path: Path, files: dict[str, str], script: str
) -> None:
    host = write_files(tmp_path / "host", {**EAGER, **files})
    said = launch(plugin, "--data", "Toy_test", host=host)
    assert said["arguments"] == [str(host / script), "--data", "Toy_test"]
    assert said["file"] == str(host / script)
    assert said["dataset"]
    assert said["model"]


def test_the_launcher_loads_us_even_when_automatic_loading_is_off(
    plugin: Path, clone: Path
) -> None:
    said = launch(plugin, "--host-run", str(clone), flags="-s", MEDBENCH_VLMEVAL_DISABLE="1")
    assert said["dataset"]


def test_the_host_is_not_imported_before_its_own_script_runs(plugin: Path, tmp_path: Path) -> None:
    # A host's run.py divides the GPUs among the ranks first; torch must not have been imported.
    early = {"run.py": "import sys\nprint('\"' + str('vlmeval' in sys.modules) + '\"')"}
    clone = write_files(tmp_path / "early", {**EAGER, **early})
    assert launch(plugin, "--host-run", str(clone)) == "False"


def test_what_the_host_exits_with_is_what_the_launcher_exits_with(
    plugin: Path, tmp_path: Path
) -> None:
    clone = write_files(tmp_path / "exits", {**EAGER, "run.py": "raise SystemExit(7)"})
    environ = clean_environ(PYTHONPATH=str(ROOT))
    command = ["-m", "medbench_vlmeval.run", "--host-run", str(clone)]
    assert run_python(BASE_PYTHON, *command, cwd=plugin, environ=environ).returncode == 7


def refusal(*arguments: str, cwd: Path) -> str:
    environ = clean_environ(PYTHONPATH=str(ROOT))
    process = run_python(
        BASE_PYTHON, "-S", "-m", "medbench_vlmeval.run", *arguments, cwd=cwd, environ=environ
    )
    assert process.returncode == 1
    assert process.stdout == ""
    return process.stderr


def test_without_a_host_the_remedies_are_named(tmp_path: Path) -> None:
    said = refusal("--data", "Toy_test", cwd=tmp_path)
    assert 'pip install "medbench-vlmeval[host]"' in said
    assert "--host-run PATH" in said


def test_a_folder_that_is_no_clone_is_named(tmp_path: Path) -> None:
    said = refusal("--host-run", str(tmp_path), cwd=tmp_path)
    assert said == f"expected a clone of VLMEvalKit or its run.py, got {tmp_path}\n"


def test_an_option_without_a_path_is_named(tmp_path: Path) -> None:
    assert refusal("--host-run", cwd=tmp_path) == "expected a path after --host-run, got nothing\n"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ([], ("", [])),
        (["--help"], ("", ["--help"])),
        (["--data", "A", "B", "--host-run", "x"], ("x", ["--data", "A", "B"])),
        (["--host-runner", "x"], ("", ["--host-runner", "x"])),
        (["--host", "x"], ("", ["--host", "x"])),
        (["--", "--limit", "3"], ("", ["--", "--limit", "3"])),
    ],
)
def test_only_our_own_option_is_taken_out(argv: list[str], expected: tuple[str, list[str]]) -> None:
    assert run.split_arguments(argv) == expected


@pytest.mark.parametrize("value", [["--host-run"], ["--host-run="], ["--host-run", ""]])
def test_an_empty_path_is_refused(value: list[str]) -> None:
    with pytest.raises(SystemExit, match="expected a path after --host-run"):
        run.split_arguments(value)


def test_importing_the_launcher_imports_no_host(tmp_path: Path) -> None:
    code = "import sys, medbench_vlmeval.run; print('vlmeval' in sys.modules)"
    environ = clean_environ(PYTHONPATH=str(ROOT))
    assert output_of(BASE_PYTHON, "-c", code, environ=environ) == "False"
