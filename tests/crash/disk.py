# SPDX-License-Identifier: Apache-2.0
"""What a power failure leaves: a disk that holds what was flushed to it, and nothing that was not.

POSIX promises no more than this: the bytes of a file once the file was flushed, the names in a
folder once the folder was flushed. Most file systems keep more, and in which order they do differs;
so there are two disks, one that keeps as little as it may, and one that keeps every name as it is
but only flushed bytes, which is how a crash leaves empty files under good names.
"""

import shutil
import stat
from dataclasses import dataclass, field
from pathlib import Path

from crash.tracer import Call

FLUSHES = frozenset({"fsync", "fdatasync"})
REMOVES = frozenset({"unlink", "unlinkat", "rmdir"})
RENAMES = frozenset({"rename", "renameat", "renameat2"})


@dataclass
class Node:
    """A file or a folder, whatever it is called: what of it is on the disk."""

    mode: int
    content: bytes = b""
    names: dict[str, "Node"] = field(default_factory=dict)


class Disk:
    """The disk under a folder, all of which is flushed to begin with; told of every call, it knows
    what would be left.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._nodes: dict[int, Node] = {}
        self._flush(root, *root.rglob("*"))

    def watch(self, call: Call) -> None:
        """A call has returned."""
        if call.result < 0:
            return
        if call.name in {"sync", "syncfs"}:
            self._flush(self._root, *self._root.rglob("*"))
        elif call.name in FLUSHES:
            self._flush(*map(Path, call.paths))
        elif (
            call.name in REMOVES | RENAMES
            and (gone := call.nodes[-1]) is not None
            and (stat.S_ISDIR(gone.st_mode) or gone.st_nlink == 1)
        ):
            self._nodes.pop(gone.st_ino, None)  # the next file may get its number

    def fail(self, *, keep_names: bool) -> None:
        """Leave in the folder what is on the disk; with ``keep_names`` every file and folder is
        called what it was called when the power failed.
        """
        if keep_names:
            self._name(self._root, *(p for p in self._root.rglob("*") if p.is_dir()))
        root = self._node(self._root)
        shutil.rmtree(self._root)
        _write(self._root, root)

    def _flush(self, *paths: Path) -> None:
        for path in paths:
            if path.is_relative_to(self._root) and path.exists():
                if path.is_dir():
                    self._name(path)
                else:
                    self._node(path).content = path.read_bytes()

    def _name(self, *folders: Path) -> None:
        for folder in folders:
            self._node(folder).names = {path.name: self._node(path) for path in folder.iterdir()}

    def _node(self, path: Path) -> Node:
        seen = path.stat()
        node = self._nodes.setdefault(seen.st_ino, Node(seen.st_mode))
        node.mode = seen.st_mode
        return node


def _write(path: Path, node: Node) -> None:
    if stat.S_ISDIR(node.mode):
        path.mkdir()
        for name, inner in node.names.items():
            _write(path / name, inner)
    else:
        path.write_bytes(node.content)
    path.chmod(stat.S_IMODE(node.mode))
