"""The light module: tells PyTorch that the device exists, and how tensors lie on it."""

from collections.abc import Sequence
from enum import Enum
from typing import TypedDict, overload

import torch
from typing_extensions import Buffer

awake: object

def card_numbers() -> list[int]: ...
def device_count() -> int: ...

class DataFormats(Enum):
    SEN169_FP16 = 0
    IEEE_FP32 = 1
    INVALID = 2
    SEN143_FP8 = 3
    SEN152_FP8 = 4
    SEN153_FP9 = 5
    SENINT2 = 6
    SENINT4 = 7
    SENINT8 = 8
    SENINT16 = 9
    SENINT24 = 10
    IEEE_INT64 = 11
    IEEE_INT32 = 12
    SENUINT32 = 13
    SENUINT2 = 14
    IEEE_FP16 = 15
    BOOL = 16
    BFLOAT16 = 17
    SEN18F_FP24 = 18

    def elems_per_stick(self) -> int: ...

class ElementArrangement(Enum):
    STANDARD = 0
    DL16_TO_FP32 = 1
    QFP8CH = 2
    EXX2 = 3
    FP32_TO_DL16 = 4
    QFP8WT = 5

class CopyNest(TypedDict):
    size: list[int]
    stride_src: list[int]
    stride_dst: list[int]
    offset_src: int
    offset_dst: int

class SpyreTensorLayout:
    @overload
    def __init__(self, host_size: Sequence[int], dtype: torch.dtype) -> None: ...
    @overload
    def __init__(
        self, host_size: Sequence[int], host_strides: Sequence[int], dtype: torch.dtype, dim_order: Sequence[int]
    ) -> None: ...
    @overload
    def __init__(
        self,
        device_size: Sequence[int],
        stride_map: Sequence[int],
        device_dtype: DataFormats,
        element_arrangement: ElementArrangement = ...,
    ) -> None: ...
    @property
    def device_size(self) -> list[int]: ...
    @property
    def stride_map(self) -> list[int]: ...
    @property
    def device_dtype(self) -> DataFormats: ...
    @property
    def element_arrangement(self) -> ElementArrangement: ...
    @property
    def nbytes(self) -> int: ...
    def device_strides(self) -> list[int]: ...
    def elems_per_stick(self) -> int: ...
    def padding(self, numel: int) -> int: ...
    def with_element_arrangement(self, element_arrangement: ElementArrangement) -> SpyreTensorLayout: ...
    def restickify(
        self, host_size: Sequence[int], dim: int, host_strides: Sequence[int] | None = None
    ) -> SpyreTensorLayout: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

def conversions() -> list[tuple[DataFormats, DataFormats]]: ...
def convert(source: Buffer, from_format: DataFormats, to_format: DataFormats) -> bytes: ...
def device_coordinates(
    layout: SpyreTensorLayout, host_size: Sequence[int], host_strides: Sequence[int] | None = None
) -> list[str]: ...
def device_to_device(
    source: SpyreTensorLayout,
    target: SpyreTensorLayout,
    host_size: Sequence[int],
    host_strides: Sequence[int] | None = None,
) -> list[CopyNest]: ...
def device_to_host(
    layout: SpyreTensorLayout, host_size: Sequence[int], host_strides: Sequence[int] | None = None
) -> list[CopyNest]: ...
def encode_constant(value: float, format: DataFormats) -> int: ...  # noqa: A002
def get_device_dtype(dtype: torch.dtype) -> DataFormats: ...
def get_elem_in_stick(dtype: torch.dtype) -> int: ...
def get_host_dtype(dtype: torch.dtype) -> DataFormats: ...
def host_to_device(
    layout: SpyreTensorLayout, host_size: Sequence[int], host_strides: Sequence[int] | None = None
) -> list[CopyNest]: ...
def is_convertible(from_format: DataFormats, to_format: DataFormats) -> bool: ...
