/** Converts a moment to whole seconds since 1970, as responses show it. */
export function toUnixSeconds(moment: Date): number {
  return Math.floor(moment.getTime() / 1000);
}
