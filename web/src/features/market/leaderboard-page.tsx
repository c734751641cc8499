import { Empty } from "@/components/empty";
import { Page } from "@/components/page";
import { shell } from "@/texts/shell";

export default function LeaderboardPage() {
  return (
    <Page title={shell.nav.leaderboard}>
      <Empty title={shell.unfinished} />
    </Page>
  );
}
