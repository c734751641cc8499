"""The figures in the docs, as a table and as a picture, are those that were kept."""

import json
from pathlib import Path
from xml.etree import ElementTree

from benchmarks import picture, report, scheduling
from benchmarks.__main__ import BENCHMARKS, kept_figures, tables_of

ROOT = Path(__file__).resolve().parents[2]
KEPT = json.loads((ROOT / "benchmarks" / "results" / "scheduling.json").read_text())["data"]


def test_page_is_the_one_of_the_kept_figures() -> None:
    kept = kept_figures()
    names = {run["benchmark"] for run in kept} | {"api"}  # measured when the machine is next free
    assert set(BENCHMARKS) == names
    written = report.document(list(BENCHMARKS), [(run, tables_of(run)) for run in kept])
    assert (ROOT / report.DOCS).read_text() == written, "write it anew: ./dev bench docs"


def test_picture_of_allocations_is_the_one_of_the_kept_figures() -> None:
    drawn = picture.draw(KEPT["sizes"])
    assert (ROOT / picture.PICTURE).read_text() == drawn, "draw it anew: ./dev bench docs"
    assert f"]({picture.PICTURE.relative_to('docs')})" in (ROOT / "docs" / "benchmarks.md").read_text()


def test_picture_has_every_figure_and_colours_for_dark_pages() -> None:
    drawn = picture.draw(KEPT["sizes"])
    root = ElementTree.fromstring(drawn)
    told = {one.text for one in root.iter("{http://www.w3.org/2000/svg}title")}
    for one in KEPT["sizes"]:
        assert {f"{one['plain']['p50_ms']:g} ms", f"{one['allocation']['p99_ms']:g} ms"} <= told
    assert "prefers-color-scheme: dark" in drawn


def test_figures_of_other_schedulers_stand_beside_ours() -> None:
    table = next(one for one in scheduling.tables(KEPT) if one.title.startswith("Beside other schedulers"))
    assert "this pool" in table.rows[0][0]
    assert {"HTCondor", "Slurm", "Ray"} <= {row[0].split()[0] for row in table.rows}
    assert table.rows[-1][2] in (ROOT / "docs" / "benchmarks.md").read_text()
