import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "@/api/client";
import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Field, Form, Input } from "@/components/form";
import { toast } from "@/components/toasts";
import { wallet as texts } from "@/texts/wallet";

const t = texts.voucher;

export function VoucherDialog() {
  const [open, setOpen] = useState(false);
  const queries = useQueryClient();
  return (
    <Dialog
      open={open}
      onOpenChange={setOpen}
      trigger={<Button>{texts.actions.voucher}</Button>}
      title={t.title}
      about={t.about}
    >
      <Form
        onSubmit={async ({ code = "" }) => {
          const redeemed = await ask(api.POST("/api/v1/wallet/vouchers", { body: { code } }));
          await queries.invalidateQueries({ queryKey: ["wallet"] });
          toast({ title: t.done(redeemed.credits), tone: "good" });
          setOpen(false);
        }}
      >
        {(pending) => (
          <>
            <Field name="code" label={t.code}>
              <Input required autoComplete="off" spellCheck={false} className="font-mono" />
            </Field>
            <Button type="submit" look="primary" pending={pending} className="self-end">
              {t.redeem}
            </Button>
          </>
        )}
      </Form>
    </Dialog>
  );
}
