"""Frames and SQL with the real libraries: the rows are the encoder's to the bit."""

from functools import partial

import numpy as np
import pytest

import pmeans
from pmeans import TransferClassifier, arrow
from pmeans.errors import FormatError, InputError, LanguageError
from pmeans.tables.writers import coded_rows

pytestmark = pytest.mark.integrations
TEXTS = ["The dog runs.", "Der Hund rennt.", None, "Le chien court.", ""]
LANGS = ["en", "de", "en", "fr", "de"]
KNOWN = [0, 1, 3, 4]


@pytest.fixture(scope="module")
def rows():
    """The vectors of the texts that are there, (4, dim)."""
    return pmeans.load().encode([TEXTS[i] for i in KNOWN], lang=[LANGS[i] for i in KNOWN])


@pytest.fixture(scope="module")
def classifier():
    texts = ["The dog runs.", "The cat sleeps.", "The soup is good.", "The meal was bad."]
    labels = ["animal", "animal", "food", "food"]
    return TransferClassifier(pmeans.load(), unsure=0.5).fit(texts, labels, lang="en")


@pytest.fixture
def pl():
    return pytest.importorskip("polars", reason="pip install 'pmeans[polars]'")


@pytest.fixture
def sql():
    duckdb = pytest.importorskip("duckdb", reason="pip install 'pmeans[duckdb]'")
    with duckdb.connect() as connection:
        values = "('The dog runs.', 'en'), ('Der Hund rennt.', 'de'), (NULL, 'en'), "
        values += "('Le chien court.', 'fr'), ('', 'de'), ('The dog runs.', NULL)"
        connection.execute(f"CREATE TABLE said AS FROM (VALUES {values}) rows(text, lang)")
        yield connection


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_polars_expression_is_lazy_and_keeps_null(pl, rows, engine):
    from pmeans.integrations.polars import embed

    frame = pl.LazyFrame({"text": TEXTS, "lang": LANGS})
    query = frame.with_columns(embed(lang_column="lang"))
    assert query.collect_schema()["embedding"] == pl.Array(pl.Float32, rows.shape[1])
    found = query.collect(engine=engine)["embedding"]
    assert found.is_null().to_list() == [text is None for text in TEXTS]
    np.testing.assert_array_equal(found.drop_nulls().to_numpy(), rows)


@pytest.mark.parametrize("n", [0, 1, 9_000])
def test_polars_streams_any_number_of_rows_in_their_order(pl, n):
    from pmeans.integrations.polars import embed

    texts = [f"dog {i} cat" if i % 3 else None for i in range(n)]
    frame = pl.LazyFrame({"said": texts}, schema={"said": pl.String})
    query = frame.select(embed(pl.col("said").str.to_uppercase(), lang="en", normalize=True))
    found = query.collect(engine="streaming")["embedding"].drop_nulls()
    known = [text.upper() for text in texts if text]
    wanted = pmeans.load().encode(known, lang="en", normalize_embeddings=True)
    np.testing.assert_array_equal(found.to_numpy().reshape(wanted.shape), wanted)


def test_polars_takes_categories_and_gives_labels(pl, classifier):
    from pmeans.integrations.polars import predict

    texts = pl.Series("text", TEXTS, dtype=pl.Categorical)
    frame = pl.DataFrame([texts, pl.Series("lang", LANGS)])
    found = frame.with_columns(predict(classifier=classifier, lang_column="lang"))
    wanted = classifier.classify([TEXTS[i] for i in KNOWN], lang=[LANGS[i] for i in KNOWN])
    known = found.drop_nulls("predicted").unnest("predicted")
    assert found["predicted"].null_count() == 1
    assert known["label"].to_list() == wanted.labels
    assert known["probability"].to_list() == wanted.probabilities
    assert known.columns == ["text", "lang", "label", "probability", "language", "note"]


def test_polars_says_what_does_not_fit_when_the_expression_is_made_or_run(pl):
    from pmeans.integrations.polars import embed

    with pytest.raises(LanguageError, match="no language 'xx'"):
        embed(lang="xx")
    with pytest.raises(InputError, match="exclude each other"):
        embed(lang="en", lang_column="lang")
    frame = pl.DataFrame({"text": ["dog", "dog"], "n": [1, 2], "lang": ["en", "xx"]})
    with pytest.raises(FormatError, match="'text' holds int64, not strings"):
        frame.with_columns(embed("n", lang="en"))
    with pytest.raises(FormatError, match="row 2: no language 'xx'"):
        frame.with_columns(embed(lang_column="lang"))
    skipped = frame.select(embed(lang_column="lang", on_error="skip"))
    assert skipped["embedding"].is_null().to_list() == [False, True]


def test_duckdb_has_a_function_of_texts_and_languages(sql, rows):
    from pmeans.integrations.duckdb import register_embed

    register_embed(sql)
    found = sql.sql("SELECT pmeans_embed(text, lang) AS v FROM said")
    assert found.types == [f"FLOAT[{rows.shape[1]}]"]
    vectors = [row[0] for row in found.fetchall()]
    assert [vector is None for vector in vectors] == [False, False, True, False, False, True]
    np.testing.assert_array_equal([np.float32(v) for v in vectors if v is not None], rows)


def test_duckdb_finds_languages_and_takes_one_for_all(sql):
    from pmeans.integrations.duckdb import register_embed

    register_embed(sql, name="vector", normalize=True)
    query = "SELECT array_cosine_similarity(vector(text), vector('The dog runs.', 'en')) FROM said"
    found = [row[0] for row in sql.sql(query).fetchall()]
    encoder = pmeans.load()
    rows = encoder.encode([TEXTS[i] for i in (0, 1, 3)], lang=["en", "de", "fr"])
    wanted = encoder.similarity(rows[:1], rows)[0]
    # atol: cosines of float32.
    np.testing.assert_allclose([found[0], found[1], found[3]], wanted, atol=1e-6)


def test_duckdb_runs_it_over_many_rows_in_many_threads(sql):
    from pmeans.integrations.duckdb import register_embed

    register_embed(sql, model=pmeans.load().for_language("en"))
    sql.execute("SET threads = 4")
    sql.execute(
        "CREATE TABLE many AS SELECT i, 'dog ' || i || ' cat' AS text FROM range(9999) r(i)"
    )
    found = sql.sql("SELECT i, pmeans_embed(text) AS v FROM many ORDER BY i").to_arrow_table()
    vectors = found["v"].combine_chunks().flatten().to_numpy().reshape(9999, -1)
    wanted = pmeans.load().encode([f"dog {i} cat" for i in range(9999)], lang="en")
    np.testing.assert_array_equal(vectors, wanted)


def test_duckdb_gives_labels(sql, classifier):
    from pmeans.integrations.duckdb import register_predict

    register_predict(sql, classifier=classifier)
    query = "SELECT p.label, p.probability, p.language FROM (SELECT pmeans_predict(text, lang) p "
    found = sql.sql(f"{query} FROM said) WHERE p IS NOT NULL").fetchall()
    wanted = classifier.classify([TEXTS[i] for i in KNOWN], lang=[LANGS[i] for i in KNOWN])
    langs = [LANGS[i] for i in KNOWN]
    assert found == list(zip(wanted.labels, wanted.probabilities, langs, strict=True))


def test_duckdb_says_what_does_not_fit(sql):
    import duckdb

    from pmeans.integrations.duckdb import register_embed

    register_embed(sql)
    for call, message in (
        ("pmeans_embed(3)", "'text' holds int32, not strings"),
        ("pmeans_embed('dog', 'xx')", "no language 'xx' among de, en, fr"),
        ("pmeans_embed('dog', 'en', 1)", "takes a text and, if it is known, its language"),
    ):
        with pytest.raises(duckdb.InvalidInputException, match=message):
            sql.sql(f"SELECT {call}").fetchall()


DTYPES = {"float16": np.float16, "int8": np.int8}


@pytest.mark.parametrize("dtype", DTYPES)
def test_polars_makes_numbers_of_fewer_bits(pl, dtype):
    from pmeans.integrations.polars import embed

    texts = [TEXTS[i] for i in (0, 1, 3)]
    frame = pl.DataFrame({"text": texts, "lang": ["en", "de", "fr"]})
    found = frame.select(embed(lang_column="lang", dtype=dtype, n_threads=1))["embedding"]
    batch = frame.to_arrow()
    wanted = arrow.embed(batch, lang_column="lang", dtype=dtype)["embedding"].combine_chunks()
    values = found.to_arrow().flatten().to_numpy()
    assert values.dtype == DTYPES[dtype]
    np.testing.assert_array_equal(values, wanted.flatten().to_numpy())


@pytest.mark.parametrize(("dtype", "kind"), [("float16", "FLOAT"), ("int8", "TINYINT")])
def test_duckdb_makes_numbers_of_fewer_bits(sql, dtype, kind):
    from pmeans.integrations.duckdb import register_embed

    register_embed(sql, dtype=dtype, lang="en", n_threads=1)
    found = sql.sql("SELECT pmeans_embed('The dog runs.'), pmeans_embed('Der Hund rennt.', 'de')")
    encoder = pmeans.load()
    rows = encoder.encode(["The dog runs.", "Der Hund rennt."], lang=["en", "de"])
    assert found.types == [f"{kind}[{encoder.dim}]"] * 2
    np.testing.assert_array_equal(np.array(found.fetchall()[0]), coded_rows(rows, dtype))


def test_duckdb_refuses_a_language_that_the_model_does_not_have_at_once(sql):
    from pmeans.integrations.duckdb import register_embed

    with pytest.raises(LanguageError, match="no language 'xx'"):
        register_embed(sql, lang="xx")


def test_a_threshold_of_labels_is_taken_by_every_frame(pl, sql, classifier):
    from pmeans.integrations.duckdb import register_predict
    from pmeans.integrations.polars import predict

    frame = pl.DataFrame({"text": ["The dog runs."]})
    for unsure, labels in ((0.01, 0), (1.0, 1)):
        found = frame.select(predict(classifier=classifier, lang="en", unsure=unsure))
        assert found.unnest("predicted")["label"].null_count() == labels
        register_predict(sql, name=f"p{labels}", classifier=classifier, lang="en", unsure=unsure)
        query = f"SELECT p{labels}('The dog runs.').label IS NULL"
        assert sql.sql(query).fetchall() == [(bool(labels),)]


def test_datasets_map_takes_the_arrow_function(rows):
    datasets = pytest.importorskip("datasets", reason="pip install datasets")
    datasets.disable_progress_bars()
    known = {"text": [TEXTS[i] for i in KNOWN], "lang": [LANGS[i] for i in KNOWN]}
    given = datasets.Dataset.from_dict(known).with_format("arrow")
    embed = partial(arrow.embed, lang_column="lang")
    found = given.map(embed, batched=True, batch_size=3)
    assert found.column_names == ["text", "lang", "embedding"]
    np.testing.assert_array_equal(found.with_format("numpy")[:]["embedding"], rows)


def test_a_column_of_pandas_goes_in_and_comes_out(rows):
    pandas = pytest.importorskip("pandas", reason="pip install pandas")
    import pyarrow

    frame = pandas.DataFrame({"text": TEXTS, "lang": LANGS}).dropna()
    found = pmeans.load().encode(frame["text"], lang=frame["lang"])
    np.testing.assert_array_equal(found, rows)
    table = pyarrow.Table.from_pandas(frame)
    back = arrow.embed(table, lang_column="lang").to_pandas()
    assert list(back.index) == list(frame.index)
    np.testing.assert_array_equal(np.stack(back["embedding"]), rows)
