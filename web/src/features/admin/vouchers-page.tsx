import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, idempotencyKey, type Schemas } from "@/api/client";
import { redemptionsQuery, vouchersQuery } from "@/api/queries/admin";
import { flat } from "@/api/queries/pages";
import { Button } from "@/components/button";
import { CopyButton } from "@/components/command-line";
import { Dialog } from "@/components/dialog";
import { Empty } from "@/components/empty";
import { Field, Form, Input, type Values } from "@/components/form";
import { Money } from "@/components/money";
import { More } from "@/components/more";
import { SkeletonRows } from "@/components/skeleton";
import { State } from "@/components/state";
import { When } from "@/components/when";
import { count } from "@/lib/amounts";
import { admin } from "@/texts/admin";
import { adminHub } from "@/texts/admin-hub";
import { type ActSpec, Acts } from "./act";
import { Listing, Person, Section } from "./section";

const { vouchers: text } = adminHub;
type Voucher = Schemas["VoucherView"];

/** The code is known only while this window is open. */
function Make() {
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const [code, setCode] = useState<string | null>(null);
  const [key, setKey] = useState(idempotencyKey);
  const change = (next: boolean) => {
    setOpen(next);
    setCode(null);
    setKey(idempotencyKey());
  };
  const make = async ({ credits = "", uses, expires_in_days, note, code }: Values) => {
    const body = {
      credits,
      uses: Number(uses || 1),
      expires_in_days: expires_in_days ? Number(expires_in_days) : null,
      note: note ?? "",
      code: code || null,
    };
    const made = await ask(
      api.POST("/api/v1/admin/vouchers", { params: { header: { "Idempotency-Key": key } }, body }),
    );
    setCode(made.code);
    void queries.invalidateQueries({ queryKey: ["admin", "vouchers"] });
  };
  return (
    <Dialog
      trigger={<Button look="primary">{text.make}</Button>}
      open={open}
      onOpenChange={change}
      title={code ? text.made : text.makeTitle}
      about={code ? text.shown : text.makeAbout}
    >
      {code ? (
        <div className="grid gap-4">
          <p className="flex items-center justify-between gap-2 rounded-md border border-line bg-sunken py-2 pr-2 pl-3">
            <code className="text-lg break-all">{code}</code>
            <CopyButton text={code} />
          </p>
          <Button look="primary" className="justify-self-end" onClick={() => change(false)}>
            {text.ok}
          </Button>
        </div>
      ) : (
        <Form onSubmit={make}>
          {(pending) => (
            <>
              <div className="grid gap-4 sm:grid-cols-2">
                <Field name="credits" label={text.credits}>
                  <Input required inputMode="decimal" autoComplete="off" />
                </Field>
                <Field name="uses" label={text.uses}>
                  <Input required inputMode="numeric" defaultValue="1" autoComplete="off" />
                </Field>
              </div>
              <Field name="expires_in_days" label={text.days} optional>
                <Input inputMode="numeric" autoComplete="off" />
              </Field>
              <Field name="note" label={admin.note} optional>
                <Input autoComplete="off" />
              </Field>
              <Field name="code" label={text.code} hint={text.codeHint} optional>
                <Input autoComplete="off" />
              </Field>
              <Button type="submit" look="primary" className="self-end" pending={pending}>
                {text.make}
              </Button>
            </>
          )}
        </Form>
      )}
    </Dialog>
  );
}

function Redeemed({ id }: { id: string }) {
  const query = useInfiniteQuery(redemptionsQuery(id));
  if (!query.data) return <SkeletonRows rows={3} />;
  const rows = flat(query.data);
  if (rows.length === 0) return <p className="text-muted">{text.nobody}</p>;
  return (
    <>
      <ul className="divide-y divide-line">
        {rows.map(({ user_id, email, redeemed_at }) => (
          <li key={user_id} className="flex justify-between gap-4 py-2">
            <Person id={user_id} name={email} />
            <span className="text-muted">
              <When at={redeemed_at} ago />
            </span>
          </li>
        ))}
      </ul>
      <More query={query} />
    </>
  );
}

const withdraw = ({ id, actions }: Voucher): ActSpec => ({
  name: text.withdraw,
  view: actions.withdraw,
  danger: true,
  title: text.withdrawTitle,
  about: text.withdrawAbout,
  done: text.withdrew,
  run: () => ask(api.POST("/api/v1/admin/vouchers/{voucher_id}/withdraw", { params: { path: { voucher_id: id } } })),
});

const stateOf = ({ withdrawn_at, used, uses, actions }: Voucher) => {
  if (withdrawn_at) return <State of="withdrawn">{text.withdrawn}</State>;
  if (used >= uses) return <State of="used">{text.usedUp}</State>;
  return actions.withdraw.allowed ? (
    <State of="online">{text.valid}</State>
  ) : (
    <State of="expired">{text.expired}</State>
  );
};

export default function VouchersPage() {
  const query = useInfiniteQuery(vouchersQuery());
  return (
    <Section title={text.title} about={text.about} actions={<Make />}>
      <Listing
        label={text.title}
        query={query}
        keyOf={({ id }) => id}
        empty={<Empty title={text.empty} about={text.emptyAbout} />}
        columns={[
          {
            name: text.voucher,
            cell: ({ micros, note }) => (
              <>
                <Money micros={micros} className="font-medium" />
                <p className="text-sm text-muted">{note}</p>
              </>
            ),
          },
          {
            name: text.used,
            cell: ({ id, used, uses }) => (
              <Dialog
                title={text.who}
                trigger={
                  <button type="button" className="cursor-pointer text-accent hover:underline">
                    {text.of(count(used), count(uses))}
                  </button>
                }
              >
                <Redeemed id={id} />
              </Dialog>
            ),
          },
          { name: text.expires, className: "max-sm:hidden", cell: ({ expires_at }) => <When at={expires_at} ago /> },
          { name: text.created, className: "max-md:hidden", cell: ({ created_at }) => <When at={created_at} ago /> },
          { name: admin.state, cell: stateOf },
          { name: admin.actions, align: "right", cell: (voucher) => <Acts acts={[withdraw(voucher)]} /> },
        ]}
      />
    </Section>
  );
}
