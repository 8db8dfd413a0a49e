"""The model in the package: that it is whole, and what it may be made of."""

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

import pmeans
from pmeans import config, models, training
from pmeans.building.build_file import CHECKSUMS, Build
from pmeans.errors import StorageError

RECIPES = Path(__file__).parents[3] / "recipes"
MAY_BE_SHIPPED = re.compile(
    r"public domain|CC0|CC BY( \d\.\d)?|CC BY-SA( \d\.\d)?|PDDL.*|MPL.*|WordNet licence"
)


@pytest.fixture
def packaged():
    if not models.DEFAULT.is_dir():
        pytest.skip("this checkout has no model in the package; 'make default-model' builds it")
    return models.DEFAULT


def test_every_file_of_the_packaged_model_has_its_checksum(packaged):
    lines = (packaged / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    listed = {name: digest for digest, name in (line.split("  ") for line in lines)}
    files = {p.relative_to(packaged).as_posix() for p in packaged.rglob("*") if p.is_file()}
    assert files == {*listed, CHECKSUMS}
    for name, digest in listed.items():
        assert hashlib.sha256((packaged / name).read_bytes()).hexdigest() == digest, name


def test_the_packaged_model_is_small_enough_to_ship(packaged):
    assert sum(p.stat().st_size for p in packaged.rglob("*") if p.is_file()) <= 30_000_000


def test_the_packaged_model_brings_translations_together(packaged):
    encoder = pmeans.load()
    assert set(encoder.languages) == {"en", "de", "fr"}
    english = encoder.encode(["the dog is hungry", "I bought a new car"], lang="en")
    for lang, text in (("de", "der Hund hat Hunger"), ("fr", "le chien a faim")):
        near, far = encoder.similarity(english, encoder.encode([text], lang=lang))[:, 0]
        assert near > far


def test_without_a_packaged_model_the_error_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "DEFAULT", tmp_path / "none")
    with pytest.raises(StorageError, match=r"no model of its own.*'make default-model'"):
        pmeans.load()


def test_no_argument_means_the_packaged_model_wherever_one_stands(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(models, "DEFAULT", tmp_path / "model")
    recipe = pmeans.Recipe((pmeans.Part("toy"),), "packaged")
    models.save(pmeans.PowerMeanEncoder(recipe, {"toy": toy}), tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    encoder = pmeans.load()
    assert encoder.name == "packaged"
    np.testing.assert_array_equal(encoder.encode("the", lang="en")[:3], [1, -1, 0])


def test_everything_the_default_model_is_made_of_may_be_shipped():
    materials = Build.from_toml(RECIPES / "default.toml").materials
    assert [each for each in materials if not MAY_BE_SHIPPED.fullmatch(each.licence)] == []


def test_everything_the_default_model_is_made_of_is_listed():
    listed = {each.name for each in Build.from_toml(RECIPES / "default.toml").materials}
    used = set()
    for path in [RECIPES / "default.toml", *sorted((RECIPES / "default").glob("*.toml"))]:
        for table in _tables(config.read_toml(path)):
            for file in [table.get("path", ""), *table.get("files", ())]:
                if "/parallel/" in file:
                    assert table["sources"], f"{path.name}: some sources may not be shipped"
                    used.update(table["sources"])
                    # Public domain in English and German alone.
                    assert table["second"] == "de" or "bible" not in table["sources"]
                elif "/mono/" in file:
                    used.add(Path(file).name.split(".")[1])  # LANGUAGE.SOURCE.txt.xz
                elif "/data/" in file:
                    # LANGUAGES.KIND.SOURCE.ENDING
                    used.add(Path(file).name.split(".")[2])
    assert used <= listed
    assert listed - used == {"glove-6b-100d"}  # which the Makefile converts


@pytest.mark.parametrize("path", sorted((RECIPES / "default").glob("*.toml")), ids=lambda p: p.stem)
def test_the_spaces_of_the_default_model_are_trained_to_the_same_bytes(path):
    trainer = training.from_toml(path)
    assert trainer.name == path.stem
    assert getattr(trainer, "threads", 1) == 1


def _tables(value):
    """Yield all tables within a TOML value."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            yield from _tables(inner)
