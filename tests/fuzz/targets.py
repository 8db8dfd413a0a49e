"""All targets by name; input i goes to number ``i % len(TARGETS)``."""

from functools import partial

from fuzz import corpora, files, indexes, runner, seeds, strings

TARGETS: dict[str, runner.Target] = {
    **{kind: partial(files.vectors, kind=kind) for kind in seeds.vector_files()},
    "store": files.store,
    "znorm": files.znorm,
    "translations": files.translations,
    "recipe": files.recipe,
    "sentences": corpora.sentences,
    "journal": corpora.journal,
    "matrix": indexes.matrix,
    "parquet": indexes.parquet,
    "shards": indexes.shards,
    "tokens": strings.tokens,
    "lines": strings.lines,
    "tables": strings.tables,
}
