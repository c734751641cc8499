import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, idempotencyKey, type Schemas } from "@/api/client";
import { useMe } from "@/api/hooks";
import { cashOutsQuery } from "@/api/queries/wallet";
import { Button } from "@/components/button";
import { Card, Fact, Facts } from "@/components/card";
import { CountrySelect } from "@/components/country-select";
import { Confirm, Dialog } from "@/components/dialog";
import { Field, Form, Input } from "@/components/form";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { State } from "@/components/state";
import { toast } from "@/components/toasts";
import { When } from "@/components/when";
import { credits as written } from "@/lib/money";
import { wallet as texts } from "@/texts/wallet";

const t = texts.cashOut;
type Can = Schemas["CashableView"];
type CashOut = Schemas["CashOutView"];

/** What can be cashed out and when the rest can, the form, and every cash-out with where it stands. */
export function CashOuts({ account }: { account: Schemas["PayoutAccountView"] | undefined }) {
  const query = useQuery(cashOutsQuery);
  return (
    <Card title={t.list} flush>
      <Loaded query={query}>
        {({ can, items }) => (
          <>
            <div className="px-4 pb-4">
              <Rules can={can} />
              {can.frozen && <p className="mt-1 text-sm text-warn">{t.frozen}</p>}
              {can.actions.request.allowed ? (
                <div className="mt-3">
                  <CashOutDialog can={can} />
                </div>
              ) : (
                <p className="mt-2 text-sm text-muted text-pretty">{can.actions.request.reason}</p>
              )}
              {account && <PayoutAccount account={account} />}
            </div>
            {items.length > 0 && (
              <ul aria-label={t.list} className="divide-y divide-line border-t border-line">
                {items.map((cashOut) => (
                  <CashOutRow key={cashOut.id} cashOut={cashOut} />
                ))}
              </ul>
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}

const Rules = ({ can }: { can: Can }) => (
  <Facts>
    <Fact name={t.can}>
      <Money micros={can.cashable_micros} className="font-medium" />
    </Fact>
    {can.later.slice(0, 3).map((later) => (
      <Fact key={later.at} name={t.later}>
        <Money micros={later.micros} /> <When at={later.at} ago />
      </Fact>
    ))}
    {can.unknown_micros > 0 && (
      <Fact name={t.unknown}>
        <Money micros={can.unknown_micros} />
      </Fact>
    )}
    <Fact name={t.least}>
      <Money micros={can.minimum_micros} />
    </Fact>
    <Fact name={t.wait}>{t.days(can.hold_back_days)}</Fact>
    <Fact name={t.way}>{can.way === "manual" ? t.manual : can.way}</Fact>
  </Facts>
);

function CashOutDialog({ can }: { can: Can }) {
  const [open, setOpen] = useState(false);
  const [key, setKey] = useState(idempotencyKey);
  const queries = useQueryClient();
  return (
    <Dialog open={open} onOpenChange={setOpen} trigger={<Button look="primary">{t.title}</Button>} title={t.title}>
      <Rules can={can} />
      <Form
        className="mt-4"
        onSubmit={async ({ credits = "" }) => {
          const cashOut = await ask(
            api.POST("/api/v1/wallet/cash-outs", {
              params: { header: { "Idempotency-Key": `${key}-${credits}` } },
              body: { credits: credits.trim().replace(",", ".") },
            }),
          );
          setKey(idempotencyKey());
          await queries.invalidateQueries({ queryKey: ["wallet"] });
          toast({ title: t.asked, about: cashOut.message, tone: "good" });
          setOpen(false);
        }}
      >
        {(pending) => (
          <div className="flex items-end gap-2">
            <Field name="credits" label={t.credits} className="flex-1">
              <Input
                inputMode="decimal"
                required
                defaultValue={written(can.cashable_micros, 6)
                  .replaceAll(",", "")
                  .replace(/\.?0+$/, "")}
              />
            </Field>
            <Button type="submit" look="primary" pending={pending} className="h-9">
              {t.request}
            </Button>
          </div>
        )}
      </Form>
    </Dialog>
  );
}

function CashOutRow({ cashOut }: { cashOut: CashOut }) {
  const queries = useQueryClient();
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="font-medium">
          <Money micros={cashOut.micros} />
        </span>
        <span className="text-sm text-muted">{cashOut.amount}</span>
        <span className="flex-1" />
        <State of={cashOut.state} />
      </div>
      <p className="mt-0.5 text-sm text-muted text-pretty">
        <When at={cashOut.created_at} /> · {cashOut.message}
      </p>
      {cashOut.reference && (
        <p className="text-sm break-words text-muted">
          {t.reference}: <code>{cashOut.reference}</code>
        </p>
      )}
      {cashOut.note && <p className="text-sm break-words text-muted">{cashOut.note}</p>}
      {cashOut.actions.cancel.allowed && (
        <Confirm
          trigger={
            <Button size="sm" className="mt-2">
              {t.cancel}
            </Button>
          }
          title={t.cancelTitle}
          about={t.cancelAbout}
          action={t.cancel}
          run={async () => {
            const path = { cash_out_id: cashOut.id };
            await ask(api.POST("/api/v1/wallet/cash-outs/{cash_out_id}/cancel", { params: { path } }));
            await queries.invalidateQueries({ queryKey: ["wallet"] });
            toast({ title: t.canceled, tone: "good" });
          }}
        />
      )}
    </li>
  );
}

/** Where earnings are paid to, as far as the processor knows it. */
function PayoutAccount({ account }: { account: Schemas["PayoutAccountView"] }) {
  const [open, setOpen] = useState(false);
  const me = useMe();
  const begin = useMutation({
    mutationFn: (country: string) =>
      ask(api.POST("/api/v1/wallet/payout-account", { body: { country: country || null } })),
    onSuccess: ({ url, message }) => (url ? location.assign(url) : toast({ title: message })),
  });
  return (
    <div className="mt-3 border-t border-line pt-3">
      <h3 className="text-sm font-medium">{t.account}</h3>
      <p className="text-sm text-muted text-pretty">{account.message}</p>
      {account.actions.begin.allowed && (
        <Dialog
          open={open}
          onOpenChange={setOpen}
          trigger={
            <Button size="sm" className="mt-2">
              {t.begin}
            </Button>
          }
          title={t.begin}
          about={account.message}
        >
          <Form onSubmit={({ country = "" }) => begin.mutateAsync(country)}>
            {(pending) => (
              <>
                <Field name="country" label={t.country} hint={t.countryHint}>
                  <CountrySelect {...(me?.country ? { defaultValue: me.country } : {})} none={t.countryNone} />
                </Field>
                <Button type="submit" look="primary" pending={pending} className="self-end">
                  {t.begin}
                </Button>
              </>
            )}
          </Form>
        </Dialog>
      )}
    </div>
  );
}
