import { Field as BaseField } from "@base-ui/react/field";
import { Form as BaseForm } from "@base-ui/react/form";
import { Switch as BaseSwitch } from "@base-ui/react/switch";
import { type ComponentProps, type ReactNode, useState } from "react";
import { ApiError } from "@/api/errors";
import { cn } from "@/lib/cn";
import { common } from "@/texts/common";
import { inputClass } from "./input-class";
import { Trouble } from "./trouble";

export type Values = Record<string, string>;
type Props = {
  onSubmit: (values: Values) => Promise<unknown>;
  className?: string;
  children: (pending: boolean) => ReactNode;
};
/** A form that sends its texts and shows what the API refused beside the field that it names, the rest above the button. */
export function Form({ onSubmit, className, children }: Props) {
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [names, setNames] = useState<string[]>([]);
  const fields = error instanceof ApiError ? error.fields : [];
  const errors = Object.fromEntries(
    fields.map((one) => [one.field, one.hint ? `${one.message}. ${one.hint}` : one.message]),
  );
  const isShownBeside = fields.length > 0 && fields.every((one) => names.includes(one.field));
  const submit = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const values = Object.fromEntries(
      [...data].filter((pair): pair is [string, string] => typeof pair[1] === "string"),
    );
    setNames([...data.keys()]);
    setPending(true);
    setError(null);
    try {
      await onSubmit(values);
    } catch (failure) {
      setError(failure);
    } finally {
      setPending(false);
    }
  };
  return (
    <BaseForm
      method="post"
      errors={errors}
      className={cn("flex flex-col gap-4", className)}
      onSubmit={(event) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}
    >
      {error != null && !isShownBeside && <Trouble error={error} compact />}
      {children(pending)}
    </BaseForm>
  );
}

type FieldProps = {
  name: string;
  label: string;
  hint?: ReactNode;
  optional?: boolean;
  className?: string;
  children: ReactNode;
};
/** A label, a control, a hint, and what is wrong with it. `name`: the API's name of the field. */
export function Field({ name, label, hint, optional, className, children }: FieldProps) {
  return (
    <BaseField.Root name={name} className={cn("flex flex-col gap-1", className)}>
      <BaseField.Label className="font-medium">
        {label}
        {optional && <span className="ml-1.5 text-sm font-normal text-muted">{common.optional}</span>}
      </BaseField.Label>
      {children}
      {hint && <BaseField.Description className="text-sm text-muted">{hint}</BaseField.Description>}
      <BaseField.Error className="text-sm text-bad" />
    </BaseField.Root>
  );
}
/** Inside a Field. */
export const Input = ({ className, ...rest }: ComponentProps<typeof BaseField.Control>) => (
  <BaseField.Control className={cn(inputClass, className)} {...rest} />
);
/** Inside a Field: the browser's own list, which works everywhere. */
export const Select = ({ className, children, ...rest }: ComponentProps<"select">) => (
  <BaseField.Control render={<select {...rest} className={cn(inputClass, "px-2", className)} />}>
    {children}
  </BaseField.Control>
);
export const TextArea = ({ className, ...rest }: ComponentProps<"textarea">) => (
  <BaseField.Control render={<textarea {...rest} className={cn(inputClass, "h-auto min-h-20 py-2", className)} />} />
);

/** On or off, with its label; takes effect at once. */
export function Switch({
  label,
  about,
  checked,
  disabled,
  onChange,
}: {
  label: string;
  about?: ReactNode;
  checked: boolean;
  disabled?: boolean;
  onChange: (on: boolean) => void;
}) {
  return (
    <BaseField.Root className="flex items-start justify-between gap-4">
      <div>
        <BaseField.Label className="font-medium">{label}</BaseField.Label>
        {about && <BaseField.Description className="text-sm text-muted">{about}</BaseField.Description>}
      </div>
      <BaseSwitch.Root
        checked={checked}
        disabled={disabled}
        onCheckedChange={(on) => onChange(on)}
        className="mt-0.5 flex h-5 w-9 shrink-0 cursor-pointer items-center rounded-full border border-edge bg-sunken p-0.5 transition-colors data-checked:border-ink data-checked:bg-ink data-disabled:opacity-50"
      >
        <BaseSwitch.Thumb className="size-3.5 rounded-full bg-edge transition-transform data-checked:translate-x-4 data-checked:bg-on-ink" />
      </BaseSwitch.Root>
    </BaseField.Root>
  );
}
