"""The value of a program's last expression, as text for the host."""

import json
import math

# Who pays: the host's memory, and the caller who reads the result.
MOST_JSON = 256 << 10
MOST_REPR = 64 << 10
MOST_NODES = MOST_JSON // 2
DEEPEST = 100

encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":")).encode


def as_json(value):
    """The value as JSON when it is plain data, else None."""
    try:
        if not is_plain(value):
            return None
        # Raises for what UTF-8 cannot hold, a lone surrogate.
        text = encode(value).encode()
        return text if len(text) <= MOST_JSON else None
    except BaseException:
        return None


def is_plain(value):
    # Exact types: a subclass may answer with anything. Level by level: what contains itself reaches DEEPEST, not the recursion limit.
    level, nodes = [value], 0
    for _ in range(DEEPEST):
        deeper = []
        nodes += len(level)
        if nodes > MOST_NODES:
            return False
        for item in level:
            kind = type(item)
            if kind is int:
                if not -(1 << 63) <= item < 1 << 63:
                    return False
            elif kind is float:
                if not math.isfinite(item):
                    return False
            elif kind is list or kind is tuple:
                deeper += item
            elif kind is dict:
                if not all(type(key) is str for key in item):
                    return False
                deeper += item.values()
            elif kind is not str and kind is not bool and item is not None:
                return False
            if len(deeper) > MOST_NODES:
                return False
        if not deeper:
            return True
        level = deeper
    return False


def as_repr(value):
    """What the interactive interpreter would print, cut; None when it cannot."""
    try:
        # No more than can be kept: the text of a list with a million items takes longer than most programs.
        if type(value) in (list, tuple, str, bytes, bytearray) and len(value) > MOST_REPR:
            value = value[:MOST_REPR]
        return repr(value)[:MOST_REPR].encode(errors="backslashreplace")[:MOST_REPR]
    except BaseException:
        return None
