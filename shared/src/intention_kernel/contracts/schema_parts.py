"""What several schemas are made of."""

from __future__ import annotations

Schema = dict[str, object]

ID: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
RECEIPT_ID: Schema = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
TIME: Schema = {"type": "string", "format": "date-time"}
STATE: Schema = {"enum": ["prepared", "completed", "failed", "uncertain"]}
COUNT: Schema = {"type": "integer", "minimum": 1}
ANY: Schema = {}


def object_schema(title: str, members: Schema, required: list[str], *, closed: bool = False) -> Schema:
    """Of an object with these members; `closed` refuses others."""
    schema: Schema = {"title": title, "type": "object", "properties": members, "required": required}
    return {**schema, "additionalProperties": False} if closed else schema
