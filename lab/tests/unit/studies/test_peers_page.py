"""What `studies/peers.py` writes: the page of published and of measured figures."""

from pathlib import Path

import pytest

from pmeans.errors import InputError

STUDIES = Path(__file__).parents[3] / "studies"
PUBLISHED = """\
task,split,first,second,model,score,mteb_version
NTREXBitextMining,test,en,de,static-similarity-mrl-multilingual-v1,97.5,1
NTREXBitextMining,test,en,fr,static-similarity-mrl-multilingual-v1,96.04,1
NTREXBitextMining,test,en,de,potion-multilingual-128M,80.0,1
NTREXBitextMining,test,en,de,LaBSE,99.0,1
NTREXBitextMining,test,en,fr,LaBSE,98.0,1
STSBenchmarkMultilingualSTS,dev,en,en,static-similarity-mrl-multilingual-v1,80.0,1
STSBenchmarkMultilingualSTS,dev,en,en,LaBSE,70.0,1
parameters,,,,static-similarity-mrl-multilingual-v1,100000000,2
parameters,,,,potion-multilingual-128M,1000000,2
parameters,,,,LaBSE,500000000,2
"""
NTREX, STS = "NTREXBitextMining", "STSBenchmarkMultilingualSTS"
MEASURED = {
    "machine": {
        "date": "2026-01-01", "processor": "toy", "threads": 2, "load": 0.5, "sentences": 3000,
        "words": 11.2, "versions": {"mteb": "9.9"},
    },
    "models": {
        "ours": {
            "size_mb": 60.2,
            "runs": [
                {"speed": 1000.0, "cpu_us": 9.5, "peak_mb": 108.0},
                {"speed": 5000.0, "cpu_us": 8.1, "peak_mb": 110.0},
                {"speed": 2000.0, "cpu_us": 9.0, "peak_mb": 109.0},
            ],
            "scores": [
                {"task": NTREX, "first": "en", "second": "de", "score": 94.0, "accuracy": 95.0,
                 "own": 95.0, "checked": "accuracy"},
                {"task": NTREX, "first": "en", "second": "fr", "score": 96.01, "accuracy": 97.0,
                 "own": 97.25, "checked": "accuracy"},
                {"task": STS, "first": "en", "second": "en", "score": 82.0,
                 "cosine_spearman": 82.0, "own": 81.5, "checked": "cosine_spearman"},
            ],
        },
    },
}  # fmt: skip


@pytest.fixture
def peers_page(monkeypatch):
    monkeypatch.syspath_prepend(STUDIES)
    import peers_page

    monkeypatch.setattr(peers_page, "CEILING", ("LaBSE",))
    return peers_page


@pytest.fixture
def page(peers_page, tmp_path):
    (tmp_path / "published.csv").write_text(PUBLISHED)
    published = peers_page.read_published(tmp_path / "published.csv")
    return peers_page.page(MEASURED, published)


def rows(page: str, title: str) -> dict[str, list[str]]:
    """Return the cells of the table under a heading, by the row's name."""
    _, _, rest = page.partition(f"## {title}")
    lines = rest.split("\n\n")[1].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {name: values for name, *values in cells}


def test_the_best_static_encoder_of_a_column_is_bold_and_a_missing_score_a_dash(page):
    table = rows(page, "NTREX: a translation found from English, F1")
    assert table["encoder"][:3] == ["de", "fr", "es"]
    assert table["ours"][:3] == ["94.0", "**96.0**", "–"]  # the same as the best, as it is shown
    assert table["static-similarity-mrl-multilingual-v1"][:3] == ["**97.5**", "**96.0**", "–"]
    assert table["potion-multilingual-128M"][:2] == ["80.0", "–"]


def test_transformers_stand_in_a_part_of_their_own_and_are_never_bold(page):
    table = rows(page, "NTREX: a translation found from English, F1")
    assert list(table)[-2:] == ["*the ceiling: transformers*", "LaBSE"]
    assert table["LaBSE"][:2] == ["99.0", "98.0"]


def test_there_is_no_mean_of_a_model_that_lacks_a_language(page, peers_page):
    table = rows(page, "NTREX: a translation found from English, F1")
    assert {values[-1] for values in table.values() if len(values) > 1} >= {"–"}
    keys = peers_page.FROM
    full = {"ours": dict.fromkeys(keys, 50.0) | {keys[0]: 60.0}}
    scores = full | {name: {} for name in (*peers_page.PEERS, "LaBSE")}
    made = peers_page.score_table("NTREX", keys, full, scores)
    assert made.sections[0].rows[0].fields[-1].value == pytest.approx(51.0)


def test_costs_have_the_median_and_the_range_and_sizes_are_of_four_bytes(page):
    table = rows(page, "Size, speed and memory")
    assert table["ours"] == ["60", "2 (1 to 5)", "9.0", "110"]
    assert table["static-similarity-mrl-multilingual-v1"] == ["400", "–", "–", "–"]
    assert table["LaBSE"] == ["2000", "–", "–", "–"]


def test_the_page_opens_with_how_far_a_model_is_behind(page):
    finding = " ".join(page.split("\n\n")[1].split())
    assert finding == (
        "`ours` (60 MB) beside `static-similarity-mrl-multilingual-v1` (400 MB): on NTREX from "
        "English it is 1.8 points behind (mean of 2 languages; lowest in German, 3.5 points "
        "behind), on STS 2.0 points ahead (mean of 1 language; lowest in English, 2.0 points "
        "ahead). Beside the best transformer for each language it is 3.5 points behind on NTREX "
        "and 12.0 points ahead on STS."
    )


def test_the_page_says_how_far_our_measures_are_from_those_of_mteb(page):
    words = " ".join(page.split())
    assert "the accuracy on NTREX differs by 0.2500 points at most" in words
    assert "the correlation on STS by 0.5000" in words


def test_models_are_those_of_the_repository_and_the_folders_that_are_named(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(STUDIES)
    from peers import our_models

    for name in ("next", "wide"):
        (tmp_path / name).mkdir()
    models = our_models([str(tmp_path / "next")])
    assert list(models) == ["default", "wide", "next"]
    assert all((folder / "recipe.toml").is_file() for folder in list(models.values())[:2])
    with pytest.raises(InputError, match="two models are named 'wide'"):
        our_models([str(tmp_path / "wide")])
    with pytest.raises(InputError, match="no folder"):
        our_models([str(tmp_path / "nowhere")])
