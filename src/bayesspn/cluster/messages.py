"""A circuit as bytes: what is sent to every worker in every sweep.

The description of the columns stays behind, since the workers have it. Bytes, unlike arrays in
shared memory, are unpacked into arrays that can be written to, which is what the engine is compiled
for.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

from bayesspn.leaves.columns import Leaves
from bayesspn.model.circuit import Circuit

_LEAVES = "leaves"


class _Packer(pickle.Pickler):
    def persistent_id(self, thing: Any) -> str | None:
        return _LEAVES if isinstance(thing, Leaves) else None


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, leaves: Leaves) -> None:
        super().__init__(file)
        self._leaves = leaves

    def persistent_load(self, name: Any) -> Leaves:
        return self._leaves


def pack_circuit(circuit: Circuit) -> bytes:
    """A circuit as bytes."""
    file = io.BytesIO()
    _Packer(file, protocol=5).dump(circuit)
    return file.getvalue()


def unpack_circuit(message: bytes, leaves: Leaves) -> Circuit:
    """The circuit of a message; ``leaves`` describe its columns."""
    circuit = _Unpacker(io.BytesIO(message), leaves).load()
    assert isinstance(circuit, Circuit)
    return circuit
