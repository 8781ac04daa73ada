# SPDX-License-Identifier: Apache-2.0
"""Room for what was read: what was asked for longest ago is read anew."""

from phalanx.release.room import Room


def test_what_fits_is_read_once_and_the_rest_anew():
    """Of three things there is room for two; the last one stays, however large it is."""
    read: list[str] = []

    def reading(word: str) -> str:
        read.append(word)
        return word

    def asked(room: Room[str], words: str) -> str:
        read.clear()
        for word in words.split():
            assert room.get(word, lambda: reading(word)) == word  # noqa: B023 - called at once
        return " ".join(read)

    two = Room[str](4, len)
    assert asked(two, "aa bb aa bb aa") == "aa bb"
    assert asked(two, "cc aa bb") == "cc bb"  # bb made room for cc, and cc for bb
    assert asked(two, "aa bb cc cc") == "cc"
    assert asked(Room[str](0, len), "aaa aaa bb bb aaa") == "aaa bb aaa"
    assert asked(Room[str](float("inf"), len), "a bb ccc a bb ccc") == "a bb ccc"
