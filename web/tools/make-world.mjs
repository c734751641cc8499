// Makes the two grids of the world that the app draws: each cell of land knows its country. The browser then needs no
// projection, no polygons and no library. Run by hand when world-atlas changes; the results are committed.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { geoArea, geoBounds, geoCentroid, geoContains, geoEqualEarth } from "d3-geo";
import { feature } from "topojson-client";

const require = createRequire(import.meta.url);
const read = (name) => JSON.parse(readFileSync(require.resolve(`world-atlas/${name}.json`), "utf8"));
const codes = new Map(require("i18n-iso-countries/codes.json").map(([two, , number]) => [number, two])); // world-atlas has numbers
const atlas = read("countries-50m"); // the 1:110m file lacks Singapore, Malta and sixty others
const shapes = feature(atlas, atlas.objects.countries)
  .features.filter((one) => one.id !== "010")
  .map((one) => ({ two: codes.get(one.id) ?? "", one, box: geoBounds(one) }));
// Where people live: the empty Pacific and the poles are cut off.
const FRAME = {
  type: "MultiPoint",
  coordinates: [
    [-166, 64],
    [179, 66],
    [178, -38],
    [-124, 42],
    [0, 74],
    [0, -54],
  ],
};

const inBox = ([[w, s], [e, n]], [x, y]) => y >= s && y <= n && (w <= e ? x >= w && x <= e : x >= w || x <= e);

function grid(columns, rows) {
  const projection = geoEqualEarth().fitSize([columns, rows], FRAME);
  const cells = Array.from({ length: columns * rows }, (_, index) => {
    const row = Math.floor(index / columns);
    const point = [(index % columns) + 0.5 + (row % 2 ? 0.25 : -0.25), row + 0.5];
    const place = projection.invert(point);
    // Beyond the edge of the world `invert` goes round again, and Alaska would be there twice.
    if (!place || Math.abs(projection(place)[0] - point[0]) > 0.01) return "";
    return shapes.find(({ one, box }) => inBox(box, place) && geoContains(one, place))?.two ?? "";
  });
  // Whoever is smaller than a cell gets the one in its middle: a node in Singapore is on the map.
  for (const { two, one } of shapes) {
    if (!two || cells.includes(two)) continue;
    const parts = one.geometry.type === "MultiPolygon" ? one.geometry.coordinates : [one.geometry.coordinates];
    const largest = parts
      .map((coordinates) => ({ type: "Polygon", coordinates }))
      .sort((a, b) => geoArea(b) - geoArea(a))[0];
    const [x, y] = projection(geoCentroid(largest));
    const row = Math.min(rows - 1, Math.max(0, Math.floor(y)));
    const column = Math.min(columns - 1, Math.max(0, Math.round(x - 0.5 - (row % 2 ? 0.25 : -0.25))));
    if (cells[row * columns + column] === "") cells[row * columns + column] = two;
  }
  const names = [...new Set(cells)].sort(); // "" is the sea
  const runs = [];
  for (let at = 0; at < cells.length; ) {
    let end = at;
    while (end < cells.length && cells[end] === cells[at]) end++;
    runs.push(names.indexOf(cells[at]), end - at);
    at = end;
  }
  return { columns, rows, names, runs };
}

for (const [name, columns, rows] of [
  ["small", 120, 57],
  ["large", 240, 114],
]) {
  const made = grid(columns, rows);
  writeFileSync(`src/features/map/world-${name}.json`, JSON.stringify(made));
  console.log(name, made.names.length - 1, "countries,", made.runs.length / 2, "runs");
}
