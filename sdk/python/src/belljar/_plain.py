"""Plain data from any value, by the rules that pydantic has for JSON. Runs in the sandbox, where the value is."""

# Values of unknown types are its business.
# pyright: basic

import collections
import dataclasses
import datetime
import decimal
import enum
import pathlib
import types
import uuid
from typing import Any

_LISTS = (list, tuple, set, frozenset, collections.deque, types.GeneratorType)
_TEXTS = (decimal.Decimal, uuid.UUID, pathlib.PurePath)
_TIMES = (datetime.date, datetime.time)


def plain(value: Any) -> Any:
    """What JSON has for it, or its `repr`."""
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, dict):
        return {_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, _LISTS):
        return [plain(item) for item in value]
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return plain(value.tolist())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return _text(value)


def _key(key: Any) -> str:
    if isinstance(key, tuple):
        return ",".join(map(_key, key))
    if key is None or isinstance(key, bool):
        return str(key)
    return key if isinstance(key, str) else str(plain(key))


def _text(value: Any) -> str:
    if isinstance(value, _TEXTS):
        return str(value)
    if isinstance(value, _TIMES):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return _duration(value)
    if isinstance(value, complex):
        return str(value).strip("()")
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            pass
    return repr(value)


def _duration(value: datetime.timedelta) -> str:
    sign, value = ("-", -value) if value < datetime.timedelta(0) else ("", value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours}H" if hours else "", f"{minutes}M" if minutes else ""]
    if seconds or value.microseconds:
        parts.append(f"{seconds + value.microseconds / 1_000_000:f}".rstrip("0").rstrip(".") + "S")
    time = "".join(parts)
    if not time and not value.days:
        return "PT0S"
    return f"{sign}P{f'{value.days}D' if value.days else ''}{f'T{time}' if time else ''}"
