import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmeans import Part, Recipe
from pmeans.errors import ConfigError, StorageError

RECIPES = st.builds(
    Recipe,
    st.lists(
        st.builds(
            Part,
            st.text(min_size=1),
            st.lists(
                st.sampled_from([-math.inf, -1.5, 0, 0.5, 1, 2, 3, math.inf]),
                min_size=1, unique=True,
            ),
        ),
        min_size=1,
    ).map(tuple),
    st.text(st.characters(codec="utf-8")),
    st.sampled_from(["whitespace", "words"]),
    st.sampled_from(["signed", "principal"]),
    st.sampled_from(["none", "train", "all", "per_language"]),
)  # fmt: skip


@given(recipe=RECIPES)
def test_a_recipe_survives_the_way_through_toml(recipe, tmp_path_factory):
    path = tmp_path_factory.mktemp("r") / "recipe.toml"
    path.write_bytes(recipe.to_toml().encode("utf-8", "surrogatepass"))
    try:
        assert Recipe.from_toml(path) == recipe
    except ConfigError:  # a lone surrogate is no text that a file could hold
        assert any("\ud800" <= c <= "\udfff" for part in recipe.parts for c in part.space)


def test_toml_reads_as_one_would_write_it(tmp_path):
    path = tmp_path / "three.toml"
    path.write_text('[[parts]]\nspace = "glove"\npowers = [-inf, 1, 0.5, inf]\n')
    recipe = Recipe.from_toml(path)
    assert recipe.name == "three"
    assert recipe.parts == (Part("glove", (-math.inf, 1, 0.5, math.inf)),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[parts]]\nspace = 3", "expected a string, got 3"),
        ("[[parts]]\npowers = [1]", "the key 'space' is missing"),
        ("", "the key 'parts' is missing"),
        ("parts = []", "has no parts"),
        ('[[parts]]\nspace = "x"\npower = [1]', "unknown key 'power'. Did you mean 'powers'"),
        ('[[parts]]\nspace = "x"\npowers = ["median"]', "expected a number, got 'median'"),
        ('[[parts]]\nspace = "x"\npowers = [nan]', "not a usable power"),
        ('[[parts]]\nspace = "x"\npowers = [true]', "expected a number, got True"),
        ('[[parts]]\nspace = "x"\npowers = []', "empty"),
        ('[[parts]]\nspace = "x"\npowers = [1, 1.0]', "twice"),
        ('root = "sign"\n[[parts]]\nspace = "x"', "'sign' is not one of.*Did you mean 'signed'"),
        ('znorm = "yes"\n[[parts]]\nspace = "x"', "is not one of 'none', 'train'"),
        ("parts = 1", "expected a list, got 1"),
        ("[[parts]\n", "not valid TOML"),
        (
            '[[parts]]\nspace = "x"\npowers = [[1, 2]]',
            "one power per dimension needs root = 'shifted'",
        ),
        (
            'root = "shifted"\n[[parts]]\nspace = "x"\npowers = [0.5]',
            "0.5 is not a power of a shifted",
        ),
        (
            'root = "shifted"\n[[parts]]\nspace = "x"\npowers = [[1, nan]]',
            "nan is not a power of a",
        ),
        ('root = "shifted"\n[[parts]]\nspace = "x"\npowers = [[2], [2]]', "twice"),
        (
            'root = "shifted"\n[[parts]]\nspace = "x"\npowers = [["a"]]',
            "expected a number, got 'a'",
        ),
    ],
)
def test_a_bad_recipe_says_what_is_wrong(tmp_path, text, message):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        Recipe.from_toml(path)


def test_a_missing_recipe_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"no file '.*x\.toml'"):
        Recipe.from_toml(tmp_path / "x.toml")


def test_the_id_knows_the_powers_and_not_the_name():
    one = Recipe((Part("a", (1,)),), "one")
    assert one.id == Recipe((Part("a", (1,)),), "two").id
    assert one.id != Recipe((Part("a", (2,)),), "one").id


def test_a_power_may_be_a_list_with_one_for_each_dimension(tmp_path):
    path = tmp_path / "learned.toml"
    path.write_text('root = "shifted"\n[[parts]]\nspace = "x"\npowers = [[1, -2.5, inf], 1]\n')
    recipe = Recipe.from_toml(path)
    assert recipe.parts == (Part("x", ((1, -2.5, math.inf), 1)),)
    path.write_text(recipe.to_toml())
    assert Recipe.from_toml(path) == recipe
    other = Recipe((Part("x", ((1, -2.5, 3), 1)),), root="shifted")
    assert other.id != recipe.id


def test_recipes_of_plain_powers_keep_their_id():
    # As of the version before lists of powers: ids name models and results.
    assert Recipe((Part("x", (-math.inf, 1, 0.5, math.inf)),), "any").id == "d2e16dea5e4d"
