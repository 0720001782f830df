# SPDX-License-Identifier: Apache-2.0
"""Checks reports against tools/schemas, with the rule that a schema describes each key that we write."""

import json

import jsonschema


class SchemaError(Exception):
    """A report is not what its schema says."""


def undescribed_keys(value, schema, where):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in schema.get("properties", {}):
                yield f"{where}.{key}"
            else:
                yield from undescribed_keys(inner, schema["properties"][key], f"{where}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from undescribed_keys(inner, schema.get("items", {}), f"{where}[{index}]")


def check(report, name, directory):
    """Raises SchemaError if `report` is not a furrow.NAME report as directory/NAME.schema.json describes it."""
    schema = json.loads((directory / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    try:
        jsonschema.Draft7Validator(schema).validate(report)
    except jsonschema.ValidationError as error:
        raise SchemaError(f"{name}: {error.message} at {list(error.absolute_path)}") from error
    keys = list(undescribed_keys(report, schema, name))
    if keys:
        raise SchemaError(f"keys that the schema does not describe: {keys}")
