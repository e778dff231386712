"""Explicit vectors for numba kernels: 16 single-precision lanes that stay in registers.

The compiler's own vectoriser checks for overlapping arrays at every short loop, which costs more
than the loop. A `Vector` value is an LLVM vector; LLVM splits it into whatever registers the
processor has (one of AVX-512, two of AVX2, four of NEON), so the code is the same everywhere, and
so are the results: sums over lanes have a fixed order.
Indices are trusted: they count elements of a C-contiguous array, whatever its shape.
"""

from __future__ import annotations

import platform

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

#: Lanes of a vector: nodes of a region that are handled side by side.
LANES = 16


class _VectorType(types.Type):
    def __init__(self, integer: bool) -> None:
        self.integer = integer
        super().__init__(name=f"Vector({'int32' if integer else 'float32'} x {LANES})")


FLOATS = _VectorType(False)
INTEGERS = _VectorType(True)

_INT = ir.IntType(32)
_IR_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_IR_INTEGERS = ir.VectorType(_INT, LANES)


@register_model(_VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, vector):
        super().__init__(manager, vector, _IR_INTEGERS if vector.integer else _IR_FLOATS)


def _splat(builder, vector_type, scalar):
    undefined = ir.Constant(vector_type, ir.Undefined)
    single = builder.insert_element(undefined, scalar, ir.Constant(_INT, 0))
    return builder.shuffle_vector(single, undefined, ir.Constant(_IR_INTEGERS, [0] * LANES))


def _pointer(context, builder, array_type, array, index):
    data = cgutils.create_struct_proxy(array_type)(context, builder, array).data
    return builder.gep(data, [index])


def _call(builder, name, arguments):
    """Call an LLVM intrinsic on float vectors."""
    kind = ir.FunctionType(_IR_FLOATS, [_IR_FLOATS] * len(arguments))
    name = f"llvm.{name}.v{LANES}f32"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _larger(builder, left, right):
    return builder.select(builder.fcmp_ordered(">", left, right), left, right)


@intrinsic
def get(typing_context, array, index):
    """Element of an array, without a look at the index's sign."""

    def generate(context, builder, signature, arguments):
        return builder.load(_pointer(context, builder, signature.args[0], *arguments))

    return array.dtype(array, types.intp), generate


@intrinsic
def load(typing_context, array, index):
    """Vector of elements index … index + LANES − 1 of an array of float32."""

    def generate(context, builder, signature, arguments):
        place = _pointer(context, builder, signature.args[0], *arguments)
        return builder.load(builder.bitcast(place, _IR_FLOATS.as_pointer()), align=4)

    return FLOATS(array, types.intp), generate


@intrinsic
def store(typing_context, array, index, vector):
    """Write a vector to elements index … index + LANES − 1 of an array of float32."""

    def generate(context, builder, signature, arguments):
        data, at, value = arguments
        place = _pointer(context, builder, signature.args[0], data, at)
        builder.store(value, builder.bitcast(place, _IR_FLOATS.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.none(array, types.intp, vector), generate


def _leaf_vectors(context, builder, signature, arguments):
    """Pointers to LANES elements of a target and a source array, of the target's type."""
    element = context.get_data_type(signature.args[0].dtype)
    pointer = ir.VectorType(element, LANES).as_pointer()
    target, at, source, start = arguments
    place = _pointer(context, builder, signature.args[0], target, at)
    other = _pointer(context, builder, signature.args[2], source, start)
    return builder.bitcast(place, pointer), builder.bitcast(other, pointer)


@intrinsic
def add_four(typing_context, target, at, source, start):
    """Add four whole numbers of ``source`` from ``start`` on to those of ``target`` from ``at``."""

    def generate(context, builder, signature, arguments):
        pointer = ir.VectorType(ir.IntType(64), 4).as_pointer()
        data, place, other, first = arguments
        place = _pointer(context, builder, signature.args[0], data, place)
        first = _pointer(context, builder, signature.args[2], other, first)
        place, first = builder.bitcast(place, pointer), builder.bitcast(first, pointer)
        total = builder.add(builder.load(place, align=8), builder.load(first, align=8))
        builder.store(total, place, align=8)
        return context.get_dummy_value()

    return types.none(target, types.intp, source, types.intp), generate


@intrinsic
def add_leaves(typing_context, target, at, source, start):
    """Add LANES elements of ``source`` from ``start`` on to those of ``target`` from ``at``."""

    def generate(context, builder, signature, arguments):
        place, other = _leaf_vectors(context, builder, signature, arguments)
        total = builder.fadd(builder.load(place, align=4), builder.load(other, align=4))
        builder.store(total, place, align=4)
        return context.get_dummy_value()

    return types.none(target, types.intp, source, types.intp), generate


@intrinsic
def copy_leaves(typing_context, target, at, source, start):
    """Copy LANES elements of ``source`` from ``start`` on to ``target`` from ``at`` on."""

    def generate(context, builder, signature, arguments):
        place, other = _leaf_vectors(context, builder, signature, arguments)
        builder.store(builder.load(other, align=4), place, align=4)
        return context.get_dummy_value()

    return types.none(target, types.intp, source, types.intp), generate


@intrinsic
def load_less(typing_context, array, index, scalar):
    """Vector of elements index … index + LANES − 1 less a number, in the array's precision."""

    def generate(context, builder, signature, arguments):
        data, at, number = arguments
        vector_type = ir.VectorType(context.get_data_type(signature.args[0].dtype), LANES)
        place = _pointer(context, builder, signature.args[0], data, at)
        value = builder.load(builder.bitcast(place, vector_type.as_pointer()), align=4)
        value = builder.fsub(value, _splat(builder, vector_type, number))
        return value if vector_type == _IR_FLOATS else builder.fptrunc(value, _IR_FLOATS)

    return FLOATS(array, types.intp, array.dtype), generate


@intrinsic
def splat(typing_context, scalar):
    """Vector with the same float in every lane."""

    def generate(context, builder, signature, arguments):
        return _splat(builder, _IR_FLOATS, arguments[0])

    return FLOATS(types.float32), generate


@intrinsic
def splat_at(typing_context, array, index):
    """Vector with one element of an array of float32 in every lane."""

    def generate(context, builder, signature, arguments):
        place = _pointer(context, builder, signature.args[0], *arguments)
        return _splat(builder, _IR_FLOATS, builder.load(place))

    return FLOATS(array, types.intp), generate


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
divide = _operation("fdiv", FLOATS, "Quotient of two float vectors.")


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
        return _larger(builder, *arguments)

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
shift_left = _operation("shl", INTEGERS, "Integers shifted left.")


@intrinsic
def where_at_least(typing_context, tested, limit, value):
    """``value`` in the lanes where the integers reach the limit, 0 in the others."""

    def generate(context, builder, signature, arguments):
        reaches = builder.icmp_signed(">=", arguments[0], arguments[1])
        zero = ir.Constant(arguments[2].type, None)
        return builder.select(reaches, arguments[2], zero)

    return value(INTEGERS, INTEGERS, value), generate


@intrinsic
def where_reaches(typing_context, tested, limit, value):
    """``value`` in the lanes where the floats reach the limit, 0 in the others."""

    def generate(context, builder, signature, arguments):
        reaches = builder.fcmp_ordered(">=", arguments[0], arguments[1])
        return builder.select(reaches, arguments[2], ir.Constant(_IR_FLOATS, None))

    return FLOATS(FLOATS, FLOATS, FLOATS), generate


def _reduce(builder, value, combine):
    """Combine the lanes of a vector to a scalar, by halves."""
    half = LANES // 2
    while half:
        mask = ir.Constant(_IR_INTEGERS, [(lane + half) % LANES for lane in range(LANES)])
        value = combine(builder, value, builder.shuffle_vector(value, value, mask))
        half //= 2
    return builder.extract_element(value, ir.Constant(_INT, 0))


def _fold(combine, doc):
    """Reduction of a float vector to a scalar."""

    @intrinsic
    def fold(typing_context, vector):
        def generate(context, builder, signature, arguments):
            return _reduce(builder, arguments[0], combine)

        return types.float32(FLOATS), generate

    fold.__doc__ = doc
    return fold


add_lanes = _fold(lambda builder, a, b: builder.fadd(a, b), "Sum over the lanes.")
largest_lane = _fold(_larger, "Largest of the lanes.")


@intrinsic
def largest_of(typing_context, array, index):
    """Largest of LANES elements of an array from ``index`` on."""

    def generate(context, builder, signature, arguments):
        vector_type = ir.VectorType(context.get_data_type(signature.args[0].dtype), LANES)
        place = _pointer(context, builder, signature.args[0], *arguments)
        value = builder.load(builder.bitcast(place, vector_type.as_pointer()), align=4)
        return _reduce(builder, value, _larger)

    return array.dtype(array, types.intp), generate


@intrinsic
def cumulate(typing_context, vector):
    """Sums over each lane and all before it."""

    def generate(context, builder, signature, arguments):
        value = arguments[0]
        zero = ir.Constant(_IR_FLOATS, None)
        step = 1
        while step < LANES:
            # lanes of `zero` come first in the shuffle's numbering
            mask = [lane if lane < step else LANES + lane - step for lane in range(LANES)]
            moved = builder.shuffle_vector(zero, value, ir.Constant(_IR_INTEGERS, mask))
            value = builder.fadd(value, moved)
            step *= 2
        return value

    return FLOATS(FLOATS), generate


@intrinsic
def last_lane(typing_context, vector):
    """The last lane."""

    def generate(context, builder, signature, arguments):
        return builder.extract_element(arguments[0], ir.Constant(_INT, LANES - 1))

    return types.float32(FLOATS), generate


def _lane_bits(builder, condition):
    return builder.bitcast(condition, ir.IntType(LANES))


@intrinsic
def count_at_most(typing_context, vector, limit):
    """Number of lanes that do not exceed a limit."""

    def generate(context, builder, signature, arguments):
        limit = _splat(builder, _IR_FLOATS, arguments[1])
        bits = _lane_bits(builder, builder.fcmp_ordered("<=", arguments[0], limit))
        return builder.zext(builder.ctpop(bits), ir.IntType(64))

    return types.int64(FLOATS, types.float32), generate


@intrinsic
def last_positive(typing_context, vector):
    """Number of the last positive lane; −1 without any."""

    def generate(context, builder, signature, arguments):
        zero = ir.Constant(_IR_FLOATS, None)
        bits = _lane_bits(builder, builder.fcmp_ordered(">", arguments[0], zero))
        leading = builder.ctlz(bits, ir.Constant(ir.IntType(1), 0))
        wide = ir.IntType(64)
        return builder.sub(ir.Constant(wide, LANES - 1), builder.zext(leading, wide))

    return types.int64(FLOATS), generate


@intrinsic
def exponent_of(typing_context, scalar):
    """The binary exponent of a positive normal float: its whole logarithm to base two."""

    def generate(context, builder, signature, arguments):
        bits = builder.bitcast(arguments[0], _INT)
        return builder.sub(builder.lshr(bits, ir.Constant(_INT, 23)), ir.Constant(_INT, 127))

    return types.int32(types.float32), generate


@intrinsic
def power_of_two(typing_context, exponent):
    """2^exponent as a float, for integers up to 127; 0 below −126."""

    def generate(context, builder, signature, arguments):
        shifted = builder.add(arguments[0], ir.Constant(_INT, 127))
        bits = builder.shl(shifted, ir.Constant(_INT, 23))
        normal = builder.icmp_signed(">", shifted, ir.Constant(_INT, 0))
        return builder.bitcast(builder.select(normal, bits, ir.Constant(_INT, 0)), ir.FloatType())

    return types.float32(types.int32), generate


#: Bits of the processor's control register that turn denormal numbers into zeros: results and
#: operands of x86, both of ARM.
_FLUSH = {"x86_64": 0x8040, "AMD64": 0x8040, "aarch64": 1 << 24, "arm64": 1 << 24}
_MACHINE = platform.machine()
_X86 = _MACHINE in ("x86_64", "AMD64")


def _control(builder):
    """Functions that read and write the control register, by pointer on x86, by value on ARM."""
    module, void = builder.module, ir.VoidType()
    if _X86:
        kind = ir.FunctionType(void, [ir.IntType(8).as_pointer()])
        names = ("llvm.x86.sse.stmxcsr", "llvm.x86.sse.ldmxcsr")
        return [cgutils.get_or_insert_function(module, kind, name) for name in names]
    wide = ir.IntType(64)
    return [
        cgutils.get_or_insert_function(module, ir.FunctionType(wide, []), "llvm.aarch64.get.fpcr"),
        cgutils.get_or_insert_function(
            module, ir.FunctionType(void, [wide]), "llvm.aarch64.set.fpcr"
        ),
    ]


@intrinsic
def flush_denormals(typing_context):
    """Let this thread treat denormal numbers, which are many times slower, as zeros.

    Returns what `restore_denormals` needs to undo it. Does nothing on unknown processors.
    """

    def generate(context, builder, signature, arguments):
        wide = ir.IntType(64)
        if _MACHINE not in _FLUSH:
            return ir.Constant(wide, 0)
        read, write = _control(builder)
        if not _X86:
            before = builder.call(read, [])
            builder.call(write, [builder.or_(before, ir.Constant(wide, _FLUSH[_MACHINE]))])
            return before
        place = cgutils.alloca_once(builder, _INT)
        pointer = builder.bitcast(place, ir.IntType(8).as_pointer())
        builder.call(read, [pointer])
        before = builder.load(place)
        builder.store(builder.or_(before, ir.Constant(_INT, _FLUSH[_MACHINE])), place)
        builder.call(write, [pointer])
        return builder.zext(before, wide)

    return types.int64(), generate


@intrinsic
def restore_denormals(typing_context, before):
    """Undo `flush_denormals`."""

    def generate(context, builder, signature, arguments):
        if _MACHINE in _FLUSH:
            _, write = _control(builder)
            if _X86:
                place = cgutils.alloca_once(builder, _INT)
                builder.store(builder.trunc(arguments[0], _INT), place)
                builder.call(write, [builder.bitcast(place, ir.IntType(8).as_pointer())])
            else:
                builder.call(write, [arguments[0]])
        return context.get_dummy_value()

    return types.none(types.int64), generate
