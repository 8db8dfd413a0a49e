"""The report: tables for people, raw numbers for programs, and what they were measured on."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arena import FSE_HOME, Section

PACKAGES = [
    "pmeans", "numpy", "model2vec", "tokenizers", "sentence-transformers", "torch", "gensim",
    "scikit-learn", "onnxruntime",
]  # fmt: skip
FLAGS = ("avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "asimd", "sve")


def machine() -> dict[str, Any]:
    """Return what the numbers depend on."""
    from pmeans import kernels

    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    built = [
        path.name.split("-")[1] for path in FSE_HOME.glob("lib/*/site-packages/fse-*.dist-info")
    ]
    versions["fse"] = built[0].removesuffix(".dist") if built else "not installed"
    return {
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["python", *sys.argv]),
        "processor": cpuinfo("model name") or platform.processor(),
        "flags": [flag for flag in cpuinfo("flags", "Features").split() if flag in FLAGS],
        "cores": len(os.sched_getaffinity(0)),
        "load_at_start": os.getloadavg()[0],
        "system": platform.platform(),
        "python": platform.python_version(),
        "kernels": kernels.backend(),
        "versions": versions,
    }


def cpuinfo(*keys: str) -> str:
    """Return the first of these entries of /proc/cpuinfo, or nothing."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    entries = (line.partition(":") for line in lines)
    return next((value.strip() for key, _, value in entries if key.strip() in keys), "")


def write(folder: Path, stem: str, about: dict[str, Any], sections: Sequence[Section]) -> None:
    """Write ``stem.md`` and ``stem.json``."""
    raw = {"machine": about, "sections": {section.title: section.raw for section in sections}}
    (folder / f"{stem}.json").write_text(json.dumps(raw, indent=1) + "\n", encoding="utf-8")
    (folder / f"{stem}.md").write_text(rendered(about, sections), encoding="utf-8")


def rendered(about: dict[str, Any], sections: Sequence[Section]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    lines = [
        "# Benchmarks", "",
        f"`{about['command']}` on {about['date']}: {about['processor']}, {about['cores']} cores "
        f"({' '.join(about['flags'])}), load {about['load_at_start']:.1f} before the start; "
        f"{about['system']}, Python {about['python']}, {about['kernels']} kernels; {versions}.", "",
        "Contestants take turns; every ratio is taken within one round, and shown are the median "
        "and, in brackets, the smallest and the largest. Trust the ratios, not the seconds: the "
        "programs in this folder say what each contestant does.", "",
    ]  # fmt: skip
    bars = [bar for section in sections for bar in section.bars]
    if bars:
        met = {True: "yes", False: "**no**", None: "–"}
        rows = [[what, wanted, measured, met[ok]] for what, wanted, measured, ok in bars]
        lines += ["## Bars", "", *table(["against", "bar", "measured", "met"], rows), ""]
    for section in sections:
        lines += [
            f"## {section.title}",
            "",
            section.method,
            "",
            *table(section.header, section.rows),
        ]
        lines += [""]
    return "\n".join(lines[:-1]) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table, its first column to the left, the others to the right."""
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return ["| " + " | ".join(row) + " |" for row in (header, rule, *rows)]
