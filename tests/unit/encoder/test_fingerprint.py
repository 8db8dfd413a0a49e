"""A fingerprint changes with everything that reaches a row, and with nothing else."""

import dataclasses

import numpy as np
import pytest

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace
from pmeans.encoder.alignment import Alignment, LanguageMap
from pmeans.encoder.translations import Translations
from pmeans.errors import PmeansError
from pmeans.spaces.edit import quantise
from pmeans.spaces.space import Subwords
from toy_identifier import make_identifier

WORDS = {"en": ["the", "cat", "sat", "the cat"], "de": ["die", "katze", "sitzt"]}
TEXTS = {
    "en": ["the cat sat!", "The cats", "", "sat"],
    "de": ["die katze sitzt", "Katzen", "", "x"],
}


def encoder() -> PowerMeanEncoder:
    rng = np.random.default_rng(0)
    ngrams = Subwords(rng.standard_normal((40, 3)).astype(np.float32), 3, 4)
    matrix = rng.standard_normal((7, 3)).astype(np.float32)
    space = WordSpace.from_words("toy", WORDS, matrix, subwords=ngrams)
    recipe = Recipe((Part("toy", (-np.inf, 1)),), "one", "words", znorm="per_language")
    made = PowerMeanEncoder(recipe, {"toy": space})
    for lang, texts in TEXTS.items():
        made = made.fit_znorm(texts, lang=lang)
    maps = {lang: rng.standard_normal((6, 4)).astype(np.float32) for lang in WORDS}
    return aligned(made, {lang: (factor,) for lang, factor in maps.items()})


def aligned(made, maps, pivot="en", kept=0, precision="int8"):
    named = {lang: LanguageMap(factors, "drawn") for lang, factors in maps.items()}
    return made.replace(alignment=Alignment(pivot, named, kept=kept).stored_as(precision))


def rows(made) -> list[object]:
    """Return the bits of rows, or of the error in their place."""
    found: list[object] = []
    for lang, texts in TEXTS.items():
        try:
            found += [row.tobytes() for row in made.encode(texts, lang=lang)]
        except PmeansError:
            found.append("an error")
    return found


def recipe(**changes):
    return lambda made: made.replace(recipe=dataclasses.replace(made.recipe, **changes))


def space(change):
    return lambda made: made.replace(spaces={"toy": change(made.spaces["toy"])})


def changed(**changes):
    return space(lambda toy: dataclasses.replace(toy, **changes))


def subwords(**changes):
    return space(
        lambda toy: dataclasses.replace(toy, subwords=dataclasses.replace(toy.subwords, **changes))
    )


def alignment(**changes):
    return lambda made: made.replace(alignment=dataclasses.replace(made.alignment, **changes))


def statistics(made, **changes):
    fitted = dict(made.znorm.statistics)
    fitted["de"] = dataclasses.replace(fitted["de"], **changes)
    return made.replace(znorm=dataclasses.replace(made.znorm, statistics=fitted))


def without_phrases(toy):
    tables = {k: dataclasses.replace(table, phrases=None) for k, table in toy.tables.items()}
    return dataclasses.replace(toy, tables=tables)


def reshaped(made):
    """Return an encoder whose maps are the same bytes, but keep columns and lead to others."""
    maps = {lang: (m.factors[0].reshape(3, 8),) for lang, m in made.alignment.maps.items()}
    return aligned(made, maps, kept=3, precision="float32")


def of_pivot(pivot):
    """Return a map of German alone into the columns of another language."""
    return lambda made: aligned(made, {"de": (np.eye(6, dtype=np.float32),)}, pivot)


MOVED = {
    "powers": recipe(parts=(Part("toy", (-np.inf, 2)),)),
    "phrases of a part": recipe(parts=(Part("toy", (-np.inf, 1), phrases=False),)),
    "root": recipe(parts=(Part("toy", (-np.inf, 3)),), root="principal"),
    "tokenizer": recipe(tokenizer="whitespace"),
    "matrix": space(lambda toy: dataclasses.replace(toy, matrix=toy.matrix + np.float32(1e-3))),
    "precision of a space": space(lambda toy: quantise(toy, "int8")),
    "case": changed(case="cased"),
    "no subwords": changed(subwords=None),
    "n-grams": subwords(ngrams=np.ones((40, 3), np.float32)),
    "lengths of n-grams": subwords(maxn=3),
    "own n-grams": subwords(own={"de": 20}),
    "folded n-grams": subwords(folded=True),
    "phrases of a space": space(without_phrases),
    "no z-norm": lambda made: made.replace(znorm=None),
    "means": lambda made: statistics(made, mean=made.znorm.statistics["de"].mean + 1),
    "deviations": lambda made: statistics(made, std=made.znorm.statistics["de"].std + 1),
    "no alignment": lambda made: made.replace(alignment=None),
    "precision of maps": lambda made: made.replace(alignment=made.alignment.stored_as("float32")),
    "precision by hand": alignment(precision="float16"),
    "reshaped maps": reshaped,
    "map to the pivot": of_pivot("en"),
}
SAME = {
    "name of the recipe": recipe(name="other"),
    "name of the space": changed(name="other"),
    "source": changed(source="elsewhere", licence="CC0"),
    "count of the z-norm": lambda made: statistics(made, count=9),
    "origin of a map": lambda made: aligned(
        made, {lang: m.factors for lang, m in made.alignment.maps.items()}
    ),
    "pivot that is mapped": alignment(pivot="de"),
    "translations": lambda made: made.replace(
        translations=Translations("en", {"de": [("the cat", "die katze")]})
    ),
    "identifier": lambda made: made.replace(identifier=make_identifier(WORDS)),
}


@pytest.mark.parametrize("change", MOVED.values(), ids=list(MOVED))
def test_it_moves_with_what_moves_a_row(change):
    before = encoder()
    after = change(before)
    assert rows(after) != rows(before)
    assert after.fingerprint() != before.fingerprint()


@pytest.mark.parametrize("change", SAME.values(), ids=list(SAME))
def test_it_stays_with_what_moves_none(change):
    before = encoder()
    after = change(before)
    assert rows(after) == rows(before)
    assert after.fingerprint() == before.fingerprint()


def test_maps_of_the_same_numbers_are_apart_only_where_products_are():
    made = encoder()
    halves = made.replace(alignment=made.alignment.stored_as("float16"))
    floats = halves.replace(alignment=dataclasses.replace(halves.alignment, precision="float32"))
    assert rows(halves) == rows(floats)
    assert halves.fingerprint() == floats.fingerprint()


def test_maps_of_the_same_bytes_in_another_shape_are_apart():
    made = encoder()
    floats = made.replace(alignment=made.alignment.stored_as("float32"))
    assert reshaped(floats).fingerprint() != floats.fingerprint()


def test_the_pivot_without_a_map_is_the_one_language_that_stays_as_it_is():
    made = encoder()
    assert rows(of_pivot("en")(made)) != rows(of_pivot("fr")(made))
    assert of_pivot("en")(made).fingerprint() != of_pivot("fr")(made).fingerprint()


def test_the_model_in_the_package_has_the_fingerprint_that_results_are_stored_under():
    # The cells of its scores in results/ are named by it: a change there loses them all.
    assert pmeans.load().fingerprint() == "daba2392f316"
