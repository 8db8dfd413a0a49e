"""What a user may do wrong with any baseline: an error of ours, and nothing half-written."""

import shutil
import sys
import types

import numpy as np
import pytest
from typer.testing import CliRunner

import pmeans
from pmeans import WordSpace, models
from pmeans.cli.main import app
from pmeans.errors import FormatError, InputError
from pmeans.models.baselines import plain_mean, word_mean
from pmeans.tensors import map_tensors, write_tensors
from pmeans_lab.baselines.cvm_add.encoder import SumEncoder
from pmeans_lab.baselines.infersent.encoder import InferSent
from pmeans_lab.baselines.sent2vec.encoder import Sent2Vec
from pmeans_lab.baselines.sif.encoder import Sif, Usif
from pmeans_lab.baselines.tfidf.encoder import Tfidf

WORDS = {"en": ["the", "dog", "cat"], "de": ["der", "hund", "katze"]}
TRAIN = ["the dog", "the cat", "dog cat the"]
P = [0.9, 0.01, 0.001] * 2


def space():
    vectors = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    return WordSpace.from_words("toy", WORDS, vectors)


def infersent():
    rng = np.random.default_rng(1)
    shapes = {"input": (2, 8, 4), "state": (2, 8, 2), "bias": (2, 8)}
    weights = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    return InferSent("x", word_mean(space(), "x"), weights, {})


def sent2vec(**how):
    mean = plain_mean(space(), "x", "words")
    return Sent2Vec("x", mean, {"vectors": np.ones((2, 4), dtype=np.float32), **how})


MADE = {
    "sif": lambda: Sif("x", plain_mean(space(), "x", "words"), P).fit(TRAIN, lang="en"),
    "usif": lambda: Usif("x", plain_mean(space(), "x", "words"), P).fit(TRAIN, lang="en"),
    "tfidf": lambda: Tfidf("x", 5).fit(TRAIN, lang="en"),
    "sum": lambda: SumEncoder("x", plain_mean(space(), "x", "words")),
    "sent2vec": lambda: sent2vec(keys=np.array([1, 2])),
    "sent2vec hashed": lambda: sent2vec(numbers=np.arange(6)),
    "infersent": infersent,
}
ARRAYS = [
    *(("sif", "frequencies"), ("sif", "removed"), ("usif", "frequencies"), ("usif", "removed")),
    *(("tfidf", "words"), ("tfidf", "idf"), ("sent2vec", "vectors"), ("sent2vec", "keys")),
    *(("sent2vec hashed", "vectors"), ("sent2vec hashed", "numbers")),
    *(("infersent", "input"), ("infersent", "state"), ("infersent", "bias")),
]
OVER_WORDS = [kind for kind in MADE if kind != "tfidf"]


@pytest.fixture
def stored(tmp_path):
    def save(kind):
        models.save(MADE[kind](), tmp_path / "x")
        return tmp_path / "x"

    return save


# --- Folders ----------------------------------------------------------------------------------


def refused(folder, message):
    with pytest.raises(FormatError, match=message) as caught:
        pmeans.load(folder)
    assert str(caught.value).startswith(str(folder))


@pytest.mark.parametrize("kind", MADE)
def test_arrays_that_are_cut_short_are_refused(kind, stored):
    path = stored(kind) / "baseline.safetensors"
    content = path.read_bytes()
    for share in (0, 0.01, 0.5, 0.999):
        path.unlink()  # what is mapped must not shrink
        path.write_bytes(content[: int(share * len(content))])
        refused(path.parent, "too few for a safetensors|cut short|damaged")


@pytest.mark.parametrize("kind", MADE)
def test_a_folder_of_another_version_or_kind_is_refused(kind, stored):
    folder = stored(kind)
    path = folder / "baseline.toml"
    good = path.read_text()
    path.write_text(good.replace("format = 1", "format = 2"))
    refused(folder, "format 2 of the kind")
    path.write_text(good.replace("kind = ", 'kind = "x"\nwas = '))
    refused(folder, "kind 'x', which no installed package knows")
    path.write_text(good)
    write_tensors(folder / "baseline.safetensors", {}, {"format": "pmeans-other"})
    refused(folder, "not of the kind")


@pytest.mark.parametrize("kind", OVER_WORDS)
def test_a_folder_without_its_words_or_over_other_ones_is_refused(kind, stored):
    folder = stored(kind)
    inner = folder / "encoder"
    recipe = (inner / "recipe.toml").read_text()
    second = '\n[[parts]]\nspace = "two"\npowers = [1]\n'
    shutil.copy(inner / "spaces" / "toy.safetensors", inner / "spaces" / "two.safetensors")
    for other in (recipe + second, '[[parts]]\nspace = "toy"\npowers = [inf]\n'):
        (inner / "recipe.toml").write_text(other)
        refused(folder, "plain mean of one word space")
    shutil.rmtree(inner)
    refused(folder, "no folder 'encoder'")


@pytest.mark.parametrize(("kind", "name"), ARRAYS)
def test_each_array_is_needed_with_its_shape_its_type_and_its_numbers(kind, name, stored):
    folder = stored(kind)
    arrays, metadata = map_tensors(folder / "baseline.safetensors")
    was = arrays[name].copy()
    wrong = {
        "shape": was[None],
        "type": was.astype(np.float32 if was.dtype.kind in "iu" else np.int64),
    }
    if was.dtype.kind == "f":
        wrong["NaN"] = np.full_like(was, np.nan)
    for changed in wrong.values():
        write_tensors(folder / "baseline.safetensors", arrays | {name: changed}, metadata)
        refused(folder, f"'{name}'")
    if name == "removed":  # what is not fitted is stored as well
        return
    left = {other: array for other, array in arrays.items() if other != name}
    write_tensors(folder / "baseline.safetensors", left, metadata)
    refused(folder, "is missing")


@pytest.mark.parametrize(
    ("kind", "old", "new", "message"),
    [
        ("sif", "a = 0.001", "a = inf", "a must be above 0"),
        ("sif", "a = 0.001", "a = 1e-60", "a must be above 0, and a number for float32"),
        ("sif", "a = 0.001", "a = true", "'a' is True, where a float belongs"),
        ("sif", "a = 0.001", f"a = {10**400}", "'a' is too large"),
        ("usif", "length = ", "length = nan #", "length of a sentence must be above 0"),
        ("tfidf", "dim = 5", f"dim = {2**70}", "at least one column and less than"),
        ("tfidf", "dim = 5", "dim = 2", "has 3, for 2 columns"),
        ("tfidf", 'tokenizer = "words"', 'tokenizer = "x"', "not those of a tfidf"),
    ],
)
def test_settings_that_cannot_be_are_refused(kind, old, new, message, stored):
    path = stored(kind) / "baseline.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    refused(path.parent, message)


@pytest.mark.parametrize("p", [np.nan, np.inf, -1])
def test_frequencies_that_are_no_shares_are_refused(p):
    with pytest.raises(InputError, match="one of at least 0 for each"):
        Sif("x", plain_mean(space(), "x", "words"), [*P[:5], p])


# --- Commands ---------------------------------------------------------------------------------

TEXT = {
    "empty.txt": "",
    "blank.txt": " \n\n",
    "other.txt": "xyzzy plugh\n",
    "one.txt": "dog\ncat\n",
}
TABLES = {
    "words.tsv": "the many\n",
    "comma.tsv": "the,3\n",
    "counts.tsv": "3\n",
    "minus.tsv": "the -3\n",
    "other.tsv": "xyzzy 3\n",
    "empty.tsv": "",
}
PAIRS = {"empty-pairs.tsv": "", "one-pair.tsv": "the dog\tder hund\n", "columns.tsv": "the dog\n"}
NLI = {
    "broken.jsonl": '{"gold_label": "neutral", "sentence1": "the", "sentence2": "dog"}\n{"gold\n',
    "empty.jsonl": "",
}


def sif(kind="sif", text="good.txt", lang="en", table="good.tsv", more=""):
    return (
        f'kind = "{kind}"\nspace = "toy.safetensors"\ntext = "{text}"\nlang = "{lang}"\n{more}\n'
        f'frequencies = [{{ lang = "en", table = "{table}" }}, {{ lang = "de", text = "de.txt" }}]'
    )


def tfidf(text, more=""):
    return f'kind = "tfidf"\ntext = "{text}"\nlang = "en"\n{more}'


def sentences(kind, text="good.txt", lang="en", more="min_count = 1"):
    texts = f'texts = [{{ path = "{text}", lang = "{lang}" }}]'
    return f'kind = "{kind}"\nname = "x"\n{texts}\n{more}\n'


def pairs(kind, path, second="de"):
    space = 'space = "toy.safetensors"\n' if kind == "infersent" else ""
    files = f'pairs = [{{ path = "{path}", first = "en", second = "{second}" }}]'
    return f'kind = "{kind}"\nname = "x"\n{space}{files}\n'


def nli(path):
    files = ", ".join(f'{part} = "{path}"' for part in ("train", "dev", "test"))
    return f'kind = "infersent"\nspace = "toy.safetensors"\nnli = [{{ lang = "en", {files} }}]\n'


BUILD = [
    (sif(text="empty.txt"), "empty.txt: sif needs sentences with known words"),
    (sif(text="other.txt"), "other.txt: sif needs sentences with known words"),
    (sif("usif", text="blank.txt"), "blank.txt: usif needs sentences with known words"),
    (sif(text="none.txt"), "no file"),
    (sif(lang="fr"), "no language 'fr' among de, en"),
    (sif(more="limit = -1"), "x.toml: limit must be at least 1, not -1"),
    (sif(more="a = nan"), "x.toml: a must be a finite number"),
    (sif(table="words.tsv"), "words.tsv, line 1: expected a word and its count"),
    (sif(table="comma.tsv"), "comma.tsv, line 1: expected a word and its count"),
    (sif(table="counts.tsv"), "counts.tsv, line 1: expected a word and its count"),
    (sif(table="minus.tsv"), "minus.tsv, line 1: expected a word and its count"),
    (sif(table="other.tsv"), "other.tsv has no words that 'toy' knows"),
    (sif(table="empty.tsv"), "empty.tsv has no words that 'toy' knows"),
    (sif().replace("toy.", "cut."), "cut.safetensors: not a safetensors file, or cut short"),
    (tfidf("empty.txt"), "empty.txt: tfidf needs sentences with words"),
    (tfidf("good.txt", "limit = 0"), "x.toml: limit must be at least 1, not 0"),
    ('kind = "sum"\nspace = "none.safetensors"', "no file"),
    ('kind = "teacher"\npath = "good.txt"', "is not a model: name a sentence-transformers folder"),
    ('kind = "sent2vec-file"\nfile = "good.txt"\nlang = "en"', "not a fastText model"),
    (sentences("sent2vec", "empty.txt"), "empty.txt: no words"),
    (sentences("sent2vec", "one.txt"), "one.txt: no sentence has two known words"),
    (sentences("sent2vec", lang="?"), "'?' is not a language code"),
    (sentences("sent2vec", more="dim = 0"), "x.toml: dim must be at least 1, not 0"),
    (sentences("sent2vec", more=f"dim = {2**60}"), "x.toml: dim must be at most 2,147,483,647"),
    ('kind = "sent2vec"\ntexts = []', "texts names no file"),
    (pairs("infersent", "empty-pairs.tsv"), "empty-pairs.tsv: no pairs of sentences"),
    (pairs("infersent", "one-pair.tsv"), "one-pair.tsv: 1 pairs of sentences, and none"),
    (pairs("infersent", "columns.tsv"), "columns.tsv, line 1: 1 columns, expected 2 or 3"),
    (pairs("infersent", "one-pair.tsv", "fr"), "the space 'toy' has no language 'fr'"),
    (nli("broken.jsonl"), "broken.jsonl, line 2: no object with gold_label"),
    (nli("empty.jsonl"), "empty.jsonl: no pair of sentences with a label"),
    ('kind = "siff"', "kind 'siff' is none of"),
    (sentences("siamese-cbow"), "It makes a word space: 'pmeans train' takes it"),
]
TRAINED = [
    (sentences("siamese-cbow", "empty.txt"), "empty.txt: no words"),
    (sentences("siamese-cbow", "one.txt"), "one.txt: no two sentences with known words follow"),
    (pairs("cvm-add", "empty-pairs.tsv"), "empty-pairs.tsv: no pairs of sentences"),
    (pairs("cvm-add", "one-pair.tsv"), "too little text"),
    (sif(), "It makes an encoder: 'pmeans build' takes it"),
]


@pytest.fixture
def material(tmp_path, monkeypatch):
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path / "home"))
    folder = tmp_path / "material"
    folder.mkdir()
    good = {"good.txt": "the dog\n" * 3, "de.txt": "der hund\n", "good.tsv": "the 3\ndog 1\n"}
    for name, content in (good | TEXT | TABLES | PAIRS | NLI).items():
        (folder / name).write_text(content)
    pmeans.save_space(space(), folder / "toy.safetensors")
    whole = (folder / "toy.safetensors").read_bytes()
    (folder / "cut.safetensors").write_bytes(whole[: len(whole) // 2])
    return folder


def fails(command, folder, toml, message):
    """Run a command that must end with an error of ours, and leave the folder as it was."""
    (folder / "x.toml").write_text(toml)
    before = sorted(folder.rglob("*"))
    out = folder / ("out" if command == "build" else "out.safetensors")
    done = CliRunner().invoke(app, [command, str(folder / "x.toml"), "--out", str(out)])
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 1
    # Lines are as wide as the terminal.
    assert "error:" in done.output
    assert message.replace(" ", "") in "".join(done.output.split())
    assert sorted(folder.rglob("*")) == before


@pytest.fixture
def idle_torch(monkeypatch):
    """Something that can be imported as torch: material is refused before it is asked anything."""
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))


@pytest.mark.usefixtures("idle_torch")
@pytest.mark.parametrize(("toml", "message"), BUILD)
def test_a_build_that_cannot_be_says_why_and_leaves_nothing(toml, message, material):
    fails("build", material, toml, message)


@pytest.mark.usefixtures("idle_torch")
@pytest.mark.parametrize(("toml", "message"), TRAINED)
def test_a_training_that_cannot_be_says_why_and_leaves_nothing(toml, message, material):
    fails("train", material, toml, message)


@pytest.mark.parametrize(
    ("command", "toml", "what"),
    [
        ("build", sentences("sent2vec"), "Sent2Vec"),
        ("build", pairs("infersent", "one-pair.tsv"), "InferSent"),
        ("train", sentences("siamese-cbow"), "Siamese-CBOW"),
        ("train", pairs("cvm-add", "one-pair.tsv"), "CVM-add"),
    ],
)
def test_without_torch_it_says_what_to_install_before_it_reads(
    command, toml, what, material, monkeypatch
):
    monkeypatch.setitem(sys.modules, "torch", None)
    (material / "good.txt").write_text("")  # would be refused if it were read
    fails(command, material, toml, f"{what} needs torch, which is not installed: pip install")


def test_without_torch_infersent_is_loaded_and_does_not_encode(stored, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"InferSent needs torch.*pip install 'pmeans\[train\]'"):
        pmeans.load(stored("infersent")).encode(["the dog"], lang="en")


@pytest.mark.parametrize("out", [".", "/"])
def test_a_folder_that_is_there_and_no_encoder_is_not_replaced(out, material, monkeypatch):
    monkeypatch.chdir(material)
    (material / "x.toml").write_text(tfidf("good.txt"))
    done = CliRunner().invoke(app, ["build", "x.toml", "--out", out])
    assert done.exit_code == 1
    assert "would overwrite 'x.toml', which is read" in " ".join(done.output.split())
