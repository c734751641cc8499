import { api, ask, idempotencyKey } from "@/api/client";
import { Button } from "@/components/button";
import { Field, Form, TextArea } from "@/components/form";
import { toast } from "@/components/toasts";
import { jobTexts } from "@/texts/jobs";

const text = jobTexts.actions;

export default function DisputeForm({ jobId, onDone }: { jobId: string; onDone: () => void }) {
  return (
    <Form
      onSubmit={async ({ reason = "" }) => {
        const params = { path: { job_id: jobId }, header: { "Idempotency-Key": idempotencyKey() } };
        await ask(api.POST("/api/v1/jobs/{job_id}/dispute", { params, body: { reason } }));
        toast({ title: text.disputed });
        onDone();
      }}
    >
      {(pending) => (
        <>
          <Field name="reason" label={text.disputeReason}>
            <TextArea name="reason" required rows={4} />
          </Field>
          <Button type="submit" look="primary" pending={pending}>
            {text.disputeGo}
          </Button>
        </>
      )}
    </Form>
  );
}
