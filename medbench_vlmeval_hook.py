"""Registers medbench_vlmeval with VLMEvalKit at the moment VLMEvalKit has been imported.

``medbench_vlmeval.pth`` imports this module at every start of the interpreter, so it imports
nothing that has to be read from disk (not even ``__future__``), does nothing but add one finder,
and stays outside the package, whose ``__init__`` would otherwise run too.

Environment:
    MEDBENCH_VLMEVAL_DISABLE=1: add no finder.
    MEDBENCH_VLMEVAL_DEBUG=1: let errors of the registration through instead of printing one line.
"""

import _thread
import sys

HOST = "vlmeval"
DATASETS = "vlmeval.dataset"
MODELS = "vlmeval.config"
WATCHED = (HOST, DATASETS, MODELS)


def switched_on(variable: str) -> bool:
    """Whether an environment variable is set to something other than an empty text or ``0``."""
    os = sys.modules.get("os")  # `site` has loaded it, and whoever imports us later needed it too
    return os is not None and os.environ.get(variable, "") not in ("", "0")


class HostFinder:
    """A finder for `sys.meta_path` that only wraps the loader of the modules in `WATCHED`.

    Looking a module up changes nothing (``python -m vlmeval`` looks the host up before it imports
    it); what has to happen happens when the loader has executed the module.
    """

    def __init__(self) -> None:
        self._searches: set = set()
        self._root_loads = 0
        self._registering = False
        self._complaints: set = set()

    def find_spec(self, name: str, path=None, target=None):
        """The spec that the other finders have for a watched name, else None."""
        if name not in WATCHED:
            return None
        search = (_thread.get_ident(), name)
        if search in self._searches:  # another finder asks sys.meta_path in turn
            return None
        self._searches.add(search)
        try:
            spec = self._spec_of_other_finders(name, path, target)
        finally:
            self._searches.discard(search)
        # A directory that merely is called like the host has no origin and is not our business.
        if spec is not None and spec.origin and hasattr(spec.loader, "exec_module"):
            spec.loader = RegisteringLoader(spec.loader, self)
        return spec

    def _spec_of_other_finders(self, name, path, target):
        for other in list(sys.meta_path):
            if other is self or not hasattr(other, "find_spec"):
                continue
            spec = other.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None

    def execute(self, loader, module) -> None:
        """Execute a watched module; then register, unless the host's root is still executing."""
        is_root = module.__name__ == HOST
        self._root_loads += is_root
        try:
            loader.exec_module(module)
        finally:
            self._root_loads -= is_root
        if self._root_loads == 0 and not self._registering:
            self.register()

    def register(self) -> None:
        """Register with a host that has dataset classes; report a failure in one line of stderr."""
        if not hasattr(sys.modules.get(DATASETS), "DATASET_CLASSES"):
            return
        self._registering = True
        try:
            import medbench_vlmeval

            medbench_vlmeval.register()
        except Exception as error:  # a plugin must never break the import of its host
            if switched_on("MEDBENCH_VLMEVAL_DEBUG"):
                raise
            self._complain(error)
        finally:
            self._registering = False

    def _complain(self, error):
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        if reason in self._complaints or sys.stderr is None:
            return
        self._complaints.add(reason)
        sys.stderr.write(
            f"medbench_vlmeval: not registered with VLMEvalKit ({reason}); "
            "MEDBENCH_VLMEVAL_DEBUG=1 shows where\n"
        )


class RegisteringLoader:
    """Stands in for a loader until it has to execute the module, then steps aside."""

    def __init__(self, loader, finder: HostFinder) -> None:
        self._loader = loader
        self._finder = finder

    def __getattr__(self, name):
        # Not `self._loader`: that recurses for ever in a copy that has no attributes yet.
        return getattr(object.__getattribute__(self, "_loader"), name)

    def exec_module(self, module) -> None:
        """Execute `module` by the loader it would have without us."""
        # `inspect`, `importlib.resources` and pickling are to see that loader, too.
        module.__loader__ = module.__spec__.loader = self._loader
        self._finder.execute(self._loader, module)


def installed_finder() -> object:
    """The `HostFinder` in `sys.meta_path`, or None.

    It is recognised by the names of its class: a module that is imported again defines it anew.
    """
    for candidate in sys.meta_path:
        kind = type(candidate)
        if (kind.__module__, kind.__qualname__) == (__name__, "HostFinder"):
            return candidate
    return None


def insert_finder() -> None:
    """Put the finder in front of `sys.meta_path`, unless it is there already."""
    if installed_finder() is None:
        sys.meta_path.insert(0, HostFinder())


def arm() -> None:
    """What the start-up files ask for: the finder, unless the environment opts out."""
    if not switched_on("MEDBENCH_VLMEVAL_DISABLE"):
        insert_finder()


arm()
