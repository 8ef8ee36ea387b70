"""SuperDSC: one JSON object for each operation, in upstream's fields (docs/superdsc.md says what each one means)."""

from __future__ import annotations

import itertools
from typing import Any

from ... import _C
from ..._hooks import DataFormats, encode_constant, is_convertible
from .program import PRODUCT, Access, CardOp, CardProgram, Number

Json = dict[str, Any]


def superdsc(program: CardProgram) -> Json:
    """By "<number>_<operation>", in order."""
    return {f"{step}_{op.name}": _Descriptor(program, op).json() for step, op in enumerate(program.ops)}


class _Descriptor:
    """One operation. Confined to one call."""

    def __init__(self, program: CardProgram, op: CardOp) -> None:
        self.program, self.op = program, op
        self.dims = [f"d{loop}" for loop in range(len(op.loops))]
        self.accesses = list(dict.fromkeys(op.accesses()))

    def json(self) -> Json:
        op = self.op
        slices = [dict(zip(self.dims, _C.slice_of_core(core, op.splits), strict=True)) for core in range(op.cores)]
        return {
            "sdscFoldProps_": [{"factor_": 1, "label_": "time"}],
            "coreFoldProp_": {"factor_": op.cores, "label_": "core"},
            "coreletFoldProp_": {"factor_": 1, "label_": "corelet"},
            "numCoresUsed_": op.cores,
            "numWkSlicesPerDim_": dict(zip(self.dims, op.splits, strict=True)),
            "coreIdToDsc_": {str(core): 0 for core in range(op.cores)},
            "coreIdToWkSlice_": {str(core): part for core, part in enumerate(slices)},
            "coreIdToDscSchedule": {str(core): [[-1, 0, 0, 0]] for core in range(op.cores)},
            "dscs_": [{op.name: self._dsc()}],
        }

    def _dsc(self) -> Json:
        op = self.op
        extents = {f"{dim}_": extent for dim, extent in zip(self.dims, op.loops, strict=True)}
        parts = {f"{dim}_": -(-extent // split)
                 for dim, extent, split in zip(self.dims, op.loops, op.splits, strict=True)}  # fmt: skip
        return {
            "numCoresUsed_": op.cores,
            "numCoreletsUsed_": 1,
            "coreIdsUsed_": list(range(op.cores)),
            "N_": {"name_": "n", **extents},
            "dataStageParam_": {"0": {"ss_": {"name_": "core", **parts}, "el_": {"name_": "core", **parts}}},
            "dimToSymbolMapping_": dict(self.program.symbols),
            "primaryDsInfo_": {self._kind(a): self._order(a) for a in self.accesses},
            "scheduleTree_": [self._allocation(number, a) for number, a in enumerate(self.accesses)],
            "labeledDs_": [self._label(number, a) for number, a in enumerate(self.accesses)],
            "constantInfo_": {str(number): self._constant(value) for number, value in enumerate(self._numbers())},
            "computeOp_": [self._compute()],
        }

    def _kind(self, access: Access) -> str:
        """INPUT, KERNEL1, …, OUTPUT."""
        number = self.accesses.index(access)
        return "OUTPUT" if access == self.op.output else f"KERNEL{number}" if number else "INPUT"

    def _order(self, access: Access) -> Json:
        layout, device = self.program.layout(access), self.program.layout(access).device_layout
        stick = self.program.stick_loop(access)
        return {
            "layoutDimOrder_": [dim for loop, dim in enumerate(self.dims) if access.strides[loop] != 0],
            "stickDimOrder_": [] if stick is None else [self.dims[stick]],
            "stickSize_": [] if device is None else [device.elems_per_stick()],
            "hostSize_": list(layout.size),
            "deviceSize_": [] if device is None else list(device.device_size),
            "strideMap_": [] if device is None else list(device.stride_map),
        }

    def _name(self, access: Access) -> str:
        return self.program.buffers[access.buffer].name

    def _allocation(self, number: int, access: Access) -> Json:
        lx = self.program.buffers[access.buffer].lx
        place = {str(core): lx for core in range(self.op.cores)} if lx is not None else {}
        return {
            "nodeType_": "allocate",
            "name_": f"allocate_{self._name(access)}_{'hbm' if lx is None else 'lx'}",
            "ldsIdx_": number,
            "component_": "hbm" if lx is None else "lx",
            "isStartAddrSymbolic_": lx is None,
            "layoutDimOrder_": self._order(access)["layoutDimOrder_"],
            "maxDimSizes_": [-1] * sum(stride != 0 for stride in access.strides),
            "startAddressCoreCorelet_": place,
            "coordinates_": {"coordInfo": self._coordinates(access)},
        }

    def _coordinates(self, access: Access) -> Json:
        """For each dimension: what a core's slice adds to its coordinate, and what an element does."""
        return {
            dim: {
                "folds": [
                    {"label_": "core", "factor_": split, "alpha_": -(-extent // split)},
                    {"label_": "elem", "factor_": -(-extent // split), "alpha_": 1},
                ],
                "beta_": 0,
                "stride_": stride,
            }
            for dim, extent, split, stride in zip(self.dims, self.op.loops, self.op.splits, access.strides, strict=True)
            if stride != 0
        }

    def _label(self, number: int, access: Access) -> Json:
        layout = self.program.layout(access)
        device, stick = layout.device_layout, self.program.stick_loop(self.op.output)
        scale = [1 if stride != 0 else -2 if loop == stick else -1 for loop, stride in enumerate(access.strides)]
        return {
            "ldsIdx_": number,
            "dsName_": self._name(access),
            "dsType_": self._kind(access),
            "scale_": scale,
            "wordLength": 128 // device.elems_per_stick() if device is not None else 0,
            "dataFormat_": device.device_dtype.name if device is not None else layout.dtype,
            "memOrg_": {"lx" if self.program.buffers[access.buffer].lx is not None else "hbm": {"isPresent": 1}},
        }

    def _numbers(self) -> list[Number]:
        return [arg for arg in self.op.inputs if isinstance(arg, Number)]

    def _constant(self, number: Number) -> Json:
        """Without bits if they are not known yet, or the card has no number of the output's format."""
        device, bits = self.program.layout(self.op.output).device_layout, None
        if device is not None and isinstance(number.value, (int, float)):
            has_numbers = is_convertible(DataFormats.IEEE_FP32, device.device_dtype)
            bits = encode_constant(float(number.value), device.device_dtype) if has_numbers else None
        return {"value_": number.value, "bits_": bits}

    def _compute(self) -> Json:
        numbers = itertools.count()
        operands = [str(self.accesses.index(a)) if isinstance(a, Access) else f"constant{next(numbers)}"
                    for a in self.op.inputs]  # fmt: skip
        device = self.program.layout(self.op.output).device_layout
        return {
            "exUnit": "pt" if self.op.name == PRODUCT else "sfp",
            "opFuncName": self.op.name,
            "attributes_": {
                "dataFormat_": device.device_dtype.name if device is not None else self.op.dtype,
                "fidelity_": "regular",
            },
            "reducedDims_": [self.dims[loop] for loop in self.op.reduced],
            "inputLabeledDs": operands,
            "outputLabeledDs": [str(self.accesses.index(self.op.output))],
        }
