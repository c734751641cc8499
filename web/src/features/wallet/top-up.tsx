import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { api, ask, idempotencyKey, type Schemas } from "@/api/client";
import { flat } from "@/api/queries/pages";
import { topUpQuoteQuery, topUpsQuery } from "@/api/queries/wallet";
import { Button, buttonClass } from "@/components/button";
import { Card } from "@/components/card";
import { Dialog } from "@/components/dialog";
import { Field, Form, Input, Select } from "@/components/form";
import { Money } from "@/components/money";
import { More } from "@/components/more";
import { Prose } from "@/components/prose";
import { State } from "@/components/state";
import { toast } from "@/components/toasts";
import { Trouble } from "@/components/trouble";
import { When } from "@/components/when";
import { parseCredits } from "@/lib/money";
import { wallet as texts } from "@/texts/wallet";

const t = texts.topUp;
const FIRST = "100";

/** Buys credits where the pool has a processor; else says whom to ask, in the API's words. */
export function TopUpDialog({ payments }: { payments: Schemas["PaymentsView"] }) {
  const [open, setOpen] = useState(false);
  const isPossible = payments.actions.top_up.allowed;
  return (
    <Dialog
      open={open}
      onOpenChange={setOpen}
      trigger={<Button look={isPossible ? "primary" : "plain"}>{texts.actions.topUp}</Button>}
      title={isPossible ? t.title : t.ask}
      about={isPossible ? t.waiting : <Prose>{payments.message}</Prose>}
    >
      {isPossible ? <TopUpForm payments={payments} done={() => setOpen(false)} /> : null}
    </Dialog>
  );
}

function TopUpForm({ payments, done }: { payments: Schemas["PaymentsView"]; done: () => void }) {
  const [amount, setAmount] = useState(FIRST);
  const [key] = useState(idempotencyKey);
  const [card, setCard] = useState<"new" | "saved">(payments.card ? "saved" : "new");
  const queries = useQueryClient();
  const wished = useDeferredValue(amount.trim().replace(",", "."));
  const quote = useQuery({ ...topUpQuoteQuery(wished), enabled: parseCredits(wished) !== null });
  return (
    <Form
      onSubmit={async ({ credits = "", save_card }) => {
        const topUp = await ask(
          api.POST("/api/v1/wallet/top-ups", {
            params: { header: { "Idempotency-Key": `${key}-${credits}-${card}` } },
            body: { credits: credits.trim().replace(",", "."), card, save_card: save_card === "on" },
          }),
        );
        if (topUp.url) {
          location.assign(topUp.url);
          return;
        }
        toast({ title: topUp.message || t.done, tone: "good" });
        await queries.invalidateQueries({ queryKey: ["wallet"] });
        done();
      }}
    >
      {(pending) => (
        <>
          <Field name="credits" label={t.credits} hint={quote.data?.message}>
            <Input
              inputMode="decimal"
              required
              value={amount}
              onChange={(event) => setAmount(event.target.value)}
              className="w-40"
            />
          </Field>
          {quote.error && <Trouble error={quote.error} compact />}
          {quote.data && !quote.data.actions.top_up.allowed && (
            <p className="text-sm text-warn">{quote.data.actions.top_up.reason}</p>
          )}
          {payments.card && (
            <Field name="card" label={t.card} hint={card === "saved" ? payments.card : undefined}>
              <Select value={card} onChange={(event) => setCard(event.target.value === "new" ? "new" : "saved")}>
                <option value="saved">{t.cards.saved}</option>
                <option value="new">{t.cards.new}</option>
              </Select>
            </Field>
          )}
          {card === "new" && payments.actions.save_card.allowed && (
            <label className="flex items-center gap-2">
              <input type="checkbox" name="save_card" className="size-4 accent-ink" /> {t.save}
            </label>
          )}
          <Button type="submit" look="primary" pending={pending} className="self-end">
            {card === "saved" ? t.paySaved : t.pay}
            {quote.data && ` · ${quote.data.amount}`}
          </Button>
        </>
      )}
    </Form>
  );
}

/** What was bought; nothing where nothing ever was. */
export function TopUps() {
  const query = useInfiniteQuery(topUpsQuery);
  const rows = query.data && flat(query.data);
  if (!rows?.length) return null;
  return (
    <Card title={t.list} flush>
      <ul className="divide-y divide-line border-t border-line">
        {rows.map((topUp) => (
          <li key={topUp.id} className="px-4 py-3">
            <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <span className="font-medium">
                <Money micros={topUp.micros} />
              </span>
              <span className="text-sm text-muted">{topUp.amount}</span>
              <span className="flex-1" />
              <State of={topUp.state} />
            </div>
            <p className="mt-0.5 text-sm text-muted text-pretty">
              <When at={topUp.created_at} /> · {topUp.message}
            </p>
            {topUp.actions.pay.allowed && topUp.url && (
              <a href={topUp.url} className={buttonClass({ size: "sm", className: "mt-2" })}>
                {t.open}
              </a>
            )}
          </li>
        ))}
      </ul>
      <More query={query} />
    </Card>
  );
}
