"""Run ``python -m fuzz [N]``; see the package."""

import argparse
import sys
import tempfile
import warnings
from contextlib import nullcontext
from pathlib import Path

from fuzz.runner import run, run_one
from fuzz.serving import server
from fuzz.targets import TARGETS
from pmeans.kernels import available_threads, backend


def main() -> None:
    parser = argparse.ArgumentParser(prog="fuzz", description="Throw malformed input at pmeans.")
    parser.add_argument("n", type=int, nargs="?", default=1_000_000, help="number of inputs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run this input alone, and keep its files")
    parser.add_argument("--serve", action="store_true", help="requests to the server, no files")
    arguments = parser.parse_args()
    with server() if arguments.serve else nullcontext(TARGETS) as targets:
        if arguments.only is not None:
            warnings.simplefilter("error")
            folder = Path(tempfile.mkdtemp()) / "input"
            print(f"input {arguments.only} is in {folder}", file=sys.stderr)
            print(run_one(targets, arguments.seed, arguments.only, folder))
            return
        line, findings = run(targets, arguments.seed, arguments.n, available_threads())
    print(f"[{backend()}] {line}")
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
