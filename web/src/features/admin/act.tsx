// Things that an operator does: each asks first, says what it does, and shows why it cannot be done.
import { useQueryClient } from "@tanstack/react-query";
import { Ellipsis } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { idempotencyKey, type Schemas } from "@/api/client";
import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Field, Form, Input, Select, TextArea, type Values } from "@/components/form";
import { Menu, MenuItem } from "@/components/menu";
import { toast } from "@/components/toasts";
import { admin } from "@/texts/admin";
import { common } from "@/texts/common";

export type ActField = {
  name: string;
  label: string;
  hint?: string;
  optional?: boolean;
  kind?: "text" | "long" | "number" | "choice" | "email";
  options?: readonly (readonly [string, string])[];
  value?: string;
};
export type ActSpec = {
  name: string;
  /** Whether it may be done, by the API; nothing for what an admin always may. */
  view?: Schemas["ActionView"] | null | undefined;
  title: string;
  /** What it does, and what cannot be undone. */
  about: ReactNode;
  fields?: ActField[];
  /** `key`: the Idempotency-Key of this window. A text that it gives is shown with the message. */
  run: (values: Values, key: string) => Promise<unknown>;
  done: string;
  danger?: boolean;
  look?: "primary" | "plain" | "quiet" | "danger";
};

function Control({ field }: { field: ActField }) {
  const needed = !field.optional;
  const initial = field.value ?? "";
  if (field.kind === "long") return <TextArea required={needed} rows={3} defaultValue={initial} />;
  if (field.kind === "choice")
    return (
      <Select defaultValue={initial}>
        {field.options?.map(([key, name]) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </Select>
    );
  const numeric = field.kind === "number";
  return (
    <Input
      required={needed}
      defaultValue={initial}
      type={field.kind === "email" ? "email" : "text"}
      {...(numeric ? { inputMode: "decimal" as const } : {})}
      autoComplete="off"
    />
  );
}

function ActForm({ act, onClose }: { act: ActSpec; onClose: () => void }) {
  const queries = useQueryClient();
  // One for each opened window: what is sent twice is done once.
  const [key] = useState(idempotencyKey);
  const submit = async (values: Values) => {
    const told = await act.run(values, key);
    onClose();
    toast({ title: act.done, ...(typeof told === "string" ? { about: told } : {}) });
    for (const area of ["admin", "jobs", "nodes"]) void queries.invalidateQueries({ queryKey: [area] });
  };
  return (
    <Form onSubmit={submit}>
      {(pending) => (
        <>
          {act.fields?.map((field) => (
            <Field
              key={field.name}
              name={field.name}
              label={field.label}
              hint={field.hint}
              optional={field.optional ?? false}
            >
              <Control field={field} />
            </Field>
          ))}
          <div className="mt-1 flex justify-end gap-2">
            <Button onClick={onClose}>{common.cancel}</Button>
            <Button type="submit" look={act.danger ? "danger" : "primary"} pending={pending}>
              {act.name}
            </Button>
          </div>
        </>
      )}
    </Form>
  );
}
const ActDialog = ({ act, open, onClose }: { act: ActSpec; open: boolean; onClose: () => void }) => (
  <Dialog open={open} onOpenChange={(next) => !next && onClose()} title={act.title} about={act.about}>
    <ActForm act={act} onClose={onClose} />
  </Dialog>
);

/** A button for one action. Where it is refused, the button is off and says why. */
export function Act({ act, size = "sm" }: { act: ActSpec; size?: "sm" | "md" }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const refusal = act.view?.allowed === false ? (act.view.reason ?? admin.notAllowed) : null;
  return (
    <>
      <Button
        size={size}
        look={act.look ?? (act.danger ? "danger" : "plain")}
        disabled={refusal !== null}
        title={refusal ?? undefined}
        aria-describedby={refusal ? id : undefined}
        onClick={() => setOpen(true)}
      >
        {act.name}
      </Button>
      {refusal && (
        <span id={id} className="sr-only">
          {refusal}
        </span>
      )}
      <ActDialog act={act} open={open} onClose={() => setOpen(false)} />
    </>
  );
}

/** Actions as buttons: those that may be done, and why the others may not. */
export function Acts({ acts, explain }: { acts: ActSpec[]; explain?: boolean }) {
  const may = acts.filter((act) => act.view?.allowed !== false);
  const not = acts.filter((act) => act.view?.allowed === false);
  if (acts.length === 0) return null;
  return (
    <div className={explain ? undefined : "inline-block"}>
      <div className="flex flex-wrap gap-2">
        {(explain ? acts : may).map((act) => (
          <Act key={act.name} act={act} />
        ))}
      </div>
      {explain && not.length > 0 && (
        <ul className="mt-2 text-sm text-muted">
          {not.map((act) => (
            <li key={act.name}>
              {act.name}: {act.view?.reason}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Actions of a row behind one button. */
export function ActMenu({ label, acts }: { label: string; acts: ActSpec[] }) {
  const [chosen, setChosen] = useState<string | null>(null);
  return (
    <>
      <Menu
        trigger={
          <Button look="quiet" size="icon" aria-label={label}>
            <Ellipsis size={16} aria-hidden />
          </Button>
        }
      >
        {acts.map((act) => (
          <MenuItem
            key={act.name}
            danger={act.danger ?? false}
            disabled={act.view?.allowed === false}
            onClick={() => setChosen(act.name)}
          >
            <span>
              {act.name}
              {act.view?.allowed === false && (
                <span className="block max-w-56 text-sm text-pretty text-muted">{act.view.reason}</span>
              )}
            </span>
          </MenuItem>
        ))}
      </Menu>
      {acts.map((act) => (
        <ActDialog key={act.name} act={act} open={chosen === act.name} onClose={() => setChosen(null)} />
      ))}
    </>
  );
}
