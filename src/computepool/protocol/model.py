"""The base of everything that travels: immutable, and tolerant of fields that a newer peer added."""

from pydantic import BaseModel, ConfigDict


class Wire(BaseModel):
    """Unknown fields are ignored, so that a protocol change that only adds is no change for an older peer."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_bytes="base64", val_json_bytes="base64")

    def to_bytes(self) -> bytes:
        return self.__pydantic_serializer__.to_json(self)
