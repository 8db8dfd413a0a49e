"""Targets that embed files of sentences: damaged input, and the journal of a killed job."""

import gzip
import io
import json
import warnings
from functools import cache, partial
from pathlib import Path
from random import Random

from fuzz import seeds
from fuzz.damage import damaged
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.jobs import embed_to_file
from pmeans.spaces.space import WordSpace
from pmeans.tables import Fields, GuessedEncodingWarning, open_source
from pmeans.tables.journal import State

_ROWS = (("The cat, the cat.", "en"), ("Katze\u2028straße", "de"), ("", "en"))
_SEEDS = {
    "txt": "\n".join(text for text, _ in _ROWS).encode(),
    "csv": b'id,text,lang\n1,"The ""cat"",\nthe cat",en\n2,Katze,de\n',
    "tsv": b"text\tlang\r\n" + "\r\n".join(map("\t".join, _ROWS)).encode(),
    "jsonl": b"".join(json.dumps({"text": t, "lang": c}).encode() + b"\n" for t, c in _ROWS),
}
_JOURNAL = "x.npy.partial.json"


def sentences(rng: Random, folder: Path) -> None:
    """Embed a damaged file of sentences, perhaps a gzipped one."""
    warnings.simplefilter("ignore", GuessedEncodingWarning)
    kind = rng.choice(list(_SEEDS))
    data = damaged(rng, _SEEDS[kind], list(_SEEDS.values()))
    name = f"x.{kind}"
    if rng.random() < 0.2:
        name, data = f"{name}.gz", gzip.compress(data, 1, mtime=0)
        if rng.random() < 0.5:
            data = damaged(rng, data)
    (folder / name).write_bytes(data)
    fields = Fields(
        lang_column=None if kind == "txt" else rng.choice((None, "lang")),
        languages=("en", "de"),
        on_error=rng.choice(("fail", "skip")),
    )
    warnings.simplefilter("ignore", GuessedEncodingWarning)  # damaged UTF-8 may look like another
    out = io.BytesIO()
    state = embed_to_file(_encoder(), open_source(folder / name, fields), out, lang="en")
    assert out.getvalue().count(b"\n") == state.rows


def journal(rng: Random, folder: Path) -> None:
    """Resume a job whose journal is damaged."""
    (folder / "x.txt").write_bytes(_SEEDS["txt"])
    source = open_source(folder / "x.txt")
    embed = partial(
        embed_to_file,
        _encoder(),
        source,
        folder / "x.npy",
        lang="en",
        batch_size=1,
        save_every=0,
    )

    def stop(state: State) -> None:
        if state.rows:
            raise KeyboardInterrupt

    try:
        embed(report=stop)
    except KeyboardInterrupt:
        kept = (folder / _JOURNAL).read_bytes()
        at = kept.index(b'"done"')
        # What comes before is left alone or replaced: it holds the folder's name, and the time.
        start = rng.choice((kept[:at], kept[:at], b'{"begun with": 5, ', b'{"begun with": [], '))
        (folder / _JOURNAL).write_bytes(start + damaged(rng, kept[at:]))
    embed()


@cache
def _encoder() -> PowerMeanEncoder:
    words = {"en": seeds.WORDS[:2], "de": seeds.WORDS[2:]}
    space = WordSpace.from_words("s", words, seeds.VALUES)
    return PowerMeanEncoder(Recipe((Part("s"),), tokenizer="words"), {"s": space})
