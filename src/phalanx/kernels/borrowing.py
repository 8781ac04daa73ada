# SPDX-License-Identifier: Apache-2.0
"""Parts of kernels that only borrow their arrays do not count who holds them.

numba counts how many hold each array, so that it is freed with the last: wherever a field of a
NamedTuple is read or rows are sliced, one is added, and taken away again. Two threads wait for each
other to do so, and a compiler moves nothing across it. But who calls a function holds its arguments
until it returns; so one that makes no array, is given none by what it calls and hands none back
need not count, and here it does not.
"""

from typing import Any, Final

from numba.core import ir, types
from numba.core.compiler import DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.typed_passes import IRLegalization

_VIEWS: Final = {
    "build_tuple",
    "cast",
    "exhaust_iter",
    "getattr",
    "getiter",
    "getitem",
    "iternext",
    "pair_first",
    "pair_second",
    "static_getattr",
    "static_getitem",
}
"""What gives an array that is held already, or a part of it."""
_STATEMENTS: Final = (
    ir.Assign,
    ir.Branch,
    ir.Del,
    ir.Jump,
    ir.Raise,
    ir.Return,
    ir.SetItem,
    ir.StaticRaise,
    ir.StaticSetItem,
)
_HELD: Final = (types.Array, types.ArrayIterator, types.BaseTuple)
"""Of these alone it is known here who holds them: no list or dictionary takes an array in."""


@register_pass(mutates_CFG=False, analysis_only=True)  # type: ignore[no-untyped-call]
class _Uncounted(AnalysisPass):
    """A step of numba's compiler, for what it knows to borrow only."""

    _name = "phalanx_uncounted"

    def __init__(self) -> None:
        """Nothing; numba asks for it."""

    def run_pass(self, state: Any) -> bool:
        """Take the counting from this function; it stays in what it calls."""
        if _borrows(state):
            state.targetctx.enable_nrt = False
        return False


def pipeline(state: Any) -> Any:
    """Numba's steps for the function of a ``state``, and that one before it is written in LLVM's
    language.
    """
    steps = DefaultPassBuilder.define_nopython_pipeline(state)  # type: ignore[no-untyped-call]
    steps.add_pass_after(_Uncounted, IRLegalization)
    steps.finalize()
    return steps


def _borrows(state: Any) -> bool:
    """Whether all arrays of a function whose types are known are its arguments, or parts of
    them.
    """
    counted = {kind for kind in state.typemap.values() if _is_counted(state, kind)}
    return (
        not state.func_ir.is_generator
        and not _is_counted(state, state.return_type)
        and all(isinstance(kind, _HELD) for kind in counted)
        and all(
            _borrowing(state, statement)
            for block in state.func_ir.blocks.values()
            for statement in block.body
        )
    )


def _borrowing(state: Any, statement: Any) -> bool:
    """Whether a statement makes no array."""
    if not isinstance(statement, _STATEMENTS):
        return False
    if isinstance(statement, ir.SetItem | ir.StaticSetItem):
        return not _of(state, statement.value)
    if not isinstance(statement, ir.Assign) or not _of(state, statement.target):
        return True
    value = statement.value
    if not isinstance(value, ir.Expr):
        return True  # an argument, another variable, or a constant
    if value.op == "call":
        return isinstance(state.typemap[value.func.name], types.NamedTupleClass)
    if value.op == "getattr":  # numba makes zeros where ``imag`` of real numbers is asked for
        made = isinstance(state.typemap[value.value.name], types.Array)
    else:
        made = value.op == "getitem" and _of(state, value.index)
    return value.op in _VIEWS and not made


def _of(state: Any, variable: Any) -> bool:
    """Whether a variable holds an array."""
    return _is_counted(state, state.typemap[variable.name])


def _is_counted(state: Any, kind: Any) -> bool:
    """Whether numba counts who holds what is of a type."""
    counted: bool = state.targetctx.data_model_manager[kind].contains_nrt_meminfo()
    return counted


__all__ = ["pipeline"]
