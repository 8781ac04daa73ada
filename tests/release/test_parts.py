# SPDX-License-Identifier: Apache-2.0
"""What a manifest says of one part, in whichever order it names files."""

import pytest

from phalanx.release.manifest import PublishedFile, PublishedPart
from phalanx.release.parts import groups_before, part_of


class Said:
    """As much of a manifest as parts look at."""

    def __init__(self, names, parts):
        self.files = [
            PublishedFile.model_construct(name=f"{name}.parquet", sha256="0" * 64) for name in names
        ]
        self.parts = [
            PublishedPart.model_construct(rows=10, groups=n + 1, counterfeits=0)
            for n in range(parts)
        ]

    def model_copy(self, update):
        return update


IN_ORDER = [f"{table}-{n + 1:05}" for n in range(12) for table in ("data", "counterfeits")]


@pytest.mark.parametrize(
    "names",
    [IN_ORDER, sorted(IN_ORDER), IN_ORDER[::-1], [*IN_ORDER[3:], *IN_ORDER[:3]]],
    ids=["by part", "by table", "from the end", "shifted"],
)
def test_a_part_has_its_own_files(names):
    """All of them, and no other's: those of part 1 are not those of part 11."""
    said = Said(names, 12)
    for number in range(12):
        files = [file.name for file in part_of(said, number)["files"]]
        assert sorted(files) == [f"{t}-{number + 1:05}.parquet" for t in ("counterfeits", "data")]
        assert part_of(said, number)["groups"] == number + 1
        assert groups_before(said, number) == sum(range(number + 1))
