/**
 * Maps items with bounded concurrency.
 *
 * @returns the results in the order of the items
 * @throws the error of the mapping
 */
export async function mapAtOnce<Item, Result>(
  atOnce: number,
  items: readonly Item[],
  map: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  const takeTurns = async (): Promise<void> => {
    for (const [index, item] of left) results[index] = await map(item);
  };
  await Promise.all(Array.from({ length: atOnce }, takeTurns));
  return results;
}
