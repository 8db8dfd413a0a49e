"""What the fields of a request may be: each kind reads a value and describes itself.

A kind is a JSON schema with the function that checks by it, so that the description of the server
and what it takes cannot differ. Unknown fields are refused; null is as if the field were absent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import orjson

from pmeans.errors import did_you_mean
from pmeans.kernels import checked_powers
from pmeans.serve.refusals import RefusedError
from pmeans.types import Power, Root

FORM = b"conversion="
"""How the body of the authors' form begins."""

MOST_PARTS = 16
"""Parts that a request chooses, and powers of each, at most."""

MOST_LABELS = 1000
"""Labels that a request describes, at most."""

Schema = dict[str, Any]


@dataclass(frozen=True)
class Field:
    """A field of a request.

    Attributes:
        schema: What it may be, for the description.
        read: Returns the checked value; a ValueError says what is expected.
        required: Whether it must be there; if not, it is left out of the arguments.
    """

    schema: Schema
    read: Callable[[Any], Any]
    required: bool = False


def read_json(body: bytes | str) -> Mapping[str, Any]:
    """Return the object that a body holds."""
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RefusedError(422, f"the body is not valid JSON: {error}.") from None
    if not isinstance(content, dict):
        raise RefusedError(422, f"expected a JSON object, got {_kind(content)}.")
    return content


def read_form(body: bytes) -> Mapping[str, Any]:
    """Return the object in the field ``conversion`` of a form."""
    try:
        form = parse_qs(body.decode("utf-8", "replace"), max_num_fields=8)
    except ValueError:
        raise RefusedError(422, "expected a form with the one field 'conversion'.") from None
    if "conversion" not in form:
        raise RefusedError(422, "expected a form with the field 'conversion', which holds JSON.")
    return read_json(form["conversion"][0])


def read_fields(content: Mapping[str, Any], fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return the checked value of each field that is there."""
    there = {name: value for name, value in content.items() if value is not None}
    for name in there:
        if name not in fields:
            near = did_you_mean(name[:40], fields)
            why = f"no field {name[:40]!r}: there are {', '.join(fields)}.{near}"
            raise RefusedError(422, why, param=name[:40], code="unknown_parameter")
    for name, field in fields.items():
        if field.required and name not in there:
            why = f"the field {name!r} is missing."
            raise RefusedError(422, why, param=name, code="missing_required_parameter")
    checked = {}
    for name, value in there.items():
        try:
            checked[name] = fields[name].read(value)
        except ValueError as error:
            why = f"{name}: {error}"
            raise RefusedError(422, why, param=name, code="invalid_value") from None
    return checked


def _texts(value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list):
        raise ValueError(f"expected a text or a list of texts, got {_kind(value)}.")
    if not texts:
        raise ValueError("expected at least one text, got an empty list.")
    for i, text in enumerate(texts):
        if isinstance(text, int | list) and not isinstance(text, bool):
            raise ValueError(
                "expected texts, got numbers: send the text itself, not its token ids."
            )
        if not isinstance(text, str):
            raise ValueError(f"expected texts, got {_kind(text)} at place {i}.")
    return texts


class OneText(list[str]):
    """A single text that was sent by itself, not as a list of one."""


def _predicted(value: Any) -> list[str]:
    how = "expected a text, or a list with a list of one text for each"
    match value:
        case str() | [str()]:
            return OneText(_texts(value))
        case [str(), *_]:
            raise ValueError(f"{how}: pairs of texts have no label together.")
        case [list(), *_] if all(isinstance(each, list) and len(each) == 1 for each in value):
            return _texts([each[0] for each in value])
    raise ValueError(f"{how}, got {_kind(value)}.")


def _text_list(value: Any) -> list[str]:
    if isinstance(value, str):
        raise ValueError("expected a list of texts, got a string.")
    return _texts(value)


def _labels(value: Any) -> dict[str, list[str]]:
    """Return the descriptions of each label."""
    if isinstance(value, list) and len(set(map(repr, value))) == len(value):
        value = dict(zip(_text_list(value), value, strict=True))
    if not isinstance(value, dict) or not 2 <= len(value) <= MOST_LABELS:
        raise ValueError(
            f"expected 2 to {MOST_LABELS:,} different names in a list, or an object with "
            f"descriptions by name, got {_kind(value)}."
        )
    return {name: _texts(texts) for name, texts in value.items()}


def _compared(value: Any) -> list[str]:
    names = ("source_sentence", "sentences")
    if not isinstance(value, dict) or set(value) != set(names):
        raise ValueError("expected an object with source_sentence and sentences, and no other.")
    if not isinstance(value["source_sentence"], str):
        raise ValueError(f"source_sentence: expected a text, got {_kind(value[names[0]])}.")
    return [value["source_sentence"], *_texts(value["sentences"])]


def _lang(value: Any) -> str | list[str]:
    codes = value if isinstance(value, list) else [value]
    for code in codes:
        if not isinstance(code, str) or not 0 < len(code) <= 35:
            raise ValueError("expected a language, as 'de' or 'German', or a list of them.")
    return value


def _types(value: Any) -> list[tuple[str, tuple[float, ...]]]:
    how = f"expected pairs such as ['bivcd', ['mean', 'max']], of {', '.join(OPERATIONS)}"
    if not isinstance(value, list) or not value:
        raise ValueError(f"{how}.")
    types = []
    for pair in value:
        match pair:
            case [str(name), [_, *_] as chosen]:
                if not all(isinstance(each, str) and each in OPERATIONS for each in chosen):
                    raise ValueError(f"{how}.")
                types.append((name, tuple(OPERATIONS[each] for each in chosen)))
            case _:
                raise ValueError(f"{how}.")
    if len({name for name, _ in types}) < len(types) or any(len({*p}) < len(p) for _, p in types):
        raise ValueError("the same word space or operation is named twice.")
    return types


def _parts(value: Any) -> list[tuple[str, tuple[Power, ...]]]:
    how = f"expected 1 to {MOST_PARTS} pairs such as ['taught', [1, 'inf']]"
    if not isinstance(value, list) or not 0 < len(value) <= MOST_PARTS:
        raise ValueError(f"{how}.")
    parts = []
    for pair in value:
        match pair:
            case [str(name), [_, *_] as powers] if len(powers) <= MOST_PARTS:
                read = tuple(
                    tuple(map(_power, each)) if isinstance(each, list) else _power(each)
                    for each in powers
                )
                root: Root = "shifted" if any(isinstance(p, tuple) for p in read) else "signed"
                parts.append((name, checked_powers(read, root)))
            case _:
                raise ValueError(f"{how}, of a word space and 1 to {MOST_PARTS} powers.")
    return parts


def _power(value: Any) -> float:
    if value in ("inf", "-inf") or (isinstance(value, int | float) and not isinstance(value, bool)):
        return float(value)
    raise ValueError(f"expected a power, a number or 'inf' or '-inf', got {_shown(value)}.")


def choice(*names: str) -> Field:
    """Return a field that is one of some words."""

    def read(value: Any) -> str:
        if value not in names:
            raise ValueError(f"expected {' or '.join(map(repr, names))}, got {_shown(value)}.")
        return str(value)

    return Field({"type": "string", "enum": [*names]}, read)


def number(least: int, most: int | None = None) -> Field:
    """Return a field that is a whole number within bounds."""
    bounds = {"minimum": least} | ({} if most is None else {"maximum": most})
    said = f"of at least {least}" if most is None else f"from {least} to {most}"

    def read(value: Any) -> int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not least <= value <= (math.inf if most is None else most):
            raise ValueError(f"expected a whole number {said}, got {_shown(value)}.")
        return int(value)

    return Field({"type": "integer", **bounds}, read)


def record(**fields: Field) -> Field:
    """Return a field that is an object with some fields of its own, each of which may be absent."""
    schema = {
        "type": "object",
        "properties": {name: field.schema for name, field in fields.items()},
        "additionalProperties": False,
    }

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError(f"expected an object, got {_kind(value)}.")
        try:
            return read_fields(value, fields)
        except RefusedError as error:
            raise ValueError(str(error)) from None

    return Field(schema, read)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, got {_shown(value)}.")
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected a text, got {_kind(value)}.")
    return value


def _word(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 1000:
        raise ValueError("expected a string of at most 1000 characters.")
    return value


def _anything(value: Any) -> Any:
    return value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return names.get(type(value), "nothing" if value is None else "a number")


def _shown(value: Any) -> str:
    return repr(value)[:40] if isinstance(value, str | int | float) else _kind(value)


OPERATIONS = {"mean": 1.0, "max": math.inf, "min": -math.inf, "p_mean_2": 2.0, "p_mean_3": 3.0}
"""What the authors' program calls power means."""

_STRING: Schema = {"type": "string"}
_LIST: Schema = {"type": "array", "items": _STRING, "minItems": 1}
_CODE: Schema = {"type": "string", "minLength": 1, "maxLength": 35}

TEXTS = Field({"oneOf": [_STRING, _LIST]}, _texts, required=True)
LANG = Field({"oneOf": [_CODE, {"type": "array", "items": _CODE}]}, _lang)
BOOLEAN = Field({"type": "boolean"}, _boolean)
WORD = Field({"type": "string", "maxLength": 1000}, _word)
TEXT = Field(_STRING, _string, required=True)
TEXT_LIST = Field(_LIST, _text_list, required=True)
PREDICTED = Field(
    {
        "oneOf": [
            _STRING,
            {**_LIST, "maxItems": 1},
            {"type": "array", "items": {**_LIST, "maxItems": 1}, "minItems": 1},
        ]
    },
    _predicted,
    required=True,
)
IGNORED = Field({"type": "object"}, _anything)
LABELS = Field(
    {
        "oneOf": [
            {
                "type": "array",
                "items": _STRING,
                "minItems": 2,
                "maxItems": MOST_LABELS,
                "uniqueItems": True,
            },
            {
                "type": "object",
                "minProperties": 2,
                "maxProperties": MOST_LABELS,
                "additionalProperties": {"oneOf": [_STRING, _LIST]},
            },
        ]
    },
    _labels,
    required=True,
)
COMPARED = Field(
    {
        "type": "object",
        "required": ["source_sentence", "sentences"],
        "properties": {"source_sentence": _STRING, "sentences": _LIST},
        "additionalProperties": False,
    },
    _compared,
    required=True,
)
TYPES = Field(
    {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "items": {"oneOf": [_STRING, {"type": "array", "items": {"enum": [*OPERATIONS]}}]},
        },
    },
    _types,
    required=True,
)
PARTS = Field(
    {
        "type": "array",
        "minItems": 1,
        "maxItems": MOST_PARTS,
        "items": {
            "type": "array",
            "minItems": 2,
            "maxItems": 2,
            "prefixItems": [
                _STRING,
                {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MOST_PARTS,
                    "uniqueItems": True,
                    "items": {"oneOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]},
                },
            ],
        },
    },
    _parts,
)
