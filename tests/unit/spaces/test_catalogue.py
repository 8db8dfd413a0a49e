from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

from pmeans.errors import InputError
from pmeans.spaces import catalogue
from pmeans.spaces.catalogue import Entry
from pmeans.spaces.library import path_of
from pmeans.spaces.readers import FORMATS

FILLED = [entry.for_language("it") for entry in catalogue.entries()]
each_entry = pytest.mark.parametrize("entry", FILLED, ids=lambda entry: entry.name)


def test_names_are_distinct():
    assert len(set(catalogue.names())) == len(catalogue.names())


@each_entry
def test_a_name_can_be_installed(entry: Entry):
    assert path_of(entry.name).name == f"{entry.name}.safetensors"


@each_entry
def test_urls_are_https_and_lead_to_one_file_name(entry: Entry):
    assert {urlsplit(url).scheme for url in entry.url} == {"https"}
    assert {urlsplit(url).path.rsplit("/", 1)[-1] for url in entry.url} == {entry.file_name}
    assert re.fullmatch(r"[A-Za-z0-9._-]+", entry.file_name)


@each_entry
def test_nothing_is_left_to_fill_in(entry: Entry):
    assert "{" not in repr(entry)


@each_entry
def test_checksums_are_whole(entry: Entry):
    assert re.fullmatch("([0-9a-f]{64})?", entry.sha256)
    assert re.fullmatch("([0-9a-f]{32})?", entry.md5)


@each_entry
def test_an_exact_size_goes_with_a_checksum(entry: Entry):
    assert entry.approximate or (entry.bytes and entry.sha256)


@each_entry
def test_licence_and_homepage_are_stated(entry: Entry):
    assert entry.licence
    assert entry.homepage.startswith("https://")


@each_entry
def test_words_of_several_languages_are_told_apart_by_the_reader(entry: Entry):
    assert (len(entry.languages) > 1) == (entry.format == "mapped")


def test_one_file_name_is_one_file():
    # Downloads lie in one folder under these names.
    files = {(entry.file_name, entry.url, entry.bytes, entry.sha256) for entry in FILLED}
    assert len(files) == len({name for name, *_ in files})


def test_a_name_of_its_own_comes_before_the_template():
    assert catalogue.entry("fasttext-wiki-fr").sha256
    assert not catalogue.entry("fasttext-wiki-it").sha256


def test_a_language_is_filled_in_everywhere():
    entry = catalogue.entry("fasttext-wiki-subwords-als")
    assert entry.name == "fasttext-wiki-subwords-als"
    assert entry.url == ("https://dl.fbaipublicfiles.com/fasttext/vectors-wiki/wiki.als.zip",)
    assert (entry.languages, entry.member) == (("als",), "wiki.als.bin")


@pytest.mark.parametrize("name", ["fasttext-crawl-{lang}", "fasttext-crawl-../x", "glove.6b.50d"])
def test_names_that_are_not_there_are_not_known(name):
    assert not catalogue.knows(name)


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(
        InputError, match=r"no word space 'glove840b'\. Did you mean 'glove-840b'\?"
    ):
        catalogue.entry("glove840b")


def test_every_space_is_in_a_format_that_there_is_a_reader_for():
    assert {entry.format for entry in catalogue.entries()} <= set(FORMATS)
