import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CircleAlert, CircleX, Info } from "lucide-react";
import { api, ask, type Schemas } from "@/api/client";
import { noticesQuery } from "@/api/queries/account";
import { flat } from "@/api/queries/pages";
import { Button } from "@/components/button";
import { Card } from "@/components/card";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { Loaded } from "@/components/loaded";
import { More } from "@/components/more";
import { Tag } from "@/components/state";
import { Choices } from "@/components/tabs";
import { toastError } from "@/components/toasts";
import { When } from "@/components/when";
import { accounts } from "@/texts/accounts";
import { AccountFrame } from "./account-frame";

const text = accounts.notices;
const SIGNS = {
  info: <Info size={16} aria-hidden className="text-muted" />,
  warning: <CircleAlert size={16} aria-hidden className="text-warn" />,
  error: <CircleX size={16} aria-hidden className="text-bad" />,
};

function Notice({ notice, read }: { notice: Schemas["NoticeView"]; read: (id: number) => void }) {
  const isNew = notice.read_at === null;
  const title = <span className={isNew ? "font-medium" : undefined}>{notice.title}</span>;
  return (
    <li className="flex gap-3 px-4 py-3">
      <span className="mt-0.5 shrink-0">{SIGNS[notice.severity]}</span>
      <div className="min-w-0 flex-1 break-words">
        {notice.link ? (
          <Link to={notice.link} className="hover:underline" onClick={() => isNew && read(notice.id)}>
            {title}
          </Link>
        ) : (
          title
        )}
        {notice.text && <p className="text-sm text-muted">{notice.text}</p>}
      </div>
      <div className="flex shrink-0 flex-col items-end gap-1 text-sm text-muted">
        <When at={notice.at} ago />
        {isNew && <Tag tone="live">{text.new}</Tag>}
      </div>
    </li>
  );
}

export default function NoticesPage() {
  const [{ unread }, filter] = useFilters<{ unread?: string }>();
  const queries = useQueryClient();
  const query = useInfiniteQuery(noticesQuery(unread === "1"));
  const read = useMutation({
    mutationFn: (body: Schemas["ReadNotices"]) => ask(api.POST("/api/v1/notices/read", { body })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["notices"] }),
    onError: toastError,
  });
  const isAnyNew = query.data?.pages[0]?.unread !== 0;
  return (
    <AccountFrame>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Choices
          label={text.filter}
          value={unread === "1" ? "1" : ""}
          options={[
            ["", text.all],
            ["1", text.unread],
          ]}
          onChange={(value) => filter({ unread: value })}
        />
        <Button
          size="sm"
          disabled={!query.data || !isAnyNew}
          pending={read.isPending}
          onClick={() => read.mutate({ all: true })}
        >
          {text.readAll}
        </Button>
      </div>
      <Card flush>
        <Loaded query={query}>
          {(data) =>
            flat(data).length === 0 ? (
              <Empty title={unread === "1" ? text.noneUnread : text.none} about={text.noneAbout} />
            ) : (
              <ul className="divide-y divide-line">
                {flat(data).map((notice) => (
                  <Notice key={notice.id} notice={notice} read={(id) => read.mutate({ ids: [id], all: false })} />
                ))}
              </ul>
            )
          }
        </Loaded>
        <More query={query} />
      </Card>
    </AccountFrame>
  );
}
