"""Train word spaces one after the other, and note what each costs.

    python studies/train_spaces.py COSTS.jsonl FILE.toml [FILE.toml ...]

Each file is given to ``pmeans train`` in a process of its own, from the beginning. A line of COSTS
says how many seconds it took, by the clock and by the processor (of all its threads), and the
largest memory it held. A busy machine changes the first, and hardly the others. COSTS.md has the
same as a table.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path


def trained(file: str) -> dict[str, object]:
    """Train one space and return its costs."""
    begin = time.perf_counter()
    child = subprocess.Popen([Path(sys.executable).with_name("pmeans"), "train", "--again", file])
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{file}: failed")
    return {
        "file": Path(file).name,
        "seconds": round(time.perf_counter() - begin, 1),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_mb": round(used.ru_maxrss / 1000),
    }


def table(lines: list[str]) -> str:
    """Return the costs as a table, the last of each file."""
    last = {found["file"]: found for found in map(json.loads, lines)}
    rows = [
        f"| {name} | {cost['seconds']:.0f} | {cost['cpu_seconds']:.0f} | {cost['peak_mb']:,} |"
        for name, cost in sorted(last.items())
    ]
    header = ["| settings | seconds | processor seconds | peak MB |", "|---|---|---|---|"]
    return "\n".join([*header, *rows, ""])


def main() -> None:
    """Train all, and append their costs."""
    costs, *files = sys.argv[1:]
    for file in files:
        with open(costs, "a", encoding="utf-8") as lines:
            print(json.dumps(trained(file)), file=lines)
    written = Path(costs).read_text(encoding="utf-8").splitlines()
    Path(costs).with_suffix(".md").write_text(table(written), encoding="utf-8")


if __name__ == "__main__":
    main()
