import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import type { Schemas } from "@/api/client";
import { useMoney } from "@/api/hooks";
import { catalogQuery, statsQuery } from "@/api/queries/public";
import { Card } from "@/components/card";
import { Switch } from "@/components/form";
import { bytes, country } from "@/lib/amounts";
import { submit as text } from "@/texts/submit";
import { Control, type Problem, SelectBox, TextBlock, TextBox } from "./control";
import { type Draft, envText, isSimulated, parseEnv, simulated, withField } from "./draft";

type Props = { draft: Draft; change: (draft: Draft) => void; problems: Problem[] };
type Catalog = Schemas["CatalogView"];
const ANY = "any";
const SIZES = ["1GB", "2GB", "4GB", "8GB", "16GB", "32GB", "64GB"];
const CARD_SIZES = ["8GB..", "12GB..", "16GB..", "24GB..", "48GB..", "80GB.."];
const CORES = ["1", "2", "4", "8", "16", "32"];
const TIMES = ["5m", "30m", "1h", "4h", "12h", "1d", "7d"];
const DISKS = ["1GB", "10GB", "50GB", "100GB", "500GB"];

const Pair = ({ children }: { children: ReactNode }) => <div className="grid grid-cols-2 gap-3">{children}</div>;

function Chip({ label, remove, children }: { label: string; remove: () => void; children: ReactNode }) {
  return (
    <span className="inline-flex h-7 max-w-full items-center gap-1 rounded-full bg-sunken pr-1 pl-2.5 text-sm">
      <span className="truncate">{children}</span>
      <button
        type="button"
        aria-label={label}
        onClick={remove}
        className="cursor-pointer rounded-full p-1 text-muted hover:text-text"
      >
        <X size={12} aria-hidden />
      </button>
    </span>
  );
}

function Gpu({ draft, change, problems, catalog }: Props & { catalog: Catalog | undefined }) {
  const gpu = draft.resources.gpu;
  const set = (next: Partial<Schemas["WireGpu"]> | null) =>
    change(withField(draft, "resources.gpu", next && { count: 1, ...gpu, ...next }));
  const names = catalog?.gpus ?? [];
  const choose = (value: string) => {
    const chosen = value && { count: 1, ...gpu, name: value === ANY ? null : value };
    const next = withField(draft, "resources.gpu", chosen || null);
    const card = names.find(({ name }) => name === value);
    // A card that only simulated nodes have is only given to jobs that ask for those.
    change(card && !card.gpus_free && card.nodes_simulated ? simulated(next, true) : next);
  };
  return (
    <>
      <Control label={text.gpu} field="resources.gpu" problems={problems}>
        {(given) => (
          <SelectBox given={given} value={gpu ? (gpu.name ?? ANY) : ""} onChange={({ target }) => choose(target.value)}>
            <option value="">{text.noGpu}</option>
            <option value={ANY}>{text.anyGpu}</option>
            {gpu?.name && !names.some(({ name }) => name === gpu.name) && <option value={gpu.name}>{gpu.name}</option>}
            {names.map(({ name, gpus_free, nodes_simulated }) => (
              <option key={name} value={name}>
                {text.gpuOption(name, gpus_free, nodes_simulated)}
              </option>
            ))}
          </SelectBox>
        )}
      </Control>
      {gpu && (
        <Pair>
          <Control label={text.gpuMemory} field="resources.gpu.memory" problems={problems}>
            {(given) => (
              <TextBox
                given={given}
                options={CARD_SIZES}
                placeholder="24GB.."
                value={gpu.memory ?? ""}
                onChange={({ target }) => set({ memory: target.value || null })}
              />
            )}
          </Control>
          <Control label={text.gpuCount} field="resources.gpu.count" problems={problems}>
            {(given) => (
              <TextBox
                given={given}
                type="number"
                min={1}
                max={catalog?.limits.gpus}
                value={gpu.count}
                onChange={({ target }) => set({ count: Number(target.value) || 1 })}
              />
            )}
          </Control>
        </Pair>
      )}
    </>
  );
}

function Countries({ draft, change, problems, catalog }: Props & { catalog: Catalog | undefined }) {
  const chosen = draft.where.country ?? [];
  const set = (next: string[]) => change(withField(draft, "where.country", next));
  const all = (catalog?.countries ?? []).toSorted((a, b) => b.nodes_online - a.nodes_online);
  return (
    <Control label={text.country} field="where.country" problems={problems}>
      {(given) => (
        <>
          <SelectBox
            given={given}
            value=""
            onChange={({ target }) => target.value && set([...chosen, target.value].toSorted())}
          >
            <option value="">{chosen.length ? text.addCountry : text.anyCountry}</option>
            {all
              .filter(({ code }) => !chosen.includes(code))
              .map(({ code, name, nodes_online }) => (
                <option key={code} value={code}>
                  {nodes_online ? `${name} (${nodes_online})` : name}
                </option>
              ))}
          </SelectBox>
          {chosen.length > 0 && (
            <span className="mt-2 flex flex-wrap gap-1.5">
              {chosen.map((code) => (
                <Chip
                  key={code}
                  label={text.removeCountry(country(code))}
                  remove={() => set(chosen.filter((other) => other !== code))}
                >
                  {country(code)}
                </Chip>
              ))}
            </span>
          )}
        </>
      )}
    </Control>
  );
}

function More({ draft, change, problems }: Props) {
  const money = useMoney();
  const box = (field: keyof Draft | "where.min_reliability", label: string, hint?: string) => (
    <Control label={label} field={field} problems={problems} hint={hint}>
      {(given) => (
        <TextBox
          given={given}
          inputMode="decimal"
          value={String(
            (field === "where.min_reliability" ? draft.where.min_reliability : draft[field as keyof Draft]) ?? "",
          )}
          onChange={({ target }) => {
            const isNumber = field !== "budget" && target.value !== "" && !Number.isNaN(Number(target.value));
            change(withField(draft, field, isNumber ? Number(target.value) : target.value));
          }}
        />
      )}
    </Control>
  );
  return (
    <details className="group">
      <summary className="cursor-pointer text-sm font-medium text-muted hover:text-text">{text.moreNeeds}</summary>
      <div className="mt-3 grid gap-3">
        <Pair>
          {box("retries", text.retries)}
          {box("where.min_reliability", text.reliability)}
        </Pair>
        {money && box("budget", text.budget, text.budgetHint)}
        <Control label={text.env} field="env" problems={problems} hint={text.envHint}>
          {(given) => (
            <TextBlock
              given={given}
              rows={3}
              defaultValue={envText(draft.env)}
              onBlur={({ target }) => change(withField(draft, "env", parseEnv(target.value)))}
            />
          )}
        </Control>
        <Switch
          label={text.preemptible}
          about={text.preemptibleAbout}
          checked={draft.preemptible ?? false}
          onChange={(on) => change(withField(draft, "preemptible", on))}
        />
      </div>
    </details>
  );
}

/** What one slice needs and where it may run, by what this pool has. */
export function Needs(props: Props) {
  const { draft, change, problems } = props;
  const catalog = useQuery(catalogQuery).data;
  const money = useMoney();
  const hasSimulated = (useQuery(statsQuery).data?.nodes_simulated ?? 0) > 0;
  const { resources } = draft;
  const resource = (name: "cpus" | "memory" | "disk", options: string[], placeholder: string) => (
    <Control label={text[name]} field={`resources.${name}`} problems={problems}>
      {(given) => (
        <TextBox
          given={given}
          options={options}
          placeholder={placeholder}
          value={resources[name] ?? ""}
          onChange={({ target }) => change(withField(draft, `resources.${name}`, target.value))}
        />
      )}
    </Control>
  );
  const trust = draft.where.trust ?? "any";
  const least = catalog ? bytes(catalog.limits.size_min_bytes) : "";
  return (
    <Card title={text.needs}>
      <div className="mt-2 grid gap-3">
        {draft.where.node && (
          <div>
            <p className="mb-1 text-sm font-medium">{text.onNode}</p>
            <Chip label={text.anyNode} remove={() => change(withField(draft, "where.node", null))}>
              <span className="font-mono">{draft.where.node}</span>
            </Chip>
          </div>
        )}
        <Gpu {...props} catalog={catalog} />
        <div className="grid grid-cols-3 gap-3" title={least}>
          {resource("cpus", CORES, "1")}
          {resource("memory", SIZES, "1GB")}
          {resource("disk", DISKS, "1GB")}
        </div>
        <Pair>
          <Control label={text.runtime} field="max_runtime" problems={problems}>
            {(given) => (
              <TextBox
                given={given}
                options={TIMES}
                placeholder="1d"
                value={draft.max_runtime ?? ""}
                onChange={({ target }) => change(withField(draft, "max_runtime", target.value))}
              />
            )}
          </Control>
          <Control label={text.slices} field="slices" problems={problems}>
            {(given) => (
              <TextBox
                given={given}
                type="number"
                min={1}
                max={catalog?.limits.slices}
                placeholder="1"
                title={text.slicesHint}
                value={draft.slices ?? ""}
                onChange={({ target }) =>
                  change(withField(draft, "slices", target.value === "" ? null : Number(target.value)))
                }
              />
            )}
          </Control>
        </Pair>
        <Countries {...props} catalog={catalog} />
        <Control
          label={text.trust}
          field="where.trust"
          problems={problems}
          hint={catalog?.trust.find(({ value }) => value === trust)?.text}
        >
          {(given) => (
            <SelectBox
              given={given}
              value={trust}
              onChange={({ target }) =>
                change(withField(draft, "where.trust", target.value === "any" ? null : target.value))
              }
            >
              {(catalog?.trust.toReversed() ?? [{ value: trust }]).map(({ value }) => (
                <option key={value} value={value}>
                  {value}
                </option>
              ))}
            </SelectBox>
          )}
        </Control>
        <Control
          label={text.isolation}
          field="isolation"
          problems={problems}
          hint={catalog?.isolation.find(({ value }) => value === draft.isolation)?.text}
        >
          {(given) => (
            <SelectBox
              given={given}
              value={draft.isolation ?? ""}
              onChange={({ target }) => change(withField(draft, "isolation", target.value || null))}
            >
              <option value="">{text.isolationAny}</option>
              {catalog?.isolation.map(({ value }) => (
                <option key={value} value={value}>
                  {value}
                </option>
              ))}
            </SelectBox>
          )}
        </Control>
        <Control label={text.outputs} field="outputs" problems={problems} hint={text.outputsHint}>
          {(given) => (
            <TextBox
              given={given}
              placeholder="out/**"
              className="font-mono"
              value={(draft.outputs ?? []).join(" ")}
              onChange={({ target }) =>
                change(withField(draft, "outputs", target.value ? target.value.split(/[\s,]/) : []))
              }
              onBlur={() => change(withField(draft, "outputs", (draft.outputs ?? []).filter(Boolean)))}
            />
          )}
        </Control>
        {money && (
          <Control label={text.maxPrice} field="max_price" problems={problems} hint={text.maxPriceHint}>
            {(given) => (
              <TextBox
                given={given}
                inputMode="decimal"
                value={draft.max_price ?? ""}
                onChange={({ target }) => change(withField(draft, "max_price", target.value))}
              />
            )}
          </Control>
        )}
        <Switch
          label={text.network}
          about={text.networkAbout}
          checked={draft.network ?? false}
          onChange={(on) => change(withField(draft, "network", on))}
        />
        {(hasSimulated || isSimulated(draft)) && (
          <Switch
            label={text.simulated}
            about={text.simulatedAbout}
            checked={isSimulated(draft)}
            onChange={(on) => change(simulated(draft, on))}
          />
        )}
        <More {...props} />
      </div>
    </Card>
  );
}
