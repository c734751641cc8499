import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, ask, type Schemas } from "@/api/client";
import { type MarketTable, marketTableQuery } from "@/api/queries/admin";
import { Button } from "@/components/button";
import { Card } from "@/components/card";
import { inputClass } from "@/components/input-class";
import { Loaded } from "@/components/loaded";
import { When } from "@/components/when";
import { cn } from "@/lib/cn";
import { adminHub } from "@/texts/admin-hub";
import { Act, type ActSpec } from "./act";
import { Person, Section } from "./section";
import { type Cells, readRows, rowsOf } from "./table-values";

const { table: text, settings } = adminHub;
const HEADS: Record<MarketTable, string[]> = {
  tiers: [text.card, text.tier],
  regions: [text.region, text.factor, text.countries],
  rates: [],
};
const WIDTHS: Record<MarketTable, string> = {
  tiers: "grid-cols-[minmax(0,1fr)_7rem_2rem]",
  regions: "grid-cols-[minmax(0,1fr)_5rem_2rem] sm:grid-cols-[10rem_6rem_minmax(0,1fr)_2rem]",
  rates: "grid-cols-[minmax(0,1fr)_8rem]",
};

function Editor({ table }: { table: Schemas["TableView"] }) {
  const { name, version } = table;
  const stored = rowsOf(name, table.value);
  const [looked, setLooked] = useState(version);
  const [rows, setRows] = useState(stored);
  if (looked !== version) {
    setLooked(version);
    setRows(stored);
  }
  const isChanged = JSON.stringify(rows) !== JSON.stringify(stored);
  const heads = HEADS[name];
  const put = (row: number, column: number, typed: string) =>
    setRows(rows.map((cells, at) => (at === row ? cells.map((cell, i) => (i === column ? typed : cell)) : cells)));
  const isFixed = (row: number) => name === "rates" || (name === "tiers" && row === 0);
  const save: ActSpec = {
    name: text.save,
    look: "primary",
    view: isChanged ? undefined : { allowed: false, reason: text.unchanged },
    title: text.saveTitle,
    about: text.saveAbout,
    done: text.saved,
    run: async () => {
      const body = { value: readRows(name, rows), version };
      await ask(api.PUT("/api/v1/admin/market/{name}", { params: { path: { name } }, body }));
    },
  };
  return (
    <>
      <Card>
        <div className="grid gap-2">
          {heads.length > 0 && (
            <div className={cn("grid gap-2 text-sm text-muted max-sm:hidden", WIDTHS[name])}>
              {heads.map((head) => (
                <span key={head}>{head}</span>
              ))}
            </div>
          )}
          {rows.map((cells, row) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name while they are typed
            <div key={row} className={cn("grid items-center gap-2", WIDTHS[name])}>
              {cells.map((cell, column) =>
                isFixed(row) && column === 0 ? (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the columns are always the same
                  <span key={column}>{name === "tiers" ? text.cpu : cell}</span>
                ) : (
                  <input
                    // biome-ignore lint/suspicious/noArrayIndexKey: the columns are always the same
                    key={column}
                    aria-label={`${heads[column] ?? cells[0]} ${name === "rates" ? "" : cells[0] || text.cpu}`.trim()}
                    value={cell}
                    onChange={(event) => put(row, column, event.target.value)}
                    className={cn(
                      inputClass,
                      "h-8",
                      column === 1 && "text-right",
                      column === 2 && "max-sm:order-last max-sm:col-span-3 max-sm:mb-2",
                    )}
                  />
                ),
              )}
              {!isFixed(row) && (
                <Button
                  look="quiet"
                  size="icon"
                  aria-label={text.remove(cells[0] ?? "")}
                  onClick={() => setRows(rows.filter((_, at) => at !== row))}
                >
                  <Trash2 size={14} aria-hidden />
                </Button>
              )}
            </div>
          ))}
        </div>
        <div className="mt-4 flex flex-wrap gap-2">
          {name !== "rates" && (
            <Button onClick={() => setRows([...rows, heads.map(() => "")])}>
              <Plus size={14} aria-hidden /> {name === "tiers" ? text.addCard : text.addRegion}
            </Button>
          )}
          <span className="flex-1" />
          {isChanged && <Button onClick={() => setRows(stored)}>{text.discard}</Button>}
          <Act act={save} size="md" />
        </div>
      </Card>
      <Versions table={table} load={(cells) => setRows(cells)} />
    </>
  );
}

function Versions({ table, load }: { table: Schemas["TableView"]; load: (rows: Cells[]) => void }) {
  return (
    <Card flush title={text.history}>
      {table.history.length === 0 ? (
        <p className="border-t border-line p-4 text-muted">{text.noHistory}</p>
      ) : (
        <ol className="divide-y divide-line border-t border-line">
          {table.history.map(({ version, changed_at, changed_by, value }) => (
            <li key={version} className="flex flex-wrap items-center justify-between gap-3 px-4 py-2.5">
              <span>
                <span className="font-medium">{text.version(version)}</span>{" "}
                <span className="text-sm text-muted">
                  <When at={changed_at} ago /> <Person id={changed_by} />
                </span>
              </span>
              <Button size="sm" onClick={() => load(rowsOf(table.name, value))}>
                {text.use}
              </Button>
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}

export default function TablePage() {
  const { table = "" } = useParams({ strict: false });
  const name = table as MarketTable;
  const query = useQuery(marketTableQuery(name));
  return (
    <Section
      title={settings.tableNames[name] ?? name}
      back={{ to: "/admin/settings", name: text.back }}
      about={settings.tableAbout[name]}
    >
      <Loaded query={query}>
        {(found) => (
          <>
            {found.notices.map((notice) => (
              <p key={notice} className="rounded-lg bg-warn-soft px-4 py-3 text-warn">
                {notice}
              </p>
            ))}
            <Editor table={found} />
          </>
        )}
      </Loaded>
    </Section>
  );
}
