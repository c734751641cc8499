"""What goes wrong is told with the lines where it did, and without what was in their variables."""

import io

import pytest
import structlog

from computepool.hub.core.logging import configure_logging


@pytest.fixture(autouse=True)
def as_it_was():
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.mark.parametrize("json", [True, False])
def test_no_variable_of_a_failing_function_is_in_the_log(json):
    def sign_in(password):
        raise RuntimeError(f"a password of {len(password)} letters did not do")

    file = io.StringIO()
    configure_logging(json=json, file=file)
    try:
        sign_in("".join(("hunter", "2")))
    except RuntimeError:
        structlog.get_logger().exception("mail.failed")
    assert "a password of 7 letters" in file.getvalue()
    assert "sign_in" in file.getvalue()
    assert "hunter2" not in file.getvalue()
