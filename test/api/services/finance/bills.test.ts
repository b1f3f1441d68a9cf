import { expect } from 'chai';
import { readBill } from '../../../../api/services/finance/bills.ts';
import { formatUsd, PICO_PER_USD } from '../../../../domain/money.ts';
import type { BillColumns } from '../../../../domain/vendor-bill.ts';
import { rejectionOf } from '../../../support/rejection.ts';

const JOBS: BillColumns = { job: 'request_id', model: 'endpoint', amount: 'cost' };
const SUMS: BillColumns = { job: null, model: 'line_item', amount: 'amount_value' };

/** Line, job, model and amount of each line that was read. */
async function read(csv: string, columns = JOBS): Promise<readonly (readonly unknown[])[]> {
  const lines = await readBill({ csv, columns, unit: PICO_PER_USD });
  return lines.map(({ line, jobId, model, amount }) => [line, jobId, model, formatUsd(amount)]);
}

describe('reading the bill of a vendor', () => {
  for (const [what, csv, columns, lines] of [
    [
      'takes the columns in any order and case',
      'Cost,x,ENDPOINT,request_id\n1.5,y,m,j1\n',
      JOBS,
      [[2, 'j1', 'm', '1.5']],
    ],
    [
      'takes lines without jobs as sums',
      'line_item,amount_value\n"gpt-5, input",0.25\n',
      SUMS,
      [[2, null, 'gpt-5, input', '0.25']],
    ],
    [
      'skips what stands before the titles',
      'Invoice 7\nDate,2026-10\nrequest_id,endpoint,cost\nj,m,1\n',
      JOBS,
      [[4, 'j', 'm', '1']],
    ],
    [
      'leaves out sums that name nothing, and lines without an amount',
      'request_id,endpoint,cost\n,,9\nj,m,\nk,m,2\n',
      JOBS,
      [[4, 'k', 'm', '2']],
    ],
    [
      'reads semicolons with decimal commas',
      'request_id;endpoint;cost\nj;m;1.234,5\n',
      JOBS,
      [[2, 'j', 'm', '1234.5']],
    ],
    ['reads tabs', 'request_id\tendpoint\tcost\nj\tm\t1\n', JOBS, [[2, 'j', 'm', '1']]],
    ['reads what Excel writes', '\uFEFF"request_id","endpoint","cost"\r\n"j","m","1"\r\n', JOBS, [[2, 'j', 'm', '1']]],
  ] as const) {
    it(what, async () => {
      expect(await read(csv, columns)).to.deep.equal(lines);
    });
  }

  for (const [what, csv, message] of [
    ['has no such columns', 'a,b\n1,2\n', 'has the columns "request_id", "endpoint", "cost"'],
    ['is empty', '', 'has the columns'],
    [
      'has an amount that is none',
      'request_id,endpoint,cost\nj,m,a lot\n',
      'Line 2 of the bill has an amount that cannot be read: a lot',
    ],
    [
      'has a quote that does not end',
      `request_id,endpoint,cost\n"j,m,1\n${'x\n'.repeat(100_000)}`,
      'The file is no CSV',
    ],
    [
      'has more lines than any vendor sends',
      `request_id,endpoint,cost\n${'j,m,1\n'.repeat(100_001)}`,
      'more than 100000 lines',
    ],
    ['has a name that is none', `request_id,endpoint,cost\n${'😀'.repeat(200)},m,1\n`, 'a cell of more than 300'],
    ['has a quote within a cell', 'request_id,endpoint,cost\nj"x"y,m,1\n', 'The file is no CSV'],
  ] as const) {
    it(`refuses a file that ${what}`, async () => {
      expect((await rejectionOf(read(csv))).message).to.include(message);
    });
  }

  it('reads 30,000 lines of 100 cells, and lets others be served meanwhile', async () => {
    const cells = ',x'.repeat(100);
    const csv = `request_id,endpoint,cost${cells}\n${`j,m,1${cells}\n`.repeat(30_000)}`;
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    expect(await read(csv)).to.have.length(30_000);
    clearInterval(timer);
    expect(turns).to.be.greaterThan(10);
  });
});
