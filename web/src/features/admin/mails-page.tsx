import { useInfiniteQuery } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { mailsQuery } from "@/api/queries/admin";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { State } from "@/components/state";
import { When } from "@/components/when";
import { count } from "@/lib/amounts";
import { admin } from "@/texts/admin";
import { adminHub } from "@/texts/admin-hub";
import { Act, type ActSpec, Acts } from "./act";
import { resend } from "./acts";
import { Listing, options, Person, Section, UrlChip, UrlSelect } from "./section";

const { mails: text } = adminHub;
const LOOKS = { waiting: "warn", sent: "good", given_up: "bad", logged: "idle" } as const;

const test: ActSpec = {
  name: text.test,
  title: text.testTitle,
  about: text.testAbout,
  fields: [{ name: "address", label: text.address, kind: "email" }],
  done: text.tested,
  run: async ({ address = "" }) => (await ask(api.POST("/api/v1/admin/mails/test", { body: { address } }))).answer,
};

export default function MailsPage() {
  const [filters] = useFilters();
  const query = useInfiniteQuery(mailsQuery(filters));
  const first = query.data?.pages[0];
  return (
    <Section title={text.title} about={text.about} actions={<Act act={test} size="md" />}>
      {first && (
        <p className="flex flex-wrap gap-x-4 text-muted">
          <span>
            {text.where} <span className="text-text">{first.where}</span>
          </span>
          <span>
            {text.waiting} <span className="text-text">{count(first.waiting)}</span>
          </span>
        </p>
      )}
      {first?.away && (
        <p role="alert" className="rounded-lg bg-warn-soft px-4 py-3 text-warn">
          {text.away} {first.away}
        </p>
      )}
      <Listing
        label={text.title}
        query={query}
        keyOf={({ id }) => id}
        empty={<Empty title={text.empty} about={text.emptyAbout} />}
        filters={
          <>
            <UrlSelect
              name="state"
              label={admin.anyState}
              options={options(["waiting", "sent", "logged", "given_up"])}
            />
            <UrlChip name="user" label={text.user} />
          </>
        }
        columns={[
          {
            name: text.mail,
            cell: ({ subject, words }) => (
              <>
                <span className="font-medium break-words">{subject}</span>
                {words && <p className="line-clamp-2 text-sm text-muted">{words}</p>}
              </>
            ),
          },
          {
            name: text.to,
            className: "max-sm:hidden",
            cell: ({ user_id, address }) => <Person id={user_id} name={address} />,
          },
          {
            name: text.made,
            className: "max-md:hidden",
            cell: ({ created_at, next_try_at }) => (
              <>
                <When at={created_at} ago />
                {next_try_at && (
                  <p className="text-sm text-muted">
                    {text.nextTry} <When at={next_try_at} ago />
                  </p>
                )}
              </>
            ),
          },
          { name: text.tries, align: "right", className: "max-md:hidden", cell: ({ tries }) => count(tries) },
          { name: admin.state, cell: ({ state }) => <State of={state} look={LOOKS[state]} /> },
          {
            name: admin.actions,
            align: "right",
            cell: ({ id, actions }) => <Acts acts={[resend(id, actions.resend)]} />,
          },
        ]}
      />
    </Section>
  );
}
