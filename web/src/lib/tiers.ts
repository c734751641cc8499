// Colours of the tiers of cards: `--tier-0` is a machine without one, `--tier-5` the fastest.
const STEPS = [1, 1.5, 2, 2.5, 3];

/** The number of the colour for a tier of the API: `cpu`, or the multiplier of a card's price. */
export function tierColour(tier: string | number | null): number {
  const factor = Number(tier);
  if (!factor) return 0;
  return STEPS.filter((step) => factor >= step - 0.25).length || 1;
}
export const TIER_NAMES = ["CPU", "1", "1.5", "2", "2.5", "3+"] as const;
