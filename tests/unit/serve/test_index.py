"""An index behind the server: opened at once, texts of hits alone, the right model."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pmeans
from pmeans import jobs
from pmeans.errors import InputError

pytest.importorskip("starlette", reason="pip install 'pmeans[serve]'")
pytest.importorskip("usearch", reason="pip install 'pmeans[search]'")
WORDS = ["good", "great", "bad", "awful", "dog", "soup"]
TEXTS = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS]


@pytest.fixture(scope="module")
def index(folder, tmp_path_factory):
    """Write an index in three shards, made with the model that is served."""
    place = tmp_path_factory.mktemp("shards")
    (place / "in").mkdir()
    for i in range(3):
        pq.write_table(pa.table({"text": TEXTS[72 * i : 72 * (i + 1)]}), place / f"in/{i}.parquet")
    model = str(folder / "model")
    for_all = {"engine": jobs.here, "restart": True}
    jobs.embed_parts(str(place / "in"), place / "v", model=model, lang="en", **for_all)
    jobs.index_parts(str(place / "v"), place / "index", shards=3, **for_all)
    return place / "index"


def search(client, text, k=3):
    answer = client.post("/search", json={"inputs": [text], "lang": "en", "k": k})
    assert answer.status_code == 200, answer.text
    return answer.json()[0]


def texts_in_order(index):
    return [
        text
        for path in sorted((index.parent / "v").glob("*.parquet"))
        for text in pq.read_table(path)["text"].to_pylist()
    ]


@pytest.mark.parametrize("approximate", [False, True])
def test_an_index_in_shards_is_served_with_the_texts_of_its_rows(start, index, approximate):
    client = start(index=str(index), texts=None, approximate=approximate)
    known = texts_in_order(index)
    for asked in ("bad awful soup", "good dog", "dog"):
        hits = search(client, asked)
        assert [hit["text"] for hit in hits] == [known[hit["row"]] for hit in hits]
    assert hits[0]["text"] == "dog dog dog"
    assert client.get("/info").json()["index"] == {"rows": len(TEXTS), "texts": True}


def test_opening_an_index_reads_no_text(start, index, monkeypatch):
    def never(*args):
        raise AssertionError("a text is read")

    monkeypatch.setattr("pmeans.search.texts.ParquetTexts._read", never)
    client = start(index=str(index), texts=None)
    monkeypatch.undo()
    assert search(client, "dog", 1)[0]["text"] == "dog dog dog"


def test_the_graphs_are_what_an_approximate_search_asks(start, index, monkeypatch):
    def never(*args):
        raise AssertionError("all rows are looked at")

    client = start(index=str(index), texts=None, approximate=True)
    monkeypatch.setattr("pmeans.serve.service.top_k", never)
    assert search(client, "dog", 1)[0]["text"] == "dog dog dog"


def test_eight_clients_get_the_answers_of_one(start, index):
    asked = [(text, 1 + i % 7) for i, text in enumerate(TEXTS[::4])]
    # Entered, so that all clients share one event loop, as a server's do.
    with start(index=str(index), texts=None, approximate=True) as client:
        alone = [search(client, *one) for one in asked]
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(lambda one: search(client, *one), asked)) == alone


def test_an_index_of_another_model_is_refused_by_its_name(start, index, folder, tmp_path):
    encoder = pmeans.load(folder / "model")
    space = encoder.spaces["words"]
    other = pmeans.WordSpace.from_words(
        "words", {lang: [*space.words(lang)] for lang in space.languages}, -np.array(space.matrix)
    )
    pmeans.save(pmeans.PowerMeanEncoder(encoder.recipe, {"words": other}), tmp_path / "other")
    with pytest.raises(
        InputError, match=rf"'tiny' \({encoder.fingerprint()}\), and this is 'tiny'"
    ):
        start(model=str(tmp_path / "other"), classifier=None, index=str(index), texts=None)


def test_a_damaged_index_is_refused_at_the_start(start, index, tmp_path):
    shutil.copytree(index, tmp_path / "index")
    graph = next((tmp_path / "index").glob("*.usearch"))
    graph.write_bytes(graph.read_bytes()[:-1])
    with pytest.raises(pmeans.PmeansError, match="is damaged: remove it"):
        start(index=str(tmp_path / "index"), texts=None, approximate=True)


@pytest.mark.parametrize("option", [{"texts": "a.txt"}, {"text": "a"}, {"approximate": True}])
def test_what_belongs_to_an_index_is_refused_without_one(start, option):
    with pytest.raises(InputError, match=f"{next(iter(option))}= belongs to an index"):
        start(**{"index": None, "texts": None, **option})
