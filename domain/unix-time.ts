/** A moment as answers show it: whole seconds since 1970. */
export function toUnixSeconds(moment: Date): number {
  return Math.floor(moment.getTime() / 1000);
}
