# SPDX-License-Identifier: Apache-2.0
"""What a class of ours says of itself, read from its source, so that a list of all loads no package of frames."""

import ast
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any


@lru_cache(maxsize=64)
def described(target: str) -> tuple[str, Mapping[str, Any]]:
    """The docstring of ``module:Class`` and those of its class variables that are written out.

    >>> text, variables = described("phalanx.adversaries.series.history:History")
    >>> variables["looks_at"]
    'series'
    """
    module, _, name = target.partition(":")
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(module)
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    written = next(
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name
    )
    variables: dict[str, Any] = {}
    for node in written.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            with suppress(ValueError):
                variables[node.target.id] = ast.literal_eval(node.value)
    return ast.get_docstring(written) or "", variables
