"""The usual AWS_* variables, as far as the store needs them. Nothing deeper reads the environment."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from computepool.hub.core.settings import SettingsError
from computepool.protocol.problem_words import words_for


class S3Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="AWS_", extra="ignore", frozen=True, populate_by_name=True)

    access_key_id: Annotated[str, Field(min_length=1)]
    secret_access_key: Annotated[str, Field(min_length=1, repr=False)]
    session_token: Annotated[str, Field(repr=False)] = ""
    region: Annotated[
        str, Field(validation_alias=AliasChoices("AWS_REGION", "AWS_DEFAULT_REGION", "region"), min_length=1)
    ] = "us-east-1"
    endpoint_url: Annotated[
        str, Field(validation_alias=AliasChoices("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "endpoint_url"))
    ] = ""
    """Empty: Amazon's own. It must be the address under which agents and browsers reach the store too."""

    @field_validator("endpoint_url")
    @classmethod
    def _web_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if value and (parts.scheme not in ("http", "https") or not parts.netloc or parts.query):
            raise ValueError("expected an address such as https://s3.example.org")
        return value.rstrip("/")


def load_s3_settings(**overrides: str) -> S3Settings:
    try:
        return S3Settings(**overrides)  # type: ignore[arg-type]  # pydantic checks them, and says which is wrong
    except ValidationError as error:
        lines = []
        for problem in error.errors(include_url=False):
            name = str(problem["loc"][0])
            variable = name if name.isupper() else "AWS_" + name.upper()
            lines.append(f"{variable}: {words_for(problem)}")
        raise SettingsError("artifacts are to be kept in S3\n" + "\n".join(lines)) from None
