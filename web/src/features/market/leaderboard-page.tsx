import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { useMoney, useSignedIn } from "@/api/hooks";
import { leaderboardQuery, type Period } from "@/api/queries/public";
import { buttonClass } from "@/components/button";
import { Card, Figure, Figures } from "@/components/card";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { Page } from "@/components/page";
import { type Column, Table } from "@/components/table";
import { Choices } from "@/components/tabs";
import { When } from "@/components/when";
import { count } from "@/lib/amounts";
import { leaderboard as text } from "@/texts/map";

type Work = Schemas["WorkDone"];
type Row = { key: string; place: number | null; name: string; work: Work };
const PERIODS = Object.entries(text.periods) as [Period, string][];

const rowsOf = ({ items, others }: Schemas["LeaderboardView"]): Row[] => [
  ...items.map(({ place, name, work }) => ({ key: name, place, name, work })),
  ...(others.attempts ? [{ key: "", place: null, name: text.others, work: others }] : []),
];

export default function LeaderboardPage() {
  const [filters, set] = useFilters<{ period?: string }>();
  const period = PERIODS.find(([key]) => key === filters.period)?.[0] ?? "30d";
  const query = useQuery({ ...leaderboardQuery(period), placeholderData: keepPreviousData });
  const money = useMoney();
  const signedIn = useSignedIn();
  const columns: Column<Row>[] = [
    { name: text.place, className: "w-16 text-muted", cell: ({ place }) => place ?? "" },
    {
      name: text.name,
      cell: ({ name, place }) => <span className={place ? "font-medium" : "text-muted"}>{name}</span>,
    },
    { name: text.gpuHours, align: "right", cell: ({ work }) => text.hours(work.gpu_hours) },
    {
      name: text.coreHours,
      align: "right",
      className: "max-sm:hidden",
      cell: ({ work }) => text.hours(work.core_hours),
    },
    { name: text.attempts, align: "right", className: "max-sm:hidden", cell: ({ work }) => count(work.attempts) },
    ...(money
      ? [
          {
            name: text.earned,
            align: "right" as const,
            className: "max-md:hidden",
            cell: ({ work }: Row) => (work.earned_micros == null ? "–" : <Money micros={work.earned_micros} />),
          },
        ]
      : []),
  ];
  const total = query.data?.total;
  return (
    <Page
      title={text.title}
      about={text.about}
      actions={
        <Choices
          label={text.period}
          value={period}
          options={PERIODS}
          onChange={(next) => set({ period: next === "30d" ? "" : next })}
        />
      }
    >
      <div className="grid gap-4">
        <section aria-label={text.everybody} className="overflow-hidden rounded-lg border border-line">
          <Figures>
            <Figure name={text.gpuHours} value={total ? text.hours(total.gpu_hours) : "–"} />
            <Figure name={text.coreHours} value={total ? text.hours(total.core_hours) : "–"} />
            <Figure name={text.attempts} value={total ? count(total.attempts) : "–"} />
            {money ? (
              <Figure
                name={text.earned}
                value={total?.earned_micros == null ? "–" : <Money micros={total.earned_micros} />}
              />
            ) : (
              <Figure name={text.slices} value={total ? count(total.slices) : "–"} />
            )}
          </Figures>
        </section>
        <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
          <Card flush>
            <Loaded query={query}>
              {(data) =>
                data.items.length || data.others.attempts ? (
                  <Table label={text.title} columns={columns} rows={rowsOf(data)} keyOf={(row) => row.key} />
                ) : (
                  <Empty title={text.none} about={text.noneAbout}>
                    <Link to="/nodes" className={buttonClass({ look: "primary" })}>
                      {text.share}
                    </Link>
                  </Empty>
                )
              }
            </Loaded>
            {query.data?.counted_at && (
              <p className="border-t border-line px-4 py-2 text-sm text-muted">
                {text.counted} <When at={query.data.counted_at} ago />
              </p>
            )}
          </Card>
          <Card title={text.how}>
            <p className="text-muted text-pretty">{text.howAbout}</p>
            <Link to={signedIn ? "/account" : "/sign-up"} className={buttonClass({ className: "mt-4" })}>
              {text.choose}
            </Link>
          </Card>
        </div>
      </div>
    </Page>
  );
}
