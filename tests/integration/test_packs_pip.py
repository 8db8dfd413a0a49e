"""A model becomes a package and a wheel, and is loaded where pip has installed that."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import pmeans
from pmeans import models
from pmeans.building.package import write_package

ROOT = Path(__file__).parents[2]
PROGRAM = """
import pmeans
encoder = pmeans.load("tried")
assert encoder.encode("the cat", lang="en").any()
print(encoder.fingerprint())
"""


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    subprocess.run(list(map(str, command)), check=True)


@pytest.fixture
def fresh(tmp_path):
    """Return the Python of a new environment, which also sees the packages of this one."""
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    found = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    )
    line = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    Path(found.strip(), "these.pth").write_text(line)
    return python


@pytest.mark.parametrize("which", ["tiny", "default"])
def test_a_packaged_model_is_installed_loaded_and_listed(which, toy, fresh, tmp_path):
    if which == "tiny":
        recipe = pmeans.Recipe((pmeans.Part("toy"),))
        encoder = pmeans.PowerMeanEncoder(recipe, {"toy": toy})
    elif models.DEFAULT.is_dir():
        encoder = pmeans.load()
    else:
        pytest.skip("this checkout has no model in the package; 'make default-model' builds it")
    package = tmp_path / "pmeans-model-tried"
    write_package(encoder, package)
    before = sorted(package.rglob("*"))
    pip("wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", tmp_path, package)
    assert sorted(package.rglob("*")) == before
    (wheel,) = tmp_path.glob("*.whl")
    pip("--python", fresh, "install", "--no-index", wheel)
    # There pmeans may lack its native core, and would say so.
    quiet = os.environ | {"PMEANS_KERNELS": "numpy"}

    def run(*arguments):
        command = [fresh, "-W", "error", *arguments]
        return subprocess.check_output(command, text=True, cwd=tmp_path, env=quiet)

    assert run("-c", PROGRAM) == f"{encoder.fingerprint()}\n"
    languages = " ".join(encoder.languages)
    assert f"tried\tpmeans-model-tried 1.0.0\t{languages}\t" in run("-m", "pmeans", "models")


def test_what_is_in_packages_stays_out_of_the_base(tmp_path):
    version = "src/pmeans/_version.py"
    for name in ("pyproject.toml", "README.md", "LICENSE", version):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    pack = tmp_path / "packages" / "pmeans-model-tried" / "src" / "pmeans_model_tried"
    pack.mkdir(parents=True)
    (pack / "__init__.py").touch()
    build = "build_sdist('out'); build_wheel('out', {'wheel.cmake': 'false'})"
    program = f"from scikit_build_core.build import build_sdist, build_wheel; {build}"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    (sdist,), (wheel,) = (tmp_path / "out").glob("*.gz"), (tmp_path / "out").glob("*.whl")
    with tarfile.open(sdist) as archive, zipfile.ZipFile(wheel) as zipped:
        names = [*archive.getnames(), *zipped.namelist()]
    assert sum(name.endswith("_version.py") for name in names) == 2
    assert not [name for name in names if "pmeans_model" in name or "packages" in name]
