"""Trainer files that make several spaces alike.

::

    kind = "dictionary"
    name = "glove-{lang}"
    space = "vectors.toml#glove"
    files = ["{data}/en-{lang}.tsv.gz"]
    for = [{ lang = "de", weights = "frequency" }, { lang = "fr" }]

Each table of ``for`` makes a space. ``{lang}`` in the file's strings stands for the table's own
`lang`, and keys that the kind has, such as `lang` and `weights` here, are laid over the file's.
``{data}`` is the folder with the data, in every file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from pmeans.errors import ConfigError, did_you_mean

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def variants(
    content: Mapping[str, Any], keys: Collection[str], where: str, values: dict[str, str]
) -> list[dict[str, Any]]:
    """Return what a trainer file says of each of its spaces.

    Args:
        content: The file, with or without ``for``.
        keys: Those that its kind has; others of a table serve placeholders only.
        where: Names the file in messages.
        values: Further placeholders.
    """
    plain = {key: value for key, value in content.items() if key != "for"}
    tables = content.get("for", [{}])
    if not (isinstance(tables, list) and tables and all(isinstance(t, dict) for t in tables)):
        raise ConfigError(f"{where}: 'for' must be a list of tables, one for each space.")
    used = set(_PLACEHOLDER.findall(repr(content)))
    for key in {key: None for table in tables for key in table}:
        if key not in keys and key not in used:
            raise ConfigError(
                f"{where}: 'for' has {key!r}, which is not a key of the kind, and '{{{key}}}' is "
                f"not used.{did_you_mean(key, [*keys, *used])}"
            )
    return [
        filled(_laid(plain, {k: v for k, v in table.items() if k in keys}), values | table, where)
        for table in tables
    ]


def filled(value: Any, values: Mapping[str, Any], where: str) -> Any:
    """Return a TOML value with its placeholders filled in."""
    if isinstance(value, dict):
        return {key: filled(inner, values, where) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, values, where) for inner in value]

    def stated(match: re.Match[str]) -> str:
        if not isinstance(values.get(match[1]), str):
            known = ", ".join(f"{{{key}}}" for key, each in values.items() if isinstance(each, str))
            raise ConfigError(
                f"{where}: {value!r}: nothing says what {match[0]} is; known: {known or 'none'}."
            )
        return str(values[match[1]])

    return _PLACEHOLDER.sub(stated, value) if isinstance(value, str) else value


def _laid(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one table over another, and tables within them likewise."""
    both = {
        key: _laid(under[key], value) if isinstance(value, dict) and key in under else value
        for key, value in over.items()
    }
    return {**under, **both}
