"""The snippets of a page, run as a reader would run them, and what the page says they print.

A block ``text`` right after a block of Python or shell is what that block prints to standard
output. ``…`` in it stands for what varies from run to run: the rest of a word or line, or any
number of lines where it is alone on one. Integers and words are compared to the letter, white
space by its place, and numbers with a point as `TOLERANCE` says. ``make outputs`` writes what the
code prints into the pages.
"""

import difflib
import itertools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOLERANCE = 1e-3
"""How far a number with a point may be off: this share of it, or one in the last printed digit.

Classifiers are fitted with BLAS, which adds up in another order on another machine."""
_MARK = "--- the next snippet ---"
_NUMBER = re.compile(r"[-+]?\d+\.\d*(?:e[-+]?\d+)?")
_PARTS = re.compile(rf"(?P<number>{_NUMBER.pattern})|(?P<lines>^…\n)|(?P<any>…)|(?P<space>[ \t]+)",
                    re.MULTILINE)  # fmt: skip


@dataclass(frozen=True)
class Output:
    """What a page shows as the output of a snippet, where it does so, and what was printed."""

    start: int
    end: int
    shown: str
    printed: str

    def is_true(self) -> bool:
        """Say whether what is shown is what was printed."""
        return agree(self.shown, self.printed)

    def difference(self) -> str:
        """Return the lines that differ, as ``diff`` shows them."""
        lines = self.shown.splitlines(), self.printed.splitlines()
        return "\n".join(difflib.unified_diff(*lines, "shown", "printed", lineterm=""))


def agree(shown: str, printed: str) -> bool:
    """Say whether what a page shows is what was printed, but for rounding and for ``…``."""
    numbers = []

    def pattern(part: re.Match[str]) -> str:
        if part["number"]:
            numbers.append(part["number"])
            return r"([-+]?\d+\.?\d*(?:e[-+]?\d+)?)"
        return r"(?:.*\n)*?" if part["lines"] else ".*?" if part["any"] else "[ \t]+"

    parts, end = [], 0
    shown = _lines(shown)
    for part in _PARTS.finditer(shown):
        parts += re.escape(shown[end : part.start()]), pattern(part)
        end = part.end()
    match = re.fullmatch("".join(parts) + re.escape(shown[end:]), _lines(printed))
    return match is not None and all(map(_near, numbers, match.groups()))


def _lines(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


def _near(shown: str, printed: str) -> bool:
    mantissa, _, exponent = printed.partition("e")
    last_digit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    # The margin is for the rounding of the two numbers themselves: 0.3 - 0.2 is above 0.1.
    allowed = max(TOLERANCE * abs(float(shown)), last_digit * (1 + 1e-9))
    return abs(float(shown) - float(printed)) <= allowed


def run_page(page: Path, folder: Path, python: str, *options: str) -> list[Output]:
    """Run a page's Python, then its shell commands, in a folder with the files of the demo.

    A page's Python is one program: later snippets use what earlier ones made. ``python`` is the
    interpreter of an environment whose ``pmeans`` the commands are of, ``options`` are for it.
    """
    for file in (*(ROOT / "demo").glob("*.t*"), *(ROOT / "demo" / "sample").glob("*.??.*")):
        shutil.copy(file, folder)
    text = page.read_text(encoding="utf-8")
    blocks = list(FENCE.finditer(text))
    run = {
        "python": ([python, "-W", "error", *options], f"print({_MARK!r})\n"),
        "sh": (["sh", "-eu"], f"echo '{_MARK}'\n"),
    }
    assert {block[1] for block in blocks} <= {*run, "toml", "text"}
    path = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {"PATH": path, "PMEANS_HOME": str(folder / "home"), "PYTHONUNBUFFERED": "1",
                "COLUMNS": "80"}  # fmt: skip
    outputs = []
    for language, (command, mark) in run.items():
        places = [i for i, block in enumerate(blocks) if block[1] == language]
        done = subprocess.run(
            command, input="".join(mark + blocks[i][2] for i in places), cwd=folder, text=True,
            capture_output=True, env=os.environ | settings, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, f"{page.name}, {language}:\n{done.stderr}"
        for i, printed in zip(places, done.stdout.split(f"{_MARK}\n")[1:], strict=True):
            after = blocks[i + 1] if i + 1 < len(blocks) else None
            if after and after[1] == "text" and not text[blocks[i].end() : after.start()].strip():
                outputs.append(Output(*after.span(2), after[2], printed))
    return outputs


def run_snippets(page: Path, folder: Path, python: str, *options: str) -> None:
    """Run a page as `run_page` does, and compare what it shows with what was printed."""
    outputs = run_page(page, folder, python, *options)
    wrong = [output.difference() for output in outputs if not output.is_true()]
    assert not wrong, f"{page.name} shows what is not printed ('make outputs' writes it):\n" + (
        "\n\n".join(wrong)
    )


def write_outputs(page: Path, outputs: list[Output]) -> None:
    """Put what was printed in place of what a page shows wrongly.

    A line with ``…`` stays as it is where it is true of a line that was printed. If the last line
    is ``…`` alone, as many lines as before stand above it. Tabs become aligned columns.
    """
    text = page.read_text(encoding="utf-8")
    for output in sorted(outputs, key=lambda output: output.start, reverse=True):
        if not output.is_true():
            shown = output.shown.splitlines()
            varying = [line for line in shown if "…" in line and line != "…"]
            new = [
                next((known for known in varying if agree(known, line)), line.rstrip())
                for line in _aligned(output.printed.strip("\n").splitlines())
            ]
            if shown[-1:] == ["…"]:
                new[len(shown) - 1 :] = ["…"]
            text = text[: output.start] + "".join(f"{line}\n" for line in new) + text[output.end :]
    page.write_text(text, encoding="utf-8")


def _aligned(lines: list[str]) -> list[str]:
    aligned = []
    for _, table in itertools.groupby(lines, lambda line: line.count("\t")):
        rows = [line.split("\t") for line in table]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        aligned += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return aligned
