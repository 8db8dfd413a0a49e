"""A model becomes a package and a wheel, and is loaded where pip has installed that."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import pmeans
from pmeans import models
from pmeans.building.package import write_package

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
