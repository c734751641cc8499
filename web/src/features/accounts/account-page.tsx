import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ask, type Schemas } from "@/api/client";
import { useConfig, useMoney } from "@/api/hooks";
import { meQuery } from "@/api/queries/account";
import { signIn } from "@/api/session";
import { Button } from "@/components/button";
import { Card, Fact, Facts } from "@/components/card";
import { CountrySelect } from "@/components/country-select";
import { Field, Form, Input, Switch } from "@/components/form";
import { Loaded } from "@/components/loaded";
import { toast, toastError } from "@/components/toasts";
import { date } from "@/lib/time";
import { accounts } from "@/texts/accounts";
import { common } from "@/texts/common";
import { AccountFrame } from "./account-frame";

type Me = Schemas["MeView"];

function useChange() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["MeChange"]) => ask(api.PATCH("/api/v1/me", { body })),
    onSuccess: (me) => queries.setQueryData(meQuery.queryKey, me),
  });
}

function Profile({ me }: { me: Me }) {
  const text = accounts.profile;
  const limit = useConfig()?.limits.name_characters ?? 100;
  const change = useChange();
  const save = async ({ name, country, public_name }: Record<string, string>) => {
    await change.mutateAsync({ name, country: country || null, public_name: public_name || null });
    toast({ title: common.saved });
  };
  return (
    <Card title={text.title}>
      <div className="grid gap-x-10 gap-y-6 md:grid-cols-[1fr_16rem]">
        <Form onSubmit={save}>
          {(pending) => (
            <>
              <Field name="name" label={text.name}>
                <Input defaultValue={me.name} required maxLength={limit} autoComplete="name" />
              </Field>
              <Field name="public_name" label={text.publicName} hint={text.publicNameHint} optional>
                <Input defaultValue={me.public_name ?? ""} maxLength={limit} autoComplete="off" />
              </Field>
              <Field name="country" label={text.country} optional>
                <CountrySelect defaultValue={me.country ?? ""} none={accounts.signUp.noCountry} />
              </Field>
              <div>
                <Button type="submit" look="primary" pending={pending}>
                  {text.save}
                </Button>
              </div>
            </>
          )}
        </Form>
        <Facts className="self-start text-sm">
          <Fact name={text.email}>{me.email}</Fact>
          <Fact name={text.since}>{date(me.created_at)}</Fact>
          <Fact name={text.id}>
            <span className="font-mono text-xs">{me.id}</span>
          </Fact>
        </Facts>
      </div>
    </Card>
  );
}

function Password({ me }: { me: Me }) {
  const text = accounts.password;
  const queries = useQueryClient();
  const least = useConfig()?.limits.password_min_characters;
  const save = async ({ current_password, new_password }: Record<string, string>) => {
    await signIn("me/password", { current_password: current_password || null, new_password });
    toast({ title: text.done });
    await queries.invalidateQueries();
  };
  return (
    <Card title={text.title} about={me.has_password ? text.change : text.first}>
      {/* Anew once it is set: what was typed is gone. */}
      <Form key={String(me.has_password)} onSubmit={save} className="max-w-sm">
        {(pending) => (
          <>
            <input type="text" autoComplete="username" value={me.email} readOnly hidden />
            {me.has_password && (
              <Field name="current_password" label={text.current}>
                <Input type="password" autoComplete="current-password" required />
              </Field>
            )}
            <Field name="new_password" label={text.next} hint={least && accounts.signUp.passwordHint(least)}>
              <Input type="password" autoComplete="new-password" required />
            </Field>
            <div>
              <Button type="submit" pending={pending}>
                {text.save}
              </Button>
            </div>
          </>
        )}
      </Form>
    </Card>
  );
}

function Mails({ me }: { me: Me }) {
  const text = accounts.mails;
  const config = useConfig();
  const money = useMoney();
  const change = useChange();
  const kinds = [
    ["jobs", text.jobs, text.jobsAbout],
    ...(money ? [["money", text.money, text.moneyAbout] as const] : []),
    ["nodes", text.nodes, text.nodesAbout],
    ["disputes", text.disputes, text.disputesAbout],
  ] as const;
  return (
    <Card title={text.title} about={config?.mail === false ? text.off : text.about}>
      <div className="flex flex-col gap-4 pt-2">
        {kinds.map(([kind, label, about]) => (
          <Switch
            key={kind}
            label={label}
            about={about}
            checked={me.mails[kind] ?? false}
            disabled={change.isPending}
            onChange={(on) => change.mutate({ mails: { [kind]: on } }, { onError: toastError })}
          />
        ))}
      </div>
    </Card>
  );
}

export default function AccountPage() {
  return (
    <AccountFrame>
      <Loaded query={useQuery(meQuery)}>
        {(me) => (
          <>
            <Profile me={me} />
            <Password me={me} />
            <Mails me={me} />
          </>
        )}
      </Loaded>
    </AccountFrame>
  );
}
