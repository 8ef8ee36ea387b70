"""The schema of SuperDSC descriptors, and a check against it: what is written, conforms.

The schema is JSON Schema, of which the check knows what is used here: type, const, enum, properties, required,
additionalProperties, items, minimum.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_COUNT: Json = {"type": "integer", "minimum": 1}
_INDEX: Json = {"type": "integer", "minimum": 0}
_NAME: Json = {"type": "string"}
_NAMES: Json = {"type": "array", "items": _NAME}
_INTEGERS: Json = {"type": "array", "items": {"type": "integer"}}


def _object(required: Json, **others: Json) -> Json:
    """An object with exactly these fields."""
    return {"type": "object", "properties": required, "required": [*required], "additionalProperties": False, **others}


def _table(entry: Json) -> Json:
    """An object with fields of any name."""
    return {"type": "object", "additionalProperties": entry}


_FOLD = _object({"factor_": _COUNT, "label_": _NAME})
_STAGE: Json = {"type": "object", "required": ["name_"], "properties": {"name_": _NAME}, "additionalProperties": _INDEX}
_COORDINATE = _object(
    {
        "folds": {"type": "array", "items": _object({"label_": _NAME, "factor_": _INDEX, "alpha_": _INDEX})},
        "beta_": {"type": "integer"},
        "stride_": {"type": "integer"},
    }
)
_ALLOCATION = _object(
    {
        "nodeType_": {"const": "allocate"},
        "name_": _NAME,
        "ldsIdx_": _INDEX,
        "component_": {"enum": ["hbm", "lx"]},
        "isStartAddrSymbolic_": {"type": "boolean"},
        "layoutDimOrder_": _NAMES,
        "maxDimSizes_": _INTEGERS,
        "startAddressCoreCorelet_": _table(_INDEX),
        "coordinates_": _object({"coordInfo": _table(_COORDINATE)}),
    }
)
_LABEL = _object(
    {
        "ldsIdx_": _INDEX,
        "dsName_": _NAME,
        "dsType_": _NAME,
        "scale_": {"type": "array", "items": {"enum": [1, -1, -2]}},
        "wordLength": _INDEX,
        "dataFormat_": _NAME,
        "memOrg_": _table(_object({"isPresent": {"const": 1}})),
    }
)
_ORDER = _object(
    {
        "layoutDimOrder_": _NAMES,
        "stickDimOrder_": _NAMES,
        "stickSize_": {"type": "array", "items": _COUNT},
        "hostSize_": _INTEGERS,
        "deviceSize_": _INTEGERS,
        "strideMap_": _INTEGERS,
    }
)
_COMPUTE = _object(
    {
        "exUnit": {"enum": ["pt", "sfp"]},
        "opFuncName": _NAME,
        "attributes_": _object({"dataFormat_": _NAME, "fidelity_": {"const": "regular"}}),
        "reducedDims_": _NAMES,
        "inputLabeledDs": _NAMES,
        "outputLabeledDs": _NAMES,
    }
)
_DSC = _object(
    {
        "numCoresUsed_": _COUNT,
        "numCoreletsUsed_": _COUNT,
        "coreIdsUsed_": {"type": "array", "items": _INDEX},
        "N_": _STAGE,
        "dataStageParam_": _table(_object({"ss_": _STAGE, "el_": _STAGE})),
        "dimToSymbolMapping_": _table({"type": "integer"}),
        "primaryDsInfo_": _table(_ORDER),
        "scheduleTree_": {"type": "array", "items": _ALLOCATION},
        "labeledDs_": {"type": "array", "items": _LABEL},
        "constantInfo_": _table(
            _object(
                {
                    "value_": {"type": ["number", "string", "boolean"]},
                    "bits_": {"type": ["integer", "null"]},
                }
            )
        ),
        "computeOp_": {"type": "array", "items": _COMPUTE},
    }
)
#: Of a kernel's descriptors: by "<number>_<operation>".
SCHEMA: Json = _table(
    _object(
        {
            "sdscFoldProps_": {"type": "array", "items": _FOLD},
            "coreFoldProp_": _FOLD,
            "coreletFoldProp_": _FOLD,
            "numCoresUsed_": _COUNT,
            "numWkSlicesPerDim_": _table(_COUNT),
            "coreIdToDsc_": _table(_INDEX),
            "coreIdToWkSlice_": _table(_table(_INDEX)),
            "coreIdToDscSchedule": _table({"type": "array", "items": _INTEGERS}),
            "dscs_": {"type": "array", "items": _table(_DSC)},
        }
    )
)

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int,),
    "number": (int, float),
}


def check(value: Any, schema: Json = SCHEMA, place: str = "$") -> None:
    """Raises ValueError, with the place, for the first thing that does not conform."""
    if "const" in schema and value != schema["const"]:
        raise ValueError(f"{place}: got {value!r}; expected {schema['const']!r}")
    if "enum" in schema and value not in schema["enum"]:
        raise ValueError(f"{place}: got {value!r}; expected one of {schema['enum']}")
    if "type" in schema and not _is_of(value, schema["type"]):
        raise ValueError(f"{place}: got {value!r}; expected {schema['type']}")
    if value is not None and "minimum" in schema and value < schema["minimum"]:
        raise ValueError(f"{place}: got {value}; expected at least {schema['minimum']}")
    for number, item in enumerate(value if "items" in schema else ()):
        check(item, schema["items"], f"{place}[{number}]")
    if isinstance(value, dict):
        _check_fields(value, schema, place)


def _is_of(value: Any, names: str | list[str]) -> bool:
    names = [names] if isinstance(names, str) else names
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, _PYTHON_TYPES[name]) for name in names)


def _check_fields(value: Json, schema: Json, place: str) -> None:
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        raise ValueError(f"{place}: no field {missing[0]!r}")
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, entry in value.items():
        if name not in known and others is False:
            raise ValueError(f"{place}: the field {name!r} is not known")
        if isinstance(rule := known.get(name, others), dict):
            check(entry, rule, f"{place}.{name}")
