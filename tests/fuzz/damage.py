# SPDX-License-Identifier: Apache-2.0
"""Ways to spoil bytes, texts and numbers."""

import math
import random
import struct

from fuzz.scene import PASSWORD

TEXTS = [
    "", " ", "*", "^.*$", "^", ".*", "a\0b", '"', "'", "''", "\\", "\n", "a\nb", "\r\n", "\t", "é", "é", "\u202e", "\ufeff", "🧨", "\uff41ge", "x" * 5000, "%s%n", "{0}", "{who}",
    "[red]", "[/]", "nan", "NaN", "inf", "-inf", "-0", "1e999", "1e-999", "9" * 400, "0x10", "1_000", "1/0", "1/3", "1e400000", "9e9999999", "true", "null", "None", "--", "-", "-q",
    "--json", "=1+1", "; drop table series", "../x", "./", ".", "group", "row", "bucket", "count", "age", "age_low", "who", "2024-02-30", "9999-12-31", "0001-01-01", "-9999-01-01",
    f"postgresql://ann:{PASSWORD}@127.0.0.1:1/db", f"postgresql:/ann:{PASSWORD}@127.0.0.1:1/db", f"postgres:ann:{PASSWORD}@127.0.0.1:1", f"postgresql//ann:{PASSWORD}@x",
    f"POSTGRESQL://ann:{PASSWORD}@127.0.0.1:1/db?x=[", f"postgresql://ann:p@{PASSWORD}@127.0.0.1:1/db", f"postgresql://ann:{PASSWORD}@[::1/db", f"postgresql://127.0.0.1:1/db?password={PASSWORD}",
    f"sqlite:///ann:{PASSWORD}@x", f"mysql://ann:{PASSWORD}@127.0.0.1/db", f"postgresql://ann:{PASSWORD}@127.0.0.1:99999999/db", f"host=127.0.0.1 port=1 password={PASSWORD}",
]  # fmt: skip
"""Texts that mean something to somebody."""

NAMES = [text for text in TEXTS if PASSWORD not in text]
"""Those that may be names of columns, which are said."""

NUMBERS = [
    0, -1, 1, 2, 3, 7, 255, 256, 65536, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1, 10**10, 10**18, 10**30, 10**100, 10**400, -(10**10),
    0.0, -0.0, 0.1, 0.5, 0.999999999999, 1.0, 1.5, 2.0, 1e-9, 1e-300, 5e-324, 1e16, 1e19, 1e300, 1.7976931348623157e308, math.nan, math.inf, -math.inf,
]  # fmt: skip
"""Numbers at the ends of what somebody holds."""


def spoiled(content: bytes, fate: random.Random) -> bytes:
    """A copy in which a few bytes are not what they were."""
    changed = bytearray(content)
    for _ in range(fate.choice([1, 1, 2, 5])):
        if not changed:
            return fate.randbytes(fate.randrange(50))
        at = _place(len(changed), fate)
        match fate.randrange(9):
            case 0:
                changed[at] ^= 1 << fate.randrange(8)
            case 1:
                changed[at] = fate.choice([0, 1, 0x7F, 0x80, 0xFF, fate.randrange(256)])
            case 2:
                del changed[at:]
            case 3:
                del changed[at : at + fate.choice([1, 2, 8, 100])]
            case 4:
                changed[at:at] = fate.randbytes(fate.choice([1, 4, 100]))
            case 5:
                other = _place(len(changed), fate)
                size = fate.choice([4, 16, 64, 512])
                changed[at : at + size] = changed[other : other + size]
            case 6:
                extreme = fate.choice([0, 1, 0x7F, 2**31 - 1, 2**31, 2**32 - 1])
                changed[at : at + 4] = struct.pack(fate.choice("<>") + "I", extreme)
            case 7:
                changed[at : at + 8] = struct.pack(
                    fate.choice("<>") + "Q",
                    fate.choice([0, 2**31, 2**40, 2**62, 2**63 - 1, 2**64 - 1]),
                )
            case _:
                changed[at : at + 64] = fate.randbytes(len(changed[at : at + 64]))
    return bytes(changed)


def _place(size: int, fate: random.Random) -> int:
    """Somewhere, and as often near the beginning or the end, where formats describe themselves."""
    match fate.randrange(3):
        case 0:
            return fate.randrange(size)
        case 1:
            return min(size - 1, fate.randrange(64))
        case _:
            return max(0, size - 1 - fate.randrange(min(size, 600)))


def scalar(fate: random.Random) -> object:
    """A text, a number, a truth."""
    return fate.choice(
        [
            fate.choice(TEXTS),
            fate.choice(TEXTS),
            fate.choice(NUMBERS),
            fate.choice(NUMBERS),
            True,
            False,
        ]
    )


def any_json(fate: random.Random, depth: int = 0) -> object:
    """Something that JSON can say."""
    match fate.randrange(8 if depth < 3 else 5):
        case 0:
            return None
        case 5 | 6:
            return [any_json(fate, depth + 1) for _ in range(fate.randrange(4))]
        case 7:
            return {
                str(fate.choice(TEXTS)): any_json(fate, depth + 1) for _ in range(fate.randrange(3))
            }
        case _:
            return scalar(fate)


def toml(said: object, fate: random.Random) -> str:
    """A value as TOML writes it."""
    match said:
        case bool():
            return str(said).lower()
        case int() | float():
            return repr(said)
        case str():
            escaped = "".join(
                f"\\u{ord(c):04x}" if ord(c) < 32 else "\\" + c if c in '"\\' else c for c in said
            )
            return f'"{escaped}"'
        case list():
            return f"[{', '.join(toml(each, fate) for each in said)}]"
        case dict():
            return f"{{ {', '.join(f'{toml(str(key), fate)} = {toml(each, fate)}' for key, each in said.items())} }}"
        case _:
            return fate.choice(
                ["1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "0x7f", "1_0", "''", '"""\n"""']
            )
