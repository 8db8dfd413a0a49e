"""Models as pip packages, as they are written; `tests/integration/test_packs_pip.py` has pip."""

import tomllib

import pytest
from typer.testing import CliRunner

import pmeans
from pmeans import models
from pmeans.building.card import Material, render
from pmeans.building.package import write_package
from pmeans.cli.main import app
from pmeans.errors import InputError, StorageError
from pmeans.files import altered, sizes

MODEL = "src/pmeans_model_tiny/model"


@pytest.fixture
def encoder(toy, tmp_path):
    """Return an encoder that was opened from a folder with a card."""
    plain = pmeans.PowerMeanEncoder(pmeans.Recipe((pmeans.Part("toy"),), "mine"), {"toy": toy})
    models.save(plain, tmp_path / "mine")
    materials = [Material("a", "CC BY 2.0", "words"), Material("b", 'the "B" licence', "words")]
    (tmp_path / "mine" / models.CARD).write_text(render(plain, "# By hand", materials, {}))
    return models.load(tmp_path / "mine")


@pytest.fixture
def package(encoder, tmp_path):
    write_package(encoder, tmp_path / "pmeans-model-tiny")
    return tmp_path / "pmeans-model-tiny"


def contents(folder):
    return {name: (folder / name).read_bytes() for name in sizes(folder)}


def test_a_package_has_these_files_and_no_others(package):
    model = ("MODEL.md", "SHA256SUMS", "recipe.toml", "spaces/toy.safetensors")
    assert [*sizes(package)] == [
        "README.md",
        "pyproject.toml",
        "src/pmeans_model_tiny/__init__.py",
        *(f"{MODEL}/{name}" for name in model),
    ]


def test_the_model_in_a_package_has_the_bytes_of_its_folder(package, tmp_path):
    folder = contents(tmp_path / "mine")
    assert contents(package / MODEL).items() >= folder.items()


def test_the_model_in_a_package_has_its_checksums(package):
    assert altered(package / MODEL) == []


def test_the_project_file_says_what_is_in_the_package(package):
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    assert project["name"] == "pmeans-model-tiny"
    assert project["version"] == "1.0.0"
    assert project["description"] == "The model 'tiny' of pmeans: de, en"
    assert project["license"] == {"text": 'CC BY 2.0, the "B" licence'}
    assert project["entry-points"] == {"pmeans.models": {"tiny": "pmeans_model_tiny"}}


def test_the_readme_ends_with_the_card(package):
    readme = (package / "README.md").read_text()
    assert readme.startswith("# pmeans-model-tiny\n")
    assert 'pmeans.load("tiny")' in readme
    assert readme.endswith((package / MODEL / models.CARD).read_text())


def test_a_package_has_no_code(package):
    (line,) = (package / "src" / "pmeans_model_tiny" / "__init__.py").read_text().splitlines()
    assert line == '"""The model \'tiny\' of pmeans: data alone."""'


def test_a_model_without_a_card_gets_one_and_its_licence_is_unknown(encoder, tmp_path):
    (tmp_path / "mine" / models.CARD).unlink()
    write_package(encoder, tmp_path / "pmeans-model-tiny")
    card = (tmp_path / "pmeans-model-tiny" / MODEL / models.CARD).read_text()
    assert card.startswith("# mine\n\n## Parts")
    assert (
        'license = { text = "unknown" }'
        in (tmp_path / "pmeans-model-tiny" / "pyproject.toml").read_text()
    )


def test_the_same_model_gives_the_same_bytes(package, encoder, tmp_path):
    write_package(encoder, tmp_path / "other" / "pmeans-model-tiny")
    assert contents(tmp_path / "other" / "pmeans-model-tiny") == contents(package)


def test_an_older_package_is_replaced(package, encoder):
    write_package(encoder, package, "1.1.0")
    assert 'version = "1.1.0"' in (package / "pyproject.toml").read_text()


def test_a_package_is_not_written_over_the_model_that_it_is_made_of(package):
    before = contents(package)
    with pytest.raises(InputError, match="would overwrite"):
        write_package(models.load(package / MODEL), package)
    assert contents(package) == before


def test_another_project_is_never_replaced(encoder, tmp_path):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "pyproject.toml").touch()
    with pytest.raises(InputError, match="exists and is no model pack"):
        write_package(encoder, tmp_path / "tiny")
    assert [path.name for path in (tmp_path / "tiny").iterdir()] == ["pyproject.toml"]


def test_a_failed_package_leaves_nothing_behind(encoder, tmp_path, monkeypatch):
    def full(*_):
        raise StorageError("No space left on device")

    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(models, "save_space", full)
    with pytest.raises(StorageError):
        write_package(encoder, tmp_path / "pmeans-model-tiny")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "name", ["pmeans-model-default", "default", "Tiny", "a_b", "ti.ny", "pmeans-model-", "über"]
)
def test_names_that_a_package_cannot_have_are_refused(encoder, tmp_path, name):
    with pytest.raises(InputError, match="cannot name a model pack"):
        write_package(encoder, tmp_path / name)


@pytest.mark.parametrize("version", ["", "one", "1.0-x", '1"', "1.0\n"])
def test_versions_that_pip_would_refuse_are_refused(encoder, tmp_path, version):
    with pytest.raises(InputError, match="cannot be a version"):
        write_package(encoder, tmp_path / "tiny", version)


def run(*arguments):
    return CliRunner().invoke(app, ["build", *map(str, arguments)])


def test_the_command_makes_a_package_of_a_folder(encoder, tmp_path):
    folder = tmp_path / "pmeans-model-tiny"
    result = run(tmp_path / "mine", "--package", folder, "--version", "2.0.0")
    assert result.exit_code == 0, result.stderr
    printed = dict(line.split("\t") for line in result.stdout.splitlines()[1:])
    assert {name: int(n.replace(",", "")) for name, n in printed.items()} == sizes(folder)
    assert result.stderr.endswith(f" in {folder}.\n")
    assert 'version = "2.0.0"' in (folder / "pyproject.toml").read_text()


BUILD = """
parts = [{ space = "./toy.safetensors", powers = [1] }]
texts = [{ path = "pairs.tsv", first = "en", second = "de" }]
"""


def test_the_command_makes_a_package_of_what_it_has_built(toy, tmp_path):
    pmeans.save_space(toy, tmp_path / "toy.safetensors")
    (tmp_path / "pairs.tsv").write_text("the cat\tdie katze\nthe the\tdie die\ncat\tkatze\n")
    (tmp_path / "small.toml").write_text(BUILD)
    out, folder = tmp_path / "out", tmp_path / "pmeans-model-tiny"
    result = run(tmp_path / "small.toml", "--out", out, "--package", folder)
    assert result.exit_code == 0, result.stderr
    assert contents(folder / MODEL) == contents(out)


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["x.toml"], "--out"),
        (["x.toml", "--package", "pmeans-model-x"], "--out"),
        (["model", "--out", "y", "--package", "pmeans-model-x"], "--out"),
        (["model"], "--package"),
        (["x.toml", "--out", "y", "--version", "2.0.0"], "--package"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments, option):
    result = run(*arguments)
    assert result.exit_code == 2
    assert f"Invalid value for {option}" in result.stderr
