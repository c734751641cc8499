import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, idempotencyKey, type Schemas } from "@/api/client";
import { useConfig, useMe } from "@/api/hooks";
import { tokensQuery } from "@/api/queries/account";
import { flat } from "@/api/queries/pages";
import { Button } from "@/components/button";
import { Card } from "@/components/card";
import { CommandLine, CopyButton } from "@/components/command-line";
import { Confirm, Dialog } from "@/components/dialog";
import { Empty } from "@/components/empty";
import { Field, Form, Input } from "@/components/form";
import { Loaded } from "@/components/loaded";
import { More } from "@/components/more";
import { Tag } from "@/components/state";
import { type Column, Table } from "@/components/table";
import { toast } from "@/components/toasts";
import { When } from "@/components/when";
import { accounts } from "@/texts/accounts";
import { common } from "@/texts/common";
import { AccountFrame } from "./account-frame";

const text = accounts.tokens;
type Token = Schemas["TokenView"];
type Scope = Schemas["Scope"];

/** Two steps in one window: what it may do, then the token itself, this once. */
function NewToken() {
  const queries = useQueryClient();
  const me = useMe();
  const limits = useConfig()?.limits;
  const [open, setOpen] = useState(false);
  const [made, setMade] = useState<Schemas["NewTokenView"] | null>(null);
  const [chosen, setChosen] = useState<Scope[] | null>(null);
  const [key, setKey] = useState(idempotencyKey);
  const scopes = chosen ?? me?.scopes ?? [];
  const show = (next: boolean) => {
    setOpen(next);
    if (!next) return;
    setMade(null);
    setChosen(null);
    setKey(idempotencyKey());
  };
  const create = async ({ name = "", expires_in_days }: Record<string, string>) => {
    const params = { header: { "Idempotency-Key": key } };
    const body = { name, expires_in_days: Number(expires_in_days), scopes };
    setMade(await ask(api.POST("/api/v1/tokens", { params, body })));
    await queries.invalidateQueries({ queryKey: ["tokens"] });
  };
  return (
    <Dialog
      trigger={<Button look="primary">{text.create}</Button>}
      open={open}
      onOpenChange={show}
      title={made ? made.name : text.create}
      about={made ? text.once : undefined}
    >
      {made ? (
        <div className="flex flex-col gap-4">
          <div className="flex items-center gap-2 rounded-md border border-line bg-sunken p-1 pl-3">
            <code className="flex-1 text-sm break-all">{made.token}</code>
            <CopyButton text={made.token} label={text.copy} />
          </div>
          <CommandLine line={`computepool login ${location.origin} --token ${made.token}`} />
          <div className="flex justify-end">
            <Button look="primary" onClick={() => setOpen(false)}>
              {text.done}
            </Button>
          </div>
        </div>
      ) : (
        <Form onSubmit={create}>
          {(pending) => (
            <>
              <Field name="name" label={text.name} hint={text.nameHint}>
                <Input required maxLength={limits?.token_name_characters} autoComplete="off" />
              </Field>
              <Field name="expires_in_days" label={text.days}>
                <Input
                  type="number"
                  required
                  min={1}
                  max={limits?.token_days_max}
                  defaultValue={limits?.token_days}
                  className="w-28!"
                />
              </Field>
              <fieldset>
                <legend className="font-medium">{text.scopes}</legend>
                <div className="mt-1.5 grid gap-x-4 gap-y-1.5 sm:grid-cols-2">
                  {(me?.scopes ?? []).map((scope) => (
                    <label key={scope} className="flex items-center gap-2">
                      <input
                        type="checkbox"
                        className="size-4 accent-ink"
                        checked={scopes.includes(scope)}
                        onChange={(event) =>
                          setChosen(event.target.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))
                        }
                      />
                      {text.scopesAbout[scope] ?? scope}
                    </label>
                  ))}
                </div>
              </fieldset>
              <div className="flex justify-end">
                <Button type="submit" look="primary" pending={pending} disabled={scopes.length === 0}>
                  {text.submit}
                </Button>
              </div>
            </>
          )}
        </Form>
      )}
    </Dialog>
  );
}

export default function TokensPage() {
  const queries = useQueryClient();
  const query = useInfiniteQuery(tokensQuery);
  const revoke = async (token_id: string) => {
    await ask(api.DELETE("/api/v1/tokens/{token_id}", { params: { path: { token_id } } }));
    await queries.invalidateQueries({ queryKey: ["tokens"] });
    toast({ title: text.revoked });
  };
  const columns: Column<Token>[] = [
    { name: text.name, cell: (one) => <span className="font-medium break-words">{one.name}</span> },
    {
      name: text.scopes,
      className: "max-md:hidden",
      cell: (one) => (
        <span className="flex flex-wrap gap-1">
          {one.scopes.map((scope) => (
            <Tag key={scope}>{scope}</Tag>
          ))}
        </span>
      ),
    },
    { name: text.used, cell: (one) => <When at={one.last_used_at} ago />, className: "max-sm:hidden" },
    { name: text.expires, cell: (one) => <When at={one.expires_at} ago /> },
    {
      name: common.actions,
      bare: true,
      align: "right",
      cell: (one) => (
        <Confirm
          trigger={<Button size="sm">{text.revoke}</Button>}
          title={text.revokeTitle(one.name)}
          about={text.revokeAbout}
          action={text.revoke}
          run={() => revoke(one.id)}
        />
      ),
    },
  ];
  return (
    <AccountFrame>
      <Card title={accounts.parts.tokens} about={text.about} aside={<NewToken />} flush>
        <Loaded query={query}>
          {(data) =>
            flat(data).length === 0 ? (
              <Empty title={text.none} about={text.noneAbout} />
            ) : (
              <Table label={accounts.parts.tokens} columns={columns} rows={flat(data)} keyOf={(one) => one.id} />
            )
          }
        </Loaded>
        <More query={query} />
      </Card>
    </AccountFrame>
  );
}
