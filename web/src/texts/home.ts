import { count, percent, plural } from "@/lib/amounts";

export const home = {
  open: "This pool is open",
  online: (nodes: number) => `This pool is open, ${plural(nodes, "node", "nodes")} online`,
  title: "Idle GPUs, behind any NAT, as one pool.",
  about:
    "Run your code on somebody else’s graphics card for a price you set, with a signed receipt of what ran. Or let your own card earn while you sleep.",
  aboutFree:
    "Run your code on the pool’s machines, with a signed receipt of what ran. Or share your own machine while you sleep.",
  run: "Run your first job",
  share: "Add a machine",
  jobs: "Go to your jobs",
  warning: "The owner of a machine can read what runs on it.",
  warningMore:
    "A sandbox protects the machine from the job, not the job from the machine’s owner. Send only what others may see, or keep the job on your own machines: computepool run --mine, or where: {trust: mine} in the spec.",
  warningLink: "What that means for your data",
  map: "Nodes by country, coloured by the tier of their graphics card",
  tier: "Tier",
  countries: (countries: number, simulated: boolean) =>
    countries
      ? `${plural(countries, "country", "countries")}, ${simulated ? "simulated" : "live"}`
      : "no node shows its country",
  figures: {
    gpus: "GPUs free",
    cpus: "Cores free",
    of: (total: number) => `of ${count(total)}`,
    inUse: (part: number) => `${percent(part)} in use`,
    noGpus: "no GPU online",
    jobs: "Jobs today",
    waiting: (slices: number) => `${count(slices)} waiting`,
    offers: (nodes: number) => `the cheapest of ${plural(nodes, "offer", "offers")}`,
    nodes: "Nodes online",
    simulated: (nodes: number) => `${count(nodes)} simulated`,
    enrolled: (nodes: number) => `${count(nodes)} enrolled`,
  },
  ways: "Three ways in",
  runTitle: "Run a job",
  runAbout: "A script, a folder or an image. You see the price before it starts, and the log while it runs.",
  shareTitle: "Share a machine",
  shareAbout: "One outbound connection, no open ports. Your own use comes first: jobs step aside within a second.",
  ownTitle: "Run your own pool",
  ownAbout: "Hub, web app and an agent on one laptop. The same code on PostgreSQL and S3 when it grows.",
  licences: "Licences",
  api: "API",
  version: (version: string) => `ComputePool ${version}, MIT`,
  worth: (amount: string) => `Prices in credits. 1,000 cr = ${amount}`,
};
