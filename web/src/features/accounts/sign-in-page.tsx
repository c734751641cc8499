import { Link } from "@tanstack/react-router";
import { useConfig } from "@/api/hooks";
import { signIn } from "@/api/session";
import { Button } from "@/components/button";
import { Field, Form, Input } from "@/components/form";
import { accounts } from "@/texts/accounts";
import { Narrow } from "./narrow";
import { useNext } from "./next";

const text = accounts.signIn;

export default function SignInPage() {
  const next = useNext();
  const isOpen = useConfig()?.sign_in.registration === "open";
  const create = (
    <>
      {text.noAccount}{" "}
      <Link to="/sign-up" search={next ? { next } : {}} className="text-accent underline underline-offset-4">
        {text.create}
      </Link>
    </>
  );
  return (
    <Narrow title={text.title} about={text.about} below={isOpen ? create : text.link}>
      <Form onSubmit={({ email, password }) => signIn("auth/login", { email, password })}>
        {(pending) => (
          <>
            <Field name="email" label={text.email}>
              <Input type="email" autoComplete="username" required />
            </Field>
            <Field name="password" label={text.password}>
              <Input type="password" autoComplete="current-password" required />
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
