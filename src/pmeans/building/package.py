"""Models as pip packages, which `pmeans.models.packs` finds once they are installed.

::

    pmeans-model-NAME/
        pyproject.toml              version, licences, and the entry point that names the model
        README.md                   how to use the model, and its card
        src/pmeans_model_NAME/
            __init__.py             a docstring
            model/                  the model's folder, with card and checksums

The same model gives the same bytes.
"""

from __future__ import annotations

import re
from pathlib import Path

from pmeans import models
from pmeans.building.card import licences, render
from pmeans.config import toml_string
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import InputError
from pmeans.files import replacing_folder, sizes, write_checksums
from pmeans.models import packs

FIRST_VERSION = "1.0.0"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?")  # of PEP 440, what releases have

_PROJECT = """\
[build-system]
requires = ["scikit-build-core>=0.11"]
build-backend = "scikit_build_core.build"

[project]
name = "{distribution}"
version = "{version}"
description = {description}
readme = "README.md"
license = {{ text = {licence} }}
requires-python = ">=3.11"

[project.entry-points."{group}"]
{name} = "{package}"

[tool.scikit-build]
wheel.cmake = false
wheel.packages = ["src/{package}"]
"""
_README = """\
# {distribution}

The model `{name}` for pmeans, as a package of data alone. Where both are installed:

```python
import pmeans

encoder = pmeans.load("{name}")
```

{card}"""


def write_package(
    encoder: PowerMeanEncoder, folder: str | Path, version: str = FIRST_VERSION
) -> dict[str, int]:
    """Write a model as a package; an older package of the same name is replaced.

    Args:
        encoder: With its card, if it was opened from a folder that has one.
        folder: Its name is that of the model; ``pmeans-model-`` may stand before it.
        version: Of the package.

    Returns:
        The number of bytes of each file, by its path within the folder.
    """
    name = Path(folder).absolute().name.removeprefix(packs.PREFIX)
    if not _NAME.fullmatch(name) or name == "default":
        raise InputError(
            f"{name!r} cannot name a model pack. Call its folder {packs.PREFIX}NAME, with small "
            "letters, digits and '-' in NAME, which is not 'default'."
        )
    if not _VERSION.fullmatch(version):
        raise InputError(f"{version!r} cannot be a version; one is {FIRST_VERSION!r}.")
    package = (packs.PREFIX + name).replace("-", "_")
    inner = Path("src", package, packs.FOLDER)
    ours = [
        *((inner / name).as_posix() for name in models.FILES),
        "pyproject.toml", "README.md", f"src/{package}/__init__.py",
    ]  # fmt: skip
    with replacing_folder(folder, "model pack", ours, models.files_of(encoder)) as new:
        model = new / inner
        model.mkdir(parents=True)
        models.write(encoder, model)
        card = models.card_of(encoder) or render(encoder, "", (), sizes(model))
        languages = ", ".join(encoder.languages) or "any language"
        texts = {
            "name": name,
            "distribution": packs.PREFIX + name,
            "package": package,
            "group": packs.GROUP,
            "version": version,
            "description": toml_string(f"The model {name!r} of pmeans: {languages}"),
            "licence": toml_string(", ".join(licences(card)) or "unknown"),
            "card": card,
        }
        for file, text in {
            model / models.CARD: card,
            model.parent / "__init__.py": f'"""The model {name!r} of pmeans: data alone."""\n',
            new / "README.md": _README.format(**texts),
            new / "pyproject.toml": _PROJECT.format(**texts),
        }.items():
            file.write_text(text, encoding="utf-8")
        write_checksums(model)
        return sizes(new)
