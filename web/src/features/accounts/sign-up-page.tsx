import { Link } from "@tanstack/react-router";
import { useConfig } from "@/api/hooks";
import { signIn } from "@/api/session";
import { Button } from "@/components/button";
import { CountrySelect } from "@/components/country-select";
import { Field, Form, Input } from "@/components/form";
import { accounts } from "@/texts/accounts";
import { Narrow } from "./narrow";
import { useNext } from "./next";

const text = accounts.signUp;

export default function SignUpPage() {
  const next = useNext();
  const config = useConfig();
  const have = (
    <>
      {text.haveAccount}{" "}
      <Link to="/sign-in" search={next ? { next } : {}} className="text-accent underline underline-offset-4">
        {accounts.signIn.submit}
      </Link>
    </>
  );
  if (config?.sign_in.registration === "closed") {
    return (
      <Narrow title={text.closed} below={have}>
        <p className="text-muted">{text.closedAbout}</p>
      </Narrow>
    );
  }
  return (
    <Narrow title={text.title} about={text.about} below={have}>
      <Form onSubmit={({ country, ...rest }) => signIn("auth/register", { ...rest, country: country || null })}>
        {(pending) => (
          <>
            <Field name="name" label={text.name}>
              <Input autoComplete="name" required maxLength={config?.limits.name_characters ?? 100} />
            </Field>
            <Field name="email" label={accounts.signIn.email}>
              <Input type="email" autoComplete="username" required />
            </Field>
            <Field
              name="password"
              label={accounts.signIn.password}
              hint={text.passwordHint(config?.limits.password_min_characters ?? 12)}
            >
              <Input type="password" autoComplete="new-password" required />
            </Field>
            <Field name="country" label={text.country} optional>
              <CountrySelect none={text.noCountry} />
            </Field>
            <Button type="submit" look="primary" size="lg" pending={pending}>
              {text.submit}
            </Button>
          </>
        )}
      </Form>
    </Narrow>
  );
}
