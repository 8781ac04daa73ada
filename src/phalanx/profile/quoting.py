# SPDX-License-Identifier: Apache-2.0
"""Texts as TOML writes them."""

import json


def quoted(text: str) -> str:
    r"""A TOML basic string; control characters are escaped, so that it may stand in a comment as
    well.

    >>> print(quoted('say "hi"'))
    "say \"hi\""
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
