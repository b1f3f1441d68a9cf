import { expect } from 'chai';
import * as field from '../../../domain/resource/field.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';
import { text } from '../../../domain/json-schema.ts';

interface Parcel {
  readonly id: string;
  readonly price: bigint;
  readonly sentAt: Date | null;
  readonly note?: string;
  readonly labels: readonly string[];
  readonly size: { readonly width: number; readonly height: number } | null;
}

const SIZE = nested<NonNullable<Parcel['size']>>({ width: field.integer('width'), height: field.integer('height') });

const PARCEL = resource<Parcel>('Parcel', {
  object: field.constant('parcel'),
  id: field.text('id', 'The number'),
  price_usd: field.usd('price', 'What it costs'),
  sent_at: field.unixSeconds.orNull('sentAt', 'When it was sent'),
  note: field.text.orAbsent(({ note }) => note),
  labels: field.texts(text())('labels'),
  size: field.object(SIZE).orNull('size'),
  parts: field.list(SIZE)(({ size }) => (size ? [size] : [])),
});

const whole: Parcel = {
  id: 'p1',
  price: 1_000_000_000_001n,
  sentAt: new Date(1_000_900),
  note: 'fragile',
  labels: ['a', 'b'],
  size: { width: 2, height: 3 },
};
const bare: Parcel = { id: 'p2', price: 0n, sentAt: null, labels: [], size: null };

describe('a resource', () => {
  const cellsOf = (parcel: Parcel) => PARCEL.columns.map(([, value]) => value(parcel));

  it('is an object with each field in JSON, without fields that are absent', () => {
    expect(PARCEL.present(whole)).to.deep.equal({
      object: 'parcel',
      id: 'p1',
      price_usd: 1.000000000001,
      sent_at: 1000,
      note: 'fragile',
      labels: ['a', 'b'],
      size: { width: 2, height: 3 },
      parts: [{ width: 2, height: 3 }],
    });
    expect(PARCEL.present(bare)).to.deep.equal({
      object: 'parcel',
      id: 'p2',
      price_usd: 0,
      sent_at: null,
      labels: [],
      size: null,
      parts: [],
    });
  });

  it('has a column for each field and for each field of a nested object, and none for lists of objects', () => {
    expect(PARCEL.columns.map(([name]) => name)).to.deep.equal([
      'id',
      'price_usd',
      'sent_at',
      'note',
      'labels',
      'size_width',
      'size_height',
    ]);
  });

  it('has exact amounts and times in its cells, and empty cells for absent fields', () => {
    const [price, sentAt] = [{ picoUsd: 1_000_000_000_001n }, new Date('1970-01-01T00:16:40.900Z')];
    expect(cellsOf(whole)).to.deep.equal(['p1', price, sentAt, 'fragile', 'a b', 2, 3]);
    expect(cellsOf(bare)).to.deep.equal(['p2', { picoUsd: 0n }, null, null, '', null, null]);
  });

  it('requires in its schema the fields that are never absent', () => {
    const { schema } = nested<Parcel>(PARCEL.fields);
    expect(schema['required']).to.deep.equal(['object', 'id', 'price_usd', 'sent_at', 'labels', 'size', 'parts']);
    expect(schema['properties']).to.deep.include({
      price_usd: { type: 'number', description: 'What it costs, in USD' },
      sent_at: { type: ['integer', 'null'], description: 'When it was sent, in Unix seconds', minimum: 0 },
    });
  });
});
