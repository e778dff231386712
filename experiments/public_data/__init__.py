"""Public data sets of density estimation: 20 binary tables and 12 heterogeneous ones.

>>> from public_data import BINARY_NAMES, MIXED_NAMES
>>> len(BINARY_NAMES), len(MIXED_NAMES)
(20, 12)

`load_binary` downloads a data set once and checks it; `load_mixed` reads a local folder. The
variable ``BAYESSPN_DATA`` names a local folder for both.
"""

from __future__ import annotations

from public_data.binary import BINARY_NAMES, BinaryData, load_binary
from public_data.files import DataSetError
from public_data.mixed import MIXED_NAMES, MixedData, load_mixed

__all__ = [
    "BINARY_NAMES",
    "MIXED_NAMES",
    "BinaryData",
    "DataSetError",
    "MixedData",
    "load_binary",
    "load_mixed",
]
