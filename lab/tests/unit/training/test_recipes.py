"""The trainer files of the laboratory, and the spaces of the product's files that they name."""

from pathlib import Path

import pytest

from pmeans.building.graph import Graph

FILES = sorted((Path(__file__).parents[3] / "recipes" / "spaces").glob("*.toml"))


@pytest.mark.data
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_and_all_that_it_names_is_there(path, data_dir, tmp_path):
    assert Graph(data_dir, tmp_path).targets([str(path)])


def test_there_are_files():
    assert len(FILES) > 5
