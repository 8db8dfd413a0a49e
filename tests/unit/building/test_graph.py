"""The graph of spaces: what is made, when, and in which order."""

import errno
import os

import numpy as np
import pytest

import pmeans
from pmeans.building.build_file import Build
from pmeans.building.graph import Graph, install
from pmeans.errors import ConfigError, InputError, StorageError
from pmeans.files import locked
from pmeans.training.joined import Merge
from pmeans.training.lexicon import Dictionary

FILES = {
    "data/vectors.txt": "dog 1 0\ncat 0 1\nruns 1 1\n",
    "data/en-de.tsv": "dog\thund\ncat\tkatze\n",
    "data/en-fr.tsv": "dog\tchien\ncat\tchat\n",
    "english.toml": 'kind = "convert"\nname = "english"\nfile = "{data}/vectors.txt"\n',
    "foreign.toml": """
        kind = "dictionary"
        name = "foreign-{lang}"
        space = "english.toml"
        files = ["{data}/en-{lang}.tsv"]
        for = [{ lang = "de" }, { lang = "fr" }]
        """,
    "all.toml": """
        kind = "merge"
        name = "all"
        spaces = ["foreign.toml#foreign-de", "foreign.toml#foreign-fr"]
        """,
}


def quiet(share, words):
    assert 0 <= share <= 1


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def graph_of(folder):
    return Graph(folder / "data", folder / "made")


def made(folder, *references):
    """Make spaces; return the names of those that had to be made."""
    graph = graph_of(folder)
    references = references or ("all.toml",)
    nodes = graph.targets(str(folder / reference) for reference in references)
    return graph.make(nodes, progress=quiet)


def change(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_what_is_missing_is_made_each_after_what_it_needs(folder):
    assert made(folder) == ["english", "foreign-de", "foreign-fr", "all"]
    graph = graph_of(folder)
    space = pmeans.open_space(graph.node(str(folder / "all.toml")).path)
    assert space.vector("katze", "de").tolist() == [0, 1]
    assert space.vector("chien", "fr").tolist() == [1, 0]


def test_what_is_there_is_not_made_again(folder):
    made(folder)
    assert made(folder) == []


def test_what_a_made_space_was_made_from_may_be_gone(folder):
    made(folder)
    for path in (folder / "made").glob("foreign*"):
        path.unlink()
    assert made(folder) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "remade"),
    [
        ("data/en-fr.tsv", "chat", "minou", ["foreign-fr", "all"]),
        ("data/vectors.txt", "0 1", "0 2", ["english", "foreign-de", "foreign-fr", "all"]),
        (
            "foreign.toml",
            'lang = "fr"',
            'lang = "fr", weights = "frequency"',
            ["foreign-fr", "all"],
        ),
        ("all.toml", 'kind = "merge"', 'kind = "merge"\nprecision = "float16"', ["all"]),
        ("english.toml", "kind", "# Of dogs and cats.\nkind", []),
    ],
)
def test_what_is_stale_is_made_again_and_nothing_else(folder, file, old, new, remade):
    made(folder)
    change(folder / file, old, new)
    assert made(folder) == remade


def test_what_has_changed_back_is_still_there(folder):
    made(folder)
    change(folder / "data/en-fr.tsv", "chat", "minou")
    made(folder)
    change(folder / "data/en-fr.tsv", "minou", "chat")
    assert made(folder) == []


def test_an_installed_space_that_was_replaced_makes_its_heirs_stale(folder, monkeypatch):
    monkeypatch.setenv("PMEANS_HOME", str(folder / "home"))
    path = folder / "home" / "spaces" / "mine.safetensors"
    (folder / "heir.toml").write_text('kind = "merge"\nname = "heir"\nspaces = ["mine"]\n')
    for vector in ([1, 2], [3, 4]):
        pmeans.save_space(pmeans.WordSpace.from_words("mine", {"en": ["a"]}, [vector]), path)
        assert made(folder, "heir.toml") == ["heir"]


def test_a_file_of_vectors_is_converted(folder):
    (folder / "heir.toml").write_text(
        'kind = "merge"\nname = "heir"\nspaces = ["./data/vectors.txt"]\n'
    )
    assert made(folder, "heir.toml") == ["vectors", "heir"]


def test_the_words_beside_a_matrix_are_part_of_it(folder):
    np.save(folder / "data" / "v.npy", np.eye(2, dtype=np.float32))
    (folder / "heir.toml").write_text('kind = "merge"\nname = "heir"\nspaces = ["./data/v.npy"]\n')
    for words in ("a\nb\n", "a\nc\n"):
        (folder / "data" / "v.words.txt").write_text(words)
        assert made(folder, "heir.toml") == ["v", "heir"]


def test_a_changed_tokenizer_makes_another_space(folder):
    for name in ("model.onnx", "tokenizer.json", "pairs.tsv"):
        (folder / name).write_text("1")
    (folder / "taught.toml").write_text(
        'kind = "taught"\nname = "taught"\nteacher = { path = "model.onnx" }\n'
        'pairs = [{ path = "pairs.tsv", first = "en", second = "de" }]\n'
    )
    (before,) = Graph().targets([str(folder / "taught.toml")])
    (folder / "tokenizer.json").write_text("2")
    (after,) = Graph().targets([str(folder / "taught.toml")])
    assert before.path != after.path


def test_a_circle_is_shown(folder):
    change(folder / "english.toml", 'kind = "convert"', 'kind = "merge"')
    change(folder / "english.toml", 'file = "{data}/vectors.txt"', 'spaces = ["all.toml"]')
    circle = "all.toml#all needs foreign.toml#foreign-de needs english.toml#english needs all.toml"
    with pytest.raises(ConfigError, match=f"a space cannot be made from itself: {circle}"):
        made(folder)


def test_two_spaces_of_one_name_in_a_file_are_refused(folder):
    change(folder / "foreign.toml", "foreign-{lang}", "foreign")
    with pytest.raises(ConfigError, match="makes two spaces named 'foreign'; what differs belongs"):
        made(folder)


def test_two_files_that_make_a_space_of_one_name_are_not_made_at_once(folder):
    (folder / "other.toml").write_text(FILES["english.toml"] + "limit = 1\n")
    with pytest.raises(ConfigError, match=r"other\.toml: another file makes a space named 'engl"):
        made(folder, "english.toml", "other.toml")


def test_one_of_several_spaces_must_be_named(folder):
    change(folder / "all.toml", "foreign.toml#foreign-de", "foreign.toml")
    with pytest.raises(ConfigError, match=r"makes foreign-de, foreign-fr: name one, as in .*#for"):
        made(folder)


def test_a_space_that_a_file_does_not_make_is_an_error_with_the_nearest_name(folder):
    with pytest.raises(ConfigError, match=r"no space 'foreign-it'\. Did you mean 'foreign-"):
        made(folder, "foreign.toml#foreign-it")


def test_missing_data_is_said_before_anything_is_made(folder):
    (folder / "data" / "en-fr.tsv").unlink()
    with pytest.raises(StorageError, match=r"no file .*en-fr\.tsv.* \{data\} is .*\$PMEANS_DATA"):
        made(folder)
    assert not (folder / "made").exists()


def test_a_missing_installed_space_is_said_before_anything_is_made(folder):
    change(folder / "all.toml", "foreign.toml#foreign-fr", "nowhere")
    with pytest.raises(StorageError, match="no word space named 'nowhere'"):
        made(folder)
    assert not (folder / "made").exists()


def test_a_run_that_was_killed_goes_on_with_what_is_left(folder, monkeypatch):
    def killed(self, *, progress, checkpoint):
        checkpoint.write_bytes(b"state")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Merge, "train", killed)
        with pytest.raises(KeyboardInterrupt):
            made(folder)
    states = list((folder / "made").glob("*.training"))
    seen = []
    train = Merge.train

    def watched(self, *, progress, checkpoint):
        seen.append(checkpoint)
        return train(self, progress=progress, checkpoint=checkpoint)

    monkeypatch.setattr(Merge, "train", watched)
    assert made(folder) == ["all"]
    assert seen == states
    assert {path.suffix for path in (folder / "made").iterdir()} == {".safetensors"}


def test_an_error_leaves_no_lock(folder):
    change(folder / "data/en-de.tsv", "dog\thund\ncat\tkatze", "emu\temu\nyak\tyak")
    with pytest.raises(InputError):
        made(folder)
    assert [path.stem[:7] for path in (folder / "made").iterdir()] == ["english"]


def test_a_space_that_another_process_makes_is_left_to_it(folder):
    node = graph_of(folder).node(str(folder / "english.toml"))
    node.path.parent.mkdir()
    with (
        locked(node.path.with_suffix(".lock")),
        pytest.raises(StorageError, match=r"another process is making .*english.*; wait"),
    ):
        made(folder)


def test_a_folder_that_cannot_be_written_is_our_error(folder):
    (folder / "made").write_text("a file")
    with pytest.raises(StorageError, match="cannot write"):
        made(folder)


def test_a_full_disk_is_our_error_and_leaves_nothing(folder, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match=r"could not write .*No space left"):
        made(folder)
    assert list((folder / "made").iterdir()) == []


def test_an_installed_space_is_the_made_one_and_replaces_an_older(folder):
    graph = graph_of(folder)
    made(folder)
    node = graph.node(str(folder / "all.toml"))
    target = folder / "elsewhere" / "all.safetensors"
    target.parent.mkdir()
    target.write_bytes(b"old")
    for _ in range(2):
        install(node, target)
        assert target.read_bytes() == node.path.read_bytes()
    assert [path.name for path in target.parent.iterdir()] == ["all.safetensors"]


def test_editing_an_installed_space_leaves_the_made_one_as_it_is(folder):
    made(folder)
    node, target = graph_of(folder).node(str(folder / "all.toml")), folder / "all.safetensors"
    before = node.path.read_bytes()
    os.link(node.path, target)  # not even one that was linked before
    install(node, target)
    with target.open("r+b") as file:
        file.write(b"edited")
    assert node.path.read_bytes() == before


def test_a_build_file_makes_the_spaces_of_its_parts(folder):
    (folder / "data" / "pairs.tsv").write_text("dog\thund\ncat\tkatze\ndog runs\thund\n")
    (folder / "model.toml").write_text(
        """
        parts = [{ space = "all.toml" }, { space = "foreign.toml#foreign-de" }]
        texts = [{ path = "{data}/pairs.tsv", first = "en", second = "de" }]
        """
    )
    build = Build.from_toml(folder / "model.toml", folder / "data")
    build.make(folder / "model", progress=quiet, graph=graph_of(folder))
    assert set(pmeans.load(folder / "model").spaces) == {"all", "foreign-de"}
    assert made(folder) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{lang}.tsv", "{lnag}.tsv", r"nothing says what \{lnag\} is; known: \{data\}, \{lang\}"),
        ('lang = "fr"', 'lang = "fr", pivott = "en"', "'for' has 'pivott'.* Did you mean 'pivot'?"),
        (
            'for = [{ lang = "de" }, { lang = "fr" }]',
            'for = "de"',
            "'for' must be a list of tables",
        ),
    ],
)
def test_a_mistake_in_for_is_said(folder, old, new, message):
    change(folder / "foreign.toml", old, new)
    with pytest.raises(ConfigError, match=rf"foreign\.toml: .*{message}"):
        made(folder)


def test_tables_of_for_are_laid_over_those_of_the_file(folder):
    (folder / "foreign.toml").write_text(
        """
        kind = "dictionary"
        name = "foreign-{lang}"
        space = "english.toml"
        text = { path = "{data}/en-{lang}.tsv", first = "en", second = "{lang}", limit = 5 }
        for = [{ lang = "de", text = { limit = 7 } }, { lang = "fr" }]
        """
    )
    nodes = graph_of(folder).targets([str(folder / "foreign.toml")])
    trainers = [node.trainer for node in nodes]
    assert all(isinstance(trainer, Dictionary) for trainer in trainers)
    assert [trainer.text.limit for trainer in trainers] == [7, 5]
    assert [trainer.text.second for trainer in trainers] == ["de", "fr"]
