"""Columns of pandas and polars as texts and labels, and tables as rows."""

import numpy as np
import pytest

from pmeans import (
    Part,
    PowerMeanEncoder,
    PowerMeanVectorizer,
    Recipe,
    TransferClassifier,
    WordSpace,
    ZNormTransformer,
)
from pmeans.errors import InputError

pytestmark = pytest.mark.integrations

# Where no word speaks, the classes are equally likely, and the first is taken.
TEXTS = ["good dog", "bad dog", None, "good", "bad"] * 4
LABELS = [True, False, False, True, False] * 4


@pytest.fixture(params=["pandas", "polars"])
def frames(request):
    return pytest.importorskip(request.param, reason="pip install 'pmeans[integrations]'")


@pytest.fixture(scope="module")
def encoder():
    vectors = np.array([[2, 1], [-2, 1], [0, -3]], dtype=np.float32)
    space = WordSpace.from_words("toy", {"en": ["good", "bad", "dog"]}, vectors)
    return PowerMeanEncoder(Recipe((Part("toy"),), "toy", tokenizer="words"), {"toy": space})


@pytest.mark.parametrize("labels", [LABELS, list(map(int, LABELS)), list(map(str, LABELS))])
def test_a_classifier_takes_columns(frames, encoder, labels):
    table = frames.DataFrame({"text": TEXTS, "label": labels})
    found = TransferClassifier(encoder).fit(table["text"], table["label"])
    assert found.predict(table["text"][:2]).tolist() == labels[:2]
    expected = TransferClassifier(encoder).fit(TEXTS, labels)
    np.testing.assert_array_equal(found.weights, expected.weights)
    assert found.score(table["text"], table["label"]) == 1
    with pytest.raises(InputError, match="would give its columns"):
        found.predict(table)


def test_columns_are_cross_validated(frames, encoder):
    from sklearn.model_selection import cross_val_score

    table = frames.DataFrame({"text": TEXTS, "label": LABELS})
    scores = cross_val_score(TransferClassifier(encoder), table["text"], table["label"], cv=2)
    assert scores.tolist() == [1, 1]


def test_pandas_missing_values_are_empty(encoder):
    pandas = pytest.importorskip("pandas", reason="pip install 'pmeans[integrations]'")
    for kind in ("string", "str", object, "category"):
        column = pandas.Series(["good", None], dtype=kind)
        rows = PowerMeanVectorizer(encoder).fit_transform(column)
        assert rows.any(axis=1).tolist() == [True, False], kind


def test_tables_come_out(frames, encoder):
    pytest.importorskip("pyarrow")
    table = frames.DataFrame({"text": TEXTS, "n": range(20)})
    vectorizer = PowerMeanVectorizer(encoder).set_output(transform=frames.__name__)
    rows = vectorizer.fit_transform(table["text"])
    assert isinstance(rows, frames.DataFrame)
    assert list(rows.columns) == vectorizer.get_feature_names_out().tolist()
    scores = ZNormTransformer().set_output(transform=frames.__name__).fit_transform(rows)
    assert list(scores.columns) == list(rows.columns)
    if frames.__name__ == "pandas":
        assert (rows.index == table.index).all()


def test_a_column_of_a_table_becomes_several(frames, encoder):
    from sklearn.compose import ColumnTransformer

    table = frames.DataFrame({"text": TEXTS, "n": range(20)})
    columns = ColumnTransformer(
        [("text", PowerMeanVectorizer(encoder), "text")], remainder="passthrough"
    )
    assert columns.fit_transform(table).shape == (20, encoder.dim + 1)
    assert columns.get_feature_names_out()[0] == "text__toy_min_0"
