import { useMutation, useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { api, ask, type Schemas } from "@/api/client";
import { statementsQuery } from "@/api/queries/wallet";
import { Button } from "@/components/button";
import { Card } from "@/components/card";
import { Loaded } from "@/components/loaded";
import { toastError } from "@/components/toasts";
import { wallet as texts } from "@/texts/wallet";

const t = texts.statements;
type Period = Schemas["StatementPeriod"];
type Format = "csv" | "pdf";

const MONTH = new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" });
const nameOf = ({ period, start }: Period) => (period.length > 4 ? MONTH.format(new Date(start)) : period);

async function download(period: string, format: Format) {
  const path = { period };
  const call = api.GET("/api/v1/wallet/statements/{period}", { params: { path, query: { format } }, parseAs: "blob" });
  const address = URL.createObjectURL((await ask(call as never)) as Blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = `computepool-${period}.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function Statements() {
  const query = useQuery(statementsQuery);
  const get = useMutation({
    mutationFn: ({ period, format }: { period: string; format: Format }) => download(period, format),
    onError: toastError,
  });
  const row = (period: Period) => (
    <li key={period.period} className="flex items-center gap-2 py-1.5">
      <span className="mr-auto">
        {nameOf(period)} {!period.is_over && <span className="text-sm text-muted">{t.upToNow}</span>}
      </span>
      {(["csv", "pdf"] as const).map((format) => (
        <Button
          key={format}
          size="sm"
          aria-label={t.get(nameOf(period), t[format])}
          pending={get.isPending && get.variables?.period === period.period && get.variables.format === format}
          onClick={() => get.mutate({ period: period.period, format })}
        >
          <Download size={12} aria-hidden /> {t[format]}
        </Button>
      ))}
    </li>
  );
  return (
    <Card title={t.title}>
      <Loaded query={query}>
        {({ months, years }) =>
          months.length === 0 ? (
            <p className="text-muted">{t.none}</p>
          ) : (
            <>
              <ul aria-label={t.months} className="max-h-56 divide-y divide-line overflow-y-auto">
                {months.map(row)}
              </ul>
              <ul aria-label={t.years} className="mt-2 divide-y divide-line border-t border-line pt-1">
                {years.map(row)}
              </ul>
            </>
          )
        }
      </Loaded>
    </Card>
  );
}
