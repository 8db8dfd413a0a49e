"""Which tokens are let in: all of a file, in any case of the scheme, and as the file is now."""

import os

import pytest

import pmeans

pytest.importorskip("starlette", reason="pip install 'pmeans[serve]'")

FILE = "# of the page\nfirst\n\n  second token  \n# the next\nthird\n"


@pytest.fixture
def file(tmp_path):
    (tmp_path / "tokens").write_text(FILE)
    return tmp_path / "tokens"


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that stands still until it is set."""
    seconds = [1000.0]
    monkeypatch.setattr("pmeans.serve.access.time.monotonic", lambda: seconds[0])
    return seconds


def tokens(file):
    from pmeans.serve.access import Tokens

    return Tokens(file)


@pytest.mark.parametrize("header", ["Bearer", "bearer", "BEARER", "bEaReR  ", "Bearer    "])
@pytest.mark.parametrize("token", ["first", "second token", "third"])
def test_every_token_of_the_file_is_let_in(file, header, token):
    assert tokens(file).admit(f"{header} {token}".encode())


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "first", "Basic first", "Bearerfirst", "Bearer firs", "Bearer first2",
     "Bearer # of the page", "Bearer # the next", "Bearer FIRST", "Bearer é"],
)  # fmt: skip
def test_nothing_else_is(file, header):
    assert not tokens(file).admit(header.encode())


def test_a_request_may_write_bearer_as_it_likes(start):
    client = start(token="secret")
    for header in ("bearer secret", "BEARER   secret"):
        assert client.get("/info", headers={"Authorization": header}).status_code == 200


def replace(file, text, n=[0]):  # noqa: B006 - counts the versions
    """Write a file anew, with a time of its own."""
    file.write_text(text)
    n[0] += 1
    os.utime(file, (n[0], n[0]))


def test_a_changed_file_is_read_again_within_a_second(file, clock):
    held = tokens(file)
    replace(file, "fourth\n")
    assert held.admit(b"Bearer first")  # not yet
    clock[0] += 1.5
    assert held.admit(b"Bearer fourth")
    assert not held.admit(b"Bearer first")


@pytest.mark.parametrize("text", ["", "# none\n", "é\n", None])
def test_a_file_that_has_no_token_any_more_locks_nobody_out(file, clock, caplog, text):
    held = tokens(file)
    if text is None:
        file.unlink()
    else:
        replace(file, text)
    for _ in range(3):
        clock[0] += 1.5
        assert held.admit(b"Bearer first")
        assert not held.admit(b"Bearer ")
    (record,) = caplog.records  # said once
    assert "stay in force" in record.getMessage()
    replace(file, "new\n")
    clock[0] += 1.5
    assert held.admit(b"Bearer new")


@pytest.mark.parametrize("text", ["", "# none\n", "é\n"])
def test_at_the_start_such_a_file_is_an_error(file, text):
    file.write_text(text)
    with pytest.raises(pmeans.PmeansError, match="token"):
        tokens(file)


def test_all_tokens_are_compared_whichever_is_right(file, monkeypatch):
    held, compared = tokens(file), []
    monkeypatch.setattr(
        "pmeans.serve.access.hmac.compare_digest", lambda a, b: compared.append((a, b)) or a == b
    )
    for token in (b"first", b"third", b"wrong"):
        compared.clear()
        held.admit(b"Bearer " + token)
        assert len(compared) == 3
        assert {len(a) for pair in compared for a in pair} == {32}
