"""The settings of the hub's own HTTPS; `hub/certificates.py` uses them."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings


class TlsSettings(BaseSettings):
    tls_certificate: Annotated[
        Path | None,
        Field(
            description="File with the certificate that the hub itself serves HTTPS with, and its chain, in PEM. "
            "Unset: a hub that other machines can reach makes one, unless the public URL is https: then a proxy has it."
        ),
    ] = None
    tls_key: Annotated[
        Path | None,
        Field(description="File with the certificate's private key, in PEM. Unset: in the same file."),
    ] = None

    @field_validator("tls_certificate", "tls_key")
    @classmethod
    def _file(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        if value is None:
            return None
        if info.field_name == "tls_key" and info.data.get("tls_certificate") is None:
            raise ValueError("is of no use without COMPUTEPOOL_TLS_CERTIFICATE")
        if not value.expanduser().is_file():
            raise ValueError(f"there is no file {value}; expected one in PEM")
        return value.expanduser().absolute()
