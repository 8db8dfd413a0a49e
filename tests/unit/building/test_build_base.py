"""Build files that are based on another one."""

import pytest

from pmeans.building.build_file import Build
from pmeans.errors import ConfigError, StorageError

BASE = """
name = "the base"
common = "texts+wordfreq"

[[texts]]
path = "pairs.tsv"
first = "en"
second = "de"

[[materials]]
name = "by hand"
licence = "CC0"
use = "everything"
"""
OWN = """
base = "base.toml"

[[parts]]
space = "toy"

[[texts]]
path = "more.tsv"
first = "en"
second = "fr"
"""


@pytest.fixture
def read(tmp_path):
    def read(content, name="small.toml"):
        (tmp_path / "base.toml").write_text(BASE)
        (tmp_path / name).write_text(content)
        return Build.from_toml(tmp_path / name)

    return read


def test_a_file_has_the_keys_of_its_base_that_it_lacks(read):
    build = read(OWN)
    assert build.common == "texts+wordfreq"
    assert [each.name for each in build.materials] == ["by hand"]


def test_its_own_keys_replace_those_of_the_base_whole(read):
    assert [each.second for each in read(OWN).texts] == ["fr"]


def test_its_name_is_that_of_its_file_unless_it_says_so(read):
    assert read(OWN).name == "small"
    assert read('name = "chosen"' + OWN).name == "chosen"


def test_a_base_may_have_a_base(read, tmp_path):
    read(OWN, "middle.toml")
    build = read('base = "middle.toml"\ntokenizer = "whitespace"\n')
    assert (build.name, build.tokenizer, build.common) == ("small", "whitespace", "texts+wordfreq")


@pytest.mark.parametrize("base", ['"small.toml"', '"../base.toml"', '"/base.toml"', "1", '""'])
def test_a_base_that_cannot_be_one_is_refused(read, base):
    with pytest.raises(ConfigError, match="base"):
        read(OWN.replace('"base.toml"', base))


def test_a_circle_of_bases_is_refused(read, tmp_path):
    (tmp_path / "other.toml").write_text('base = "small.toml"\n')
    with pytest.raises(ConfigError, match="based on itself"):
        read(OWN.replace("base.toml", "other.toml"))


def test_a_base_that_is_missing_is_named(read):
    with pytest.raises(StorageError, match=r"gone\.toml"):
        read(OWN.replace("base.toml", "gone.toml"))
