import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, type Schemas } from "@/api/client";
import { Button } from "@/components/button";
import { Card, Fact, Facts } from "@/components/card";
import { Confirm, Dialog } from "@/components/dialog";
import { Field, Form, Input, Select } from "@/components/form";
import { Money } from "@/components/money";
import { toast, toastError } from "@/components/toasts";
import { credits } from "@/lib/money";
import { wallet as texts } from "@/texts/wallet";

const t = texts.card;
type Payments = Schemas["PaymentsView"];
type Plan = Schemas["Plan"];

/** The saved card, and when it is charged by itself. Nothing where the pool takes no cards. */
export function CardAndPlan({ payments }: { payments: Payments }) {
  const queries = useQueryClient();
  const { actions, card, plan } = payments;
  const save = useMutation({
    mutationFn: () => ask(api.POST("/api/v1/wallet/card")),
    onSuccess: ({ url, message }) => (url ? location.assign(url) : toast({ title: message })),
    onError: toastError,
  });
  if (payments.provider === "manual") return null;
  return (
    <Card title={t.title}>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <span>{card ?? <span className="text-muted">{t.none}</span>}</span>
        {actions.forget_card.allowed && (
          <Confirm
            trigger={<Button size="sm">{t.forget}</Button>}
            title={t.forgetTitle}
            about={t.forgetAbout}
            action={t.forget}
            run={async () => {
              await ask(api.DELETE("/api/v1/wallet/card"));
              await queries.invalidateQueries({ queryKey: ["wallet", "payments"] });
              toast({ title: t.forgotten, tone: "good" });
            }}
          />
        )}
        {!card && actions.save_card.allowed && (
          <Button size="sm" pending={save.isPending} onClick={() => save.mutate()}>
            {t.save}
          </Button>
        )}
      </div>
      <Facts className="mt-3 border-t border-line pt-2">
        <Fact name={t.plan}>{t.plans[plan.plan]}</Fact>
        {plan.plan === "automatic" && (
          <Fact name={t.below}>
            <Money micros={plan.below_micros} />
          </Fact>
        )}
        {plan.plan !== "none" && (
          <>
            <Fact name={t.amount}>
              <Money micros={plan.amount_micros} />
            </Fact>
            <Fact name={t.monthly}>
              <Money micros={plan.monthly_micros} />
            </Fact>
          </>
        )}
      </Facts>
      {plan.stopped && (
        <p className="mt-1 text-sm text-warn">
          {t.stopped} {plan.stopped}
        </p>
      )}
      {actions.set_plan.allowed ? (
        <PlanDialog plan={plan} />
      ) : (
        <p className="mt-1 text-sm text-muted">{actions.set_plan.reason}</p>
      )}
    </Card>
  );
}

const typed = (micros: number) => (micros ? credits(micros).replaceAll(",", "") : "");

function PlanDialog({ plan }: { plan: Schemas["PlanView"] }) {
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState<Plan>(plan.plan);
  const queries = useQueryClient();
  const amounts = [
    ...(chosen === "automatic" ? [["below", t.below, plan.below_micros] as const] : []),
    ...(chosen === "none"
      ? []
      : [["amount", t.amount, plan.amount_micros] as const, ["monthly", t.monthly, plan.monthly_micros] as const]),
  ];
  return (
    <Dialog
      open={open}
      onOpenChange={setOpen}
      trigger={
        <Button size="sm" className="mt-2">
          {t.set}
        </Button>
      }
      title={t.setTitle}
    >
      <Form
        onSubmit={async ({ plan: _, ...given }) => {
          const numbers = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
          await ask(api.PUT("/api/v1/wallet/plan", { body: { plan: chosen, ...numbers } }));
          await queries.invalidateQueries({ queryKey: ["wallet", "payments"] });
          toast({ title: t.saved, tone: "good" });
          setOpen(false);
        }}
      >
        {(pending) => (
          <>
            <Field name="plan" label={t.plan}>
              <Select value={chosen} onChange={(event) => setChosen(event.target.value as Plan)}>
                {Object.entries(t.plans).map(([key, name]) => (
                  <option key={key} value={key}>
                    {name}
                  </option>
                ))}
              </Select>
            </Field>
            {amounts.map(([name, label, micros]) => (
              <Field key={name} name={name} label={label}>
                <Input inputMode="decimal" defaultValue={typed(micros)} required />
              </Field>
            ))}
            <Button type="submit" look="primary" pending={pending} className="self-end">
              {t.set}
            </Button>
          </>
        )}
      </Form>
    </Dialog>
  );
}
