"""Attributes of which a person may have several values: a set is kept and published as one text, its values in order with a separator between."""

from typing import Final

SEPARATOR: Final = "; "
"""Stands between the values of a set; no value may hold it."""
