from datetime import datetime
from typing import Any

from sqlalchemy import Index, String
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.core.tables import Base, BigId, Id

REASON_LIMIT = 400


class SettingChange(Base):
    """One change of one setting by an admin. The newest of a name is in force; all are kept."""

    __tablename__ = "setting_changes"
    __table_args__ = (Index("ix_setting_changes_name", "name", "id"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True, autoincrement=True)
    name: Mapped[str] = mapped_column(String(60))
    content: Mapped[dict[str, Any]]
    """`{"value": …}`, or nothing where the setting went back to the environment's value."""
    before: Mapped[dict[str, Any]]
    """`{"value": …}` that was in force until then."""
    reason: Mapped[str] = mapped_column(String(REASON_LIMIT))
    changed_by: Mapped[str] = mapped_column(Id)
    changed_at: Mapped[datetime]
