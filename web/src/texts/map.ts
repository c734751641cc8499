import { count, plural } from "@/lib/amounts";

export const map = {
  title: "Map",
  about: "Machines by country. Dots count machines; they do not show where a machine is.",
  canvas: "Nodes by country, coloured by tier. The table has the numbers.",
  table: "Nodes by country",
  country: "Country",
  online: "Online",
  busy: "Busy",
  all: "All",
  unknown: "Country not shown",
  noCountry: (nodes: number) =>
    `${plural(nodes, "node does", "nodes do")} not show a country and ${nodes === 1 ? "is" : "are"} not on the map.`,
  tier: "Tier",
  allTiers: "All tiers",
  state: "State",
  states: { online: "Online", paused: "Paused", draining: "Draining", quarantined: "Quarantined", offline: "Offline" },
  kind: "Machines",
  kinds: { "": "All", real: "Real", simulated: "Simulated" },
  someSimulated: (nodes: number) => `${count(nodes)} simulated`,
  simulatedHow: "A dot with a hole is simulated: no real hardware.",
  awayHow: "A ring is not online.",
  at: (name: string, nodes: number, online: number) =>
    nodes ? `${name}: ${plural(nodes, "node", "nodes")}, ${count(online)} online` : `${name}: no node yet`,
  sum: (nodes: number, countries: number) =>
    `${plural(nodes, "node", "nodes")} in ${plural(countries, "country", "countries")}`,
  none: "No nodes match these filters",
  noneAbout: "Choose other tiers or states.",
  clear: "Clear filters",
  empty: "No machine has joined yet",
  emptyAbout: "Run this on a machine that you want to share. It appears here within seconds.",
};

export const leaderboard = {
  title: "Leaderboard",
  about: "Work done for others, by owner. Only owners who chose a public name are listed.",
  period: "Period",
  periods: { "7d": "7 days", "30d": "30 days", all: "All time" },
  place: "Place",
  name: "Name",
  gpuHours: "GPU hours",
  coreHours: "Core hours",
  attempts: "Attempts",
  slices: "Slices",
  earned: "Earned",
  everybody: "All machines",
  others: "Everyone else",
  hours: (hours: number) => hours.toLocaleString("en", { maximumFractionDigits: hours < 10 ? 2 : hours < 100 ? 1 : 0 }),
  counted: "Counted",
  how: "How to appear here",
  howAbout:
    "Choose a public name in your account. Your machines’ work for others is then listed under it; your own jobs on them do not count. Without a name, it is counted under everyone else.",
  choose: "Choose a public name",
  share: "Share a machine",
  none: "Nobody is listed for this period",
  noneAbout: "Be the first: share a machine, and choose a public name.",
};
