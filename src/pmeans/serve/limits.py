"""How much a request may ask for, and how it is told that it was too much.

The limits are the same for every shape of request: texts are counted wherever they stand. Each
refusal names its limit and the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pmeans.serve.refusals import RefusedError


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

    body: int = 4_000_000
    texts: int = 2048
    characters: int = 1_000_000
    answer: int = 32_000_000
    requests: int = 128
    bodies: int = 64_000_000
    answers: int = 128_000_000
    connections: int = 1000
    seconds: float = 30.0
    idle: float = 90.0

    def check(self, texts: Sequence[str], field: str) -> int:
        """Return the number of characters, or refuse so many texts of a field or so long ones."""
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
        if n_bytes > self.answer:
            why = (
                f"{of} make an answer of up to {n_bytes:,} bytes: it has at most {self.answer:,}. "
                "Send fewer texts in a request."
            )
            raise RefusedError(422, why)
