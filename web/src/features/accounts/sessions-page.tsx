import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { api, ask, type Schemas } from "@/api/client";
import { sessionsQuery } from "@/api/queries/account";
import { flat } from "@/api/queries/pages";
import { Button } from "@/components/button";
import { Card } from "@/components/card";
import { Confirm } from "@/components/dialog";
import { Loaded } from "@/components/loaded";
import { More } from "@/components/more";
import { Tag } from "@/components/state";
import { type Column, Table } from "@/components/table";
import { toast } from "@/components/toasts";
import { When } from "@/components/when";
import { programOf } from "@/lib/user-agent";
import { accounts } from "@/texts/accounts";
import { common } from "@/texts/common";
import { AccountFrame } from "./account-frame";

const text = accounts.sessions;
type Session = Schemas["SessionView"];

export default function SessionsPage() {
  const queries = useQueryClient();
  const query = useInfiniteQuery(sessionsQuery);
  const ended = async () => {
    await queries.invalidateQueries({ queryKey: ["sessions"] });
    toast({ title: text.ended });
  };
  const end = (session_id: string) =>
    ask(api.DELETE("/api/v1/sessions/{session_id}", { params: { path: { session_id } } })).then(ended);
  const endOthers = () =>
    ask(api.DELETE("/api/v1/sessions", { params: { query: { keep_current: true } } })).then(ended);
  const columns: Column<Session>[] = [
    {
      name: text.device,
      cell: (one) => (
        <span className="line-clamp-2 break-words" title={one.user_agent}>
          {programOf(one.user_agent) || text.unknown}
        </span>
      ),
    },
    { name: text.from, cell: (one) => one.address ?? text.unknown, className: "max-sm:hidden" },
    { name: text.method, cell: (one) => text.methods[one.method ?? ""] ?? text.unknown, className: "max-md:hidden" },
    { name: text.used, cell: (one) => <When at={one.last_used_at} ago /> },
    {
      name: common.actions,
      bare: true,
      align: "right",
      cell: (one) =>
        one.current ? (
          <Tag tone="good">{text.current}</Tag>
        ) : (
          <Confirm
            trigger={<Button size="sm">{text.end}</Button>}
            title={text.endTitle}
            about={text.endAbout}
            action={text.end}
            run={() => end(one.id)}
          />
        ),
    },
  ];
  const others = (
    <Confirm
      trigger={
        <Button size="sm" look="danger" disabled={query.data && flat(query.data).length < 2}>
          {text.endOthers}
        </Button>
      }
      title={text.endOthersTitle}
      about={text.endOthersAbout}
      action={text.endOthers}
      run={endOthers}
    />
  );
  return (
    <AccountFrame>
      <Card title={accounts.parts.sessions} about={text.about} aside={others} flush>
        <Loaded query={query}>
          {(data) => (
            <Table label={accounts.parts.sessions} columns={columns} rows={flat(data)} keyOf={(one) => one.id} />
          )}
        </Loaded>
        <More query={query} />
      </Card>
    </AccountFrame>
  );
}
