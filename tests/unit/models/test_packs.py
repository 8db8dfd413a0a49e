"""Model packs, found by entry points that the tests write as pip does; nothing is installed."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import pmeans
from pmeans import models
from pmeans.building.card import Material, licences, render
from pmeans.building.package import write_package
from pmeans.cli.main import app
from pmeans.errors import FormatError, InputError, StorageError
from pmeans.files import CHECKSUMS, altered, sizes, write_checksums
from pmeans.models import packs
from pmeans.spaces.store import save_space

PACKAGES = Path(__file__).parents[3] / "packages"
MATERIALS = [Material("a", "CC0", "x"), Material("b", "MIT", "y"), Material("c", "CC0", "z")]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def encoder(toy, tmp_path):
    """Return an encoder that was opened from a folder with a card."""
    plain = pmeans.PowerMeanEncoder(pmeans.Recipe((pmeans.Part("toy"),), "mine"), {"toy": toy})
    models.save(plain, tmp_path / "model")
    card = render(plain, "# By hand", MATERIALS, {})
    (tmp_path / "model" / models.CARD).write_text(card)
    return models.load(tmp_path / "model")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Return a folder that Python looks into for packages."""
    (tmp_path / "site").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "site")
    return tmp_path / "site"


@pytest.fixture
def install(encoder, site, tmp_path):
    """Return a function that installs the encoder under a name, and returns the model's folder."""

    def installed(name, distribution=None):
        distribution = distribution or f"pmeans-model-{name}"
        package = distribution.replace("-", "_")
        write_package(encoder, tmp_path / "made" / distribution)
        (tmp_path / "made" / distribution / "src" / package).rename(site / package)
        announce(site, name, distribution, package)
        return site / package / "model"

    return installed


def announce(site, name, distribution, value):
    info = site / f"{distribution.replace('-', '_')}-1.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {distribution}\nVersion: 1.0.0\n")
    (info / "entry_points.txt").write_text(f"[pmeans.models]\n{name} = {value}\n")


def listed():
    """Run ``pmeans models``; return its rows by the name of the model, and its warnings."""
    result = CliRunner().invoke(app, ["models"])
    assert result.exit_code == 0
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    return {name: rest for name, *rest in rows[1:]}, result.stderr


def test_a_pack_is_loaded_by_its_name(install, encoder):
    install("tiny")
    rows = pmeans.load("tiny").encode(["the cat", "sat"], lang="en")
    np.testing.assert_array_equal(rows, encoder.encode(["the cat", "sat"], lang="en"))


def test_nothing_of_a_pack_is_imported(install, site):
    install("tiny")
    (site / "pmeans_model_tiny" / "__init__.py").write_text("raise SystemExit('imported')")
    assert pmeans.load("tiny").name == "mine"
    assert "pmeans_model_tiny" not in sys.modules


def test_what_is_found_otherwise_does_not_look_through_the_packages(
    encoder, toy, home, monkeypatch
):
    monkeypatch.delattr(packs, "installed")
    pmeans.save(encoder, home / "models" / "mine")
    save_space(toy, home / "spaces" / "toy.safetensors")
    for name in (None, "default", models.folder_of(encoder), "mine", "toy"):
        assert pmeans.load(name)


def test_a_folder_of_the_library_comes_before_a_pack(install, toy, home):
    install("tiny")
    other = pmeans.PowerMeanEncoder(pmeans.Recipe((pmeans.Part("t"),), "other"), {"t": toy})
    pmeans.save(other, home / "models" / "tiny")
    assert pmeans.load("tiny").name == "other"
    rows, warnings = listed()
    assert rows["tiny"][0] == "library"
    hidden = "warning: 'tiny' of pmeans-model-tiny 1.0.0 is hidden by that of library.\n"
    assert hidden in warnings


def test_a_word_space_of_the_library_comes_before_a_pack(install, toy, home):
    install("tiny")
    save_space(toy, home / "spaces" / "tiny.safetensors")
    assert pmeans.load("tiny").name == "toy"
    assert "'tiny' of pmeans-model-tiny 1.0.0 is hidden by that of library" in listed()[1]


def test_no_pack_takes_the_place_of_the_default_model(install):
    install("default", "pmeans-model-rogue")
    assert pmeans.load("default").name != "mine"
    assert "'default' of pmeans-model-rogue 1.0.0 is hidden by that of pmeans" in listed()[1]


def test_two_packs_of_one_name_are_an_error_that_names_both(install):
    install("tiny")
    install("tiny", "pmeans-model-twin")
    both = "pmeans-model-tiny 1.0.0 and pmeans-model-twin 1.0.0"
    with pytest.raises(InputError, match=f"2 packs have a model 'tiny': {both}"):
        pmeans.load("tiny")


def test_a_changed_byte_of_a_pack_is_found(install):
    file = install("tiny") / "spaces" / "toy.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        pmeans.load("tiny")
    assert str(caught.value) == (
        "the model 'tiny' of pmeans-model-tiny 1.0.0 is damaged: 1 file changed since the "
        f"pack was made, such as '{file}'. Install it again: pip install --force-reinstall "
        "pmeans-model-tiny"
    )


@pytest.mark.parametrize("name", ["spaces/toy.safetensors", CHECKSUMS])
def test_a_missing_file_of_a_pack_is_found(install, name):
    (install("tiny") / name).unlink()
    with pytest.raises(FormatError, match=f"is damaged: 1 file changed.*{name}"):
        pmeans.load("tiny")


def with_newer_space(folder):
    file = folder / "spaces" / "toy.safetensors"
    content = file.read_bytes()
    assert content.count(b'"version": "1"') == 1
    file.write_bytes(content.replace(b'"version": "1"', b'"version": "9"'))


def with_newer_recipe(folder):
    recipe = folder / models.RECIPE
    recipe.write_text('pooling = "new"\n' + recipe.read_text())


def with_newer_file(folder):
    (folder / "attention.safetensors").touch()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_newer_space, "format version 9"),
        (with_newer_recipe, "unknown key 'pooling'"),
        (with_newer_file, r"attention\.safetensors' is unknown"),
    ],
)
def test_a_pack_of_a_newer_format_asks_for_a_newer_pmeans(install, change, message):
    folder = install("tiny")
    change(folder)
    write_checksums(folder)
    with pytest.raises(FormatError, match=rf"cannot read it\. Upgrade pmeans\. \(.*{message}"):
        pmeans.load("tiny")


@pytest.mark.parametrize("value", ["not_there", "json", "json.decoder", "not a name:x", "__main__"])
def test_an_entry_point_without_its_package_is_named(site, value):
    announce(site, "lost", "pmeans-model-lost", value)
    with pytest.raises(StorageError, match=r"^the model 'lost' of pmeans-model-lost 1\.0\.0 .*not"):
        pmeans.load("lost")


def test_a_package_without_a_model_is_named(install):
    folder = install("tiny")
    folder.rename(folder.with_name("other"))
    with pytest.raises(StorageError, match=rf"is not there: no file '{folder / models.RECIPE}'"):
        pmeans.load("tiny")


def test_the_list_has_languages_size_and_licences(install):
    folder = install("tiny")
    n_bytes = sum(sizes(folder).values())
    row = ["pmeans-model-tiny 1.0.0", "de en", f"{n_bytes / 1e3:.1f} kB", "CC0, MIT"]
    assert listed()[0]["tiny"] == row


def test_the_list_has_the_library_and_what_its_models_are_made_of_is_unknown(encoder, home):
    pmeans.save(encoder, home / "models" / "mine")
    where, languages, _, licence = listed()[0]["mine"]
    assert (where, languages, licence) == ("library", "de en", "unknown")


def test_broken_packs_are_warnings_and_the_others_are_listed(install, site):
    install("tiny")
    (install("changed") / models.CARD).write_text("other")
    announce(site, "lost", "pmeans-model-lost", "not_there")
    for distribution in ("pmeans-model-one", "pmeans-model-two"):
        install("twice", distribution)
    rows, warnings = listed()
    assert {"tiny"} == rows.keys() & {"tiny", "changed", "lost", "twice"}
    for problem in ("'changed' of pmeans-model-changed 1.0.0 is damaged", "'lost'", "2 packs have"):
        assert problem in warnings
    assert warnings.count("warning: ") == 3


@pytest.mark.parametrize("content", [b"[pmeans.models]\ngarbage\n", b"\xff\xfe"])
def test_damaged_entry_points_of_one_package_do_not_hide_the_others(install, site, content):
    install("tiny")
    announce(site, "lost", "a-package", "not_there")
    (site / "a_package-1.0.0.dist-info" / "entry_points.txt").write_bytes(content)
    assert {"tiny", "lost"} & set(packs.installed()) == {"tiny"}


def test_a_pack_that_is_on_the_path_twice_is_one(install, site, tmp_path, monkeypatch):
    install("tiny")
    shutil.copytree(site, tmp_path / "twin")
    monkeypatch.syspath_prepend(tmp_path / "twin")
    assert models.folder_of(pmeans.load("tiny")).is_relative_to(tmp_path / "twin")


def test_a_pack_of_the_catalogue_is_listed_until_it_is_installed(install, monkeypatch):
    offer = packs.Offer("tiny", ("de", "en"), 2000, "CC0")
    monkeypatch.setattr(packs, "catalogue", lambda: (offer,))
    assert listed()[0]["tiny"] == ["to install", "de en", "2.0 kB", "CC0"]
    install("tiny")
    assert listed()[0]["tiny"][0] == "pmeans-model-tiny 1.0.0"


def test_a_pack_of_the_catalogue_that_is_not_installed_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(packs, "installed", dict)
    with pytest.raises(StorageError, match="'wide' is not installed: pip install pmeans-model-wid"):
        pmeans.load("wide")


def test_a_misspelled_pack_is_recognised(install):
    install("reviews")
    with pytest.raises(StorageError, match="Did you mean 'reviews'"):
        pmeans.load("rewiews")


def test_the_command_prints_the_card_of_a_model(install):
    card = (install("tiny") / models.CARD).read_text()
    assert CliRunner().invoke(app, ["models", "tiny"]).stdout == card


def test_a_model_without_a_card_says_so(encoder, home):
    pmeans.save(encoder, home / "models" / "mine")
    assert "'mine' has no card" in CliRunner().invoke(app, ["models", "mine"]).stderr


def test_a_language_that_was_added_refers_to_the_card(encoder):
    card = render(encoder, "", MATERIALS, {}) + "\n## Added: it\n\nIn words.\n"
    assert licences(card) == ("CC0", "MIT", "see card for it")


@pytest.mark.parametrize("card", ["", "# Nothing\n", "## Material\n\nSome text | and more\n"])
def test_a_card_without_a_table_of_material_has_no_licences(card):
    assert licences(card) == ()


@pytest.mark.parametrize("offer", packs.catalogue(), ids=lambda offer: offer.name)
def test_the_catalogue_says_what_is_in_packages(offer):
    name = packs.PREFIX + offer.name
    folder = PACKAGES / name / "src" / name.replace("-", "_") / packs.FOLDER
    if not folder.is_dir():
        pytest.skip(f"no {name} in packages/")
    assert altered(folder) == []
    model = models.load(folder)
    assert offer.languages == model.languages
    assert offer.bytes == sum(sizes(folder).values())
    assert offer.licence == ", ".join(licences(models.card_of(model)))
