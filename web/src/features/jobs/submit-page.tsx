import { Empty } from "@/components/empty";
import { Page } from "@/components/page";
import { shell } from "@/texts/shell";

export default function SubmitPage() {
  return (
    <Page title={shell.nav.submit}>
      <Empty title={shell.unfinished} />
    </Page>
  );
}
