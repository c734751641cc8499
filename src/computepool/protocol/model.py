"""The bases of everything that travels and of everything that the API shows."""

import ast
import functools
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic_core import CoreSchema


class Documented(BaseModel):
    """A model whose JSON Schema says what its source says: a text below a field is the property's description.

    The source is read when a schema is asked for and not when the class is made (pydantic's `use_attribute_docstrings`
    does that): every start of the hub and of the CLI would pay for a document that hardly anybody asks for.
    """

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, description in docstrings_of(cls).items():
            info = cls.model_fields.get(name)
            written = {name, info.alias, info.validation_alias, info.serialization_alias} if info else {name}
            for key in written & properties.keys():
                properties[key].setdefault("description", description)
        return schema


SHOWN_AS = "x-shown-as"
"""Has the name of a schema that pydantic can only write in place. The OpenAPI document moves it to where names are."""


class ShownAs:
    """In `Annotated[dict[str, Any], ShownAs(WireSpec)]`: stored JSON, which is described and not parsed."""

    def __init__(self, model: type[Documented]) -> None:
        self._model = model

    def __get_pydantic_json_schema__(self, _core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = self._model.__get_pydantic_json_schema__(self._model.__pydantic_core_schema__, handler)
        return {SHOWN_AS: self._model.__name__, **schema}


class OneOf:
    """In `Annotated[str, OneOf("Colour", COLOURS, "…")]`: stored words of a set that is described and not checked.
    An older database may have others."""

    def __init__(self, name: str, words: Iterable[str], description: str) -> None:
        self._schema = {SHOWN_AS: name, "title": name, "description": description, "type": "string"}
        self._words = [str(word) for word in words]

    def __get_pydantic_json_schema__(self, _core_schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**self._schema, "enum": self._words}


class Wire(Documented):
    """Immutable. Unknown fields are ignored: a change of the protocol that only adds is none for an older peer."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_bytes="base64", val_json_bytes="base64")

    def to_bytes(self) -> bytes:
        return self.__pydantic_serializer__.to_json(self)


def docstrings_of(model: type) -> dict[str, str]:
    """What is written below each attribute of a class, and of those that it inherits from."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        found |= _docstrings_in(base.__module__).get(base.__name__, {})
    return found


@functools.cache
def _docstrings_in(module_name: str) -> Mapping[str, Mapping[str, str]]:
    """By class and attribute, for the classes at the top of a module. Empty where its source is not there."""
    module = sys.modules.get(module_name)
    if module is None or not module_name.startswith("computepool."):
        return {}
    try:
        tree = ast.parse(inspect.getsource(module))
    except OSError:
        return {}
    return {node.name: dict(_docstrings_below(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _docstrings_below(definition: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            text = following.value.value
            if isinstance(text, str):
                yield statement.target.id, inspect.cleandoc(text)
