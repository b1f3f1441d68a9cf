/** A queue in which accounts take turns: one that adds a hundred items is as far from its next turn as one that adds one. */
export interface Turns<Item> {
  add(accountId: string, item: Item): void;
  /** Takes out the first item of the account whose turn it is; undefined when there is none. */
  take(): Item | undefined;
  clear(): void;
}

export function createTurns<Item>(): Turns<Item> {
  /** In the order of their turns. An account without items has none. */
  const accounts = new Map<string, Item[]>();
  return {
    add: (accountId, item) => {
      const items = accounts.get(accountId);
      if (items) items.push(item);
      else accounts.set(accountId, [item]);
    },
    take: () => {
      for (const [accountId, items] of accounts) {
        accounts.delete(accountId);
        const item = items.shift();
        if (items.length > 0) accounts.set(accountId, items);
        return item;
      }
      return undefined;
    },
    clear: () => accounts.clear(),
  };
}
