import types
from collections import Counter
from pathlib import Path

import pmeans

NAMES = {
    "MapTransformer", "Part", "PmeansError", "PowerMeanEncoder", "PowerMeanVectorizer", "Recipe",
    "TransferClassifier", "WordSpace", "ZNormTransformer", "__version__",
    "load", "open_space", "read_space", "save", "save_space",
}  # fmt: skip


def test_the_public_names_are_these_and_no_others():
    assert set(pmeans.__all__) == NAMES
    leaked = {
        name
        for name, value in vars(pmeans).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert leaked <= NAMES


def test_every_public_name_is_documented():
    for name in NAMES - {"__version__"}:
        thing = getattr(pmeans, name)
        assert thing.__doc__, name
        for attribute, value in vars(thing).items() if isinstance(thing, type) else ():
            if not attribute.startswith("_") and callable(value):
                assert value.__doc__, f"{name}.{attribute}"


def test_no_two_modules_have_the_same_name():
    modules = Path(pmeans.__file__).parent.rglob("[!_]*.py")
    counted = Counter(path.name for path in modules)
    assert [name for name, n in counted.items() if n > 1] == []
