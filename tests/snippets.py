"""The snippets of a page, run as a reader would run them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_snippets(page: Path, folder: Path, python: str, *options: str) -> None:
    """Run a page's Python, then its shell commands, in a folder with the files of the demo.

    A page's Python is one program: later snippets use what earlier ones made. ``python`` is the
    interpreter of an environment whose ``pmeans`` the commands are of, ``options`` are for it.
    """
    for file in (*(ROOT / "demo").glob("*.t*"), *(ROOT / "demo" / "sample").glob("*.??.*")):
        shutil.copy(file, folder)
    snippets = FENCE.findall(page.read_text(encoding="utf-8"))
    run = {"python": [python, "-W", "error", *options], "sh": ["sh", "-eu"]}
    assert {language for language, _ in snippets} <= {*run, "toml", "text"}
    path = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
    for language, command in run.items():
        code = "".join(code for written_in, code in snippets if written_in == language)
        done = subprocess.run(
            command, input=code, text=True, cwd=folder, capture_output=True,
            env=os.environ | {"PATH": path, "PMEANS_HOME": str(folder / "home")}, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, f"{page.name}, {language}:\n{done.stderr}"
