# SPDX-License-Identifier: Apache-2.0
"""What is installed under a name: our own parts, and those of other packages, which are found by
entry point and change no file of ours.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from phalanx.errors import ExtraError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Installed(Mapping[str, Any]):
    """The parts of one kind by name, each imported when it is asked for.

    A name of ours is ours: what other packages announce is not looked at for it. So no package
    takes the place of a check, and to find a part of ours costs no look at what is installed.
    ``ours``: by name, ``module:Class``. ``group``: where other packages announce theirs. ``unfit``:
    of a name and its part of another package, why it is none of this kind; empty where it is one.

    >>> Installed("phalanx.nothing", {"half": "fractions:Fraction"})["half"](1, 2)
    Fraction(1, 2)
    """

    def __init__(
        self,
        group: str,
        ours: Mapping[str, str],
        unfit: Callable[[str, Any], str] = lambda name, part: "",  # noqa: ARG005 - a test has both
    ) -> None:
        self.group: Final = group
        self.ours: Final = ours
        self.unfit: Final = unfit

    def __getitem__(self, name: str) -> Any:
        """The part; KeyError where there is none, ExtraError where another package announces one
        that cannot be had.
        """
        if name in self.ours:
            module, _, called = self.ours[name].partition(":")
            return getattr(import_module(module), called)
        points = [point for point in self._announced() if point.name == name]
        if not points:
            raise KeyError(name)
        if len(points) > 1:
            raise ExtraError(
                f"{name!r} is announced for {self.group} by {len(points)} installed packages;"
                " remove all but one of them."
            )
        try:
            part = points[0].load()
        except (Exception, SystemExit) as error:
            raise ExtraError(
                f"{name!r} is announced for {self.group} by an installed package and cannot be"
                f" loaded ({type(error).__name__}); install that package again."
            ) from error
        if why := "it is no dataclass" * (not _is_dataclass(part)) or self.unfit(name, part):
            raise ExtraError(
                f"{name!r} is announced for {self.group} by an installed package and cannot be used"
                f" ({why}); its makers should know (docs/extending.md)."
            )
        return part

    def __contains__(self, name: object) -> bool:
        return name in self.ours or any(point.name == name for point in self._announced())

    def __iter__(self) -> Iterator[str]:
        """Ours in their order, then those of others in the order of their names."""
        yield from self.ours
        yield from self.others

    def __len__(self) -> int:
        return len(self.ours) + len(self.others)

    def loaded(self) -> Iterator[tuple[str, Any]]:
        """Each name with its part, but for those of other packages that cannot be had."""
        for name in self:
            try:
                part = self[name]
            except ExtraError:
                continue
            yield name, part

    @property
    def others(self) -> Sequence[str]:
        """The names that are not ours, ascending."""
        return sorted({point.name for point in self._announced()} - self.ours.keys())

    def points(self) -> "dict[str, EntryPoint]":
        """By name what to load, none of it loaded: of a name that several packages announce, one of
        theirs.
        """
        from importlib.metadata import EntryPoint

        ours = {name: EntryPoint(name, value, self.group) for name, value in self.ours.items()}
        return {point.name: point for point in self._announced()} | ours

    def _announced(self) -> "Sequence[EntryPoint]":
        return _entry_points(self.group, tuple(sys.path))


def _is_dataclass(part: Any) -> bool:
    return isinstance(part, type) and is_dataclass(part)


@lru_cache(maxsize=16)
def _entry_points(group: str, path: tuple[str, ...]) -> "Sequence[EntryPoint]":
    """What the packages on this path announce, each once; looked up once, as it reads a file of
    every package there is.
    """
    from importlib.metadata import entry_points

    del path
    return list({(point.name, point.value): point for point in entry_points(group=group)}.values())
