import { useMutation } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api, ask, type Schemas } from "@/api/client";
import { Button } from "@/components/button";
import { Fact, Facts } from "@/components/card";
import { inputClass } from "@/components/input-class";
import { Trouble } from "@/components/trouble";
import { When } from "@/components/when";
import { cn } from "@/lib/cn";
import { programOf } from "@/lib/user-agent";
import { accounts } from "@/texts/accounts";
import { Narrow } from "./narrow";

const text = accounts.device;
const CODE_LETTERS = 8;
const lettersOf = (code: string) => code.replace(/[^a-z0-9]/gi, "").toUpperCase();

/** Who asks: shown before anybody approves it. */
function Asking({ login }: { login: Schemas["DeviceLoginView"] }) {
  const where = login.same_address ? text.same : text.other;
  return (
    <Facts className="rounded-md border border-line bg-sunken/50 px-3 py-2">
      <Fact name={text.program}>{programOf(login.user_agent) || text.noName}</Fact>
      <Fact name={text.from}>
        <span className={login.same_address ? undefined : "font-medium text-warn"}>{`${login.address}, ${where}`}</span>
      </Fact>
      <Fact name={text.asked}>
        <When at={login.created_at} ago />
      </Fact>
      <Fact name={text.may}>
        {login.scopes.map((scope) => (
          <span key={scope} className="block">
            {accounts.tokens.scopesAbout[scope] ?? scope}
          </span>
        ))}
      </Fact>
    </Facts>
  );
}

export default function DevicePage() {
  const { code: given = "" } = useSearch({ strict: false }) as { code?: string };
  const [code, setCode] = useState(given.slice(0, 20).toUpperCase());
  const letters = lettersOf(code);
  const look = useMutation({
    mutationFn: (user_code: string) => ask(api.POST("/api/v1/auth/device/look", { body: { user_code } })),
  });
  const decide = useMutation({
    mutationFn: (approve: boolean) =>
      ask(api.POST("/api/v1/auth/device/approve", { body: { user_code: letters, approve } })),
  });
  const { mutate, reset } = look;
  useEffect(() => {
    if (letters.length === CODE_LETTERS) mutate(letters);
    else reset();
  }, [letters, mutate, reset]);
  if (decide.isSuccess) {
    return (
      <Narrow title={text.title}>
        <p role="status">{decide.variables ? text.approved : text.denied}</p>
      </Narrow>
    );
  }
  return (
    <Narrow title={text.title} about={text.about}>
      <form
        method="post"
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (look.data) decide.mutate(true);
        }}
      >
        <label className="flex flex-col gap-1 font-medium">
          {text.code}
          <input
            value={code}
            onChange={(event) => setCode(event.target.value.toUpperCase())}
            autoComplete="off"
            spellCheck={false}
            className={cn(inputClass, "font-mono text-lg tracking-widest")}
          />
        </label>
        {look.data && <Asking login={look.data} />}
        {(look.error ?? decide.error) && <Trouble error={look.error ?? decide.error} compact />}
        <div className="flex gap-2">
          <Button type="submit" look="primary" disabled={!look.data} pending={decide.isPending}>
            {text.approve}
          </Button>
          <Button disabled={!look.data || decide.isPending} onClick={() => decide.mutate(false)}>
            {text.deny}
          </Button>
        </div>
      </form>
    </Narrow>
  );
}
