"""How much a request may ask for, and how it is told that it was too much.

The limits are the same for every shape of request: texts are counted wherever they stand. Each
refusal names its limit and the value. The command line has the limits as its options, and imports
nothing else of the server for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pmeans import config
from pmeans.config import Help, Range


@dataclass(frozen=True)
class Limits:
    """What one worker process takes.

    Attributes:
        body: Bytes of a request's body.
        texts: Texts of a request.
        characters: Characters of all texts of a request.
        answer: Bytes of an answer.
        requests: Requests that wait for a thread or are worked on by one. Small ones need none.
        bodies: Bytes of the bodies of all requests that arrive, wait or are worked on.
        answers: Bytes of answers that clients have not taken. No work begins while there are more.
        connections: Open connections. Beyond them, only `/health` and `/ready` are answered.
        seconds: For a request to arrive, and again for its answer to be taken: `connections` looks.
        idle: Seconds that a connection waits for its next request.
    """

    body: Annotated[int, Help("Bytes of a request.", "N", name="max_body"), Range(1)] = 4_000_000
    texts: Annotated[int, Help("Texts of a request.", "N", name="max_texts"), Range(1)] = 2048
    characters: Annotated[
        int, Help("Characters of all texts of a request.", "N", name="max_characters"), Range(1)
    ] = 1_000_000
    answer: Annotated[int, Help("Bytes of an answer.", "N", name="max_answer"), Range(1)] = (
        32_000_000
    )
    requests: Annotated[
        int, Help("Requests that a process takes at a time.", "N", name="max_requests"), Range(1)
    ] = 128
    bodies: Annotated[
        int,
        Help("Bytes of requests that a process has at a time.", "N", name="max_bodies"),
        Range(1),
    ] = 64_000_000
    answers: Annotated[
        int,
        Help(
            "Bytes of answers that clients have not taken from a process.", "N", name="max_answers"
        ),
        Range(1),
    ] = 128_000_000
    connections: Annotated[
        int, Help("Connections to a process.", "N", name="max_connections"), Range(1)
    ] = 1000
    seconds: Annotated[
        float,
        Help("For a request to arrive, and its answer to be taken.", "S", name="max_seconds"),
        Range(0.1),
    ] = 30.0
    idle: Annotated[
        float,
        Help("That a connection waits for its next request.", "S", name="keep_alive"),
        Range(0.1),
    ] = 90.0

    def __post_init__(self) -> None:
        config.check(self)

    def check(self, texts: Sequence[str], field: str) -> int:
        """Return the number of characters, or refuse so many texts of a field or so long ones."""
        from pmeans.serve.refusals import RefusedError

        if len(texts) > self.texts:
            why = f"{len(texts):,} texts: a request has at most {self.texts:,}."
            raise RefusedError(422, why, param=field, code="array_above_max_length")
        characters = sum(map(len, texts))
        if characters > self.characters:
            why = f"{characters:,} characters: all texts of a request have at most "
            why += f"{self.characters:,}."
            raise RefusedError(422, why, param=field, code="string_above_max_length")
        return characters

    def check_answer(self, n_bytes: int, of: str) -> None:
        """Refuse an answer of so many bytes; ``of`` says what makes it so long."""
        from pmeans.serve.refusals import RefusedError

        if n_bytes > self.answer:
            why = (
                f"{of} make an answer of up to {n_bytes:,} bytes: it has at most {self.answer:,}. "
                "Send fewer texts in a request."
            )
            raise RefusedError(422, why)
