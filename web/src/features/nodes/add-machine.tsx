import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check } from "lucide-react";
import { useEffect, useEffectEvent, useState } from "react";
import { api, ask, idempotencyKey, type Schemas } from "@/api/client";
import { newestJoinTokensQuery } from "@/api/queries/nodes";
import { Button, buttonClass } from "@/components/button";
import { CommandLine } from "@/components/command-line";
import { Prose } from "@/components/prose";
import { Skeleton } from "@/components/skeleton";
import { Spinner } from "@/components/spinner";
import { Choices } from "@/components/tabs";
import { Trouble } from "@/components/trouble";
import { useNow, When } from "@/components/when";
import { nodes as texts } from "@/texts/nodes";

const t = texts.add;
const LIVES_SECONDS = 3600;
/** What was made last in this tab: shown again instead of making another one each time. */
const MADE = ["join-token", "made"];
type Made = Schemas["JoinTokenView"];
type Platform = Made["commands"][number]["platform"];

function thisSystem(): Platform {
  const system = navigator.userAgent;
  if (/Windows/.test(system)) return "windows";
  return /Mac OS|iPhone|iPad/.test(system) ? "macos" : "linux";
}

/** A join token of the API with its exact commands, and the machine once it has joined with it. */
export function AddMachine() {
  const queries = useQueryClient();
  const made = useQuery<Made | null>({ queryKey: MADE, queryFn: () => null, enabled: false }).data;
  const tokens = useQuery(newestJoinTokensQuery);
  const make = useMutation({
    mutationFn: () =>
      ask(
        api.POST("/api/v1/nodes/join-tokens", {
          params: { header: { "Idempotency-Key": idempotencyKey() } },
          body: { uses: 1, expires_in_seconds: LIVES_SECONDS },
        }),
      ),
    onSuccess: (token) => {
      queries.setQueryData(MADE, token);
      void queries.invalidateQueries({ queryKey: ["nodes", "join-tokens"] });
    },
  });
  const now = useNow();
  const item = tokens.data?.items.find((token) => token.id === made?.id);
  const joined = item?.nodes[0];
  const isOver = made ? (item && item.state !== "open") || Date.parse(made.expires_at) < now : true;
  const begin = useEffectEvent(() => {
    if (isOver && !make.isPending) make.mutate();
  });
  // Once the list is known, and once only: what has just been used stays, to show which machine came.
  const isKnown = tokens.data !== undefined;
  useEffect(() => {
    if (isKnown) begin();
  }, [isKnown]);
  if (make.error || tokens.error) {
    return (
      <Trouble
        error={make.error ?? tokens.error}
        retry={() => (tokens.error ? void tokens.refetch() : make.mutate())}
      />
    );
  }
  if (!made || make.isPending) {
    return (
      <div className="flex flex-col gap-3">
        <Skeleton className="h-7 w-52" />
        <Skeleton className="h-9 w-full" />
        <Skeleton className="h-9 w-full" />
        <Skeleton className="h-9 w-full" />
      </div>
    );
  }
  return (
    <div className="flex flex-col gap-4 text-left">
      <Commands made={made} />
      <div role="status" className="flex min-h-8 flex-wrap items-center gap-3 border-t border-line pt-4">
        {joined ? (
          <>
            <Check size={16} aria-hidden className="text-good" />
            <span className="font-medium">{t.joined(joined.name)}</span>
            <span className="flex-1" />
            <Button onClick={() => make.mutate()}>{t.another}</Button>
            <Link to="/nodes/$nodeId" params={{ nodeId: joined.id }} className={buttonClass({ look: "primary" })}>
              {t.show}
            </Link>
          </>
        ) : isOver ? (
          <>
            <span className="text-muted">{t.over}</span>
            <span className="flex-1" />
            <Button onClick={() => make.mutate()}>{t.make}</Button>
          </>
        ) : (
          <>
            <span className="text-live">
              <Spinner />
            </span>
            <span>{t.waiting}</span>
            <span className="text-sm text-muted">
              {t.once} <When at={made.expires_at} />.
            </span>
          </>
        )}
      </div>
    </div>
  );
}

function Commands({ made }: { made: Made }) {
  const [platform, setPlatform] = useState<Platform>(thisSystem);
  const command = made.commands.find((one) => one.platform === platform) ?? made.commands[0];
  if (!command) return null;
  return (
    <>
      <div>
        <Choices
          label={t.system}
          value={platform}
          options={made.commands.map((one) => [one.platform, t.systems[one.platform] ?? one.platform] as const)}
          onChange={setPlatform}
        />
      </div>
      <div>
        <h3 className="mb-1.5 text-sm font-medium">{t.install}</h3>
        <div className="flex flex-col gap-1.5">
          {command.install.map((line) => (
            <CommandLine key={line} line={line} />
          ))}
        </div>
        {command.note && (
          <p className="mt-1.5 text-sm text-muted text-pretty">
            <Prose>{command.note}</Prose>
          </p>
        )}
      </div>
      <div>
        <h3 className="mb-1.5 text-sm font-medium">{t.join}</h3>
        <CommandLine line={command.join} />
        {made.warning && (
          <p className="mt-1.5 text-sm text-warn text-pretty">
            <Prose>{made.warning}</Prose>
          </p>
        )}
      </div>
    </>
  );
}
