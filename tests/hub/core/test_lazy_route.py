"""Routes are found before FastAPI has looked into them, and are whole when it has."""

import asyncio

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI
from fastapi.exceptions import FastAPIError
from fastapi.routing import APIRoute
from pydantic import BaseModel

from computepool.hub.core.lazy_route import LazyRoute


class Order(BaseModel):
    count: int


class Unreadable:
    """Nothing that a request could have."""


def app_with(route_class):
    router = APIRouter(route_class=route_class, prefix="/shop", tags=["shop"])

    @router.post("/orders/{order_id}", status_code=201, dependencies=[Depends(lambda: None)])
    async def change(order_id: str, order: Order, loud: bool = False) -> Order:
        """Change an order."""
        return Order(count=order.count * (2 if loud else 1))

    @router.get("/orders", name="orders")
    async def every() -> list[Order]:
        return []

    app = FastAPI()
    app.router.routes.extend(router.routes)
    return app


def lazy_routes(app):
    return [route for route in app.routes if isinstance(route, LazyRoute)]


def is_read(route):
    return "dependant" in vars(route)


def test_only_the_route_that_is_called_is_looked_into():
    async def story():
        app = app_with(LazyRoute)
        changing, listing = lazy_routes(app)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://hub.test") as client:
            assert (await client.get("/shop/nothing")).status_code == 404
            assert (await client.delete("/shop/orders")).status_code == 405
            assert not is_read(changing)
            answer = await client.post("/shop/orders/7", params={"loud": True}, json={"count": 2})
            assert (answer.status_code, answer.json()) == (201, {"count": 4})
            assert (await client.post("/shop/orders/7", json={"count": "many"})).status_code == 422
        assert is_read(changing)
        assert len(changing.dependencies) == 1
        assert (listing.name, listing.methods, listing.path) == ("orders", {"GET"}, "/shop/orders")
        assert app.url_path_for("orders") == "/shop/orders"

    asyncio.run(story())


def test_document_is_what_it_would_be_without():
    assert app_with(LazyRoute).openapi() == app_with(APIRoute).openapi()


def test_what_no_route_has_is_not_there_and_reads_nothing():
    route = lazy_routes(app_with(LazyRoute))[0]
    with pytest.raises(AttributeError, match="effective_route_contexts"):
        _ = route.effective_route_contexts
    assert not is_read(route)


def test_handler_that_cannot_be_read_shows_in_the_document():
    app = FastAPI()
    router = APIRouter(route_class=LazyRoute)

    @router.get("/broken")
    async def broken(what: Unreadable) -> None: ...

    app.router.routes.extend(router.routes)
    for _ in range(2):
        with pytest.raises(FastAPIError):
            app.openapi()
