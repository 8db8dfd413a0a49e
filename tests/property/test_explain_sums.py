"""Words and constant add up to the decision, whatever the recipe; tokens lie where they stand."""

import unicodedata

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pmeans.encoder.alignment import Alignment, LanguageMap
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.encoder.znorm import SHARED, Statistics, ZNorm
from pmeans.kernels import Splitting, split
from pmeans.kernels.splitting import plain
from pmeans.languages.tokenizers import tokenize
from pmeans.spaces.edit import quantise
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.transfer.explain import explain, token_spans

POWERS = [-np.inf, -1, 0, 0.5, 1, 2, 3, 5, np.inf]
SHIFTED = [-np.inf, -7.5, -1, 1, 1.5, 2, 40, np.inf]
WORDS = ["the", "cat", "sat", "on", "it", "Mat", ".", "the cat", "cat sat", "sat on it"]
CLASSES = ("a", "b", "c")


@st.composite
def spaces(draw, name):
    """Some of the words in any number format, with or without subwords."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, unique=True))
    dim = draw(st.integers(1, 5))
    values = rng.normal(size=(len(words), dim))
    values[rng.random(values.shape) < draw(st.sampled_from([0.0, 0.3]))] = 0
    rest = {"case": draw(st.sampled_from(["lower", "cased", "cased-then-lower"]))}
    if draw(st.booleans()):
        ngrams, folded = rng.normal(size=(7, dim)).astype(np.float32), draw(st.booleans())
        rest["subwords"] = Subwords(ngrams, 3, 4, folded=folded)
    kind = draw(st.sampled_from(["float32", "float16", "int8", "int4"]))
    if kind == "int8":
        values = np.clip(values * 40, -127, 127)
        rest["scale"] = (rng.random(len(words)) / 40).astype(np.float32)
    if kind == "int4" and dim % 2 == 0:
        return quantise(WordSpace.from_words(name, {"de": words}, values, **rest), "int4")
    values = values.astype("float32" if kind == "int4" else kind)
    return WordSpace.from_words(name, {"de": words}, values, **rest)


@st.composite
def encoders(draw):
    named = {name: draw(spaces(name)) for name in ("first", "second")}
    root = draw(st.sampled_from(["signed", "principal", "shifted"]))
    powers = st.sampled_from(SHIFTED if root == "shifted" else POWERS)

    @st.composite
    def part(draw):
        name = draw(st.sampled_from(sorted(named)))
        chosen = draw(st.lists(powers, min_size=1, max_size=3, unique=True))
        if root == "shifted":
            dim = named[name].dim
            chosen.append(tuple(draw(st.lists(powers, min_size=dim, max_size=dim))))
        return Part(name, chosen)

    recipe = Recipe(
        tuple(draw(st.lists(part(), min_size=1, max_size=3))),
        tokenizer=draw(st.sampled_from(["whitespace", "words"])),
        root=root,
        znorm=draw(st.sampled_from(["none", "train", "per_language"])),
    )
    dim = PowerMeanEncoder(recipe, named).dim
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def floats(*shape):
        return rng.normal(size=shape).astype(np.float32)

    statistics = Statistics(floats(dim), np.abs(floats(dim)) + np.float32(0.1), 9)
    key = "de" if recipe.znorm == "per_language" else SHARED
    znorm = ZNorm(recipe.znorm, {key: statistics}) if recipe.znorm != "none" else None
    maps = [(), (floats(dim, dim),), (floats(dim, 2), floats(2, dim)), (floats(dim, 3),)]
    factors = draw(st.sampled_from(maps))
    alignment = Alignment("en", {"de": LanguageMap(factors, "")}) if factors else None
    encoder = PowerMeanEncoder(recipe, named, znorm, alignment)
    return encoder, floats(len(CLASSES), encoder.dim), floats(len(CLASSES))


def rounding(encoder, weights, sentence):
    """The sum of all magnitudes that go into a decision: what rounding errors are relative to."""
    sizes = np.abs(weights).sum(axis=0)
    for factor in reversed(encoder.alignment.maps["de"].factors if encoder.alignment else ()):
        sizes = sizes @ np.abs(factor).T
    plain = PowerMeanEncoder(
        Recipe(encoder.recipe.parts, tokenizer=encoder.recipe.tokenizer, root=encoder.recipe.root),
        encoder.spaces,
    )
    columns = np.abs(plain.encode(sentence, lang="de")) + 5  # a word's value, that may cancel
    if encoder.znorm:
        statistics = encoder.znorm.for_language("de")
        columns = (columns + np.abs(statistics.mean)) * statistics.factor
    return float(sizes @ columns)


@settings(max_examples=300)
@given(
    made=encoders(),
    tokens=st.lists(st.sampled_from([*WORDS, "unheard", "of", "x"]), max_size=12),
    label=st.sampled_from([None, *CLASSES]),
)
def test_words_and_constant_add_up_to_the_decision(made, tokens, label):
    encoder, weights, bias = made
    sentence = " ".join(tokens)
    found = explain(encoder, weights, bias, CLASSES, sentence, lang="de", label=label)
    total = sum(token.contribution for token in found.tokens) + found.constant
    # The encoder's rows are float32, of 24 bits, and so is its alignment; 1e-6 of all magnitudes
    # is a dozen roundings in one direction. An error in a rule is of the order of 1.
    tolerance = 1e-6 * rounding(encoder, weights, sentence) + 1e-6
    assert abs(total - found.margin) <= tolerance
    decisions = encoder.encode(sentence, lang="de") @ weights.T + bias
    assert list(found.decisions.values()) == decisions.tolist()


# Letters with the marks they may be composed with, one after another; letters that two characters
# stand for in lower case or in other normal forms; what is spelled otherwise in tokens.
LETTERS = list("aenosNuİIßﬁſÅéǖ한ḍΐⅧＡ𝐁")
MARKS = ["\u0301", "\u0308", "\u0303", "\u0307", "\u0323", "\u0327", "\u0345", "\u200d"]
SIGNS = ["'", "’", "-", "‐", "\u2011", " ", ".", ",", "3", "=", "\u2028", "\t", "😀"]
SIGNS += ["3.3", "1,2’4", "3'", "\xad", "\u200b", "\ufeff", "＇", "－", "！", "＝"]
PIECES = st.sampled_from([*LETTERS, *MARKS, *MARKS, *SIGNS, "n't", "l'", "-lhe"]) | st.characters()


def spelled(text):
    """One form of what is the same text to Unicode, with plain apostrophes and hyphens."""
    return unicodedata.normalize("NFC", text.translate(str.maketrans("’‐\u2011", "'--")))


@settings(max_examples=500)
@given(
    sentence=st.lists(PIECES).map("".join),
    form=st.sampled_from([None, "NFC", "NFD", "NFKC", "NFKD"]),
    lang=st.sampled_from(["en", "de", "fr", "pt"]),
    tokenizer=st.sampled_from(["whitespace", "words"]),
)
def test_a_span_cuts_the_word_that_was_looked_up_from_the_text(sentence, form, lang, tokenizer):
    if form is not None:
        sentence = unicodedata.normalize(form, sentence)
    tokens = tokenize(sentence, tokenizer, lang)
    spans = token_spans(sentence, tokens, tokenizer)
    written = plain if tokenizer == "words" else str
    borders = [0, *(border for span in spans for border in span), len(sentence)]
    gaps = [sentence[borders[i] : borders[i + 1]] for i in range(0, len(borders), 2)]
    assert {written(gap).strip() for gap in gaps} <= {"", *".,'’"}
    for token, (start, end) in zip(tokens, spans, strict=True):
        assert spelled(written(sentence[start:end])) == spelled(token)


@given(sentence=st.text(st.sampled_from("aN't’-. 3ΣéI\u0130")), lang=st.sampled_from(["en", "fr"]))
def test_a_token_by_itself_is_not_cut_again(sentence, lang):
    for token in tokenize(sentence, "words", lang):
        assert split(token, Splitting.WHITESPACE) == [token]
