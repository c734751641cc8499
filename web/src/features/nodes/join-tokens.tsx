import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, ask } from "@/api/client";
import { useMe } from "@/api/hooks";
import { joinTokensQuery } from "@/api/queries/nodes";
import { Button } from "@/components/button";
import { Card } from "@/components/card";
import { Confirm } from "@/components/dialog";
import { Table } from "@/components/table";
import { toast } from "@/components/toasts";
import { When } from "@/components/when";
import { nodes as texts } from "@/texts/nodes";

const t = texts.tokens;

/** Join commands that still work; nothing where there are none. */
export function JoinTokens() {
  const me = useMe();
  const queries = useQueryClient();
  const tokens = useQuery(joinTokensQuery).data?.items.filter((token) => token.owner_id === me?.id);
  const revoke = useMutation({
    mutationFn: (id: string) =>
      ask(api.DELETE("/api/v1/nodes/join-tokens/{token_id}", { params: { path: { token_id: id } } })),
    onSuccess: () => {
      toast({ title: t.revoked, tone: "good" });
      void queries.invalidateQueries({ queryKey: ["nodes", "join-tokens"] });
    },
  });
  if (!tokens?.length) return null;
  return (
    <Card title={t.title} about={t.about} flush className="mt-6">
      <Table
        label={t.title}
        rows={tokens}
        keyOf={(token) => token.id}
        columns={[
          { name: t.made, cell: (token) => <When at={token.created_at} ago /> },
          { name: t.ends, cell: (token) => <When at={token.expires_at} /> },
          {
            name: t.left,
            align: "right",
            className: "max-sm:hidden",
            cell: (token) => t.leftOf(token.uses_left, token.uses),
          },
          {
            name: t.revoke,
            align: "right",
            cell: (token) =>
              token.actions.revoke.allowed && (
                <Confirm
                  trigger={
                    <Button size="sm" aria-label={t.row(token.id)}>
                      {t.revoke}
                    </Button>
                  }
                  title={t.revokeTitle}
                  about={t.revokeAbout}
                  action={t.revoke}
                  run={() => revoke.mutateAsync(token.id)}
                />
              ),
          },
        ]}
      />
    </Card>
  );
}
