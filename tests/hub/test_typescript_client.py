"""A TypeScript client comes from the document, compiles under `strict`, and has no `unknown` in an answer.

It downloads the generator and the compiler, so it is a proof: `./dev prove typescript`. The light twin of every run is
`test_openapi.py::test_no_answer_has_a_field_that_may_be_anything`.
"""

import re
import shutil

import pytest
from support.contract import DOCUMENT
from support.typescript import CLIENT, run

HEADERS = re.compile(r"^\s*\[name: string\]: unknown;$")
"""The generator writes this for headers that a document does not name."""


@pytest.mark.slow
@pytest.mark.proof(long=True)
def test_typescript_client_is_made_and_compiles(tmp_path):
    if shutil.which("npm") is None:
        pytest.skip("npm: it is not installed")
    folder = shutil.copytree(CLIENT, tmp_path / "client", ignore=shutil.ignore_patterns("node_modules", "page.ts"))
    run("npm", "ci", "--ignore-scripts", folder=folder)
    run("npx", "openapi-typescript", str(DOCUMENT), "-o", "api.d.ts", "--default-non-nullable=false", folder=folder)
    written = (folder / "api.d.ts").read_text().splitlines()
    assert [line for line in written if re.search(r"\bunknown;", line) and not HEADERS.match(line)] == []
    run("npx", "tsc", "--project", ".", folder=folder)
    wrong = (folder / "client.ts").read_text().replace("job.spec.resources.memory", "job.spec.resources.colour")
    (folder / "client.ts").write_text(wrong)
    with pytest.raises(AssertionError, match="colour"):  # the compiler does look
        run("npx", "tsc", "--project", ".", folder=folder)
