"""Puts the built web app into the wheel and the sdist. hatchling loads this file by its path.

COMPUTEPOOL_WEB says what to do: `require` (fail where it cannot be built), `skip`, or `auto` (warn).
"""

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))
import web_build  # type: ignore[import-not-found]


class WebHook(BuildHookInterface[Any]):
    """The sdist carries the result: nobody needs Node to install it. For an editable install ./dev builds it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wish = os.environ.get("COMPUTEPOOL_WEB", "auto")
        is_from_sdist = (web_build.ROOT / "PKG-INFO").is_file() and web_build.STAMP.is_file()
        if version == "editable" or wish == "skip" or is_from_sdist:
            return
        try:
            web_build.build()
        except (web_build.NoNode, web_build.BuildFailed) as error:
            if wish == "require":
                raise
            self.app.display_warning(f"The package is built without the web app. {error}")
