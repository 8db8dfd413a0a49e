"""Files for one process alone, and files with checksums."""

import pytest

from pmeans.errors import StorageError
from pmeans.files import CHECKSUMS, altered, locked, write_checksums


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


@pytest.fixture
def checked(tmp_path):
    """Write three files, one of them in a folder, and their checksums."""
    (tmp_path / "inner").mkdir()
    for name in ("a", "b", "inner/c"):
        (tmp_path / name).write_text(f"this is {name}")
    write_checksums(tmp_path)
    return tmp_path


def test_files_with_their_checksums_are_not_altered(checked):
    assert altered(checked) == []


def test_a_file_that_was_changed_removed_or_added_is_altered(checked):
    (checked / "a").write_text("this is A")
    (checked / "inner" / "c").unlink()
    (checked / "d").touch()
    assert altered(checked) == ["a", "d", "inner/c"]


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"a\nb\ninner/c\n"])
def test_with_damaged_checksums_every_file_is_altered(checked, content):
    (checked / CHECKSUMS).write_bytes(content)
    assert {"a", "b", "inner/c"} <= set(altered(checked))


def test_checksums_that_are_not_there_are_altered_themselves(checked):
    (checked / CHECKSUMS).unlink()
    assert altered(checked) == [CHECKSUMS]
