"""Imports the modules that register functions, reports errors at the user's own line, and follows their imports."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import platform
import stat
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hlodiff import __version__ as hlodiff_version
from hlodiff.config import Config
from hlodiff.errors import ConfigError, HlodiffError, RegistryError

_OWN = str(Path(__file__).resolve().parent.parent) + os.sep
_PACKAGES, _STDLIB = (
    tuple(str(Path(sysconfig.get_path(name)).resolve()) + os.sep for name in names)
    for names in (("purelib", "platlib"), ("stdlib",))
)
_INSTALLED = (*_PACKAGES, *_STDLIB)


def import_modules(config: Config, on_module: Callable[[str], None] = lambda name: None) -> None:
    """Import the configured modules, so that their functions are registered.

    Args:
        config: its `path` is put on `sys.path` first.
        on_module: called with each module before it is imported, because the import may end the process.

    Raises:
        ConfigError: no modules are named, or one does not exist.
        RegistryError: a module raises while it is imported.

    Example:
        >>> import_modules(config)  # doctest: +SKIP
    """
    if not config.modules:
        hint = 'name them: modules = ["package.module", "examples/*.py"]'
        raise ConfigError("no modules to import", where="[tool.hlodiff] modules", hint=hint)
    sys.path[:0] = [str((config.root / entry).resolve()) for entry in config.path]
    for named in config.modules:
        for module in _expand(config, named):
            shown = module if isinstance(module, str) else os.path.relpath(module, config.root)
            on_module(shown)
            try:
                importlib.import_module(module) if isinstance(module, str) else _import_file(module)
            except HlodiffError as error:
                error.where = relative(error.where, config.root)
                raise
            except BaseException as error:  # a module may also exit by SystemExit; Ctrl-C is for the parent process
                raise _import_error(config, shown, error) from None


def _expand(config: Config, named: str) -> list[str | Path]:
    """A module name unchanged; for a file or pattern the files that match."""
    if not named.endswith(".py"):
        return [named]
    files: list[str | Path] = sorted(config.root.glob(named)) if "*" in named else [config.root / named]
    files = [file for file in files if Path(file).is_file()]
    if not files:
        raise ConfigError(f"no file matches `{named}`", where="[tool.hlodiff] modules")
    return files


def _import_file(file: Path) -> None:
    """Import a file, under its dotted name if it has one, so that other modules import the same module object."""
    file = file.resolve()
    for entry in sys.path:
        folder = Path(entry or ".").resolve()
        if file.is_relative_to(folder):
            parts = file.relative_to(folder).with_suffix("").parts
            if all(part.isidentifier() for part in parts):
                importlib.import_module(".".join(parts))
                return
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file.name} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)


def _import_error(config: Config, named: str, error: BaseException) -> HlodiffError:
    if isinstance(error, ModuleNotFoundError) and error.name and f"{named}.".startswith(f"{error.name}."):
        hint = f"is it on the path? `path` is {list(config.path)}, from the folder of pyproject.toml"
        return ConfigError(f"there is no module `{named}`", where="[tool.hlodiff] modules", hint=hint)
    where = user_frame(error, config.root)
    hint = "it holds git conflict markers: resolve them first" if _in_conflict(error) else ""
    return RegistryError(f"`{named}` cannot be imported: {one_line(error)}", where=where, hint=hint)


def _in_conflict(error: BaseException) -> bool:
    """Whether a file contains git conflict markers."""
    if not isinstance(error, SyntaxError) or not error.filename:
        return False
    try:
        return "\n<<<<<<< " in "\n" + Path(error.filename).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def imported_files(seen: set[str]) -> tuple[str, ...]:
    """Absolute paths of the imported modules, except those of installed packages, Python and hlodiff.

    Args:
        seen: names of modules to skip; all currently imported modules are added.

    Returns:
        the files, sorted.
    """
    new = [(name, module) for name, module in list(sys.modules.items()) if name not in seen]
    seen.update(name for name, _ in new)
    files = [getattr(module, "__file__", None) for _, module in new]
    return tuple(sorted({os.path.realpath(file) for file in files if isinstance(file, str) and is_users(file)}))


def user_frame(error: BaseException, root: Path) -> str:
    """The location in the user's own code where an exception was raised.

    Args:
        error: the exception.
        root: the folder that the location is relative to.

    Returns:
        `file:line` of the innermost frame outside installed packages; "" if there is none.
    """
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return relative(f"{error.filename}:{error.lineno}", root)
    frames = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]
    own = [(file, line) for file, line in frames if is_users(file)]
    file, line = own[-1] if own else ("", 0)
    return relative(f"{file}:{line}", root) if file else ""


def user_traceback(error: BaseException, root: Path) -> str:
    """The user's own lines of a traceback, and the exception.

    Args:
        error: the exception.
        root: the folder that files are relative to.

    Returns:
        several lines.
    """
    frames = traceback.extract_tb(error.__traceback__)
    lines = [
        f"  {relative(f'{f.filename}:{f.lineno}', root)} in {f.name}: {f.line or ''}".rstrip(": ")
        for f in frames
        if is_users(f.filename)
    ]
    return "\n".join([*lines, f"{type(error).__name__}: {message(error)}"])


def one_line(error: BaseException, limit: int = 400) -> str:
    """An exception in one line.

    Args:
        error: the exception.
        limit: how many characters to keep.

    Returns:
        its type and the start of its message.
    """
    what = " ".join(message(error).split())
    text = f"{type(error).__name__}: {what}" if what else type(error).__name__
    return text if len(text) <= limit else text[: limit - 3] + "..."


def one_line_at(error: BaseException, root: Path) -> str:
    """Like `one_line`, after the location in the user's own code if known: `model.py:12: ValueError: too long`."""
    place = user_frame(error, root)
    return f"{place}: {one_line(error)}" if place else one_line(error)


def is_own(error: BaseException) -> bool:
    """Whether an error has one of hlodiff's own classes, not a class that the user derived from them."""
    return isinstance(error, HlodiffError) and type(error).__module__.startswith("hlodiff.")


def message(error: BaseException) -> str:
    """The message of an exception, even if its `__str__` is broken."""
    try:
        return error.render() if isinstance(error, HlodiffError) else str(error)
    except BaseException as broken:
        return f"its message cannot be shown, __str__ raises {type(broken).__name__}"


def relative(location: str, root: Path) -> str:
    """A `file:line` relative to a folder, if it is inside.

    Args:
        location: file and line.
        root: the folder.

    Returns:
        the shorter form.
    """
    for folder in dict.fromkeys((str(root), str(root.resolve()))):
        if location.startswith(folder + os.sep):
            return location[len(folder) + 1 :]
    return location


def is_users(file: str) -> bool:
    """Whether a file is the user's: not an installed package's, Python's or hlodiff's."""
    path = os.path.realpath(file)
    return not file.startswith("<") and not path.startswith((_OWN, *_INSTALLED))


def is_installed(file: str) -> bool:
    """Whether a file belongs to an installed package."""
    return os.path.realpath(file).startswith(_PACKAGES)


# --- The user's files behind a module: its own, and those of everything that it imports, also inside functions.

# Calls that can import a module without an import statement.
_DYNAMIC = frozenset(["__import__", "import_module", "exec", "eval", "exec_module", "run_path", "run_module"])


def files_behind(module: str, file: str) -> tuple[str, ...] | None:
    """The user's files that a module imports, directly or indirectly.

    It reads import statements, so an import inside a function counts even if it has not run.

    Args:
        module: the name of an imported module.
        file: the module's file.

    Returns:
        real paths, sorted; None if a file imports by names that are only known when it runs.
    """
    found: set[str] = set()
    parts = module.split(".")
    parents = (".".join(parts[:n]) for n in range(1, len(parts)))
    worklist = [(module, os.path.realpath(file)), *((name, _file_of(name)) for name in parents if _file_of(name))]
    while worklist:
        name, path = worklist.pop()
        if path in found or not is_users(path):
            continue
        found.add(path)
        wanted = _imports(path)
        if wanted is None:
            return None
        worklist += _files_of(wanted, name, path)
    return tuple(sorted(found))


@cache
def _imports(path: str) -> tuple[tuple[int, str], ...] | None:
    """Level and name of everything that import statements may refer to; None if more is imported."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            head = node.module or ""
            found += [(node.level, head), *((node.level, f"{head}.{alias.name}".strip(".")) for alias in node.names)]
        elif isinstance(node, ast.Call):
            called = node.func
            if getattr(called, "id", getattr(called, "attr", "")) in _DYNAMIC:
                return None
    return tuple(found)


def _files_of(wanted: tuple[tuple[int, str], ...], name: str, path: str) -> Iterator[tuple[str, str]]:
    package = name if Path(path).name == "__init__.py" else name.rpartition(".")[0]
    for level, target in wanted:
        base = package.split(".")[: len(package.split(".")) - level + 1] if level else []
        parts = [*base, *filter(None, target.split("."))]
        for n in range(1, len(parts) + 1):  # a package's own file is imported too
            full = ".".join(parts[:n])
            if found := _file_of(full):
                yield full, os.path.realpath(found)


@cache
def _file_of(name: str) -> str:
    """The file of a module; "" if there is none. Nothing is imported to find it."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None) or ""
    parent, _, own = name.rpartition(".")
    if parent:
        if not (file := _file_of(parent)):
            return ""  # not the user's package, or one without a file of its own
        package = Path(file)
        below = (package.with_name(f"{own}.py"), package.parent / own / "__init__.py")
        return next((str(file) for file in below if package.name == "__init__.py" and file.is_file()), "")
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return ""
    return spec.origin if spec is not None and spec.has_location and spec.origin else ""


# --- Inputs of captures: the user's files as they were imported, and installed packages.


COMPILERS = (
    "Python", "hlodiff", "jaxlib", "libtpu", "libtpu-nightly", "jax-cuda12-plugin", "jax-cuda12-pjrt",
    "jax-cuda13-plugin", "jax-cuda13-pjrt", "jax-rocm7-pjrt", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc",
)  # fmt: skip
"""Packages that compile or affect compilation. JAX finds and loads plugins by itself when it compiles."""

_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs that a program was captured from.

    Args:
        files: the user's files that were imported, and files of the project that were read, relative to the project's
            folder with `/`, each with a hash of its content.
        packages: Python, hlodiff and installed packages that were imported or that compile, each with its version.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)


class ImportedInputs:
    """Tracks what this process imports and reads. Files are hashed right after they are read, before they can change.

    Args:
        root: the project's folder.
        own: a folder whose files are not inputs, such as the snapshots.
    """

    def __init__(self, root: Path, own: Path | None = None) -> None:
        self._root = os.path.realpath(root)
        self._own = os.path.realpath(own) if own else ""
        self._opened: dict[str, None] = {}
        self._kind = cache(_kind)
        self._seen: set[str] = set()
        self._files: dict[str, str] = {}
        self._packages: dict[str, str | None] = dict.fromkeys(COMPILERS)
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        """Record files opened for reading. Hooks see every event, so this one must be fast."""
        if event == "open" and isinstance(arguments[0], str) and arguments[2] is not None:
            assert isinstance(arguments[2], int)
            if not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self._opened[arguments[0]] = None

    def _follow_opened(self) -> None:
        """Record data files in the project's folder: a module may compute a constant from them."""
        opened, self._opened = self._opened, {}
        for name in opened:
            path = os.path.realpath(name)
            below = Path(os.path.relpath(path, self._root)).as_posix()
            hidden = any(part.startswith(".") or part == "__pycache__" for part in below.split("/"))
            if hidden or below in self._files or is_installed(path):
                continue
            if not (self._own and Path(path).is_relative_to(self._own)) and (digest := file_digest(Path(path))):
                self._files[below] = digest

    def follow(self) -> None:
        """Hash the files imported or opened since the last call."""
        self._follow_opened()
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if name in self._seen or not isinstance(file, str):
                continue
            self._seen.add(name)
            kind = self._kind(str(Path(file).parent))  # cached per folder: resolving links is slow
            if kind == "user":
                path = os.path.realpath(file)
                self._files[Path(os.path.relpath(path, self._root)).as_posix()] = file_digest(Path(path))
            elif kind == "installed" and "." not in name and not name.startswith("_"):
                self._packages.setdefault(name, None)

    def now(self) -> Inputs:
        """All inputs so far."""
        self.follow()
        for name in [name for name, found in self._packages.items() if found is None]:
            self._packages[name] = package_version(name)
        return Inputs(dict(self._files), {name: found for name, found in self._packages.items() if found})


def _kind(folder: str) -> str:
    file = str(Path(folder, "module.py"))
    return "user" if is_users(file) else "installed" if is_installed(file) else "Python"


def file_digest(path: Path) -> str:
    """A hash of a file's content, the same for LF and CRLF; "" if there is no such file.

    Args:
        path: a device, a pipe or a file above 64 MiB counts as missing.

    Example:
        >>> file_digest(Path("no such file"))
        ''
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
            return ""
        return sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
    except (OSError, ValueError):
        return ""


def package_version(name: str) -> str:
    """The version of an installed package, or a hash if its distribution has another name; "" if it is not a package.

    Args:
        name: name of a distribution or top-level module, or "Python" or "hlodiff".
    """
    if name == "Python":
        return platform.python_version()
    if name == "hlodiff":
        return hlodiff_version
    try:
        return version(name) or ""
    except (PackageNotFoundError, ValueError):
        pass
    if "." in name:  # finding a submodule makes Python run its package, and the name may be untrusted
        return ""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return ""
    digest = file_digest(Path(spec.origin)) if spec and spec.origin else ""
    return f"content {digest[:12]}" if digest else ""
