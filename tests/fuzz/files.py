"""Targets that read files: vector files of every format, stores, z-norm statistics, recipes.

A target makes its input from the generator, writes it and reads it. What can be opened must
then be of use: words are looked up in it and sentences encoded.
"""

import bz2
import gzip
import io
import lzma
import tomllib
import zipfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np

from fuzz import seeds
from fuzz.damage import damaged
from pmeans import streams
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.encoder.translations import Translations
from pmeans.encoder.znorm import ZNorm
from pmeans.spaces.readers import read_space, text
from pmeans.spaces.readers.entries import STRICT, Policy
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import open_space, problems

_SENTENCES = ["The cat isn't\u2028here: \ud800 x😀 3.5", "die Straße Donaudampfschiff " * 9, ""]
# Buffers for files of gigabytes would take most of the time; small ones also end amid a line.
text._BLOCK = 1 << 14
streams._STEP = 1 << 12
_POWERS = ((-np.inf, 1, np.inf), (1,), (2, 3, 8), (0, 0.5, -1, 40))


def vectors(rng: Random, folder: Path, kind: str) -> None:
    """Read a damaged vector file, perhaps a compressed one, perhaps damaged once more."""
    files = dict(rng.choice(seeds.vector_files()[kind]))
    others = [data for seed in seeds.vector_files()[kind] for data in seed.values()]
    for name in rng.sample(list(files), min(len(files), rng.choice((1, 1, 1, 2)))):
        files[name] = damaged(rng, files[name], others)
        if rng.random() < 0.3:
            files[name] = rng.choice(_PACKERS)(files[name])
            if rng.random() < 0.5:
                files[name] = damaged(rng, files[name], others)
    for name, data in files.items():
        _write(folder / name, data)
    space, report = read_space(
        folder / next(iter(files)).split("/")[0],
        format=rng.choice((None, kind)),
        policy=rng.choice((STRICT, Policy.skipping())),
        limit=rng.choice((None, None, 1, 3)),
    )
    assert report.kept == len(space) > 0, report
    assert np.isfinite(space.matrix).all(), "a value that is not finite came through"
    _use(space, rng)
    for lang in space.languages:
        if space.case == "cased":
            assert space.row(space.tables[lang][0], lang) == space.tables[lang].start


def store(rng: Random, folder: Path) -> None:
    """Open a store that is damaged anywhere, in its header alone, or behind it."""
    _write(folder / "x", _damaged_tensors(rng, rng.choice(seeds.stores())))
    space = open_space(folder / "x")
    _use(space, rng)
    list(problems(space))


def znorm(rng: Random, folder: Path) -> None:
    """Load damaged statistics."""
    _write(folder / "x", _damaged_tensors(rng, seeds.znorm()))
    for fitted in ZNorm.load(folder / "x", "per_language", 3).statistics.values():
        assert fitted.factor.shape == (3,)


def translations(rng: Random, folder: Path) -> None:
    """Load damaged translations; what is accepted must survive being saved."""
    _write(folder / "x", damaged(rng, seeds.TRANSLATIONS))
    read = Translations.load(folder / "x")
    read.save(folder / "y")
    assert Translations.load(folder / "y") == read


def recipe(rng: Random, folder: Path) -> None:
    """Read a damaged recipe; one that is accepted must survive the way to TOML and back."""
    _write(folder / "x.toml", damaged(rng, rng.choice(seeds.RECIPES), seeds.RECIPES))
    read = Recipe.from_toml(folder / "x.toml")
    assert Recipe.from_mapping(tomllib.loads(read.to_toml())) == read
    assert len(read.id) == 12


def _use(space: WordSpace, rng: Random) -> None:
    for lang in space.languages:
        for word in islice(space.words(lang), 2):
            space.row(word, lang)
        space.vector("Donaudampfschiff", lang)
    space.rows(slice(0, 3))
    made = Recipe((Part(space.name, rng.choice(_POWERS)),), tokenizer="words")
    encoder = PowerMeanEncoder(made, {space.name: space})
    lang = encoder.languages[0] if encoder.languages else "fr"
    assert encoder.encode(_SENTENCES, lang=lang).shape == (3, encoder.dim)
    encoder.coverage(_SENTENCES, lang=lang)


def _damaged_tensors(rng: Random, data: bytes) -> bytes:
    """Damage a safetensors file so that the parts behind the first check are reached too."""
    end = 8 + int.from_bytes(data[:8], "little")
    header, arrays = data[8:end], data[end:]
    what = rng.randrange(4)
    if what == 0:
        return damaged(rng, data, seeds.stores())
    if what < 3:
        header = damaged(rng, header.rstrip(b" "))
        header += b" " * (-(8 + len(header)) % 64)
    if what > 1:
        arrays = (damaged(rng, arrays) + arrays)[: len(arrays)]
    return len(header).to_bytes(8, "little") + header + arrays


def _zipped(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("x"), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


_PACKERS: tuple[Callable[[bytes], bytes], ...] = (
    lambda data: gzip.compress(data, 1, mtime=0),
    lambda data: bz2.compress(data, 1),
    lambda data: lzma.compress(data, preset=0),
    _zipped,
)


def _write(path: Path, data: bytes) -> None:
    # A new file each time: to shorten one that is still mapped would pull its pages away.
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(data)
