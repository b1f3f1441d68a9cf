/** Groups items, in order, into batches of `size`. The last batch may be smaller. */
export async function* toBatches<Item>(items: AsyncIterable<Item>, size: number): AsyncIterable<readonly Item[]> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
