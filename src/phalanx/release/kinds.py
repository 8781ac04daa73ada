# SPDX-License-Identifier: Apache-2.0
"""Forms by the word in the manifest: ours, and those of other packages."""

from collections.abc import Mapping
from typing import Final

from phalanx.errors import ExtraError, ReleaseError
from phalanx.installed import Installed
from phalanx.release.form import Form

OURS: Final[Mapping[str, str]] = {
    "generalized": "phalanx.release.forms.generalized:Generalized",
    "sliced": "phalanx.release.forms.sliced:Sliced",
    "bucketized": "phalanx.release.forms.bucketized:Bucketized",
    "perturbed": "phalanx.release.forms.perturbed:Perturbed",
    "recoded": "phalanx.release.forms.recoded:Recoded",
}
"""What ``pyproject.toml`` lists too."""


def _unfit(name: str, cls: type) -> str:
    """Why a class of another package is no form of this name."""
    if not issubclass(cls, Form):
        return "it is not derived from Form"
    called = getattr(cls, "kind", None)
    return "" if called == name else f"it calls itself {called!r}"


KNOWN: Final = Installed("phalanx.forms", OURS, _unfit)


def form_class(kind: str) -> type[Form]:
    """The form of a kind; ReleaseError where nothing that is installed reads it.

    >>> form_class("sliced").__name__
    'Sliced'
    """
    try:
        form: type[Form] = KNOWN[kind]
    except KeyError:
        raise ReleaseError(
            f"the manifest says {kind!r}, a form that nothing installed here reads; install the"
            " package that it was made with."
        ) from None
    except ExtraError as error:
        raise ReleaseError(f"the form of the release cannot be read: {error}") from None
    return form
