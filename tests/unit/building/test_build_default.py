"""The model in the package: that it is whole, and what it may be made of."""

import lzma
import re
import zlib
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import pmeans
from pmeans import models
from pmeans.building.build_file import Build
from pmeans.errors import StorageError
from pmeans.files import altered
from pmeans.training import read_trainers
from pmeans.training.corpus import PairFile
from pmeans.training.trainer import FromFiles, Trainer

DATA = "/data"
RECIPES = Path(__file__).parents[3] / "recipes"
SHIPPED = ["default.toml", "wide.toml", "wide-large.toml"]
FREE = {
    "en-de.more.tsv.xz": "gutenberg bible unicode gnome learnosm mozilla opensource k8s react",
    "en-fr.more.tsv.xz": "gutenberg bible unicode gnome learnosm mozilla opensource k8s react"
    " tico19",
    "en-es.tsv.xz": "bible tatoeba gutenberg unicode gnome learnosm k8s tico19 mozilla opensource",
    "en-it.tsv.xz": "tatoeba unicode gnome gutenberg mozilla learnosm opensource k8s",
    "en-nl.tsv.xz": "tatoeba bible gutenberg unicode gnome mozilla opensource",
    "en-pt.tsv.xz": "tatoeba bible k8s unicode gnome mozilla opensource learnosm",
    "en-pl.tsv.xz": "tatoeba bible unicode gnome mozilla k8s opensource learnosm",
    "en-ru.tsv.xz": "tatoeba bible unicode gnome mozilla k8s opensource learnosm",
    "en-sv.tsv.xz": "bible tatoeba unicode gnome mozilla",
    "en-cs.tsv.xz": "tatoeba bible unicode gnome learnosm mozilla",
    "en-de.docs.tsv.xz": "ethereum firefox godot idschema",
    "en-fr.docs.tsv.xz": "django-docs ethereum firefox godot idschema mdn python-docs",
    "en-es.docs.tsv.xz": "django-docs ethereum firefox godot idschema libreoffice mdn python-docs",
    "en-it.docs.tsv.xz": "django-docs ethereum firefox godot idschema libreoffice",
    "en-nl.docs.tsv.xz": "firefox godot idschema libreoffice",
    "en-pt.docs.tsv.xz": "django-docs ethereum firefox godot idschema libreoffice mdn python-docs"
    " tico19",
    "en-pl.docs.tsv.xz": "django-docs ethereum firefox godot idschema libreoffice python-docs",
    "en-ru.docs.tsv.xz": "ethereum firefox godot idschema libreoffice mdn tico19",
    "en-sv.docs.tsv.xz": "firefox godot idschema libreoffice",
    "en-cs.docs.tsv.xz": "ethereum firefox godot idschema libreoffice",
    "en-de.names.tsv.xz": "cldr ethereum firefox godot idschema naturalearth",
    "en-fr.names.tsv.xz": "cldr django-docs ethereum firefox godot idschema mdn naturalearth"
    " python-docs",
    "en-es.names.tsv.xz": "cldr django-docs ethereum firefox godot idschema libreoffice mdn"
    " naturalearth python-docs",
    "en-it.names.tsv.xz": "cldr django-docs ethereum firefox godot idschema libreoffice"
    " naturalearth",
    "en-nl.names.tsv.xz": "cldr firefox godot idschema libreoffice naturalearth",
    "en-pt.names.tsv.xz": "cldr django-docs ethereum firefox godot idschema libreoffice mdn"
    " naturalearth python-docs",
    "en-pl.names.tsv.xz": "cldr django-docs ethereum firefox godot idschema libreoffice"
    " naturalearth python-docs",
    "en-ru.names.tsv.xz": "cldr ethereum firefox godot idschema libreoffice mdn naturalearth",
    "en-sv.names.tsv.xz": "cldr firefox godot idschema libreoffice naturalearth",
    "en-cs.names.tsv.xz": "cldr ethereum firefox godot idschema libreoffice",
}
"""Files of pairs whose sources may all be shipped, and these."""
MAY_BE_SHIPPED = re.compile(
    r"public domain|CC0|CC BY( \d\.\d)?|CC BY-SA( \d\.\d)?|PDDL.*|MPL.*|MIT|BSD-3|ISC|PSF"
    r"|(WordNet|Unicode) licence"
)


@pytest.fixture
def packaged():
    if not models.DEFAULT.is_dir():
        pytest.skip("this checkout has no model in the package; 'make default-model' builds it")
    return models.DEFAULT


def test_every_file_of_the_packaged_model_has_its_checksum(packaged):
    assert altered(packaged) == []


def test_the_packaged_model_is_small_enough_to_ship(packaged):
    # As in a wheel, which is a zip file.
    packed = (len(zlib.compress(p.read_bytes(), 1)) for p in packaged.rglob("*") if p.is_file())
    assert sum(packed) <= 48_000_000


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


@pytest.mark.parametrize("name", SHIPPED)
def test_everything_a_model_is_made_of_may_be_shipped(name):
    materials = Build.from_toml(RECIPES / name).materials
    for material in materials:
        for licence in re.split(r", | or ", re.sub(r"in \w+, ", "", material.licence)):
            assert MAY_BE_SHIPPED.fullmatch(licence), (material.name, licence)


@pytest.mark.parametrize("file", FREE)
def test_files_that_are_taken_whole_have_the_sources_that_are_known_of_them(data_dir, file):
    folder = "lexicon" if ".names." in file else "parallel"
    with lzma.open(data_dir / folder / file, "rt", encoding="utf-8") as lines:
        assert {line.partition("\t")[0] for line in lines} == set(FREE[file].split())


@pytest.mark.parametrize("name", SHIPPED)
def test_everything_a_model_is_made_of_is_listed(name):
    build = Build.from_toml(RECIPES / name, DATA)
    listed = {each.name for each in build.materials}
    used = {"wordfreq"} if build.common == "texts+wordfreq" else set()
    for settings in needed(build):
        if isinstance(settings, PairFile):
            file = Path(settings.path).name
            assert settings.sources or file in FREE, f"{file}: some sources may not be shipped"
            used.update(settings.sources or FREE[file].split())
            # That of the first file is public domain in English and German alone.
            if Path(settings.path).name == "en-fr.tsv.gz":
                assert "bible" not in settings.sources
        for file in files_of(settings):
            parts = Path(file).name.split(".")
            if "/mono/" in file:
                used.add(parts[1])  # LANGUAGE.SOURCE.txt.xz
            elif "/lexicon/" in file and parts[1] != "names":
                used.add(parts[2].rstrip("2"))  # LANGUAGES.KIND.SOURCE.ENDING
            elif "/vectors/" in file:
                used.add(parts[0])  # SOURCE.LANGUAGE.ENDING
            elif Path(file).name == "words.txt.xz":
                used.add("wordfreq")
            elif "/teachers/" in file:
                used.add(Path(file).parent.name.replace("_", "-"))
    assert used == listed


def test_the_spaces_of_the_default_model_are_trained_to_the_same_bytes():
    build = Build.from_toml(RECIPES / "default.toml", DATA)
    trainers = [each for each in needed(build) if isinstance(each, Trainer)]
    assert {"taught", "bivcd", "attracted", "glove"} <= {t.name for t in trainers}
    assert {getattr(trainer, "threads", 1) for trainer in trainers} == {1}


def test_every_trainer_file_can_be_read_and_each_space_has_one():
    names = [n for p in (RECIPES / "spaces").glob("*.toml") for n in read_trainers(p, DATA)]
    assert len(names) > 30
    assert len(set(names)) == len(names)


def test_what_trainer_and_build_files_name_is_there():
    for name in SHIPPED:
        assert list(needed(Build.from_toml(RECIPES / name, DATA)))
    for path in (RECIPES / "spaces").glob("*.toml"):
        for trainer in read_trainers(path, DATA).values():
            assert list(needed(trainer))


def needed(settings):
    """Yield settings, what lies within them, and the trainers of the spaces that they name."""
    yield settings
    for value in (getattr(settings, field.name) for field in fields(settings)):
        for inner in value if isinstance(value, tuple) else [value]:
            if isinstance(inner, FromFiles):
                yield from needed(inner)
    for name in named(settings, "space"):
        file, _, wanted = name.partition("#")
        if file.endswith(".toml"):
            trainers = read_trainers(file, DATA)
            assert wanted or len(trainers) == 1, f"{name}: which of {', '.join(trainers)}?"
            yield from needed(trainers[wanted or min(trainers)])


def files_of(settings):
    return named(settings, "file")


def named(settings, wanted):
    found = []

    def see(name, role):
        if role == wanted:
            found.append(name)
        return name

    settings.renamed(see)
    return found
