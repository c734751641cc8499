"""A route that FastAPI looks into when it is first called, not when it is declared.

What a handler takes and gives is worked out by FastAPI once for each route, a millisecond or two: with more than a
hundred routes that was most of a hub's start, and nobody calls them all. To find a route, and to know who may call it,
none of that is needed. A handler that FastAPI cannot read would show at its first call: `app.openapi()` reads them all,
and a test compares that with what was agreed on.
"""

from collections.abc import Callable
from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import compile_path, get_name


class LazyRoute(APIRoute):
    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self._declared = options
        self.path, self.endpoint = path, endpoint
        self.name = options.get("name") or get_name(endpoint)
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)
        self.methods = {method.upper() for method in options.get("methods") or ("GET",)}
        self.dependencies = [*(options.get("dependencies") or ())]

    def __getattr__(self, name: str) -> Any:
        """Called for what is not there yet."""
        if name not in _WORKED_OUT or name in vars(self):
            raise AttributeError(f"a route has no {name!r}", name=name, obj=self)
        super().__init__(self.path, self.endpoint, **self._declared)
        return vars(self)[name]


_WORKED_OUT = {*APIRoute.__annotations__, "app"}
