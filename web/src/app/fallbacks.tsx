import { Link, useRouter } from "@tanstack/react-router";
import { buttonClass } from "@/components/button";
import { useTitle } from "@/components/page";
import { Skeleton } from "@/components/skeleton";
import { Trouble } from "@/components/trouble";
import { shell } from "@/texts/shell";

export function NotFound() {
  useTitle(shell.notFound);
  return (
    <div className="mx-auto max-w-md px-4 py-24 text-center">
      <h1 className="text-2xl font-semibold">{shell.notFound}</h1>
      <p className="mt-2 text-muted">{shell.notFoundAbout}</p>
      <Link to="/" className={buttonClass({ className: "mt-6" })}>
        {shell.toThePool}
      </Link>
    </div>
  );
}

export function BrokenPage({ error }: { error: unknown }) {
  const router = useRouter();
  return (
    <div className="px-4 py-24">
      <Trouble error={error} retry={() => void router.invalidate()} />
    </div>
  );
}

export const PendingPage = () => (
  <div className="mx-auto w-full max-w-7xl px-4 pt-6 sm:px-6">
    <Skeleton className="h-8 w-48" />
    <Skeleton className="mt-6 h-64 w-full rounded-lg" />
  </div>
);
