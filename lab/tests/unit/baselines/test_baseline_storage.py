"""A baseline of three numbers: how any of them is written, read, and refused."""

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, TransferClassifier, models, plugins
from pmeans.errors import FormatError, InputError, LanguageError
from pmeans.models import baselines
from pmeans.models.baselines import Baseline, array

TEXTS = ["the cat", "sat", "", "cat sat sat"]


class Scaled(Baseline):
    """The mean of a sentence times three learned numbers, and a settled one."""

    kind = "scaled"
    format = 3

    def __init__(self, name, by, factors, inner):
        self.name, self.by, self.factors, self.encoder = name, by, factors, inner
        self.dim, self.languages = inner.dim, inner.languages

    def settings(self):
        return {"by": self.by, "notes": ["a", 'b "c"'], "far": float("inf"), "so": True}

    def arrays(self):
        return {"factors": self.factors}

    def inner(self):
        return self.encoder

    @classmethod
    def restored(cls, name, parts):
        inner = parts.encoder()
        by = parts.setting("by", float)
        factors = array(parts.arrays, "factors", (inner.dim,))
        return cls(name, by, factors, inner)

    def encode_list(self, texts, lang, n_threads):
        return self.encoder.encode_rows(texts, lang=lang) * self.factors * np.float32(self.by)


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    real = plugins.added(baselines.GROUP)
    known = {**real, "scaled": f"{__name__}:Scaled"}
    monkeypatch.setattr(plugins, "added", lambda group: known if group == baselines.GROUP else {})


@pytest.fixture
def scaled(toy):
    inner = PowerMeanEncoder(Recipe((Part("toy", (1,)),), "inner"), {"toy": toy})
    return Scaled("mine", 0.5, np.array([1, 2, 4], dtype=np.float32), inner)


@pytest.fixture
def folder(scaled, tmp_path):
    models.save(scaled, tmp_path / "mine")
    return tmp_path / "mine"


def _change(path, old, new):
    path.write_text(path.read_text().replace(old, new))


def test_a_stored_baseline_gives_the_same_bits_and_fingerprint(scaled, folder):
    back = models.load(folder)
    assert (back.name, back.kind, back.folder) == ("mine", "scaled", folder)
    assert back.fingerprint() == scaled.fingerprint()
    np.testing.assert_array_equal(back.encode(TEXTS, lang="en"), scaled.encode(TEXTS, lang="en"))
    assert {each.name for each in folder.iterdir()} == {
        "baseline.toml", "baseline.safetensors", "encoder", "SHA256SUMS",
    }  # fmt: skip


def test_whatever_reaches_a_row_changes_the_fingerprint_and_the_name_does_not(scaled):
    plain = scaled.fingerprint()
    other = scaled.encoder.replace(recipe=Recipe((Part("toy", (2,)),), "inner"))
    assert Scaled("other", 0.5, scaled.factors, scaled.encoder).fingerprint() == plain
    assert Scaled("mine", 0.25, scaled.factors, scaled.encoder).fingerprint() != plain
    assert Scaled("mine", 0.5, scaled.factors + 1, scaled.encoder).fingerprint() != plain
    assert Scaled("mine", 0.5, scaled.factors, other).fingerprint() != plain


def test_encoders_of_both_kinds_replace_each_other_and_nothing_else(scaled, folder, tmp_path):
    models.save(scaled.encoder, folder)
    assert isinstance(models.load(folder), PowerMeanEncoder)
    models.save(scaled, folder)
    assert isinstance(models.load(folder), Scaled)
    (tmp_path / "photos" / "one").mkdir(parents=True)
    with pytest.raises(InputError, match="exists and is no encoder"):
        models.save(scaled, tmp_path / "photos")


def test_what_is_damaged_or_of_another_version_is_refused(folder):
    path = folder / "baseline.toml"
    good = path.read_text()
    for old, new, message in [
        ('"scaled"', '"scale"', "kind 'scale', which no installed.*Did you mean 'scaled'"),
        ("format = 3", "format = 4", "format 4 of the kind 'scaled'.*reads format 3"),
        ("by = 0.5", 'by = "x"', "setting 'by' is 'x', where a float belongs"),
        ('name = "mine"', "name = 1", "needs a name"),
    ]:
        path.write_text(good.replace(old, new))
        with pytest.raises(FormatError, match=rf"baseline.toml: .*{message}"):
            models.load(folder)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "'factors' is missing"),
        ({"factors": [1, 2]}, r"'factors' is \(2,\), expected \(3\)"),
        ({"factors": [1, 2, np.nan]}, "'factors' holds NaN"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(folder, arrays, message):
    from pmeans.tensors import write_tensors

    arrays = {name: np.array(values, dtype=np.float32) for name, values in arrays.items()}
    write_tensors(folder / "baseline.safetensors", arrays, {"format": "pmeans-scaled"})
    with pytest.raises(FormatError, match=message):
        models.load(folder)


def test_torn_arrays_and_those_of_another_kind_are_refused(folder):
    path = folder / "baseline.safetensors"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"pmeans-scaled", b"pmeans-scalid"))
    with pytest.raises(FormatError, match="not of the kind 'scaled'"):
        models.load(folder)
    path.write_bytes(content[:-70])
    with pytest.raises(FormatError, match="not a safetensors file, or cut short"):
        models.load(folder)


def test_a_lost_inner_encoder_is_missed(folder):
    (folder / "encoder").rename(folder.parent / "elsewhere")
    with pytest.raises(FormatError, match="no folder 'encoder'"):
        models.load(folder)


def test_an_encoder_that_tells_languages_apart_asks_for_one(scaled):
    with pytest.raises(LanguageError, match="which language"):
        scaled.encode(TEXTS)


def test_a_baseline_without_words_has_a_coverage_of_no_spaces(scaled, monkeypatch):
    assert scaled.coverage(["the dog"], lang="en").by_space == {"toy": 0.5}
    monkeypatch.setattr(Scaled, "inner", lambda self: None)
    found = scaled.coverage(iter(["the dog", "x"]), lang="en")
    assert (found.by_space, len(found.tokens)) == ({}, 2)


def test_what_needs_power_means_says_so(scaled):
    with pytest.raises(InputError, match=r"TransferClassifier needs an encoder of power means.*"
                       r"'mine' is of the kind 'scaled': take pmeans.load\(\)"):  # fmt: skip
        TransferClassifier(scaled).fit(TEXTS, [0, 1, 0, 1], lang="en")


def test_a_baseline_that_is_whole_has_nothing_to_be_fitted(scaled):
    assert not scaled.needs_fit
    with pytest.raises(InputError, match="nothing to be fitted"):
        scaled.fit(TEXTS)


def test_a_baseline_is_a_step_of_a_pipeline(scaled):
    from pmeans.estimators import PowerMeanVectorizer

    step = PowerMeanVectorizer(scaled, lang="en").fit(TEXTS)
    np.testing.assert_array_equal(step.transform(TEXTS), scaled.encode(TEXTS, lang="en"))
    assert step.get_feature_names_out().tolist() == ["mine_0", "mine_1", "mine_2"]
