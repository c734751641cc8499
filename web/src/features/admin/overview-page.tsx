import { Empty } from "@/components/empty";
import { Page } from "@/components/page";
import { shell } from "@/texts/shell";

export default function OverviewPage() {
  return (
    <Page title={shell.nav.admin}>
      <Empty title={shell.unfinished} />
    </Page>
  );
}
