import { useQuery } from "@tanstack/react-query";
import { ledgerQuery } from "@/api/queries/admin";
import { Card, Fact, Facts, Figure, Figures } from "@/components/card";
import { Empty } from "@/components/empty";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { State } from "@/components/state";
import { When } from "@/components/when";
import { count } from "@/lib/amounts";
import { adminHub } from "@/texts/admin-hub";
import { Act } from "./act";
import { checkLedger } from "./acts";
import { inWords, Section } from "./section";

const { ledger: text } = adminHub;

export default function LedgerPage() {
  const query = useQuery(ledgerQuery);
  const last = query.data?.last;
  return (
    <Section
      title={text.title}
      about={text.about}
      actions={<Act act={checkLedger()} size="md" />}
      beside={last && <State of={last.balanced ? "online" : "failed"}>{last.balanced ? text.adds : text.not}</State>}
    >
      <Loaded query={query}>
        {({ last, frozen_since }) => (
          <>
            {frozen_since && (
              <p role="alert" className="rounded-lg bg-bad-soft px-4 py-3 text-bad">
                {text.frozen} <When at={frozen_since} />. {text.frozenAbout}
              </p>
            )}
            {!last && <Empty title={text.never} about={text.neverAbout} />}
            {last && (
              <>
                {last.problems.length > 0 && (
                  <Card title={text.problems}>
                    <ul className="list-disc pl-5">
                      {last.problems.map((problem) => (
                        <li key={problem} className="break-words">
                          {problem}
                        </li>
                      ))}
                    </ul>
                  </Card>
                )}
                <Figures className="rounded-lg border border-line">
                  <Figure name={text.checkedAt} value={<When at={last.checked_at} ago />} />
                  <Figure name={text.accounts} value={count(last.accounts)} />
                  <Figure name={text.entries} value={count(last.entries)} />
                  <Figure name={text.moved} value={<Money micros={last.moved_micros} />} />
                </Figures>
                <Card title={text.platform}>
                  <Facts>
                    {Object.entries(last.platform).map(([account, micros]) => (
                      <Fact key={account} name={inWords(account)}>
                        <Money micros={micros} />
                      </Fact>
                    ))}
                  </Facts>
                </Card>
              </>
            )}
          </>
        )}
      </Loaded>
    </Section>
  );
}
