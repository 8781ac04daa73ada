# SPDX-License-Identifier: Apache-2.0
"""numba's compiler, whose compiled kernels are read without preparing to compile.

Before it reads a kernel from its cache, numba gathers all that any kernel could ever be compiled
from, and loads scipy where it is installed. Compiling gathers the same again, so that nothing is
lost where it is left out here. And it goes by the time and size of a kernel's own file, so that a
kernel would outlive a change of what it calls; ours go by what is written in all their files. The
logger of this module says, once, that a compiler is waited for.

What one kernel calls is compiled as a part of it (``parts``), and kernels are called from Python
alone, so that they need no entry for C.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

from numba import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys

from phalanx.kernels.cache import made_of
from phalanx.kernels.parts import Part, Whole

_LOG = logging.getLogger(__name__)
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Written(CompileResultCacheImpl):
    """A kernel as it is written into a file."""

    def reduce(self, data: Any) -> Any:
        """What of it is written: of its parts nothing beside the code but constants that are
        Python's, if there are any. Else numba would load their modules with it, and theirs. And
        no text about its types, which names the folder that it was compiled in.
        """
        *rest, _, reload, parts = super().reduce(data)  # type: ignore[no-untyped-call]
        return (*rest, "", reload, tuple(part for part in parts if part.consts))


class _Kept(FunctionCache):
    """What was compiled of a kernel before."""

    _impl_class = _Written
    _said: ClassVar[bool] = False

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file = IndexDataCacheFile(  # type: ignore[no-untyped-call]
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=made_of(Path(function.__code__.co_filename)),
        )

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


class _Kernel(CPUDispatcher):
    """A function that is compiled for each combination of types that it is called with."""

    def __init__(
        self, py_func: Callable[..., Any], types: dict[str, Any], targetoptions: dict[str, Any]
    ) -> None:
        options = targetoptions | {"no_cfunc_wrapper": True}
        super().__init__(py_func, types, options, pipeline_class=Whole)
        self._part = Part(py_func, types, targetoptions)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """How a kernel calls it that is being compiled: numba asks for the types."""
        return self._part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """The same: numba asks for the code."""
        return self._part.get_overload(sig)


def njit(
    *, cache: bool, nogil: bool, fastmath: bool, **others: Any
) -> Callable[[_Function], _Function]:
    """What makes a kernel of a function, with numba's own options: ``cache``, ``nogil``,
    ``fastmath`` and ``others``.
    """
    options = {"nopython": True, "boundscheck": None, "nogil": nogil, "fastmath": fastmath} | others

    def kernel(function: _Function) -> _Function:
        if config.DISABLE_JIT:  # type: ignore[attr-defined]
            return function
        made = _Kernel(function, {}, options)
        if cache:
            made._cache = _Kept(function)  # type: ignore[attr-defined]  # noqa: SLF001 - numba has no other place for it
        return cast("_Function", made)

    return kernel


__all__ = ["njit"]
