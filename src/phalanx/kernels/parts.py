# SPDX-License-Identifier: Apache-2.0
"""What a kernel calls, compiled as a part of it: other kernels, and numba's own functions.

numba makes of each of them what Python could call, optimises it, and writes its machine code; then
it does so again with the kernel that calls it, in which it is linked, and of which alone anything
is used. Here a part is linked as it was written, and optimised once, with the whole.
"""

from collections.abc import Callable
from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.registry import CPUDispatcher, cpu_target

from phalanx.kernels.borrowing import pipeline


class _Linked(JITCodeLibrary):
    """The code of a part, of which no machine code is made."""

    def _optimize_final_module(self) -> None:
        """Nothing, when it has taken in what it calls itself: it is optimised where it is taken in."""

    def _finalize_final_module(self) -> None:
        """No more than to say that it can be taken in."""
        self._finalized = True


class Whole(CompilerBase):
    """numba's own compiler, for which all that is compiled on the way is a part."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile a function, and what it calls on the way; numba's lock is held."""
        context, codegen = cpu_target.target_context, self.state.targetctx.codegen()
        usual = codegen._library_class  # noqa: SLF001 - numba has no other place for it
        try:
            codegen._library_class, context.get_executable = _Linked, _never_called  # noqa: SLF001
            return super().compile_extra(func)  # type: ignore[no-untyped-call]
        finally:
            codegen._library_class = usual  # noqa: SLF001
            del context.get_executable

    def define_pipelines(self) -> Any:
        """Numba asks this for its steps when it knows the function."""
        state = self.state
        state.library = JITCodeLibrary(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        state.library.enable_object_caching()
        return [pipeline(state)]


def _never_called(library: Any, fndesc: Any, env: Any) -> Any:
    """By what numba keeps a part: what Python would call, and nothing behind it."""
    return _dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname, "", 0, env, (library,))


class _PartsCompiler(CompilerBase):
    """The same, up to where machine code would be made."""

    def define_pipelines(self) -> Any:
        """Numba asks this for its steps when it knows what to leave out."""
        self.state.flags.no_compile = True
        return [pipeline(self.state)]


class Part(CPUDispatcher):
    """A function as a part of the kernels that call it."""

    def __init__(
        self, py_func: Callable[..., Any], types: dict[str, Any], targetoptions: dict[str, Any]
    ) -> None:
        options = targetoptions | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(py_func, types, options, pipeline_class=_PartsCompiler)

    def add_overload(self, cres: Any) -> None:
        """Where numba keeps what it compiled by what Python would call, there is something else."""
        made = cres._replace(entry_point=object())
        self.targetctx.insert_user_function(made.entry_point, made.fndesc, [made.library])  # type: ignore[no-untyped-call]
        self.overloads[tuple(made.signature.args)] = made


__all__ = ["Part", "Whole"]
