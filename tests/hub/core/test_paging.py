"""Pages of a list: whole, without repeats, in each order, and with a bounded total."""

import pytest
from sqlalchemy import ForeignKey, create_engine, func, insert, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from computepool.hub.core import paging
from computepool.hub.core.paging import BadCursor, count_rows, read_page


class Base(DeclarativeBase):
    pass


class Thing(Base):
    __tablename__ = "things"
    id: Mapped[int] = mapped_column(primary_key=True)
    price: Mapped[int | None]
    parent: Mapped[int | None] = mapped_column(ForeignKey("things.id"))


@pytest.fixture
def session():
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.execute(insert(Thing), [{"id": n, "price": None if n % 5 == 0 else n % 3} for n in range(1, 24)])
        yield session
    engine.dispose()


@pytest.mark.parametrize("ascending", [False, True])
def test_pages_are_the_whole_list_in_order(session, ascending):
    keys = [func.coalesce(Thing.price, -1), Thing.id]
    found, cursor = [], None
    while True:
        rows, cursor = read_page(session, select(Thing), keys, cursor, 4, ascending=ascending, order="price")
        found += [(-1 if row.price is None else row.price, row.id) for row in rows]
        if cursor is None:
            break
    assert len(found) == 23
    assert found == sorted(found, reverse=not ascending)


def test_cursor_of_another_order_is_refused(session):
    _, cursor = read_page(session, select(Thing), [Thing.id], None, 4, order="id")
    for options in ({"order": "price"}, {"order": "id", "ascending": True}, {}):
        with pytest.raises(BadCursor):
            read_page(session, select(Thing), [Thing.id], cursor, 4, **options)


def test_total_is_counted_up_to_a_limit(session, monkeypatch):
    assert count_rows(session, select(Thing).where(Thing.price == 1)) == 7
    monkeypatch.setattr(paging, "TOTAL_LIMIT", 22)
    assert count_rows(session, select(Thing)) is None
