"""Everything pmeans raises for what a user can cause.

::

    PmeansError
    ├── InputError       an argument: wrong type, wrong shape, unknown name   (also ValueError)
    ├── ConfigError      a recipe or another TOML file                        (also ValueError)
    ├── FormatError      a vector file or a store that is not what it claims  (also ValueError)
    ├── LanguageError    a language that no part of the encoder covers        (also LookupError)
    ├── NotFittedError   z-norm without statistics, a classifier without fit   (also ValueError
    │                                                                          and AttributeError)
    └── StorageError     a file that cannot be found, read, written, fetched  (also OSError)

Each message says what is wrong, shows the value, and names the next step. A bug of ours
stays an ordinary Python exception, so that it is never mistaken for a user's mistake.
"""

from __future__ import annotations

import contextlib
import difflib
import operator
from collections.abc import Iterable, Iterator
from typing import SupportsIndex

_LONGEST_NAME = 200


class PmeansError(Exception):
    """Base of every error pmeans raises on purpose."""


class InputError(PmeansError, ValueError):
    """An argument has the wrong type, shape or name."""


class ConfigError(PmeansError, ValueError):
    """A recipe or another configuration file is not valid."""


class FormatError(PmeansError, ValueError):
    """A vector file or a store is damaged, or not in the format it claims."""


class LanguageError(PmeansError, LookupError):
    """A language that the space or the encoder does not cover."""


class NotFittedError(PmeansError, ValueError, AttributeError):
    """Something is to be used that has to be fitted first: a z-norm, a classifier.

    It is an `AttributeError` so that ``hasattr(classifier, "classes_")`` tells whether it is.
    """


class StorageError(PmeansError, OSError):
    """A file cannot be found, read, written or fetched."""


class SlowKernelsWarning(UserWarning):
    """The native core is not there, and NumPy does its work, correctly but slowly."""


class MissingTextsWarning(UserWarning):
    """Files that an index was made of are gone: their rows are found without a text."""


@contextlib.contextmanager
def naming(where: str) -> Iterator[None]:
    """Begin what our errors say of values with a place, such as a file, if they do not yet."""
    try:
        yield
    except (InputError, ConfigError, FormatError) as error:
        if str(error).startswith(where):
            raise
        raise type(error)(f"{where}: {error}") from error


def shown(value: object, length: int = 60) -> str:
    """Return a value as Python writes it, cut to about so many characters for a message."""
    if isinstance(value, str | bytes) and len(value) > length:
        written = repr(value[:length])
        return f"{written[:-1]}…{written[-1]}"
    try:
        written = repr(value)
    except ValueError:  # Python does not spell out whole numbers of thousands of digits
        return "a number with too many digits to show"
    return written if len(written) <= length + 2 else f"{written[:length]}…"


def check_seed(seed: object) -> None:
    """Refuse what is no seed: it is a whole number from 0 to 2^62, for every generator alike."""
    number = operator.index(seed) if isinstance(seed, SupportsIndex) else -1
    if isinstance(seed, bool) or not 0 <= number < 2**62:
        raise InputError(f"the seed must be a whole number from 0 to 2^62, not {shown(seed)}.")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the nearest known name and a leading space, or nothing."""
    if len(name) > _LONGEST_NAME:  # nobody mistyped that
        return ""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, ``1 row`` or ``2,000 rows``; ``plural`` where -s is wrong."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
