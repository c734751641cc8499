import { Empty } from "@/components/empty";
import { Page } from "@/components/page";
import { shell } from "@/texts/shell";

export default function JobsPage() {
  return (
    <Page title={shell.nav.jobs}>
      <Empty title={shell.unfinished} />
    </Page>
  );
}
