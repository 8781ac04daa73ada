# SPDX-License-Identifier: Apache-2.0
"""numba's compiler, whose compiled kernels are read without preparing to compile.

Before it reads a kernel from its cache, numba gathers all that any kernel could ever be compiled
from, and loads scipy where it is installed. Compiling gathers the same again, so that nothing is
lost where it is left out here. The logger of this module says, once, that a compiler is waited for.
"""

import logging
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

_LOG = logging.getLogger(__name__)
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Kept(FunctionCache):
    """What was compiled of a kernel before."""

    _said: ClassVar[bool] = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for these types; None where it is to be compiled."""
        rtsys.initialize(target_context)  # what a kernel that makes arrays calls
        with self._guard_against_spurious_io_errors():
            if kept := self._load_overload(sig, target_context):  # type: ignore[no-untyped-call]
                return kept
        if not _Kept._said:
            _Kept._said = True
            _LOG.info("the kernels are compiled, once after installation, for some seconds")
        return None


def njit(
    *, cache: bool, nogil: bool, fastmath: bool, **others: Any
) -> Callable[[_Function], _Function]:
    """What makes a kernel of a function, with numba's own options: ``cache``, ``nogil``,
    ``fastmath`` and ``others``.
    """

    def kernel(function: _Function) -> _Function:
        made: _Function = numba.njit(cache=cache, nogil=nogil, fastmath=fastmath, **others)(
            function
        )
        if cache and made is not function:  # NUMBA_DISABLE_JIT leaves it as it is
            made._cache = _Kept(function)  # type: ignore[attr-defined,no-untyped-call]  # noqa: SLF001 - numba has no other place for it
        return made

    return kernel


__all__ = ["njit"]
