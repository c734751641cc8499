import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useConfig } from "@/api/hooks";
import { paymentsQuery } from "@/api/queries/wallet";
import { buttonClass } from "@/components/button";
import { Empty } from "@/components/empty";
import { Page } from "@/components/page";
import { wallet as texts } from "@/texts/wallet";
import { Balances } from "./balances";
import { CardAndPlan } from "./card-and-plan";
import { CashOuts } from "./cash-outs";
import { Earnings } from "./earnings";
import { Entries } from "./entries";
import { Statements } from "./statements";
import { TopUpDialog, TopUps } from "./top-up";
import { VoucherDialog } from "./voucher";

export default function WalletPage() {
  const config = useConfig();
  return (
    <Page title={texts.title}>
      {config?.money === false ? (
        <Empty title={texts.off.title} about={texts.off.about}>
          <Link to="/jobs" className={buttonClass()}>
            {texts.off.jobs}
          </Link>
        </Empty>
      ) : (
        config && <Wallet />
      )}
    </Page>
  );
}

function Wallet() {
  const payments = useQuery(paymentsQuery).data;
  return (
    <>
      <Balances
        actions={
          payments && (
            <>
              <TopUpDialog payments={payments} />
              {payments.actions.redeem_voucher.allowed && <VoucherDialog />}
            </>
          )
        }
      />
      <div className="mt-6 grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <div className="flex min-w-0 flex-col gap-6">
          <Earnings />
          <Entries />
        </div>
        <div className="flex min-w-0 flex-col gap-6">
          <CashOuts account={payments?.payout_account} />
          {payments && <CardAndPlan payments={payments} />}
          <TopUps />
          <Statements />
        </div>
      </div>
    </>
  );
}
