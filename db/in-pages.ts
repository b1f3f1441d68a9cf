/** Groups items, in order, into lists of `size`. The last list may be shorter. */
export async function* inPages<Item>(items: AsyncIterable<Item>, size: number): AsyncIterable<readonly Item[]> {
  let page: Item[] = [];
  for await (const item of items) {
    page.push(item);
    if (page.length < size) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
