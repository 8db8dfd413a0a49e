import subprocess
import sys
import types

import pmeans

NAMES = {
    "MapTransformer", "Part", "PmeansError", "PowerMeanEncoder", "PowerMeanVectorizer", "Recipe",
    "TransferClassifier", "WordSpace", "ZNormTransformer", "__version__",
    "dedupe", "label", "load", "mine", "open_space", "read_space", "save", "save_space",
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


def test_public_modules_are_there_after_one_import_and_load_nothing_before():
    program = (
        "import sys, pmeans\n"
        "assert 'numpy' not in sys.modules\n"
        "print(*(getattr(pmeans, name).__name__ for name in pmeans._MODULES))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().split() == [f"pmeans.{name}" for name in pmeans._MODULES]
    assert {*pmeans.__all__, *pmeans._MODULES} == {*dir(pmeans)}
