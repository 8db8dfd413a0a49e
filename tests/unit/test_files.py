"""Files for one process alone."""

import pytest

from pmeans.errors import StorageError
from pmeans.files import locked


def test_a_file_is_made_with_its_folder_and_for_one_holder(tmp_path):
    path = tmp_path / "new" / "file"
    with locked(path):
        assert locked(path) is None
    assert path.exists()


def test_a_file_is_free_again_once_its_holder_closed_it(tmp_path):
    with locked(tmp_path / "file"):
        pass
    with locked(tmp_path / "file") as file:
        assert file.read() == b""


def test_a_path_that_cannot_be_written_is_our_error(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageError, match=r"cannot write '.*file/lock': "):
        locked(tmp_path / "file" / "lock")
