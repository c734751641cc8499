import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { api, ask, type Schemas } from "@/api/client";
import { type NodeView, pricePreviewQuery } from "@/api/queries/nodes";
import { Button } from "@/components/button";
import { Card, Fact, Facts } from "@/components/card";
import { Field, Form, Input } from "@/components/form";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { Skeleton } from "@/components/skeleton";
import { Choices } from "@/components/tabs";
import { toast } from "@/components/toasts";
import { percent } from "@/lib/amounts";
import { cn } from "@/lib/cn";
import { credits, parseCredits } from "@/lib/money";
import { nodes as texts } from "@/texts/nodes";

const t = texts.price;
type Preview = Schemas["PricePreview"];
type Rule = keyof typeof t.rules;
const STEP_MICROS = 100_000;

const ruleOf = ({ price }: NodeView): Rule =>
  price?.fixed_micros != null ? "fixed" : price?.floor_micros != null ? "floor" : "pool";
/** As it is typed: without the groups of thousands. */
const typed = (micros: number) => credits(micros).replaceAll(",", "");

/** The host's price with what it would mean: its rank, the market's prices, and what a day would earn. */
export function PriceEditor({ node }: { node: NodeView }) {
  const set = node.price?.fixed_micros ?? node.price?.floor_micros ?? null;
  const [rule, setRule] = useState<Rule>(ruleOf(node));
  const [text, setText] = useState<string | null>(null);
  const now = useQuery(pricePreviewQuery(node.id, null));
  const queries = useQueryClient();
  const start = set ?? now.data?.suggested_micros ?? 0;
  const shown = text ?? typed(start);
  const wish = parseCredits(shown);
  const asked = rule === "pool" ? (now.data?.suggested_micros ?? null) : wish === null ? null : Number(wish);
  const preview = useQuery(pricePreviewQuery(node.id, useDeferredValue(asked)));
  const isAllowed = node.actions.price?.allowed ?? false;
  return (
    <Card title={t.title} aside={now.data && t.per[now.data.per]}>
      <Loaded query={now} skeleton={<Skeleton className="h-48 w-full" />}>
        {(current) => (
          <Form
            className="gap-3"
            onSubmit={async () => {
              if (rule !== "pool" && wish === null) throw new Error(t.wrong);
              const price =
                rule === "pool"
                  ? null
                  : rule === "floor"
                    ? { floor_micros: Number(wish) }
                    : { fixed_micros: Number(wish) };
              const path = { node_id: node.id };
              const changed = await ask(api.PATCH("/api/v1/nodes/{node_id}", { params: { path }, body: { price } }));
              queries.setQueryData(["node", node.id], changed);
              await queries.invalidateQueries({ queryKey: ["node", node.id, "price-preview"] });
              setText(null);
              toast({ title: t.saved, tone: "good" });
            }}
          >
            {(pending) => (
              <>
                <Facts>
                  <Fact name={t.now}>
                    <Money micros={current.current_micros} per="h" />
                  </Fact>
                  <Fact name={t.suggested}>
                    <Money micros={current.suggested_micros} per="h" />
                  </Fact>
                </Facts>
                {isAllowed ? (
                  <>
                    <div>
                      <Choices
                        label={t.rule}
                        value={rule}
                        options={(Object.keys(t.rules) as Rule[]).map((key) => [key, t.rules[key]] as const)}
                        onChange={setRule}
                      />
                    </div>
                    <p className="text-sm text-muted">{t.rulesAbout[rule]}</p>
                  </>
                ) : (
                  <p className="text-sm text-muted">{node.actions.price?.reason}</p>
                )}
                {preview.data && (
                  <Market
                    preview={preview.data}
                    slide={isAllowed && rule !== "pool" ? (micros) => setText(typed(micros)) : undefined}
                  />
                )}
                {isAllowed && (
                  <div className="flex items-end gap-2">
                    {rule !== "pool" && (
                      <Field name="price" label={t.amount} className="flex-1">
                        <Input inputMode="decimal" value={shown} onChange={(event) => setText(event.target.value)} />
                      </Field>
                    )}
                    <Button type="submit" look="primary" className="h-9" pending={pending}>
                      {t.save}
                    </Button>
                  </div>
                )}
                {preview.data && <Meaning preview={preview.data} />}
              </>
            )}
          </Form>
        )}
      </Loaded>
    </Card>
  );
}

/** The prices of comparable offers, with this one among them; a slider moves it. */
function Market({ preview, slide }: { preview: Preview; slide: ((micros: number) => void) | undefined }) {
  const { histogram, price_micros } = preview;
  if (histogram.length === 0) return <p className="text-sm text-muted">{t.nobody}</p>;
  const most = Math.max(...histogram.map((bar) => bar.offers));
  // The scale stays while the price moves on it.
  const known = [
    histogram[0]!.from_micros,
    histogram.at(-1)!.to_micros,
    preview.current_micros,
    preview.suggested_micros,
  ];
  const low = Math.floor((Math.min(...known) * 0.75) / STEP_MICROS) * STEP_MICROS;
  const high = Math.ceil((Math.max(...known) * 1.25) / STEP_MICROS) * STEP_MICROS;
  const span = (micros: number) => `${Math.min(1, Math.max(0, (micros - low) / (high - low))) * 100}%`;
  return (
    <div>
      <div role="img" aria-label={t.histogram(preview.offers)} className="relative h-16 border-b border-line">
        {histogram.map((bar) => (
          <div
            key={bar.from_micros}
            title={t.bar(bar.offers, credits(bar.from_micros), credits(bar.to_micros))}
            className={cn("absolute bottom-0 rounded-t-sm border-x border-surface", bar.offers > 0 && "bg-tier-0/50")}
            style={{
              left: span(bar.from_micros),
              width: span(low + bar.to_micros - bar.from_micros),
              height: `${(bar.offers / most) * 100}%`,
            }}
          />
        ))}
        <div className="absolute inset-y-0 w-0.5 -translate-x-1/2 bg-live-dot" style={{ left: span(price_micros) }} />
      </div>
      {slide && (
        <input
          type="range"
          aria-label={t.slider}
          min={low}
          max={high}
          step={STEP_MICROS}
          value={price_micros}
          onChange={(event) => slide(Number(event.target.value))}
          className="mt-2 w-full accent-live-dot"
        />
      )}
      <div className="mt-1 flex justify-between text-xs text-muted">
        <span>{credits(low)}</span>
        <span>{credits(high)}</span>
      </div>
    </div>
  );
}

const Meaning = ({ preview }: { preview: Preview }) => (
  <Facts className="border-t border-line pt-2 text-sm">
    <Fact name={t.rank}>{preview.words}</Fact>
    <Fact name={t.day}>
      {preview.per_day ? <Money micros={preview.per_day.net_micros} /> : <span className="text-muted">{t.noData}</span>}
      {preview.utilisation !== null && (
        <span className="block text-muted">{t.used(percent(preview.utilisation), preview.utilisation_basis)}</span>
      )}
    </Fact>
    <Fact name={t.full}>
      <Money micros={preview.full_day.net_micros} />
    </Fact>
  </Facts>
);
