"""Dataclasses to JSON and back. Reading checks every field against its declared type, and says which one is wrong."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from typing import Any, TypeVar

from .errors import PlanError

__all__ = ["from_json", "to_json"]

T = TypeVar("T")

_INT64 = 1 << 63
_DEPTH = 32
_NAMED_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def to_json(value: Any) -> str:
    """Stable text: equal values have equal bytes."""
    return json.dumps(_plain(value), indent=1, sort_keys=True, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        fields = {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"kind": type(value).__name__, **fields}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


def from_json(expected: type[T], text: str, where: str) -> T:
    """The dataclass that `text` describes. Raises PlanError naming the field."""
    try:
        value = json.loads(text, object_pairs_hook=functools.partial(_object, where), parse_constant=_no_constant)
    except PlanError:
        raise
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{where}: not JSON: {error}") from None
    result: T = _read(expected, value, where, 0)
    return result


def _object(where: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise PlanError(f"{where}: an object has the same key twice: {', '.join(sorted(key for key, _ in pairs))}")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _read(expected: Any, value: Any, where: str, depth: int) -> Any:
    if depth > _DEPTH:
        raise PlanError(f"{where}: nested more than {_DEPTH} deep")
    if dataclasses.is_dataclass(expected):
        return _read_fields(typing.cast(type, expected), value, where, depth)
    origin = typing.get_origin(expected)
    if origin is tuple:
        if not isinstance(value, list):
            raise PlanError.at(where, "a list", value)
        item = typing.get_args(expected)[0]
        return tuple(_read(item, entry, f"{where}[{place}]", depth + 1) for place, entry in enumerate(value))
    if origin in (types.UnionType, typing.Union):
        return _read_choice(typing.get_args(expected), value, where, depth)
    return _read_plain(expected, value, where)


@functools.cache
def _fields(expected: type) -> dict[str, Any]:
    return typing.get_type_hints(expected)


def _read_fields(expected: type, value: Any, where: str, depth: int) -> Any:
    if not isinstance(value, dict):
        raise PlanError.at(where, f"an object ({expected.__name__})", value)
    fields = _fields(expected)
    if value.get("kind") != expected.__name__:
        raise PlanError.at(f"{where}.kind", repr(expected.__name__), value.get("kind"))
    missing, unknown = fields.keys() - value.keys(), value.keys() - fields.keys() - {"kind"}
    if missing or unknown:
        what = f"no field {min(missing)!r}" if missing else f"unknown field {min(unknown)!r}"
        raise PlanError(f"{where}: {what}; {expected.__name__} has {', '.join(fields)}")
    return expected(**{name: _read(kind, value[name], f"{where}.{name}", depth + 1) for name, kind in fields.items()})


def _read_choice(choices: tuple[Any, ...], value: Any, where: str, depth: int) -> Any:
    plain = [choice for choice in choices if not dataclasses.is_dataclass(choice)]
    if isinstance(value, dict) and value.keys() != {"float"}:
        named = {_name(choice): choice for choice in choices if dataclasses.is_dataclass(choice)}
        kind = value.get("kind")
        if not isinstance(kind, str) or kind not in named:
            raise PlanError.at(f"{where}.kind", f"one of {', '.join(named)}", kind)
        return _read(named[kind], value, where, depth)
    for choice in plain:
        if _fits(choice, value):
            return _read_plain(choice, value, where)
    raise PlanError.at(where, " or ".join(_name(choice) for choice in choices), value)


def _name(choice: Any) -> str:
    return "null" if choice is type(None) else str(choice.__name__)


def _fits(choice: Any, value: Any) -> bool:
    if choice is float and isinstance(value, dict):
        return isinstance(value.get("float"), str) and value["float"] in _NAMED_FLOATS
    return type(value) is choice


def _read_plain(expected: Any, value: Any, where: str) -> Any:
    if not _fits(expected, value):
        raise PlanError.at(where, _name(expected), value)
    if isinstance(value, dict):
        return _NAMED_FLOATS[value["float"]]
    if expected is int and not -_INT64 <= value < _INT64:
        raise PlanError.at(where, "an integer of 64 bits", value)
    return value
