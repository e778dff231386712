"""Explicit vectors for numba kernels: 32 single-precision lanes that stay in registers.

The compiler's own vectoriser checks for overlapping arrays at every short loop, which costs more
than the loop. A `Vector` value is an LLVM vector; LLVM splits it into whatever registers the
processor has (two of AVX-512, four of AVX2, eight of NEON), so the code is the same everywhere.
Indices are trusted: they count elements of a C-contiguous array, whatever its shape.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

#: Lanes of a vector: rows that are evaluated side by side.
LANES = 32

#: Leaves are added up so many at a time; tables are padded to a multiple of it.
LEAF_STEP = 8


class _VectorType(types.Type):
    def __init__(self, integer: bool) -> None:
        self.integer = integer
        super().__init__(name=f"Vector({'int32' if integer else 'float32'} x {LANES})")


FLOATS = _VectorType(False)
INTEGERS = _VectorType(True)

_IR_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_IR_INTEGERS = ir.VectorType(ir.IntType(32), LANES)


@register_model(_VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, vector):
        super().__init__(manager, vector, _IR_INTEGERS if vector.integer else _IR_FLOATS)


def _splat(builder, vector_type, scalar):
    undefined = ir.Constant(vector_type, ir.Undefined)
    zero = ir.Constant(ir.IntType(32), 0)
    single = builder.insert_element(undefined, scalar, zero)
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(single, undefined, mask)


def _pointer(context, builder, array_type, array, index, vector_type):
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), vector_type.as_pointer())


def _call(builder, name, arguments):
    """Call an LLVM intrinsic on float vectors."""
    kind = ir.FunctionType(_IR_FLOATS, [_IR_FLOATS] * len(arguments))
    name = f"llvm.{name}.v{LANES}f32"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _vector_of(array_type):
    return INTEGERS if array_type.dtype == types.int32 else FLOATS


@intrinsic
def load(typing_context, array, index):
    """Vector of elements index … index + LANES − 1 of an array."""
    result = _vector_of(array)

    def generate(context, builder, signature, arguments):
        vector_type = _IR_INTEGERS if result.integer else _IR_FLOATS
        place = _pointer(context, builder, signature.args[0], *arguments, vector_type)
        return builder.load(place, align=4)

    return result(array, types.intp), generate


@intrinsic
def store(typing_context, array, index, vector):
    """Write a vector to elements index … index + LANES − 1 of an array."""

    def generate(context, builder, signature, arguments):
        data, at, value = arguments
        place = _pointer(context, builder, signature.args[0], data, at, value.type)
        builder.store(value, place, align=4)
        return context.get_dummy_value()

    return types.none(array, types.intp, vector), generate


@intrinsic
def add_leaves(typing_context, target, at, source, start):
    """Add LEAF_STEP elements of ``source`` from ``start`` on to those of ``target`` from ``at``."""

    def generate(context, builder, signature, arguments):
        array, first, other, second = arguments
        element = context.get_data_type(signature.args[0].dtype)
        vector_type = ir.VectorType(element, LEAF_STEP)
        place = _pointer(context, builder, signature.args[0], array, first, vector_type)
        addend = _pointer(context, builder, signature.args[2], other, second, vector_type)
        total = builder.fadd(builder.load(place, align=4), builder.load(addend, align=4))
        builder.store(total, place, align=4)
        return context.get_dummy_value()

    return types.none(target, types.intp, source, types.intp), generate


@intrinsic
def splat(typing_context, scalar):
    """Vector with the same float in every lane."""

    def generate(context, builder, signature, arguments):
        return _splat(builder, _IR_FLOATS, arguments[0])

    return FLOATS(types.float32), generate


@intrinsic
def splat_integer(typing_context, scalar):
    """Vector with the same integer in every lane."""

    def generate(context, builder, signature, arguments):
        return _splat(builder, _IR_INTEGERS, arguments[0])

    return INTEGERS(types.int32), generate


def _operation(name, vector, doc):
    """Lane-wise LLVM instruction on two vectors of one type."""

    @intrinsic
    def operation(typing_context, left, right):
        def generate(context, builder, signature, arguments):
            return getattr(builder, name)(*arguments)

        return vector(vector, vector), generate

    operation.__doc__ = doc
    return operation


add = _operation("fadd", FLOATS, "Sum of two float vectors.")
subtract = _operation("fsub", FLOATS, "Difference of two float vectors.")
multiply = _operation("fmul", FLOATS, "Product of two float vectors.")


@intrinsic
def multiply_add(typing_context, left, right, addend):
    """Fused ``left * right + addend``."""

    def generate(context, builder, signature, arguments):
        return _call(builder, "fmuladd", arguments)

    return FLOATS(FLOATS, FLOATS, FLOATS), generate


@intrinsic
def maximum(typing_context, left, right):
    """Larger of two float vectors, lane by lane."""

    def generate(context, builder, signature, arguments):
        larger = builder.fcmp_ordered(">", *arguments)
        return builder.select(larger, *arguments)

    return FLOATS(FLOATS, FLOATS), generate


@intrinsic
def floor(typing_context, vector):
    """Largest whole numbers that are not larger, as floats."""

    def generate(context, builder, signature, arguments):
        return _call(builder, "floor", arguments)

    return FLOATS(FLOATS), generate


@intrinsic
def to_integers(typing_context, vector):
    """Whole-numbered floats as integers."""

    def generate(context, builder, signature, arguments):
        return builder.fptosi(arguments[0], _IR_INTEGERS)

    return INTEGERS(FLOATS), generate


@intrinsic
def bits_of(typing_context, vector):
    """The bit patterns of floats as integers."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _IR_INTEGERS)

    return INTEGERS(FLOATS), generate


@intrinsic
def floats_of(typing_context, vector):
    """The floats with the given bit patterns."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _IR_FLOATS)

    return FLOATS(INTEGERS), generate


add_integers = _operation("add", INTEGERS, "Sum of two integer vectors.")
subtract_integers = _operation("sub", INTEGERS, "Difference of two integer vectors.")
shift_left = _operation("shl", INTEGERS, "Integers shifted left.")
shift_right = _operation("ashr", INTEGERS, "Integers shifted right, keeping the sign.")


@intrinsic
def maximum_integers(typing_context, left, right):
    """Larger of two integer vectors, lane by lane."""

    def generate(context, builder, signature, arguments):
        larger = builder.icmp_signed(">", *arguments)
        return builder.select(larger, *arguments)

    return INTEGERS(INTEGERS, INTEGERS), generate


@intrinsic
def where_at_least(typing_context, tested, limit, value):
    """``value`` in the lanes where the integers reach the limit, 0 in the others."""

    def generate(context, builder, signature, arguments):
        reaches = builder.icmp_signed(">=", arguments[0], arguments[1])
        zero = ir.Constant(arguments[2].type, None)
        return builder.select(reaches, arguments[2], zero)

    return value(INTEGERS, INTEGERS, value), generate
