export type Grid = { columns: number; rows: number; names: string[]; runs: number[] };
export type World = {
  columns: number;
  rows: number;
  land: number[];
  cells: Map<string, number[]>;
  at: (index: number) => string;
};

/** Every cell of land, and each country's cells from its middle outwards. */
export function readWorld({ columns, rows, names, runs }: Grid): World {
  const owner = new Uint8Array(columns * rows);
  const cells = new Map<string, number[]>();
  const land: number[] = [];
  for (let i = 0, at = 0; i < runs.length; i += 2) {
    const name = runs[i]!;
    const end = at + runs[i + 1]!;
    for (; at < end; at++) {
      owner[at] = name;
      if (names[name] === "") continue;
      land.push(at);
      const list = cells.get(names[name]!);
      if (list) list.push(at);
      else cells.set(names[name]!, [at]);
    }
  }
  for (const list of cells.values()) {
    const places = list.map((index) => [index % columns, Math.floor(index / columns)] as const);
    const middle = places[0]!.map(
      (_, axis) => places.map((place) => place[axis]!).sort((a, b) => a - b)[places.length >> 1]!,
    );
    list.sort((a, b) => distance(a) - distance(b));
    function distance(index: number) {
      return ((index % columns) - middle[0]!) ** 2 + (Math.floor(index / columns) - middle[1]!) ** 2;
    }
  }
  return { columns, rows, land, cells, at: (index) => names[owner[index]!] ?? "" };
}

/** The middle of a cell, in cells. Every other row is shifted, so that the dots are packed like oranges. */
export function middleOf(index: number, columns: number): [number, number] {
  const row = Math.floor(index / columns);
  return [(index % columns) + 0.5 + (row % 2 ? 0.25 : -0.25), row + 0.5];
}
