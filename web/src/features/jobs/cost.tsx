import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { explainQuery } from "@/api/queries/jobs";
import { Card } from "@/components/card";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { State } from "@/components/state";
import { When } from "@/components/when";
import { jobTexts } from "@/texts/jobs";

const text = jobTexts.cost;

/** How the cost came about, in the hub's own words and steps. */
export function Cost({ jobId, slice }: { jobId: string; slice: number }) {
  return (
    <Loaded query={useQuery(explainQuery(jobId, slice))}>
      {(explained) => (
        <div className="flex flex-col gap-4">
          <Card title={text.details}>
            <Sentences words={explained.words} className="text-lg" />
            {explained.others.length > 0 && (
              <div className="-mx-4 mt-3">
                <Payments payments={explained.others} />
              </div>
            )}
          </Card>
          {explained.attempts.map((attempt) => (
            <Attempt key={attempt.attempt_id} attempt={attempt} />
          ))}
        </div>
      )}
    </Loaded>
  );
}

const Sentences = ({ words, className }: { words: string[]; className?: string }) => (
  <div className={className}>
    {words.map((sentence) => (
      <p key={sentence} className="text-pretty">
        {sentence}
      </p>
    ))}
  </div>
);

function Attempt({ attempt }: { attempt: Schemas["AttemptExplained"] }) {
  return (
    <Card title={text.attempt(attempt.slice, attempt.number)} aside={<State of={attempt.state} />} flush>
      <div className="px-4 pb-4">
        <Sentences words={attempt.words} />
        {attempt.rate.length > 0 && (
          <>
            <h3 className="mt-4 text-sm font-medium text-muted">{text.rate}</h3>
            <Steps steps={attempt.rate} />
          </>
        )}
      </div>
      {attempt.payments.length > 0 && <Payments payments={attempt.payments} />}
    </Card>
  );
}

const Steps = ({ steps }: { steps: Schemas["Step"][] }) => (
  <table className="mt-1 w-full text-left text-sm">
    <tbody className="divide-y divide-line">
      {steps.map((step) => (
        <tr key={`${step.label} ${step.figure}`}>
          <td className="py-1.5 pr-4">{step.label}</td>
          <td className="py-1.5 pr-4 text-right whitespace-nowrap text-muted">{step.figure}</td>
          <td className="w-28 py-1.5 text-right">{step.micros != null && <Money micros={step.micros} />}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

const Payments = ({ payments }: { payments: Schemas["PaymentView"][] }) => (
  <ul aria-label={text.payments} className="divide-y divide-line border-t border-line">
    {payments.map((payment) => (
      <li key={payment.entry_id} className="px-4 py-3">
        <div className="flex flex-wrap justify-between gap-x-4">
          <span className="text-muted">
            <When at={payment.at} />
          </span>
          <Money micros={payment.change_micros} signed />
        </div>
        <p className="text-pretty">{payment.rule}</p>
        {payment.steps.length > 0 && <Steps steps={payment.steps} />}
      </li>
    ))}
  </ul>
);
