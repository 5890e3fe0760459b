"""The start-up hook, with a stub of our package and small hosts, on every Python that is here."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from .environments import ARMED, ROOT, clean_environ, interpreter, output_of, run_python
from .fake_hosts import BROKEN, EAGER, LAZY, UNRELATED, write_files

STUB = {
    "medbench_vlmeval/__init__.py": """
        import sys

        def register():
            host = sys.modules["vlmeval.dataset"]
            complete = "supported_VLM" in vars(sys.modules.get("vlmeval.config", sys))
            host.registrations = getattr(host, "registrations", []) + [complete]
    """
}
REGISTRATIONS = "import sys; print(getattr(sys.modules['vlmeval.dataset'], 'registrations', None))"

Run = Callable[..., str]


SUPPORTED = ["3.10", "3.11", "3.12", "3.13"]
COMING = [version for version in ("3.14", "3.15") if interpreter(version)]


@pytest.fixture(scope="module", params=SUPPORTED + COMING)
def python(request: pytest.FixtureRequest) -> str:
    found = interpreter(request.param)
    if found is None:
        pytest.skip(f"Python {request.param} is not installed here")
    return found


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """A folder with the hook and a stub of the package, to be put on the path."""
    shutil.copy2(ROOT / "medbench_vlmeval_hook.py", tmp_path)
    return write_files(tmp_path, STUB)


@pytest.fixture
def start(python: str, sandbox: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program after the hook was imported, as the start-up file does."""

    def started(
        code: str, *flags: str, host: Mapping[str, str] | None = EAGER, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        write_files(sandbox, host or {})
        environment = clean_environ(PYTHONPATH=str(sandbox), **environ)
        program = f"import medbench_vlmeval_hook\n{code}"
        return run_python(python, *flags, "-c", program, cwd=sandbox, environ=environment)

    return started


@pytest.fixture
def outcome(start) -> Run:
    """What a program prints that must neither fail nor write to stderr."""

    def printed(code: str, *flags: str, **options) -> str:
        process = start(code, *flags, **options)
        assert (process.returncode, process.stderr) == (0, ""), process.stderr
        return process.stdout.strip()

    return printed


@pytest.mark.parametrize(
    "statement",
    [
        "import vlmeval",
        "import vlmeval.dataset",
        "from vlmeval.config import supported_VLM",
        "import vlmeval.vlm",
    ],
)
def test_any_import_of_the_host_registers_once_when_all_of_it_is_there(
    outcome: Run, statement: str
) -> None:
    assert outcome(f"{statement}\n{REGISTRATIONS}") == "[True]"


def test_looking_the_host_up_before_importing_it_does_not_disarm(outcome: Run) -> None:
    code = "import importlib.util\nfor _ in range(3): importlib.util.find_spec('vlmeval')\n"
    assert outcome(f"{code}import vlmeval\n{REGISTRATIONS}") == "[True]"


def test_looking_the_host_up_registers_nothing(outcome: Run) -> None:
    code = "import sys, importlib.util\nspec = importlib.util.find_spec('vlmeval')\n"
    assert outcome(f"{code}print(spec.name, 'medbench_vlmeval' in sys.modules)") == "vlmeval False"


def test_a_host_started_as_module_is_registered_with(python: str, sandbox: Path) -> None:
    # `python -m` looks the package up, imports it, and only then runs its __main__.
    write_files(sandbox, {**EAGER, "vlmeval/__main__.py": REGISTRATIONS})
    code = "import medbench_vlmeval_hook, runpy; runpy.run_module('vlmeval', alter_sys=True)"
    environ = clean_environ(PYTHONPATH=str(sandbox))
    assert output_of(python, "-c", code, environ=environ) == "[True]"


def test_a_host_that_is_purged_and_imported_again_is_registered_with_again(outcome: Run) -> None:
    purge = "for name in [*sys.modules]:\n    if name.startswith('vlmeval'): del sys.modules[name]"
    code = f"import vlmeval, sys\n{purge}\nimport vlmeval\n{REGISTRATIONS}"
    assert outcome(code) == "[True]"


def test_reloading_the_host_registers_again(outcome: Run) -> None:
    assert outcome(f"import vlmeval, importlib\nimportlib.reload(vlmeval)\n{REGISTRATIONS}") == (
        "[True, True]"
    )


def test_a_lazy_host_is_registered_with_when_its_parts_load(outcome: Run) -> None:
    code = "import sys, vlmeval\nprint('vlmeval.dataset' in sys.modules)\nimport vlmeval.dataset\n"
    code += f"{REGISTRATIONS}\nimport vlmeval.config\n{REGISTRATIONS}"
    assert outcome(code, host=LAZY).splitlines() == ["False", "[False]", "[False, True]"]


def test_a_registration_that_loads_more_of_the_host_is_not_nested(
    outcome: Run, sandbox: Path
) -> None:
    eager_register = """
        import sys

        def register():
            host = sys.modules["vlmeval.dataset"]
            host.registrations = getattr(host, "registrations", 0) + 1
            import vlmeval.config
    """
    write_files(sandbox, {"medbench_vlmeval/__init__.py": eager_register})
    assert outcome(f"import vlmeval.dataset\n{REGISTRATIONS}", host=LAZY) == "1"


def test_the_host_keeps_the_loader_it_has_without_us(outcome: Run) -> None:
    code = """
import importlib.resources, inspect, sys
import vlmeval, vlmeval.dataset, vlmeval.config
for module in (vlmeval, vlmeval.dataset, vlmeval.config):
    print(type(module.__loader__).__name__, module.__spec__.loader is module.__loader__)
print(inspect.getsource(vlmeval.config).splitlines()[0])
print(importlib.resources.files(vlmeval).joinpath("vlm.py").is_file())
"""
    assert outcome(code).splitlines() == [
        *["SourceFileLoader True"] * 3,
        "from . import api, vlm",
        "True",
    ]


def test_a_spec_can_be_copied_and_its_loader_asked(outcome: Run) -> None:
    code = """
import copy, importlib.util
loader = importlib.util.find_spec("vlmeval").loader
print(loader.is_package("vlmeval"), loader.get_source("vlmeval").strip())
print(type(copy.copy(loader)).__name__, hasattr(loader, "no_such_attribute"))
"""
    assert outcome(code).splitlines() == [
        "True from . import config",
        "RegisteringLoader False",
    ]


def test_a_lazily_loaded_host_works(outcome: Run) -> None:
    code = """
import importlib.util, sys
spec = importlib.util.find_spec("vlmeval")
spec.loader = importlib.util.LazyLoader(spec.loader)
module = importlib.util.module_from_spec(spec)
sys.modules["vlmeval"] = module
spec.loader.exec_module(module)
print("vlmeval.dataset" in sys.modules)
module.config
"""
    assert outcome(f"{code}{REGISTRATIONS}").splitlines() == ["False", "[True]"]


def test_a_directory_called_like_the_host_stays_untouched(outcome: Run, sandbox: Path) -> None:
    (sandbox / "vlmeval").mkdir()
    code = "import sys, vlmeval; print(vlmeval.__spec__.origin, 'medbench_vlmeval' in sys.modules)"
    assert outcome(code, host=None) == "None False"


def test_an_unrelated_package_called_like_the_host_stays_untouched(outcome: Run) -> None:
    code = "import sys, vlmeval; print(vlmeval.purpose, 'medbench_vlmeval' in sys.modules)"
    assert outcome(code, host=UNRELATED) == "something else False"


def test_an_absent_host_is_reported_by_python_as_ever(start) -> None:
    process = start("import vlmeval", host=None)
    assert process.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'vlmeval'"


def test_an_error_of_the_host_passes_unchanged(start) -> None:
    process = start("import vlmeval", host=BROKEN)
    assert process.returncode == 1
    assert process.stderr.splitlines()[-1] == "RuntimeError: the host is broken"
    assert "medbench_vlmeval:" not in process.stderr


def test_the_host_can_be_imported_after_an_import_that_failed(outcome: Run) -> None:
    failing_once = {
        **EAGER,
        "vlmeval/__init__.py": """
            import sys
            sys.attempts = getattr(sys, "attempts", 0) + 1
            from . import config
            if sys.attempts == 1:
                raise RuntimeError("not yet")
        """,
    }
    code = "try:\n    import vlmeval\nexcept RuntimeError: pass\nimport vlmeval\n"
    assert outcome(f"{code}{REGISTRATIONS}", host=failing_once) == "[True]"


FAILING = {"medbench_vlmeval/__init__.py": "def register():\n    raise ValueError('two\\nlines')\n"}


def test_a_failing_registration_costs_one_line_and_the_host_works(start, sandbox: Path) -> None:
    write_files(sandbox, FAILING)
    process = start("import vlmeval, importlib; importlib.reload(vlmeval); print(vlmeval.config)")
    assert process.returncode == 0
    assert "<module 'vlmeval.config'" in process.stdout
    assert process.stderr == (
        "medbench_vlmeval: not registered with VLMEvalKit (ValueError: two lines); "
        "MEDBENCH_VLMEVAL_DEBUG=1 shows where\n"
    )


def test_the_debug_variable_lets_the_error_through(start, sandbox: Path) -> None:
    write_files(sandbox, FAILING)
    process = start("import vlmeval", MEDBENCH_VLMEVAL_DEBUG="1")
    assert process.returncode == 1
    assert "raise ValueError" in process.stderr


def test_a_missing_package_costs_one_line(start, sandbox: Path) -> None:
    shutil.rmtree(sandbox / "medbench_vlmeval")
    process = start("import vlmeval; print('fine')")
    assert (process.returncode, process.stdout) == (0, "fine\n")
    assert process.stderr.count("\n") == 1
    assert "ModuleNotFoundError" in process.stderr


def test_a_program_without_stderr_survives_a_failing_registration(start, sandbox: Path) -> None:
    write_files(sandbox, FAILING)
    assert start("import sys; sys.stderr = None; import vlmeval; print('fine')").stdout == "fine\n"


@pytest.mark.parametrize(("value", "finders"), [("1", "0"), ("yes", "0"), ("0", "1"), ("", "1")])
def test_the_opt_out_variable_keeps_the_finder_away(outcome: Run, value: str, finders: str) -> None:
    code = f"medbench_vlmeval_hook.arm()\n{ARMED}"
    assert outcome(code, MEDBENCH_VLMEVAL_DISABLE=value) == finders


def test_arming_again_and_importing_the_hook_anew_add_no_second_finder(outcome: Run) -> None:
    code = "import sys\nmedbench_vlmeval_hook.arm()\ndel sys.modules['medbench_vlmeval_hook']\n"
    assert outcome(f"{code}import medbench_vlmeval_hook\n{ARMED}") == "1"


def test_importing_the_hook_loads_nothing_else(python: str, sandbox: Path) -> None:
    code = "import sys; before = {*sys.modules}; import medbench_vlmeval_hook; "
    code += "print(sorted({*sys.modules} - before - {'_thread'}))"
    environ = clean_environ(PYTHONPATH=str(sandbox))
    assert output_of(python, "-c", code, environ=environ) == "['medbench_vlmeval_hook']"


@pytest.mark.parametrize("flags", [("-O",), ("-OO",), ("-B",), ("-W", "error")], ids=" ".join)
def test_interpreter_flags_change_nothing(outcome: Run, flags: tuple[str, ...]) -> None:
    assert outcome(f"import vlmeval\n{REGISTRATIONS}", *flags) == "[True]"


def test_threads_that_import_the_host_at_once_leave_it_registered(outcome: Run) -> None:
    # To avoid a deadlock Python lets the root finish before its parts; the parts register again.
    code = """
import importlib, threading
names = ["vlmeval", "vlmeval.dataset", "vlmeval.config", "vlmeval"]
threads = [threading.Thread(target=importlib.import_module, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    assert outcome(f"{code}{REGISTRATIONS}").endswith("True]")
